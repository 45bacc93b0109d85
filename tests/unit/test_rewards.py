"""The reward of an output in RL, with the paper's worst-case rules (E.5.1, E.5.2), worked out by hand."""

import json

import numpy as np
import pytest

from candor.grading.graders import Verdict, open_grader
from candor.schemes import get
from candor.training.rewards import reward
from candor.training.rl import summarise


@pytest.fixture(scope="module")
def rouge():
    with open_grader("rouge-1") as grade:
        yield grade


def xml(answer="Rome", confidence="80", reasoning="It\nsays so.", analysis="Sure."):
    return (
        f"<reasoning>{reasoning}</reasoning>\n<answer>{answer}</answer>\n"
        f"<confidence_analysis>{analysis}</confidence_analysis>\n<confidence>{confidence}</confidence>"
    )


def brier_1(correct, percent):
    c = (percent + 0.5) / 101
    return 1 - (1 - c) ** 2 if correct else -(c**2)


@pytest.mark.parametrize(
    ("text", "scheme_reward", "format_reward"),
    [
        (xml(), brier_1(True, 80), 2.8),
        (xml(answer="Paris"), brier_1(False, 80), 2.8),
        (xml(confidence="80%"), brier_1(True, 0), 1.8),  # invalid and right: the worst is 0
        (xml(answer="Paris", confidence="0.8"), brier_1(False, 100), 1.8),  # invalid and wrong: the worst is 100
        (xml(answer=""), brier_1(False, 100), 2.3),  # no answer: wrong at 100, whatever is stated
        ("Rome", brier_1(False, 100), 0.0),
        ("", brier_1(False, 100), 0.0),
        (xml(answer="x" * 1001), brier_1(False, 80), 2.3),
        # One tag doubled: no full format, that tag's 0.1 lost; the rest stays, and the answer is still read.
        ("<reasoning>" + xml(), brier_1(True, 80), 0.7 + 1 + 0.5),
    ],
)
def test_xml(rouge, text, scheme_reward, format_reward):
    rewards = reward([text], ["Rome"], get("brier-1"), "xml", rouge)
    assert rewards.scheme == pytest.approx([scheme_reward], abs=1e-12)
    assert rewards.format == pytest.approx([format_reward], abs=1e-12)
    assert rewards.total == pytest.approx([scheme_reward + format_reward], abs=1e-12)


def as_json(**changes):
    fields = {"reasoning": "r", "answer": "Rome", "confidence_analysis": "a", "confidence": 80} | changes
    return json.dumps({name: value for name, value in fields.items() if value is not None})


@pytest.mark.parametrize(
    ("text", "scheme_reward", "format_reward"),
    [
        (as_json(), brier_1(True, 80), 5.0),
        (as_json(confidence=101), brier_1(True, 0), 0.0),
        (as_json(answer="Paris", confidence=None), brier_1(False, 100), 0.0),
        (as_json(answer=None), brier_1(False, 100), 0.0),
        (as_json(reasoning=None), brier_1(True, 80), 0.0),  # graded as it stands, but no format reward
        (as_json(confidence_analysis=None), brier_1(True, 80), 0.0),
        (as_json()[:-1], brier_1(False, 100), 0.0),
    ],
)
def test_json(rouge, text, scheme_reward, format_reward):
    rewards = reward([text], ["Rome"], get("brier-1"), "json", rouge, json_format_reward=5.0)
    assert rewards.scheme == pytest.approx([scheme_reward], abs=1e-12)
    assert rewards.format == pytest.approx([format_reward], abs=1e-12)


def test_an_output_does_not_change_the_reward_of_another(rouge):
    texts = [xml(), "nothing", xml(answer="Paris", confidence="10"), xml(confidence="x")]
    together = reward(texts, ["Rome"] * 4, get("brier-2"), "xml", rouge)
    alone = [reward([text], ["Rome"], get("brier-2"), "xml", rouge) for text in texts]
    assert together.total.tolist() == [float(one.total[0]) for one in alone]


def test_the_log_tells_apart_what_was_stated_and_what_was_assumed(rouge):
    texts = [xml(confidence="100"), xml(confidence="0"), xml(confidence="many"), xml(answer="Paris", confidence="50")]
    rewards = reward(texts, ["Rome"] * 4, get("correctness-only"), "xml", rouge)
    row = summarise(rewards, ["easy", "easy", "hard", "hard"])
    assert row["accuracy"] == 0.75
    assert (row["accuracy_easy"], row["accuracy_medium"], row["accuracy_hard"]) == (1.0, None, 0.5)
    assert row["confidence"] == pytest.approx((100.5 + 0.5 + 50.5) / 3 / 101)  # the invalid one is not averaged in
    assert row["format_rate"] == 0.75
    assert row["scheme_reward"] == 0.75
    assert row["format_reward"] == pytest.approx((3 * 2.8 + 1.8) / 4)


def test_no_confidence_at_all_is_null_not_nan(rouge):
    row = summarise(reward(["", ""], ["a", "b"], get("brier-1"), "xml", rouge), ["easy", "hard"])
    assert row["confidence"] is None
    assert np.isfinite(row["scheme_reward"])


@pytest.mark.parametrize(
    ("text", "scheme_reward", "format_reward", "well_formed"),
    [
        (as_json(), brier_1(True, 80), 5.0, True),
        ("So: " + as_json() + " That is all.", brier_1(True, 80), 5.0, False),  # only its tokens are lost (E.5.2)
        (as_json(reasoning="x")[:-1], brier_1(True, 80), 5.0, False),
        (as_json(confidence="80")[:-1], brier_1(True, 0), 0.0, False),
        (as_json().replace('"Rome"', '""Rome""'), brier_1(True, 80), 5.0, False),
        (as_json(answer=None)[:-1], brier_1(False, 100), 0.0, False),
    ],
)
def test_repaired_json_earns_its_format_but_is_not_well_formed(rouge, text, scheme_reward, format_reward, well_formed):
    pytest.importorskip("fast_json_repair", reason="fast-json-repair is of the model environment")
    rewards = reward([text], ["Rome"], get("brier-1"), "json", rouge, 5.0, repair_json=True)
    assert rewards.scheme == pytest.approx([scheme_reward], abs=1e-12)
    assert rewards.format == pytest.approx([format_reward], abs=1e-12)
    assert rewards.well_formed.tolist() == [well_formed]


def test_what_cannot_be_compared_earns_as_wrong_but_is_not_counted_so():
    def grade(answers, golds):
        return [Verdict(answer, None) for answer in answers]

    texts = [xml(answer=outcome) for outcome in ("right", "wrong", "unparsable", "timeout", "error")]
    rewards = reward(texts, ["?"] * 5, get("brier-1"), "xml", grade)
    assert rewards.scheme == pytest.approx([brier_1(True, 80)] + [brier_1(False, 80)] * 4, abs=1e-12)
    assert rewards.graded.tolist() == [True, True, True, False, False]
    row = summarise(rewards, ["easy", "easy", "easy", "easy", "hard"])
    assert (row["accuracy"], row["accuracy_easy"], row["accuracy_hard"]) == (
        pytest.approx(1 / 3),
        pytest.approx(1 / 3),
        None,
    )
    assert row["ungraded_rate"] == pytest.approx(0.4)
