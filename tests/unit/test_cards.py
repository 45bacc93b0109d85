"""Cards say of each dataset and model what the paper's E.10 and the build say."""

import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from candor import data
from candor.config import Dataset, FileSource, load
from candor.report.cards import CITATIONS, MADE, dataset_card, model_card

ROOT = Path(__file__).parents[2]
PAPER = load(ROOT / "config" / "paper.yaml")


def rows_of(card: str) -> dict[str, list[str]]:
    """Read every table row of a card: the first cell, and the others."""
    cells = [line.strip("| ").split(" | ") for line in card.splitlines() if line.startswith("| ")]
    return {name: others for name, *others in cells}


def report(**train):
    split = {"read": 0, "dropped": {}, "kept": 0, "rows": 0, "difficulty": {"easy": 0, "medium": 0, "hard": 0}}
    return {"train": split | train, "test": split, "seed": 42, "in_both_splits": 0}


@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("deepmath", "MIT"),
        ("bigmath", "Apache-2.0"),
        ("hotpotqa", "CC-BY-SA-4.0"),
        ("hotpotqa-modified", "CC-BY-SA-4.0"),
    ],
)
def test_licences_of_the_papers_datasets_are_those_of_e_10(name, licence):
    dataset = PAPER.datasets[name]
    card = dataset_card(dataset, report())
    assert rows_of(card)["licence"] == [licence]
    assert dataset.source.revision in card
    assert ("difficulty from" in card) == (name == "deepmath")
    assert CITATIONS[dataset.kind] in card
    assert MADE[dataset.kind] in card


@pytest.mark.parametrize(
    ("name", "licence"),
    [
        ("qwen2.5-3b", "Qwen Research License Agreement"),
        ("llama3.2-3b", "Llama 3.2 Community License Agreement"),
        ("llama3.1-8b", "Llama 3.1 Community License Agreement"),
        ("qwen3-4b", "Apache-2.0"),
        ("gemma4-e2b", "Apache-2.0"),
    ],
)
def test_licences_of_the_papers_models_are_those_of_e_10(name, licence):
    model = PAPER.models[name]
    card = model_card(model, {"model.safetensors": 1000, "config.json": 10})
    rows = rows_of(card)
    assert rows["licence"] == [licence]
    assert rows["source"] == [f"the hub, `{model.source.hub}`, revision `{model.source.revision}`"]
    assert rows["size"] == ["1,010 bytes"]
    assert rows["`model.safetensors`"] == ["1,000"]


def test_every_kind_of_dataset_says_how_it_is_made():
    assert set(MADE) == set(get_args(Dataset.model_fields["kind"].annotation))
    assert set(CITATIONS) == set(MADE) - {"arithmetic"}  # which nobody else made


def test_rows_are_those_of_the_build(data_folder):
    files = [str(data_folder / "bigmath/big-math-digits_test_1000.jsonl")]
    source = FileSource(train=files, test=files)
    dataset = Dataset(label="Big", kind="bigmath", source=source, licence="Apache-2.0", grader="math", test_limit=9)
    (train, of_train), (test, of_test) = (data.build(dataset, split, 1) for split in ("train", "test"))
    card = dataset_card(dataset, {"train": of_train, "test": of_test, "seed": 1, "in_both_splits": 0})
    rows = rows_of(card)
    assert rows["in the table"] == [str(len(train)), "9"]
    assert rows["easy"] == [str(frame["difficulty"].eq("easy").sum()) for frame in (train, test)]
    dropped = [int(count) for name, counts in rows.items() if name.startswith("dropped") for count in counts]
    assert sum(dropped) + sum(map(int, rows["kept"])) == sum(map(int, rows["read"])) == 1000
    assert f"The terciles are {of_train['terciles'][0]:g} and" in card
    assert "both splits" not in card


def test_made_up_questions_are_not_taken_for_those_of_hotpotqa():
    dataset = load(ROOT / "config" / "demo.yaml").datasets["hotpotqa-modified"]
    card = dataset_card(dataset, report())
    assert "made-up entities" in card
    assert "## Citation" not in card


def test_questions_in_both_splits_are_told_and_reasons_are_counted_by_split():
    card = dataset_card(PAPER.datasets["hotpotqa"], report(dropped={"odd": 3}) | {"in_both_splits": 2})
    assert rows_of(card)["dropped: odd"] == ["3", "0"]
    assert "2 questions are in both splits." in card


def test_the_commands_write_them(tmp_path):
    demo = load(ROOT / "config" / "demo.yaml")
    dataset = demo.datasets["arithmetic"]
    (_, of_train), (_, of_test) = (data.build(dataset, split, 1) for split in ("train", "test"))
    (tmp_path / "report.json").write_text(
        json.dumps({"train": of_train, "test": of_test, "seed": 1, "in_both_splits": 0}), encoding="utf-8"
    )
    (tmp_path / "model").mkdir()
    (tmp_path / "model/weights").write_bytes(b"123")
    model = next(iter(demo.models.values()))
    for script, options in (
        ("write_dataset_card", ["--dataset", dataset.model_dump_json(), "--report", tmp_path / "report.json"]),
        ("write_model_card", ["--settings", model.model_dump_json(), "--model", tmp_path / "model"]),
    ):
        command = [sys.executable, ROOT / f"scripts/{script}.py", *options, "--output", tmp_path / f"{script}.md"]
        subprocess.run(command, check=True)
    assert rows_of((tmp_path / "write_dataset_card.md").read_text())["licence"] == ["Apache-2.0"]
    assert "## Citation" not in (tmp_path / "write_dataset_card.md").read_text()
    assert rows_of((tmp_path / "write_model_card.md").read_text())["`weights`"] == ["3"]
