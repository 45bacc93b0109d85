"""A scheme in words: its rewards, and what the theory says of it, for the terminal, the log and the tables."""

from dataclasses import asdict
from typing import Any

from candor.schemes.scheme import Formula, Integral, Named, Scheme, Transformed
from candor.schemes.theory import Classification

FORMULAS = {
    "correctness-only": ("1", "0"),
    "log": ("1 + k ln c", "k ln(1 - c)"),
    "log-loss": ("ln c", "ln(1 - c)"),
    "brier": ("1 - k (1 - c)^2", "-k c^2"),
    "brier-score": ("-(1 - c)^2", "-c^2"),
    "brier-log-hybrid": ("c", "c + ln(1 - c)"),
    "overconfidence": (
        "((k + 1) ln(k c + 1) - k c) / ((k + 1) ln(k + 1) - k)",
        "(ln(k c + 1) - k c) / ((k + 1) ln(k + 1) - k)",
    ),
    "underconfidence": (
        "(k c + ln(1 - k c / (1 + k))) / (k - ln(1 + k))",
        "(k c + (k + 1) ln(1 - k c / (1 + k))) / (k - ln(1 + k))",
    ),
}
"""f and g of each family of table 1."""


def formulas(scheme: Scheme) -> tuple[str, str]:
    """Return f and g as text; a k stays open."""
    match scheme.origin:
        case Named(family):
            return FORMULAS[family]
        case Formula(correct, wrong):
            return correct.text, wrong.text
        case Integral(density, f0, g0):
            if density.variable == "t":
                by_f, by_g, given = "w(t)", "w(t) t / (t - 1)", "w(t)"
            else:
                by_f, by_g, given = "(t - 1) h(t)", "t h(t)", "h(c)"
            return (
                f"{f0:g} + integral of {by_f} over t from 0 to c, {given} = {density.text}",
                f"{g0:g} + integral of {by_g} over t from 0 to c",
            )
        case Transformed(base, factor, to_correct, to_wrong, low, high):
            times = "" if factor == 1 else f"{factor:.6g} "
            clip = "" if (low, high) == (0, 1) else f", c clipped to [{low:.6g}, {high:.6g}]"
            shifts = (f" {'-' if x < 0 else '+'} {abs(x):.6g}" if x else "" for x in (to_correct, to_wrong))
            f, g = (
                f"{times}{name}1(c){shift}, {name}1 that of {base.name}{clip}"
                for name, shift in zip("fg", shifts, strict=True)
            )
            return f, g
    return ("not known as a formula",) * 2


def facts(scheme: Scheme, found: Classification) -> dict[str, Any]:
    """Return a classification as plain values for JSON, with f, g and its main findings as text."""
    f, g = formulas(scheme)
    text = {"non_hackable_on": where_non_hackable(found), "giving_up_pays": where_hacking_pays(found)}
    return {"f": f, "g": g, **asdict(found), **text, "hackable": found.hackable, "warning": warning(found)}


def probability(value: float, logarithm: float | None = None) -> str:
    """Write a threshold; one below the floats by its logarithm."""
    if value == 0 and logarithm:
        return f"exp({logarithm:.6g})"
    return f"1 - {1 - value:.2g}" if 0.99999 < value < 1 else f"{value:.5g}"


def where_non_hackable(found: Classification) -> str:
    """Say on which interval a scheme is non-hackable: `strictly`, `strictly on (0.25, 1)`, `nowhere`."""
    if found.interval is None:
        return "nowhere"
    if not found.hackable:
        return found.non_hackable
    return f"{found.on_interval} on ({probability(found.interval[0], found.log_from)}, 1)"


def where_hacking_pays(found: Classification) -> str:
    """Say below which chance of being correct giving up earns more, over all confidences and over the 101 values."""
    everywhere = _below(found.hacking_pays_below, found.log_hacking_pays_below)
    stated = _below(found.hacking_pays_below_on_101)
    return everywhere if everywhere == stated else f"{everywhere}; with the 101 confidences {stated}"


def warning(found: Classification) -> str | None:
    """Say in a sentence that a scheme can be hacked, where and from when on; None where it cannot."""
    if not found.hackable:
        return None
    if found.interval is None:
        reasons = [f"{w.fails} fails: with p = {w.p:.4g}, {w.strategy}" for w in found.witnesses[:1]]
        return ": ".join([f"{found.name} can be hacked everywhere", *reasons])
    start = probability(found.interval[0], found.log_from)
    return (
        f"{found.name} can be hacked: it is {found.on_interval} non-hackable on ({start}, 1) alone; "
        f"giving up pays {where_hacking_pays(found)}"
    )


def _below(value: float | None, logarithm: float | None = None) -> str:
    if value is None:
        return "never"
    return "always" if value == 1 else f"below p = {probability(value, logarithm)}"
