"""Constructed schemes against closed forms, what they are made for, and what is refused; by hand and from a configuration."""

import pickle
from math import log

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor.config import ConfigError, ShiftScheme
from candor.schemes import Scheme, build, classify, get
from candor.schemes.construction import (
    clipped,
    from_density,
    from_expressions,
    from_weight,
    scaled,
    unnormalised,
    with_best_effort_from,
    with_giving_up_below,
)
from candor.schemes.theory import GRID, best_expected_reward, density, expected_reward

LN_2 = log(2)


def assert_same(scheme, right, rel=1e-12):
    for got, exact in ((scheme.f, right.f), (scheme.g, right.g)):
        assert got(GRID) == pytest.approx(exact(GRID), rel=rel, abs=1e-15)


# Theorem 5 and definitions 9 and 10: every scheme whose weight is known, w = (t - 1) h.


@pytest.mark.parametrize(
    ("name", "weight", "f0"),
    [
        ("brier-1", "2*(1 - t)", 0),
        ("brier-0.25", "0.5*(1 - t)", 0.75),
        ("correctness-only", "0", 1),
        ("brier-log-hybrid", "1", 0),
        ("overconfidence-1", "(1-t)/(1+t)/(2*log(2) - 1)", 0),
        ("overconfidence-4", "16*(1-t)/(1+4*t)/(5*log(5) - 4)", 0),
        ("overconfidence-1000", "1e6*(1-t)/(1+1000*t)/(1001*log(1001) - 1000)", 0),
        ("underconfidence-1", "(1-t)/(2-t)/(1 - log(2))", 0),
        ("underconfidence-4", "16*(1-t)/(5-4*t)/(4 - log(5))", 0),
    ],
)
def test_weights_of_named_schemes(name, weight, f0):
    scheme = from_weight("mine", weight, f0=f0)
    assert_same(scheme, get(name))
    found, right = classify(scheme), classify(get(name))
    for field in ("non_hackable", "proper_scoring", "best_effort", "bias", "interval", "method", "discrete_optimum"):
        assert getattr(found, field) == getattr(right, field), field
    c = GRID[::20]
    assert density(scheme, c) == pytest.approx(density(get(name), c), rel=1e-12, abs=1e-15)


def test_density_and_offsets():
    assert_same(from_density("mine", "-2"), get("brier-1"))
    lifted = from_density("mine", "-2", f0=3, g0=-1)
    assert lifted.f(GRID) == pytest.approx(get("brier-1").f(GRID) + 3)
    assert lifted.g(GRID) == pytest.approx(get("brier-1").g(GRID) - 1)


@pytest.mark.parametrize(
    ("density_", "f", "g"),
    [
        ("-c^-0.9", lambda c: c**0.1 / 0.1 - c**1.1 / 1.1, lambda c: -(c**1.1) / 1.1),  # infinite at 0
        ("-1/((c - 1/2)^2 + 1e-6)", None, lambda c: peak(c)),  # a peak 1/1000 wide
        ("-exp(c)", lambda c: np.exp(c) * (2 - c) - 2, lambda c: np.exp(c) * (1 - c) - 1),
        ("-1/(1 - c)^3", lambda c: c / (1 - c), lambda c: -0.5 * (c / (1 - c)) ** 2),  # infinite at 1
    ],
)
def test_quadrature_is_accurate_where_h_is_steep(density_, f, g):
    scheme = from_density("mine", density_)
    c = np.array([1e-6, *GRID, 1 - 1e-6])
    for got, right in ((scheme.f, f), (scheme.g, g)):
        if right:
            assert got(c) == pytest.approx(right(c), rel=1e-9 if "exp" in density_ else 1e-12, abs=1e-12)
    assert scheme.f(0.3) == pytest.approx(scheme.f([*GRID, 0.3])[-1], rel=1e-12)
    assert scheme.f(np.full((2, 3), 0.5)).shape == (2, 3)
    assert scheme.g(np.array([])).shape == (0,)


