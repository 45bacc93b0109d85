"""The named reward schemes against hand-worked values, the printed table in high precision, and the paper's theory."""

import pickle
from decimal import Decimal, localcontext
from math import e, exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor.schemes import SPECTRUM, Scheme, get, spectrum_place
from candor.vocabulary import LEVELS, PAPER_SCHEMES, SCHEME_FAMILIES_WITH_K, confidence_of, parse_scheme_name

GRID = confidence_of(np.arange(LEVELS))
with localcontext() as context:
    context.prec = 70
    EXACT_GRID = [(Decimal(i) + Decimal("0.5")) / LEVELS for i in range(LEVELS)]

LN_2, LN_3, LN_5, LN_202, LN_501, LN_1001 = (
    0.6931471805599453,
    1.0986122886681098,
    1.6094379124341003,
    5.308267697401205,
    6.21660610108486,
    6.90875477931522,
)


# Values worked by hand from table 1 at c = 1/2.


@pytest.mark.parametrize(
    ("name", "f", "g"),
    [
        ("correctness-only", 1, 0),
        ("log-loss", -LN_2, -LN_2),
        ("log-1", 1 - LN_2, -LN_2),
        ("log-1/ln202", 1 - LN_2 / LN_202, -LN_2 / LN_202),
        ("brier-score", -1 / 4, -1 / 4),
        ("brier-1", 3 / 4, -1 / 4),
        ("brier-2", 1 / 2, -1 / 2),
        ("brier-log-hybrid", 1 / 2, 1 / 2 - LN_2),
        # (k + 1) ln(k + 1) - k below the line; ln(1 + k/2) is ln 3 - ln 2, ln 3 and ln 501
        ("overconfidence-1", (2 * (LN_3 - LN_2) - 1 / 2) / (2 * LN_2 - 1), (LN_3 - LN_2 - 1 / 2) / (2 * LN_2 - 1)),
        ("overconfidence-4", (5 * LN_3 - 2) / (5 * LN_5 - 4), (LN_3 - 2) / (5 * LN_5 - 4)),
        (
            "overconfidence-1000",
            (1001 * LN_501 - 500) / (1001 * LN_1001 - 1000),
            (LN_501 - 500) / (1001 * LN_1001 - 1000),
        ),
        # 1 - k c / (1 + k) is 3/4 and 3/5
        ("underconfidence-1", (1 / 2 + LN_3 - 2 * LN_2) / (1 - LN_2), (1 / 2 + 2 * (LN_3 - 2 * LN_2)) / (1 - LN_2)),
        ("underconfidence-4", (2 + LN_3 - LN_5) / (4 - LN_5), (2 + 5 * (LN_3 - LN_5)) / (4 - LN_5)),
    ],
)
def test_value_at_one_half(name, f, g):
    scheme = get(name)
    assert scheme.name == name
    assert scheme.f(0.5) == pytest.approx(f, rel=1e-14, abs=0)
    assert scheme.g(0.5) == pytest.approx(g, rel=1e-14, abs=0)


def test_values_away_from_one_half_tell_f_from_g_and_c_from_its_complement():
    assert get("brier-1").f(0.2) == pytest.approx(0.36)
    assert get("brier-1").g(0.2) == pytest.approx(-0.04)
    assert get("brier-2").f(0.2) == pytest.approx(-0.28)
    assert get("brier-score").f(0.2) == pytest.approx(-0.64)
    assert get("log-loss").g(0.2) == pytest.approx(2 * LN_2 - LN_5)
    assert get("log-1").f(0.2) == pytest.approx(1 - LN_5)
    assert get("log-1/2").f(0.2) == pytest.approx(1 - LN_5 / 2)
    assert get("brier-log-hybrid").f(0.2) == 0.2


def test_log_1_over_ln_202_pays_nothing_for_the_least_representable_confidence():
    assert confidence_of(0) == pytest.approx(1 / 202)
    assert get("log-1/ln202").f(confidence_of(0)) == pytest.approx(0, abs=1e-15)


# The printed table 1, in decimal arithmetic, with the largest term of each function.


