"""Plot accuracy and confidence in training for several schemes (figure 6)."""

import argparse
import json

from candor import commands, tables
from candor.report.figures import plot_training_curves, save
from candor.schemes import build, classify


def main(arguments: argparse.Namespace) -> None:
    if len(set(arguments.names)) != len(arguments.logs):
        raise ValueError("give each of --logs a name of its own")
    frames = [tables.read(path, tables.TRAINING_LOG) for path in arguments.logs]
    logs = dict(zip(arguments.names, frames, strict=True))
    definitions = json.loads(arguments.schemes)
    hackable = [name for name in logs if classify(build(name, definitions)).hackable]
    save(plot_training_curves(logs, hackable, arguments.title), arguments.svg, arguments.png)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", required=True, nargs="+", metavar="PARQUET")
    parser.add_argument("--names", required=True, nargs="+", metavar="SCHEME", help="of the logs, in their order")
    parser.add_argument("--schemes", default="{}", metavar="JSON", help="definitions of those not in table 1")
    parser.add_argument("--svg", required=True)
    parser.add_argument("--png", required=True)
    parser.add_argument("--title", default="")
    commands.run(main, parser)
