"""The parsers on 8193 real outputs, and on RLCR's 1221 x 5 beside what their authors read in them (Damani et al.)."""

import json
import os
import re
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from real_outputs import RLCR_TAGS, WITHOUT_ANALYSIS, generations, load, table_row

from candor import tables
from candor.answers import xml
from candor.confidence.grading import grade
from candor.grading.math import OUTCOMES

DATA = Path(os.environ.get("CANDOR_DATA", Path(__file__).parents[2].parent / "shared/data"))
OUTPUTS = DATA / "model_outputs/rlcr/commonsenseqa_5variants.jsonl"

VARIANTS = pytest.mark.parametrize("variant", RLCR_TAGS)


@pytest.fixture(scope="module")
def rows():
    if not OUTPUTS.exists() and os.environ.get("CI") != "true":
        pytest.skip(f"no real outputs at {OUTPUTS}; set CANDOR_DATA to the folder that holds them")
    with OUTPUTS.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    assert len(rows) == 1221
    return rows


def read(rows, variant):
    return [xml.parse(row[f"{variant}-output_0"], RLCR_TAGS[variant], xml.read_number) for row in rows]


@VARIANTS
def test_confidence_is_that_of_the_authors(rows, variant):
    agree, stated, differing = 0, 0, set()
    for row, response in zip(rows, read(rows, variant), strict=True):
        (theirs,) = row[f"{variant}-confidence_levels"]
        agree += response.confidence == theirs
        stated += response.confidence is not None
        if response.confidence != theirs:
            differing.add("<confidence>" in row[f"{variant}-output_0"])
    if variant == "RLVR-Classifier":
        # Theirs comes from a classifier: the outputs state none, so none is right.
        assert (agree, stated, differing) == (0, 0, {False})
    else:
        assert (agree, stated, differing) == (1221, 1221, set())


@VARIANTS
def test_no_confidence_is_valid_by_the_papers_rule(rows, variant):
    # Asked for a fraction, they write `0.9`, `1.0`, `I am 90% confident in this answer.`, and `100.` with a point.
    for row in rows:
        response = xml.parse(row[f"{variant}-output_0"], RLCR_TAGS[variant])
        assert response.confidence is None
        assert not response.well_formed


def test_every_output_has_an_answer(rows):
    assert all(response.answer for variant in RLCR_TAGS for response in read(rows, variant))


@pytest.mark.parametrize(
    ("variant", "count"),
    # Base: 226 have other tags than the format's (no `<think>`, never closed, answers twice), 399 prose around it.
    [("Base", 596), ("RLVR", 1221), ("RLVR-Classifier", 0), ("Answer-Prob", 1221), ("RLCR", 1221)],
)
def test_well_formed(rows, variant, count):
    assert sum(response.well_formed for response in read(rows, variant)) == count


@pytest.mark.parametrize(
    ("index", "answer", "confidence", "well_formed"),
    [
        (
            120,
            "Based on the context, the most logical answer is B) sporting event.",
            0.9,
            True,
        ),  # I am 0.9 confident ...
        (145, "C", 1.0, False),  # both twice, and the same
        (149, "C", 0.9, False),  # `without <answer>C</answer> literacy`
        (615, "Based on the context, the most appropriate answer is D) defend.", 0.9, True),  # I am 90% confident ...
        (290, "B) transfer of information. <confidence>0.9</confidence>", 0.9, False),  # one element within the other
        (551, "baseball stadium", 0.8, False),  # first `B`: the last one counts
        (578, "B) fair and C) in competition", 0.95, False),  # an answer within an answer
    ],
)
def test_odd_outputs(rows, index, answer, confidence, well_formed):
    response = xml.parse(rows[index]["Base-output_0"], WITHOUT_ANALYSIS, xml.read_number)
    assert (response.answer, response.confidence, response.well_formed) == (answer, confidence, well_formed)


def letter(answer, problem):
    """Return the option that an answer names by its letter in front or by its whole text, else None."""
    if match := re.match(r"(?:Option )?([A-E])\b(?!')", answer):
        return match[1]
    options = re.findall(r"^([A-E])\) (.*)$", problem, re.MULTILINE)
    named = [name for name, text in options if text.strip().lower() == answer.strip(" .").lower()]
    return named[0] if len(named) == 1 else None


@pytest.mark.parametrize(
    ("variant", "right", "disputed", "wrong", "lenient", "unnamed"),
    [
        ("Base", 928, 0, 132, 132, 29),
        ("RLVR", 1005, 1, 110, 102, 3),
        ("RLVR-Classifier", 1005, 1, 110, 102, 3),
        ("Answer-Prob", 1005, 1, 110, 102, 3),
        ("RLCR", 1006, 2, 102, 103, 8),
    ],
)
def test_answers_are_those_the_authors_graded(rows, variant, right, disputed, wrong, lenient, unnamed):
    # Their grades do not compare letters. They are lenient: a near miss passes (`E) making music` for `C) singing`), and
    # many a bare letter that is not the gold one. So only one direction tells whether the same answer was extracted: where
    # ours names the gold option, theirs must be right. It is, but on two questions, both with a negation, where the very
    # gold option was graded as wrong (`C`, or `full of air`, for `C) full of air`; `joy` for `C) joy`).
    found, denied = Counter(), set()
    for index, (row, response) in enumerate(zip(rows, read(rows, variant), strict=True)):
        ours = letter(response.answer, row["problem"])
        (theirs,) = row[f"{variant}-evals"]
        found["unnamed" if ours is None else (ours == row["answerKey"], theirs)] += 1
        if ours == row["answerKey"] and not theirs:
            denied.add(index)
    expected = {(True, 1): right, (True, 0): disputed, (False, 0): wrong, (False, 1): lenient, "unnamed": unnamed}
    assert found == Counter(expected)
    assert denied <= {74, 366}


@pytest.fixture(scope="module")
def models(data_folder):
    models = load(data_folder)
    assert sum(map(len, models.values())) == 5 * 1221 + 4 * 252 + 1080
    return models


@pytest.mark.parametrize("grader", ["rouge-1", "exact-match"])
@pytest.mark.parametrize("format", ["xml", "json"])
def test_each_real_output_has_a_status_and_a_grade(models, format, grader):
    for outputs in models.values():
        rows = [(str(index), "?", output.gold, "easy") for index, output in enumerate(outputs)]
        grades = grade(pl.DataFrame(rows, tables.QUESTIONS, orient="row"), generations(outputs), format, grader)
        assert len(grades) == len(outputs)
        assert set(grades["answer_status"]) | set(grades["confidence_status"]) <= {"valid", "salvaged", "missing"}
        assert (grades["answer"].is_null() == (grades["answer_status"] == "missing")).all()
        assert (grades["confidence"].is_null() == (grades["confidence_status"] == "missing")).all()
        assert set(grades["outcome"]) <= set(OUTCOMES)
        assert (grades.filter(answer_status="missing")["outcome"] == "wrong").all()


def test_the_table_of_the_documentation_is_what_is_read(models):
    pytest.importorskip("fast_json_repair", reason="fast-json-repair is of the model environment")
    page = (Path(__file__).parents[2] / "docs" / "model_outputs.md").read_text(encoding="utf-8")
    printed = [line for line in page.splitlines() if line.startswith("| ") and line.split(" | ")[0][2:] in models]
    assert printed == [table_row(model, outputs) for model, outputs in models.items()]
