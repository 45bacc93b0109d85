"""Gather the confidence metrics of all runs into the paper's tables, as CSV, Markdown and LaTeX."""

import argparse

from candor import commands
from candor.report import layout
from candor.report.tables import confidence_metrics, confidence_metrics_tables, read_metrics


def main(arguments: argparse.Namespace) -> None:
    table = confidence_metrics(read_metrics(arguments.metrics))
    layout.write(table, confidence_metrics_tables(table), arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", required=True, nargs="+", metavar="JSON", help="in the order of the tables' rows")
    layout.add_outputs(parser)
    commands.run(main, parser)