def printed(family, k, c):
    """Return f, the scale that its error is measured by, g and its scale."""
    if family == "log":
        return 1 + k * c.ln(), max(1, -k * c.ln()), k * (1 - c).ln(), -k * (1 - c).ln()
    if family == "brier":
        return 1 - k * (1 - c) ** 2, max(1, k * (1 - c) ** 2), -k * c**2, k * c**2
    if family == "brier-log-hybrid":
        f, g = c, c + (1 - c).ln()
    elif family == "overconfidence":
        norm = (k + 1) * (k + 1).ln() - k
        f = ((k + 1) * (c * k + 1).ln() - c * k) / norm
        g = ((c * k + 1).ln() - c * k) / norm
    elif family == "underconfidence":
        norm = k - (1 + k).ln()
        f = (k * c + (1 - k * c / (1 + k)).ln()) / norm
        g = (k * c + (k + 1) * (1 - k * c / (1 + k)).ln()) / norm
    return f, abs(f), g, abs(g)


def assert_is_printed(name, confidences, exact, digits):
    family, k = parse_scheme_name(name)
    scheme = get(name)
    tiniest = Decimal("5e-324")  # a reward below the floats is 0
    with localcontext() as context:
        context.prec = digits
        for f, g, c in zip(scheme.f(confidences), scheme.g(confidences), exact, strict=True):
            right_f, scale_f, right_g, scale_g = printed(family, k and Decimal(k), c)
            for got, right, scale in ((f, right_f, scale_f), (g, right_g, scale_g)):
                error = abs(Decimal(float(got)) - right)
                # ten times better than the 1e-12 that is promised: the worst measured is 2e-15
                assert error <= Decimal("1e-13") * scale + tiniest, f"{name} at {c:.20g}: {got}, not {right:.20g}"


@pytest.mark.parametrize("k", [*np.logspace(-8, 8, 17).tolist(), 0.3, 0.5, 1 / log(202), 2.0, 4.0, 1000.0])
@pytest.mark.parametrize("family", SCHEME_FAMILIES_WITH_K)
def test_every_representable_confidence_is_right_for_every_k(family, k):
    assert_is_printed(f"{family}-{k!r}", GRID, EXACT_GRID, digits=70)


def test_every_representable_confidence_is_right_for_the_hybrid():
    assert_is_printed("brier-log-hybrid", GRID, EXACT_GRID, digits=70)


@pytest.mark.parametrize(
    "name",
    ["brier-log-hybrid", *(f"{family}-{k}" for family in SCHEME_FAMILIES_WITH_K for k in ("1e-8", "0.02", "1", "1e8"))],
)
def test_confidences_at_the_ends_of_the_interval_and_around_the_switches_are_right(name):
    confidences = [5e-324, 1e-300, 1e-158, 1e-17, 1e-8, 0.4999, 0.5, 0.5001, 1 - 1e-8, 1 - 2**-53]
    assert_is_printed(name, confidences, [Decimal(c) for c in confidences], digits=800)


@pytest.mark.parametrize("k", ["1e-300", "1e300"])
@pytest.mark.parametrize("family", ["overconfidence", "underconfidence"])
def test_any_finite_k_gives_finite_rewards(family, k):
    confidences = np.array([1e-300, 0.1, 0.5, 0.9, 1 - 2**-53])
    scheme = get(f"{family}-{k}")
    assert np.isfinite(scheme.f(confidences)).all()
    assert np.isfinite(scheme.g(confidences)).all()
    assert scheme.f(1 - 2**-53) == pytest.approx(1)


# Table 1 and section 4.2: one scale for all but log loss and Brier score.


@pytest.mark.parametrize("name", PAPER_SCHEMES)
def test_normalised_to_one_at_full_and_zero_at_no_confidence(name):
    scheme = get(name)
    assert scheme.g(1e-300) == pytest.approx(0, abs=1e-15)
    assert scheme.f(1 - 2**-53) == pytest.approx(0 if name in ("log-loss", "brier-score") else 1, abs=1e-15)


# Appendix D.3: the ends of the families.


