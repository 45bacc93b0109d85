"""Measured multiple-choice numbers, and those that the ABCD paper prints, as frames of the same columns."""

from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from candor.mcq import statistics
from candor.mcq.metrics import METRICS, describe
from candor.mcq.protocols import PROTOCOLS

KEYS = ("model", "benchmark", "fewshot", "protocol", "matcher", "metrics", "runs")
"""What each record of metrics has at least, for `report.tables.read_metrics`."""

STANDARD, MATCHED = PROTOCOLS["sl"].title, PROTOCOLS["md"].title
"""The protocols that the paper compares."""

_CELL = ("model", "benchmark", "fewshot")
_IDENTITY = (*_CELL, "protocol")
_SINGLE = (*METRICS, "score_moved", "rstd")
RATES = ("invalid_rate", "fallback_rate")
"""Shares of the outputs: of those that no rule could read, and of those read off their end alone."""

MCQ_METRICS = pl.Schema(
    {
        **dict.fromkeys((*_IDENTITY, "matcher"), pl.String),
        **dict.fromkeys(_SINGLE, pl.Float64),
        **dict.fromkeys([f"{name}_{end}" for name in _SINGLE for end in ("low", "high")], pl.Float64),
        **dict.fromkeys(RATES, pl.Float64),
        **dict.fromkeys(("n_questions", "n_runs", "n_clamped", "n_complete"), pl.Int64),
        "variance_complete": pl.Float64,  # of the questions that have every position
    }
)
"""Columns of the frame that tables are made of: the paper's metrics, the ends of their intervals, rates and sizes."""

PAPER_MODELS = {
    "DeepSeek-R1-0528-Qwen3-8B": "Deepseek-r1-0528-qwen3",
    "DeepSeek-R1-Distill-Qwen-7B": "Deepseek-r1-distill-qwen",
    "Llama-3.1-8B-Instruct": "Llama-3.1-8b-instruct",
    "Ministral-3-8B-Base-2512": "Ministral-3-8b-base",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "Nvidia-nemotron-3-nano",
    "Nemotron-Cascade-8B": "Nemotron-cascade-8b",
    "Qwen3-14B": "Qwen3-14b",
    "Qwen3-30B-A3B-Instruct-2507": "Qwen3-30b-a3b-instruct",
    "Qwen3-8B": "Qwen3-8b",
    "gemma-3-12b-it": "Gemma-3-12b-it",
    "gemma-3-27b-it": "Gemma-3-27b-it",
    "gpt-oss-20b": "Gpt-oss-20b",
    "phi-4": "Phi-4",
}
"""The paper's models: their full names (table 3), and what its other tables call them."""

_PRINTED_NAMES = {full.casefold(): printed for full, printed in PAPER_MODELS.items()}


