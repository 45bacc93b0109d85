"""The theory's facts about schemes that are given by expressions: f and g, or a density h with f0 and g0.

What is proven. That h exists, c f' + (1 - c) g' = 0, exactly where that is rational, else as far as 100 digits tell at
twelve points. The signs of h and of its slope as `candor.schemes.intervals` says: exactly for rational h, so for every f
and g whose logarithms vanish on differentiation, else by enclosures, with the length that is left open. A limit at 0 is
exact where c = 0 can be put in, else the value at c = e^(-10^300), to 30 digits; that is proof where f - g is seen to be
negative there, since it rises. Of a scheme without h, that interpretability or best effort fails is proven by the witness.
"""

from dataclasses import replace
from functools import lru_cache

import mpmath
import numpy as np
import sympy

from candor.schemes.expressions import C, Expression, find_term
from candor.schemes.facts import Facts, Strength
from candor.schemes.intervals import TOO_LONG, Signs, all_cells, at, enclose, exact_value, halved, signs, tidy
from candor.schemes.scheme import Integral, Scheme, Transformed

_AT_ZERO = -1e300
"""Log-odds that stand for c -> 0."""


def density_of(scheme: Scheme) -> Expression:
    """Return h of a scheme given by expressions.

    Raises:
        ValueError: it has none.
    """
    if isinstance(scheme.origin, Integral):
        return scheme.origin.density
    h, exists = _density(scheme.origin.correct.tree, scheme.origin.wrong.tree)
    if not exists.zero:
        raise ValueError(f"{scheme.name} has no h: f'/(c - 1) and g'/c differ, so its scoring is not proper")
    return Expression(str(h), h)


def facts_of_expressions(made: Transformed) -> Facts:
    """Find the facts of a scheme given by expressions, then scaled, shifted or clipped."""
    factor, up_f, up_g = (sympy.Rational(x) for x in (made.factor, made.to_correct, made.to_wrong))
    origin = made.base.origin
    if isinstance(origin, Integral):
        return _with_integrals(_proper_facts(factor * origin.density.tree, made), made)
    f, g = factor * origin.correct.tree + up_f, factor * origin.wrong.tree + up_g
    h, exists = _density(f, g)
    if exists.zero and (facts := _proper_facts(h, made)).proper != "none":
        return _with_values(facts if exists.exact else replace(facts, method="numeric"), f, g)
    return _improper_facts(f, g, made)


@lru_cache(maxsize=64)
def _density(f, g):
    """Return h = f' / (c - 1) = g' / c as an expression, and the signs of the two's difference: it must be 0."""
    slope_f, slope_g = sympy.diff(f, C), sympy.diff(g, C)
    h = min(tidy(slope_f / (C - 1)), tidy(slope_g / C), key=sympy.count_ops)
    return h, signs(tidy(C * slope_f + (1 - C) * slope_g))


def _proper_facts(h, made: Transformed) -> Facts:
    """Find the facts that h tells; `proper` is none where it is positive somewhere."""
    low, high = made.low, made.high
    sign = signs(h, low, high)
    if sign.positive is not None:
        return Facts("none", suspects=(sign.positive,), method=_method(sign), unproven=sign.unproven)
    clipped = low > 0 or high < 1
    proper: Strength = "weak" if sign.zero or clipped else "strict"
    slope = _slope_signs(h, sign)
    bias = "neither"
    if proper == "strict" and slope is not None and not slope.zero:
        # |h| = -h falls where the slope of h is nowhere negative
        bias = "over" if slope.negative is None else "under" if slope.positive is None else "neither"
    return Facts(
        proper,
        bias=bias,
        low=low,
        high=high,
        method=_method(sign, slope) if slope is not None else "numeric",
        unproven=max(sign.unproven, 1.0 if slope is None else slope.unproven),
    )


def _method(*found: Signs) -> str:
    return "symbolic" if all(one.exact for one in found) else "numeric"


def _slope_signs(h, sign: Signs) -> Signs | None:
    if sign.zero:
        return sign
    if sympy.count_ops(h) > TOO_LONG:
        return None
    return signs(tidy(sympy.diff(h, C)))


