"""The step log, what watches it, and the work folder of training, without a model."""

import json
import logging

import pytest

from candor import tables
from candor.training.checkpoints import open_work_folder
from candor.training.logs import StepLog
from candor.training.rl import vllm_arguments, watching


def write_steps(work, *steps, tail=""):
    work.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps({"step": step, "loss": loss}) + "\n" for step, loss in steps)
    (work / "steps.jsonl").write_text(text + tail, encoding="utf-8")


def test_a_step_that_was_run_again_counts_once(tmp_path):
    write_steps(tmp_path, (1, 0.5), (2, 0.4), (2, 0.3), (3, 0.2), tail='{"step": 4, "lo')
    frame = StepLog(tmp_path).frame(tables.SFT_LOG, steps=3)
    assert frame["step"].to_list() == [1, 2, 3]
    assert frame["loss"].to_list() == [0.5, 0.3, 0.2]
    assert frame["gradient_norm"].null_count() == 3


def test_a_missing_step_is_an_error(tmp_path):
    write_steps(tmp_path, (1, 0.5), (3, 0.2))
    with pytest.raises(RuntimeError, match="no row for step 2"):
        StepLog(tmp_path).frame(tables.SFT_LOG, steps=3)


def test_a_row_after_half_a_line_is_whole(tmp_path):
    """A run that was killed while it wrote goes on in the same file."""
    write_steps(tmp_path, (1, 0.5), tail='{"step": 2, "lo')
    log = StepLog(tmp_path)
    log.append({"step": 2, "loss": "0.4", "gradient_norm": float("nan")})
    log.append({"step": 3, "loss": 0.3})
    frame = log.frame(tables.SFT_LOG, steps=3)
    assert frame["loss"].to_list() == [0.5, 0.4, 0.3]
    assert frame["gradient_norm"].null_count() == 3


def rl_row(step, **changes):
    columns = dict.fromkeys(tables.TRAINING_LOG.names(), 0.5)
    return columns | {"step": step, "scheme_reward": 0.3 + 0.01 * (step % 3), "gradient_norm": 0.1 * step} | changes


def test_a_finding_is_warned_of_once_and_again_by_a_run_that_went_on(tmp_path, caplog):
    log = StepLog(tmp_path)
    look = watching(log)
    spike = {30: {"loss": 50.0}}
    for step in range(1, 41):
        log.append(rl_row(step, **{"loss": 0.1 * (step % 3)} | spike.get(step, {})))
        look(step)
    (warning,) = caplog.records
    assert warning.levelno == logging.WARNING
    assert warning.getMessage().startswith("step 30, loss spike: the loss is 50 at step 30; the median")
    caplog.clear()
    # It went on from step 35: the rows after that are of before and not looked at.
    log.append(rl_row(36))
    watching(log)(36)
    assert [record.getMessage()[:19] for record in caplog.records] == ["step 36, loss spike"]


def test_a_reward_that_never_changes_ends_the_training(tmp_path):
    log = StepLog(tmp_path)
    look = watching(log)
    for step in range(1, 20):
        log.append(rl_row(step, scheme_reward=-1.0))
        look(step)
    log.append(rl_row(20, scheme_reward=-1.0))
    with pytest.raises(ValueError, match="nothing to learn from") as raised:
        look(20)
    assert "Likely cause: " in str(raised.value)
    assert f"remove {tmp_path}, or the run goes on from its last checkpoint" in str(raised.value)


def test_vllm_is_told_what_ends_an_output_and_what_is_enforced():
    schema = {"json": {"type": "object"}}
    assert vllm_arguments([1, 106], None) == {"stop_token_ids": [1, 106]}
    assert vllm_arguments([2], schema) == {"stop_token_ids": [2], "structured_outputs": schema}


@pytest.fixture
def model(tmp_path):
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "weights").write_text("1")
    return folder


def checkpoint(work, step, whole=True):
    folder = work / f"checkpoint-{step}"
    folder.mkdir()
    if whole:
        (folder / "trainer_state.json").write_text("{}")
    return str(folder)


def test_goes_on_from_the_last_whole_checkpoint(tmp_path, model):
    work = tmp_path / "work"
    assert open_work_folder(work, {"a": 1}, [model]) is None
    checkpoint(work, 2)
    last = checkpoint(work, 10)
    checkpoint(work, 12, whole=False)
    assert open_work_folder(work, {"a": 1}, [model]) == last
    assert not (work / "checkpoint-12").exists()


@pytest.mark.parametrize("change", ["settings", "inputs"])
def test_other_settings_or_inputs_start_afresh(tmp_path, model, change):
    work = tmp_path / "work"
    open_work_folder(work, {"a": 1}, [model])
    checkpoint(work, 2)
    if change == "inputs":
        (model / "weights").write_text("2")
    assert open_work_folder(work, {"a": 2 if change == "settings" else 1}, [model]) is None
    assert not (work / "checkpoint-2").exists()


def test_the_mark_that_snakemake_leaves_in_a_folder_does_not_count(tmp_path, model):
    work = tmp_path / "work"
    open_work_folder(work, {}, [model])
    last = checkpoint(work, 1)
    (model / ".snakemake_timestamp").touch()
    assert open_work_folder(work, {}, [model]) == last
