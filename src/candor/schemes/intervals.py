"""The sign of an expression on (0, 1): by exact algebra where it is rational, else by enclosing its values.

What is proven. A rational function with rational coefficients, times any constant, has finitely many zeros; they are
isolated exactly and a point between every two decides. Any other expression is computed with intervals that hold all its
values (every operation is widened outwards by at least four units in the last place, which is more than the errors of
the processor and of the mathematical library), on cells that shrink towards 0 and 1 down to 2^-200 and that are halved
while their sign is open. What is left open is small: cells around zeros, and the two ends. There the sign is only sampled,
at 50 digits or more, and the length of it is returned. That an expression which is not rational is 0 everywhere is not
proven: it is so at twelve points, as far as 100 digits tell.
"""

from dataclasses import dataclass

import mpmath
import numpy as np
import sympy
from numpy.typing import NDArray

from candor.schemes.expressions import Arithmetic, C, evaluate

SMALLEST = 2.0**-200
"""Cells begin so far from 0 and from 1."""

TOO_LONG = 500
"""Operations beyond which an expression is not simplified."""

_ROUNDS = 24
_CELLS = 3000
_DEGREE = 40
_WIDER = 4 * 2.0**-52
_TINY = 5e-324

EXACT = Arithmetic(
    lambda node: node._to_mpmath(mpmath.mp.prec, allow_ints=False),
    mpmath.log,
    mpmath.log1p,
    mpmath.exp,
    mpmath.expm1,
    mpmath.power,
)
"""Arithmetic of as many digits as `mpmath.workdps` says."""


@dataclass(frozen=True)
class Signs:
    """Where an expression is positive and negative on an interval."""

    positive: float | None
    """A confidence at which it is positive; None where it nowhere is."""
    negative: float | None
    """Likewise."""
    exact: bool
    """Whether exact algebra decided."""
    unproven: float = 0.0
    """Length of the part of the interval on which its sign was only sampled."""

    @property
    def zero(self) -> bool:
        """Whether it is 0 everywhere."""
        return self.positive is None and self.negative is None


def signs(tree, low: float = 0.0, high: float = 1.0) -> Signs:
    """Find the signs of a sympy expression in C on the interval (low, high)."""
    return _rational_signs(tree, low, high) or _enclosed_signs(tree, low, high)


def at(tree, z: float, digits: int = 30):
    """Compute an expression at log-odds z (of any size) to so many digits, as an mpmath number."""
    with mpmath.workdps(digits):
        odds = mpmath.exp(-abs(mpmath.mpf(z)))
        small, large = odds / (1 + odds), 1 / (1 + odds)
        return evaluate(tree, small, large, EXACT) if z < 0 else evaluate(tree, large, small, EXACT, near_one=True)


def _rational_signs(tree, low, high) -> Signs | None:
    if not (tree.is_rational_function(C) and _small(tree)):
        return None
    constant, rest = tidy(tree).as_independent(C, as_Add=False)
    numerator, denominator = sympy.fraction(rest)
    try:
        product = sympy.Poly(numerator * denominator, C, domain="QQ")
    except sympy.CoercionFailed:  # coefficients such as log(2) beside others
        return None
    if product.degree() > _DEGREE:
        return None
    if constant.is_zero or product.is_zero:
        return Signs(None, None, exact=True)
    if not constant.is_Rational and abs(constant.evalf(50)) < 1e-40:
        return None  # perhaps 0, as log(4) - 2 log(2) is
    found: dict[int, float] = {}
    sign = 1 if constant.evalf(50) > 0 else -1
    for point in _between_roots(product, sympy.Rational(low), sympy.Rational(high)):
        found.setdefault(int(sympy.sign(product.eval(point))) * sign, float(point))
    return Signs(found.get(1), found.get(-1), exact=True)


def tidy(tree):
    """Cancel what an expression divides by and multiplies with, and leave it in factors, which keep their digits."""
    constant, rest = sympy.factor_terms(tree).as_independent(C, as_Add=False)
    return constant * sympy.factor(sympy.cancel(rest)) if _small(rest) else tree


def _small(tree) -> bool:
    """Tell whether algebra is fast on an expression: as a polynomial, of what degree, in how many functions, over what."""
    powers = tree.atoms(sympy.Pow)
    functions = tree.atoms(sympy.Function) | {power for power in powers if not power.exp.is_Integer}
    divisors = [power for power in powers if power.base != C and power.exp.is_negative]
    return (
        all(power.exp.is_Rational and power.exp.q <= 6 for power in powers)
        and sum(abs(power.exp.p) for power in powers) <= _DEGREE
        and len(functions) <= 4
        and len(divisors) <= 6
        and sympy.count_ops(tree) < TOO_LONG
    )


