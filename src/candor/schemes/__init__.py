"""Reward schemes for confidence: what an answer earns, given whether it is correct and how confident it was.

Pure functions of numbers: no model, no files. `docs/schemes.md` says how a scheme is defined and how to add one.
"""

from candor.schemes.named import SPECTRUM, Scheme, get

__all__ = ["SPECTRUM", "Scheme", "get"]
