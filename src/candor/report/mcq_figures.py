"""The ABCD paper's figures from measured numbers: accuracies over the runs (3, 4, 9 to 13, 16 to 20), ablations (7, 8)
and agreement between benchmarks (5)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from candor.mcq.protocols import PROTOCOLS
from candor.report.figures import COLOURS, STYLE

# A protocol has its colour in every figure.
_COLOURS = dict(zip(("md", "sl", "ml", "sd", "cloze"), COLOURS, strict=False))
_OTHER = COLOURS[5]
_SIGNS = (
    Line2D([], [], color="black", marker="o", linestyle="", markersize=4, label="original order"),
    Line2D([], [], color="black", marker="*", linestyle="", markersize=8, label="SCORE (right axis)"),
)


def plot_runs(records: Sequence[Mapping[str, Any]], title: str = "") -> Figure:
    """Plot the accuracies of all runs, a box for each model and protocol (figures 3, 4, 9 to 13, 16 to 20).

    The box spans the quartiles of the runs, its whiskers their minimum and maximum; the dot is the original order, the
    star is SCORE. The dotted line is chance, where the axis reaches down to it.

    Args:
        records: as `measure_mcq` writes them, all of one benchmark; models and protocols keep their order.
        title: above the panel.

    Raises:
        ValueError: there is nothing to plot, records of several benchmarks, or a model's protocol twice.
    """
    _check(records, ("model", "protocol"))
    models = list(dict.fromkeys(record["model"] for record in records))
    protocols = list(dict.fromkeys(record["protocol"] for record in records))
    width = 0.8 / len(protocols)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(7.2, 1.8 + len(models) * (0.4 + 0.2 * len(protocols))), 4.6), layout="constrained")
        axis = figure.subplots()
        for record in records:
            place = models.index(record["model"]) + width * (
                protocols.index(record["protocol"]) - (len(protocols) - 1) / 2
            )
            _draw(axis, record, place, 0.8 * width)
        _finish(axis, records, list(range(len(models))), models)
        boxes = [Patch(facecolor=_colour(name), alpha=0.6, label=PROTOCOLS[name].title) for name in protocols]
        figure.legend(handles=[*boxes, *_SIGNS], loc="outside lower center", ncols=len(boxes) + 2, frameon=False)
        figure.suptitle(title, fontsize=10)
    return figure


def plot_ablation(records: Sequence[Mapping[str, Any]], settings: Sequence[str], title: str = "") -> Figure:
    """Plot the accuracies of all runs, a box for each setting and a panel for each model (figures 7 and 8).

    Args:
        records: as `measure_mcq` writes them, all of one benchmark.
        settings: what each record is called, such as `Cloze`, `Letter (standard)` or a matcher's label.
        title: above the panels.

    Raises:
        ValueError: as of `plot_runs`, or the lists differ in length.
    """
    named = [{**record, "setting": setting} for record, setting in zip(records, settings, strict=True)]
    _check(named, ("model", "setting"))
    models = list(dict.fromkeys(record["model"] for record in named))
    order = list(dict.fromkeys(settings))
    columns = min(len(models), 3)
    rows = -(-len(models) // columns)
    with mpl.rc_context(STYLE):
        size = (1.4 + columns * max(2, 0.6 + 0.35 * len(order)), 2 + 2.6 * rows)
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
        for index, (axis, model) in enumerate(zip(axes, models, strict=False)):
            part = [record for record in named if record["model"] == model]
            for record in part:
                _draw(axis, record, order.index(record["setting"]), 0.6)
            _finish(axis, named, list(range(len(order))), order)
            axis.set_title(model)
            axis.tick_params(labelbottom=index + columns >= len(models))  # nothing stands below it
        for axis in axes[len(models) :]:
            axis.set_visible(False)
        figure.legend(handles=_SIGNS, loc="outside lower center", ncols=2, frameon=False)
        figure.suptitle(title, fontsize=10)
    return figure


def plot_rank_agreement(agreement: pl.DataFrame, title: str = "") -> Figure:
    """Plot how much more alike two benchmarks rank the models under M&D than under S&L (figure 5).

    Args:
        agreement: as `mcq_frames.rank_agreement` gives it.
        title: above the panels.

    Raises:
        ValueError: there are fewer than two benchmarks.
    """
    if agreement.is_empty():
        raise ValueError("agreement needs at least two benchmarks that were measured under both protocols")
    names = list(dict.fromkeys([*agreement["first"], *agreement["second"]]))
    size = len(names)
    with mpl.rc_context({**STYLE, "axes.grid": False, "axes.spines.left": False, "axes.spines.bottom": False}):
        figure = Figure(figsize=(2.4 + 1.5 * size, 1.6 + 0.62 * size), layout="constrained")
        for axis, (column, sign) in zip(figure.subplots(1, 2), (("spearman", "ρ"), ("kendall", "τ")), strict=True):
            values = agreement[f"{column}_difference"].to_list()
            cells = [[float("nan")] * size for _ in names]
            for first, second, value in zip(agreement["first"], agreement["second"], values, strict=True):
                if value is not None:
                    cells[names.index(second)][names.index(first)] = value
                text = "-" if value is None else f"{value + 0.0:+.3f}"
                axis.text(names.index(first), names.index(second), text, ha="center", va="center", fontsize=8)
            extent = max((abs(value) for value in values if value is not None), default=0) or 1
            axis.imshow(
                [row[:-1] for row in cells[1:]],
                cmap="RdBu",
                vmin=-1.6 * extent,
                vmax=1.6 * extent,
                extent=(-0.5, size - 1.5, size - 0.5, 0.5),
            )
            axis.set(title=f"{column.capitalize()}: {sign}(M&D) - {sign}(S&L)")
            axis.set_xticks(range(size - 1), names[:-1], rotation=30, ha="right")
            axis.set_yticks(range(1, size), names[1:])
            axis.tick_params(length=0)
        figure.suptitle(title, fontsize=10)
    return figure


def matcher_settings(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name records for figure 7: by their matcher, or by the baseline that they are."""
    baselines = {"cloze": "Cloze", "sl": "Letter (standard)"}
    return [baselines.get(record["protocol"], record["matcher"]) for record in records]


