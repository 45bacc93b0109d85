"""The classification against the paper's table 1, against closed forms, and against the definitions themselves."""

import json
from dataclasses import asdict
from fractions import Fraction
from math import exp, log, log1p

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from candor.schemes import SPECTRUM, Scheme, classify, get
from candor.schemes.construction import from_density, from_expressions, with_giving_up_below
from candor.schemes.theory import (
    GRID,
    best_expected_reward,
    best_stated,
    density,
    expected_reward,
    miscalibration_penalty,
)
from candor.vocabulary import PAPER_SCHEMES, SCHEME_FAMILIES_WITH_K, parse_scheme_name

TABLE_1 = {
    "correctness-only": "weakly",
    "log": "not",
    "log-loss": "not",
    "brier-score": "not",
    "brier-log-hybrid": "strictly",
    "overconfidence": "strictly",
    "underconfidence": "strictly",
}
BIAS = {"overconfidence": "over", "underconfidence": "under", "brier-log-hybrid": "under"}

ks = st.floats(-8, 8).map(lambda exponent: 10.0**exponent)


def printed_table_1(family, k):
    """Table 1's last column; brier-k is non-hackable only for k <= 1, and then strictly (appendix C.4)."""
    return ("strictly" if k <= 1 else "not") if family == "brier" else TABLE_1[family]


def assert_witnesses_hold(scheme, found):
    """Each property that fails has a witness, which evaluation of f and g confirms."""
    failing = {
        name
        for name, strength in (
            ("interpretability", found.interpretability),
            ("proper scoring", found.proper_scoring),
            ("best effort", found.best_effort),
        )
        if strength == "none"
    }
    assert {w.fails for w in found.witnesses} == failing
    for w in found.witnesses:
        assert w.reward == pytest.approx(expected_reward(scheme, w.c, w.q), rel=1e-12, abs=1e-300)
        assert w.honest_reward == pytest.approx(expected_reward(scheme, w.honest_c, w.p), rel=1e-12, abs=1e-300)
        assert w.reward > w.honest_reward
        if w.fails == "interpretability":
            assert (w.p, w.q) in ((1, 1), (0, 0))
            assert w.c < w.honest_c if w.p else w.c > w.honest_c  # the wrong way
        else:
            assert w.honest_c == w.p
            assert w.q == w.p if w.fails == "proper scoring" else w.q < w.p  # one can always answer worse


# Table 1 and appendices C and D.


@pytest.mark.parametrize("name", PAPER_SCHEMES)
def test_table_1(name):
    scheme, (family, k) = get(name), parse_scheme_name(name)
    found = classify(scheme)
    right = printed_table_1(family, k)
    assert found.name == name
    assert found.non_hackable == right
    assert found.interpretability == found.proper_scoring == ("weak" if family == "correctness-only" else "strict")
    assert found.best_effort == ("none" if right == "not" else "strict")
    assert found.bias == ("undefined" if right == "not" else BIAS.get(family, "neither"))
    assert found.on_interval == ("weakly" if right == "weakly" else "strictly")
    assert found.method == "symbolic"
    assert found.unproven == 0
    assert found.error_bound < 1e-13
    assert found.safe_on_101 == (right != "not" or name == "log-1/ln202")
    assert found.discrete_optimum == ("weak" if family == "correctness-only" else "strict")
    assert_witnesses_hold(scheme, found)


@pytest.mark.parametrize(
    ("name", "begins", "pays_below", "digits", "on_101", "digits_101"),
    [
        ("log-1", 1 / (1 + exp(1)), 0.64842, 5, 0.6453, 4),
        ("brier-2", 0.25, 0.5, 15, 0.49995, 5),
        ("log-1/ln202", 1 / 203, 0.01337, 5, None, 0),
        ("log-loss", 0.5, 1.0, 15, 1.0, 15),
        ("brier-score", 0.5, 1.0, 15, 1.0, 15),
    ],
)
def test_printed_thresholds(name, begins, pays_below, digits, on_101, digits_101):
    found = classify(get(name))
    assert found.interval == (pytest.approx(begins, rel=1e-14), 1)
    assert found.log_from == pytest.approx(log(begins), rel=1e-14)
    assert round(found.hacking_pays_below, digits) == pays_below
    assert found.log_hacking_pays_below == pytest.approx(log(found.hacking_pays_below), abs=1e-15)
    at_101 = found.hacking_pays_below_on_101
    assert (at_101 if at_101 is None else round(at_101, digits_101)) == on_101


