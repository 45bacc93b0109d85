"""SFT and RL with the real model: they end with every step logged, also when killed, and the adapter is trained.

Prompts are made-up and tiny, so that a step takes seconds on a CPU; what is run is the scripts themselves.
"""

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
from candor.config import Rl, Sft

pytestmark = pytest.mark.model

ROOT = Path(__file__).parents[2]
MODEL = {"device": "cpu", "train_precision": "float32", "chat_template_arguments": {}, "end_of_turn": []}
NAMES = ["Ava", "Ben", "Cleo", "Dan"]


@pytest.fixture(scope="module")
def questions(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train.parquet"
    rows = [
        {"question_id": f"q{i}", "prompt": f"{name} lives in Rome. Who?", "gold": name, "difficulty": "easy"}
        for i, name in enumerate(NAMES)
    ]
    tables.write(pl.DataFrame(rows, schema=tables.QUESTIONS), path, tables.QUESTIONS)
    return path


@pytest.fixture(scope="module")
def responses(questions) -> Path:
    path = questions.parent / "responses.parquet"
    xml = "<reasoning>It says so.</reasoning>\n<answer>{}</answer>\n<confidence_analysis>Sure.</confidence_analysis>\n<confidence>90</confidence>"
    rows = [
        {"question_id": f"q{i}", "text": "{}", "finish_reason": "stop", "status": "valid", "xml": xml.format(name)}
        for i, name in enumerate(NAMES)
    ]
    rows.append({"question_id": "q0", "text": "{", "finish_reason": "length", "status": "truncated", "xml": None})
    tables.write(pl.DataFrame(rows, schema=tables.RESPONSES), path, tables.RESPONSES)
    return path


def command(script: str, folder: Path, **arguments) -> list[str]:
    arguments |= {"work": folder / "work", "adapter": folder / "adapter", "seed": 7}
    arguments |= {"training-log": folder / "log.parquet", "effective": folder / "effective.json"}
    options = [str(part) for name, value in arguments.items() for part in (f"--{name}", value)]
    return [sys.executable, str(ROOT / "scripts" / script), *options]


def sft_command(folder: Path, model, questions, responses) -> list[str]:
    sft = Sft(epochs=3, batch_size=4, micro_batch_size=4, checkpoint_steps=1, warmup_steps=0)
    settings = {"model": MODEL, "sft": sft.model_dump(exclude={"questions", "temperature", "enforce_format"})}
    settings |= {"max_tokens": 96, "max_prompt_tokens": 512}
    return command(
        "train_sft.py", folder, model=model, questions=questions, responses=responses, settings=json.dumps(settings)
    )


def rl_command(
    folder: Path, model, questions, scheme="brier-1", format="xml", end_of_turn=(), max_tokens=12, **changes
) -> list[str]:
    rl = Rl(
        start="base",
        loss="dr_grpo",
        enforce_format=False,
        steps=3,
        learning_rate=1e-3,
        questions_per_step=1,
        generations=4,
        micro_batch_size=4,
        optimizer="adamw_torch",
        checkpoint_steps=1,
        mask_truncated=False,
    ).model_copy(update=changes)
    settings = {"model": MODEL | {"end_of_turn": list(end_of_turn)}, "rl": rl.model_dump(), "format": format}
    settings |= {"json_prompt": "original", "json_answer_limit": 20, "schemes": {}, "grader": "rouge-1"}
    settings |= {"max_tokens": max_tokens, "max_prompt_tokens": 512}
    return command(
        "train_rl.py", folder, model=model, questions=questions, scheme=scheme, attempt=1, settings=json.dumps(settings)
    )


def run(arguments: list[str]) -> subprocess.CompletedProcess:
    return subprocess.run(arguments, capture_output=True, text=True, env=environment())


def environment() -> dict[str, str]:
    return {**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT / "src")}


def kill_after_first_checkpoint(arguments: list[str], work: Path) -> None:
    """Start a script and kill it (SIGKILL, with its children) once its first checkpoint is whole."""
    process = subprocess.Popen(
        arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(), start_new_session=True
    )
    deadline = time.monotonic() + 300
    while not list(work.glob("checkpoint-*/trainer_state.json")):
        assert process.poll() is None, "ended before a checkpoint was seen"
        assert time.monotonic() < deadline, "no checkpoint in time"
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def trained(adapter: Path) -> bool:
    """Tell whether an adapter changes the model: its B matrices start at zero."""
    from safetensors.torch import load_file

    weights = load_file(adapter / "adapter_model.safetensors")
    return any(weight.abs().sum() > 0 for name, weight in weights.items() if "lora_B" in name)


@pytest.fixture(scope="module")
def sft_folder(tmp_path_factory, model_folder, questions, responses) -> Path:
    """Run SFT, kill it after its first checkpoint, and run it again."""
    folder = tmp_path_factory.mktemp("sft")
    arguments = sft_command(folder, model_folder, questions, responses)
    kill_after_first_checkpoint(arguments, folder / "work")
    assert not (folder / "adapter").exists()
    result = run(arguments)
    assert result.returncode == 0, result.stderr
    assert "going on from" in result.stderr
    return folder


