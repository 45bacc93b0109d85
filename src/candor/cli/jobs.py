"""Jobs of the workflow, as Snakemake's dry run tells of them: what `candor plan` and `candor status` go by."""

import argparse
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_JOB = re.compile(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)+)", re.MULTILINE)


@dataclass(frozen=True)
class Job:
    """A job as a dry run tells of it."""

    rule: str
    wildcards: dict[str, str]
    benchmark: str
    """Path of its benchmark file, where it notes its time; empty where it has none."""
    hours: float
    """That it asks for."""
    gpus: int
    log: str = ""
    """Path of its log; empty where it only gathers others."""
    outputs: tuple[str, ...] = ()


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say of which workflow."""
    parser.add_argument("targets", nargs="*", metavar="TARGET", help="files or rules, as Snakemake takes them [all]")
    parser.add_argument("--configfile", metavar="FILE", help="in place of config/demo.yaml")
    parser.add_argument("--json", action="store_true", help="for programs")


def dry_run(arguments: argparse.Namespace, *options: str) -> list[Job]:
    """List the jobs that Snakemake would run for the targets.

    Raises:
        FileNotFoundError: the configuration or the Snakefile is not there.
        ValueError: Snakemake has no plan; its own words.
    """
    if arguments.configfile and not Path(arguments.configfile).exists():
        raise FileNotFoundError(f"{arguments.configfile}: there is no such configuration")
    if not Path("Snakefile").exists():
        raise FileNotFoundError("no Snakefile here; run `candor` in the repository")
    command = [sys.executable, "-m", "snakemake", *arguments.targets, "--dry-run", "--cores", "1", *options]
    if arguments.configfile:
        command += ["--configfile", arguments.configfile]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        said = result.stdout.rpartition("Building DAG of jobs...")[2]  # above it is a header
        raise ValueError(f"Snakemake has no plan: {said.strip()[-2000:]}")
    return read_jobs(result.stdout)


def read_jobs(output: str) -> list[Job]:
    """Read the jobs from what `snakemake --dry-run` prints."""
    jobs = []
    for rule, said in _JOB.findall(output):
        lines = dict(line.strip().split(": ", 1) for line in said.splitlines() if ": " in line)
        wildcards, resources = (_pairs(lines.get(name, "")) for name in ("wildcards", "resources"))
        hours = float(resources.get("runtime", 0)) / 60
        jobs.append(
            Job(
                rule,
                wildcards,
                lines.get("benchmark", ""),
                hours,
                int(resources.get("gpu", 0)),
                lines.get("log", ""),
                tuple(filter(None, lines.get("output", "").split(", "))),
            )
        )
    return jobs


def _pairs(text: str) -> dict[str, str]:
    return dict(re.findall(r"(\w+)=([^,]*)", text))
