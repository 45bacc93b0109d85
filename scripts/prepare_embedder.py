"""Bring a sentence-embedding model: from the Hugging Face hub, or out of an installed package.

Where there is no network, as on the machine where this was written, the path from the hub has not been run.
"""

import argparse
import logging
from pathlib import Path

from pydantic import TypeAdapter

from candor import commands, tables
from candor.config import EmbeddingPackage, HubSource
from candor.engine.embedding import copy_packaged_embedder

HUB_FILES = ["*.safetensors", "*.json", "tokenizer.model", "merges.txt", "vocab.txt", "LICENSE*"]
OTHER_FORMS = ["onnx/*", "openvino/*"]


def main(arguments: argparse.Namespace) -> None:
    source = TypeAdapter(HubSource | EmbeddingPackage).validate_json(arguments.source)
    with tables.replacing(arguments.output) as folder:
        if isinstance(source, EmbeddingPackage):
            copy_packaged_embedder(source.package, folder)
        else:
            from huggingface_hub import snapshot_download

            snapshot_download(
                source.hub,
                revision=source.revision,
                local_dir=folder,
                allow_patterns=HUB_FILES,
                ignore_patterns=OTHER_FORMS,
            )
    logging.info("%s: %s", arguments.output, ", ".join(sorted(path.name for path in arguments.output.iterdir())))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", required=True, metavar="JSON", help="a matcher's source of the configuration")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR")
    commands.run(main, parser)
