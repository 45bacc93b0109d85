"""Classify reward schemes by the theory: the paper's 13, and those that are trained with."""

import argparse
import json

from candor import commands
from candor.schemes import build, classify
from candor.schemes.description import facts
from candor.tables import write_json
from candor.vocabulary import PAPER_SCHEMES


def main(arguments: argparse.Namespace) -> None:
    definitions = json.loads(arguments.schemes)
    schemes = [build(name, definitions) for name in dict.fromkeys([*PAPER_SCHEMES, *arguments.trained])]
    found = [facts(scheme, classify(scheme)) | {"trained": scheme.name in arguments.trained} for scheme in schemes]
    write_json(found, arguments.output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trained", required=True, nargs="+", metavar="SCHEME")
    parser.add_argument("--schemes", default="{}", metavar="JSON", help="definitions of those not in table 1")
    parser.add_argument("--output", required=True, metavar="JSON")
    commands.run(main, parser)
