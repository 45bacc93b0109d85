"""Read the answer out of each raw output of a multiple-choice run, and find the option that it is."""

import argparse
import json
import logging
import time
from collections import Counter
from pathlib import Path

import polars as pl
from tqdm import tqdm

from candor import commands, tables
from candor.mcq.matching import Matcher, predict
from candor.mcq.protocols import PROTOCOLS


def main(arguments: argparse.Namespace) -> None:
    items = tables.read(arguments.items, tables.ITEMS)
    generations = tables.read(arguments.generations, tables.MCQ_GENERATIONS)
    settings = json.loads(arguments.settings)
    matcher = None
    if arguments.embedder:
        from candor.engine import embedding

        embed = embedding.start(arguments.embedder, settings["device"], settings["prompt"])
        matcher = Matcher(embed, settings["similarity"])
    predicted, seconds = [], []
    parts = generations.sort("run", maintain_order=True).partition_by("run", maintain_order=True)
    for part in tqdm(parts, unit="run"):
        start = time.perf_counter()  # the model's start is not counted
        predicted.append(predict(items, part, PROTOCOLS[arguments.protocol], matcher, arguments.seed))
        seconds.append(time.perf_counter() - start)
    predictions = pl.concat(predicted)
    tables.write(predictions, arguments.predictions, tables.MCQ_PREDICTIONS)
    tables.write_json({"extraction_seconds": seconds}, arguments.seconds)
    logging.info("%s: %d outputs, %d correct", arguments.predictions, len(predictions), predictions["correct"].sum())
    logging.info("read by: %s", dict(Counter(predictions["rule"]).most_common()))
    logging.info("matched by a model: %d, in %.1f s", predictions["similarity"].count(), sum(seconds))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", required=True, type=Path, metavar="PARQUET")
    parser.add_argument("--generations", required=True, type=Path, metavar="PARQUET")
    parser.add_argument("--protocol", required=True, choices=PROTOCOLS)
    parser.add_argument("--embedder", type=Path, metavar="DIR", help="for a protocol that asks for an option's text")
    parser.add_argument("--settings", required=True, metavar="JSON", help="device, prompt and similarity, or null")
    parser.add_argument("--seed", required=True, type=int, help="of the options chosen for outputs without an answer")
    parser.add_argument("--predictions", required=True, type=Path, metavar="PARQUET")
    parser.add_argument("--seconds", required=True, type=Path, metavar="JSON", help="gets the time that each run took")
    commands.run(main, parser)
