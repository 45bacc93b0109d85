"""Plot what training went through: accuracy, confidence, losses and gradients of several runs (figures 6 to 10)."""

import argparse
import json

from candor import commands, tables
from candor.report.figures import save
from candor.report.training_figures import KINDS, Curve, plot_training
from candor.schemes import build, classify


def main(arguments: argparse.Namespace) -> None:
    runs = json.loads(arguments.runs)
    if len(runs) != len(arguments.logs):
        raise ValueError(f"--runs names {len(runs)} runs and --logs {len(arguments.logs)} logs; give one of each")
    curves = [
        Curve(**run, log=tables.read(path, tables.TRAINING_LOG)) for run, path in zip(runs, arguments.logs, strict=True)
    ]
    definitions = json.loads(arguments.schemes)
    names = dict.fromkeys(curve.scheme for curve in curves)
    hackable = [name for name in names if classify(build(name, definitions)).hackable]
    save(plot_training(arguments.kind, curves, hackable, arguments.title), arguments.svg, arguments.png)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", required=True, choices=KINDS)
    parser.add_argument("--logs", required=True, nargs="+", metavar="PARQUET")
    parser.add_argument(
        "--runs", required=True, metavar="JSON", help="scheme, attempt and evaluated of each log, in their order"
    )
    parser.add_argument("--schemes", default="{}", metavar="JSON", help="definitions of those not in table 1")
    parser.add_argument("--svg", required=True)
    parser.add_argument("--png", required=True)
    parser.add_argument("--title", default="")
    commands.run(main, parser)
