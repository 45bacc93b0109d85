"""The paper's figures along the spectrum of schemes: calibration bias (3), performance (4) and calibration (5)."""

from collections.abc import Sequence

import matplotlib as mpl
import polars as pl
from matplotlib.figure import Figure

from candor.report.figures import COLOURS, STYLE
from candor.report.tables import HEADINGS, scheme_label
from candor.schemes import spectrum_place

PERFORMANCE = ("accuracy", "auroc", "brier_1")
CALIBRATION = ("brier", "ece", "calibration_bias")
"""The metrics of figures 4 and 5."""

_SHOWN = ("scheme", "value", "low", "high")
_MARKERS = "os^DvPX*"
_DODGE = 0.12
"""How far lines of one panel stand apart, so that their intervals do not cover each other."""


def plot_bias_spectrum(frame: pl.DataFrame, title: str = "") -> Figure:
    """Plot calibration bias along the spectrum, a panel for each model and a line for each dataset (figure 3).

    Bars are the intervals, where there are any; what was not measured is left out. The red line is no bias.

    Args:
        frame: of `report.tables.CONFIDENCE_METRICS`; only `all` and the schemes of the spectrum are shown.
        title: above the panels.

    Raises:
        ValueError: no scheme of the spectrum is among them.
    """
    points = _points(frame, ("calibration_bias",)).rename({"model": "panel", "dataset": "line"})
    return _plot(points, "Calibration bias\n(below 0: overconfident)", title, zero=True)


def plot_metrics_spectrum(frame: pl.DataFrame, metrics: Sequence[str], title: str = "") -> Figure:
    """Plot metrics of one model along the spectrum, a panel for each dataset and a line for each metric (figures 4, 5).

    As `plot_bias_spectrum` otherwise. PERFORMANCE is better the higher; for CALIBRATION a red line marks 0, the best.

    Raises:
        ValueError: no scheme of the spectrum is among them, or there are several models.
    """
    if frame["model"].n_unique() > 1:
        raise ValueError("a figure of metrics along the spectrum needs one model")
    points = _points(frame, metrics).rename({"dataset": "panel"})
    points = points.with_columns(line=pl.col("metric").replace_strict(_NAMES))
    zero = set(metrics) <= set(CALIBRATION)
    return _plot(points, "Closer to 0 is better" if zero else "Higher is better", title, zero)


_NAMES = HEADINGS | {"ece": "ECE (10 bins)", "calibration_bias": "Calibration bias", "brier": "Brier score"}


def _points(frame: pl.DataFrame, metrics: Sequence[str]) -> pl.DataFrame:
    """Select the overall metrics of the spectrum's schemes: columns model, dataset, scheme, metric, value, low, high."""
    overall = frame.filter(pl.col("difficulty") == "all")
    parts = [
        overall.select(
            *("model", "dataset", "scheme"),
            metric=pl.lit(metric),
            value=pl.col(metric),
            low=pl.col(f"{metric}_low"),
            high=pl.col(f"{metric}_high"),
        )
        for metric in metrics
    ]
    points = pl.concat(parts).filter(pl.col("value").is_not_null())
    on = [name for name in points["scheme"].unique() if spectrum_place(name)]
    points = points.filter(pl.col("scheme").is_in(on))
    if points.is_empty():
        raise ValueError("no scheme of the spectrum was measured; nothing to plot")
    return points


def _plot(points: pl.DataFrame, label: str, title: str, zero: bool) -> Figure:
    schemes = sorted(points["scheme"].unique(), key=spectrum_place)
    panels, lines = (points[column].unique(maintain_order=True).to_list() for column in ("panel", "line"))
    columns = 2 if len(panels) == 4 else min(len(panels), 3)
    rows = -(-len(panels) // columns)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(4.4, 0.8 + 2.4 * columns), 1.7 + 2.1 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
        for axis, panel in zip(axes, panels, strict=False):
            for index, line in enumerate(lines):
                part = {row[0]: row[1:] for row in points.filter(panel=panel, line=line).select(_SHOWN).iter_rows()}
                if not part:
                    continue
                at = [place + _DODGE * (index - (len(lines) - 1) / 2) for place in range(len(schemes))]
                look = {"color": COLOURS[index % len(COLOURS)], "linewidth": 1.2}
                marker = _MARKERS[index % len(_MARKERS)]
                # A scheme that is not there breaks the line.
                values = [part[scheme][0] if scheme in part else float("nan") for scheme in schemes]
                axis.plot(at, values, marker=marker, markersize=4, label=line, **look)
                ends = [(x, *part[scheme][1:]) for x, scheme in zip(at, schemes, strict=True) if scheme in part]
                if ends := [each for each in ends if None not in each]:
                    # An interval need not hold its value, which an error bar would have to.
                    axis.vlines(*zip(*ends, strict=True), alpha=0.7, **look)
            if zero:
                axis.axhline(0, color="#D62728", linestyle=":", linewidth=1.2)
            axis.set(title=panel, xlim=(-0.6, len(schemes) - 0.4))
            labels = [scheme_label(scheme) for scheme in schemes]
            axis.set_xticks(range(len(schemes)), labels, rotation=45, ha="right", rotation_mode="anchor", fontsize=7)
            axis.grid(visible=False, axis="x")
        for index, axis in enumerate(figure.axes):
            axis.set_visible(index < len(panels))
            axis.tick_params(labelbottom=index + columns >= len(panels))  # the lowest panel of its column
        looks = {
            text: line for axis in figure.axes for line, text in zip(*axis.get_legend_handles_labels(), strict=True)
        }
        figure.legend(
            looks.values(),
            looks.keys(),
            loc="outside upper center",
            ncols=min(len(lines), 2 * columns),
            frameon=False,
            title=title or None,  # a title of the figure's own would cover the legend
            title_fontsize=10,
        )
        figure.supylabel(label, fontsize=9)
        figure.supxlabel("Reward scheme, from the overconfident to the underconfident end", fontsize=9)
    return figure
