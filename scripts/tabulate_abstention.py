"""Gather rates of abstention into the paper's tables (28 to 31, 36, 37), as CSV, Markdown and LaTeX."""

import argparse

from candor import commands
from candor.report import layout
from candor.report.abstention_tables import KEYS, abstention_rates, abstention_tables
from candor.report.tables import read_metrics


def main(arguments: argparse.Namespace) -> None:
    table = abstention_rates(read_metrics(arguments.abstention, KEYS))
    layout.write(table, abstention_tables(table), arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--abstention", required=True, nargs="+", metavar="JSON", help="in the order of the rows")
    layout.add_outputs(parser)
    commands.run(main, parser)
