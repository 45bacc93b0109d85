"""Fine-tune a base model on its own answers, turned from JSON to XML (paper E.4)."""

import argparse
import json
import shutil

import polars as pl

from candor import commands, tables
from candor.confidence.prompts import messages
from candor.config import Sft
from candor.training import sft


def main(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    questions = tables.read(arguments.questions, tables.QUESTIONS)
    responses = tables.read(arguments.responses, tables.RESPONSES).filter(pl.col("xml").is_not_null())
    pairs = responses.join(questions, on="question_id", how="left", maintain_order="left")
    if missing := pairs.filter(pl.col("prompt").is_null())["question_id"].to_list():
        raise ValueError(
            f"{arguments.responses}: question {missing[0]} is not in {arguments.questions}; rerun the rule"
        )
    sft.train(
        arguments.model,
        settings["model"],
        Sft.model_validate(settings["sft"]),
        prompts=[messages(prompt, "xml") for prompt in pairs["prompt"]],
        completions=pairs["xml"].to_list(),
        names=pairs["question_id"].to_list(),
        max_tokens=settings["max_tokens"],
        max_prompt_tokens=settings["max_prompt_tokens"],
        seed=arguments.seed,
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
    parser.add_argument("--responses", required=True, metavar="PARQUET", help="the model's answers to some of them")
    parser.add_argument("--settings", required=True, metavar="JSON")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--work", required=True, metavar="FOLDER", help="checkpoints; removed at the end")
    parser.add_argument("--adapter", required=True, metavar="FOLDER")
    parser.add_argument("--training-log", required=True, metavar="PARQUET")
    parser.add_argument("--effective", required=True, metavar="JSON", help="what the trainer really used")
    commands.run(main, parser)