@given(ks)
def test_thresholds_of_log_k(k):
    found = classify(get(f"log-{k!r}"))
    assert found.non_hackable == "not"
    assert found.log_from == pytest.approx(-1 / k - log1p(exp(-1 / k)), rel=1e-12)
    assert found.interval == (pytest.approx(exp(found.log_from), rel=1e-9, abs=1e-300), 1)
    p = found.hacking_pays_below
    if 1e-8 < p < 0.99:  # elsewhere E_max of log-k is not computed so simply
        assert 1 + k * (log(p) + (1 - p) / p * log1p(-p)) == pytest.approx(0, abs=1e-9 * max(1, k))


@given(st.floats(1, 1e8, exclude_min=True))
def test_thresholds_of_brier_k(k):
    found = classify(get(f"brier-{k!r}"))
    if k - 1 > 1e-12:
        assert found.interval == (pytest.approx((k - 1) / (2 * k), rel=1e-9, abs=1e-15), 1)
        assert found.hacking_pays_below == pytest.approx((k - 1) / k, rel=1e-9, abs=1e-15)
    assert found.non_hackable == "not"


@pytest.mark.parametrize("k", ["1/1000", "1e-8", "1/745", "1/700", "1e-25"])
def test_log_k_is_hackable_below_the_floats(k):
    found, k = classify(get(f"log-{k}")), parse_scheme_name(f"log-{k}")[1]
    assert found.non_hackable == "not"
    assert found.best_effort == "none"
    assert found.bias == "undefined"
    assert found.log_from == pytest.approx(-1 / k, rel=1e-12)
    # E_max / p = 1 + k (ln p - 1) for p -> 0
    assert found.log_hacking_pays_below == pytest.approx(1 - 1 / k, rel=1e-12)
    assert found.safe_on_101
    assert found.hacking_pays_below_on_101 is None
    same = classify(from_expressions("mine", f"1 + {k!r}*log(c)", f"{k!r}*log(1-c)"))
    assert same.non_hackable == "not"
    assert same.log_from == pytest.approx(-1 / k, rel=1e-12)
    assert same.log_hacking_pays_below == pytest.approx(1 - 1 / k, rel=1e-12)


@given(st.sampled_from(SCHEME_FAMILIES_WITH_K), st.floats(0, 1e6, exclude_min=True) | ks)
@example("overconfidence", 5e-324)
@example("underconfidence", 1e-200)
def test_any_k(family, k):
    found = classify(get(f"{family}-{k!r}"))
    assert found.non_hackable == printed_table_1(family, k)
    assert found.method == "symbolic"
    json.dumps(asdict(found), allow_nan=False)


@given(st.sampled_from([*PAPER_SCHEMES, "brier-0.5", "log-1/2", "overconfidence-0.01", "underconfidence-50"]))
def test_functions_of_ones_own_are_classified_by_samples(name):
    named = get(name)
    scheme = Scheme("mine", f=named.f, g=named.g)
    found, right = classify(scheme), classify(named)
    assert (found.method, found.unproven) == ("numeric", 1)
    for field in ("interpretability", "proper_scoring", "best_effort", "non_hackable", "discrete_optimum", "bias"):
        assert getattr(found, field) == getattr(right, field), field
    if right.interval:
        assert found.interval[0] == pytest.approx(right.interval[0], abs=found.error_bound)
    assert_witnesses_hold(scheme, found)


@pytest.mark.parametrize(
    ("name", "correct", "wrong", "method"),
    [
        ("correctness-only", "1", "0", "symbolic"),
        ("log-loss", "log(c)", "log(1-c)", "symbolic"),
        ("log-1", "1 + ln(c)", "ln(1 - c)", "symbolic"),
        ("log-1/ln202", "1 + ln(c)/ln(202)", "ln(1 - c)/ln(202)", "symbolic"),
        ("brier-score", "-(1-c)^2", "-c^2", "symbolic"),
        ("brier-1", "1 - (1-c)^2", "-c^2", "symbolic"),
        ("brier-2", "1 - 2*(1-c)^2", "-2*c^2", "symbolic"),
        ("brier-log-hybrid", "c", "c + log1p(-c)", "symbolic"),
        ("overconfidence-4", "(5*log(4*c+1) - 4*c)/(5*log(5) - 4)", "(log(4*c+1) - 4*c)/(5*log(5) - 4)", "symbolic"),
        ("underconfidence-1", "(c + log(1 - c/2))/(1 - log(2))", "(c + 2*log(1 - c/2))/(1 - log(2))", "symbolic"),
        # the same scheme, written so that algebra cannot see it
        ("brier-1", "1 - exp(2*log(1 - c))", "-(sqrt(c)*sqrt(c))^2", "symbolic"),
        ("brier-1", "2*c - c^2", "-sqrt(c)^3*sqrt(c)*exp(0)", "symbolic"),
    ],
)
def test_expressions_are_classified_like_the_named_schemes(name, correct, wrong, method):
    scheme = from_expressions(name, correct, wrong)
    found, right = classify(scheme), classify(get(name))
    assert found.method == method
    for field, value in asdict(right).items():
        if field not in ("witnesses", "error_bound"):
            got = getattr(found, field)
            number = isinstance(value, float | tuple)
            assert got == (pytest.approx(value, rel=1e-12) if number else value), field
    assert_witnesses_hold(scheme, found)


