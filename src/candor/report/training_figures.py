"""The paper's figures of training, from the logs of its runs (figures 6 to 10)."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from candor.report.figures import STYLE, line_looks
from candor.report.tables import scheme_label

SMOOTHING = 0.2
SMOOTHING_START = 0.5
FIRST_STEP = 10
"""The step, counted from 0, at which the curves of figures 6 to 9 begin, smoothed ones at SMOOTHING_START."""
AVERAGED_STEPS = 5
"""Steps at the beginning of figure 10 that are smoothed by their mean."""
SHORT_RUN = 30
"""Runs of at most so many steps are shown whole and as they are: ten steps of a short run are too many to hide."""

KINDS = {
    "curves": ("accuracy", "confidence"),
    "attempts": ("accuracy", "confidence"),
    "loss": ("accuracy", "loss"),
    "collapse": ("accuracy", "format_reward", "loss", "gradient_norm"),
}
"""What each kind of figure shows: `curves` are figure 6, `attempts` 7, `loss` 8 and 9, `collapse` 10."""

_LABELS = {
    "accuracy": "Training accuracy",
    "confidence": "Training confidence",
    "format_reward": "Format reward",
    "loss": "Training loss",
    "gradient_norm": "Gradient norm before clipping",
}
_SHARES = ("accuracy", "confidence")


@dataclass(frozen=True)
class Curve:
    """A run that is drawn."""

    scheme: str
    attempt: int
    evaluated: bool
    """Whether this attempt is the one that is evaluated."""
    log: pl.DataFrame
    """Of `tables.TRAINING_LOG`."""


def plot_training(kind: str, curves: Sequence[Curve], hackable: Collection[str] = (), title: str = "") -> Figure:
    """Plot what training went through, a line for each run.

    As in the paper, figures 6 to 9 begin at step 10, counted from 0, and figure 10 at step 1, counted from 1. Accuracy and
    confidence are smoothed: exponentially with factor 0.2, from 0.5 at step 10; in figure 10 by the mean of the steps so
    far up to the fifth, then exponentially from there. Losses, rewards and gradient norms are not. Of figures 6 to 9
    where all runs have at most 30 steps, everything is shown whole and not smoothed, and the axis says so.

    Args:
        kind: one of KINDS. Of `curves` and `loss` the lines of hackable schemes are dotted; of `attempts` and `collapse`
            the attempts of a scheme have one colour, and the one that is evaluated is solid.
        curves: the runs, in the order of the legend.
        hackable: names of the schemes that `schemes.classify` finds hackable.
        title: above the panels.

    Raises:
        ValueError: there is nothing to plot.
    """
    if not curves or all(curve.log.is_empty() for curve in curves):
        raise ValueError("no training step to plot")
    columns = KINDS[kind]
    from_one = kind == "collapse"
    short = not from_one and max(curve.log.height for curve in curves) <= SHORT_RUN
    of_attempts = kind in ("attempts", "collapse")
    looks = _looks_of_attempts(curves) if of_attempts else _looks_of_schemes(curves, hackable)
    marker = {"marker": "o", "markersize": 3} if short else {}
    rows = len(columns) // 2
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 0.4 + 3.0 * rows + 0.5 * of_attempts), layout="constrained")
        panels = figure.subplots(rows, 2, sharex=True, squeeze=False).flat
        for axis, column in zip(panels, columns, strict=True):
            for curve, look in zip(curves, looks, strict=True):
                values = curve.log.sort("step")[column].to_list()
                if from_one:
                    shown, first = smooth_from_mean(values) if column == "accuracy" else values, 1
                elif short:
                    shown, first = values, 0
                else:
                    shown, first = smooth(values) if column in _SHARES else values[FIRST_STEP:], FIRST_STEP
                axis.plot(range(first, first + len(shown)), shown, **look, **marker)
            smoothed = not short and column in (_SHARES if not from_one else ("accuracy",))
            axis.set(ylabel=_LABELS[column] + (" (smoothed)" if smoothed else ""))
            if column in _SHARES:
                axis.set(ylim=(-0.02, 1.02))
            if column == "gradient_norm" and _spans_decades(curves, column):
                axis.set(yscale="log")
        for axis in figure.axes[-2:]:
            axis.set(xlabel=f"Step, from {int(from_one)}" + (" (short runs, not smoothed)" if short else ""))
            axis.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        beside = {"loc": "outside right center"}
        below = {"loc": "outside lower center", "ncols": min(3, len({curve.scheme for curve in curves}))}  # long labels
        handles = figure.axes[0].get_legend_handles_labels()
        figure.legend(*handles, frameon=False, **below if of_attempts else beside)
        figure.suptitle(title, fontsize=10)
    return figure


def smooth(values: Sequence[float | None]) -> list[float]:
    """Smooth a run's values, one for each step from 0 (figures 6 to 9): 0.5 at step 10, then 0.2 of each new value enters.

    A step without a value leaves the curve where it was. The result begins at step 10; of a shorter run it is empty.
    """
    if len(values) <= FIRST_STEP:
        return []
    return list(accumulate(values[FIRST_STEP + 1 :], _enter, initial=SMOOTHING_START))


def smooth_from_mean(values: Sequence[float | None]) -> list[float | None]:
    """Smooth a run's values (figure 10): the first five by the mean of the values so far, then 0.2 of each new one enters.

    A step without a value leaves the curve where it was; before the first value it has none.
    """
    curve: list[float | None] = []
    for at, value in enumerate(values):
        if at < AVERAGED_STEPS:
            known = [value for value in values[: at + 1] if value is not None]
            curve.append(sum(known) / len(known) if known else None)
        else:
            curve.append(_enter(curve[-1], value))
    return curve


def _enter(curve: float | None, value: float | None) -> float | None:
    if value is None or curve is None:
        return curve if value is None else value
    return SMOOTHING * value + (1 - SMOOTHING) * curve


def _looks_of_schemes(curves: Sequence[Curve], hackable: Collection[str]) -> list[dict]:
    looks = line_looks([curve.scheme for curve in curves], hackable)
    return [looks[curve.scheme] for curve in curves]


def _looks_of_attempts(curves: Sequence[Curve]) -> list[dict]:
    colours = line_looks(list(dict.fromkeys(curve.scheme for curve in curves)), ())
    return [
        colours[curve.scheme]
        | {
            "linestyle": "-" if curve.evaluated else ":",
            "linewidth": 1.2 if curve.evaluated else 1.6,
            "label": f"{scheme_label(curve.scheme)}, attempt {curve.attempt}"
            + (" (evaluated)" if curve.evaluated else ""),
        }
        for curve in curves
    ]


def _spans_decades(curves: Sequence[Curve], column: str) -> bool:
    """Tell whether a column is positive throughout and its largest value a hundred times its smallest or more."""
    values = pl.concat([curve.log[column] for curve in curves]).drop_nulls()
    return len(values) > 0 and values.min() > 0 and values.max() >= 100 * values.min()
