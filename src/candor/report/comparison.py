"""Ours beside what the paper prints, cell by cell: tables 4, 7 to 37, and the bounds of F.4."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from candor.confidence.metrics import METRICS
from candor.report.layout import Cell, Table, number
from candor.report.tables import DIGITS, HEADINGS, scheme_cell
from candor.vocabulary import DIFFICULTIES

CELL = ("model", "dataset", "judge", "difficulty", "scheme", "metric")
"""What a cell is found by: the labels of the configuration, the names of schemes; null where a table has no such thing."""

OURS = pl.Schema({**dict.fromkeys(CELL, pl.String), **dict.fromkeys(("ours", "ours_low", "ours_high"), pl.Float64)})
"""Cells that were measured, with their intervals."""

STATUSES = ("compared", "missing", "undefined", "undefined here", "undefined in print")
"""Both are numbers; nothing of ours was measured; neither has a value; we have none; the paper has none."""

COMPARISON = pl.Schema(
    {
        "table": pl.String,  # number, or section, in the paper
        **dict.fromkeys(CELL, pl.String),
        "printed": pl.Float64,
        "printed_low": pl.Float64,  # bounds, where the paper says no more (F.4)
        "printed_high": pl.Float64,
        "ours": pl.Float64,
        "ours_low": pl.Float64,
        "ours_high": pl.Float64,
        "difference": pl.Float64,  # ours less the printed one; of a bound, how far ours is beyond it
        "within": pl.Boolean,  # whether the printed value lies within our interval; null where there is none
        "status": pl.String,  # one of STATUSES
    }
)

ASKED = 1024
"""Questions of which table 4 counts the valid responses."""

_ABSTENTIONS = ("unanswerable", "other", "total")
_HALF_DIGIT = 0.5 * 10**-DIGITS
_TABLE_4_MODEL = "Qwen 2.5 (3B) Instruct"  # its caption's
_BOUND = pl.col("printed_low").is_not_null() | pl.col("printed_high").is_not_null()


def measured_cells(metrics: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return what `measure_confidence` wrote as cells: METRICS, and the rates of invalid format that F.4 bounds."""
    rows = []
    for one in metrics:
        for difficulty, measured in one["difficulties"].items():
            rate = measured["invalid_format_rate"]
            repaired = [measured[f"{part}_status"].get("repaired", 0.0) for part in ("answer", "confidence")]
            values = {
                **{metric: measured[metric] for metric in METRICS},
                "invalid_format_rate": rate,
                # An output counts as repaired where nothing else is wrong with it, so that both parts are.
                "invalid_format_rate_after_repair": {
                    end: None if value is None else max(0.0, value - min(repaired)) for end, value in rate.items()
                },
            }
            rows += [
                (one["model"], one["dataset"], None, difficulty, one["scheme"], metric, *(v[e] for e in _ENDS))
                for metric, v in values.items()
            ]
    return pl.DataFrame(rows, OURS, orient="row")


def judged_cells(abstentions: pl.DataFrame | None) -> pl.DataFrame:
    """Return rates of abstention as cells; none where no judge was asked.

    Args:
        abstentions: model, dataset, judge, difficulty, scheme; `unanswerable`, `other` and `total` with `{name}_low` and
            `{name}_high`; `format_error_rate`.
    """
    if abstentions is None:
        return pl.DataFrame(schema=OURS)
    keys = [name for name in CELL if name != "metric"]
    parts = [
        abstentions.select(*keys, metric=pl.lit(name), ours=name, ours_low=f"{name}_low", ours_high=f"{name}_high")
        for name in _ABSTENTIONS
    ]
    errors = abstentions.select(*keys, metric=pl.lit("format_error_rate"), ours="format_error_rate")
    errors = errors.with_columns(ours_low=None, ours_high=None)
    return pl.concat([part.select(OURS.names()).cast(dict(OURS)) for part in (*parts, errors)])


