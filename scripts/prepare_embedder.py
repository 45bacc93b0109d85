"""Bring a sentence-embedding model: from the Hugging Face hub, or out of an installed package.

The real hub was not in reach where this was written; the tests run `copy_repository` against a stand-in.
"""

import argparse
import logging
from pathlib import Path

from pydantic import TypeAdapter

from candor import commands, tables
from candor.config import EmbeddingPackage, HubSource
from candor.engine.embedding import copy_packaged_embedder
from candor.engine.hub import copy_repository

HUB_FILES = ["*.safetensors", "*.json", "tokenizer.model", "merges.txt", "vocab.txt", "LICENSE*"]
OTHER_FORMS = ["onnx/*", "openvino/*"]


def main(arguments: argparse.Namespace) -> None:
    source = TypeAdapter(HubSource | EmbeddingPackage).validate_json(arguments.source)
    with tables.replacing(arguments.output) as folder:
        if isinstance(source, EmbeddingPackage):
            copy_packaged_embedder(source.package, folder)
        else:
            copy_repository(source, folder, HUB_FILES, OTHER_FORMS)
    logging.info("%s: %s", arguments.output, ", ".join(sorted(path.name for path in arguments.output.iterdir())))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, metavar="JSON", help="a matcher's source of the configuration")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR")
    commands.run(main, parser)