@pytest.mark.parametrize("family", ["overconfidence", "underconfidence"])
def test_small_k_tends_to_brier_1_in_proportion_to_k(family):
    def distance(k):
        scheme, limit = get(f"{family}-{k}"), get("brier-1")
        return np.abs(scheme.f(GRID) - limit.f(GRID)).max(), np.abs(scheme.g(GRID) - limit.g(GRID)).max()

    assert max(distance("1e-8")) < 1e-8
    assert np.divide(distance("1e-4"), distance("1e-6")) == pytest.approx(100, rel=1e-3)


def test_large_k_of_underconfidence_tends_to_the_hybrid():
    scheme, limit = get("underconfidence-1e8"), get("brier-log-hybrid")
    assert scheme.f(GRID) == pytest.approx(limit.f(GRID), rel=1e-6, abs=0)
    assert scheme.g(GRID) == pytest.approx(limit.g(GRID), rel=1e-5, abs=0)
    assert np.abs(get("underconfidence-4").f(GRID) - limit.f(GRID)).max() > 0.1


def test_large_k_of_overconfidence_tends_to_correctness_only_as_one_over_ln_k():
    # f = 1 + (1 - c + ln c) / (ln k - 1) and g = -c / (ln k - 1), up to ln k / k
    scheme, pace = get("overconfidence-1e8"), 1 / (log(1e8) - 1)
    assert scheme.f(GRID) == pytest.approx(1 + pace * (1 - GRID + np.log(GRID)), abs=1e-5)
    assert scheme.g(GRID) == pytest.approx(-pace * GRID, abs=1e-5)


# Theorem 1: h = f' / (c - 1) = g' / c, here from the derivatives of table 1.


@pytest.mark.parametrize(
    ("name", "h"),
    [
        ("correctness-only", lambda c: 0 * c),
        ("log-loss", lambda c: -1 / (c * (1 - c))),
        ("log-1", lambda c: -1 / (c * (1 - c))),
        ("log-1/ln202", lambda c: -1 / LN_202 / (c * (1 - c))),
        ("brier-score", lambda c: -2 + 0 * c),
        ("brier-1", lambda c: -2 + 0 * c),
        ("brier-2", lambda c: -4 + 0 * c),
        ("brier-log-hybrid", lambda c: -1 / (1 - c)),
        ("overconfidence-1", lambda c: -1 / (1 + c) / (2 * LN_2 - 1)),
        ("overconfidence-4", lambda c: -16 / (1 + 4 * c) / (5 * LN_5 - 4)),
        ("overconfidence-1000", lambda c: -1e6 / (1 + 1000 * c) / (1001 * LN_1001 - 1000)),
        ("underconfidence-1", lambda c: -1 / (2 - c) / (1 - LN_2)),
        ("underconfidence-4", lambda c: -16 / (5 - 4 * c) / (4 - LN_5)),
    ],
)
def test_f_and_g_have_one_h(name, h):
    scheme, step = get(name), 1e-6
    slope_f = (scheme.f(GRID + step) - scheme.f(GRID - step)) / (2 * step)
    slope_g = (scheme.g(GRID + step) - scheme.g(GRID - step)) / (2 * step)
    assert slope_f / (GRID - 1) == pytest.approx(h(GRID), rel=1e-5, abs=0)
    assert slope_g / GRID == pytest.approx(h(GRID), rel=1e-5, abs=0)


# Definition 3 on the 101 values, for the weakly non-hackable schemes and any k.

ks = st.floats(-8, 8).map(lambda exponent: 10.0**exponent)
small_ks = st.floats(-8, 0).map(lambda exponent: 10.0**exponent)
strict_schemes = st.one_of(
    st.just("brier-log-hybrid"),
    small_ks.map(lambda k: f"brier-{k!r}"),
    ks.map(lambda k: f"overconfidence-{k!r}"),
    ks.map(lambda k: f"underconfidence-{k!r}"),
).map(get)
probabilities = st.floats(0, 1, exclude_min=True, exclude_max=True)


@given(strict_schemes)
def test_interpretability(scheme):
    assert (np.diff(scheme.f(GRID)) > 0).all()
    assert (np.diff(scheme.g(GRID)) < 0).all()


