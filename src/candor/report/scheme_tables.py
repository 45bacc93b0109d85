"""The paper's table 1, with what candor finds beside what is printed, as a frame, Markdown and LaTeX; and what figures read."""

import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from candor import tables
from candor.report.layout import LATEX_ESCAPES
from candor.report.tables import scheme_label
from candor.schemes.simulation import Policy
from candor.tables import TableError
from candor.vocabulary import is_scheme_name, parse_scheme_name

SCHEME_PROPERTIES = pl.Schema(
    {
        "scheme": pl.String,
        "f": pl.String,  # reward of a correct answer
        "g": pl.String,  # reward of a wrong answer
        "paper": pl.String,  # what table 1 says of it; null where it is not there
        "non_hackable": pl.String,  # on (0, 1): strictly, weakly or not
        "non_hackable_on": pl.String,  # where, in words
        "non_hackable_from": pl.Float64,  # start of the interval that ends at 1; null where there is none
        "hacking_pays_below": pl.Float64,  # chance of a right answer; null where never
        "hacking_pays_below_on_101": pl.Float64,  # the same where the 101 confidences alone can be stated
        "interpretability": pl.String,  # strict, weak or none; so are the next two
        "proper_scoring": pl.String,
        "best_effort": pl.String,
        "bias": pl.String,  # over, under, neither, or undefined
        "method": pl.String,  # symbolic or numeric
        "error_bound": pl.Float64,
    }
)

_HEADINGS = (
    "Reward scheme",
    "f(c)",
    "g(c)",
    "Non-hackable (paper)",
    "Non-hackable (candor)",
    "Giving up pays below p",
    "with 101 confidences",
    "Bias",
)
_CLASSIFICATION_KEYS = {*SCHEME_PROPERTIES} - {"scheme", "paper", "non_hackable_from"} | {"name", "interval", "warning"}

_LATEX_FORMULAS = {
    "correctness-only": ("1", "0"),
    "log": (r"1 + k \ln c", r"k \ln(1 - c)"),
    "log-loss": (r"\ln c", r"\ln(1 - c)"),
    "brier": ("1 - k (1 - c)^2", "-k c^2"),
    "brier-score": ("-(1 - c)^2", "-c^2"),
    "brier-log-hybrid": ("c", r"c + \ln(1 - c)"),
    "overconfidence": (
        r"\frac{(k + 1) \ln(c k + 1) - c k}{(k + 1) \ln(k + 1) - k}",
        r"\frac{\ln(c k + 1) - c k}{(k + 1) \ln(k + 1) - k}",
    ),
    "underconfidence": (
        r"\frac{k c + \ln(1 - \frac{k c}{1 + k})}{k - \ln(1 + k)}",
        r"\frac{k c + (k + 1) \ln(1 - \frac{k c}{1 + k})}{k - \ln(1 + k)}",
    ),
}