def _between_roots(polynomial, low, high):
    """Return a point of (low, high) before, between and after the real roots there."""
    if polynomial.degree() == 0:
        return [(low + high) / 2]
    tiny = sympy.Rational(1, 10**30)
    roots = [ends for ends, _ in polynomial.sqf_part().intervals(inf=low, sup=high, eps=tiny)]
    edges = [low, *(edge for ends in roots for edge in ends), high]
    points = [(left + right) / 2 for left, right in zip(edges[::2], edges[1::2], strict=True)]
    return [point for point in points if low < point < high and polynomial.eval(point) != 0]


def _enclosed_signs(tree, low, high) -> Signs:
    if _vanishes(tree, low, high):
        return Signs(None, None, exact=False, unproven=0.0)
    found: dict[bool, float] = {}
    unproven = 2 * SMALLEST
    for near_one in (False, True):
        cells = _cells(low, high, near_one)
        for turn in range(_ROUNDS):
            enclosed = enclose(tree, cells, near_one)
            for positive, proven in ((True, enclosed.lo > 0), (False, enclosed.hi < 0)):
                if proven.any():
                    found.setdefault(positive, _point(cells, int(np.argmax(proven)), near_one))
            cells = cells[:, ~((enclosed.lo >= 0) | (enclosed.hi <= 0))]
            if len(found) == 2 or not cells.size:
                break
            if turn == _ROUNDS - 1 or cells.shape[1] > _CELLS:
                unproven += float((cells[1] - cells[0]).sum())
                for i in range(0, cells.shape[1], max(1, cells.shape[1] // 64)):
                    _sample(tree, cells[:, i].mean(), near_one, found)
                break
            cells = halved(cells)
    if len(found) == 2:
        unproven = 0.0  # that it has both signs is proven, or seen
    return Signs(found.get(True), found.get(False), exact=False, unproven=unproven)


def _vanishes(tree, low, high) -> bool:
    """See whether an expression is 0, as far as 100 digits tell, at twelve points."""
    return not any(_settled(tree, low + (high - low) * i / 13.1, False, 50) for i in range(1, 13))


def _sample(tree, middle, near_one, found) -> None:
    digits = 50 - 3 * int(np.log10(middle))  # what cancels towards an end must leave some
    if value := _settled(tree, float(middle), near_one, digits):
        found.setdefault(bool(value > 0), 1 - float(middle) if near_one else float(middle))


def _settled(tree, near: float, near_one: bool, digits: int):
    """Compute an expression at c, or 1 - c, to so many digits and to twice as many; 0 where the two do not agree to ten
    digits, since it is then rounding alone, or where it has no value."""
    values = []
    for precision in (digits, 2 * digits):
        with mpmath.workdps(precision):
            given = mpmath.mpf(near)
            c, d = (1 - given, given) if near_one else (given, 1 - given)
            values.append(exact_value(tree, c, d, near_one))
    rough, fine = values
    agree = None not in values and abs(rough - fine) <= abs(fine) * mpmath.mpf(10) ** -10
    return fine if agree else 0


def exact_value(tree, c, d, near_one=False):
    """Compute an expression at mpmath's c and d = 1 - c; None where it has no finite real value."""
    try:
        value = evaluate(tree, c, d, EXACT, near_one)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return value if isinstance(value, mpmath.mpf) and mpmath.isfinite(value) else None


# --- Intervals --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interval:
    """Arrays of intervals [lo, hi]; NaN where an operation is not defined on all of one."""

    lo: NDArray[np.float64]
    hi: NDArray[np.float64]

    def __add__(self, other):
        return _widened(self.lo + other.lo, self.hi + other.hi)

    def __neg__(self):
        return Interval(-self.hi, -self.lo)

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        ends = [_times(a, b) for a in (self.lo, self.hi) for b in (other.lo, other.hi)]
        return _widened(np.minimum.reduce(ends), np.maximum.reduce(ends))


def _times(a, b):
    """Multiply bounds: infinity is a bound and not a value, so 0 times it is 0; what underflows is not 0."""
    product = np.where((a == 0) | (b == 0), np.where(np.isnan(a) | np.isnan(b), np.nan, 0.0), a * b)
    return np.where((product == 0) & (a != 0) & (b != 0), np.sign(a) * np.sign(b) * _TINY, product)


def _widened(lo, hi, by=_WIDER):
    """Round outwards, below 1e-307 by a whole unit; 0 is exact: what rounds to it is no 0 when it comes here."""
    return Interval(lo - np.abs(lo) * by - _TINY * (lo != 0), hi + np.abs(hi) * by + _TINY * (hi != 0))


def _number(node) -> Interval:
    if node.is_Rational and node.q == 1 and abs(node.p) < 2**53:
        return Interval(np.float64(node.p), np.float64(node.p))
    value = np.float64(float(node))
    return _widened(value, value)


def _rising(function):
    def apply(x: Interval) -> Interval:
        return _widened(function(x.lo), function(x.hi), 2 * _WIDER)

    return apply


def _exp(x: Interval) -> Interval:
    return _widened(np.exp(x.lo), np.maximum(np.exp(x.hi), _TINY), 2 * _WIDER)


def _power(base: Interval, exponent: "int | Interval") -> Interval:
    if isinstance(exponent, Interval):
        if exponent.lo.ndim == 0 and exponent.lo > 0:  # a positive number: defined at 0 too
            inner = Interval(np.where(base.lo < 0, np.nan, base.lo), base.hi)
            ends = [inner.lo**exponent.lo, inner.lo**exponent.hi, inner.hi**exponent.lo, inner.hi**exponent.hi]
            hi = np.maximum.reduce(ends)
            return _widened(np.minimum.reduce(ends), np.where((hi == 0) & (inner.hi > 0), _TINY, hi), 2 * _WIDER)
        return _ENCLOSING.exp(exponent * _ENCLOSING.log(base))
    if exponent < 0:
        inner = _power(base, -exponent)
        inside = (inner.lo <= 0) & (inner.hi >= 0)
        lo, hi = (np.where(inside, end, 1 / value) for end, value in ((-np.inf, inner.hi), (np.inf, inner.lo)))
        return _widened(lo, hi)
    ends = [base.lo**exponent, base.hi**exponent]
    ends = [
        np.where((end == 0) & (x != 0), np.sign(x) ** exponent * _TINY, end)
        for end, x in zip(ends, (base.lo, base.hi), strict=True)
    ]
    if exponent % 2:
        return _widened(*ends, exponent * _WIDER)
    low = np.where((base.lo <= 0) & (base.hi >= 0), 0, np.minimum(*ends))
    return _widened(low, np.maximum(*ends), exponent * _WIDER)


_ENCLOSING = Arithmetic(_number, _rising(np.log), _rising(np.log1p), _exp, _rising(np.expm1), _power)


def enclose(tree, cells: NDArray[np.float64], near_one: bool) -> Interval:
    """Enclose the values of an expression on cells, which are of c, or of 1 - c where `near_one`."""
    given = Interval(*cells)
    other = _widened(1 - given.hi, 1 - given.lo)
    c, d = (other, given) if near_one else (given, other)
    with np.errstate(all="ignore"):
        value = evaluate(tree, c, d, _ENCLOSING, near_one)
        shape = cells.shape[1:]
        return Interval(np.broadcast_to(value.lo, shape), np.broadcast_to(value.hi, shape))


def _cells(low, high, near_one) -> NDArray[np.float64]:
    """Return cells of (low, 1/2), or of 1 - (1/2, high), each twice as far from the end as the one before."""
    start, end = (1 - high, min(0.5, 1 - low)) if near_one else (low, min(0.5, high))
    start = max(start, SMALLEST)
    edges = np.concatenate([[start], 2.0 ** np.arange(-200, 0), [end]])
    edges = np.unique(edges[(edges >= start) & (edges <= end)])
    return np.stack([edges[:-1], edges[1:]])


def all_cells() -> list[tuple[bool, NDArray[np.float64]]]:
    """Return the cells of either half of (0, 1), and whether they are of 1 - c."""
    return [(near_one, _cells(0.0, 1.0, near_one)) for near_one in (False, True)]


def halved(cells):
    """Halve each cell."""
    middles = cells.mean(axis=0)
    return np.concatenate([[cells[0], middles], [middles, cells[1]]], axis=1)


def _point(cells, i, near_one) -> float:
    middle = float(cells[:, i].mean())
    return 1 - middle if near_one else middle
