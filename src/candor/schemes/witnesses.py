"""Strategies that earn more than honest best effort under a scheme that lacks a property."""

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from candor.schemes.facts import Facts, Strength
from candor.schemes.scheme import EPSILON, GRID, Scheme, dense_grid, finite_rewards


@dataclass(frozen=True)
class Witness:
    """A strategy that earns more than honest best effort, checkable by evaluating f and g: expected_reward(scheme, c, q).

    For interpretability, where no effort is in question, p is 1 (a right answer) or 0 (a wrong one) and it shows that the
    confidence c earns more than `honest_c`, although it lies on the wrong side of it.
    """

    fails: Literal["interpretability", "proper scoring", "best effort"]
    strategy: str
    p: float
    """Chance that the model's best answer is correct."""
    honest_c: float
    """The confidence that should earn most: p itself, but for interpretability."""
    honest_reward: float
    """E(honest_c, p)."""
    q: float
    """Chance of being correct under the strategy: p, or less where it answers wrongly on purpose."""
    c: float
    """The confidence that the strategy states."""
    reward: float
    """E(c, q), above `honest_reward`."""


def find_witnesses(
    scheme: Scheme, facts: Facts, interpretability: Strength, best_effort: Strength, start: float | None
) -> tuple[Witness, ...]:
    """Look for a witness against each property that is "none", and return those found.

    They are looked for among the 101 confidences, on a grid that is dense towards 0 and 1, and around the start of the
    interval on which the scheme is non-hackable. What rounding alone may give is none.
    """
    if "none" not in (interpretability, facts.proper, best_effort):
        return ()
    around = [*facts.suspects, *([start] if start else [])]
    c, f, g = finite_rewards(scheme, np.unique([*GRID, *dense_grid()[::8], *_neighbourhoods(around)]))
    found = []
    if interpretability == "none":
        found.append(_against_interpretability(c, f, g))
    if facts.proper == "none":
        found.append(_against_proper_scoring(c, f, g))
    if best_effort == "none":
        found.append(_against_best_effort(c, f, g))
    return tuple(w for w in found if w.reward - w.honest_reward > _rounding(scheme, w))


def _rounding(scheme: Scheme, w: Witness) -> float:
    """Bound what rounding adds to the difference of the two rewards."""
    terms = (
        (share, function(c))
        for p, c in ((w.p, w.honest_c), (w.q, w.c))
        for share, function in ((p, scheme.f), (1 - p, scheme.g))
    )
    return 8 * EPSILON * sum(abs(share * value) for share, value in terms)


def _against_interpretability(c, f, g) -> Witness:
    def lead(values):  # the most by which an earlier value beats a later one
        top = np.maximum.accumulate(values)
        later = int(np.argmax(top - values))
        return float(top[later] - values[later]), int(np.argmax(values[: later + 1])), later

    gain_f, low_f, high_f = lead(f)
    gain_g, low_g, high_g = lead(-g)
    if gain_f >= gain_g:
        said, earned, fair = c[low_f], f[low_f], high_f
        return _witness("interpretability", "answer correctly, state less", 1.0, c[fair], f[fair], 1.0, said, earned)
    said, earned = c[high_g], g[high_g]
    return _witness("interpretability", "answer wrongly, state more", 0.0, c[low_g], g[low_g], 0.0, said, earned)


def _against_proper_scoring(c, f, g) -> Witness:
    best, at, said = -inf, 0, 0
    for i, p in enumerate(c):  # one row at a time: the grid may be long
        gain = p * (f - f[i]) + (1 - p) * (g - g[i])
        j = int(np.argmax(gain))
        if gain[j] > best:
            best, at, said = gain[j], i, j
    p = c[at]
    honest, other = (p * f[i] + (1 - p) * g[i] for i in (at, said))
    return _witness("proper scoring", f"state {c[said]:.6g} instead of {p:.6g}", p, p, honest, p, c[said], other)


def _against_best_effort(c, f, g) -> Witness:
    honest = c * f + (1 - c) * g
    # The 101 confidences come first: a witness that can be seen in training.
    for grid in (np.isin(c, GRID), np.ones(len(c), dtype=bool)):
        said = int(np.argmax(np.where(grid, g, -inf)))
        at = int(np.argmin(np.where(grid, honest, inf)))
        if g[said] > honest[at]:
            strategy = f"answer wrongly on purpose, state {c[said]:.6g}"
            return _witness("best effort", strategy, c[at], c[at], honest[at], 0.0, c[said], g[said])
    top = np.maximum.accumulate(honest)
    at = int(np.argmax(top - honest))
    q = int(np.argmax(honest[: at + 1]))
    strategy = f"answer wrongly on purpose in {1 - c[q] / c[at]:.3g} of the cases, state {c[q]:.6g}"
    return _witness("best effort", strategy, c[at], c[at], honest[at], c[q], c[q], honest[q])


def _witness(fails, strategy, *numbers) -> Witness:
    p, honest_c, honest_reward, q, c, reward = map(float, numbers)
    return Witness(fails, strategy, p, honest_c, honest_reward, q, c, reward)


def _neighbourhoods(confidences) -> NDArray[np.float64]:
    """Return points around and far below given confidences, at several distances."""
    c = np.asarray(confidences, dtype=np.float64)[:, None]
    steps = np.array([0, *(sign * 10.0**-n for n in range(1, 6) for sign in (1, -1))])
    found = np.concatenate([(c + steps * np.minimum(c, 1 - c)).ravel(), (c * 1e-3).ravel()])
    return found[(found > 0) & (found < 1)]
