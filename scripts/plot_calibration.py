"""Plot accuracy against confidence for the schemes of one model on one dataset (figure 2)."""

import argparse

from candor import commands
from candor.report.figures import plot_calibration, save
from candor.report.tables import read_metrics


def main(arguments: argparse.Namespace) -> None:
    save(plot_calibration(read_metrics(arguments.metrics), arguments.title), arguments.svg, arguments.png)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", required=True, nargs="+", metavar="JSON", help="one file a panel, in order")
    parser.add_argument("--svg", required=True)
    parser.add_argument("--png", required=True)
    parser.add_argument("--title", default="")
    commands.run(main, parser)