def response_cells(responses: Iterable[tuple[str, str, pl.DataFrame]]) -> pl.DataFrame:
    """Return how many of the answers that SFT learns from were valid, per ASKED, as cells without intervals.

    Args:
        responses: a frame of `tables.RESPONSES` with the labels of its model and dataset.
    """
    rows = [
        (model, dataset, None, None, None, "valid_responses", ASKED * (frame["status"] == "valid").mean(), None, None)
        for model, dataset, frame in responses
        if len(frame)
    ]
    return pl.DataFrame(rows, OURS, orient="row")


def printed_cells(folder: str | Path) -> pl.DataFrame:
    """Read every cell that the paper prints, in the order of its tables, F.4 last.

    Args:
        folder: resources/paper_tables.

    Returns:
        Columns `table`, CELL, `printed`, `printed_low`, `printed_high`, and `void`: AUROC is printed 0.0000 (tables 32
        to 35) where accuracy is 0, so that there is none (F.1).
    """
    folder = Path(folder)
    metrics = pl.read_csv(folder / "confidence_metrics.csv")
    void = (pl.col("metric") == "auroc") & (pl.col("printed") == 0) & (pl.col("accuracy_of_row") == 0)
    metrics = (
        metrics.with_columns(judge=pl.lit(None, pl.String), accuracy_of_row="accuracy")
        .unpivot(METRICS, index=["table", *CELL[:-1], "accuracy_of_row"], variable_name="metric", value_name="printed")
        .with_columns(void=void)
    )
    abstentions = pl.read_csv(folder / "abstention_rates.csv").unpivot(
        _ABSTENTIONS, index=["table", *CELL[:-1]], variable_name="metric", value_name="printed"
    )
    responses = pl.read_csv(folder / "confidence_valid_json.csv").select(
        "table", "dataset", model=pl.lit(_TABLE_4_MODEL), metric=pl.lit("valid_responses"), printed="valid"
    )
    bounds = pl.read_csv(folder / "confidence_invalid_format.csv", schema_overrides=_BOUNDS)
    bounds = bounds.with_columns(pl.col("schemes").str.split(" "), difficulty=pl.lit("all")).explode("schemes")
    bounds = bounds.rename({"section": "table", "schemes": "scheme", "low": "printed_low", "high": "printed_high"})
    numbered = pl.concat(
        [part.cast({"printed": pl.Float64}) for part in (metrics, abstentions, responses)], how="diagonal"
    )
    numbered = numbered.sort("table", maintain_order=True).cast({"table": pl.String})
    return (
        pl.concat([numbered, bounds.drop("meaning")], how="diagonal")
        .with_columns(pl.col("void").fill_null(False))
        .select("table", *CELL, "printed", "printed_low", "printed_high", "void")
    )


def compare(printed: pl.DataFrame, *ours: pl.DataFrame) -> pl.DataFrame:
    """Put our cells beside the printed ones of the same models, as a frame of COMPARISON.

    Every printed cell of a model that is among ours has its row, whatever of it was run. Half a unit of the last printed
    digit is allowed for, where the printed value is looked for in our interval.

    Args:
        printed: as of `printed_cells`.
        ours: frames of OURS.

    Raises:
        polars.exceptions.ComputeError: a cell of ours is given twice.
    """
    found = pl.concat(ours)
    here = printed.filter(pl.col("model").is_in(found["model"].unique().to_list()))
    joined = here.join(
        found.with_columns(measured=True), on=CELL, how="left", nulls_equal=True, maintain_order="left", validate="1:1"
    )
    nothing = pl.col("ours").is_null()
    blank = pl.col("printed").is_null() & ~_BOUND
    status = (
        pl.when(pl.col("measured").is_null())
        .then(pl.lit("missing"))
        .when(nothing & (blank | pl.col("void")))
        .then(pl.lit("undefined"))
        .when(nothing)
        .then(pl.lit("undefined here"))
        .when(blank)
        .then(pl.lit("undefined in print"))
        .otherwise(pl.lit("compared"))
    )
    beyond = pl.max_horizontal(pl.lit(0.0), pl.col("ours") - pl.col("printed_high")) + pl.min_horizontal(
        pl.lit(0.0), pl.col("ours") - pl.col("printed_low")
    )
    low, high = pl.col("ours_low") - _HALF_DIGIT, pl.col("ours_high") + _HALF_DIGIT
    meets = (high >= pl.col("printed_low")).fill_null(True) & (low <= pl.col("printed_high")).fill_null(True)
    bounded = low.is_not_null() & _BOUND
    return joined.with_columns(
        status=status,
        difference=pl.when(~nothing & _BOUND).then(beyond).otherwise(pl.col("ours") - pl.col("printed")),
        within=pl.when(bounded).then(meets).otherwise(pl.col("printed").is_between(low, high)),
    ).select(COMPARISON.names())