@given(strict_schemes, probabilities)
def test_proper_scoring_on_the_discrete_set(scheme, p):
    """Theorem 8: the best representable confidence is the nearest one below or above p."""
    best = np.argmax(p * scheme.f(GRID) + (1 - p) * scheme.g(GRID))
    below, above = np.searchsorted(GRID, p, side="right") - 1, np.searchsorted(GRID, p, side="left")
    assert best in (max(below, 0), min(above, LEVELS - 1))


@given(strict_schemes)
def test_best_effort(scheme):
    assert (np.diff(expected_at_truth(scheme, GRID)) > 0).all()


@given(probabilities)
def test_correctness_only_pays_p_whatever_the_confidence(p):
    scheme = get("correctness-only")
    assert (p * scheme.f(GRID) + (1 - p) * scheme.g(GRID) == p).all()


def expected_at_truth(scheme, c):
    """E_max(c) = E(c, c)."""
    return c * scheme.f(c) + (1 - c) * scheme.g(c)


# Hackable schemes: appendix C and section 5.1.


@pytest.mark.parametrize(("name", "low", "high"), [("brier-2", 0.4999999, 0.5000001), ("log-1", 0.648415, 0.648425)])
def test_giving_up_pays_more_in_expectation_up_to_the_printed_confidence(name, low, high):
    scheme = get(name)
    assert (expected_at_truth(scheme, np.linspace(1e-6, low, 1000)) < 0).all()
    assert (expected_at_truth(scheme, np.linspace(high, 1 - 1e-6, 1000)) > 0).all()


@given(st.floats(-1.5, 8).map(lambda exponent: 10.0**exponent))
def test_log_k_pays_correctness_from_the_printed_confidence_on(k):
    scheme, c = get(f"log-{k!r}"), exp(-1 / k) / (1 + exp(-1 / k))
    assert scheme.f(c) - scheme.g(c) == pytest.approx(0, abs=1e-14 * max(1, k))
    assert scheme.f(c * 0.999) < scheme.g(c * 0.999)
    assert scheme.f(c * 1.001) > scheme.g(c * 1.001)


@given(st.floats(1.01, 1e8))
def test_brier_k_pays_correctness_from_the_printed_confidence_on(k):
    scheme, c = get(f"brier-{k!r}"), (k - 1) / (2 * k)
    assert scheme.f(c) - scheme.g(c) == pytest.approx(0, abs=1e-15 * k)
    assert scheme.f(c * 0.999) < scheme.g(c * 0.999)
    assert scheme.f(c * 1.001) > scheme.g(c * 1.001)


@pytest.mark.parametrize("name", ["log-loss", "brier-score"])
def test_log_loss_and_brier_score_pay_correctness_from_one_half_on(name):
    scheme = get(name)
    assert scheme.f(0.5) == scheme.g(0.5)
    assert (scheme.f(GRID) < scheme.g(GRID)).tolist() == [True] * 50 + [False] * 51


def test_log_1_over_ln_202_pays_correctness_from_1_over_203_on():
    scheme = get("log-1/ln202")
    assert scheme.f(1 / 203) - scheme.g(1 / 203) == pytest.approx(0, abs=1e-14)
    assert (scheme.f(GRID) > scheme.g(GRID)).all()


# The spectrum.


def test_spectrum_runs_from_overconfident_to_underconfident():
    assert SPECTRUM[0] == "correctness-only"
    assert SPECTRUM[-1] == "brier-log-hybrid"
    assert set(SPECTRUM) == set(PAPER_SCHEMES) - {"log-loss", "brier-score", "log-1", "brier-2", "log-1/ln202"}
    # What the order means, section 3.4: the penalty of 0.2 too high against 0.2 too low, at p = 1/2.
    excess = []
    for scheme in map(get, SPECTRUM):
        at_07, at_03 = (scheme.f(c) + scheme.g(c) for c in (0.7, 0.3))
        best = scheme.f(0.5) + scheme.g(0.5)
        high, low = (best - at_07) / 2, (best - at_03) / 2
        excess.append((high - low) / (high + low) if high + low else -1.0)
    assert excess == sorted(excess)
    assert excess[SPECTRUM.index("brier-1")] == pytest.approx(0, abs=1e-14)


