"""Expressions of a user: what is read and computed, what is refused and where, and what their enclosures promise."""

import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor.schemes import get
from candor.schemes.expressions import C, Expression, ExpressionError, parse
from candor.schemes.intervals import all_cells, enclose, exact_value, halved, signs
from candor.vocabulary import LEVELS, confidence_of

GRID = confidence_of(np.arange(LEVELS))


@pytest.mark.parametrize(
    ("text", "value"),  # at c = 1/4
    [
        ("c", 0.25),
        ("1 - c^2", 0.9375),
        ("-c**2", -0.0625),
        ("2^-c^0.5", 2**-0.5),
        ("(1-c)*2/3", 0.5),
        ("ln(c) + log(4)", 0),
        ("log1p(c) - log(1.25)", 0),
        ("expm1(c)", math.expm1(0.25)),
        ("exp(c) - 1", math.expm1(0.25)),
        ("e^c", math.exp(0.25)),
        ("sqrt(c) + pi", 0.5 + math.pi),
        ("+1.5e-3", 0.0015),
        ("0" + "+c" * 199, 49.75),
        (" 0.1 ", 0.1),
        (7, 7),
    ],
)
def test_values(text, value):
    expression = parse(text)
    assert expression(0.25) == pytest.approx(value, abs=1e-15)
    assert expression(np.full((2, 3), 0.25)).shape == (2, 3)
    assert isinstance(expression(0.25), float)
    assert pickle.loads(pickle.dumps(expression))(0.25) == expression(0.25)


@pytest.mark.parametrize(
    ("name", "correct", "wrong"),
    [
        ("brier-1", "1 - (1-c)^2", "-c^2"),
        ("log-1/ln202", "1 + ln(c)/ln(202)", "ln(1-c)/ln(202)"),
        ("brier-log-hybrid", "c", "c + log(1 - c)"),
        ("overconfidence-4", "(5*log(4*c+1) - 4*c)/(5*log(5) - 4)", "(log(4*c+1) - 4*c)/(5*log(5) - 4)"),
        ("underconfidence-4", "(4*c + log(1 - 4*c/5))/(4 - log(5))", "(4*c + 5*log(1 - 4*c/5))/(4 - log(5))"),
    ],
)
def test_a_named_scheme_written_out(name, correct, wrong):
    assert parse(correct)(GRID) == pytest.approx(get(name).f(GRID), rel=1e-12, abs=1e-15)
    assert parse(wrong)(GRID) == pytest.approx(get(name).g(GRID), rel=1e-10, abs=1e-15)


def test_what_python_would_lose_is_kept():
    assert parse("log(1 - c)")(1e-300) == -1e-300
    assert parse("exp(c) - 1")(1e-300) == 1e-300
    assert parse("1 - 1 + c")(1e-300) == 1e-300
    # 1 - 1e8 c / (1 + 1e8) near c = 1 has lost c when it is computed as it is written
    c = 1 - 1e-9
    with mpmath.workdps(50):
        right = mpmath.log(1 - mpmath.mpf(10) ** 8 * mpmath.mpf(c) / (1 + mpmath.mpf(10) ** 8))
    assert parse("log(1 - 1e8*c/(1 + 1e8))")(c) == pytest.approx(float(right), rel=1e-14)
    assert parse("log(1 + 1e-12*c)")(0.75) == pytest.approx(7.5e-13, rel=1e-12)
    assert parse("log(c)").of_complement(1e-300) == -1e-300


def test_a_weight_is_written_in_t():
    assert parse("2*(1 - t)", variable="t")(0.25) == 1.5
    with pytest.raises(ExpressionError, match=r"position 6: 'c' is not known; valid are numbers, t,"):
        parse("2*(1-c)", variable="t")


