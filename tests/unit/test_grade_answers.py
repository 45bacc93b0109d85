"""Grading raw outputs offline: every rescue is told apart, nothing is lost, nothing counts twice."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from candor import tables
from candor.confidence.grading import grade, read_outputs
from candor.confidence.metrics import measure

SCRIPT = Path(__file__).parents[2] / "scripts" / "grade_answers.py"
VALID = '{"reasoning": "r", "answer": "Paris", "confidence_analysis": "c", "confidence": 70}'


def generations(*rows):
    """Rows of (question, sample, text, answer probe, confidence probe)."""
    filled = [(name, sample, text, "stop", 10, 20, *probes) for name, sample, text, *probes in rows]
    return pl.DataFrame(filled, tables.GENERATIONS, orient="row")


@pytest.fixture
def questions():
    rows = [("one", "?", "Paris", "hard"), ("two", "?", "Rome", "easy")]
    return pl.DataFrame(rows, tables.QUESTIONS, orient="row")


@pytest.fixture
def outputs():
    return generations(
        ("two", 0, VALID, None, None),
        ("two", 1, '{"answer": "Rome"', "Final Answer: Rome\nI think", "60"),
        ("one", 0, '{"answer": "Paris", "confidence": 500}', None, "30"),
        ("one", 1, "no idea", "Final Ans", None),
    )


def test_grades_follow_the_outputs(questions, outputs):
    grades = grade(questions, outputs, "json", "exact-match")
    assert grades.schema == tables.GRADES
    assert grades.rows() == [
        ("two", 0, "easy", "Rome", "Paris", 0.0, "wrong", False, 70, True, "valid", "valid"),
        ("two", 1, "easy", "Rome", "Rome", 1.0, "right", True, 60, False, "probed", "probed"),
        ("one", 0, "hard", "Paris", "Paris", 1.0, "right", True, 30, False, "salvaged", "probed"),
        ("one", 1, "hard", "Paris", None, 0.0, "wrong", False, None, False, "missing", "missing"),
    ]


@pytest.mark.parametrize(
    ("probe", "answer"),
    [
        ("Final Answer: Rome", "Rome"),
        ("Final Answer:Rome  \nbecause", "Rome"),
        ("Final Answer: ", None),
        ("Final Answer:\nRome", None),
        ("Final", None),
        ("Rome", None),
        (None, None),
    ],
)
def test_the_answer_of_a_probe_is_the_rest_of_its_line(probe, answer):
    assert read_outputs(generations(("one", 0, "?", probe, None)), "xml")["answer"].to_list() == [answer]


def test_an_answer_of_its_own_wins_over_a_probe():
    output = "<answer>Paris</answer><confidence>10</confidence>"
    read = read_outputs(generations(("one", 0, output, "Final Answer: Rome", "90")), "xml")
    assert read.row(0) == ("Paris", 10, False, "salvaged", "salvaged")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda outputs: outputs.with_columns(question_id=pl.lit("other")), "'other' is not in the questions file"),
        (lambda outputs: outputs.head(2), "'one' has no output"),
        (lambda outputs: outputs.head(3), r"'one' has samples \[0\], not each of 0 to 1 once"),
        (lambda outputs: pl.concat([outputs, outputs.head(1)]), r"has samples \[0, 1\], not each of 0 to 2 once"),
        (lambda outputs: outputs.with_columns(sample=pl.lit(0, pl.Int32)), r"has samples \[0, 0\]"),
    ],
)
def test_outputs_that_do_not_fit_the_questions_are_refused(questions, outputs, change, message):
    with pytest.raises(ValueError, match=message):
        grade(questions, change(outputs), "json", "rouge-1")


def run(folder, questions, outputs, **settings):
    tables.write(questions, folder / "questions.parquet", tables.QUESTIONS)
    tables.write(outputs, folder / "generations.parquet", tables.GENERATIONS)
    arguments = {"format": "json", "grader": "rouge-1", "repair_json": False, **settings}
    command = [
        sys.executable,
        SCRIPT,
        "--questions",
        folder / "questions.parquet",
        "--output",
        folder / "grades.parquet",
    ]
    command += ["--generations", folder / "generations.parquet", "--settings", json.dumps(arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_script_writes_grades_and_counts_statuses(tmp_path, questions, outputs):
    done = run(tmp_path, questions, outputs)
    assert done.returncode == 0, done.stderr
    assert len(tables.read(tmp_path / "grades.parquet", tables.GRADES)) == 4
    assert "4 outputs, 2 correct" in done.stderr
    assert "'probed': 1" in done.stderr


def test_json_that_can_be_read_is_not_repaired(questions):
    pytest.importorskip("fast_json_repair", reason="fast-json-repair is of the model environment")
    outputs = generations(
        ("one", 0, VALID, None, None),
        ("one", 1, "Sure: " + VALID, None, None),
        ("two", 0, '{"answer": "Rome", "confidence": 500}', None, "30"),
        ("two", 1, VALID.replace("r", 'r "s"', 1), None, None),
    )
    grades = grade(questions, outputs, "json", "exact-match", repair_json=True)
    columns = ("answer", "correct", "confidence", "well_formed", "answer_status", "confidence_status")
    assert grades.select(columns).rows() == [
        ("Paris", True, 70, True, "valid", "valid"),
        ("Paris", True, 70, False, "repaired", "repaired"),
        ("Rome", True, 30, False, "salvaged", "probed"),
        ("Paris", False, 70, False, "repaired", "repaired"),
    ]
    assert read_outputs(outputs, "json", repair_json=False)["answer"].to_list() == ["Paris", None, "Rome", None]


def test_mathematics_is_graded_with_its_outcomes(tmp_path):
    pytest.importorskip("math_verify", reason="math-verify is of the model environment")
    questions = pl.DataFrame([("one", "?", "0.5", "hard"), ("two", "?", "*", "easy")], tables.QUESTIONS, orient="row")
    answers = [r"\\frac{1}{2}", "2", "?"]
    texts = [VALID.replace("Paris", answer) for answer in answers]
    rows = [(name, sample, text, None, None) for name in ("one", "two") for sample, text in enumerate(texts)]
    done = run(tmp_path, questions, generations(*rows), grader="math")
    assert done.returncode == 0, done.stderr
    grades = tables.read(tmp_path / "grades.parquet", tables.GRADES)
    assert grades.select("score", "outcome", "correct").rows() == [
        (1.0, "right", True),
        (0.0, "wrong", False),
        (0.0, "unparsable", False),
        *[(None, "error", None)] * 3,
    ]
    assert measure(grades, 0, "x")["all"]["ungraded_rate"]["value"] == 0.5
    assert measure(grades, 0, "x")["hard"]["accuracy"]["value"] == pytest.approx(1 / 3)
