"""Measure the predictions of one model on one benchmark under one protocol, with intervals."""

import argparse
import json
from pathlib import Path

from candor import commands, tables
from candor.mcq.metrics import costs, measure


def main(arguments: argparse.Namespace) -> None:
    items = tables.read(arguments.items, tables.ITEMS)
    predictions = tables.read(arguments.predictions, tables.MCQ_PREDICTIONS)
    generations = tables.read(arguments.generations, tables.MCQ_GENERATIONS)
    settings = {name: getattr(arguments, name) for name in ("seed", "name", "resamples", "level")}
    identity = {name: getattr(arguments, name) for name in ("model", "benchmark", "fewshot", "protocol", "matcher")}
    seconds = json.loads(arguments.seconds.read_text(encoding="utf-8"))
    measured = measure(items, predictions, **settings)
    tables.write_json({**identity, **settings, **measured, **costs(generations), **seconds}, arguments.output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", required=True, metavar="PARQUET")
    parser.add_argument("--predictions", required=True, metavar="PARQUET")
    parser.add_argument("--generations", required=True, metavar="PARQUET", help="for the time that they took")
    parser.add_argument("--seconds", required=True, type=Path, metavar="JSON", help="time that extraction took")
    parser.add_argument("--output", required=True, metavar="JSON")
    parser.add_argument("--model", required=True, metavar="LABEL", help="name of the model in tables")
    parser.add_argument("--benchmark", required=True, metavar="LABEL", help="name of the benchmark in tables")
    parser.add_argument("--fewshot", required=True, choices=("moved", "kept"))
    parser.add_argument("--protocol", required=True, metavar="NAME", help="such as md")
    parser.add_argument("--matcher", required=True, metavar="LABEL", help="name of the matcher in tables, or none")
    parser.add_argument("--name", required=True, help="what is measured, as in paths; seeds the bootstrap")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals")
    commands.run(main, parser)
