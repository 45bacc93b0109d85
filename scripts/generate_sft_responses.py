"""Answer train questions in JSON with the base model, and turn the valid answers into XML for SFT (paper E.3)."""

import argparse
import json
import shutil
from pathlib import Path

from candor import commands, tables
from candor.confidence import responding
from candor.engine import generation


def main(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    model = settings["model"]
    questions = tables.read(arguments.questions, tables.QUESTIONS).head(settings["questions"])
    asking = responding.Asking(
        format="json",
        json_prompt=settings["json_prompt"],
        json_answer_limit=settings["json_answer_limit"],
        enforce_format=settings["enforce_format"],
        max_tokens=settings["max_tokens"],
        max_prompt_tokens=settings["max_prompt_tokens"],
    )
    identity = tables.fingerprint(settings | {"seed": arguments.seed}, arguments.model, arguments.questions)
    engine = generation.start(
        arguments.model,
        model["device"],
        model["generate_precision"],
        responding.context_length(asking),
        seed=arguments.seed,
        end_of_turn=model["end_of_turn"],
        chat_template_arguments=model["chat_template_arguments"],
    )
    responses = responding.sft_responses(
        engine,
        questions,
        asking,
        settings["temperature"],
        seed=arguments.seed,
        work=arguments.work,
        identity=identity,
    )
    tables.write(responses, arguments.output, tables.RESPONSES)
    shutil.rmtree(arguments.work)


if __name__ == "__main__":  # vLLM's workers import this file
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, type=Path, metavar="DIR")
    parser.add_argument("--questions", required=True, type=Path, metavar="PARQUET", help="train questions")
    parser.add_argument("--settings", required=True, metavar="JSON")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--work", required=True, type=Path, metavar="DIR", help="keeps what is done, for a killed run")
    parser.add_argument("--output", required=True, type=Path, metavar="PARQUET")
    commands.run(main, parser)
