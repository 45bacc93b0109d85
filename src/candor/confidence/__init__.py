"""The confidence track: what a model answers, how sure it says it is, and how well the two agree."""