def test_transcendental_schemes_are_classified_by_enclosures():
    found = classify(from_expressions("mine", "exp(c)*(2 - c) - 1", "exp(c)*(1 - c) - 1"))  # h = -exp(c)
    assert (found.non_hackable, found.bias, found.method) == ("strictly", "under", "numeric")
    assert found.unproven < 1e-50
    # the spherical score: h = -(c^2 + (1 - c)^2)^(-3/2), steepest at 1/2
    root = "sqrt(c^2 + (1-c)^2)"
    found = classify(from_expressions("mine", f"c/{root}", f"(1-c)/{root}"))
    assert (found.non_hackable, found.bias) == ("not", "undefined")
    assert found.interval == (pytest.approx(0.5, abs=1e-12), 1)
    found = classify(from_expressions("mine", f"c/{root}", f"(1-c)/{root} - 1"))
    assert (found.non_hackable, found.bias) == ("strictly", "neither")


def test_single_zeros_of_h_keep_a_scheme_strict():
    """h = -(c - 1/2)^2: theorem 1 does not apply, the definitions hold."""
    found = classify(from_density("mine", "-(c - 1/2)^2"))
    assert (found.interpretability, found.proper_scoring, found.non_hackable) == ("strict", "strict", "strictly")


@pytest.mark.parametrize(
    ("correct", "wrong", "levels"),
    [
        ("c", "-c", ("strict", "none", "none")),  # linear scores: honest effort may earn less than giving up
        ("1 - c", "c", ("none", "none", "none")),
        ("c", "1 + c + log(1-c)", ("strict", "strict", "none")),  # the hybrid, wrong answers paid 1 more
        ("sqrt(c)", "0", ("weak", "none", "strict")),
        ("c^c", "-c^c", ("none", "none", "strict")),
        ("1 + (1-c)^2", "c^2", ("none", "none", "strict")),  # brier-1 with h > 0
        ("c/2 + c^2", "-c^2", ("strict", "none", "none")),  # E_max = 2 c^3 - c^2 / 2
        ("1 + c", "-c^2", ("strict", "none", "strict")),
    ],
)
def test_what_fails_has_a_witness(correct, wrong, levels):
    scheme = from_expressions("mine", correct, wrong)
    found = classify(scheme)
    assert (found.interpretability, found.proper_scoring, found.best_effort) == levels
    assert (found.non_hackable, found.bias) == ("not", "undefined")
    assert (found.interval is None) == (found.proper_scoring == "none")
    assert_witnesses_hold(scheme, found)


def test_rewards_beyond_the_floats_near_the_ends_are_left_out():
    scheme = from_expressions("mine", "expm1(1/(2*c))", "log(2/(1-c))")
    found = classify(scheme)
    assert found.proper_scoring == "none"
    assert_witnesses_hold(scheme, found)
    found = classify(from_density("mine", "-exp(3*c/(1 - c))"))
    assert (found.non_hackable, found.bias, found.witnesses) == ("strictly", "under", ())
    shifted = classify(with_giving_up_below("mine", from_density("base", "-exp(3*c/(1 - c))"), 0.3))
    assert shifted.hacking_pays_below == pytest.approx(0.3, abs=1e-9)


# Theorem 5, at random: every h <= 0 with a converging integral and f0 >= g0 is non-hackable; spoilt, it is hackable.

coefficients = st.lists(st.integers(-9, 9), min_size=1, max_size=3)
tenths = st.integers(0, 20).map(lambda n: Fraction(n, 10))


