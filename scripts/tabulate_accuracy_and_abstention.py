"""Set accuracy beside abstention by difficulty (the paper's table 39), as CSV, Markdown and LaTeX."""

import argparse

from candor import commands
from candor.report import layout
from candor.report.abstention_tables import (
    KEYS,
    abstention_rates,
    accuracy_and_abstention,
    accuracy_and_abstention_table,
)
from candor.report.tables import confidence_metrics, read_metrics


def main(arguments: argparse.Namespace) -> None:
    accuracy = confidence_metrics(read_metrics(arguments.metrics))
    table = accuracy_and_abstention(accuracy, abstention_rates(read_metrics(arguments.abstention, KEYS)))
    layout.write(table, [accuracy_and_abstention_table(table)], arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", required=True, nargs="+", metavar="JSON", help="of the models on one dataset")
    parser.add_argument("--abstention", required=True, nargs="+", metavar="JSON", help="of the same from one judge")
    layout.add_outputs(parser)
    commands.run(main, parser)
