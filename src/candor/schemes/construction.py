"""Schemes made of expressions, of a density h, of a weight over abstention thresholds, or of other schemes.

What is constructed is a scheme like any other. `build` makes the ones that a configuration defines.
"""

from collections.abc import Mapping
from functools import partial
from math import isfinite, log, log1p
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from candor.schemes.facts import facts_of
from candor.schemes.named import get, normalisation
from candor.schemes.scheme import GRID, Formula, Integral, Named, Rewards, Scheme, Transformed, checked

# sympy and the configuration's models take a fifth to a third of a second to import, and a named scheme does without them:
# what needs them is imported where it is used.


def from_expressions(name: str, correct: str, wrong: str) -> Scheme:
    """Make a scheme of f and g as expressions in c (see `candor.schemes.expressions.parse`).

    Raises:
        ValueError: a text is no valid expression, or is not real, finite and continuously differentiable on (0, 1).
    """
    from candor.schemes.analysis import check_smooth
    from candor.schemes.expressions import parse

    f, g = parse(correct), parse(wrong)
    check_smooth(f, "the reward of a correct answer")
    check_smooth(g, "the reward of a wrong answer")
    scheme = Scheme(name, partial(_expression, f), partial(_expression, g), Formula(f, g))
    _check_finite(scheme)
    return scheme


def from_density(name: str, density: str, f0: float = 0.0, g0: float = 0.0) -> Scheme:
    """Make the scheme f0 + the integral of (t - 1) h(t), g0 + that of t h(t), t from 0 to c (theorem 5).

    The integrals are computed by adaptive quadrature (tanh-sinh) to a relative error of some 1e-13.

    Args:
        density: h as an expression in c.
        f0, g0: the limits of f and g at 0.

    Raises:
        ValueError: what theorem 5 asks for does not hold: h <= 0, h continuous, its integral from 0 converging, f0 >= g0.
    """
    from candor.schemes.expressions import parse

    return _from_density(name, parse(density), f0, g0)


def from_weight(name: str, weight: str, f0: float = 0.0, g0: float = 0.0) -> Scheme:
    """Make the scheme of a weight over abstention thresholds: f0 + the integral of w(t), g0 + that of w(t) t / (t - 1).

    Args:
        weight: w as an expression in t; it is nowhere negative.
        f0, g0: 0 in definition 9; the offsets of definition 10, f0 >= g0.

    Raises:
        ValueError: w < 0 somewhere, or as `from_density`, for h(t) = w(t) / (t - 1).
    """
    from candor.schemes.expressions import C, Expression, parse

    w = parse(weight, variable="t")
    return _from_density(name, Expression(w.text, w.tree / (C - 1), w.variable), f0, g0)


def with_best_effort_from(name: str, base: Scheme, p: float) -> Scheme:
    """Shift a scheme to f - f(p), g - g(p): best effort begins at p (theorem 10).

    Giving up then pays below some c* > p; for brier-1 it is 2 p.

    Raises:
        ValueError: p is not in (0, 1), or the scheme's scoring is not proper.
    """
    _check_proper(base, "best_effort_from", p)
    return _transform(name, base, to_correct=-float(base.f(p)), to_wrong=-float(base.g(p)))


def with_giving_up_below(name: str, base: Scheme, p: float) -> Scheme:
    """Shift a scheme to f - (E_max(p) - g(0+)) / p, g: giving up pays exactly below p.

    Giving up earns g(0+), and the best effort then earns the same at p. E_max is convex, so it earns less below p and more
    above. Not in the paper.

    Raises:
        ValueError: p is not in (0, 1), the scheme's scoring is not proper, giving up earns without bound, or E_max is
            linear up to p, so that giving up would nowhere pay more.
    """
    facts = _check_proper(base, "give_up_below", p)
    lead, before = (facts.advantage(log(x) - log1p(-x)) for x in (p, p / 2))
    if not isfinite(lead):
        raise ValueError(f"{base.name} pays a wrong answer without bound towards confidence 0: giving up always pays")
    if lead - before <= 1e-12 * max(1.0, abs(lead)):
        raise ValueError(
            f"{base.name} rewards confidence the same up to {p}, so giving up would not pay below it but only tie"
        )
    return _transform(name, base, to_correct=-lead)


