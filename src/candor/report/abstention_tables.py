"""The paper's tables of abstention (28 to 31, 36, 37, 39) from measured numbers, and the agreement of judges."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from candor.confidence.abstention import RATES
from candor.report.layout import Cell, Table, number
from candor.report.tables import DIGITS, scheme_cell, section
from candor.vocabulary import BASELINES, DIFFICULTIES

KEYS = ("model", "dataset", "judge", "scheme", "difficulties")
"""What a file of `measure_abstention` has."""

UNREAD_RATES = {"format_error_rate": "format_errors", "not_judged_rate": "not_judged"}
"""Shares of the samples without a judgement, and the counts that they are made of."""

ABSTENTION_RATES = pl.Schema(
    {
        **dict.fromkeys(("model", "dataset", "judge", "difficulty", "scheme"), pl.String),
        **dict.fromkeys(RATES, pl.Float64),
        **dict.fromkeys([f"{rate}_{end}" for rate in RATES for end in ("low", "high")], pl.Float64),
        **dict.fromkeys(UNREAD_RATES, pl.Float64),
        "n_questions": pl.Int64,
        "n_samples": pl.Int64,
    }
)
"""Columns of the table: those of the paper's, then the ends of the intervals, what could not be read, and the sizes."""

JUDGE_AGREEMENT = pl.Schema(
    {
        **dict.fromkeys(("model", "dataset", "judge", "other_judge", "difficulty"), pl.String),
        "observed_agreement": pl.Float64,
        "kappa": pl.Float64,
        "n_judgements": pl.Int64,
    }
)

_HEADINGS = {"unanswerable": "Unans.", "other": "Other", "total": "Total"}
_DIFFICULTY_LABELS = {**{difficulty: difficulty.capitalize() for difficulty in DIFFICULTIES}, "all": "Overall"}
"""In the order of the paper's columns."""


