"""Gather the confidence metrics of all runs into the paper's tables, as CSV, Markdown and LaTeX."""

import argparse

from candor import commands
from candor.report import layout
from candor.report.tables import confidence_metrics, confidence_metrics_tables, read_metrics
from candor.tables import write_text


def main(arguments: argparse.Namespace) -> None:
    table = confidence_metrics(read_metrics(arguments.metrics))
    write_text(table.write_csv(), arguments.csv)
    laid_out = confidence_metrics_tables(table)
    write_text(layout.markdown(laid_out), arguments.markdown)
    write_text(layout.latex(laid_out), arguments.latex)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", required=True, nargs="+", metavar="JSON", help="in the order of the tables' rows")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--markdown", required=True)
    parser.add_argument("--latex", required=True)
    commands.run(main, parser)
