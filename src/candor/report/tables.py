"""The paper's tables of confidence metrics (7 to 27, 32 to 35) from measured numbers: as a frame, and laid out for a page."""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from candor.confidence.metrics import METRICS, RATES
from candor.report.layout import LATEX_ESCAPES, Cell, Table, number
from candor.schemes import spectrum_place
from candor.tables import TableError
from candor.vocabulary import BASELINES, DIFFICULTIES, is_scheme_name, parse_scheme_name

HEADINGS = {
    "accuracy": "Accuracy",
    "auroc": "AUROC",
    "brier_1": "Brier-1",
    "brier": "Brier",
    "ece": "ECE",
    "calibration_bias": "Calib. Bias",
}
HIGHER_IS_BETTER = ("accuracy", "auroc", "brier_1")
"""The other metrics are better the closer they are to 0 (paper F.1)."""

DIGITS = 4

CONFIDENCE_METRICS = pl.Schema(
    {
        **dict.fromkeys(("model", "dataset", "difficulty", "scheme"), pl.String),
        **dict.fromkeys(METRICS, pl.Float64),
        **dict.fromkeys([f"{metric}_{end}" for metric in METRICS for end in ("low", "high")], pl.Float64),
        **dict.fromkeys(RATES, pl.Float64),
        "n_questions": pl.Int64,
        "n_samples": pl.Int64,
    }
)
"""Columns of the table: those of the paper's, then the ends of the intervals, the rates and the sizes."""

_HEADS = [Cell(text) for text in ("Model/Reward Scheme", *HEADINGS.values())]
_BASELINE_LABELS = {"base-json": "Base (JSON)", "base-xml": "Base (XML)", "sft-xml": "SFT (XML)"}
_FAMILY_LABELS = {
    "correctness-only": "Correctness-only",
    "log-loss": "Log Loss",
    "brier-score": "Brier Score",
    "brier-log-hybrid": "Brier-log Hybrid",
}


def scheme_label(name: str, latex: bool = False) -> str:
    r"""Return how tables and figures call a scheme or baseline: `log-1/ln202` is `Log-1/ln 202`.

    In LaTeX the fraction is set as one: `Log-$\frac{1}{\ln 202}$`. A scheme that the configuration defines keeps its name.
    """
    if name in _BASELINE_LABELS:
        return _BASELINE_LABELS[name]
    if not is_scheme_name(name):
        return name.translate(LATEX_ESCAPES) if latex else name
    family, k = parse_scheme_name(name)
    if k is None:
        return _FAMILY_LABELS[family]
    written = name.removeprefix(f"{family}-")
    numerator, slash, denominator = written.partition("/")
    if not slash:
        return f"{family.capitalize()}-{written}"
    denominator = denominator.replace("ln", "ln ")
    if latex:
        denominator = denominator.replace("ln", r"\ln")
        return rf"{family.capitalize()}-$\frac{{{numerator}}}{{{denominator}}}$"
    return f"{family.capitalize()}-{numerator}/{denominator}"


def scheme_cell(name: str) -> Cell:
    """Return the cell that names a scheme or baseline."""
    return Cell(scheme_label(name), latex=scheme_label(name, latex=True))


def section(name: str) -> str:
    """Tell where the paper's tables have a scheme, between lines (F.1): `baseline`, `other`, or `spectrum` (R_spec)."""
    return "baseline" if name in BASELINES else "spectrum" if spectrum_place(name) else "other"


def read_metrics(
    paths: Iterable[str | Path], keys: Collection[str] = ("model", "dataset", "scheme", "difficulties")
) -> list[dict[str, Any]]:
    """Read the JSON files that `measure_confidence` writes, or others with certain `keys`, in the order given.

    Raises:
        TableError: a file cannot be read, is not JSON, or lacks one of the keys.
    """
    read = []
    for path in paths:
        try:
            metrics = json.loads(Path(path).read_text(encoding="utf-8"))
            missing = set(keys) - set(metrics)
        except (OSError, ValueError, TypeError) as error:
            raise TableError(f"{path}: not readable as metrics ({error}); delete it and rerun its rule") from error
        if missing:
            raise TableError(f"{path}: {', '.join(sorted(missing))} missing; delete it and rerun its rule")
        read.append(metrics)
    return read