def read_classifications(path: str | Path) -> list[dict[str, Any]]:
    """Read the JSON file that `classify_schemes` writes.

    Raises:
        TableError: the file cannot be read, or is not of that form.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
        missing = {key for each in found for key in _CLASSIFICATION_KEYS - set(each)}
    except (OSError, ValueError, TypeError) as error:
        raise TableError(f"{path}: not readable as classifications ({error}); delete it and rerun its rule") from error
    if missing:
        raise TableError(f"{path}: {', '.join(sorted(missing))} missing; delete it and rerun its rule")
    return found


def read_printed(path: str | Path) -> dict[str, str]:
    """Read what table 1 of the paper says, from resources/paper_tables: `non_hackable` by the scheme as printed, k open."""
    printed = pl.read_csv(path)
    return dict(zip(printed["scheme"], printed["non_hackable"], strict=True))


def read_policies(path: str | Path) -> dict[str, dict[float, Policy]]:
    """Read the policies that `simulate_schemes` writes, by scheme and by ratio of the step sizes.

    Raises:
        TableError: the file cannot be read, or is not of `tables.SIMULATIONS`.
    """
    policies: dict[str, dict[float, Policy]] = {}
    rows = tables.read(path, tables.SIMULATIONS)
    for (scheme, ratio), part in rows.group_by("scheme", "ratio", maintain_order=True):
        confidence = part.select("confidence_given_up", "confidence_tried").to_numpy()
        policy = Policy(scheme, part["p"].to_numpy(), part["effort"].to_numpy(), confidence)
        policies.setdefault(scheme, {})[ratio] = policy
    return policies


def scheme_properties(found: Iterable[Mapping[str, Any]], printed: Mapping[str, str]) -> pl.DataFrame:
    """Gather classifications into a frame of SCHEME_PROPERTIES, in the order given.

    Args:
        found: as `read_classifications` gives them.
        printed: as `read_printed` gives it.
    """
    rows = [
        {
            **{key: each[key] for key in SCHEME_PROPERTIES if key in each},
            "scheme": each["name"],
            "paper": printed.get(_printed_name(each["name"])),
            "non_hackable_from": each["interval"][0] if each["interval"] else None,
        }
        for each in found
    ]
    return pl.DataFrame(rows, schema=SCHEME_PROPERTIES)


def scheme_properties_markdown(frame: pl.DataFrame, warnings: Collection[str] = ()) -> str:
    """Set a frame of SCHEME_PROPERTIES in Markdown, and warnings under it."""
    lines = [f"| {' | '.join(_HEADINGS)} |", f"|{'---|' * 5}---:|---:|---|"]
    for row in frame.iter_rows(named=True):
        cells = (scheme_label(row["scheme"]), f"`{row['f']}`", f"`{row['g']}`", *_findings(row))
        lines.append(f"| {' | '.join(cells)} |")
    if warnings:
        lines += ["", "Of the schemes that are trained with:", "", *(f"- {each}" for each in warnings)]
    return "\n".join([*lines, ""])


def scheme_properties_latex(frame: pl.DataFrame, warnings: Collection[str] = ()) -> str:
    """Set a frame of SCHEME_PROPERTIES in LaTeX (packages booktabs and graphicx), with warnings in its caption."""
    caption = "Reward schemes: the paper's classification and ours."
    if warnings:
        caption += f" Of those that are trained with: {'. '.join(warnings)}."
    lines = [
        r"% needs \usepackage{booktabs,graphicx}",
        r"\begin{table}",
        r"\centering\small",
        rf"\caption{{{caption.translate(LATEX_ESCAPES)}}}",
        r"\resizebox{\linewidth}{!}{%",
        r"\begin{tabular}{lllllrrl}",
        r"\toprule",
        rf"{' & '.join(heading.replace('f(c)', '$f(c)$').replace('g(c)', '$g(c)$') for heading in _HEADINGS)} \\",
        r"\midrule",
    ]
    for row in frame.iter_rows(named=True):
        findings = [cell.translate(LATEX_ESCAPES) for cell in _findings(row)]
        findings[0] = findings[0].replace(r"\textless{}=", r"$\leq$")
        lines.append(rf"{' & '.join((scheme_label(row['scheme'], latex=True), *_latex_formulas(row), *findings))} \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}", ""])


def _printed_name(scheme: str) -> str:
    if not is_scheme_name(scheme):
        return scheme
    family, k = parse_scheme_name(scheme)
    return family if k is None else f"{family}-k"


def _findings(row: Mapping[str, Any]) -> tuple[str, ...]:
    ours = row["non_hackable_on"] if row["non_hackable"] != "not" else f"no; {row['non_hackable_on']}"
    below = ("never" if row[key] is None else "always" if row[key] == 1 else f"{row[key]:.5g}" for key in _BELOW)
    return (row["paper"] or "-", ours, *below, row["bias"])


_BELOW = ("hacking_pays_below", "hacking_pays_below_on_101")


def _latex_formulas(row: Mapping[str, Any]) -> tuple[str, str]:
    """Set f and g as formulas where the paper has them, else as they are written."""
    if is_scheme_name(row["scheme"]):
        f, g = _LATEX_FORMULAS[parse_scheme_name(row["scheme"])[0]]
        return f"${f}$", f"${g}$"
    return tuple(rf"\texttt{{{row[key].translate(LATEX_ESCAPES)}}}" for key in "fg")
