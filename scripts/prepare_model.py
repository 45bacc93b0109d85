"""Bring a base model: from the Hugging Face hub, or out of an installed package.

From the hub come the weights (safetensors), the configuration and the tokenizer of one commit. The real hub was not in
reach where this was written; the tests run this against a stand-in that speaks as it does.
"""

import argparse
import logging
from pathlib import Path

from pydantic import TypeAdapter

from candor import commands, tables
from candor.config import HubSource, PackageSource
from candor.engine.hub import copy_repository
from candor.engine.packaged import convert_packaged_model

HUB_FILES = ["*.safetensors", "*.json", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt", "LICENSE*"]
OTHER_FORMS = ["*/*"]  # in subfolders, repositories keep the same weights in other forms


def main(arguments: argparse.Namespace) -> None:
    source = TypeAdapter(HubSource | PackageSource).validate_json(arguments.source)
    with tables.replacing(arguments.output) as folder:
        if isinstance(source, PackageSource):
            convert_packaged_model(source.package, folder)
        else:
            copy_repository(source, folder, HUB_FILES, OTHER_FORMS)
        for path in folder.rglob("*"):  # safetensors writes files that only their owner can read
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))
    logging.info("%s: %s", arguments.output, ", ".join(sorted(path.name for path in arguments.output.iterdir())))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--source", required=True, metavar="JSON", help="a model's source of the configuration, as JSON"
    )
    parser.add_argument("--output", required=True, type=Path, metavar="DIR")
    commands.run(main, parser)