def test_sft_killed_after_a_checkpoint_ends_with_every_step(sft_folder):
    log = tables.read(sft_folder / "log.parquet", tables.SFT_LOG)
    assert log["step"].to_list() == [1, 2, 3]
    assert log["loss"][2] < log["loss"][0]  # it learns its own pairs
    assert trained(sft_folder / "adapter")
    assert not (sft_folder / "work").exists()
    effective = json.loads((sft_folder / "effective.json").read_text())
    assert effective["pairs"] == 4  # the truncated response is left out
    assert effective["trainer"]["loss_type"] == "nll"
    assert effective["trainer"]["learning_rate"] == 2e-4


# Of twelve tokens at least one is nearly always among these; as "Gemma's" `<turn|>`, they end an output beside its eos.
FREQUENT = [",", ".", "Ġthe", "Ġa", "Ġand", "Ġof", "Ġto", "Ġin", "Ċ", "Ġis"]


def test_rl_killed_after_a_checkpoint_ends_with_every_step(tmp_path, model_folder, questions):
    arguments = rl_command(tmp_path, model_folder, questions, end_of_turn=FREQUENT)
    kill_after_first_checkpoint(arguments, tmp_path / "work")
    result = run(arguments)
    assert result.returncode == 0, result.stderr
    assert "going on from" in result.stderr
    log = tables.read(tmp_path / "log.parquet", tables.TRAINING_LOG)
    assert log["step"].to_list() == [1, 2, 3]
    for column in ("scheme_reward", "format_reward", "accuracy", "format_rate", "length", "truncation_rate", "loss"):
        assert log[column].null_count() == 0, column
    assert log["accuracy_easy"].to_list() == log["accuracy"].to_list()
    assert log["accuracy_hard"].null_count() == 3
    assert log["truncation_rate"].mean() < 1  # an output that ends in another token than the eos is whole
    assert log["length"].mean() < 12
    effective = json.loads((tmp_path / "effective.json").read_text())
    assert len(effective["stop_token_ids"]) == 1 + len(FREQUENT)
    trainer = effective["trainer"]
    expected = {
        "loss_type": "dr_grpo",
        "scale_rewards": "none",
        "beta": 0.0,
        "epsilon": 0.2,
        "epsilon_high": 0.2,
        "importance_sampling_level": "sequence",
        "mask_truncated_completions": False,
        "max_grad_norm": 0.1,
        "adam_beta2": 0.99,
        "num_generations": 4,
        "vllm_importance_sampling_correction": False,
    }
    assert {name: trainer[name] for name in expected} == expected


def test_dapo_goes_on_from_the_sft_adapter(tmp_path, model_folder, questions, sft_folder):
    # With so small a learning rate the adapter that comes out is the one that went in.
    changes = {"loss": "dapo", "steps": 1, "epsilon_high": 0.28, "learning_rate": 1e-12, "enforce_format": True}
    arguments = rl_command(tmp_path, model_folder, questions, **changes)
    result = run([*arguments, "--start", str(sft_folder / "adapter")])
    assert result.returncode == 0, result.stderr
    effective = json.loads((tmp_path / "effective.json").read_text())
    assert (effective["trainer"]["loss_type"], effective["trainer"]["epsilon_high"]) == ("dapo", 0.28)
    assert effective["started_from"] == "sft"
    # However short, what the enforcer guides begins with the first tag, which earns 0.1.
    assert tables.read(tmp_path / "log.parquet", tables.TRAINING_LOG)["format_reward"].item() >= 0.1 - 1e-9
    from safetensors.torch import load_file

    before = load_file(sft_folder / "adapter" / "adapter_model.safetensors")
    after = load_file(tmp_path / "adapter" / "adapter_model.safetensors")
    assert before.keys() == after.keys()
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in before)


def test_dapo_in_enforced_json_from_the_base_model(tmp_path, model_folder, questions):
    """What Qwen 3 and Gemma 4 go through, in small."""
    changes = {"loss": "dapo", "steps": 1, "epsilon_high": 0.28, "enforce_format": True}
    changes |= {"json_format_reward": 5.0, "repair_json": True, "mask_truncated": True}
    changes |= {"format": "json", "end_of_turn": ["<|endoftext|>"], "max_tokens": 128}
    result = run(rl_command(tmp_path, model_folder, questions, "underconfidence-4", **changes))
    assert result.returncode == 0, result.stderr
    log = tables.read(tmp_path / "log.parquet", tables.TRAINING_LOG)
    # Every output that is not cut off obeys the format, and is rewarded for it.
    assert log["format_rate"].item() >= 1 - log["truncation_rate"].item() > 0
    assert log["format_reward"].item() == pytest.approx(5 * log["format_rate"].item())
    assert log["confidence"].item() is not None
    effective = json.loads((tmp_path / "effective.json").read_text())
    expected = {
        "loss_type": "dapo",
        "scale_rewards": "none",
        "epsilon": 0.2,
        "epsilon_high": 0.28,
        "mask_truncated_completions": True,
        "importance_sampling_level": "sequence",
        "entropy_coef": 0.0,
        "delta": None,
        "generation_kwargs": None,
        "use_vllm": False,
    }
    assert {name: effective["trainer"][name] for name in expected} == expected
    assert effective["started_from"] == "base"
    assert effective["settings"]["rl"]["json_format_reward"] == 5.0
    assert len(effective["stop_token_ids"]) == 2


def test_too_few_questions_are_one_line(tmp_path, model_folder, questions):
    result = run(rl_command(tmp_path, model_folder, questions, questions_per_step=8))
    assert result.returncode == 1
    message = "train_rl: 4 train questions are fewer than rl.questions_per_step 8"
    assert result.stderr.splitlines()[-1].startswith(message)
    assert not list(tmp_path.iterdir())
