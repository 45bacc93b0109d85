"""Export NonsenseQA: its questions as JSON lines, and a data card."""

import argparse
from pathlib import Path

from candor import commands, tables
from candor.config import NonsenseSource
from candor.data import items, nonsenseqa


def main(arguments: argparse.Namespace) -> None:
    source = NonsenseSource.model_validate_json(arguments.source)
    questions = items.from_frame(tables.read(arguments.items, tables.ITEMS))
    words = nonsenseqa.word_list(source.word_list)
    name = (
        "the first of the list english_wikipedia in zxcvbn (MIT)"
        if source.word_list is None
        else f"the file {Path(source.word_list).name}"
    )
    tables.write_text(nonsenseqa.to_jsonl(questions), arguments.jsonl)
    tables.write_text(nonsenseqa.data_card(questions, words, name, arguments.seed), arguments.card)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", required=True, metavar="JSON", help="its source in the configuration, as JSON")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--items", required=True, type=Path, metavar="PARQUET")
    parser.add_argument("--jsonl", required=True, type=Path)
    parser.add_argument("--card", required=True, type=Path, metavar="MARKDOWN")
    commands.run(main, parser)
