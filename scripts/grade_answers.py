"""Read the answer and the confidence out of each raw output, and compare the answer with the gold."""

import argparse
import json
import logging
from collections import Counter
from pathlib import Path

from candor import commands, tables
from candor.confidence.grading import grade


def main(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    questions = tables.read(arguments.questions, tables.QUESTIONS)
    generations = tables.read(arguments.generations, tables.GENERATIONS)
    grades = grade(
        questions,
        generations,
        settings["format"],
        settings["grader"],
        repair_json=settings["repair_json"],
        workers=arguments.workers,
    )
    tables.write(grades, arguments.output, tables.GRADES)
    logging.info("%s: %d outputs, %d correct", arguments.output, len(grades), grades["correct"].sum())
    for column in ("outcome", "answer_status", "confidence_status"):
        logging.info("%s: %s", column, dict(Counter(grades[column]).most_common()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", required=True, type=Path, metavar="PARQUET", help="test questions")
    parser.add_argument("--generations", required=True, type=Path, metavar="PARQUET")
    parser.add_argument("--settings", required=True, metavar="JSON")
    parser.add_argument("--workers", type=int, default=1, help="processes that compare mathematics")
    parser.add_argument("--output", required=True, type=Path, metavar="PARQUET")
    commands.run(main, parser)
