"""What the theory needs to know of a scheme: the sign of its density h, f - g and its start, and what giving up earns."""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, log1p
from typing import Literal

import numpy as np

from candor.schemes.named import normalisation_by_square
from candor.schemes.scheme import EPSILON, Formula, Integral, Named, Scheme, Transformed
from candor.vocabulary import LEVELS

Strength = Literal["strict", "weak", "none"]


@dataclass(frozen=True)
class Facts:
    """What a classification rests on. z is the log-odds of a confidence, so that it may lie beyond the floats."""

    proper: Strength
    """strict: h <= 0 and on no interval 0; weak: h <= 0; none: h > 0 somewhere, or no h."""
    start: float = -inf
    """f(0+) - g(0+)."""
    difference: Callable[[float], float] | None = None
    """z -> f(c) - g(c), which rises; given where `proper` is not none."""
    advantage: Callable[[float], float] | None = None
    """z -> (E_max(p) - g(0+)) / p, which rises and is negative where giving up pays; likewise."""
    bias: Literal["over", "under", "neither"] = "neither"
    interpretability: Strength = "none"
    """Where `proper` is none; and `best_effort` likewise."""
    best_effort: Strength = "none"
    low: float = 0.0
    """Confidences are clipped to [low, high]."""
    high: float = 1.0
    method: Literal["symbolic", "numeric"] = "symbolic"
    error: float = 0.0
    """Error of the thresholds beyond that of a bisection to rounding."""
    unproven: float = 0.0
    suspects: tuple[float, ...] = ()
    """Confidences around which a property fails."""


def facts_of(scheme: Scheme) -> Facts:
    """Find what is known of a scheme, from what it was made of."""
    transformed = scheme.origin if isinstance(scheme.origin, Transformed) else Transformed(scheme)
    match transformed.base.origin:
        case Named(family, k):
            return _named_facts(family, k, transformed)
        case Formula() | Integral():
            from candor.schemes.analysis import facts_of_expressions  # sympy, which a named scheme does without

            return facts_of_expressions(transformed)
    return _sampled_facts(scheme)


def _named_facts(family: str, k: float | None, made: Transformed) -> Facts:
    a, shift = made.factor, made.to_correct - made.to_wrong
    low, high, base = made.low, made.high, made.base

    def difference(z):
        return a * _named_difference(family, k, z) + shift

    def advantage(z):
        if low == 0 and z < -700:  # f + (1 - p) g / p for p -> 0; only log-k has anything to tell so far down
            return a * (1 + k * (z - 1) if family == "log" else _named_difference(family, k, -inf)) + shift
        p = expit(max(z, -700))
        c = min(max(p, low), high)
        wrong_at_start = base.g(low) if low else 0.0
        return a * (base.f(c) + ((1 - p) * base.g(c) - wrong_at_start) / p) + shift

    start = difference(log(low) - log1p(-low) if low else -inf)
    noise = 32 * EPSILON * max(a, a * abs(base.f(low)), a * abs(base.g(low)), abs(shift)) if low else 0
    return Facts(
        proper="weak" if family == "correctness-only" or low > 0 or high < 1 else "strict",
        start=0.0 if abs(start) <= noise else start,
        difference=difference,
        advantage=advantage,
        bias="neither" if low > 0 or high < 1 else _NAMED_BIAS.get(family, "neither"),
        low=low,
        high=high,
    )


_NAMED_BIAS = {"overconfidence": "over", "underconfidence": "under", "brier-log-hybrid": "under"}
"""How |h| runs (appendix D.2); of the others it is constant, or hackable where it is not."""


def _named_difference(family: str, k: float | None, z: float) -> float:
    """Return f(c) - g(c) at log-odds z (appendix C)."""
    c = expit(z)
    match family:
        case "correctness-only":
            return 1.0
        case "log-loss":
            return z
        case "log":
            return 1 + k * z
        case "brier-score":
            return 2 * c - 1
        case "brier":
            return 1 - k + 2 * k * c
        case "brier-log-hybrid":
            return -log_expit(-z)
        case "overconfidence":
            x, by = k * c, c
        case _:
            x, by = -k * c / (1 + k), c / (1 + k)
    return by * (log1p(x) / x if x else 1) / normalisation_by_square(family, k)


