"""Grading of text: ROUGE-1 F and exact match."""

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor.grading.text import THRESHOLD, exact_match, grade, rouge1_f

WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]


@pytest.mark.parametrize(
    ("answer", "gold", "score"),
    [
        ("Paris", "paris", 1.0),
        ("the city of Paris", "Paris", 2 / 5),
        ("yes", "no", 0.0),
        ("a a a b", "a b b", 4 / 7),  # one a and one b are shared
        ("well-known_fact", "well known fact", 1.0),  # an underscore parts words as a hyphen does
        ("1,234", "1 234", 1.0),
        ("running", "run", 0.0),  # no stemming
        ("", "Paris", 0.0),
        ("Paris", "", 0.0),
        ("", "", 0.0),
        ("...", "Paris", 0.0),
        ("Émile Zola", "émile zola", 1.0),
        ("E\u0301mile", "\u00c9mile", 1.0),  # decomposed and composed accents
        ("Кино", "кино", 1.0),
        ("Кино", "Мир", 0.0),
        ("東京", "東京", 1.0),
        ("!!!", "!!!", 1.0),
        ("???", "!!!", 0.0),
    ],
)
def test_rouge1_by_hand(answer, gold, score):
    assert rouge1_f(answer, gold) == pytest.approx(score, abs=1e-15)


def test_a_megabyte_of_accents_on_one_letter_is_read_in_passing():
    # Composed as a whole they would take a quarter of an hour.
    assert rouge1_f("Rome a" + "\u0301\u0323" * 2**19, "Rome") == pytest.approx(2 / 3)
    assert rouge1_f("cafe\u0301 " * 2**16, "caf\u00e9") < 0.01


def test_seven_tenths_is_not_correct():
    at = " ".join([*WORDS[:7], "x", "y", "z"])  # 2 x 7 / (10 + 10)
    above = " ".join([*WORDS[:5], "x", "y"])  # 2 x 5 / (7 + 7) = 0.714
    uneven = " ".join([*WORDS[:7], "x"])  # 2 x 7 / (8 + 12)
    assert rouge1_f(at, " ".join(WORDS)) == THRESHOLD
    assert rouge1_f(uneven, " ".join([*WORDS, "p", "q"])) == THRESHOLD
    scores, correct = grade(
        [at, above, uneven], [" ".join(WORDS), " ".join(WORDS[:7]), " ".join([*WORDS, "p", "q"])], "rouge-1"
    )
    assert correct == [False, True, False]
    assert scores == [0.7, 10 / 14, 0.7]


@given(st.text(st.characters(max_codepoint=127)), st.text(st.characters(max_codepoint=127)))
def test_rouge1_on_ascii_splits_as_rouge_score_does(answer, gold):
    ours, theirs = (re.sub(r"[^a-z0-9]+", " ", text.lower()).split() for text in (answer, gold))
    shared = sum((Counter(ours) & Counter(theirs)).values())
    if shared:
        precision, recall = shared / len(ours), shared / len(theirs)
        assert rouge1_f(answer, gold) == pytest.approx(2 * precision * recall / (precision + recall))
    elif ours or theirs:
        assert rouge1_f(answer, gold) == 0.0


@given(st.text(min_size=1).filter(str.strip))
def test_every_gold_can_be_matched(gold):
    assert rouge1_f(gold, gold) == 1.0
    assert exact_match(gold, gold)


@pytest.mark.parametrize(
    ("answer", "gold", "equal"),
    [
        ("The  Eiffel Tower!", "eiffel tower", True),
        ("Eiffel towers", "eiffel tower", False),
        ("a U.S. state", "US state", True),
        ("theatre", "atre", False),  # an article is a word of its own
        ("", "The The", False),
        ("the the", "The The", True),
        ("the", "!!!", False),
        ("!!!", "!!!", True),
        ("", "", False),
    ],
)
def test_exact_match_by_hand(answer, gold, equal):
    assert exact_match(answer, gold) is equal


def test_grade_takes_no_answer_as_wrong():
    assert grade([None, "Paris", "Rome"], ["Paris", "the paris", "Paris"], "exact-match") == (
        [0.0, 1.0, 0.0],
        [False, True, False],
    )
    assert grade([None], ["Paris"], "rouge-1") == ([0.0], [False])
    assert grade([], [], "rouge-1") == ([], [])


def test_grade_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match="'math'; valid: rouge-1, exact-match"):
        grade([], [], "math")
    with pytest.raises(ValueError, match="shorter"):
        grade(["a"], [], "rouge-1")
