"""From raw outputs to grades: what each output says, how that was read, and whether it is right (paper E.6.1).

Needs no model, so a new grader never generates anew.
"""

from collections.abc import Callable
from dataclasses import replace

import polars as pl

from candor import tables
from candor.answers import json, json_repair, xml
from candor.answers.response import Response
from candor.confidence.prompts import ANSWER_PREFIX
from candor.grading.graders import open_grader

READERS: dict[str, Callable[[str], Response]] = {"xml": xml.parse, "json": json.parse}
"""What reads an output of each format."""


def grade(
    questions: pl.DataFrame,
    generations: pl.DataFrame,
    format: str,
    grader: str,
    *,
    repair_json: bool = False,
    workers: int = 1,
) -> pl.DataFrame:
    """Grade each output of each question.

    Args:
        questions: of `tables.QUESTIONS`.
        generations: of `tables.GENERATIONS`, each question with the same samples 0, 1, ....
        format: `xml` or `json`.
        grader: `rouge-1`, `exact-match` or `math`.
        repair_json: whether broken JSON is repaired before it is read.
        workers: processes that compare mathematics.

    Returns:
        A frame of `tables.GRADES`, in the order of `generations`.

    Raises:
        ValueError: the grader is unknown, or a question or a sample is unknown, missing or there twice.
    """
    _check_pairs(questions, generations)
    graded = generations.join(
        questions.select("question_id", "gold", "difficulty"), on="question_id", how="left", maintain_order="left"
    ).hstack(read_outputs(generations, format, repair_json))
    with open_grader(grader, workers) as compare:
        verdicts = compare(graded["answer"].to_list(), graded["gold"].to_list())
    columns = [
        pl.Series(name, [getattr(verdict, name) for verdict in verdicts], tables.GRADES[name])
        for name in ("score", "outcome", "correct")
    ]
    return graded.with_columns(columns).select(tables.GRADES.names())


def read_output(text: str, format: str, repair_json: bool) -> tuple[Response, bool]:
    """Read an output, and repair it first where it is JSON of which nothing can be read and `repair_json` says so.

    Returns:
        What was read, and whether it was from repaired JSON; that is never well-formed.
    """
    response = READERS[format](text)
    parts = (response.reasoning, response.answer, response.confidence_analysis, response.confidence)
    if format != "json" or not repair_json or any(part is not None for part in parts):
        return response, False
    return replace(json.parse(json_repair.repair(text)), well_formed=False), True


def read_outputs(generations: pl.DataFrame, format: str, repair_json: bool = False) -> pl.DataFrame:
    """Read the answer and the confidence of each output, by the second chance where it needed one.

    A status is `valid` where the whole output obeys the format, `repaired` where this part was read from JSON that had to
    be repaired, `salvaged` where it was read from another output that does not obey the format, `probed` where it comes
    from the second chance, and `missing`. A missing answer or confidence is null.

    Returns:
        Columns answer, confidence, well_formed, answer_status and confidence_status, a row for each of `generations`.
    """
    rows = []
    columns = ("text", "answer_probe", "confidence_probe")
    for output, answer_probe, confidence_probe in generations.select(columns).iter_rows():
        response, repaired = read_output(output, format, repair_json)
        own_status = "repaired" if repaired else "valid" if response.well_formed else "salvaged"
        answer, answer_status = response.answer, own_status
        if answer is None:
            answer = read_answer_probe(answer_probe)
            answer_status = "missing" if answer is None else "probed"
        confidence, confidence_status = response.confidence, own_status
        if confidence is None:
            confidence = None if confidence_probe is None else xml.read_percent(confidence_probe)
            confidence_status = "missing" if confidence is None else "probed"
        rows.append((answer, confidence, response.well_formed, answer_status, confidence_status))
    names = ("answer", "confidence", "well_formed", "answer_status", "confidence_status")
    return pl.DataFrame(rows, {name: tables.GRADES[name] for name in names}, orient="row")


def read_answer_probe(probe: str | None) -> str | None:
    """Return the answer in a probe's output: what follows `Final Answer:`, up to the first line break."""
    if probe is None or not probe.startswith(ANSWER_PREFIX):
        return None
    return probe.removeprefix(ANSWER_PREFIX).partition("\n")[0].strip() or None


def _check_pairs(questions: pl.DataFrame, generations: pl.DataFrame) -> None:
    known, found = set(questions["question_id"]), set(generations["question_id"])
    if found - known:
        raise ValueError(f"question {min(found - known)!r} is not in the questions file; generate the answers anew")
    if known - found:
        raise ValueError(f"question {min(known - found)!r} has no output; generate the answers anew")
    samples = generations.group_by("question_id").agg(pl.col("sample").sort())
    expected = list(range(max((len(of_one) for of_one in samples["sample"]), default=0)))
    for question_id, of_one in samples.sort("question_id").iter_rows():
        if of_one != expected:
            raise ValueError(
                f"question {question_id!r} has samples {of_one}, not each of 0 to {len(expected) - 1} once; "
                "generate the answers anew"
            )
