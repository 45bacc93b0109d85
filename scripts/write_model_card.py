"""Write the card of a base model: its source, revision and licence, and its files."""

import argparse
from pathlib import Path

from candor import commands, tables
from candor.config import Model
from candor.report.cards import model_card


def main(arguments: argparse.Namespace) -> None:
    model = Model.model_validate_json(arguments.settings)
    files = {
        str(path.relative_to(arguments.model)): path.stat().st_size
        for path in arguments.model.rglob("*")
        if path.is_file() and path.name != ".snakemake_timestamp"
    }
    tables.write_text(model_card(model, files), arguments.output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--settings", required=True, metavar="JSON", help="a model of the configuration, as JSON")
    parser.add_argument("--model", required=True, type=Path, metavar="FOLDER")
    parser.add_argument("--output", required=True, type=Path, metavar="MD")
    commands.run(main, parser)
