"""Generation that is killed (SIGKILL) in the middle ends, run again, with the answers of an undisturbed run."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from candor import tables

pytestmark = pytest.mark.model

ROOT = Path(__file__).parents[2]
QUESTIONS = ["What is 2 + 3?", "Name a river of Egypt.", "Who wrote Hamlet?", "What is the capital of France?"]
SETTINGS = {
    "model": {
        "device": "cpu",
        # In bfloat16 a run now and then rounds otherwise than the one before, killed or not, and one sample in a hundred
        # can take another token.
        "generate_precision": "float32",
        "end_of_turn": [],
        "chat_template_arguments": {},
        "sampling": {"temperature": 1.0},
    },
    # So many samples that two questions are a part: the four are answered in two.
    "evaluation": {"samples": 32, "second_chance": False},
    "format": "xml",
    "json_prompt": "original",
    "json_answer_limit": None,
    "max_tokens": 24,
    "max_prompt_tokens": 500,
}


def command(folder: Path, model: Path, questions: Path) -> list[str]:
    arguments = {"model": model, "questions": questions, "settings": json.dumps(SETTINGS), "seed": 3}
    arguments |= {"work": folder / "work", "output": folder / "answers.parquet"}
    options = [str(part) for name, value in arguments.items() for part in (f"--{name}", value)]
    return [sys.executable, str(ROOT / "scripts/generate_answers.py"), *options]


def run(arguments: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(arguments, capture_output=True, text=True, env=environment())


def environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT / "src")}


def test_killed_generation_ends_as_an_undisturbed_one(tmp_path, model_folder):
    questions = tmp_path / "test.parquet"
    rows = [(f"q{number}", prompt, "gold", "easy") for number, prompt in enumerate(QUESTIONS)]
    tables.write(pl.DataFrame(rows, tables.QUESTIONS, orient="row"), questions, tables.QUESTIONS)

    undisturbed = run(command(tmp_path / "undisturbed", model_folder, questions))
    assert undisturbed.returncode == 0, undisturbed.stderr
    expected = tables.read(tmp_path / "undisturbed/answers.parquet", tables.GENERATIONS)

    arguments = command(tmp_path / "killed", model_folder, questions)
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), start_new_session=True
    )
    work, deadline = tmp_path / "killed/work", time.monotonic() + 300
    while not list(work.glob("part-*.parquet")):
        assert process.poll() is None, "ended before a part was seen"
        assert time.monotonic() < deadline, "no part in time"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed/answers.parquet").exists()
    (part,) = work.glob("part-*.parquet")
    kept = tables.read(part, tables.GENERATIONS)
    assert len(kept) == 2 * 32

    again = run(arguments)
    assert again.returncode == 0, again.stderr
    found = tables.read(tmp_path / "killed/answers.parquet", tables.GENERATIONS)
    assert found.head(len(kept)).equals(kept)
    assert found.equals(expected)
    assert len(found) == 4 * 32
    assert not work.exists()
    assert "going on after 1 of 2 parts" in again.stderr
