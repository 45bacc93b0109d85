"""Build a dataset: its train and test questions, and a report of what was read, dropped and kept."""

import argparse
import logging
from pathlib import Path

from candor import commands, data, tables
from candor.config import Dataset


def main(arguments: argparse.Namespace) -> None:
    dataset = Dataset.model_validate_json(arguments.dataset)
    train, train_report = data.build(dataset, "train", arguments.seed)
    test, test_report = data.build(dataset, "test", arguments.seed)
    shared = len(set(train["question_id"]) & set(test["question_id"]))
    report = {"train": train_report, "test": test_report, "seed": arguments.seed, "in_both_splits": shared}

    tables.write(train, arguments.train, tables.QUESTIONS)
    tables.write(test, arguments.test, tables.QUESTIONS)
    tables.write_json(report, arguments.report)

    for split in ("train", "test"):
        logging.info("%s, %s: %s", dataset.label, split, report[split])
    if shared:
        logging.warning("%s: %d questions are in both splits; test figures will flatter", dataset.label, shared)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", required=True, metavar="JSON", help="a dataset of the configuration, as JSON")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--train", required=True, type=Path, metavar="PARQUET")
    parser.add_argument("--test", required=True, type=Path, metavar="PARQUET")
    parser.add_argument("--report", required=True, type=Path, metavar="JSON")
    commands.run(main, parser)
