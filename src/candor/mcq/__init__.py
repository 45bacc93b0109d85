"""The multiple-choice track: how a question is asked, what was chosen, and how far that depends on place and label."""