def peak(c):
    """Return the integral of -t / ((t - 1/2)^2 + a^2) from 0, a = 1/1000."""
    u, a = c - 0.5, 1e-3
    return -(np.log((u**2 + a**2) / (0.25 + a**2)) / 2 + (np.arctan(u / a) + np.arctan(0.5 / a)) / (2 * a))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"density": "-2 + 4*c"}, r"wrong sign at c = 0.75: theorem 5 asks for h <= 0"),
        ({"density": "-2", "g0": 1}, r"f0 = 0.0 and g0 = 1: theorem 5 asks for finite f0 >= g0"),
        ({"density": "-1/c"}, r"integral from 0 diverges"),
        ({"density": "-c^-1.5"}, r"integral from 0 diverges"),
        ({"density": "-1/(c*log(c)^2)"}, r"converges too slowly"),
        ({"density": "-1/(c - 1/3)^2"}, r"not real, finite and continuous at c = 0.333"),
        ({"density": "-sqrt(c - 1/2)"}, r"not real, finite and continuous at c = 0.001"),
        ({"density": "-sin(c)"}, r"position 2: 'sin\(c\)' is not known"),
    ],
)
def test_densities_that_are_none_are_refused(arguments, reason):
    with pytest.raises(ValueError, match=reason):
        from_density("mine", **arguments)


def test_weights_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"weight 't - 1/2' has the wrong sign at t = 0.25: theorem 5 asks for w >= 0"):
        from_weight("mine", "t - 1/2")
    with pytest.raises(ValueError, match=r"weight '2/t\^2': the integral from 0 diverges"):
        from_weight("mine", "2/t^2")
    with pytest.raises(ValueError, match=r"weight .*: position 5: '1/\(t - 1/2\)\^2' is not real.* at t = 0.5;"):
        from_weight("mine", "1 + 1/(t - 1/2)^2")


@pytest.mark.parametrize(
    ("correct", "reason"),
    [
        (
            "sqrt((c - 1/2)^2)",
            r"position 1: 'sqrt\(\(c - 1/2\)\^2\)' is not continuously differentiable at c = 0.5 \(def",
        ),
        ("((c - 0.3)^2)^(1/3)", r"not continuously differentiable at c = 0.3 "),
        ("2 + c^2/(c - 1/3)", r"position 5: 'c\^2/\(c - 1/3\)' is not real, finite and continuous at c = 0.333"),
        ("log(c - 1/2)", r"not real, finite and continuous at c = 0.001"),
        ("c - log(-c)", r"position 5: 'log\(-c\)' is not real, finite"),
        ("(c - 1/2)^0.5", r"not real, finite"),
        ("1 + exp(4/c)", r"a correct answer at c = 0.00495\d* is no finite number .*: position 5: 'exp\(4/c\)'"),
    ],
)
def test_functions_that_are_none_are_refused(correct, reason):
    with pytest.raises(ValueError, match=reason):
        from_expressions("mine", correct, "-c^2")


def test_a_smooth_function_with_a_harmless_zero_is_taken():
    assert from_expressions("mine", "c + ((c - 1/2)^2)^(3/2)", "-c").f(0.5) == 0.5


# Theorem 10 and our own shift.


def test_brier_2_is_brier_1_shifted_at_one_quarter():
    shifted = with_best_effort_from("mine", get("brier-1"), 0.25)
    for got, right in ((shifted.f, get("brier-2").f), (shifted.g, get("brier-2").g)):
        # brier-2 has twice the slope and E_max (2 p^2 - p): half of it, and an offset
        assert 2 * got(GRID) - right(GRID) == pytest.approx(np.full(101, 0.125), abs=1e-14)
    found, right = classify(shifted), classify(get("brier-2"))
    assert found.interval == right.interval == (0.25, 1)
    assert found.hacking_pays_below == pytest.approx(0.5, abs=1e-14)
    assert found.hacking_pays_below_on_101 == pytest.approx(right.hacking_pays_below_on_101, rel=1e-12)


shares = st.floats(0.01, 0.95)
bases = st.sampled_from(
    ["brier-1", "brier-0.3", "brier-2", "overconfidence-4", "underconfidence-1e-6", "brier-log-hybrid", "log-1"]
)


@given(shares, bases)
def test_best_effort_begins_where_theorem_10_says(p, name):
    scheme = with_best_effort_from("mine", get(name), p)
    found = classify(scheme)
    assert found.interval == (pytest.approx(p, abs=1e-9), 1)
    assert found.non_hackable == "not"
    assert found.proper_scoring == "strict"
    assert found.hacking_pays_below > p
    if name == "brier-1":
        assert found.hacking_pays_below == pytest.approx(min(2 * p, 1), abs=1e-9)
    # what giving up earns, g(0+), is what trying earns at c*
    if found.hacking_pays_below < 1 - 1e-9:
        assert best_expected_reward(scheme, found.hacking_pays_below) == pytest.approx(scheme.g(1e-300), abs=1e-9)


