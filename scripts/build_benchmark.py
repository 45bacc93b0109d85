"""Build a multiple-choice benchmark: its items, and a report of what was read, dropped and kept."""

import argparse
import logging
from pathlib import Path

from candor import commands, tables
from candor.config import Benchmark
from candor.data import benchmarks


def main(arguments: argparse.Namespace) -> None:
    benchmark = Benchmark.model_validate_json(arguments.benchmark)
    frame, report = benchmarks.build(benchmark, arguments.seed)

    tables.write(frame, arguments.items, tables.ITEMS)
    tables.write_json(report, arguments.report)

    for role in ("asked", "examples"):
        logging.info("%s, %s: %s", benchmark.label, role, report[role])
    if report["equal_options"]["questions"]:
        logging.warning("%s: options of one text count as one: %s", benchmark.label, report["equal_options"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmark", required=True, metavar="JSON", help="a benchmark of the configuration, as JSON")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--items", required=True, type=Path, metavar="PARQUET")
    parser.add_argument("--report", required=True, type=Path, metavar="JSON")
    commands.run(main, parser)