def polynomial(values, power=0):
    return " + ".join(f"({value})*c^{n + power}" for n, value in enumerate(values)) or "0"


def integrated(h, offset, by):
    """Return the coefficients of offset + the integral of by(t) h(t), by being t - 1 or t."""
    product = np.polynomial.Polynomial(np.array(h, dtype=object)) * np.polynomial.Polynomial(np.array(by, dtype=object))
    return [offset, *(value / (n + 1) for n, value in enumerate(product.coef))]


def squared(values, factor=-1):
    return [Fraction(int(value) * factor) for value in np.convolve(values, values)]


@settings(max_examples=40)
@given(coefficients, tenths, tenths)
def test_every_density_gives_a_non_hackable_scheme(root, f0, gap):
    h = squared(root)
    f, g = integrated(h, f0, (Fraction(-1), Fraction(1))), integrated(h, f0 - gap, (Fraction(0), Fraction(1)))
    scheme = from_expressions("mine", polynomial(f), polynomial(g))
    found = classify(scheme)
    assert found.non_hackable == ("strictly" if any(root) else "weakly")
    assert found.method == "symbolic"
    assert found.witnesses == ()
    assert found.discrete_optimum in ("strict", "weak")
    assert found.hacking_pays_below is None
    assert found.safe_on_101
    same = from_density("same", polynomial(h), float(f0), float(f0 - gap))
    assert same.f(GRID) == pytest.approx(scheme.f(GRID), rel=1e-12, abs=1e-12)
    assert same.g(GRID) == pytest.approx(scheme.g(GRID), rel=1e-12, abs=1e-12)
    assert classify(same).non_hackable == found.non_hackable
    c = GRID[::10]
    assert density(same, c) == pytest.approx(sum(float(v) * c**n for n, v in enumerate(h)), rel=1e-9, abs=1e-9)


@settings(max_examples=40)
@given(coefficients, st.integers(1, 20).map(lambda n: Fraction(n, 10)), st.sampled_from(["offset", "sign", "no h"]))
def test_a_spoilt_density_is_found_hackable(root, by, how):
    h = [*squared(root), Fraction(-1)]  # not 0 everywhere
    f0 = Fraction(0)
    if how == "offset":
        f0 -= by
    elif how == "sign":
        h[0] += 1000
    f, g = integrated(h, f0, (Fraction(-1), Fraction(1))), integrated(h, Fraction(0), (Fraction(0), Fraction(1)))
    if how == "no h":
        f[1] += by
    scheme = from_expressions("mine", polynomial(f), polynomial(g))
    found = classify(scheme)
    assert found.non_hackable == "not"
    assert found.proper_scoring == ("strict" if how == "offset" else "none")
    assert_witnesses_hold(scheme, found)
    if how == "offset":
        begins, pays = found.interval and found.interval[0], found.hacking_pays_below
        difference = np.polynomial.Polynomial([float(a - b) for a, b in zip(f, g, strict=True)])
        if begins is not None:
            assert difference(begins) == pytest.approx(0, abs=1e-9)
            assert pays > begins
        else:
            assert difference(1) < 1e-9
        if pays < 1:
            assert best_expected_reward(scheme, pays) == pytest.approx(0, abs=1e-9)


# The definitions themselves.

non_hackable = st.one_of(
    st.sampled_from([name for name in SPECTRUM if name != "correctness-only"]),
    st.tuples(st.sampled_from(["overconfidence", "underconfidence"]), st.floats(-2, 6)).map(
        lambda pair: f"{pair[0]}-{10 ** pair[1]!r}"
    ),
).map(get)


@given(non_hackable, st.floats(0.01, 0.99), st.floats(0.01, 1))
def test_bias_is_that_of_definition_6(scheme, p, share):
    delta = share * min(p, 1 - p) * 0.999
    above, below = miscalibration_penalty(scheme, np.array([p + delta, p - delta]), p)
    noise = 1e-14
    match classify(scheme).bias:
        case "over":
            assert above < below + noise
        case "under":
            assert above > below - noise
        case "neither":
            assert above == pytest.approx(below, abs=noise)


def test_a_start_below_rounding_is_seen():
    found = classify(
        from_expressions("mine", "2*c - c^2 - 1e-20", "-c^2")
    )  # f - g = 2 c - 1e-20, E_max = c^2 - 1e-20 c
    assert (found.non_hackable, found.method) == ("not", "symbolic")
    assert found.interval[0] == pytest.approx(5e-21)
    assert found.hacking_pays_below == pytest.approx(1e-20)