def label_settings(records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Name records for figure 8: by the labels shown, or as the baseline."""
    names = {"sl": "Baseline", "cloze": "Cloze", "md": "Matched-dash", "ml": "A/B/C/D/E"}
    return [names.get(record["protocol"], PROTOCOLS[record["protocol"]].title) for record in records]


def _check(records: Sequence[Mapping[str, Any]], keys: Sequence[str]) -> None:
    if len({record["benchmark"] for record in records}) != 1:
        raise ValueError("a plot of runs needs the metrics of one benchmark")
    seen = set()
    for record in records:
        cell = tuple(record[key] for key in keys)
        if cell in seen:
            raise ValueError(f"{' / '.join(cell)} is given twice")
        seen.add(cell)


def _draw(axis: Axes, record: Mapping[str, Any], place: float, width: float) -> None:
    colour = _colour(record["protocol"])
    box = axis.boxplot(
        [[run["accuracy"]["value"] for run in record["runs"]]],
        positions=[place],
        widths=width,
        whis=(0, 100),
        patch_artist=True,
        manage_ticks=False,
        showfliers=False,  # whiskers at the extremes leave none
        medianprops={"color": "black"},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    box["boxes"][0].set(facecolor=colour, edgecolor=colour, alpha=0.6)
    axis.plot(place, record["metrics"]["acc_original"]["value"], "o", color="black", markersize=3.5, zorder=3)
    if (score := record["metrics"]["score"]["value"]) is not None:
        axis.plot(
            place, 100 * score, "*", color="black", markeredgecolor="white", markeredgewidth=0.5, markersize=8, zorder=4
        )


def _finish(axis: Axes, records: Sequence[Mapping[str, Any]], places: Sequence[float], names: Sequence[str]) -> None:
    shown = [run["accuracy"]["value"] for record in records for run in record["runs"]]
    shown += [100 * score for record in records if (score := record["metrics"]["score"]["value"]) is not None]
    lowest, chance = 10 * math.floor(max(min(shown) - 2, 0) / 10), records[0]["runs"][0]["chance"]
    if chance >= lowest:
        axis.axhline(chance, color="black", linestyle=":", linewidth=0.8)
    margin = 0.6 if len(places) > 2 else 1.4  # a box alone stays slim
    axis.set(xlim=(places[0] - margin, places[-1] + margin), ylim=(lowest - 2, 102), ylabel="Accuracy, %")
    axis.set_xticks(places, names, rotation=30, ha="right", fontsize=8)
    axis.grid(visible=False, axis="x")
    right = axis.secondary_yaxis("right", functions=(lambda y: y / 100, lambda y: 100 * y))
    right.set_ylabel("SCORE")


def _colour(protocol: str) -> str:
    return _COLOURS.get(protocol, _OTHER)
