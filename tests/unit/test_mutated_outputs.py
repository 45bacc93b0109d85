"""Ten thousand outputs that went wrong: none raises, each has a status, and the worst case is what the paper says (E.5)."""

import json
from collections import Counter
from functools import partial

import polars as pl
import pytest
from mutations import KINDS, LONG_EVERY, MEBIBYTE, mutate, probes

from candor import tables
from candor.confidence.grading import grade, read_outputs
from candor.confidence.metrics import measure
from candor.grading import math
from candor.grading.graders import open_grader
from candor.schemes import get
from candor.training.rewards import reward

NUMBER = 5000
"""Of each format."""
STATUSES = {"valid", "repaired", "salvaged", "probed", "missing"}

CASES = [
    ("xml", "text", False),
    ("json", "text", False),
    ("json", "text", True),
    ("xml", "math", False),
    ("json", "math", True),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda case: f"{case[0]}-{case[1]}{'-repaired' * case[2]}")
def case(request):
    """Format, topic, whether JSON is repaired, and the outputs."""
    format, topic, repair = request.param
    if repair:
        pytest.importorskip("fast_json_repair", reason="fast-json-repair is of the model environment")
    if topic == "math":
        pytest.importorskip("math_verify", reason="math-verify is of the model environment")
    # Fewer to math-verify, which takes seconds for a megabyte.
    return format, topic, repair, mutate(NUMBER if topic == "text" else 300, format, topic)


@pytest.fixture(scope="module")
def generations(case):
    *_, outputs = case
    rows = [
        (str(index), 0, output.text, "stop", 10, 20, *probe)
        for index, (output, probe) in enumerate(zip(outputs, probes(len(outputs)), strict=True))
    ]
    return pl.DataFrame(rows, tables.GENERATIONS, orient="row")


