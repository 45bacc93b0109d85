"""What a reward scheme rewards: the properties of section 3, for any scheme, with a witness for each that fails.

Everything follows from two facts about (f, g): the density h(c) = f'(c) / (c - 1) = g'(c) / c, where it exists, and the
difference f(c) - g(c), which is the slope of E_max (lemma 4) and rises as h <= 0 says.

- Interpretability and proper scoring hold if and only if h exists and h <= 0; they are strict if and only if h is also
  not identically 0 on any interval. (Theorem 1 asks for h < 0; single zeros do no harm, since f, -g and E(c, p) on
  either side of p are integrals of h times a factor of one sign.)
- Best effort holds on (a, 1) if and only if, beside that, f(a+) >= g(a+) (theorem 4).
- E(p, p) - E(p +- u, p) is the integral of t |h(p +- t)| over t in (0, u). So the bias of definition 6 is over where |h|
  falls, under where |h| rises, each on no interval constant, and neither otherwise; theorem 3 is a consequence.
- Of what a model can do that is right with chance p, stating any confidence, and answering wrongly on purpose as often as
  it likes, the best is linear in how often; so giving up altogether pays if and only if sup g > max E(c, p).

How far that is proven. For the schemes of table 1, also shifted, scaled or clipped, h is known in closed form: everything
is proven, and the thresholds are roots of closed forms, found by bisection to rounding. For expressions and integrals see
`candor.schemes.analysis`. For a scheme with functions of the caller's own, only what fails is proven, by its witness; what
is said to hold was seen on a grid, and the thresholds are of that grid (method "numeric", unproven 1).
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, inf, log, log1p
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from candor.schemes.named import normalisation
from candor.schemes.scheme import Formula, Integral, Named, Scheme, Transformed
from candor.vocabulary import LEVELS, confidence_of

Strength = Literal["strict", "weak", "none"]

GRID = confidence_of(np.arange(LEVELS))
"""The 101 confidences that a model can state."""

_EPSILON = float(np.finfo(float).eps)


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


@dataclass(frozen=True)
class Classification:
    """What the theory says of a scheme. `dataclasses.asdict` gives plain values; all of them go into JSON."""

    name: str
    interpretability: Strength
    """f rises and g falls with the confidence (definition 2)."""
    proper_scoring: Strength
    """Stating the true chance p earns most (definition 2)."""
    best_effort: Strength
    """On (0, 1): E_max rises with the chance of being correct (definition 2)."""
    non_hackable: Literal["strictly", "weakly", "not"]
    """On (0, 1), as in table 1."""
    interval: tuple[float, float] | None
    """The widest interval on which it is non-hackable; it always ends at 1 (corollary 1). None where there is none."""
    on_interval: Literal["strictly", "weakly"] | None
    """How it is non-hackable there."""
    log_from: float | None
    """Natural logarithm of the interval's start, which may lie below the floats (log-0.001); None for 0 and for none."""
    hacking_pays_below: float | None
    """Below this chance of being correct, giving up earns more in expectation; None where it never does, 1 where it
    always does."""
    log_hacking_pays_below: float | None
    """Its natural logarithm."""
    hacking_pays_below_on_101: float | None
    """The same where only the 101 confidences can be stated."""
    safe_on_101: bool
    """Whether giving up never pays with the 101 confidences: f >= g at the one that pays a wrong answer best."""
    discrete_optimum: Strength
    """Whether, for every p, the best of the 101 is the nearest below or above p, alone (strict) or with others (weak)
    (theorem 8)."""
    bias: Literal["over", "under", "neither", "undefined"]
    """Definition 6; undefined for a scheme that is not weakly non-hackable on (0, 1)."""
    method: Literal["symbolic", "numeric"]
    """Whether the properties follow from closed forms and exact algebra, or from enclosures and samples."""
    error_bound: float
    """Largest error of the confidences above (of the logarithms: relative to them)."""
    unproven: float
    """Length of the part of (0, 1) on which the sign of h or of its slope is only sampled, not proven."""
    witnesses: tuple[Witness, ...]
    """One for each property that fails on (0, 1); without one it fails only beyond the floats."""

    @property
    def hackable(self) -> bool:
        """Whether the scheme is hackable somewhere on (0, 1)."""
        return self.non_hackable == "not"


