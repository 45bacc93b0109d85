"""`candor plan`: the jobs that a configuration still takes, and the hours and GPU hours that they will take."""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from candor.cli.jobs import Job, add_options, dry_run

_BENCHMARKS = Path("results/benchmarks")
_NUMBERS = ("jobs", "gpu_jobs", "hours", "gpu_hours", "measured")
"""Of a stage, in its order."""
_COLUMNS = ("jobs", "of them on a GPU", "hours", "GPU hours", "estimated from")


@dataclass
class Stage:
    """What a rule still takes."""

    jobs: int = 0
    gpu_jobs: int = 0
    hours: float = 0.0
    gpu_hours: float = 0.0
    measured: int = 0
    """Jobs whose time is estimated from finished ones; that of the others is what they ask for, which is more."""
    finished: set[str] = field(default_factory=set)
    """Benchmark files that these estimates are from."""


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add `plan` to a parser."""
    parser = commands.add_parser(
        "plan",
        help="the jobs that a configuration still takes, and their hours",
        description="Count the jobs that are still to be run, by rule, and estimate their hours: by the finished jobs of the "
        "same rule that are most alike, and where there are none by what a job asks for, which is more than it takes.",
    )
    add_options(parser)
    parser.set_defaults(run=_plan)


def estimate(planned: Sequence[Job], every: Sequence[Job], folder: Path) -> dict[str, Stage]:
    """Sum up planned jobs by rule, in their order, without those that only gather others.

    A job's time is the mean of the finished jobs of its rule that share most of its wildcards (the same model and dataset,
    say), by their benchmark files.

    Args:
        planned: what is to be run.
        every: all jobs of the workflow, among them those that were run.
        folder: where the benchmark files' paths begin.

    Raises:
        ValueError: a benchmark file cannot be read.
    """
    finished: dict[str, list[tuple[Job, float]]] = {}
    open_ones = {job.benchmark for job in planned}
    for job in every:
        if job.benchmark and job.benchmark not in open_ones and (folder / job.benchmark).exists():
            finished.setdefault(job.rule, []).append((job, _hours(folder / job.benchmark)))
    stages: dict[str, Stage] = {}
    for job in planned:
        if not job.benchmark:
            continue
        stage = stages.setdefault(job.rule, Stage())
        hours = job.hours
        if alike := finished.get(job.rule):
            shared = [
                sum(other.wildcards.get(key) == value for key, value in job.wildcards.items()) for other, _ in alike
            ]
            nearest = [one for one, count in zip(alike, shared, strict=True) if count == max(shared)]
            hours = sum(took for _, took in nearest) / len(nearest)
            stage.measured += 1
            stage.finished |= {other.benchmark for other, _ in nearest}
        stage.jobs += 1
        stage.gpu_jobs += job.gpus > 0
        stage.hours += hours
        stage.gpu_hours += job.gpus * hours
    return stages


def _plan(arguments: argparse.Namespace) -> None:
    planned = dry_run(arguments)
    # A plan takes seconds: of the finished jobs too it is asked for only where there can be any.
    every = dry_run(arguments, "--forceall") if planned and _BENCHMARKS.exists() else []
    stages = estimate(planned, every, Path())
    if arguments.json:
        print(json.dumps({rule: _numbers(stage) for rule, stage in stages.items()}, indent=2))
        return
    if not stages:
        print("Nothing is left to be run.")
        return
    total = Stage(*(sum(getattr(stage, name) for stage in stages.values()) for name in _NUMBERS))
    total.finished = set().union(*(stage.finished for stage in stages.values()))
    rows = [("", *_COLUMNS), *((rule, *_texts(stage)) for rule, stage in stages.items()), ("total", *_texts(total))]
    first, *others = (max(map(len, column)) for column in zip(*rows, strict=True))
    for rule, *texts in rows:
        print(rule.ljust(first), *(text.rjust(width) for text, width in zip(texts, others, strict=True)), sep="  ")


def _hours(path: Path) -> float:
    try:
        names, first, *_ = path.read_text(encoding="utf-8").splitlines()
        return float(dict(zip(names.split("\t"), first.split("\t"), strict=True))["s"]) / 3600
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: not a benchmark file of Snakemake ({error}); remove it") from error


def _numbers(stage: Stage) -> dict[str, Any]:
    return {name: getattr(stage, name) for name in _NUMBERS} | {"finished": len(stage.finished)}


def _texts(stage: Stage) -> tuple[str, ...]:
    source = f"{len(stage.finished)} finished" if stage.measured else "what is asked for"
    if 0 < stage.measured < stage.jobs:
        source += f", {stage.jobs - stage.measured} by what is asked for"
    return str(stage.jobs), str(stage.gpu_jobs), f"{stage.hours:.1f}", f"{stage.gpu_hours:.1f}", source