# The interface.


def test_reward_takes_f_where_correct_and_g_elsewhere():
    reward = get("brier-1").reward(np.array([True, False, True, False]), np.array([0.5, 0.5, 0.9, 0.9]))
    assert reward == pytest.approx([0.75, -0.25, 0.99, -0.81])


def test_reward_of_scalars_and_broadcasting():
    scheme = get("brier-1")
    assert scheme.reward(True, 0.5) == 0.75
    assert np.ndim(scheme.reward(False, 0.5)) == 0
    assert scheme.reward([True, False], 0.5).tolist() == [0.75, -0.25]
    assert scheme.reward([], []).shape == (0,)


@pytest.mark.parametrize("correct", [[1, 0], [True, None], [0.7, 0.2], ["True", "False"]])
def test_reward_refuses_what_is_not_a_boolean(correct):
    with pytest.raises(ValueError, match="correct must be booleans"):
        get("brier-1").reward(correct, [0.5, 0.5])


def test_reward_serves_a_scheme_of_ones_own():
    scheme = Scheme("mine", f=lambda c: c, g=lambda c: -c)
    assert scheme.reward([True, False], np.array([0.25, 0.25])).tolist() == [0.25, -0.25]


@pytest.mark.parametrize("name", PAPER_SCHEMES)
def test_shapes_are_kept_and_arguments_left_alone(name):
    scheme, c = get(name), GRID[:6].copy()
    for function in (scheme.f, scheme.g):
        assert isinstance(function(0.5), float)
        assert isinstance(function(np.array(0.5)), float)
        assert function(c.reshape(2, 3)).shape == (2, 3)
        assert function(c.tolist()).shape == (6,)
        assert function(np.array([])).shape == (0,)
        assert not np.shares_memory(function(c), c)
        assert function(c)[3] == function(c[3])
    assert (c == GRID[:6]).all()


@pytest.mark.parametrize("bad", [0.0, 1.0, -0.1, 1.5, 50, float("nan"), float("inf")])
@pytest.mark.parametrize("name", PAPER_SCHEMES)
def test_a_confidence_outside_the_open_interval_is_named(name, bad):
    scheme = get(name)
    for call in (scheme.f, scheme.g, lambda c: scheme.reward(True, c)):
        with pytest.raises(ValueError, match=rf"confidence {float(bad)} is not in the open interval"):
            call(bad)
        with pytest.raises(ValueError, match=rf"confidence {float(bad)} is not in the open interval"):
            call(np.array([0.5, bad]))


@pytest.mark.parametrize("name", ["brier-3/2", "brier-1.5", "brier-15e-1"])
def test_k_may_be_written_in_any_form(name):
    assert get(name).g(0.5) == -0.375


@pytest.mark.parametrize("name", ["brier", "confident-1", "log-loss-1", ""])
def test_an_unknown_name_is_answered_with_the_valid_ones(name):
    with pytest.raises(ValueError, match=r"correctness-only.*brier-log-hybrid.*underconfidence-K"):
        get(name)


def test_k_must_be_positive():
    with pytest.raises(ValueError, match="positive"):
        get("brier-0")


def test_a_scheme_can_be_sent_to_another_process():
    scheme = pickle.loads(pickle.dumps(get("overconfidence-4")))
    assert scheme.f(1 / e) == get("overconfidence-4").f(1 / e)


def test_the_spectrum_has_a_place_for_every_k_and_none_for_what_is_not_on_it():
    names = [
        *("correctness-only", "overconfidence-1000", "overconfidence-20", "overconfidence-0.5", "brier-1"),
        *("underconfidence-1/2", "underconfidence-4", "underconfidence-30", "brier-log-hybrid"),
    ]
    assert sorted({*names}, key=spectrum_place) == names
    assert sorted({*SPECTRUM}, key=spectrum_place) == list(SPECTRUM)
    assert [name for name in PAPER_SCHEMES if spectrum_place(name) is None] == list(PAPER_SCHEMES[:5])
    assert spectrum_place("brier-0.5") is spectrum_place("base-json") is spectrum_place("a scheme of one's own") is None
