"""The step log and the work folder of training, without a model."""

import json

import pytest

from candor import tables
from candor.training.checkpoints import open_work_folder
from candor.training.logs import StepLog


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
