"""`candor plan`: reading a dry run, and estimating hours from benchmark files."""

from pathlib import Path

import pytest

from candor.cli.jobs import Job, read_jobs
from candor.cli.plan import estimate

DRY_RUN = """\
Building DAG of jobs...
[Tue Dec  1 16:00:00 2026]
rule train_rl:
    input: scripts/train_rl.py, results/data/math/train.parquet
    output: results/rl/m/math/brier-1/1/adapter
    log: logs/rl/m/math/brier-1/1.log
    jobid: 7
    benchmark: results/benchmarks/rl/m/math/brier-1/1.tsv
    reason: Missing output files: results/rl/m/math/brier-1/1/adapter
    wildcards: model=m, dataset=math, scheme=brier-1, attempt=1
    threads: 8
    resources: tmpdir=<TBD>, mem_mb=49152, mem=49.15 GB, runtime=90, gpu=1

localrule all:
    input: results/tables/confidence_metrics.csv
    jobid: 0
    resources: tmpdir=<TBD>
"""


def test_a_dry_run_is_read():
    job, gathering = read_jobs(DRY_RUN)
    assert job.wildcards == {"model": "m", "dataset": "math", "scheme": "brier-1", "attempt": "1"}
    assert (job.rule, job.hours, job.gpus) == ("train_rl", 1.5, 1)
    assert job.benchmark == "results/benchmarks/rl/m/math/brier-1/1.tsv"
    assert (job.log, job.outputs) == ("logs/rl/m/math/brier-1/1.log", ("results/rl/m/math/brier-1/1/adapter",))
    assert (gathering.rule, gathering.benchmark, gathering.gpus) == ("all", "", 0)
    assert (gathering.log, gathering.outputs) == ("", ())


def job(model: str, scheme: str, hours: float = 10.0, gpus: int = 1) -> Job:
    return Job("train_rl", {"model": model, "scheme": scheme}, f"{model}-{scheme}.tsv", hours, gpus)


def finish(folder: Path, done: Job, hours: float) -> None:
    (folder / done.benchmark).write_text(f"s\th:m:s\n{3600 * hours}\t-\n")


def test_hours_are_those_of_the_finished_jobs_that_are_most_alike(tmp_path):
    done = [job("small", "a"), job("small", "b"), job("large", "a")]
    for one, hours in zip(done, (1.0, 3.0, 8.0), strict=True):
        finish(tmp_path, one, hours)
    planned = [job("small", "c"), job("large", "c", gpus=2)]
    stage = estimate(planned, [*done, *planned], tmp_path)["train_rl"]
    assert (stage.jobs, stage.gpu_jobs, stage.measured) == (2, 2, 2)
    assert stage.hours == pytest.approx(2.0 + 8.0)  # the mean of the small ones, the large one
    assert stage.gpu_hours == pytest.approx(2.0 + 2 * 8.0)
    assert len(stage.finished) == 3


def test_where_nothing_is_finished_it_is_what_is_asked_for(tmp_path):
    planned = [job("m", "a", hours=4.0), job("m", "b", hours=5.0, gpus=0), Job("all", {}, "", 0.0, 0)]
    # The time of a try that is to be run again is not that of a finished job.
    finish(tmp_path, planned[0], 1.0)
    stages = estimate(planned, planned, tmp_path)
    assert list(stages) == ["train_rl"]
    assert (stages["train_rl"].hours, stages["train_rl"].gpu_hours, stages["train_rl"].measured) == (9.0, 4.0, 0)


def test_a_broken_benchmark_file_is_named(tmp_path):
    done, planned = job("m", "a"), job("m", "b")
    (tmp_path / done.benchmark).write_text("s\n")
    with pytest.raises(ValueError, match=r"m-a\.tsv: not a benchmark file"):
        estimate([planned], [done, planned], tmp_path)
