"""`candor status`: how a job is, by its log and its outputs."""

import os
from pathlib import Path

import pytest

from candor.cli.jobs import Job
from candor.cli.status import SILENCE, state_of

JOB = Job("train_rl", {}, "", 1.0, 0, "logs/rl.log", ("results/adapter", "results/log.parquet"))
ENDED = "--- ended 2026-12-04 22:00:00\n"
NOW = 1_800_000_000.0


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Write a job's log, so many seconds before NOW, and the outputs that there are of it."""
    monkeypatch.chdir(tmp_path)
    Path("scripts").mkdir()
    Path("scripts/train_rl.py").touch()

    def write(text: str, seconds: float = 5.0, outputs: int = 0) -> None:
        for path in (JOB.log, *JOB.outputs[:outputs]):
            Path(path).parent.mkdir(exist_ok=True)
            Path(path).write_text(text)
        os.utime(JOB.log, (NOW - seconds, NOW - seconds))

    return write


def test_a_job_that_has_not_begun_waits(log):
    assert state_of(JOB, NOW).state == "waiting"


def test_a_job_whose_bar_moves_runs(log):
    log("22:00:00 INFO 20 questions\n 10%|# | 1/10\n 20%|## | 2/10 [00:09<00:36, 4.5 s/it]\n", seconds=20, outputs=1)
    state = state_of(JOB, NOW)
    assert (state.state, state.said, state.seconds) == ("running", "20%|## | 2/10 [00:09<00:36, 4.5 s/it]", 20)


def test_a_job_that_has_just_begun_runs(log):
    log("")
    assert (state_of(JOB, NOW).state, state_of(JOB, NOW).said) == ("running", "")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("train_rl: a.parquet: not readable; rerun its rule\n", "train_rl: a.parquet: not readable; rerun its rule"),
        ("usage: train_rl.py\ntrain_rl.py: error: no --seed\n", "train_rl.py: error: no --seed"),
        (
            "Traceback (most recent call last):\n  File x\n    y\nKeyError: 'p'\n\nDuring that, another:\n\n"
            "Traceback (most recent call last):\n  File z\nRuntimeError: engine died\nUserWarning: leaked memory\n",
            "RuntimeError: engine died",
        ),
    ],
)
def test_a_job_that_failed_says_why(log, said, reason):
    log(f"22:00:00 INFO begins\n{said}{ENDED}")
    assert (state_of(JOB, NOW).state, state_of(JOB, NOW).said) == ("failed", reason)


def test_a_job_that_was_killed_is_stopped(log):
    log(f" 20%|## | 2/10\n{ENDED}")
    assert (state_of(JOB, NOW).state, state_of(JOB, NOW).said) == ("stopped", "20%|## | 2/10")


def test_a_job_whose_node_died_is_stopped_once_it_is_silent_for_long(log):
    log(" 20%|## | 2/10\n", seconds=SILENCE - 1)
    assert state_of(JOB, NOW).state == "running"
    log(" 20%|## | 2/10\n", seconds=SILENCE + 1)
    assert state_of(JOB, NOW).state == "stopped"


def test_a_job_that_is_to_be_run_again_waits(log):
    log(f"train_rl: done\n{ENDED}", outputs=2)
    assert state_of(JOB, NOW).state == "waiting"
