"""Set the confidence metrics of one run and difficulty (tables 7 to 27, 32 to 35), as CSV, Markdown and LaTeX."""

import argparse

from candor import commands
from candor.report import layout
from candor.report.tables import confidence_metrics, confidence_subset_table, read_metrics
from candor.tables import write_text
from candor.vocabulary import DIFFICULTIES


def main(arguments: argparse.Namespace) -> None:
    frame = confidence_metrics(read_metrics(arguments.metrics))
    tables = [confidence_subset_table(frame, arguments.difficulty)]
    write_text(frame.filter(difficulty=arguments.difficulty).write_csv(), arguments.csv)
    write_text(layout.markdown(tables), arguments.markdown)
    write_text(layout.latex(tables), arguments.latex)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--metrics", required=True, nargs="+", metavar="JSON", help="of one run, in the order of the rows"
    )
    parser.add_argument("--difficulty", required=True, choices=("all", *DIFFICULTIES))
    parser.add_argument("--csv", required=True)
    parser.add_argument("--markdown", required=True)
    parser.add_argument("--latex", required=True)
    commands.run(main, parser)
