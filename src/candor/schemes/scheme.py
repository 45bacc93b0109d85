"""What a reward scheme is, and what a constructed one was made of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from candor.vocabulary import LEVELS, confidence_of

if TYPE_CHECKING:
    from candor.schemes.expressions import Expression

Rewards = NDArray[np.float64]

GRID = confidence_of(np.arange(LEVELS))
"""The 101 confidences that a model can state."""

EPSILON = float(np.finfo(float).eps)


@dataclass(frozen=True)
class Scheme:
    """A reward scheme (f, g): the rewards of a correct and of a wrong answer as functions of the confidence in (0, 1).

    `origin` tells what the functions are, so that the theory can be exact about them; without it they are only sampled.
    Paper: section 3, definition 1.
    """

    name: str
    f: Callable[[ArrayLike], Rewards]
    g: Callable[[ArrayLike], Rewards]
    origin: "Named | Formula | Integral | Transformed | None" = None

    def reward(self, correct: ArrayLike, confidence: ArrayLike) -> Rewards:
        """Return f(confidence) where correct and g(confidence) elsewhere.

        Args:
            correct: booleans; an answer that could not be graded has no reward and does not belong here.
            confidence: c in (0, 1), of a shape that broadcasts with that of `correct`; not the verbalised integer.

        Raises:
            ValueError: `correct` holds something other than booleans; a confidence is not in (0, 1) (where f and g
                were written by the caller, they decide).
        """
        correct = np.asarray(correct)
        if correct.dtype != bool and correct.size:
            raise ValueError(f"correct must be booleans, not {correct.dtype}; leave out answers that were not graded")
        return np.where(correct.astype(bool), self.f(confidence), self.g(confidence))[()]


@dataclass(frozen=True)
class Named:
    """A row of table 1 and its k, None for a row without one."""

    family: str
    k: float | None


@dataclass(frozen=True)
class Formula:
    """f and g as expressions in c."""

    correct: "Expression"
    wrong: "Expression"


@dataclass(frozen=True)
class Integral:
    """f(c) = f0 + the integral of (t - 1) h(t), g(c) = g0 + that of t h(t), t from 0 to c (theorem 5).

    The density's text is that of the weight (1 - t) |h(t)| where it is written in t (definition 10).
    """

    density: "Expression"
    f0: float
    g0: float


@dataclass(frozen=True)
class Transformed:
    """f = factor f1 + to_correct and g = factor g1 + to_wrong, taken at the confidence clipped to [low, high].

    The base (f1, g1) is itself never transformed: two transformations are one.
    """

    base: Scheme
    factor: float = 1.0
    to_correct: float = 0.0
    to_wrong: float = 0.0
    low: float = 0.0
    high: float = 1.0


def checked(confidence: ArrayLike) -> NDArray[np.float64]:
    """Return confidences as an array.

    Raises:
        ValueError: one of them is not in (0, 1), or NaN.
    """
    c = np.asarray(confidence, dtype=np.float64)
    inside = (c > 0) & (c < 1)  # False for NaN
    if not inside.all():
        raise ValueError(
            f"confidence {c[~inside].flat[0]} is not in the open interval (0, 1); "
            "candor.vocabulary.confidence_of maps a verbalised integer into it"
        )
    return c


def dense_grid() -> NDArray[np.float64]:
    """Return confidences that cover (0, 1), dense towards both ends."""
    tails = np.geomspace(1e-12, 1e-2, 400)
    return np.concatenate([tails, np.linspace(0.0101, 0.9899, 4001), 1 - tails[::-1]])


def finite_rewards(scheme: Scheme, c: NDArray[np.float64]) -> tuple[NDArray[np.float64], Rewards, Rewards]:
    """Return confidences, f and g there, without those where a reward is beyond the floats."""
    f, g = scheme.f(c), scheme.g(c)
    known = np.isfinite(f) & np.isfinite(g)
    return c[known], f[known], g[known]
