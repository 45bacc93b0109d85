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
from candor.tables import write_text


def main(arguments: argparse.Namespace) -> None:
    accuracy = confidence_metrics(read_metrics(arguments.metrics))
    table = accuracy_and_abstention(accuracy, abstention_rates(read_metrics(arguments.abstention, KEYS)))
    write_text(table.write_csv(), arguments.csv)
    laid_out = [accuracy_and_abstention_table(table)]
    write_text(layout.markdown(laid_out), arguments.markdown)
    write_text(layout.latex(laid_out), arguments.latex)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", required=True, nargs="+", metavar="JSON", help="of the models on one dataset")
    parser.add_argument("--abstention", required=True, nargs="+", metavar="JSON", help="of the same from one judge")
    parser.add_argument("--csv", required=True)
    parser.add_argument("--markdown", required=True)
    parser.add_argument("--latex", required=True)
    commands.run(main, parser)
