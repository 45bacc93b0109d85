"""What DVC runs, and does not; what runs is a stand-in for the model (see stub_model.py)."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CONFIDENCE = ["build", "train_sft", "train_rl", "generate", "grade", "measure", "judge", "measure_abstention"]
CHOICES = ["mcq_build", "mcq_generate", "mcq_match", "mcq_measure"]
STAGES = ["schemes", "build", "cards", *CONFIDENCE[1:], *CHOICES, "tabulate", "plot"]


def ran(output: str) -> list[str]:
    return re.findall(r"^Running stage '(\w+)':", output, re.MULTILINE)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def repository(clone, edit, stubbed) -> Path:
    """A clone with a demo of one scheme, to be quick."""
    copy = clone("dvc")
    stubbed(copy)
    edit(copy, lambda settings: settings["runs"][0].update(schemes=["brier-1"], baselines=[]))
    git(copy, "init", "--quiet")
    git(copy, "add", "--all")
    git(copy, "commit", "--quiet", "--message", "a clone")
    return copy


def test_repro_runs_what_changed_and_a_second_clone_pulls_it(repository, run, edit, plan, tmp_path):
    assert set(ran(run(repository, "dvc", "repro").stdout)) == set(STAGES)
    again = run(repository, "dvc", "repro").stdout
    assert ran(again) == []
    assert "Data and pipelines are up to date." in again

    edit(repository, lambda settings: settings["runs"][0]["schemes"].append("brier-2"))
    output = run(repository, "dvc", "repro").stdout
    assert ran(output) == [stage for stage in STAGES if stage not in ("build", "cards", "train_sft", *CHOICES)]
    jobs = re.findall(r"^(?:local)?rule (train_rl|generate_answers|grade_answers):", output, re.MULTILINE)
    assert jobs == ["train_rl", "generate_answers", "grade_answers"]  # of the new scheme alone

    run(repository, "dvc", "push")
    git(repository, "add", "--all")
    git(repository, "commit", "--quiet", "--message", "two schemes")
    second = tmp_path / "second"
    git(tmp_path, "clone", "--quiet", str(repository), str(second))
    run(second, "dvc", "remote", "modify", "--local", "local", "url", str(repository / ".dvc" / "remote"))
    run(second, "dvc", "pull")
    table = "results/tables/confidence_metrics.csv"
    assert (second / table).read_bytes() == (repository / table).read_bytes()
    assert "up to date" in run(second, "dvc", "status").stdout
    # Files that were pulled have arbitrary times; after --touch Snakemake agrees that nothing is to be done.
    run(second, "snakemake", "--cores", "1", "--touch", "all")
    assert plan(second, "all") == {}


def test_gpqa_is_never_given_to_a_remote(repository, run):
    """Items of GPQA, and what models say of them, are not among what DVC keeps."""
    secret = "a question of the gated benchmark"
    for path in ("items/gpqa.parquet", "generations/gpqa-main/moved/model/sl.parquet", "predictions/gpqa/none.parquet"):
        file = repository / "results" / "mcq" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(secret)
    run(repository, "dvc", "commit", "--force")
    run(repository, "dvc", "push")
    kept = [path for path in (repository / ".dvc").rglob("*") if path.is_file()]
    assert len(kept) > 10
    assert not [path for path in kept if secret.encode() in path.read_bytes()]


def test_stages_follow_every_setting_of_the_demo_and_every_script():
    stages = yaml.safe_load((ROOT / "dvc.yaml").read_text(encoding="utf-8"))["stages"]
    assert list(stages) == STAGES
    demo = yaml.safe_load((ROOT / "config" / "demo.yaml").read_text(encoding="utf-8"))
    followed = {key for stage in stages.values() for keys in stage["params"] for key in keys["config/demo.yaml"]}
    assert set(demo) <= followed
    for index, demo_run in enumerate(demo["runs"]):
        sft = {f"runs.{index}.{key}" for key in ("model", "dataset", "sft", "max_tokens", "max_prompt_tokens")}
        assert demo_run.get("sft") is None or sft <= followed
    scripts = {Path(path).stem for stage in stages.values() for path in stage["deps"] if path.startswith("scripts/")}
    rules = {
        rule for path in (ROOT / "rules").glob("*.smk") for rule in re.findall(r'script\("(\w+)"\)', path.read_text())
    }
    assert scripts == rules
