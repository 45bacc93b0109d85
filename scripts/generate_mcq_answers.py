"""Let a model answer a multiple-choice benchmark under a protocol, in its original order and once per gold position."""

import argparse
import json
import shutil
from pathlib import Path

from candor import commands, tables
from candor.config import Sampling
from candor.engine import generation
from candor.mcq import responding
from candor.mcq.protocols import PROTOCOLS


def main(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    model = settings["model"]
    items = tables.read(arguments.items, tables.ITEMS)
    asking = responding.Asking(protocol=PROTOCOLS[settings["protocol"]], **settings["asking"])
    identity = tables.fingerprint(settings | {"seed": arguments.seed}, arguments.model, arguments.items)
    engine = generation.start(
        arguments.model,
        model["device"],
        model["generate_precision"],
        responding.context_length(asking),
        seed=arguments.seed,
        end_of_turn=model["end_of_turn"],
        chat_template_arguments=model["chat_template_arguments"],
    )
    answers = responding.respond(
        engine,
        items,
        asking,
        Sampling.model_validate(model["sampling"]),
        seed=arguments.seed,
        work=arguments.work,
        identity=identity,
    )
    tables.write(answers, arguments.output, tables.MCQ_GENERATIONS)
    shutil.rmtree(arguments.work)


if __name__ == "__main__":  # vLLM's workers import this file
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, type=Path, metavar="DIR")
    parser.add_argument("--items", required=True, type=Path, metavar="PARQUET", help="questions and few-shot examples")
    parser.add_argument("--settings", required=True, metavar="JSON")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--work", required=True, type=Path, metavar="DIR", help="keeps what is done, for a killed run")
    parser.add_argument("--output", required=True, type=Path, metavar="PARQUET")
    commands.run(main, parser)
