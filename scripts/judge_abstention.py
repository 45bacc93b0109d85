"""Ask a judge of each graded answer whether it abstains (paper E.6.2)."""

import argparse
import json
import shutil
from pathlib import Path

from candor import commands, tables
from candor.confidence import judging
from candor.config import Judge, ServerSource
from candor.engine import generation, server


def main(arguments: argparse.Namespace) -> None:
    settings = json.loads(arguments.settings)
    judge = Judge.model_validate({"label": "", "licence": "", **settings})
    questions = tables.read(arguments.questions, tables.QUESTIONS)
    grades = tables.read(arguments.grades, tables.GRADES)
    inputs = [arguments.questions, arguments.grades, *filter(None, [arguments.model])]
    identity = tables.fingerprint(settings | {"seed": arguments.seed}, *inputs)
    if isinstance(judge.source, ServerSource):
        engine = server.connect(judge.source.server, judge.source.served_model, judge.source.api_key_variable)
    elif arguments.model is None:
        raise ValueError("--model is missing; only a judge behind a server needs none")
    else:
        engine = generation.start(
            arguments.model,
            judge.device,
            judge.precision,
            judging.context_length(judge),
            seed=arguments.seed,
            end_of_turn=judge.end_of_turn,
            chat_template_arguments=judge.chat_template_arguments,
        )
    judgements = judging.judge_answers(
        engine, judge, questions, grades, seed=arguments.seed, work=arguments.work, identity=identity
    )
    tables.write(judgements, arguments.output, tables.JUDGEMENTS)
    shutil.rmtree(arguments.work)


if __name__ == "__main__":  # vLLM's workers import this file
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, metavar="DIR", help="the judge; none where a server is asked")
    parser.add_argument("--questions", required=True, type=Path, metavar="PARQUET", help="test questions")
    parser.add_argument("--grades", required=True, type=Path, metavar="PARQUET", help="the answers, as they were read")
    parser.add_argument("--settings", required=True, metavar="JSON", help="an entry of `judges`, without its names")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--work", required=True, type=Path, metavar="DIR", help="keeps what is done, for a killed run")
    parser.add_argument("--output", required=True, type=Path, metavar="PARQUET")
    commands.run(main, parser)
