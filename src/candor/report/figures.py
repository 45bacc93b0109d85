"""The paper's figures from measured numbers: calibration (figure 2) and training curves (figure 6)."""

from collections.abc import Collection, Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from candor.report.tables import scheme_label
from candor.tables import replacing
from candor.vocabulary import parse_scheme_name

# Okabe and Ito's colours, told apart with any colour vision; their yellow is too pale for a line on white.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000", "#7F7F7F")

SMOOTHING = 0.2
SMOOTHING_START = 0.5
FIRST_STEP = 10
"""The step, counted from 0, at which smoothed curves begin (figure 6)."""
SHORT_RUN = 30
"""Runs of at most so many steps are shown whole and as they are: ten steps of a short run are too many to hide."""

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


def plot_training_curves(
    logs: Mapping[str, pl.DataFrame], title: str = "", hackable: Collection[str] | None = None
) -> Figure:
    """Plot accuracy (left) and mean confidence (right) in training, a line for each scheme (figure 6).

    The curves are smoothed as the paper's are: exponentially with factor 0.2, from 0.5 at step 10 (counted from 0). A
    figure whose runs all have at most 30 steps shows them whole and not smoothed, and its axis says so. Hackable
    schemes are dotted.

    Args:
        logs: a frame of `tables.TRAINING_LOG` for each scheme's name.
        title: above the panels.
        hackable: the names that are dotted; by default those that the paper finds hackable (`is_hackable`).

    Raises:
        ValueError: there is nothing to plot, or a name is no scheme's.
    """
    if not logs or all(log.is_empty() for log in logs.values()):
        raise ValueError("no training step to plot")
    dotted = {name for name in logs if is_hackable(name)} if hackable is None else set(hackable)
    short = max(log.height for log in logs.values()) <= SHORT_RUN
    # Colours are counted apart for solid and dotted lines, so that the 13 schemes of the paper are 13 looks.
    colours = {True: cycle(COLOURS), False: cycle(COLOURS)}
    looks = {
        name: {
            "color": next(colours[name in dotted]),
            "linestyle": ":" if name in dotted else "-",
            "linewidth": 1.6 if name in dotted else 1.2,
            "label": scheme_label(name),
            "marker": "o" if short else None,
            "markersize": 3,
        }
        for name in logs
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 3.4), layout="constrained")
        panels = figure.subplots(1, 2, sharex=True)
        for axis, column in zip(panels, ("accuracy", "confidence"), strict=True):
            for name, log in logs.items():
                steps, values = _curve(log.sort("step"), column, short)
                axis.plot(steps, values, **looks[name])
            axis.set(xlabel=_STEP_LABELS[short], ylabel=f"Training {column}", ylim=(-0.02, 1.02))
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
        figure.suptitle(title, fontsize=10)
    return figure


def is_hackable(scheme: str) -> bool:
    """Tell whether a scheme is hackable somewhere on (0, 1): log-loss, brier-score, log-k, and brier-k with k > 1.

    `log-1/ln202` is among them, although no confidence that can be stated is small enough (paper 5.1).
    """
    family, k = parse_scheme_name(scheme)
    return family in ("log-loss", "brier-score", "log") or (family == "brier" and k > 1)


def smooth(values: Sequence[float | None]) -> list[float]:
    """Smooth a run's values, one for each step from 0 (figure 6): 0.5 at step 10, then 0.2 of each new value enters.

    A step without a value leaves the curve where it was. The result begins at step 10; of a shorter run it is empty.
    """
    smoothed = [SMOOTHING_START] if len(values) > FIRST_STEP else []
    for value in values[FIRST_STEP + 1 :]:
        smoothed.append(smoothed[-1] if value is None else SMOOTHING * value + (1 - SMOOTHING) * smoothed[-1])
    return smoothed


def save(figure: Figure, svg: str | Path, png: str | Path) -> None:
    """Write a figure as SVG and as PNG (200 dots per inch), each whole or not at all and free of dates."""
    with mpl.rc_context(STYLE):
        for path, kind in ((svg, "svg"), (png, "png")):
            with replacing(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=200, metadata={"Date": None} if kind == "svg" else None)


_STEP_LABELS = {True: "Step, from 0 (short runs, not smoothed)", False: "Step, from 0 (smoothed)"}
_UNIT = (-0.06, 1.06)  # points at 0 and 1, and their labels, stay whole


def _curve(log: pl.DataFrame, column: str, short: bool) -> tuple[list[int], list[float | None]]:
    steps = [step - 1 for step in log["step"]]
    values = log[column].to_list()
    return (steps, values) if short else (steps[FIRST_STEP:], smooth(values))


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