def _sampled_facts(scheme: Scheme) -> Facts:
    """See on the 101 confidences and their midpoints what holds; a difference below rounding counts as none."""
    c = np.arange(1, 2 * LEVELS) / (2 * LEVELS)
    f, g = scheme.f(c), scheme.g(c)
    noise = 32 * EPSILON * max(np.abs(f).max(), np.abs(g).max())

    def strength(differences):
        return "none" if (differences < -noise).any() else "weak" if (differences <= noise).any() else "strict"

    best = c * f + (1 - c) * g
    loss = best[:, None] - (c[:, None] * f + (1 - c[:, None]) * g)  # a row for each p
    proper = strength(loss[~np.eye(len(c), dtype=bool)])
    interpretability = strength(np.concatenate([np.diff(f), -np.diff(g)]))
    suspects = {"method": "numeric", "error": 0.5 / LEVELS, "unproven": 1.0, "suspects": tuple(c.tolist())}
    if proper == "none":
        return Facts("none", interpretability=interpretability, best_effort=strength(np.diff(best)), **suspects)
    wrong_at_start, tiny = float(scheme.g(1e-300)), 1e-300

    def at(z):
        return max(expit(z), tiny)

    def advantage(z):
        p = at(z)
        return float(scheme.f(p) + ((1 - p) * scheme.g(p) - wrong_at_start) / p)

    start = float(scheme.f(tiny) - scheme.g(tiny))
    slopes = np.diff(f - g)  # the integral of |h| over equal cells
    rises, falls = (strength(sign * np.diff(slopes)) == "strict" for sign in (1, -1))
    return Facts(
        proper if proper == interpretability else "weak",
        start=0.0 if abs(start) <= noise else start,
        difference=lambda z: float(scheme.f(at(z)) - scheme.g(at(z))),
        advantage=advantage,
        bias="under" if rises else "over" if falls else "neither",
        **suspects,
    )


# --- Confidences by their log-odds, which may lie beyond the floats ---------------------------------------------------


def expit(z: float) -> float:
    """Return the confidence of log-odds z, 0 where it lies below the floats."""
    return 1 / (1 + exp(-z)) if z > 0 else exp(z) / (1 + exp(z))


def log_expit(z: float) -> float:
    """Return the natural logarithm of that confidence."""
    return -log1p(exp(-z)) if z > 0 else z - log1p(exp(z))


def crossing(rising: Callable[[float], float], low: float, high: float) -> float | None:
    """Return the log-odds at which a rising function becomes >= 0, for confidences in (low, high), or None."""
    right = min(log(high) - log1p(-high) if high < 1 else inf, 36.7)  # of the largest float below 1
    if rising(right) < 0:
        return None
    left = log(low) - log1p(-low) if low else min(-1.0, right - 1)
    while not low and left > -1e300 and rising(left) >= 0:
        left, right = 2 * left, left
    while (middle := left + (right - left) / 2) not in (left, right):
        left, right = (left, middle) if rising(middle) >= 0 else (middle, right)
    return right


def error_of(function: Callable[[float], float], z: float) -> float:
    """Bound the error of a root, in confidence, that rounding of the function brings: 32 units over its slope."""
    step = 1e-4 * max(1.0, abs(z))
    ends = z - step, min(z + step, 36.7)
    values = [function(end) for end in ends]
    slope = (values[1] - values[0]) / (ends[1] - ends[0])  # by log-odds
    c = expit(z)
    by_c = c * (1 - c)  # dc / dz
    scale = max(1.0, *map(abs, values))
    return max(EPSILON, 32 * EPSILON * scale / slope * by_c) if slope > 0 else 1.0