@given(shares, bases)
def test_giving_up_pays_exactly_below(p, name):
    scheme = with_giving_up_below("mine", get(name), p)
    found = classify(scheme)
    assert found.hacking_pays_below == pytest.approx(p, abs=1e-9)
    assert found.interval[0] < p
    assert scheme.g(GRID) == pytest.approx(get(name).g(GRID), abs=0)
    for share in (0.5, 0.9, 0.999):
        assert best_expected_reward(scheme, share * p) < 0
        assert best_expected_reward(scheme, 1 - share * (1 - p)) > 0
    assert abs(found.hacking_pays_below_on_101 - p) < 0.01 if p > 0.02 else True


def test_shifts_of_expressions_densities_and_functions_agree():
    made = [
        get("brier-log-hybrid"),
        from_expressions("written", "c", "c + log(1 - c)"),
        from_density("dense", "-1/(1 - c)"),
        Scheme("own", f=get("brier-log-hybrid").f, g=get("brier-log-hybrid").g),
    ]
    right = classify(with_giving_up_below("mine", made[0], 0.3))
    for base in made[1:]:
        scheme = with_giving_up_below("mine", base, 0.3)
        assert_same(scheme, with_giving_up_below("mine", made[0], 0.3))
        found = classify(scheme)
        coarse = 0.005 if base.name == "own" else 1e-9
        assert found.interval[0] == pytest.approx(right.interval[0], abs=coarse)
        assert found.hacking_pays_below == pytest.approx(0.3, abs=coarse)
        assert found.non_hackable == "not"


def test_giving_up_may_earn_something():
    """The offset of theorem 9 changes what giving up earns, and not where it pays."""
    scheme = with_giving_up_below("mine", scaled("base", get("brier-1"), offset=5), 0.3)
    assert classify(scheme).hacking_pays_below == pytest.approx(0.3, abs=1e-9)
    scheme = with_giving_up_below("mine", from_expressions("base", "2*c - c^2 + 5", "5 - c^2"), 0.3)
    assert classify(scheme).hacking_pays_below == pytest.approx(0.3, abs=1e-9)


@pytest.mark.parametrize("make", [with_best_effort_from, with_giving_up_below])
def test_shifts_that_make_no_sense_are_refused(make):
    for p in (0, 1, -0.5, float("nan")):
        with pytest.raises(ValueError, match=r"valid is a confidence in \(0, 1\)"):
            make("mine", get("brier-1"), p)
    with pytest.raises(ValueError, match=r"base cannot be shifted to .*: its scoring is not proper"):
        make("mine", from_expressions("base", "c", "-c"), 0.3)


def test_giving_up_cannot_pay_where_confidence_earns_nothing():
    with pytest.raises(ValueError, match=r"correctness-only rewards confidence the same up to 0.3"):
        with_giving_up_below("mine", get("correctness-only"), 0.3)
    with pytest.raises(ValueError, match=r"rewards confidence the same up to 0.3"):
        with_giving_up_below("mine", clipped("base", get("brier-1"), 0.4, 0.9), 0.3)
    assert classify(with_giving_up_below("mine", clipped("b", get("brier-1"), 0.2, 0.9), 0.3)).hacking_pays_below == (
        pytest.approx(0.3, abs=1e-9)
    )


def test_a_wrong_answer_paid_without_bound():
    base = from_expressions("base", "-1/c - log(c)", "-log(c)")  # h = -1/c^2
    found = classify(base)
    assert (found.proper_scoring, found.best_effort, found.hacking_pays_below) == ("strict", "none", 1)
    assert found.hacking_pays_below_on_101 == 1
    with pytest.raises(ValueError, match="without bound"):
        with_giving_up_below("mine", base, 0.3)


# Theorem 9, section 5.1, appendix D.4.