def mcq_metrics(records: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Gather metrics, as `measure_mcq` writes them, into one frame of MCQ_METRICS, unrounded and in their order.

    Raises:
        ValueError: a protocol of one model on one benchmark comes twice; of several matchers choose one.
    """
    frame = pl.DataFrame([_row(record) for record in records], schema=MCQ_METRICS)
    if (twice := frame.select(_IDENTITY).is_duplicated()).any():
        raise ValueError(
            f"{' / '.join(frame.filter(twice).select(_IDENTITY).row(0))} is given twice; choose one matcher"
        )
    return frame


def rule_rates(records: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return the share of outputs that each rule read, as rows of model, benchmark, few-shot, protocol, rule, share."""
    rows = [
        {**{name: record[name] for name in _IDENTITY}, "rule": rule, "share": share}
        for record in records
        for rule, share in record["rules"].items()
    ]
    return pl.DataFrame(rows, schema={**dict.fromkeys((*_IDENTITY, "rule"), pl.String), "share": pl.Float64})


def run_seconds(records: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return what each run took, as rows of model, benchmark, few-shot, protocol, run, and both kinds of seconds."""
    kinds = ("generation_seconds", "extraction_seconds")
    rows = [
        {**{name: record[name] for name in _IDENTITY}, "run": run, **dict(zip(kinds, seconds, strict=True))}
        for record in records
        for run, seconds in enumerate(zip(*(record[kind] for kind in kinds), strict=True))
    ]
    schema = {**dict.fromkeys(_IDENTITY, pl.String), "run": pl.Int64, **dict.fromkeys(kinds, pl.Float64)}
    return pl.DataFrame(rows, schema=schema)


def shortcut_effects(records: Iterable[Mapping[str, Any]]) -> pl.DataFrame:
    """Return what section 5.2 tells of models on NonsenseQA, one a row, where both S&L and M&D were measured.

    Returns:
        Columns `model`, `kind` and `reduction` (of the medians, S&L less M&D), and for each `side`, `standard` and
        `matched`: `median_{side}` of the `moved_{side}` runs' accuracies, `acc_mean_{side}` of all runs, and
        `chance_p_{side}`, whether the original run is at chance.
    """
    by = {(record["model"], record["protocol"]): record for record in records}
    rows = []
    for model in dict.fromkeys(model for model, _ in by):
        sides = {side: by.get((model, protocol)) for side, protocol in (("standard", "sl"), ("matched", "md"))}
        if not all(sides.values()):
            continue
        row: dict[str, Any] = {"model": model}
        for side, record in sides.items():
            moved = [run["accuracy"]["value"] for run in record["runs"][1:]]
            row |= {f"moved_{side}": moved, f"median_{side}": median(moved)}
            row |= {f"acc_mean_{side}": record["metrics"]["acc_mean"]["value"]}
            row |= {f"chance_p_{side}": record["runs"][0]["chance_p"]}
        row["kind"] = statistics.kind_of_model(row["median_standard"])
        row["reduction"] = row["median_standard"] - row["median_matched"]
        rows.append(row)
    return pl.DataFrame(rows)


def moved_runs_alone(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as the paper's table 5 has it: without the original run, the first moved one in its place.

    Its columns allow no other reading (n = 4, an "ORG" of up to 99 points on nonsense), but not which run its ORG is.
    """
    moved = record["runs"][1:]
    described = describe(pl.Series([run["accuracy"]["value"] for run in moved]).to_numpy())
    values = {
        **{name: float(value) for name, value in described.items()},
        "score": record["metrics"]["score_moved"]["value"],
    }
    metrics = {name: {"value": value, "low": None, "high": None} for name, value in values.items()}
    return {**record, "runs": moved, "n_runs": len(moved), "metrics": {**record["metrics"], **metrics}}


def protocol_pairs(frame: pl.DataFrame, standard: str = STANDARD, matched: str = MATCHED) -> pl.DataFrame:
    """Put two protocols of a model, benchmark and few-shot side by side: each metric as `standard` and `matched`.

    Returns:
        Columns `model`, `benchmark`, `fewshot`, `{metric}_standard`, `{metric}_matched`, `variance_ratio` (None where the
        standard protocol's variance is 0) and `delta_score`; only where both were measured, in the frame's order.
    """
    sides = [
        frame.filter(pl.col("protocol") == protocol).select(*_CELL, pl.col(*METRICS).name.suffix(f"_{side}"))
        for protocol, side in ((standard, "standard"), (matched, "matched"))
    ]
    return (
        sides[0]
        .join(sides[1], on=_CELL, how="inner", maintain_order="left")
        .with_columns(
            variance_ratio=pl.when(pl.col("variance_standard") > 0).then(
                pl.col("variance_matched") / pl.col("variance_standard")
            ),
            delta_score=pl.col("score_standard") - pl.col("score_matched"),
        )
    )


def paper_pairs(folder: str | Path) -> pl.DataFrame:
    """Read what the paper prints in tables 5 to 11, in the columns of `protocol_pairs`."""
    frame = pl.read_csv(Path(folder) / "mcq_metrics.csv", schema_overrides=dict.fromkeys(METRICS, pl.Float64))
    printed = frame.filter(protocol=STANDARD).select(*_CELL, "variance_ratio", "delta_score")  # in both rows the same
    return protocol_pairs(frame).drop("variance_ratio", "delta_score").join(printed, on=_CELL, maintain_order="left")


def main_fewshot(pairs: pl.DataFrame) -> pl.DataFrame:
    """Keep of each benchmark the rows with moved few-shot examples, or with kept ones where it has no others (GPQA)."""
    moved = pl.col("fewshot") == "moved"
    return pairs.filter(moved | ~moved.any().over("benchmark"))


def rank_agreement(pairs: pl.DataFrame) -> pl.DataFrame:
    """Correlate the models' mean accuracies between each two benchmarks, under both protocols (figure 5).

    Args:
        pairs: as of `protocol_pairs`.

    Returns:
        Columns `first` and `second` (benchmarks, in the order of `pairs`), `n_models`, and of `spearman` and `kendall`
        each `{name}_standard`, `{name}_matched` and `{name}_difference`, matched less standard; None where undefined.
    """
    pairs = main_fewshot(pairs)
    rows = []
    for first, second in combinations(pairs["benchmark"].unique(maintain_order=True), 2):
        both = pairs.filter(benchmark=first).join(pairs.filter(benchmark=second), on="model", suffix="_second")
        row: dict[str, Any] = {"first": first, "second": second, "n_models": len(both)}
        for side in ("standard", "matched"):
            found = statistics.rank_correlations(both[f"acc_mean_{side}"], both[f"acc_mean_{side}_second"])
            row |= {f"{name}_{side}": value for name, value in found.items()}
        rows.append(row)
    schema = {"first": pl.String, "second": pl.String, "n_models": pl.Int64}
    schema |= {f"{name}_{side}": pl.Float64 for name in ("spearman", "kendall") for side in ("standard", "matched")}
    return pl.DataFrame(rows, schema=schema).with_columns(
        (pl.col(f"{name}_matched") - pl.col(f"{name}_standard")).alias(f"{name}_difference")
        for name in ("spearman", "kendall")
    )


def printed_name(model: str) -> str:
    """Return what the paper's tables call a model of this name, whatever its case; else the name."""
    return _PRINTED_NAMES.get(model.casefold(), model)


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    metrics = record["metrics"]
    return {
        **{name: record[name] for name in (*_IDENTITY, "matcher", *RATES, "n_questions", "n_runs")},
        "protocol": PROTOCOLS[record["protocol"]].title,
        **{name: metrics[name]["value"] for name in _SINGLE},
        **{f"{name}_{end}": metrics[name][end] for name in _SINGLE for end in ("low", "high")},
        "n_clamped": record["n_questions"] - record["complete"]["n_questions"],
        "n_complete": record["complete"]["n_questions"],
        "variance_complete": record["complete"]["variance"],
    }
