"""Tables as a page shows them, in Markdown and in LaTeX (package booktabs)."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from candor.tables import write_text

LATEX_ESCAPES = str.maketrans(
    {
        **{sign: rf"\{sign}" for sign in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
    }
)
_MARKDOWN_MARKS = {"": "{}", "best": "**{}**", "second": "<ins>{}</ins>", "aside": "*{}*"}
_LATEX_MARKS = {"": "{}", "best": r"\textbf{{{}}}", "second": r"\underline{{{}}}", "aside": r"\textit{{{}}}"}
WIDE = 10
"""A table of more columns than these is set smaller, over both columns of a page."""


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table."""

    text: str
    mark: str = ""
    """`best`, `second`, `aside` (of another source), or none."""
    latex: str | None = None
    """What stands there in LaTeX, where that is not the escaped text."""


@dataclass(frozen=True)
class Table:
    """A table; its first column is of names, the others of figures."""

    title: str
    heads: Sequence[Cell]
    rows: Sequence[Sequence[Cell] | None]
    """None stands for a line between rows, which Markdown has not."""
    note: str = ""
    groups: Sequence[tuple[str, int]] = ()
    """Names over several columns each, of all columns from the first on; LaTeX alone shows them."""


def number(value: float | None, digits: int, mark: str = "") -> Cell:
    """Format a figure: a dash where there is none, and never -0."""
    return Cell("-") if value is None else Cell(f"{round(value, digits) + 0.0:.{digits}f}", mark)


def markdown(tables: Iterable[Table]) -> str:
    """Set tables in Markdown: a heading, the table and its note."""
    lines = []
    for table in tables:
        lines += [f"### {table.title}", "", _markdown_row(table.heads), f"|---|{'---:|' * (len(table.heads) - 1)}"]
        lines += [_markdown_row(row) for row in table.rows if row is not None]
        lines += ["", table.note, ""] if table.note else [""]
    return "\n".join(lines)


def latex(tables: Iterable[Table]) -> str:
    """Set tables in LaTeX, the title and the note as the caption."""
    lines = [r"% needs \usepackage{booktabs}"]
    for table in tables:
        wide = len(table.heads) > WIDE
        kind = "table*" if wide else "table"
        caption = (f"{table.title}. {table.note}" if table.note else f"{table.title}.").translate(LATEX_ESCAPES)
        lines += [
            rf"\begin{{{kind}}}",
            rf"\centering\{'scriptsize' if wide else 'small'}\setlength{{\tabcolsep}}{{{2 if wide else 3}pt}}",
            rf"\caption{{{caption}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.heads) - 1)}}}",
            r"\toprule",
        ]
        if table.groups:
            lines.append(
                " & ".join(rf"\multicolumn{{{n}}}{{c}}{{{name.translate(LATEX_ESCAPES)}}}" for name, n in table.groups)
                + r" \\"
            )
        lines += [_latex_row(table.heads), r"\midrule"]
        lines += [r"\midrule" if row is None else _latex_row(row) for row in table.rows]
        lines += [r"\bottomrule", r"\end{tabular}", rf"\end{{{kind}}}", ""]
    return "\n".join(lines)


def add_outputs(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a table's three files to a script's parser."""
    for name in ("csv", "markdown", "latex"):
        parser.add_argument(f"--{name}", required=True)


def write(frame: pl.DataFrame, tables: Sequence[Table], files: argparse.Namespace) -> None:
    """Write a frame as CSV, unrounded, and the tables that show it as Markdown and LaTeX, to the files of `add_outputs`."""
    write_text(frame.write_csv(), files.csv)
    write_text(markdown(tables), files.markdown)
    write_text(latex(tables), files.latex)


def _markdown_row(cells: Sequence[Cell]) -> str:
    return f"| {' | '.join(_MARKDOWN_MARKS[cell.mark].format(cell.text) for cell in cells)} |"


def _latex_row(cells: Sequence[Cell]) -> str:
    texts = [cell.text.translate(LATEX_ESCAPES) if cell.latex is None else cell.latex for cell in cells]
    return " & ".join(_LATEX_MARKS[cell.mark].format(text) for cell, text in zip(cells, texts, strict=True)) + r" \\"