def _with_values(facts: Facts, f, g) -> Facts:
    """Add what is computed from f and g themselves, with 30 digits."""
    low, high = facts.low, facts.high

    def clip(z):
        ends = [
            float(np.log(end) - np.log1p(-end)) if 0 < end < 1 else limit
            for end, limit in ((low, -1e301), (high, 1e301))
        ]
        return min(max(z, ends[0]), ends[1])

    def difference(z):
        return float(at(f - g, clip(z)))

    at_start = _limit(g) if not low else g.subs(C, sympy.Rational(low))
    start = _limit(g - f) if not low else (g - f).subs(C, sympy.Rational(low))
    start = -np.inf if start is None else -float(start)
    if low and abs(start) < 1e-14 * max(1e-3, abs(difference(0))):
        start = 0.0  # the bound itself is rounded
    lost = None if at_start is None else g - at_start

    def advantage(z):
        if lost is None:  # g grows without bound towards 0: giving up always pays
            return -np.inf
        with mpmath.workdps(30):
            odds = mpmath.exp(-abs(mpmath.mpf(z)))
            p = odds / (1 + odds) if z < 0 else 1 / (1 + odds)
            c = clip(z)
            return float(at(f, c) + at(lost, c) / p - at(g, c))  # f + ((1 - p) g - g(0+)) / p

    return replace(facts, start=start, difference=difference, advantage=advantage)


def _limit(falling):
    """Return the limit at 0 of an expression that falls with c; None where it grows without bound."""
    there = falling.subs(C, 0)
    if there.is_number and there.is_finite and there.is_real:
        return there if there.is_Rational or abs(there.evalf(50)) > 1e-40 else sympy.Integer(0)
    near, far = at(falling, _AT_ZERO / 10), at(falling, _AT_ZERO)
    return None if far - near > 1e-6 else sympy.Float(far if abs(far) > 1e-14 else 0, 30)


def _with_integrals(facts: Facts, made: Transformed) -> Facts:
    """Add what is computed by quadrature."""
    base, a, shift, low, high = made.base, made.factor, made.to_correct - made.to_wrong, facts.low, facts.high
    origin = base.origin
    g0 = float(base.g(low)) if low else origin.g0

    def confidence(z):
        p = 1 / (1 + np.exp(-z)) if z > -690 else 1e-300
        return p, min(max(p, low), high)

    def rewards(c):
        f, g = base.f(c), base.g(c)
        return (f, g) if np.isfinite([f, g]).all() else (np.inf, 0.0)  # so near 1 that E_max is beyond the floats

    def difference(z):
        f, g = rewards(confidence(z)[1])
        return float(a * (f - g) + shift)

    def advantage(z):
        p, c = confidence(z)
        f, g = rewards(c)
        return float(a * (f + (g - g0) / p - g) + shift)

    start = a * (origin.f0 - origin.g0) + shift if not low else difference(float(np.log(low) - np.log1p(-low)))
    return replace(facts, start=float(start), difference=difference, advantage=advantage, error=1e-12)


def _improper_facts(f, g, made: Transformed) -> Facts:
    """Find what can be said without a proper h: interpretability and best effort, by the signs of slopes."""
    low, high = made.low, made.high
    slope_f, slope_g = sympy.diff(f, C), sympy.diff(g, C)
    best = sympy.diff(C * f + (1 - C) * g, C)
    seen = [signs(slope_f, low, high), signs(-slope_g, low, high), signs(best, low, high)]
    clipped = low > 0 or high < 1
    f_rises, g_falls, effort = (
        "none" if one.negative is not None else "weak" if one.zero or clipped else "strict" for one in seen
    )
    if clipped and effort != "none":  # outside the bounds E_max is linear
        ends = [float(at(f - g, float(np.log(end) - np.log1p(-end)))) for end in (low, high) if 0 < end < 1]
        effort = "none" if min(ends) < 0 else "weak" if min(ends) == 0 else effort
    ranks = ("none", "weak", "strict")
    return Facts(
        "none",
        interpretability=min(f_rises, g_falls, key=ranks.index),
        best_effort=effort,
        low=low,
        high=high,
        method=_method(*seen),
        error=1e-3,
        unproven=max(one.unproven for one in seen),
        suspects=tuple(one.negative for one in seen if one.negative is not None),
    )


