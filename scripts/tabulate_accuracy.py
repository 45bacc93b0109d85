"""Set a model's accuracy under each reward scheme, by dataset and difficulty (table 2), as CSV, Markdown and LaTeX."""

import argparse
import json

from candor import commands
from candor.report import layout
from candor.report.accuracy_tables import accuracy, accuracy_table, category
from candor.report.tables import confidence_metrics, read_metrics
from candor.schemes import build


def main(arguments: argparse.Namespace) -> None:
    definitions = json.loads(arguments.definitions)
    categories = {name: category(build(name, definitions)) for name in arguments.schemes}
    frame = accuracy(confidence_metrics(read_metrics(arguments.metrics)), categories)
    tables = [accuracy_table(frame)]
    layout.write(frame, tables, arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--metrics", required=True, nargs="+", metavar="JSON", help="of one model, in the order of the table"
    )
    parser.add_argument("--schemes", required=True, nargs="+", metavar="SCHEME", help="that the model was trained with")
    parser.add_argument("--definitions", default="{}", metavar="JSON", help="definitions of those not in table 1")
    layout.add_outputs(parser)
    commands.run(main, parser)
