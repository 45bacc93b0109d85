"""A stand-in for the model's scripts, which take minutes: it writes what they would write, in the right schemas, at once.

It is called as they are (`stub_model.py SCRIPT --option value ...`), in place of the model environment's interpreter. What
it writes depends on its settings, as a model's outputs would. It notes which GPUs it was given in stub_devices/. What goes
wrong is told by the environment: $STUB_FAILS names a script that fails at its first call, $STUB_WAITS one that waits until
stub_go exists, $STUB_FILLS one that takes more than a GiB of memory.
"""

import json
import os
import sys
import time
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

import polars as pl

from candor import tables
from candor.answers import xml
from candor.answers.response import Response
from candor.confidence.grading import grade
from candor.data import items
from candor.mcq.matching import predict
from candor.mcq.permutations import order
from candor.mcq.protocols import LETTERS, PROTOCOLS
from candor.vocabulary import ABSTENTION_LABELS

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

devices = Path("stub_devices")
devices.mkdir(exist_ok=True)
(devices / f"{script}-{said.hex()[:12]}").write_text(os.environ.get("CUDA_VISIBLE_DEVICES", "none"))
if os.environ.get("STUB_WAITS") == script:
    Path("stub_waits").touch()
    while not Path("stub_go").exists():
        time.sleep(0.2)
if os.environ.get("STUB_FILLS") == script:
    filled = b"x" * 1_200_000_000
    time.sleep(5)  # Slurm looks once a second

if script in ("prepare_model", "prepare_embedder"):
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
    write = xml.render if settings["format"] == "xml" else lambda response: json.dumps(asdict(response))
    answers = pl.DataFrame(
        {
            "question_id": [question for question, *_ in rows],
            "sample": [sample for _, sample, *_ in rows],
            "text": [
                write(Response("r", gold if draw % 2 else "no", "a", draw % 101, True)) for *_, draw, gold in rows
            ],
        }
    ).with_columns(
        finish_reason=pl.lit("stop"), prompt_tokens=9, output_tokens=9, answer_probe=None, confidence_probe=None
    )
    tables.write(answers.cast(dict(tables.GENERATIONS)), options["--output"], tables.GENERATIONS)
elif script == "grade_answers":  # of mathematics, which takes math-verify; the golds above are compared as they stand
    questions, answers = (
        tables.read(options[name], schema)
        for name, schema in (("--questions", tables.QUESTIONS), ("--generations", tables.GENERATIONS))
    )
    tables.write(grade(questions, answers, settings["format"], "exact-match"), options["--output"], tables.GRADES)
elif script == "judge_abstention":
    judged = tables.read(options["--grades"], tables.GRADES).select("question_id", "sample", "difficulty")
    labels = [ABSTENTION_LABELS[said[row % len(said)] % 3] for row in range(len(judged))]
    judgements = judged.with_columns(
        text=pl.Series(labels), finish_reason=pl.lit("stop"), tokens=pl.lit(2, pl.Int32), label=pl.Series(labels)
    )
    tables.write(judgements, options["--output"], tables.JUDGEMENTS)
elif script == "generate_mcq_answers":
    protocol = PROTOCOLS[settings["protocol"]]
    rows = []
    for item in items.from_frame(tables.read(options["--items"], tables.ITEMS).filter(pl.col("role") == "asked")):
        for run in range(settings["asking"]["positions"] + 1):
            shown = order(len(item.options), item.gold, run)
            place = said[run] % len(shown)
            answer = f"({LETTERS[place]})" if protocol.reads == "letter" else item.options[shown[place]]
            rows.append((item.item_id, run, list(shown), f"The answer is {answer}.", "stop", 9, 9, 0.1, None))
    answers = pl.DataFrame(rows, tables.MCQ_GENERATIONS, orient="row")
    tables.write(answers, options["--output"], tables.MCQ_GENERATIONS)
elif script == "match_answers":  # the answers above are options as they stand, which no model needs to match
    read = tables.read(options["--generations"], tables.MCQ_GENERATIONS)
    asked = tables.read(options["--items"], tables.ITEMS)
    predictions = predict(asked, read, PROTOCOLS[options["--protocol"]], None, int(options["--seed"]))
    tables.write(predictions, options["--predictions"], tables.MCQ_PREDICTIONS)
    tables.write_json({"extraction_seconds": [0.1] * read["run"].n_unique()}, options["--seconds"])
else:
    sys.exit(f"stub_model: {script} is not a script of the model environment")