def scaled(name: str, base: Scheme, factor: float = 1.0, offset: float = 0.0) -> Scheme:
    """Return (factor f + offset, factor g + offset), which has the properties of (f, g) (theorem 9).

    Raises:
        ValueError: the factor is not positive.
    """
    if not 0 < factor < float("inf") or not isfinite(offset):
        raise ValueError(f"factor {factor} and offset {offset} must be finite, and the factor positive (theorem 9)")
    return _transform(name, base, factor=factor, to_correct=offset, to_wrong=offset)


def clipped(name: str, base: Scheme, low: float = 1 / 203, high: float = 202 / 203) -> Scheme:
    """Return the scheme at the confidence clipped to [low, high] (section 5.1).

    Outside them f and g are constant, so its properties hold weakly at most; at the bounds they have corners.

    Raises:
        ValueError: not 0 < low < high < 1.
    """
    if not 0 < low < high < 1:
        raise ValueError(f"confidences cannot be clipped to [{low}, {high}]; needed is 0 < low < high < 1")
    return _transform(name, base, low=low, high=high)


def unnormalised(name: str, base: Scheme) -> Scheme:
    """Return overconfidence-k or underconfidence-k without what it is divided by in table 1 (appendix D.4).

    Raises:
        ValueError: the scheme is of another family.
    """
    match base.origin:
        case Named("overconfidence" | "underconfidence" as family, k):
            return scaled(name, base, normalisation(family, k))
    raise ValueError(f"{base.name} has no normalisation; valid: overconfidence-K, underconfidence-K")


# --- From a configuration ---------------------------------------------------------------------------------------------


def build(name: str, definitions: Mapping[str, Any]) -> Scheme:
    """Return the scheme of this name: one of the definitions, else a named one.

    Args:
        definitions: from names to what `schemes:` of the configuration holds, as settings or as plain mappings.

    Raises:
        ValueError: nothing has this name, or a definition cannot be built; the message says which and why.
    """
    return _build(name, name, definitions, ())


def _build(name: str, reference: Any, definitions: Mapping[str, Any], within: tuple[str, ...]) -> Scheme:
    if isinstance(reference, str):
        if reference in within:
            raise ValueError(f"scheme {within[0]!r}: {' is made of '.join((*within, reference))}, which never ends")
        if reference not in definitions:
            return get(reference)
        name, reference, within = reference, definitions[reference], (*within, reference)
    from candor import config

    definition = config.scheme_definition(name, reference)

    def base(of):
        return _build(f"{name} (base)", of, definitions, within)

    try:
        match definition:
            case config.FormulaScheme(correct=correct, wrong=wrong):
                return from_expressions(name, correct, wrong)
            case config.DensityScheme(density=density, f0=f0, g0=g0):
                return from_density(name, density, f0, g0)
            case config.WeightScheme(weight=weight, f0=f0, g0=g0):
                return from_weight(name, weight, f0, g0)
            case config.ShiftScheme(shift=of, best_effort_from=None, give_up_below=p):
                return with_giving_up_below(name, base(of), p)
            case config.ShiftScheme(shift=of, best_effort_from=p):
                return with_best_effort_from(name, base(of), p)
            case config.ScaleScheme(scale=of, factor=factor, offset=offset):
                return scaled(name, base(of), factor, offset)
            case config.ClipScheme(clip=of, low=low, high=high):
                return clipped(name, base(of), low, high)
            case config.UnnormalisedScheme(unnormalised=of):
                return unnormalised(name, base(of))
    except ValueError as error:
        if str(error).startswith("scheme "):
            raise
        raise ValueError(f"scheme {name!r}: {error}") from None
    raise AssertionError(definition)


# --- How they are computed --------------------------------------------------------------------------------------------


def _transform(name, base, factor=1.0, to_correct=0.0, to_wrong=0.0, low=0.0, high=1.0) -> Scheme:
    """Transform a scheme; where it is transformed already, join the two."""
    if isinstance(inner := base.origin, Transformed):
        base = inner.base
        to_correct += factor * inner.to_correct
        to_wrong += factor * inner.to_wrong
        factor *= inner.factor
        # the outer bounds are applied first
        low, high = (min(max(bound, inner.low), inner.high) for bound in (low, high))
    made = Transformed(base, factor, to_correct, to_wrong, low, high)
    scheme = Scheme(name, partial(_transformed, made, "f"), partial(_transformed, made, "g"), made)
    _check_finite(scheme)
    return scheme


