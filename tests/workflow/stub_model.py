"""A stand-in for the model's scripts, which take minutes: it writes what they would write, in the right schemas, at once.

It is called as they are (`stub_model.py SCRIPT --option value ...`), in place of the model environment's interpreter. What
it writes depends on its settings, as a model's outputs would. $STUB_FAILS names a script that fails at its first call.
"""

import json
import os
import sys
from hashlib import sha256
from pathlib import Path

import polars as pl

from candor import tables

script = Path(sys.argv[1]).stem
options = dict(zip(sys.argv[2::2], sys.argv[3::2], strict=True))
settings = json.loads(options.get("--settings", "{}"))
said = sha256(repr(sorted(options.items())).encode()).digest()


def folder(path: str) -> None:
    with tables.replacing(path) as temporary:
        temporary.mkdir()
        (temporary / "weights").write_bytes(said)


def training(steps: int) -> None:
    log = pl.DataFrame({"step": range(1, steps + 1)}).with_columns(
        pl.lit(said[0] / 255).alias(name) for name in tables.TRAINING_LOG.names()[1:]
    )
    tables.write(log.cast(dict(tables.TRAINING_LOG)), options["--training-log"], tables.TRAINING_LOG)
    tables.write_json({"steps": steps}, options["--effective"])
    folder(options["--adapter"])


print(f"{script} speaks", file=sys.stderr)
if os.environ.get("STUB_FAILS") == script:
    failed = Path("stub_failed")
    if not failed.exists():
        failed.touch()
        sys.exit(f"{script}: fails as it was told to")

if script == "prepare_model":
    folder(options["--output"])
elif script == "generate_sft_responses":
    questions = tables.read(options["--questions"], tables.QUESTIONS).head(settings["questions"])
    responses = questions.select(
        "question_id", text=pl.lit("{}"), finish_reason=pl.lit("stop"), status=pl.lit("valid"), xml=pl.lit("<answer>")
    )
    tables.write(responses, options["--output"], tables.RESPONSES)
elif script == "train_sft":
    training(2)
elif script == "train_rl":
    training(settings["rl"]["steps"])
elif script == "generate_answers":
    rows = [
        (question, sample, said[sample], gold)
        for question, gold in tables.read(options["--questions"], tables.QUESTIONS).select("question_id", "gold").rows()
        for sample in range(settings["evaluation"]["samples"])
    ]
    text = (
        "<reasoning>r</reasoning><answer>{}</answer>"
        "<confidence_analysis>a</confidence_analysis><confidence>{}</confidence>"
    )
    answers = pl.DataFrame(
        {
            "question_id": [question for question, *_ in rows],
            "sample": [sample for _, sample, *_ in rows],
            "text": [text.format(gold if draw % 2 else "no", draw % 101) for _, _, draw, gold in rows],
        }
    ).with_columns(
        finish_reason=pl.lit("stop"), prompt_tokens=9, output_tokens=9, answer_probe=None, confidence_probe=None
    )
    tables.write(answers.cast(dict(tables.GENERATIONS)), options["--output"], tables.GENERATIONS)
else:
    sys.exit(f"stub_model: {script} is not a script of the model environment")