def expected_reward(scheme: Scheme, c: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
    """Return E(c, p) = p f(c) + (1 - p) g(c) (definition 2); c in (0, 1) and p in [0, 1] broadcast."""
    p = np.asarray(p, dtype=np.float64)
    return (p * scheme.f(c) + (1 - p) * scheme.g(c))[()]


def best_expected_reward(scheme: Scheme, p: ArrayLike) -> NDArray[np.float64]:
    """Return E_max(p) = E(p, p), what honest best effort earns (definition 2); p in (0, 1)."""
    return expected_reward(scheme, p, p)


def miscalibration_penalty(scheme: Scheme, c: ArrayLike, p: ArrayLike) -> NDArray[np.float64]:
    """Return E(p, p) - E(c, p) (definition 4); c and p in (0, 1) broadcast. Negative where scoring is not proper."""
    return (best_expected_reward(scheme, p) - expected_reward(scheme, c, p))[()]


def best_stated(scheme: Scheme, p: ArrayLike) -> NDArray[np.int64]:
    """Return the integer 0..100 whose confidence earns most for each p in [0, 1], the lowest of equals (theorem 8)."""
    p = np.asarray(p, dtype=np.float64)
    return np.argmax(expected_reward(scheme, GRID, p[..., None]), axis=-1)


def density(scheme: Scheme, c: ArrayLike) -> NDArray[np.float64]:
    """Return h(c) = f'(c) / (c - 1) = g'(c) / c (definition 7) for c in (0, 1), of c's shape.

    It is exact but for functions of the caller's own, whose slopes are differences of neighbouring values (relative error
    some 1e-9). A clipped scheme has h = 0 outside its bounds.

    Raises:
        ValueError: the two quotients differ, so the scheme is not proper and has no h.
    """
    c = np.asarray(c, dtype=np.float64)
    match scheme.origin:
        case Named(family, k):
            return _named_density(family, k, c)[()]
        case Transformed(base, factor, _, _, low, high):
            return np.where((c < low) | (c > high), 0, factor * density(base, c))[()]
        case Formula() | Integral():
            from candor.schemes.analysis import density_of  # sympy, which a named scheme does without

            return density_of(scheme)(c)[()]
    step = 1e-4 * np.minimum(c, 1 - c)
    from_f, from_g = (_slope(function, c, step) / by for function, by in ((scheme.f, c - 1), (scheme.g, c)))
    scale = np.maximum(np.abs(from_f), np.abs(from_g)) + 1e-300
    if (np.abs(from_f - from_g) > 1e-5 * scale + 1e-9).any():
        raise ValueError(f"{scheme.name} has no h: f'/(c - 1) and g'/c differ, so its scoring is not proper")
    return ((1 - c) * from_f + c * from_g)[()]  # each from where it is the more accurate


def _slope(function, c, step):
    """Differentiate by the central difference of fourth order."""
    near, far = (function(c + n * step) - function(c - n * step) for n in (1, 2))
    return (8 * near - far) / (12 * step)


def classify(scheme: Scheme) -> Classification:
    """Classify a scheme by the theory of section 3; the module says what is proven and how."""
    facts = facts_of(scheme)
    interval, on_interval, log_from, bias = None, None, None, "undefined"
    pays, log_pays, error = None, None, facts.error
    if facts.proper == "none":
        interpretability, best_effort = facts.interpretability, facts.best_effort
        pays = _sampled_threshold(scheme)
        log_pays = None if pays is None else log(pays)
    else:
        interpretability = facts.proper
        clipped = facts.low > 0 or facts.high < 1
        if facts.start >= 0:  # f(0+) >= g(0+): best effort, strict unless E_max is constant for a while
            rises = facts.start > 0 or (facts.proper == "strict" and not clipped)
            best_effort = "strict" if rises else "weak"
            interval = (0.0, 1.0)
            bias = facts.bias
        else:
            best_effort = "none"
            if (root := crossing(facts.difference, facts.low, facts.high)) is not None:
                log_from = _log(root)
                interval = (_expit(root), 1.0)
                error = max(error, error_of(facts.difference, root))
            pays, log_pays = 1.0, 0.0
            if (root := crossing(facts.advantage, 0, 1)) is not None:
                log_pays = _log(root)
                pays = _expit(root)
                error = max(error, error_of(facts.advantage, root))
        if interval:
            on_interval = "strictly" if facts.proper == "strict" else "weakly"
    levels = {interpretability, facts.proper, best_effort}
    on_101 = _threshold(scheme.f(GRID), scheme.g(GRID))
    return Classification(
        name=scheme.name,
        interpretability=interpretability,
        proper_scoring=facts.proper,
        best_effort=best_effort,
        non_hackable="not" if "none" in levels else "strictly" if levels == {"strict"} else "weakly",
        interval=interval,
        on_interval=on_interval,
        log_from=log_from,
        hacking_pays_below=pays,
        log_hacking_pays_below=log_pays,
        hacking_pays_below_on_101=on_101,
        safe_on_101=on_101 is None,
        discrete_optimum=_discrete_optimum(scheme),
        bias=bias,
        method=facts.method,
        error_bound=error,
        unproven=facts.unproven,
        witnesses=_witnesses(scheme, facts, interpretability, best_effort, interval),
    )


# --- What is known of a scheme ----------------------------------------------------------------------------------------


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
        p = _expit(max(z, -700))
        c = min(max(p, low), high)
        wrong_at_start = base.g(low) if low else 0.0
        return a * (base.f(c) + ((1 - p) * base.g(c) - wrong_at_start) / p) + shift

    start = difference(log(low) - log1p(-low) if low else -inf)
    noise = 32 * _EPSILON * max(a, a * abs(base.f(low)), a * abs(base.g(low)), abs(shift)) if low else 0
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
    c = _expit(z)
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
            return -_log(-z)
        case "overconfidence":
            return log1p(k * c) * (k / normalisation(family, k))
        case _:
            return -log1p(-k * c / (1 + k)) * (k / normalisation(family, k))


def _named_density(family: str, k: float | None, c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return h (section 3.2), from the derivatives of table 1."""
    match family:
        case "correctness-only":
            return np.zeros_like(c)
        case "log-loss" | "log":
            return -(k or 1) / (c * (1 - c))
        case "brier-score" | "brier":
            return np.full_like(c, -2 * (k or 1))
        case "brier-log-hybrid":
            return -1 / (1 - c)
        case "overconfidence":
            return -(k / (normalisation(family, k) / k)) / (1 + k * c)
        case _:
            return -(k / (normalisation(family, k) / k)) / (1 + k * (1 - c))


def _sampled_facts(scheme: Scheme) -> Facts:
    """See on the 101 confidences and their midpoints what holds; a difference below rounding counts as none."""
    c = np.arange(1, 2 * LEVELS) / (2 * LEVELS)
    f, g = scheme.f(c), scheme.g(c)
    noise = 32 * _EPSILON * max(np.abs(f).max(), np.abs(g).max())

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
        return max(_expit(z), tiny)

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


# --- Thresholds -------------------------------------------------------------------------------------------------------


def crossing(rising: Callable[[float], float], low: float, high: float) -> float | None:
    """Return the log-odds at which a rising function becomes >= 0, for confidences in (low, high), or None."""
    right = min(log(high) - log1p(-high) if high < 1 else inf, 36.7)  # of the largest float below 1
    if rising(right) < 0:
        return None
    left = log(low) - log1p(-low) if low else min(-1.0, right - 1)
    while not low and left > -1e15 and rising(left) >= 0:
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
    c = _expit(z)
    by_c = c * (1 - c)  # dc / dz
    scale = max(1.0, *map(abs, values))
    return max(_EPSILON, 32 * _EPSILON * scale / slope * by_c) if slope > 0 else 1.0


def _threshold(f: NDArray[np.float64], g: NDArray[np.float64]) -> float | None:
    """Return the p below which the best of g beats p f + (1 - p) g at every one of these confidences.

    Trying with confidence c earns as much from p = (max g - g) / (f - g) on, where f > g; the least of these p counts.
    None where it is 0, that is, where f >= g at a confidence that pays a wrong answer best. Differences below rounding
    count as none.
    """
    noise = 32 * _EPSILON * max(np.abs(f).max(), np.abs(g).max())
    lost, gained = g.max() - g, f - g
    if (gained[lost <= noise] >= -noise).any():
        return None
    useful = gained > 0
    return float(min(1.0, (lost[useful] / gained[useful]).min(initial=1.0)))


def _sampled_threshold(scheme: Scheme) -> float | None:
    """Find the same for all confidences, where g need not fall with them, on a grid that is dense towards both ends."""
    c = _dense_grid()
    return _threshold(scheme.f(c), scheme.g(c))


def _discrete_optimum(scheme: Scheme) -> Strength:
    """Check theorem 8 for every p at once.

    Between two neighbours, what the better of them earns is convex in p with one kink, and what any other confidence
    earns is linear: its lead is greatest at the kink or at an end.
    """
    f, g = scheme.f(GRID), scheme.g(GRID)
    noise = 32 * _EPSILON * max(np.abs(f).max(), np.abs(g).max())
    left, right = np.arange(LEVELS - 1), np.arange(1, LEVELS)
    rise, fall = f[right] - f[left], g[left] - g[right]
    kinks = np.divide(fall, rise + fall, out=GRID[left].copy(), where=rise + fall != 0)
    best = "strict"
    for p in (GRID[left], np.clip(kinks, GRID[left], GRID[right]), GRID[right], *_beyond_the_ends(left)):
        rewards = p[:, None] * f + (1 - p[:, None]) * g
        own = np.maximum(rewards[left, left], rewards[left, right])
        others = rewards.copy()
        others[left, left] = others[left, right] = -inf
        lead = own - others.max(axis=1)
        if (lead < -noise).any():
            return "none"
        if (lead <= noise).any():
            best = "weak"
    return best


def _beyond_the_ends(left):
    """Below the least and above the greatest confidence that one is the best; elsewhere nothing is added."""
    low, high = GRID[left], GRID[left + 1]
    low[0], high[-1] = 0, 1
    return low, high


# --- Witnesses --------------------------------------------------------------------------------------------------------


def _witnesses(scheme, facts, interpretability, best_effort, interval) -> tuple[Witness, ...]:
    around = [] if interval is None or interval[0] < 1e-300 else [interval[0]]
    around += facts.suspects
    c = np.unique([*GRID, *_dense_grid()[::8], *_neighbourhoods(around)])
    f, g = scheme.f(c), scheme.g(c)
    noise = 8 * _EPSILON * max(np.abs(f).max(), np.abs(g).max())
    found = []
    if interpretability == "none":
        found.append(_against_interpretability(c, f, g))
    if facts.proper == "none":
        found.append(_against_proper_scoring(c, f, g))
    if best_effort == "none":
        found.append(_against_best_effort(c, f, g))
    return tuple(w for w in found if w and w.reward - w.honest_reward > min(noise, 1e-3 * abs(w.reward)))


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


def _dense_grid() -> NDArray[np.float64]:
    tails = np.geomspace(1e-12, 1e-2, 400)
    return np.concatenate([tails, np.linspace(0.0101, 0.9899, 4001), 1 - tails[::-1]])


def _neighbourhoods(confidences) -> NDArray[np.float64]:
    """Return points around and far below given confidences, at several distances."""
    c = np.asarray(confidences, dtype=np.float64)[:, None]
    steps = np.array([0, *(sign * 10.0**-n for n in range(1, 6) for sign in (1, -1))])
    found = np.concatenate([(c + steps * np.minimum(c, 1 - c)).ravel(), (c * 1e-3).ravel()])
    return found[(found > 0) & (found < 1)]


def _expit(z: float) -> float:
    """Return the confidence of log-odds z, 0 where it lies below the floats."""
    return 1 / (1 + exp(-z)) if z > 0 else exp(z) / (1 + exp(z))


def _log(z: float) -> float:
    """Return the natural logarithm of that confidence."""
    return -log1p(exp(-z)) if z > 0 else z - log1p(exp(z))