def _transformed(made: Transformed, which: str, confidence: ArrayLike) -> Rewards:
    c = checked(confidence)
    c = np.clip(c, made.low, made.high)
    add = made.to_correct if which == "f" else made.to_wrong
    return (made.factor * getattr(made.base, which)(c) + add)[()]


def _expression(expression, confidence: ArrayLike) -> Rewards:
    return expression(checked(confidence))


def _from_density(name, h, f0, g0) -> Scheme:
    from candor.schemes.analysis import check_continuous, check_integrable
    from candor.schemes.expressions import C, Expression
    from candor.schemes.intervals import signs, tidy

    if not (isfinite(f0) and isfinite(g0) and f0 >= g0):
        raise ValueError(f"f0 = {f0} and g0 = {g0}: theorem 5 asks for finite f0 >= g0")
    kind, sign = ("weight", "w >= 0") if h.variable == "t" else ("density", "h <= 0")
    what = f"{kind} {h.text!r}"
    check_continuous(h, kind)
    if (c := signs(h.tree).positive) is not None:
        raise ValueError(f"{what} has the wrong sign at {h.variable} = {c:.6g}: theorem 5 asks for {sign} on (0, 1)")
    check_integrable(h, what)
    slopes = [tidy(by * h.tree) for by in (C - 1, C)]
    f, g = (partial(_integral, Expression(what, s), start) for s, start in zip(slopes, (f0, g0), strict=True))
    scheme = Scheme(name, f, g, Integral(h, f0, g0))
    _check_finite(scheme)
    return scheme


def _integral(slope, start: float, confidence: ArrayLike) -> Rewards:
    """Return start + the integral of the slope from 0 to each confidence, piece by piece."""
    c = checked(confidence)
    edges = np.unique(np.concatenate([[0.0, 0.5], c.ravel()]))
    left, right = edges[:-1], edges[1:]
    low = right <= 0.5
    # Above 1/2 the variable is 1 - c: towards 1 it keeps the digits that c loses.
    below = _quadrature(slope, left[low], right[low])
    above = _quadrature(slope.of_complement, 1 - right[~low], 1 - left[~low], abs(below.sum()))
    total = np.cumsum(np.concatenate([[0.0], below, above]))
    return (start + total[np.searchsorted(edges, c)])[()]


def _quadrature(slope, left, right, beside: float = 0.0, halvings: int = 16):
    """Integrate over neighbouring pieces, halving those whose error is not small, nor so beside the whole."""
    from scipy.integrate import tanhsinh

    if not left.size:
        return left
    with np.errstate(all="ignore"):
        found = tanhsinh(slope, left, right, rtol=1e-13, maxlevel=8)
    steepest = slope(np.concatenate([left, right])).reshape(2, -1)
    steepest = np.where(left > 0, steepest[0], 0) + steepest[1]  # infinite at 0 it may be
    total = np.where(np.isfinite(steepest), found.integral, steepest)
    whole = beside + np.abs(total, where=np.isfinite(total), out=np.zeros_like(total)).sum()
    open_ = ~(found.success | (found.error <= 1e-14 * whole) | np.isinf(total))
    if open_.any():
        if not halvings:
            raise ValueError(f"the integral cannot be computed near {right[open_][0]:.6g}")
        left, right = left[open_], right[open_]
        middle = (left + right) / 2
        total[open_] = sum(_quadrature(slope, *ends, whole, halvings - 1) for ends in ((left, middle), (middle, right)))
    return total


def _check_proper(base: Scheme, key: str, p: float):
    if not 0 < p < 1:
        raise ValueError(f"{key} is {p}; valid is a confidence in (0, 1)")
    facts = facts_of(base)
    if facts.proper == "none":
        raise ValueError(f"{base.name} cannot be shifted to {key} {p}: its scoring is not proper")
    return facts


def _check_finite(scheme: Scheme) -> None:
    for which, function in (("correct", scheme.f), ("wrong", scheme.g)):
        values = function(GRID)
        if not np.isfinite(values).all():
            c = GRID[~np.isfinite(values)][0]
            term = ""
            if isinstance(scheme.origin, Formula):
                term = f": {_overflowing_term(getattr(scheme.origin, which), c)}"
            raise ValueError(
                f"the reward of a {which} answer at c = {c:.6g} is no finite number in floating point{term}"
            )


def _overflowing_term(expression, c: float) -> str:
    from candor.schemes.expressions import Expression, find_term

    return find_term(expression, lambda tree: not np.isfinite(Expression("", tree)(c))) or repr(expression.text)
