"""Set the confidence metrics of one run and difficulty (tables 7 to 27, 32 to 35), as CSV, Markdown and LaTeX."""

import argparse

from candor import commands
from candor.report import layout
from candor.report.tables import confidence_metrics, confidence_subset_table, read_metrics
from candor.vocabulary import DIFFICULTIES


def main(arguments: argparse.Namespace) -> None:
    frame = confidence_metrics(read_metrics(arguments.metrics))
    tables = [confidence_subset_table(frame, arguments.difficulty)]
    layout.write(frame.filter(difficulty=arguments.difficulty), tables, arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--metrics", required=True, nargs="+", metavar="JSON", help="of one run, in the order of the rows"
    )
    parser.add_argument("--difficulty", required=True, choices=("all", *DIFFICULTIES))
    layout.add_outputs(parser)
    commands.run(main, parser)
