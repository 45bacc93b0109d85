"""Sample a model's answers to the test questions, with a second chance for those that cannot be read (paper E.6.1)."""

import argparse
import json
import shutil
from pathlib import Path

from candor import commands, tables
from candor.confidence import responding
from candor.config import Evaluation, Sampling
from candor.engine import generation

PROVING_QUESTIONS = 2


def main(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    model = settings["model"]
    evaluation = Evaluation.model_validate(settings["evaluation"])
    questions = tables.read(arguments.questions, tables.QUESTIONS)
    asking = responding.Asking(
        format=settings["format"],
        json_prompt=settings["json_prompt"],
        json_answer_limit=settings["json_answer_limit"],
        enforce_format=evaluation.enforce_format,
        max_tokens=settings["max_tokens"],
        max_prompt_tokens=settings["max_prompt_tokens"],
    )
    inputs = [arguments.model, arguments.questions, *filter(None, [arguments.adapter])]
    identity = tables.fingerprint(settings | {"seed": arguments.seed}, *inputs)
    engine = generation.start(
        arguments.model,
        model["device"],
        model["generate_precision"],
        responding.context_length(asking, evaluation),
        adapter=arguments.adapter,
        seed=arguments.seed,
        end_of_turn=model["end_of_turn"],
        chat_template_arguments=model["chat_template_arguments"],
    )
    if arguments.adapter:
        generation.prove_adapter(engine, asking.conversations(questions.head(PROVING_QUESTIONS)))
    answers = responding.respond(
        engine,
        questions,
        asking,
        evaluation,
        Sampling.model_validate(model["sampling"]),
        latex=settings.get("grader") == "math",
        seed=arguments.seed,
        work=arguments.work,
        identity=identity,
    )
    tables.write(answers, arguments.output, tables.GENERATIONS)
    shutil.rmtree(arguments.work)


if __name__ == "__main__":  # vLLM's workers import this file
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, type=Path, metavar="DIR")
    parser.add_argument("--questions", required=True, type=Path, metavar="PARQUET", help="test questions")
    parser.add_argument("--adapter", type=Path, metavar="DIR", help="LoRA adapter; without one the base model answers")
    parser.add_argument("--settings", required=True, metavar="JSON")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--work", required=True, type=Path, metavar="DIR", help="keeps what is done, for a killed run")
    parser.add_argument("--output", required=True, type=Path, metavar="PARQUET")
    commands.run(main, parser)
