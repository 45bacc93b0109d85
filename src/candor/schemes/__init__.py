"""Reward schemes for confidence: what an answer earns, given whether it is correct and how confident it was.

Pure functions of numbers: no model, no files. `docs/schemes.md` says how a scheme is defined and how to add one.
"""

from candor.schemes.construction import build
from candor.schemes.named import SPECTRUM, get, spectrum_place
from candor.schemes.scheme import Scheme
from candor.schemes.theory import Classification, classify
from candor.schemes.witnesses import Witness

__all__ = ["SPECTRUM", "Classification", "Scheme", "Witness", "build", "classify", "get", "spectrum_place"]
