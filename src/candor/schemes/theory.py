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

from dataclasses import dataclass
from math import inf, log
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from candor.schemes.facts import Strength, crossing, error_of, expit, facts_of, log_expit
from candor.schemes.named import named_density
from candor.schemes.scheme import (
    EPSILON,
    GRID,
    Formula,
    Integral,
    Named,
    Scheme,
    Transformed,
    dense_grid,
    finite_rewards,
)
from candor.schemes.witnesses import Witness, find_witnesses


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
    """Largest error of the confidences above (of the logarithms: relative to them); where scoring is not proper, an
    estimate."""
    unproven: float
    """Length of the part of (0, 1) on which the sign of h or of its slope is only sampled, not proven."""
    witnesses: tuple[Witness, ...]
    """One for each property that fails on (0, 1); without one it fails only beyond the floats, or by less than rounding."""

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
            return named_density(family, k, c)[()]
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
        if facts.start >= 0:  # f(0+) >= g(0+): best effort, strict unless E_max may be constant for a while
            best_effort = "strict" if facts.start > 0 or facts.proper == "strict" else "weak"
            interval = (0.0, 1.0)
            bias = facts.bias
        else:
            best_effort = "none"
            if (root := crossing(facts.difference, facts.low, facts.high)) is not None:
                log_from = log_expit(root)
                interval = (expit(root), 1.0)
                error = max(error, error_of(facts.difference, root))
            pays, log_pays = 1.0, 0.0
            if (root := crossing(facts.advantage, 0, 1)) is not None:
                log_pays = log_expit(root)
                pays = expit(root)
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
        witnesses=find_witnesses(scheme, facts, interpretability, best_effort, interval and interval[0]),
    )


def _threshold(f: NDArray[np.float64], g: NDArray[np.float64]) -> float | None:
    """Return the p below which the best of g beats p f + (1 - p) g at every one of these confidences.

    Trying with confidence c earns as much from p = (max g - g) / (f - g) on, where f > g; the least of these p counts.
    None where it is 0, that is, where f >= g at a confidence that pays a wrong answer best. Differences below rounding
    count as none.
    """
    lost, gained = g.max() - g, f - g
    noise = _noise(f, g) + 32 * EPSILON * abs(g.max())
    if (gained >= -noise)[lost <= noise].any():
        return None
    useful = gained > 0
    with np.errstate(over="ignore"):
        return float((lost[useful] / gained[useful]).min(initial=1.0))


def _noise(f: NDArray[np.float64], g: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what rounding may add to rewards, by confidence: of their own size, or of that which most of them have."""
    return 32 * EPSILON * (np.abs(f) + np.abs(g) + np.median(np.abs(f)) + np.median(np.abs(g)))


def _sampled_threshold(scheme: Scheme) -> float | None:
    """Find the same for all confidences, where g need not fall with them, on a grid that is dense towards both ends."""
    _, f, g = finite_rewards(scheme, dense_grid())
    return _threshold(f, g)


def _discrete_optimum(scheme: Scheme) -> Strength:
    """Check theorem 8 for every p at once.

    Between two neighbours, what the better of them earns is convex in p with one kink, and what any other confidence
    earns is linear: its lead is greatest at the kink or at an end. Beyond the least and the greatest confidence, it has no
    second neighbour.
    """
    f, g = scheme.f(GRID), scheme.g(GRID)
    last = len(GRID) - 1
    left, right = np.array([0, *range(last), last]), np.array([0, *range(1, last + 1), last])
    start, end = np.array([0, *GRID]), np.array([*GRID, 1])
    rise, fall = f[right] - f[left], g[left] - g[right]
    kink = np.divide(fall, rise + fall, out=start.copy(), where=rise + fall != 0)
    best: Strength = "strict"
    noise = _noise(f, g)
    for p in (start, np.clip(kink, start, end), end):
        rewards = p[:, None] * f + (1 - p[:, None]) * g
        segment = np.arange(len(p))
        own = np.maximum(rewards[segment, left], rewards[segment, right])
        lead = own[:, None] - rewards
        lead[segment, left] = lead[segment, right] = inf
        if (lead < -noise).any():
            return "none"
        if (lead <= noise).any():
            best = "weak"
    return best
