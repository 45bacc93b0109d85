"""Train a model by reinforcement learning under one confidence reward scheme (paper E.5)."""

import argparse
import json
import shutil

from candor import commands, tables
from candor.confidence.prompts import messages
from candor.config import Rl
from candor.data.randomness import draw
from candor.training import rl


def main(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    questions = tables.read(arguments.questions, tables.QUESTIONS)
    rl.train(
        arguments.model,
        settings["model"],
        Rl.model_validate(settings["rl"]),
        arguments.scheme,
        settings["schemes"],
        prompts=[messages(prompt, settings["format"], settings["json_prompt"]) for prompt in questions["prompt"]],
        golds=questions["gold"].to_list(),
        difficulties=questions["difficulty"].to_list(),
        names=questions["question_id"].to_list(),
        format=settings["format"],
        grader=settings["grader"],
        json_answer_limit=settings["json_answer_limit"],
        max_tokens=settings["max_tokens"],
        max_prompt_tokens=settings["max_prompt_tokens"],
        start=arguments.start,
        # Schemes see the same questions in the same order; attempts of one scheme differ.
        seed=draw(arguments.seed, "rl attempt", str(arguments.attempt)) % 2**31,
        work=arguments.work,
        adapter=arguments.adapter,
        training_log=arguments.training_log,
        effective_settings=arguments.effective,
    )
    shutil.rmtree(arguments.work)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, metavar="FOLDER", help="base model")
    parser.add_argument("--questions", required=True, metavar="PARQUET", help="train questions")
    parser.add_argument("--start", metavar="FOLDER", help="adapter to go on from; without it the base model")
    parser.add_argument("--settings", required=True, metavar="JSON")
    parser.add_argument("--scheme", required=True, metavar="NAME", help="reward scheme")
    parser.add_argument("--attempt", required=True, type=int, help="which attempt, counted from 1")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--work", required=True, metavar="FOLDER", help="checkpoints; removed at the end")
    parser.add_argument("--adapter", required=True, metavar="FOLDER")
    parser.add_argument("--training-log", required=True, metavar="PARQUET")
    parser.add_argument("--effective", required=True, metavar="JSON", help="what the trainer really used")
    commands.run(main, parser)