@given(st.floats(0.01, 100), st.floats(-10, 10), st.sampled_from(["brier-1", "log-1", "brier-2", "overconfidence-4"]))
def test_scaling_keeps_every_property(factor, offset, name):
    scheme = scaled("mine", get(name), factor, offset)
    assert scheme.f(GRID) == pytest.approx(factor * get(name).f(GRID) + offset)
    found, right = classify(scheme), classify(get(name))
    for field in ("interpretability", "proper_scoring", "best_effort", "non_hackable", "bias", "discrete_optimum"):
        assert getattr(found, field) == getattr(right, field), field
    if right.interval[0]:
        assert found.interval[0] == pytest.approx(right.interval[0], abs=1e-9)
        assert found.hacking_pays_below == pytest.approx(right.hacking_pays_below, abs=1e-9)


@pytest.mark.parametrize("factor", [0, -1, float("inf"), float("nan")])
def test_a_factor_must_be_positive(factor):
    with pytest.raises(ValueError, match="theorem 9"):
        scaled("mine", get("brier-1"), factor)


def test_clipping_makes_log_1_over_ln_202_weakly_non_hackable():
    scheme = clipped("mine", get("log-1/ln202"))
    assert_same(scheme, get("log-1/ln202"))  # none of the 101 is touched
    found = classify(scheme)
    assert (found.non_hackable, found.best_effort, found.hacking_pays_below) == ("weakly", "weak", None)
    assert scheme.f(1e-9) == pytest.approx(get("log-1/ln202").f(1 / 203))
    assert scheme.g(1 - 1e-9) == pytest.approx(get("log-1/ln202").g(202 / 203))
    assert (density(scheme, [1e-3, 0.5, 0.999]) == [0, density(get("log-1/ln202"), 0.5), 0]).all()


def test_clipping_hides_what_lies_outside():
    found = classify(clipped("mine", get("brier-2"), 0.3, 0.9))
    assert (found.non_hackable, found.best_effort) == ("weakly", "strict")
    found = classify(clipped("mine", get("brier-2"), 0.2, 0.9))
    assert found.non_hackable == "not"
    assert found.interval == (pytest.approx(0.25), 1)
    assert found.on_interval == "weakly"
    # giving up at confidence 0.2 earns -2 * 0.04, trying 2 p^2 - p
    assert found.hacking_pays_below == pytest.approx((1 + (1 - 8 * 0.08) ** 0.5) / 4)
    twice = clipped("mine", clipped("base", get("brier-1"), 0.1, 0.8), 0.2, 0.9)
    assert twice.f([0.01, 0.5, 0.99]) == pytest.approx(get("brier-1").f([0.2, 0.5, 0.8]))


@pytest.mark.parametrize(("low", "high"), [(0, 0.5), (0.5, 0.5), (0.6, 0.5), (0.5, 1)])
def test_bounds_must_be_in_order(low, high):
    with pytest.raises(ValueError, match="0 < low < high < 1"):
        clipped("mine", get("brier-1"), low, high)


@pytest.mark.parametrize("k", [1e-8, 1e-3, 1.0, 4.0, 1e8])
def test_unnormalised_forms_are_those_of_appendix_d_4(k):
    over, under = (unnormalised("mine", get(f"{family}-{k!r}")) for family in ("overconfidence", "underconfidence"))
    with mpmath.workdps(60):
        for i, c in enumerate(GRID):
            x, k_ = mpmath.mpf(c), mpmath.mpf(k)
            log_over, log_under = mpmath.log(x * k_ + 1), mpmath.log(1 - k_ * x / (1 + k_))
            for got, right in (
                (over.f(GRID)[i], (k_ + 1) * log_over - x * k_),
                (over.g(GRID)[i], log_over - x * k_),
                (under.f(GRID)[i], k_ * x + log_under),
                (under.g(GRID)[i], k_ * x + (k_ + 1) * log_under),
            ):
                assert got == pytest.approx(float(right), rel=1e-13)
    assert (classify(over).non_hackable, classify(over).bias) == ("strictly", "over")
    assert (classify(under).non_hackable, classify(under).bias) == ("strictly", "under")


def test_only_two_families_are_normalised():
    with pytest.raises(ValueError, match="valid: overconfidence-K, underconfidence-K"):
        unnormalised("mine", get("brier-1"))


# From a configuration.