@pytest.fixture(scope="module")
def grader(case):
    """A grader by name; one of mathematics waits a second at most."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(math, "Workers", partial(math.Workers, limit=1.0))
        yield "math" if case[1] == "math" else "rouge-1"


@pytest.fixture(scope="module")
def grades(case, generations, grader):
    format, _, repair, outputs = case
    rows = [(str(index), "?", output.gold, "easy") for index, output in enumerate(outputs)]
    questions = pl.DataFrame(rows, tables.QUESTIONS, orient="row")
    return grade(questions, generations, format, grader, repair_json=repair, workers=2)


def test_outputs_are_the_same_for_everybody_and_of_every_kind(case):
    format, topic, _, outputs = case
    assert mutate(50, format, topic) == outputs[:50]
    assert {kind for output in outputs for kind in output.kinds} == {*KINDS, "repeated"}
    assert sum(len(output.text) > 0.9 * MEBIBYTE for output in outputs) >= len(outputs) // LONG_EVERY


def test_each_output_has_a_status(case, grades):
    _, topic, repair, outputs = case
    assert grades.schema == tables.GRADES
    assert len(grades) == len(outputs)
    for part in ("answer", "confidence"):
        assert set(grades[f"{part}_status"]) == STATUSES - (set() if repair else {"repaired"})
        assert (grades[part].is_null() == (grades[f"{part}_status"] == "missing")).all()
        assert (grades["well_formed"] == (grades[f"{part}_status"] == "valid")).all()
    assert grades["confidence"].drop_nulls().is_between(0, 100).all()
    assert grades["answer"].drop_nulls().str.strip_chars().str.len_chars().gt(0).all()
    unknown = grades["outcome"].is_in(["timeout", "error"])
    assert set(grades["outcome"]) <= ({"right", "wrong"} if topic == "text" else set(math.OUTCOMES))
    assert (grades["correct"].is_null() == unknown).all()
    assert (grades["score"].is_null() == unknown).all()
    assert (grades.filter(answer_status="missing")["outcome"] == "wrong").all()


def test_what_nothing_was_done_to_is_read_as_it_was_meant(case, grades):
    *_, outputs = case
    rows = [
        row for row, output in zip(grades.iter_rows(named=True), outputs, strict=True) if is_only(output, "untouched")
    ]
    assert len(rows) >= 10
    for row in rows:
        output = outputs[int(row["question_id"])]
        assert row["answer"] == output.answered
        assert row["answer_status"] == row["confidence_status"] == "valid"
        # On a busy machine math-verify may not be done in time.
        assert row["outcome"] == "timeout" or row["correct"] == (output.answered == output.gold)


def test_a_missing_confidence_is_no_number_and_its_rate_is_told(grades):
    missing = grades["confidence"].is_null()
    metrics = measure(grades, 0, "mutated")["all"]
    assert metrics["missing_confidence_rate"]["value"] == pytest.approx(missing.mean())
    assert missing.mean() > 0.05
    assert metrics["invalid_format_rate"]["value"] == pytest.approx(1 - grades["well_formed"].mean())


def test_files_hold_them(tmp_path, generations, grades):
    for frame, schema in ((generations, tables.GENERATIONS), (grades, tables.GRADES)):
        tables.write(frame, tmp_path / "frame.parquet", schema)
        assert tables.read(tmp_path / "frame.parquet", schema).equals(frame)


def is_only(output, kind):
    return set(output.kinds) == {kind}


def brier_1(correct, percent):
    c = (percent + 0.5) / 101
    return 1 - (1 - c) ** 2 if correct else -(c**2)


def refuse(constant):
    raise ValueError(constant)


def is_unreadable(text, format):
    """Tell, by the standard library, of an output whose confidence alone is bad whether the rest can be read."""
    if format == "xml":
        return False
    try:
        json.loads(text, parse_constant=refuse, parse_int=str)
    except ValueError:
        return True
    return False


@pytest.fixture(scope="module")
def rewards(case, grader):
    format, _, repair, outputs = case
    reward_of_json = None if format == "xml" else 0.5
    texts, golds = [output.text for output in outputs], [output.gold for output in outputs]
    with open_grader(grader, workers=2) as compare:
        return reward(texts, golds, get("brier-1"), format, compare, reward_of_json, repair)


def test_an_invalid_confidence_is_the_worst_for_its_answer(case, rewards):
    format, _, repair, outputs = case
    seen = Counter()
    of_each = zip(outputs, rewards.graded, rewards.scheme, rewards.format, strict=True)
    for output, graded, scheme_reward, format_reward in of_each:
        if not graded or not is_only(output, "confidence"):
            continue
        right = output.answered == output.gold
        if is_unreadable(output.text, format):
            if repair:
                continue  # what a mended one says, the tests of the repair tell
            assert (scheme_reward, format_reward) == (pytest.approx(brier_1(False, 100)), 0)
            seen["unreadable"] += 1
        else:
            assert scheme_reward == pytest.approx(brier_1(right, 0 if right else 100), abs=1e-12)
            assert format_reward == pytest.approx(
                1.8 if format == "xml" else 0
            )  # XML: the tags and the answer are fine
            seen[right] += 1
    assert min(seen[True], seen[False]) >= 2
    assert (seen["unreadable"] >= 2) == (format == "json" and not repair)


def test_no_answer_is_wrong_at_100(case, rewards):
    format, _, _, outputs = case
    assert rewards.scheme.min() == pytest.approx(brier_1(False, 100))
    worst = 0
    for output, scheme_reward, right in zip(outputs, rewards.scheme, rewards.correct, strict=True):
        if ("<answer>" if format == "xml" else "answer") not in output.text:
            assert (scheme_reward, right) == (pytest.approx(brier_1(False, 100)), False)
            worst += 1
    assert worst > 5


def test_training_and_evaluation_read_the_same(case, generations, rewards):
    format, _, repair, _ = case
    alone = generations.with_columns(answer_probe=pl.lit(None, pl.String), confidence_probe=pl.lit(None, pl.String))
    read = read_outputs(alone, format, repair)
    assert rewards.well_formed.tolist() == read["well_formed"].to_list()
    for answer, confidence, right, scheme_reward in zip(
        read["answer"], read["confidence"], rewards.correct, rewards.scheme, strict=True
    ):
        if answer is None:
            assert not right
            percent = 100
        else:
            percent = confidence if confidence is not None else 0 if right else 100
        assert scheme_reward == pytest.approx(brier_1(right, percent), abs=1e-12)


def test_the_format_earns_only_what_the_paper_gives(case, rewards):
    format, _, repair, outputs = case
    if format == "json":
        assert set(rewards.format) == {0.0, 0.5}
        assert (rewards.format[rewards.well_formed] == 0.5).all()
        assert repair or (rewards.format[~rewards.well_formed] == 0).all()
        return
    whole = [output.text.count(tag) == 1 for output in outputs for tag in ("<answer>", "</answer>")]
    assert any(whole)
    for output, earned, fine in zip(outputs, rewards.format, rewards.well_formed, strict=True):
        tags = [
            f"<{slash}{name}>"
            for name in ("reasoning", "answer", "confidence_analysis", "confidence")
            for slash in ("", "/")
        ]
        once = sum(output.text.count(tag) == 1 for tag in tags) / 10
        rest = earned - once  # of the whole format 0.5, of the confidence 1, of the answer 0.5
        assert min(abs(rest - step / 2) for step in range(5)) < 1e-9
        assert not fine or rest >= 1.5 - 1e-9
