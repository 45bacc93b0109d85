"""Figures of the reward-scheme laboratory: what schemes reward (paper figure 1), and what is learnt under them."""

from collections.abc import Collection, Mapping, Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import BoundaryNorm
from matplotlib.figure import Figure

from candor.report.figures import COLOURS, STYLE, line_looks
from candor.report.tables import scheme_label
from candor.schemes.scheme import Scheme
from candor.schemes.simulation import Policy, entropy_regularised, is_degenerate, verbalisation_noise
from candor.schemes.theory import best_expected_reward, classify, density, miscalibration_penalty

GUIDE = 0.2
"""How far the guide lines of figure 1 are from the ideal one."""

_PENALTIES = (0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
_FINE = (np.arange(404) + 0.5) / 404
"""Confidences at which curves are drawn: four where a model can state one."""
_BINS = 20


def plot_miscalibration_penalty(schemes: Sequence[Scheme]) -> Figure:
    """Plot E(p, p) - E(c, p) over the true chance p and the stated confidence c, a panel for each scheme (figure 1).

    The darker, the higher the penalty, on one scale; blue is ideal calibration, red overconfident by 0.2, green
    underconfident by 0.2.

    Raises:
        ValueError: there is no scheme to plot.
    """
    if not schemes:
        raise ValueError("no scheme to plot")
    columns = min(len(schemes), 4)
    rows = -(-len(schemes) // columns)
    p, c = np.meshgrid(_FINE, _FINE)
    greys = mpl.colormaps["Greys"].resampled(len(_PENALTIES))
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.2 + 2.2 * columns, 0.7 + 2.2 * rows), layout="constrained")
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for index, axis in enumerate(panels.flat):
            axis.set_visible(index < len(schemes))
            axis.tick_params(labelbottom=index + columns >= len(schemes))
        for axis, scheme in zip(panels.flat, schemes, strict=False):
            image = axis.imshow(
                miscalibration_penalty(scheme, c, p),
                origin="lower",
                extent=(0, 1, 0, 1),
                cmap=greys,
                norm=BoundaryNorm(_PENALTIES, greys.N, extend="max"),
                rasterized=True,
            )
            for shift, colour in ((0, COLOURS[0]), (GUIDE, "#D62728"), (-GUIDE, "#2CA02C")):
                axis.plot((max(0, -shift), min(1, 1 - shift)), (max(0, shift), min(1, 1 + shift)), color=colour)
            axis.set(title=scheme_label(scheme.name), xlim=(0, 1), ylim=(0, 1), xticks=_TICKS, yticks=_TICKS)
            axis.grid(visible=False)
        figure.supxlabel("Chance p of a right answer", fontsize=9)
        figure.supylabel("Stated confidence c", fontsize=9)
        bar = figure.colorbar(image, ax=panels, ticks=_PENALTIES, shrink=0.8, pad=0.01)
        bar.set_label("Penalty E(p, p) - E(c, p)")
        bar.ax.set_yticklabels([f"{value:g}" for value in _PENALTIES])
    return figure


def plot_schemes(schemes: Sequence[Scheme]) -> Figure:
    """Plot f and g, E_max and h of schemes, a line for each. Of several, the hackable ones are dotted.

    Where E_max lies below what a wrong answer earns at best, giving up pays; of a single scheme this is shaded. h is left
    out for a scheme that has none.

    Raises:
        ValueError: there is no scheme to plot.
    """
    if not schemes:
        raise ValueError("no scheme to plot")
    dotted = [scheme.name for scheme in schemes if len(schemes) > 1 and classify(scheme).hackable]
    looks = line_looks([scheme.name for scheme in schemes], dotted)
    curves = {
        "Reward of a correct answer, f(c)": lambda scheme: scheme.f(_FINE),
        "Reward of a wrong answer, g(c)": lambda scheme: scheme.g(_FINE),
        "Expected reward at best, $E_{max}(p)$": lambda scheme: best_expected_reward(scheme, _FINE),
        "Density h(c)": lambda scheme: density(scheme, _FINE),
    }
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(8.4, 5.6), layout="constrained")
        panels = figure.subplots(2, 2).flat
        for axis, (title, curve) in zip(panels, curves.items(), strict=True):
            drawn = []
            for scheme in schemes:
                try:
                    drawn.append(curve(scheme))
                except ValueError:  # it has no h
                    continue
                axis.plot(_FINE, drawn[-1], **looks[scheme.name])
            axis.set(title=title, xlim=(0, 1), xlabel="p" if "(p)" in title else "c")
            if not drawn:
                axis.annotate("none: scoring is not proper", (0.5, 0.5), xycoords="axes fraction", ha="center")
            elif "E_{max}" not in title:
                _fit(axis, drawn)
        if len(schemes) == 1:
            _shade_giving_up(figure.axes[2], schemes[0])
            figure.suptitle(scheme_label(schemes[0].name), fontsize=10)
        else:
            figure.legend(
                *figure.axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False, handlelength=2.5
            )
    return figure


