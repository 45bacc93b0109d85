"""The named reward schemes of the paper's table 1, for every k > 0, accurate to rounding.

A scheme is a pair of functions of the confidence c in (0, 1): f(c) rewards a correct answer, g(c) a wrong one
(section 3, definition 1). All functions are vectorised, pure, and keep the shape that they are given.

The printed forms of overconfidence-k, underconfidence-k and the Brier-log hybrid subtract nearly equal numbers where k
or c is small. Here they are rewritten around one function without cancellation,

    rho(x) = (x - ln(1 + x)) / (x^2 / 2),   rho(0) = 1,

in which the powers of k that tend to zero have cancelled by algebra. The limit k -> 0, brier-1, can be read off.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.polynomial.polynomial import polyval
from numpy.typing import ArrayLike, NDArray

from candor.schemes.scheme import Named, Rewards, Scheme, checked
from candor.vocabulary import is_scheme_name, parse_scheme_name

SPECTRUM = (
    "correctness-only",
    "overconfidence-1000",
    "overconfidence-4",
    "overconfidence-1",
    "brier-1",
    "underconfidence-1",
    "underconfidence-4",
    "brier-log-hybrid",
)
"""The schemes that the paper trains, from the overconfident to the underconfident end (sections 3.4 and 4.2)."""


def get(name: str) -> Scheme:
    """Return the scheme of this name, such as `brier-1`, `log-1/ln202` or `overconfidence-0.5`.

    Its f and g raise ValueError for a confidence outside (0, 1) or NaN. The scheme can be pickled.

    Raises:
        ValueError: no scheme has this name; the message lists what would have been valid.
    """
    family, k = parse_scheme_name(name)
    f, g = (partial(_evaluate, _TABLE_1[family], k, which) for which in (0, 1))
    return Scheme(name, f, g, Named(family, k))


def spectrum_place(name: str) -> tuple[int, float] | None:
    """Return what sorts schemes along the spectrum from its overconfident end (section 3.4), for every k.

    None for one that is not on it: it is hackable, is brier-k for k < 1, or has no name of table 1.
    """
    family, k = parse_scheme_name(name) if is_scheme_name(name) else ("", None)
    match family:
        case "correctness-only":
            return 0, 0.0
        case "overconfidence":
            return 1, -k
        case "brier" if k == 1:
            return 2, 0.0
        case "underconfidence":
            return 3, k
        case "brier-log-hybrid":
            return 4, 0.0
        case _:
            return None


def normalisation(family: str, k: float) -> float:
    """Return what table 1 divides overconfidence-k or underconfidence-k by (appendix D.4 leaves it out), to rounding.

    (k + 1) ln(k + 1) - k and k - ln(1 + k).
    """
    return k * (k * normalisation_by_square(family, k))


def normalisation_by_square(family: str, k: float) -> float:
    """Return the same divided by k^2, which tends to 1/2 for small k."""
    log, x = np.log1p(k), np.float64(k)
    return float((2 * log / x - _rho(x, log) if family == "overconfidence" else _rho(x, log)) / 2)


def named_density(family: str, k: float | None, c: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the density h of a row of table 1 (theorem 1), from its derivatives."""
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
            return -1 / normalisation_by_square(family, k) / (1 + k * c)
        case _:
            return -1 / normalisation_by_square(family, k) / (1 + k * (1 - c))


def _evaluate(pair: Callable, k: float | None, which: int, confidence: ArrayLike) -> Rewards:
    c = checked(confidence)
    return (pair(c) if k is None else pair(c, k))[which][()]  # [()] makes a scalar of a zero-dimensional array


# Each function below is one row of table 1: it returns f(c) and g(c).


def _correctness_only(c):
    return np.ones_like(c), np.zeros_like(c)


def _log_loss(c):
    return np.log(c), np.log1p(-c)


def _log(c, k):
    return 1 + k * np.log(c), k * np.log1p(-c)


def _brier_score(c):
    return -((1 - c) ** 2), -(c**2)


def _brier(c, k):
    # Expanded below 1/2, where 1 - (1 - c)^2 would lose c; beyond it the printed form is the accurate one.
    return np.where(c < 0.5, (1 - k) + k * c * (2 - c), 1 - k * (1 - c) ** 2), -k * c * c


def _brier_log_hybrid(c):
    return c.copy(), -0.5 * c * (c * _rho(-c, np.log1p(-c)))


def _overconfidence(c, k):
    # Divided by k^2 / 2, f is 2 c ln(1 + x) / x - c^2 rho(x) with x = k c, and the norm is the same at c = 1.
    # Neither cancels by more than half. A product c * c comes last: it may underflow before the norm divides it.
    def parts(x):
        log = np.log1p(x)
        ratio = np.where(x > 0, log / np.where(x > 0, x, 1), 1)  # k c may underflow to 0
        return ratio, _rho(x, log)

    ratio_at_1, rho_at_1 = parts(np.float64(k))
    norm = 2 * ratio_at_1 - rho_at_1
    ratio, rho = parts(k * c)
    return c * ((2 * ratio - c * rho) / norm), -c * (c * rho / norm)


def _underconfidence(c, k):
    # With y = k c / (1 + k), k c - y = k y; divided by k^2 / 2, f is (2 c - c^2 rho(-y) / (1 + k)) / (1 + k).
    # ln(1 - y) is taken through 1 - c, which is exact near c = 1, where y has lost it.
    y = k * c / (1 + k)
    rho = _rho(-y, -np.log1p(k * c / (1 + k * (1 - c))))
    norm = (1 + k) * _rho(np.float64(k), np.log1p(k))
    return c * ((2 - c * rho / (1 + k)) / norm), -c * (c * rho / norm)


_TABLE_1 = {
    "correctness-only": _correctness_only,
    "log": _log,
    "log-loss": _log_loss,
    "brier": _brier,
    "brier-score": _brier_score,
    "brier-log-hybrid": _brier_log_hybrid,
    "overconfidence": _overconfidence,
    "underconfidence": _underconfidence,
}

_ATANH = 1 / (2 * np.arange(16) + 3)
"""Coefficients of (atanh(s) - s) / s^3 in s^2; the first one left out is below 1e-17 of the sum for |s| <= 1/3."""


def _rho(x, log):
    """Return (x - ln(1 + x)) / (x^2 / 2), 1 at x = 0, for x > -1 and log = ln(1 + x).

    Away from 0 that form costs no more than a factor of five in rounding. Near 0 it cancels, so there, with
    r = 1 / (2 + x) and s = x r, ln(1 + x) = 2 atanh(s) and x - 2 s = x s give 2 r - 4 r^2 s (atanh(s) - s) / s^3,
    whose second term is small.
    """
    near = np.abs(x) < 0.5
    small, large = np.where(near, x, 0), np.where(near, 1, x)
    r = 1 / (2 + small)
    s = small * r
    series = 2 * r - 4 * r**2 * s * polyval(s**2, _ATANH)
    return np.where(near, series, 2 * (1 - log / large) / large)