@pytest.mark.parametrize(
    ("text", "position", "term"),
    [
        ("1 + sin(c)", 5, "sin(c)"),
        ("c^2 + x", 7, "x"),
        ("c ^ 2 ^ c + foo", 13, "foo"),
        ("2c", 1, "2c"),
        ("(c", 1, "(c"),
        (" x", 1, "x"),  # spaces around a text do not count
        ("c.real", 1, "c.real"),
        ("__import__('os')", 12, "'"),
        ("c + [1]", 5, "["),
        ("c²", 2, "²"),
        ("log(c, 10)", 1, "log(c, 10)"),
        ("log()", 1, "log()"),
        ("log", 1, "log"),
        ("c, c", 1, "c, c"),
        ("c // 2", 1, "c // 2"),
        ("True", 1, "True"),
        ("1j", 1, "1j"),
        ("c if c else 1", 1, "c if c else 1"),
        ("1/(c - c)", 1, "1/(c - c)"),
        ("c + log(-1)", 5, "log(-1)"),
        ("(-8)^(1/3)", 1, "(-8)^(1/3)"),
        ("1e400", 1, "1e400"),
        ("c*exp(exp(10))", 3, "exp(exp(10))"),
        ("9**9**9", 4, "9**9"),
        ("c^101", 3, "101"),
        ("2*((c^50)^50)", 4, "(c^50)^50"),
        ("((0.001^64)^64)^64", 2, "(0.001^64)^64"),
        ("", 1, ""),
    ],
)
def test_a_wrong_term_is_named_with_its_place(text, position, term):
    with pytest.raises(ExpressionError) as error:
        parse(text)
    assert f": position {position}: {term!r} " in str(error.value)
    assert str(error.value).endswith(
        "valid are numbers, c, + - * / ** ^ ( ), log, ln, log1p, exp, expm1, sqrt, pi and e"
    )


@pytest.mark.parametrize("text", ["c" + "+c" * 300, "-" * 100 + "c", "1/(1+" * 50 + "c" + ")" * 50])
def test_long_and_deep_texts_are_refused(text):
    with pytest.raises(ExpressionError, match="at most"):
        parse(text)


@given(st.text(alphabet="c01.9e+-*/^() logxpsqrt,", max_size=30) | st.text(max_size=20))
def test_any_text_is_read_or_refused(text):
    try:
        value = parse(text)(np.array([0.25, 0.75]))
    except ExpressionError:
        return
    assert value.shape == (2,)


# An expression at random: its text, and the same in 40 digits.


def binary(sign, function):
    return lambda pair: (f"({pair[0][0]} {sign} {pair[1][0]})", lambda c: function(pair[0][1](c), pair[1][1](c)))


def unary(name, function):
    return lambda inner: (f"{name}({inner[0]})", lambda c: function(inner[1](c)))


def grow(inner):
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(binary("+", lambda a, b: a + b)),
        pairs.map(binary("-", lambda a, b: a - b)),
        pairs.map(binary("*", lambda a, b: a * b)),
        pairs.map(binary("/", lambda a, b: a / b)),
        inner.map(unary("log", mpmath.log)),
        inner.map(unary("exp", mpmath.exp)),
        inner.map(unary("sqrt", mpmath.sqrt)),
        inner.map(lambda one: (f"({one[0]})^2", lambda c: one[1](c) ** 2)),
        inner.map(lambda one: (f"({one[0]})^-3", lambda c: one[1](c) ** -3)),
    )


leaves = st.one_of(
    st.just(("c", lambda c: c)),
    st.just(("(1 - c)", lambda c: 1 - c)),
    st.integers(1, 9).map(lambda n: (str(n), lambda c: mpmath.mpf(n))),
)
expressions = st.recursive(leaves, grow, max_leaves=6)