def plot_policies(policies: Sequence[Policy], hackable: Collection[str] | None = None) -> Figure:
    """Plot what trained policies came to, in 20 bins of p: accuracy (left) and confidence after trying (right).

    The grey line is honest best effort. Confidence is shown where a bin tries in at least one of ten answers.

    Args:
        policies: of several schemes.
        hackable: the names that are dotted; by default none.

    Raises:
        ValueError: there is nothing to plot, or a scheme comes twice.
    """
    names = [policy.scheme for policy in policies]
    if not policies or len(set(names)) < len(names):
        raise ValueError("needs policies of schemes that differ")
    looks = line_looks(names, hackable or ())
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.6, 3.9), layout="constrained")
        left, right = figure.subplots(1, 2)
        for axis in (left, right):
            axis.plot((0, 1), (0, 1), color="#BBBBBB", linewidth=3)
        for policy in policies:
            bin_of = (policy.p * _BINS).astype(int)
            size = np.bincount(bin_of, minlength=_BINS)
            with np.errstate(invalid="ignore", divide="ignore"):
                p, accuracy, effort, tried = (
                    np.bincount(bin_of, values, minlength=_BINS) / size
                    for values in (policy.p, policy.accuracy, policy.effort, policy.effort * policy.confidence[:, 1])
                )
                stated = np.where(effort >= 0.1, tried / effort, np.nan)
            left.plot(p, accuracy, **looks[policy.scheme])
            right.plot(p, stated, **looks[policy.scheme])
        left.set(xlabel="Chance p of a right answer", ylabel="Accuracy", xlim=(0, 1), ylim=(-0.02, 1.02))
        right.set(
            xlabel="Chance p of a right answer", ylabel="Confidence after trying", xlim=(0, 1), ylim=(-0.02, 1.02)
        )
        figure.legend(*left.get_legend_handles_labels(), loc="outside right center", frameon=False, handlelength=2.5)
    return figure


def plot_bias(schemes: Sequence[Scheme]) -> Figure:
    """Plot the mean calibration bias that schemes pull a blurred policy towards, in the order given, from two kinds of blur.

    Schemes under which every confidence earns the same have no bias and are left out.

    Raises:
        ValueError: no scheme has a bias.
    """
    schemes = [scheme for scheme in schemes if not is_degenerate(scheme)]
    if not schemes:
        raise ValueError("no scheme to plot: under each of them every confidence earns the same")
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(1.8 + 0.8 * len(schemes), 3.6), layout="constrained")
        axis = figure.subplots()
        axis.axhline(0, color="#BBBBBB", linewidth=1)
        kinds = (
            (entropy_regularised, "o-", "softmax of the expected reward at temperature 0.05"),
            (verbalisation_noise, "s--", "best confidence, stated with noise of deviation 0.15"),
        )
        for colour, (bias, line, label) in zip(COLOURS, kinds, strict=False):
            axis.plot([bias(scheme).mean() for scheme in schemes], line, color=colour, markersize=4, label=label)
        axis.set_xticks(range(len(schemes)), [scheme_label(scheme.name) for scheme in schemes], rotation=30, ha="right")
        axis.set(ylabel="Mean p - mean confidence\n(below 0: overconfident)")
        axis.legend(frameon=False)
    return figure


def plot_hacking(policies: Mapping[str, Mapping[float, Policy]], theory: Mapping[str, float | None]) -> Figure:
    """Plot the p below which trained policies give up against how much faster confidence is learnt than effort.

    The line to the right of a scheme's curve is what theory says of the 101 values.

    Args:
        policies: for each scheme, policies by the ratio of the step sizes.
        theory: for each scheme the p below which giving up pays; None where nowhere.

    Raises:
        ValueError: there is nothing to plot.
    """
    if not policies:
        raise ValueError("no policy to plot")
    looks = line_looks(list(policies), [name for name in policies if theory[name] is not None])
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.8, 3.9), layout="constrained")
        axis = figure.subplots()
        for name, by_ratio in policies.items():
            ratios = sorted(by_ratio)
            axis.plot(ratios, [by_ratio[ratio].threshold for ratio in ratios], marker="o", markersize=3, **looks[name])
            axis.axhline(theory[name] or 0, 0.93, 1, color=looks[name]["color"], linewidth=2.5)
        axis.set_xscale("log")
        axis.set(
            xlabel="Step size of confidence, in step sizes of effort",
            ylabel="Gives up below p",
            ylim=(-0.02, 1.02),
        )
        axis.margins(x=0.12)
        axis.annotate("theory", (0.965, 1), xycoords="axes fraction", ha="center", va="bottom", fontsize=8)
        axis.set_xticks(ratios, [f"{ratio:g}" for ratio in ratios])
        axis.minorticks_off()
        figure.legend(*axis.get_legend_handles_labels(), loc="outside right center", frameon=False, handlelength=2.5)
    return figure


_TICKS = (0, 0.5, 1)


def _fit(axis: Axes, curves: Sequence[np.ndarray]) -> None:
    """Show the middle of curves that leave every scale at the ends, as logarithms do."""
    whole = np.concatenate(curves)
    middle = np.concatenate([curve[20:-20] for curve in curves])
    if np.ptp(whole) > 1.5 * np.ptp(middle):
        margin = 0.08 * np.ptp(middle)
        axis.set_ylim(middle.min() - margin, middle.max() + margin)


def _shade_giving_up(axis: Axes, scheme: Scheme) -> None:
    below = classify(scheme).hacking_pays_below
    if below is not None:
        axis.axvspan(0, below, color=COLOURS[4], alpha=0.15, linewidth=0)
        axis.annotate(
            f"giving up pays\nbelow {below:.4g}" if below < 1 else "giving up pays",
            (below / 2, 0.93),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="top",
            fontsize=8,
        )
