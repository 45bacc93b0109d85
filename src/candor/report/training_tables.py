"""The paper's tables of training and sampling (4 to 6), and what watching the runs of training found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from candor.report.layout import Cell, Table
from candor.report.tables import scheme_cell
from candor.training.watchers import format_at_evaluation, watch

VALID = "valid"

RESPONSES = pl.Schema({"model": pl.String, "dataset": pl.String, "questions": pl.Int64, VALID: pl.Int64})
"""Columns of table 4; each reason why a response is not valid follows with its count."""

HYPERPARAMETERS = pl.Schema(
    {
        "model": pl.String,
        "dataset": pl.String,
        "steps": pl.Int64,
        "learning_rate": pl.Float64,
        "max_tokens": pl.Int64,
    }
)
"""Columns of table 5."""

SAMPLING = pl.Schema({"model": pl.String, "temperature": pl.Float64, "top_p": pl.Float64, "top_k": pl.Int64})
"""Columns of table 6; `top_k` is null where all tokens are considered."""

FLAGS = pl.Schema(
    {
        "model": pl.String,
        "dataset": pl.String,
        "scheme": pl.String,
        "attempt": pl.Int64,
        "evaluated": pl.Boolean,  # whether this attempt is the one that is evaluated
        "finding": pl.String,  # of training.watchers; null where nothing was found
        "step": pl.Int64,  # the first by which it is seen, from 1; null of an evaluation
        "sentence": pl.String,
    }
)


@dataclass(frozen=True)
class Trained:
    """An attempt at a scheme."""

    model: str
    dataset: str
    """Both as tables print them."""
    scheme: str
    attempt: int
    evaluated: bool
    log: pl.DataFrame
    """Of `tables.TRAINING_LOG`."""
    metrics: Mapping[str, Any] | None
    """What `measure_confidence` wrote of the evaluated attempt; None of the others."""


def valid_responses(responses: Sequence[tuple[str, str, pl.DataFrame]]) -> pl.DataFrame:
    """Count what became of the responses that SFT learns from (table 4).

    Args:
        responses: model, dataset and a frame of `tables.RESPONSES` for each run with SFT.
    """
    rows = [
        {"model": model, "dataset": dataset, "questions": frame.height, VALID: 0}
        | dict(frame["status"].value_counts().iter_rows())
        for model, dataset, frame in responses
    ]
    reasons = sorted({reason for row in rows for reason in row} - set(RESPONSES))
    return pl.DataFrame(rows, {**RESPONSES, **dict.fromkeys(reasons, pl.Int64)}).with_columns(
        pl.col(reasons).fill_null(0)
    )


def valid_responses_table(frame: pl.DataFrame) -> Table:
    """Lay out a frame of `valid_responses`."""
    reasons = frame.columns[len(RESPONSES) :]
    heads = ["Model", "Dataset", "Questions with valid JSON", "Of", *(reason.capitalize() for reason in reasons)]
    rows = [
        [Cell(str(row[name])) for name in ("model", "dataset", VALID, "questions", *reasons)]
        for row in frame.iter_rows(named=True)
    ]
    note = "The columns on the right say why the others are not used." if reasons else ""
    return Table("Responses for SFT", list(map(Cell, heads)), rows, note)


def hyperparameters_table(frame: pl.DataFrame) -> Table:
    """Lay out a frame of HYPERPARAMETERS."""
    heads = ("LLM", "Dataset", "Step Count", "Learning Rate", "Output Token Limit")
    rows = [
        [Cell(model), Cell(dataset), Cell(str(steps)), _power_of_ten(rate), Cell(str(limit))]
        for model, dataset, steps, rate, limit in frame.select(*HYPERPARAMETERS).iter_rows()
    ]
    return Table("RL: steps, learning rate and output token limit", list(map(Cell, heads)), rows)


def sampling_table(models: pl.DataFrame, judges: pl.DataFrame) -> Table:
    """Lay out two frames of SAMPLING: the models that are trained and evaluated, and below a line the judges."""

    def rows(frame: pl.DataFrame) -> list[list[Cell]]:
        return [
            [Cell(model), Cell(f"{temperature:g}"), Cell(f"{top_p:g}"), Cell("All" if top_k is None else str(top_k))]
            for model, temperature, top_p, top_k in frame.select(*SAMPLING).iter_rows()
        ]

    between = [] if models.is_empty() or judges.is_empty() else [None]
    heads = list(map(Cell, ("LLM", "Temperature", "Top-p", "Top-k")))
    return Table("Sampling during the evaluation", heads, [*rows(models), *between, *rows(judges)])


def training_flags(runs: Sequence[Trained]) -> pl.DataFrame:
    """Let the watchers look at every attempt, and at the evaluation of those that are evaluated.

    Returns:
        A frame of FLAGS, a row for each finding, and one for an attempt of which there is none.
    """
    rows = []
    for run in runs:
        findings = watch(run.log)
        if run.metrics is not None:
            rate = run.metrics["difficulties"]["all"]["invalid_format_rate"]["value"]
            findings += format_at_evaluation(run.log, rate)
        about = {name: getattr(run, name) for name in ("model", "dataset", "scheme", "attempt", "evaluated")}
        found = [{"finding": one.name, "step": one.step, "sentence": one.sentence} for one in findings]
        rows += [about | one for one in found or [{}]]
    return pl.DataFrame(rows, FLAGS)


def training_flags_table(frame: pl.DataFrame, sentences: bool) -> Table:
    """Lay out the findings of a frame of FLAGS, with or without their sentences, for which a printed page is too narrow."""
    attempts = frame.select("model", "dataset", "scheme", "attempt").n_unique()
    flagged = frame.filter(pl.col("finding").is_not_null())
    clean = attempts - flagged.select("model", "dataset", "scheme", "attempt").n_unique()
    heads = [
        "Model",
        "Dataset",
        "Reward Scheme",
        "Attempt",
        "Finding",
        "Step",
        *(["What was seen"] if sentences else []),
    ]
    rows = [
        [
            Cell(row["model"]),
            Cell(row["dataset"]),
            scheme_cell(row["scheme"]),
            Cell(f"{row['attempt']}{' (evaluated)' if row['evaluated'] else ''}"),
            Cell(row["finding"]),
            Cell("-" if row["step"] is None else str(row["step"])),
            *([Cell(row["sentence"])] if sentences else []),
        ]
        for row in flagged.iter_rows(named=True)
    ]
    return Table(
        "What watching the training found",
        list(map(Cell, heads)),
        rows,
        f"{clean} of {attempts} attempts have no finding.",
    )


def _power_of_ten(value: float) -> Cell:
    """Write a learning rate as the paper does: 2 x 10^-5, and 10^-5 without its 1."""
    mantissa, exponent = f"{value:e}".split("e")
    factor = f"{float(mantissa):g}"
    latex = "" if factor == "1" else rf"{factor} \times "
    return Cell(f"{factor}e{int(exponent)}", latex=rf"${latex}10^{{{int(exponent)}}}$")
