"""The paper's calibration plots (figure 2), and what all figures share."""

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from candor.report.tables import scheme_label
from candor.tables import replacing

# Okabe and Ito's colours, told apart with any colour vision; their yellow is too pale for a line on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#7F7F7F")

STYLE = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E5E5E5",
    "axes.axisbelow": True,
    "svg.hashsalt": "candor",  # with no date, the same numbers give the same file
}


def plot_calibration(metrics: Sequence[Mapping[str, Any]], title: str = "", difficulty: str = "all") -> Figure:
    """Plot accuracy against mean confidence in ten bins, a panel for each scheme (figure 2).

    Each point is labelled with the size of its bin, in thousands (k) from 1000 on; the ideal line is red.

    Args:
        metrics: as `report.tables.read_metrics` gives them, all of one model on one dataset.
        title: above the panels.
        difficulty: `all`, or one that was measured.

    Raises:
        ValueError: there is nothing to plot, or metrics of several models or datasets.
    """
    if len({(one["model"], one["dataset"]) for one in metrics}) != 1:
        raise ValueError("a calibration plot needs the metrics of one model on one dataset")
    if without := [one["scheme"] for one in metrics if difficulty not in one["difficulties"]]:
        raise ValueError(f"difficulty {difficulty!r} was not measured for {', '.join(without)}")
    columns = min(len(metrics), 4)
    rows = -(-len(metrics) // columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(0.6 + 2.7 * columns, 0.7 + 2.6 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
        for axis, one in zip(axes, metrics, strict=False):
            bins = [each for each in one["difficulties"][difficulty]["calibration"] if each["count"]]
            axis.plot((0, 1), (0, 1), color="#D62728", linewidth=1)
            axis.plot(
                [b["confidence"] for b in bins], [b["accuracy"] for b in bins], "o-", color=COLOURS[0], markersize=4
            )
            for each in bins:
                _label_bin(axis, each)
            axis.set(title=scheme_label(one["scheme"]), xlim=_UNIT, ylim=_UNIT, aspect="equal")
        for index, axis in enumerate(figure.axes):
            axis.set_visible(index < len(metrics))
            axis.tick_params(labelbottom=index + columns >= len(metrics))  # the lowest panel of its column
        figure.supxlabel("Mean confidence in the bin", fontsize=9)
        figure.supylabel("Accuracy in the bin", fontsize=9)
        figure.suptitle(title, fontsize=10)
    return figure


def line_looks(names: Collection[str], dotted: Collection[str]) -> dict[str, dict[str, Any]]:
    """Give each scheme's line a look and a label. Where there are not enough colours, they are counted apart for solid and
    dotted lines, so that the 13 schemes of the paper are 13 looks."""
    solid, other = cycle(COLOURS), cycle(COLOURS)
    if len(names) <= len(COLOURS):
        other = solid
    return {
        name: {
            "color": next(other if name in dotted else solid),
            "linestyle": ":" if name in dotted else "-",
            "linewidth": 1.6 if name in dotted else 1.2,
            "label": scheme_label(name),
        }
        for name in names
    }


def save(figure: Figure, *paths: str | Path) -> None:
    """Write a figure in the formats that the names end in (PNG: 200 dots per inch), each whole or not at all and free of
    dates."""
    with mpl.rc_context(STYLE):
        for path in map(Path, paths):
            kind = path.suffix.removeprefix(".")
            date = {"svg": "Date", "pdf": "CreationDate"}.get(kind)
            with replacing(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=200, metadata={date: None} if date else None)


_UNIT = (-0.06, 1.06)  # points at 0 and 1, and their labels, stay whole


def _label_bin(axis: Axes, each: Mapping[str, Any]) -> None:
    """Write a bin's size beside its point, away from the ideal line and from a rising curve, but within the panel."""
    x, y = each["confidence"], each["accuracy"]
    above = y < 0.04 or x <= y < 0.96
    side = "center" if not 0.04 < x < 0.96 else "right" if above else "left"
    shift = {"center": 0, "right": -2, "left": 2}[side]
    label = axis.annotate(
        _size(each["count"]),
        (x, y),
        xytext=(shift, 4 if above else -4),
        textcoords="offset points",
        ha=side,
        va="bottom" if above else "top",
        fontsize=6,
    )
    label.set_path_effects([withStroke(linewidth=2, foreground="white")])


def _size(number: int) -> str:
    if number < 1000:
        return str(number)
    return f"{number / 1000:.{0 if number >= 9950 else 1}f}k"