def summary(comparison: pl.DataFrame, printed: pl.DataFrame, models: Iterable[str]) -> str:
    """Say in a few sentences what was compared, and how it came out.

    Args:
        comparison: of COMPARISON.
        printed: as of `printed_cells`; all that the paper prints.
        models: the labels of the models that were measured.
    """
    prints = f"The paper prints {len(printed)} cells (tables 4 and 7 to 37, and bounds in F.4)"
    models = dict.fromkeys(models)
    if comparison.is_empty():
        return f"{prints}, none of them of {' or '.join(models) or 'any model that was measured'}; nothing is compared."
    counts = dict(comparison["status"].value_counts().iter_rows())
    within = comparison.filter(status="compared")["within"].drop_nulls()
    others = [name for name in models if name not in comparison["model"]]
    return (
        f"{prints}, {len(comparison)} of them of the models measured here. "
        f"Compared: {counts.get('compared', 0)}; the printed value lies within our interval in {within.sum()} of the "
        f"{len(within)} that have one. Missing, since nothing of ours was measured: {counts.get('missing', 0)}. "
        f"Without a value on both sides: {counts.get('undefined', 0)}; on ours alone: "
        f"{counts.get('undefined here', 0)}; in print alone: {counts.get('undefined in print', 0)}."
        + (f" The paper has nothing of {', '.join(others)}." if others else "")
    )


def comparison_tables(comparison: pl.DataFrame) -> list[Table]:
    """Lay out a frame of COMPARISON: what each table of the paper came to, then ours and the difference, cell by cell.

    Bold: the printed value lies outside our interval, or ours beyond a bound.
    """
    parts = [part for _, part in comparison.group_by("table", maintain_order=True)]
    tables = [
        Table(
            "What each of the paper's tables came to",
            [Cell("Table"), *map(Cell, _COUNTS), Cell("mean gap"), Cell("largest gap")],
            [_came_to(part) for part in parts],
            "Within, outside: the printed value, of our interval where there is one. Gap: the size of the difference; of a bound "
            "(F.4), how far ours is beyond it.",
        )
    ]
    for part in parts:
        numbered = part["table"][0] != "F.4"
        tables += [
            _side_by_side(one) if numbered else _bounds(one)
            for _, one in part.group_by("model", "dataset" if part["scheme"][0] else "table", maintain_order=True)
        ]
    return tables


_COUNTS = ("cells", "compared", "within", "outside", "missing", "undefined")
_ENDS = ("value", "low", "high")
_BOUNDS = {"low": pl.Float64, "high": pl.Float64, "judge": pl.String}
_NAMES = HEADINGS | {
    "unanswerable": "unans.",
    "valid_responses": f"valid of {ASKED}",
    "invalid_format_rate": "invalid format",
    "invalid_format_rate_after_repair": "invalid after repair",
    "format_error_rate": "judge's format errors",
}