@pytest.mark.parametrize(
    ("correct", "wrong", "bias"),
    [
        # brier-1 plus a zero that algebra does not see, with a limit at 0 that cannot be put in
        ("2*c - c^2 + (sqrt((1 + c)^2) - 1 - c)*log(c)", "-c^2", "neither"),
        ("2*c - c^2 + sqrt(c^2) - c", "-c^2", "neither"),
        ("c^2/2*log(c) - c^2/4 - c*log(c) + c", "c^2/2*log(c) - c^2/4", "over"),  # h = log(c)
    ],
)
def test_what_algebra_does_not_see_is_found_by_numbers(correct, wrong, bias):
    found = classify(from_expressions("mine", correct, wrong))
    assert (found.non_hackable, found.bias) == ("strictly", bias)
    assert found.method == "numeric"


@pytest.mark.parametrize("name", PAPER_SCHEMES)
def test_expected_rewards(name):
    scheme = get(name)
    assert expected_reward(scheme, 0.3, 0.7) == pytest.approx(0.7 * scheme.f(0.3) + 0.3 * scheme.g(0.3))
    assert expected_reward(scheme, GRID[:, None], GRID).shape == (101, 101)
    assert best_expected_reward(scheme, 0.3) == expected_reward(scheme, 0.3, 0.3)
    assert miscalibration_penalty(scheme, 0.3, 0.3) == 0
    assert (miscalibration_penalty(scheme, GRID, GRID[:, None]) > -1e-15).all()
    assert isinstance(best_expected_reward(scheme, 0.3), float)


def test_penalty_of_brier_1_is_the_square_of_the_error():
    assert miscalibration_penalty(get("brier-1"), GRID, GRID[:, None]) == pytest.approx((GRID - GRID[:, None]) ** 2)


@pytest.mark.parametrize("name", PAPER_SCHEMES)
def test_density_of_functions_of_ones_own(name):
    named = get(name)
    sampled = density(Scheme("mine", f=named.f, g=named.g), GRID)
    assert sampled == pytest.approx(density(named, GRID), rel=1e-7, abs=1e-9)


def test_density_of_an_improper_scheme_is_refused():
    for scheme in (Scheme("mine", f=lambda c: c, g=lambda c: -c), from_expressions("mine", "c", "-c")):
        with pytest.raises(ValueError, match="mine has no h"):
            density(scheme, 0.3)


def test_best_stated_is_the_nearest_below_or_above():
    p = np.linspace(0, 1, 1001)
    stated = best_stated(get("brier-1"), p)
    assert np.abs(GRID[stated] - p).max() <= 0.5 / 101 + 1e-12
    assert best_stated(get("brier-1"), 0.5) == 50
    assert best_stated(get("correctness-only"), 0.5) == 0


@pytest.mark.parametrize(
    ("correct", "wrong", "optimum"),
    [("1 - (1-c)^2", "-c^2", "strict"), ("c", "-c", "none"), ("1", "0", "weak"), ("1-c", "c", "none")],
)
def test_discrete_optimum(correct, wrong, optimum):
    scheme = from_expressions("mine", correct, wrong)
    assert classify(scheme).discrete_optimum == optimum
    p = np.linspace(0, 1, 2021)
    rewards = expected_reward(scheme, GRID, p[:, None])
    near = np.abs(GRID - p[:, None]) < 1 / 101 + 1e-9
    near[:, 0] |= p < GRID[0]
    near[:, -1] |= p > GRID[-1]
    best_near = np.where(near, rewards, -np.inf).max(axis=1)
    assert (best_near >= rewards.max(axis=1) - 1e-12).all() == (optimum != "none")


@pytest.mark.parametrize("name", ["log-1", "brier-2", "log-1/ln202", "log-1/2", "brier-1.01", "log-loss", "brier-1"])
def test_hacking_pays_on_101_by_trying_every_policy(name):
    """For any p, compare the best of trying with the best of giving up."""
    scheme, found = get(name), classify(get(name))
    p = np.linspace(0, 1, 20001)[1:-1]
    trying = expected_reward(scheme, GRID, p[:, None]).max(axis=1)
    pays = p[trying < scheme.g(GRID).max() - 1e-15]
    below = found.hacking_pays_below_on_101
    assert (pays.max(initial=0) if pays.size else None) == (None if below is None else pytest.approx(below, abs=6e-5))
