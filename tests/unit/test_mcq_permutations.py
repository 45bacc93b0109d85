"""Moving the gold keeps every option what it is, and the others in their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor.mcq.permutations import is_clamped, order


@st.composite
def cases(draw):
    options = draw(st.integers(1, 12))
    return options, draw(st.integers(0, options - 1)), draw(st.integers(0, 14))


@pytest.mark.parametrize(
    ("options", "gold", "run", "expected"),
    [
        (4, 2, 0, (0, 1, 2, 3)),
        (4, 2, 1, (2, 0, 1, 3)),
        (4, 2, 2, (0, 2, 1, 3)),
        (4, 2, 3, (0, 1, 2, 3)),
        (4, 2, 4, (0, 1, 3, 2)),
        (3, 0, 4, (1, 2, 0)),  # clamped to the last place
        (3, 0, 9, (1, 2, 0)),
    ],
)
def test_the_gold_stands_at_the_runs_position(options, gold, run, expected):
    assert order(options, gold, run) == expected


@given(cases())
def test_an_order_keeps_every_option_once_the_gold_in_place_and_the_others_in_order(case):
    options, gold, run = case
    shown = order(options, gold, run)
    assert sorted(shown) == list(range(options))
    if run == 0:
        assert shown == tuple(range(options))
    else:
        assert shown.index(gold) == min(run, options) - 1
        assert [index for index in shown if index != gold] == [index for index in range(options) if index != gold]
    assert is_clamped(options, run) == (run > options)


@given(st.integers(1, 12), st.integers(0, 11))
def test_one_of_the_moved_runs_is_the_original_order(options, gold):
    gold %= options
    moved = [order(options, gold, run) for run in range(1, options + 1)]
    assert len(set(moved)) == options
    assert moved[gold] == order(options, gold, 0)


@pytest.mark.parametrize(("options", "gold", "run"), [(4, 4, 1), (4, -1, 1), (0, 0, 1), (4, 1, -1)])
def test_what_cannot_be_is_refused(options, gold, run):
    with pytest.raises(ValueError, match="expected 0 <= gold < options and run >= 0"):
        order(options, gold, run)