def _came_to(part: pl.DataFrame) -> list[Cell]:
    within = part.filter(status="compared")["within"]
    gaps = part.filter(status="compared")["difference"].abs()
    digits = 1 if part["metric"][0] == "valid_responses" else DIGITS
    missing = (part["status"] == "missing").sum()
    counts = (len(part), len(gaps), within.sum(), (~within).sum(), missing, len(part) - len(gaps) - missing)
    return [
        Cell(part["table"][0]),
        *(Cell(str(count)) for count in counts),
        number(gaps.mean(), digits),
        number(gaps.max(), digits),
    ]


def _side_by_side(part: pl.DataFrame) -> Table:
    """Lay out a numbered table of the paper, in its own columns."""
    first = part.row(0, named=True)
    title = f"Table {first['table']}: {first['model']}"
    if first["metric"] == "valid_responses":
        heads, named, columns = ["Dataset"], "dataset", [("valid_responses", None)]
    elif first["judge"] is None:
        title += f" on {first['dataset']}, {first['difficulty']}"
        heads, named, columns = ["Model/Reward Scheme"], "scheme", [(metric, first["difficulty"]) for metric in METRICS]
    else:
        title += f" on {first['dataset']}, abstention as judged by {first['judge']}"
        columns = [(metric, difficulty) for difficulty in (*DIFFICULTIES, "all") for metric in _ABSTENTIONS]
        heads, named = ["Model/Reward Scheme"], "scheme"
    heads += [
        f"{difficulty} {_NAMES.get(metric, metric)}" if first["judge"] else _NAMES[metric]
        for metric, difficulty in columns
    ]
    rows = {name: {} for name in part[named]}
    for row in part.iter_rows(named=True):
        rows[row[named]][row["metric"], row["difficulty"]] = _difference(row)
    return Table(
        title,
        [*map(Cell, heads)],
        [[scheme_cell(name), *(cells[column] for column in columns)] for name, cells in rows.items()],
        "Ours, and in brackets ours less the printed value. Bold: the printed value lies outside our interval.",
    )


def _bounds(part: pl.DataFrame) -> Table:
    """Lay out what F.4 says of one model on one dataset."""
    columns = part.select("metric", "judge").unique(maintain_order=True).rows()
    heads = ["Model/Reward Scheme"]
    for metric, judge in columns:
        name = f"{_NAMES[metric]} ({judge})" if judge else _NAMES[metric]
        heads += [f"{name}: paper", "ours"]
    rows = {name: {} for name in part["scheme"]}
    for row in part.iter_rows(named=True):
        low, high = (None if row[end] is None else f"{row[end]:g}" for end in ("printed_low", "printed_high"))
        bound = f"below {high}" if low is None else f"above {low}" if high is None else f"{low} to {high}"
        ours = _difference(row)
        beyond = row["status"] == "compared" and row["difference"] != 0
        ours = number(row["ours"], DIGITS, "best" if beyond else "") if row["status"] == "compared" else ours
        rows[row["scheme"]][row["metric"], row["judge"]] = [Cell(bound), ours]
    empty = [Cell("-"), Cell("-")]
    return Table(
        f"F.4: {part['model'][0]} on {part['dataset'][0]}, rates of invalid format",
        [*map(Cell, heads)],
        [
            [scheme_cell(name), *(cell for column in columns for cell in cells.get(column, empty))]
            for name, cells in rows.items()
        ],
        "Bold: ours is beyond the paper's bound.",
    )


def _difference(row: Mapping[str, Any]) -> Cell:
    digits = 0 if row["metric"] == "valid_responses" else DIGITS
    match row["status"]:
        case "missing":
            return Cell("missing")
        case "undefined":
            return Cell("-")
        case "undefined here":
            return Cell(f"- ({number(row['printed'], digits).text} in print)")
        case "undefined in print":
            return Cell(f"{number(row['ours'], digits).text} (- in print)")
    gap = f"{round(row['difference'], digits) + 0.0:+.{digits}f}"
    return Cell(f"{number(row['ours'], digits).text} ({gap})", "best" if row["within"] is False else "")