def abstention_rates(measured: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Gather what `measure_abstention` writes of several runs into one frame of ABSTENTION_RATES, unrounded.

    Models, datasets, judges and schemes keep the order in which they come, difficulties that of `confidence_metrics`.

    Raises:
        ValueError: a scheme of one model on one dataset comes twice from one judge.
    """
    tables: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for one in measured:
        schemes = tables.setdefault((one["model"], one["dataset"], one["judge"]), {})
        if one["scheme"] in schemes:
            raise ValueError(f"{one['model']} on {one['dataset']}: {one['judge']} judges {one['scheme']} twice")
        schemes[one["scheme"]] = one["difficulties"]
    rows = [
        {"model": model, "dataset": dataset, "judge": judge, "difficulty": difficulty, "scheme": scheme, **_row(rates)}
        for (model, dataset, judge), schemes in tables.items()
        for difficulty in ("all", *DIFFICULTIES)
        for scheme, by_difficulty in schemes.items()
        if (rates := by_difficulty.get(difficulty)) is not None
    ]
    return pl.DataFrame(rows, schema=ABSTENTION_RATES)


def abstention_tables(frame: pl.DataFrame) -> list[Table]:
    """Lay out rates as the paper does: a table for each model, dataset and judge, with three columns a difficulty.

    Args:
        frame: of ABSTENTION_RATES, or the paper's own columns alone; a note tells what the others say, where they are.
    """
    tables = []
    for (model, dataset, judge), part in frame.group_by("model", "dataset", "judge", maintain_order=True):
        shown = [difficulty for difficulty in _DIFFICULTY_LABELS if difficulty in part["difficulty"]]
        heads = [Cell("Model/Reward Scheme")]
        heads += [
            Cell(f"{_DIFFICULTY_LABELS[difficulty]}: {heading}", latex=heading)
            for difficulty in shown
            for heading in _HEADINGS.values()
        ]
        cells = {(row["scheme"], row["difficulty"]): row for row in part.iter_rows(named=True)}
        schemes = part["scheme"].unique(maintain_order=True)
        rows: list[list[Cell] | None] = []
        above = None
        for scheme in schemes:
            if above in BASELINES and scheme not in BASELINES:
                rows.append(None)
            figures = [
                number(cells.get((scheme, difficulty), {}).get(rate), DIGITS)
                for difficulty in shown
                for rate in _HEADINGS
            ]
            rows.append([scheme_cell(scheme), *figures])
            above = scheme
        groups = [("", 1), *((_DIFFICULTY_LABELS[difficulty], len(_HEADINGS)) for difficulty in shown)]
        title = f"{model} on {dataset}: abstention, judged by {judge}"
        tables.append(Table(title, heads, rows, _note(part), groups))
    return tables


def accuracy_and_abstention(accuracy: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """Join accuracies with rates of abstention of one dataset and judge (paper table 39).

    Args:
        accuracy: of `report.tables.CONFIDENCE_METRICS`.
        rates: of ABSTENTION_RATES.

    Returns:
        Columns model, dataset, judge, difficulty, scheme, accuracy and total, with the ends of both intervals; a row for
        each of `rates` that there is an accuracy of, in their order.
    """
    keys = ["model", "dataset", "difficulty", "scheme"]
    ends = [f"{name}{end}" for name in ("accuracy", "total") for end in ("", "_low", "_high")]
    joined = rates.join(accuracy, on=keys, how="inner", maintain_order="left")
    return joined.select("model", "dataset", "judge", "difficulty", "scheme", *ends)


def accuracy_and_abstention_table(frame: pl.DataFrame) -> Table:
    """Lay out table 39: for each model its accuracies and its total rates of abstention by difficulty.

    Lines part the rows as the paper does: the models without a reward scheme, the schemes outside the paper's spectrum
    (which can be hacked on (0, 1), log-1/ln202 among them), and those of the spectrum (R_spec).

    Args:
        frame: with the columns model, dataset, judge, difficulty, scheme, accuracy and total, of one dataset and judge.
    """
    present = [difficulty for difficulty in DIFFICULTIES if difficulty in frame["difficulty"]] or ["all"]
    models = frame["model"].unique(maintain_order=True).to_list()
    cells = {(row["model"], row["scheme"], row["difficulty"]): row for row in frame.iter_rows(named=True)}
    quantities = {"accuracy": "accuracy", "total": "abstention"}
    heads, groups = [Cell("Model/Reward Scheme")], [("", 1)]
    for model in models:
        for name in quantities.values():
            groups.append((f"{model}: {name}", len(present)))
            heads += [
                Cell(f"{model}: {name}, {_DIFFICULTY_LABELS[difficulty].lower()}", latex=_DIFFICULTY_LABELS[difficulty])
                for difficulty in present
            ]
    rows: list[list[Cell] | None] = []
    schemes = frame["scheme"].unique(maintain_order=True).to_list()
    for group in ("baseline", "other", "spectrum"):
        members = [scheme for scheme in schemes if section(scheme) == group]
        if rows and members:
            rows.append(None)
        rows += [
            [
                scheme_cell(scheme),
                *(
                    number(cells.get((model, scheme, difficulty), {}).get(quantity), DIGITS)
                    for model in models
                    for quantity in quantities
                    for difficulty in present
                ),
            ]
            for scheme in members
        ]
    dataset, judge = frame["dataset"][0], frame["judge"][0]
    return Table(f"Accuracy and abstention on {dataset}, judged by {judge}", heads, rows, groups=groups)


def judge_agreement_table(frame: pl.DataFrame) -> Table:
    """Lay out a frame of JUDGE_AGREEMENT."""
    heads = [Cell(text) for text in ("Run and judges", "Difficulty", "Agreement", "Cohen's kappa", "Judgements")]
    rows: list[list[Cell] | None] = []
    for row in frame.iter_rows(named=True):
        if rows and row["difficulty"] == "all":
            rows.append(None)
        rows.append(
            [
                Cell(f"{row['model']} on {row['dataset']}: {row['judge']} and {row['other_judge']}"),
                Cell(_DIFFICULTY_LABELS[row["difficulty"]]),
                number(row["observed_agreement"], DIGITS),
                number(row["kappa"], DIGITS),
                Cell(str(row["n_judgements"])),
            ]
        )
    note = "Over all variants of a run; judgements that could not be read are left out. Not in the paper."
    return Table("Agreement of the judges of abstention", heads, rows, note)


def _row(rates: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{rate: rates[rate]["value"] for rate in RATES},
        **{f"{rate}_{end}": rates[rate][end] for rate in RATES for end in ("low", "high")},
        **{rate: rates[count] / rates["n_samples"] for rate, count in UNREAD_RATES.items()},
        **{name: rates[name] for name in ("n_questions", "n_samples")},
    }


def _note(part: pl.DataFrame) -> str:
    """Say under a table what its numbers hide, where the frame tells."""
    if "n_questions" not in part.columns:
        return ""
    overall = part.filter(difficulty="all")
    unread = ", ".join(
        f"{name.removesuffix('_rate').replace('_', ' ')} {overall[name].max():.2%}" for name in UNREAD_RATES
    )
    questions = " to ".join(map(str, sorted({overall["n_questions"].min(), overall["n_questions"].max()})))
    return f"{questions} questions; at most, of a row's samples: {unread}."
