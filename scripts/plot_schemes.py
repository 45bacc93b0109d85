"""Plot what reward schemes reward: the miscalibration penalty (figure 1), their functions, and the bias they pull towards."""

import argparse
import json

from candor import commands
from candor.report.figures import save
from candor.report.scheme_figures import plot_bias, plot_miscalibration_penalty, plot_schemes
from candor.schemes import SPECTRUM, build


def main(arguments: argparse.Namespace) -> None:
    definitions = json.loads(arguments.schemes)
    spectrum = [build(name, {}) for name in SPECTRUM]
    save(plot_miscalibration_penalty(spectrum), *arguments.penalty)
    save(plot_bias(spectrum), *arguments.bias)
    save(plot_schemes([build(name, definitions) for name in arguments.names]), *arguments.functions)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", required=True, nargs="+", metavar="SCHEME", help="whose functions are plotted")
    parser.add_argument("--schemes", default="{}", metavar="JSON", help="definitions of those not in table 1")
    for figure in ("penalty", "bias", "functions"):
        parser.add_argument(f"--{figure}", required=True, nargs=2, metavar=("SVG", "PNG"))
    commands.run(main, parser)