# --- Whether f and g are functions at all -----------------------------------------------------------------------------


def check_smooth(expression: Expression, what: str) -> None:
    """See that an expression is real, finite and continuously differentiable on (0, 1) (definition 1).

    Proven by enclosures, but for what they leave open: there values on either side of points, at distances from 1e-6 to
    1e-12, decide.

    Raises:
        ValueError: it is not; the message names the term, its position and a confidence.
    """
    check_continuous(expression, what)
    if (c := _trouble(sympy.diff(expression.tree, C))) is not None:
        term = find_term(expression, lambda tree: not _continuous(sympy.diff(tree, C), c))
        raise ValueError(
            f"{_place(expression, what, term)} is not continuously differentiable at {expression.variable} = {c:.6g} "
            "(definition 1)"
        )


def check_continuous(expression: Expression, what: str) -> None:
    """See in the same way that an expression is real, finite and continuous on (0, 1).

    Raises:
        ValueError: it is not; the message names the term, its position and a confidence.
    """
    if (c := _trouble(expression.tree)) is not None:
        term = find_term(expression, lambda tree: not _continuous(tree, c))
        raise ValueError(
            f"{_place(expression, what, term)} is not real, finite and continuous at {expression.variable} = {c:.6g}; "
            "it must be so on all of (0, 1)"
        )


def _place(expression: Expression, what: str, term: str | None) -> str:
    return f"{what} {expression.text!r}" + (f": {term}" if term else "")


def check_integrable(h: Expression, what: str) -> None:
    """See that the integral of |h| from 0 converges (theorem 5), and fast enough to be computed.

    With c = e^-x it is that of m(x) = |h| e^-x to infinity. It converges where m falls faster than 1 / x, judged at x from
    1e3 to 1e5; it can be computed where what lies below e^-690, the end of the floats, is not felt.

    Raises:
        ValueError: it does not.
    """

    def mass(x):
        return abs(at(h.tree, -x, 50)) * mpmath.exp(-x)

    if not (far := mass(1e5)):
        return
    if mpmath.log(mass(1e3) / far) < 1.2 * mpmath.log(100):
        raise ValueError(f"{what}: the integral from 0 diverges, so f and g would be infinite (theorem 5)")
    end = mass(690)
    if end / mpmath.log(end / mass(691)) > 1e-13 * mass(5):
        raise ValueError(f"{what}: the integral from 0 converges too slowly to be computed")


def _trouble(tree) -> float | None:
    """Return a confidence at which an expression has no finite value or jumps, None where there is none."""
    c = np.arange(1, 1000) / 1000
    bad = ~np.isfinite(Expression("", tree)(c))
    if bad.any() and (found := next((x for x in c[bad] if not _continuous(tree, x)), None)) is not None:
        return float(found)
    for near_one, cells in all_cells():
        for _ in range(40):
            enclosed = enclose(tree, cells, near_one)
            cells = cells[:, ~(np.isfinite(enclosed.lo) & np.isfinite(enclosed.hi))]
            if not 0 < cells.shape[1] < 1000:
                break
            cells = halved(cells)
        for cell in cells.T[:: max(1, cells.shape[1] // 8)]:
            x = float(cell.mean())
            if x > 1e-6 and not _continuous(tree, 1 - x if near_one else x):
                return 1 - x if near_one else x
    return None


def _continuous(tree, x: float) -> bool:
    """See whether values around a point settle, and on the same value from both sides."""
    reach = min(x, 1 - x, 1e-3)
    ends = []
    for side in (-1, 1):
        with mpmath.workdps(40):
            values = []
            for distance in (1e-3, 1e-6, 1e-9):
                c = mpmath.mpf(x) + side * mpmath.mpf(reach) * distance
                value = exact_value(tree, c, 1 - c)
                if value is None:
                    return False
                values.append(value)
        first, second, third = values
        size = max(1, abs(third))
        if abs(third - second) > abs(second - first) / 2 + 1e-9 * size:
            return False
        ends.append((second, third))
    wider, closer = (abs(right - left) for left, right in zip(*ends, strict=True))
    return closer <= wider / 2 + 1e-9 * size