def confidence_metrics(metrics: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Gather metrics of several runs into one frame of CONFIDENCE_METRICS, unrounded.

    Models, datasets and schemes keep the order in which they come, difficulties that of the paper: all, easy, medium,
    hard.

    Raises:
        ValueError: a scheme of one model on one dataset comes twice.
    """
    tables: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {}
    for one in metrics:
        schemes = tables.setdefault((one["model"], one["dataset"]), {})
        if one["scheme"] in schemes:
            raise ValueError(f"{one['model']} on {one['dataset']}: {one['scheme']} is given twice")
        schemes[one["scheme"]] = one["difficulties"]
    rows = [
        {"model": model, "dataset": dataset, "difficulty": difficulty, "scheme": scheme, **_row(measured[difficulty])}
        for (model, dataset), schemes in tables.items()
        for difficulty in ("all", *DIFFICULTIES)
        for scheme, measured in schemes.items()
        if difficulty in measured
    ]
    return pl.DataFrame(rows, schema=CONFIDENCE_METRICS)


def confidence_metrics_tables(frame: pl.DataFrame) -> list[Table]:
    """Lay out a frame of CONFIDENCE_METRICS: a table for each model, dataset and difficulty.

    The best figure of a column is bold, the second best underlined; figures that print alike share their place. Lines
    part baselines, the spectrum's schemes and all others, as the paper does (F.1).
    """
    tables = []
    for (model, dataset, difficulty), part in frame.group_by("model", "dataset", "difficulty", maintain_order=True):
        rows: list[list[Cell] | None] = []
        above = None
        for scheme, cells in zip(part["scheme"], _cells(part), strict=True):
            if above is not None and section(above) != section(scheme):
                rows.append(None)
            rows.append([scheme_cell(scheme), *cells])
            above = scheme
        tables.append(Table(f"{model} on {dataset}: {_subset(difficulty)}", _HEADS, rows, _note(part)))
    return tables


def confidence_subset_table(frame: pl.DataFrame, difficulty: str) -> Table:
    """Lay out one difficulty of one model on one dataset (tables 7 to 27 and 32 to 35, each alone).

    Where it was not measured the table is empty, and says so.

    Args:
        frame: of CONFIDENCE_METRICS, all of one model on one dataset, not empty.
        difficulty: `all`, easy, medium or hard.
    """
    if tables := confidence_metrics_tables(frame.filter(difficulty=difficulty)):
        return tables[0]
    model, dataset = frame.row(0)[:2]
    note = "Not measured: the test set has no such questions, or no others; see the table of all."
    return Table(f"{model} on {dataset}: {_subset(difficulty)}", _HEADS, [], note)


def marked(metric: str, values: Iterable[float | None]) -> list[Cell]:
    """Format a column's figures: the best bold, the second best underlined, those that print alike alike."""
    printed = [None if value is None else round(value, DIGITS) for value in values]
    places = sorted({_badness(metric, value) for value in printed if value is not None})
    marks = dict(zip(places, ("best", "second"), strict=False))
    return [number(value, DIGITS, "" if value is None else marks.get(_badness(metric, value), "")) for value in printed]


def _row(measured: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{name: measured[name]["value"] for name in (*METRICS, *RATES)},
        **{f"{metric}_{end}": measured[metric][end] for metric in METRICS for end in ("low", "high")},
        **{name: measured[name] for name in ("n_questions", "n_samples")},
    }


def _subset(difficulty: str) -> str:
    return "test set" if difficulty == "all" else f"{difficulty} subset of the test set"


def _note(part: pl.DataFrame) -> str:
    """Say under a table what its numbers hide: the most that any row's samples lack."""
    rates = ", ".join(f"{name.removesuffix('_rate').replace('_', ' ')} {part[name].max():.2%}" for name in RATES)
    questions = " to ".join(map(str, sorted({part["n_questions"].min(), part["n_questions"].max()})))
    return f"{questions} questions; at most, of a row's samples: {rates}."


def _cells(part: pl.DataFrame) -> list[tuple[Cell, ...]]:
    """Format the figures of a table, row by row."""
    return list(zip(*(marked(metric, part[metric]) for metric in HEADINGS), strict=True))


def _badness(metric: str, value: float) -> float:
    return -value if metric in HIGHER_IS_BETTER else abs(value)
