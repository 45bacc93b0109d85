"""Write the card of a dataset: its source, revision and licence, its rows, and how it was made."""

import argparse
import json
from pathlib import Path

from candor import commands, tables
from candor.config import Dataset
from candor.report.cards import dataset_card


def main(arguments: argparse.Namespace) -> None:
    dataset = Dataset.model_validate_json(arguments.dataset)
    report = json.loads(arguments.report.read_text(encoding="utf-8"))
    tables.write_text(dataset_card(dataset, report), arguments.output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True, metavar="JSON", help="a dataset of the configuration, as JSON")
    parser.add_argument("--report", required=True, type=Path, metavar="JSON", help="what its build reported")
    parser.add_argument("--output", required=True, type=Path, metavar="MD")
    commands.run(main, parser)
