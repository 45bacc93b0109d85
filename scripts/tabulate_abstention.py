"""Gather rates of abstention into the paper's tables (28 to 31, 36, 37), as CSV, Markdown and LaTeX."""

import argparse

from candor import commands
from candor.report import layout
from candor.report.abstention_tables import KEYS, abstention_rates, abstention_tables
from candor.report.tables import read_metrics
from candor.tables import write_text


def main(arguments: argparse.Namespace) -> None:
    table = abstention_rates(read_metrics(arguments.abstention, KEYS))
    write_text(table.write_csv(), arguments.csv)
    laid_out = abstention_tables(table)
    write_text(layout.markdown(laid_out), arguments.markdown)
    write_text(layout.latex(laid_out), arguments.latex)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--abstention", required=True, nargs="+", metavar="JSON", help="in the order of the rows")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--markdown", required=True)
    parser.add_argument("--latex", required=True)
    commands.run(main, parser)