@given(expressions, st.integers(1, 999))
def test_values_and_enclosures_of_any_expression(expression, thousandth):
    text, exactly = expression
    try:
        tree = parse(text).tree
    except ExpressionError:  # 1 / (c - c)
        return
    c = thousandth / 1000
    with mpmath.workdps(40):
        try:
            right = exactly(mpmath.mpf(c))
        except (ZeroDivisionError, OverflowError):
            return
        if not isinstance(right, mpmath.mpf) or abs(right) > 1e100:
            return
        found = exact_value(tree, mpmath.mpf(c), 1 - mpmath.mpf(c))
        if found is None:  # sqrt(-1)^2, a complex number on the way
            return
        # what cancels to 0 is so to 25 digits
        assert abs(found - right) <= 1e-25 * max(1, abs(right)) or mpmath.almosteq(found, right, 1e-10)
        for near_one in (False, True):
            near = 1 - c if near_one else c
            for width in (1e-2, 1e-6, 0):
                cell = np.array([[near * (1 - width)], [near * (1 + width)]])
                enclosed = enclose(tree, cell, near_one)
                d = mpmath.mpf(near) if near_one else 1 - mpmath.mpf(near)
                value = exact_value(tree, 1 - d, d, near_one)
                if value is not None and not np.isnan(enclosed.lo[0]):
                    assert enclosed.lo[0] <= value <= enclosed.hi[0], (text, near_one, width)


# Signs.


@pytest.mark.parametrize(
    ("text", "positive", "negative"),
    [
        ("0", False, False),
        ("c - c", False, False),
        ("1", True, False),
        ("(c - 1/2)^2", True, False),
        ("c - 1/2", True, True),
        ("-1/c/log(202)", False, True),
        ("c^2 - c + 1/4", True, False),
        ("c^2 - c + 0.249999", True, True),
        ("c*(c - 1e-14)", True, True),
        ("(c - 0.1)*(c - 0.2)*(c - 0.3)^2", True, True),
        ("1/(1 - c)", True, False),
    ],
)
def test_signs_of_rational_expressions_are_exact(text, positive, negative):
    found = signs(parse(text).tree)
    assert (found.positive is not None, found.negative is not None) == (positive, negative)
    assert found.exact
    assert found.unproven == 0
    for c, sign in ((found.positive, 1), (found.negative, -1)):
        assert c is None or sign * parse(text)(c) > 0


@pytest.mark.parametrize(
    ("text", "positive", "negative", "unproven"),
    [
        ("exp(c) - 1", True, False, 1e-50),
        ("c*log(c)", False, True, 1e-50),
        ("sqrt(c) - c", True, False, 1e-12),
        ("log(c) + 1", True, True, 0),
        ("exp(-1/c)", True, False, 1e-50),
        ("exp(c) - 1 - c", True, False, 0.1),  # what cancels towards 0 is sampled
        ("(1 + c)^0.5*(1 + c)^0.5 - sqrt(c^2) - 1", False, False, 0),
    ],
)
def test_signs_of_other_expressions_are_enclosed(text, positive, negative, unproven):
    found = signs(parse(text).tree)
    assert (found.positive is not None, found.negative is not None) == (positive, negative)
    assert found.unproven <= unproven


@pytest.mark.parametrize("text", ["exp(-1/c)", "sqrt(exp(-1/c))", "c^1.5", "c^40", "c^20*c^21.5", "c*exp(-1/c)"])
def test_what_underflows_is_enclosed(text):
    cell = np.array([[0.9e-9], [1e-9]]) if "exp" in text else np.array([[0.9e-250], [1e-250]])
    enclosed = enclose(parse(text).tree, cell, near_one=False)
    assert enclosed.lo[0] <= 0 < enclosed.hi[0]


def test_cells_cover_the_interval():
    for near_one, cells in all_cells():
        assert (cells[0, 1:] == cells[1, :-1]).all()
        assert cells[1, -1] == 0.5
        assert enclose(C, cells, near_one).lo.shape == cells[0].shape
        assert halved(cells).shape == (2, 2 * cells.shape[1])


def test_an_expression_shows_its_text():
    assert parse(" c ").text == "c"
    assert Expression("1", parse("1").tree) == parse("1")
