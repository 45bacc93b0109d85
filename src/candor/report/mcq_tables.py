"""The ABCD paper's tables (1 to 12) from measured numbers, with the figures that the paper prints below ours."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import polars as pl

from candor.mcq import statistics
from candor.mcq.extraction import RANDOM, TEXT_RULES
from candor.mcq.metrics import METRICS
from candor.report.layout import Cell, Table, number
from candor.report.mcq_frames import MATCHED, RATES, STANDARD, main_fewshot, paper_pairs, printed_name, protocol_pairs

_PAPER = "paper"
_PRINTED_MEAN = "GEOMETRIC MEAN"
_PRINTED_COLUMNS = {
    "CommonsenseQA": "csqa",
    "ARC": "arc",
    "GPQA": "gpqa",
    "INCLUDE": "include",
    "MMLU-Pro": "mmlu_pro",
}
_HEADS = {
    "acc_mean": ("ACC mean", r"$\mathrm{ACC}_{\mathrm{mean}}$"),
    "acc_original": ("ACC org", r"$\mathrm{ACC}_{\mathrm{org}}$"),
    "delta_acc": (r"\|ΔACC\|", r"$|\Delta\mathrm{ACC}|$"),
    "variance": ("σ²", r"$\sigma^2$"),
    "acc_min": ("ACC min", r"$\mathrm{ACC}_{\min}$"),
    "acc_max": ("ACC max", r"$\mathrm{ACC}_{\max}$"),
    "range": ("max-min", r"$\Delta_{\max-\min}$"),
    "score": ("SCORE", "SCORE"),
}
"""Heads of the metrics, in Markdown and in LaTeX."""
_RATIO = Cell("σ² ratio", latex=r"$\sigma^2_R$")
_DELTA_SCORE = Cell("ΔSCORE", latex=r"$\Delta$SCORE")
_MEAN_RATIO = Cell("geometric mean", latex=r"$\overline{x}_{\mathrm{GEOM}}(\sigma^2_R)$")


def details(frame: pl.DataFrame, benchmark: str, fewshot: str, folder: str | Path) -> Table:
    """Lay out all metrics of one benchmark under S&L and M&D (tables 5 to 11).

    Bold: the |ΔACC| closer to 0, a variance ratio below 1, a negative SCORE difference (paper I.2).
    """
    here = {"benchmark": benchmark, "fewshot": fewshot}
    part, printed = frame.filter(**here), paper_pairs(folder).filter(**here)
    ours = {row["model"]: _detail_cells(row) for row in protocol_pairs(part).iter_rows(named=True)}
    theirs = {row["model"]: _aside(_detail_cells(row)) for row in printed.iter_rows(named=True)}
    return Table(
        f"{benchmark}, few-shot examples {fewshot}",
        [
            Cell("Model"),
            *(Cell(f"{of} {text}", latex=tex) for of in (STANDARD, MATCHED) for text, tex in _HEADS.values()),
            *(_RATIO, _DELTA_SCORE),
        ],
        _with_paper(ours, theirs),
        _note(part),
        [("", 1), (STANDARD, len(_HEADS)), (MATCHED, len(_HEADS)), ("", 2)],
    )


def variance_ratios(pairs: pl.DataFrame, benchmarks: Sequence[str], folder: str | Path) -> Table:
    """Lay out the variance ratio of each model and benchmark, with geometric means (table 1).

    Of a benchmark those with moved few-shot examples, or else (GPQA) with kept ones. Means leave out a ratio that is 0
    or undefined, and the note names it.
    """
    pairs = main_fewshot(pairs)
    ratios = {
        model: [_value(pairs, "variance_ratio", model=model, benchmark=benchmark) for benchmark in benchmarks]
        for model in pairs["model"].unique(maintain_order=True)
    }
    printed = pl.read_csv(Path(folder) / "mcq_variance_ratio.csv")
    theirs = {
        row["model"]: _aside(
            [
                *(
                    number(row.get(_PRINTED_COLUMNS.get(of, "")), 2 if row["model"] == _PRINTED_MEAN else 3)
                    for of in benchmarks
                ),
                number(row["geometric_mean"], 2),
            ]
        )
        for row in printed.iter_rows(named=True)
    }

    def with_mean(of: Sequence[float | None]) -> list[Cell]:
        cells = [number(ratio, 3, "best" if ratio is not None and ratio < 1 else "") for ratio in of]
        return [*cells, number(statistics.geometric_mean(of), 2)]

    columns = [statistics.geometric_mean(column) for column in zip(*ratios.values(), strict=True)]
    every = statistics.geometric_mean(ratio for of in ratios.values() for ratio in of)
    last = {_PRINTED_MEAN: [number(value, 2) for value in (*columns, every)]}
    zeros = [
        f"{model} on {benchmark}"
        for model, of in ratios.items()
        for benchmark, ratio in zip(benchmarks, of, strict=True)
        if not ratio
    ]
    return Table(
        f"Variance ratio, {MATCHED} to {STANDARD}",
        [Cell("Model"), *map(Cell, benchmarks), _MEAN_RATIO],
        [
            *_with_paper({model: with_mean(of) for model, of in ratios.items()}, theirs),
            None,
            *_with_paper(last, theirs),
        ],
        "Below 1 (bold) accuracy varies less under the matched protocol."
        + (f" Zero or not measured, and so not in the means: {', '.join(zeros)}." if zeros else ""),
    )


def computational_costs(records: Sequence[Mapping[str, Any]]) -> Table:
    """Lay out the seconds that a run takes to generate and to extract, over the runs (table 2)."""
    by = {(record["model"], record["protocol"]): record for record in records}
    heads = [f"{of} {what}" for of in (STANDARD, MATCHED) for what in ("generation", "extraction", "total", "share")]
    rows = []
    for model in dict.fromkeys(model for model, _ in by):
        cells, totals = [], []
        for record in (by.get((model, "sl")), by.get((model, "md"))):
            if record is None:
                cells += [Cell("-")] * 4
                continue
            generation, extraction = record["generation_seconds"], record["extraction_seconds"]
            total = [sum(both) for both in zip(generation, extraction, strict=True)]
            cells += [_seconds(generation), _seconds(extraction), _seconds(total)]
            cells.append(Cell(f"{sum(extraction) / sum(total):.1%}"))
            totals.append(sum(total))
        rows.append([Cell(model), *cells, number(totals[1] / totals[0] if len(totals) == 2 else None, 2)])
    return Table(
        "Seconds of a run",
        [Cell("Model"), *map(Cell, heads), Cell("ratio")],
        rows,
        f"Mean and sample deviation over the runs; ratio of the totals, {MATCHED} to {STANDARD}. The paper, of Gemma 3 "
        "12B on CommonsenseQA: S&L 36.31 (± 1.47); M&D 34.65 (± 1.42), 2.70 (± 0.04), 37.35 (± 1.43), 7%; ratio 1.03.",
    )


def extraction_rates(records: Sequence[Mapping[str, Any]], folder: str | Path) -> Table:
    """Lay out how often each rule read the answer of one benchmark under M&D, in percent of all outputs (table 3)."""
    printed = pl.read_csv(Path(folder) / "mcq_extraction_rates.csv").drop("table")
    theirs = {
        printed_name(row[0]): _aside([number(value, 2) for value in row[1:]])
        for row in printed.iter_rows()
        if {record["benchmark"] for record in records} == {"MMLU-Pro"}
    }
    ours = {
        record["model"]: [number(100 * record["rules"].get(rule, 0), 2) for rule in (*TEXT_RULES, RANDOM)]
        for record in records
    }
    return Table(
        f"How often each rule read the answer, {', '.join(dict.fromkeys(record['benchmark'] for record in records))}, %",
        [
            Cell("Model"),
            *(Cell(f"{i}. {rule.replace('_', ' ')}") for i, rule in enumerate(TEXT_RULES, 1)),
            Cell("failed"),
        ],
        _with_paper(ours, theirs),
    )


def sampling(frame: pl.DataFrame) -> Table:
    """Lay out how each model is sampled, and the paper's default (table 4).

    Args:
        frame: `model`, `temperature`, `top_k` and `top_p`, the latter two None where all tokens are considered.
    """
    heads = {"temperature": "Temperature", "top_k": "Top K", "top_p": "Top P"}
    default = {"model": _PAPER, "temperature": 0.6, "top_k": 20, "top_p": 0.95}
    return Table(
        "Sampling",
        [Cell("Model"), *map(Cell, heads.values())],
        [
            *([Cell(row["model"]), *_settings(row, heads)] for row in frame.iter_rows(named=True)),
            None,
            [Cell(_PAPER, "aside"), *_aside(_settings(default, heads))],
        ],
        "The paper: where the hub has no settings of the model. Its min-p is 0, that is none; none of ours has one.",
    )


def scores_by_fewshot(pairs: pl.DataFrame, benchmark: str, folder: str | Path) -> Table:
    """Lay out SCORE with moved and with kept few-shot examples (table 12); the last row has the means."""
    pairs = pairs.filter(benchmark=benchmark)
    names = ("score_standard", "score_matched", "delta_score")
    scores = {
        model: [_value(pairs, name, model=model, fewshot=fewshot) for fewshot in ("moved", "kept") for name in names]
        for model in pairs["model"].unique(maintain_order=True)
    }
    printed = pl.read_csv(Path(folder) / "mcq_score_fewshot.csv").drop("table")
    theirs = {
        row[0]: _aside([number(value, 3) for value in row[1:]])
        for row in printed.iter_rows()
        if benchmark == "CommonsenseQA"
    }
    columns = [[value for value in column if value is not None] for column in zip(*scores.values(), strict=True)]
    return Table(
        f"SCORE on {benchmark} with moved and with kept few-shot examples",
        [
            Cell("Model"),
            *(
                cell
                for of in ("moved", "kept")
                for cell in (
                    Cell(f"{of} {STANDARD}"),
                    Cell(f"{of} {MATCHED}"),
                    Cell(f"{of} Δ", latex=rf"{of} $\Delta$"),
                )
            ),
        ],
        [
            *_with_paper({model: [number(value, 3) for value in row] for model, row in scores.items()}, theirs),
            None,
            *_with_paper({"Mean": [number(mean(column) if column else None, 3) for column in columns]}, theirs),
        ],
        "The paper's last mean is printed -0.014; its rows give -0.0165." if theirs else "",
    )


def shortcut_effects(frame: pl.DataFrame) -> Table:
    """Lay out, for NonsenseQA, each model's median over the moved runs, what M&D takes off it, and the model's kind.

    The note has the tests of section 5.2: Wilcoxon over models and over pairs of model and run, and Cohen's d.

    Args:
        frame: as `mcq_frames.shortcut_effects` gives it.
    """
    rows = [
        [
            Cell(row["model"]),
            *(number(row[name], 2) for name in ("median_standard", "median_matched", "reduction")),
            Cell(row["kind"]),
            *(Cell(f"{row[name]:.2g}") for name in ("chance_p_standard", "chance_p_matched")),
        ]
        for row in frame.iter_rows(named=True)
    ]
    means = [frame[f"acc_mean_{side}"].to_list() for side in ("standard", "matched")]
    pairs = [frame[f"moved_{side}"].explode().to_list() for side in ("standard", "matched")]
    tests = {
        "Wilcoxon p over models": statistics.wilcoxon_p(*means),
        "over pairs of model and moved run": statistics.wilcoxon_p(*pairs),
        "Cohen's d of ACC mean": statistics.cohens_d(*means),
    }
    return Table(
        "NonsenseQA: what the few-shot examples' positions give away",
        [
            Cell("Model"),
            *map(Cell, (f"median {STANDARD}", f"median {MATCHED}", "reduction", "kind")),
            *(Cell(f"original at chance: p {of}") for of in (STANDARD, MATCHED)),
        ],
        rows,
        "; ".join(f"{name} {'-' if value is None else format(value, '.2g')}" for name, value in tests.items())
        + ". The paper: p < 1e-4, d 2.2, reductions from 12.5 to 52.",
    )


def _value(pairs: pl.DataFrame, column: str, **where: str) -> float | None:
    return next(iter(pairs.filter(**where)[column]), None)


def _detail_cells(row: Mapping[str, Any]) -> list[Cell]:
    closer = {side: abs(row[f"delta_acc_{side}"] or 0) for side in ("standard", "matched")}
    cells = []
    for side, other in (("standard", "matched"), ("matched", "standard")):
        for name in METRICS:
            best = name == "delta_acc" and closer[side] < closer[other]
            cells.append(number(row[f"{name}_{side}"], 2, "best" if best else ""))
    ratio, delta = row["variance_ratio"], row["delta_score"]
    return [
        *cells,
        number(ratio, 2, "best" if ratio is not None and ratio < 1 else ""),
        number(delta, 3, "best" if delta is not None and delta < 0 else ""),
    ]


def _settings(row: Mapping[str, Any], names: Iterable[str]) -> list[Cell]:
    return [Cell("-" if row[name] is None else f"{row[name]:g}") for name in names]


def _seconds(of: Sequence[float]) -> Cell:
    spread = f" (± {stdev(of):.2f})" if len(of) > 1 else ""
    return Cell(f"{mean(of):.2f}{spread}")


def _aside(cells: Iterable[Cell]) -> list[Cell]:
    return [replace(cell, mark="aside") for cell in cells]


def _with_paper(ours: Mapping[str, Sequence[Cell]], theirs: Mapping[str, Sequence[Cell]]) -> list[list[Cell]]:
    """Give each model its row and, where the paper has one of it, the paper's below."""
    rows = []
    for model, cells in ours.items():
        rows.append([_MEAN_RATIO if model == _PRINTED_MEAN else Cell(model), *cells])
        if printed := theirs.get(printed_name(model)):
            rows.append([Cell(_PAPER, "aside"), *printed])
    return rows


def _note(part: pl.DataFrame) -> str:
    """Say under a table what its numbers hide."""
    if part.is_empty():
        return "Nothing was measured."
    sizes = " to ".join(map(str, sorted({part["n_questions"].min(), part["n_questions"].max()})))
    rates = ", ".join(f"{name.removesuffix('_rate')} {part[name].max():.2%}" for name in RATES)
    return (
        f"{sizes} questions, of which {part['n_clamped'].max()} lack a position. At most, of a row's outputs: {rates} "
        "(no answer read; read off the end of the output alone)."
    )
