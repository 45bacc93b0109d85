"""The repository as a fresh clone has it, and the commands that a user types in it."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def clone(tmp_path_factory) -> Callable[[str], Path]:
    """Make a copy of what git knows of the repository, or would with the next commit; nothing of its results."""
    command = ["git", "-C", str(ROOT), "ls-files", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()

    def make(name: str) -> Path:
        copy = tmp_path_factory.mktemp(name) / "candor"
        for path in filter(lambda path: path.exists() or path.is_symlink(), map(Path(ROOT).joinpath, names)):
            target = copy / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
        return copy

    return make


@pytest.fixture(scope="session")
def run() -> Callable[..., subprocess.CompletedProcess]:
    """Run a command of this environment in a folder; its outputs, joined, are `.stdout`."""

    def command(folder: Path, name: str, *arguments: str, fails: bool = False, **environment: str):
        result = subprocess.run(
            [sys.executable, "-m", name, *arguments],
            cwd=folder,
            # No profile of the user's, and the tests' own `python` and `snakemake` where a command looks for them
            env={key: value for key, value in os.environ.items() if key != "SNAKEMAKE_PROFILE"}
            | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
            | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert (result.returncode != 0) == fails, result.stdout[-5000:]
        return result

    return command


@pytest.fixture(scope="session")
def jobs() -> Callable[[str], dict[str, int]]:
    """Read the table of jobs that Snakemake prints: the number of jobs by rule."""
    return _jobs


@pytest.fixture(scope="session")
def plan(run) -> Callable[..., dict[str, int]]:
    """Ask Snakemake in a folder for what it would run: the number of jobs by rule."""

    def planned(folder: Path, *arguments: str, **environment: str) -> dict[str, int]:
        return _jobs(run(folder, "snakemake", *arguments, "--dry-run", **environment).stdout)

    return planned


@pytest.fixture(scope="session")
def stubbed() -> Callable[[Path], None]:
    """Put a stand-in in the place of the model environment of a copy; see stub_model.py for why."""

    def put(copy: Path) -> None:
        python = copy / ".venv-model" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("stub_model.py")}" "$@"\n')
        python.chmod(0o755)

    return put


@pytest.fixture(scope="session")
def edit() -> Callable[[Path, Callable[[dict], None]], None]:
    """Change a copy's demo configuration."""

    def change(copy: Path, how: Callable[[dict], None]) -> None:
        path = copy / "config" / "demo.yaml"
        settings = yaml.safe_load(path.read_text(encoding="utf-8"))
        how(settings)
        path.write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")

    return change


def _jobs(output: str) -> dict[str, int]:
    table = re.search(r"^Job stats:\njob +count\n[- ]+\n(.*?)\n\n", output, re.MULTILINE | re.DOTALL)
    if table is None:
        assert "Nothing to be done" in output, output[-5000:]
        return {}
    counts = {name: int(count) for name, count in map(str.split, table[1].splitlines())}
    assert counts.pop("total") == sum(counts.values())
    return counts