DEFINITIONS = {
    "hybrid": {"correct": "c", "wrong": "c + log(1 - c)"},
    "one": {"correct": 1, "wrong": 0},
    "dense": {"density": "-2", "f0": 1.0},
    "weighted": {"weight": "2*(1 - t)"},
    "cautious": {"shift": "hybrid", "give_up_below": 0.3},
    "shifted": {"shift": "brier-1", "best_effort_from": 0.25},
    "scaled": {"scale": {"shift": "weighted", "best_effort_from": 0.25}, "factor": 2, "offset": -0.125},
    "cut": {"clip": "log-1/ln202"},
    "raw": {"unnormalised": "overconfidence-4"},
    "deep": {"clip": {"scale": {"shift": "cautious", "best_effort_from": 0.4}, "factor": 3}, "low": 0.1},
}


def test_build():
    made = {name: build(name, DEFINITIONS) for name in DEFINITIONS}
    assert all(scheme.name == name for name, scheme in made.items())
    assert_same(made["hybrid"], get("brier-log-hybrid"))
    assert_same(made["one"], get("correctness-only"))
    assert made["dense"].f(0.5) == pytest.approx(1.75)
    assert_same(made["weighted"], get("brier-1"))
    assert_same(made["scaled"], get("brier-2"))
    assert made["cautious"].g(0.5) == pytest.approx(0.5 - LN_2)
    assert made["shifted"].f(0.25) == made["shifted"].g(0.25) == 0
    assert made["raw"].g(0.25) == pytest.approx(LN_2 - 1)
    assert made["deep"].f(0.05) == pytest.approx(made["deep"].f(0.1))
    assert made["deep"].f(0.4) == pytest.approx(0, abs=1e-15)
    for scheme in made.values():
        again = pickle.loads(pickle.dumps(scheme))
        assert (again.f(GRID) == scheme.f(GRID)).all()
        assert classify(scheme).name == scheme.name


def test_build_falls_through_to_the_named_schemes():
    assert build("brier-1", DEFINITIONS).name == "brier-1"
    with pytest.raises(ValueError, match=r"no reward scheme is called 'foo'; valid: correctness-only"):
        build("foo", DEFINITIONS)


def test_build_takes_settings():
    definitions = {"mine": ShiftScheme(shift="brier-1", best_effort_from=0.25)}
    assert_same(build("mine", definitions), build("shifted", DEFINITIONS))


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ({"correct": "c"}, "scheme 'mine' is not valid:\n  wrong: missing"),
        ({"scale": {"correct": "c"}}, "scheme 'mine' is not valid:\n  scale.wrong: missing"),
        ({"shift": "brier-1"}, "scheme 'mine' is not valid:\n  shift needs one of best_effort_from and give_up_below"),
        ({"foo": 1}, "scheme 'mine' is not valid:\n  not a definition of a scheme; valid: {correct, wrong}, "),
        ({"correct": "c", "wrong": "sin(c)"}, "scheme 'mine': 'sin(c)': position 1: "),
        ({"density": "2"}, "scheme 'mine': density '2' has the wrong sign at c = 0.5"),
        ({"scale": {"density": "2"}}, "scheme 'mine (base)': density '2' has the wrong sign at c = 0.5"),
        ({"scale": "mine"}, "scheme 'mine': mine is made of mine, which never ends"),
        ({"scale": "other"}, "scheme 'mine': mine is made of other is made of mine, which never ends"),
        ({"clip": "nothing"}, "scheme 'mine': no reward scheme is called 'nothing'; valid: correctness-only"),
        ({"unnormalised": "brier-1"}, "scheme 'mine': brier-1 has no normalisation; valid: "),
    ],
)
def test_a_definition_that_cannot_be_built_says_which_and_why(definition, reason):
    with pytest.raises(ValueError, match="mine") as error:
        build("mine", {"mine": definition, "other": {"scale": "mine"}})
    assert str(error.value).startswith(reason)
    assert isinstance(error.value, ConfigError) == ("not valid" in reason)


def test_confidences_outside_are_refused_as_ever():
    for name in DEFINITIONS:
        with pytest.raises(ValueError, match=r"confidence 1\.0 is not in the open interval"):
            build(name, DEFINITIONS).f([0.5, 1.0])


def test_expected_rewards_of_a_constructed_scheme():
    assert expected_reward(build("weighted", DEFINITIONS), 0.3, 0.3) == pytest.approx(0.09)
