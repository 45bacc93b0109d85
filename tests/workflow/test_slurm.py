"""`snakemake --profile slurm` on a real Slurm (tests/slurm/cluster.py) with two declared GPUs; the model is a stand-in."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

CLUSTER = Path(__file__).parents[1] / "slurm" / "cluster.py"
RUN = "smollm2-135m-instruct/hotpotqa-modified"
ADAPTER = f"results/rl/{RUN}/brier-1/1/adapter"
HASTE = (
    "--slurm-init-seconds-before-status-checks",
    "1",
    "--seconds-between-status-checks",
    "1",
    "--latency-wait",
    "5",
)
"""The plugin waits 40 seconds before it first asks how its jobs are."""
PROFILE = ("--profile", "slurm", "--configfile", "config/demo.yaml")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory) -> Iterator[None]:
    if os.geteuid() != 0:
        pytest.skip("only root can install and start a Slurm")
    folder = tmp_path_factory.mktemp("slurm")
    subprocess.run([sys.executable, CLUSTER, "start", folder], check=True)
    yield
    subprocess.run([sys.executable, CLUSTER, "stop", folder], check=True)


@pytest.fixture
def repository(clone, stubbed, edit, request) -> Path:
    """The repository with one run of the demo on a GPU, under one scheme."""

    def shrink(settings: dict) -> None:
        settings["runs"] = settings["runs"][:1]
        settings["runs"][0] |= {"schemes": ["brier-1"], "baselines": ["base-xml", "sft-xml"]}
        settings["runs"][0]["resources"]["train_rl"] = {"memory_gib": 1, "hours": 1}
        settings["models"]["smollm2-135m-instruct"]["device"] = "gpu"
        settings["mcq_runs"] = []

    copy = clone(re.sub(r"\W", "_", request.node.name))
    stubbed(copy)
    edit(copy, shrink)
    return copy


@pytest.fixture
def prepared(repository, run) -> Path:
    """The same with all that RL needs, made here and not on the cluster."""
    needed = ("data/hotpotqa-modified/train.parquet", "models/smollm2-135m-instruct", f"sft/{RUN}/adapter")
    run(repository, "snakemake", "--cores", "2", *(f"results/{name}" for name in needed))
    return repository


@pytest.fixture
def start(cluster, repository) -> Iterator[Callable[..., subprocess.Popen]]:
    """Start the command that a user types, with targets, and the demo's configuration in place of the paper's."""
    processes = []

    def run(*targets: str, **environment: str) -> subprocess.Popen:
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "snakemake", *targets, *PROFILE, *HASTE],
                cwd=repository,
                env={**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
                | environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
        return processes[-1]

    yield run
    for process in processes:  # of a test that failed
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)


def end(process: subprocess.Popen) -> str:
    output = process.communicate(timeout=600)[0]
    assert process.returncode == 0, output[-5000:]
    return output


def accounts(of: str) -> list[dict[str, str]]:
    """Say what Slurm's accounts hold of the jobs of a rule, in the order of their submission."""
    fields = ("JobID", "Comment", "State", "ReqMem", "AllocTRES")
    command = ["sacct", "--allocations", "--noheader", "--parsable2", f"--format={','.join(fields)}"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    jobs = [dict(zip(fields, line.split("|"), strict=True)) for line in lines]
    return [job for job in jobs if job["Comment"].startswith(f"rule_{of}")]


def queue(*options: str) -> list[str]:
    command = ["squeue", "--noheader", "--format=%i %T %k", *options]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def wait_for(ready: Callable[[], object], process: subprocess.Popen) -> None:
    deadline = time.monotonic() + 300
    while not ready():
        assert process.poll() is None, process.communicate()[0][-5000:]
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_a_run_ends_and_each_gpu_job_has_a_device_of_its_own(start, repository):
    end(start("all"))
    assert (repository / "results/tables/confidence_metrics.csv").exists()
    for rule, count, gpus in (("train_rl", 1, 1), ("generate_answers", 3, 1), ("build_dataset", 1, 0)):
        jobs = accounts(rule)
        assert [job["State"] for job in jobs] == ["COMPLETED"] * count
        assert [job["AllocTRES"].count("gres/gpu=1") for job in jobs] == [gpus] * count
    for path in (repository / "stub_devices").iterdir():
        script = path.name.split("-")[0]
        on_gpu = script in ("generate_sft_responses", "train_sft", "train_rl", "generate_answers")
        assert path.read_text() in (("0", "1") if on_gpu else ("none",)), script
    assert "Nothing to be done" in end(start("all"))


def test_a_job_over_its_memory_is_tried_again_with_more(start, prepared):
    before = len(accounts("train_rl"))
    end(start(ADAPTER, STUB_FILLS="train_rl"))
    first, second = accounts("train_rl")[before:]
    assert (first["ReqMem"], second["ReqMem"]) == ("1G", "2G")
    assert first["State"] != "COMPLETED"
    assert second["State"] == "COMPLETED"


def test_a_cancelled_job_and_a_requeued_one_come_back(start, prepared):
    before = len(accounts("train_rl"))
    process = start(ADAPTER, STUB_WAITS="train_rl")
    waits = prepared / "stub_waits"
    wait_for(waits.exists, process)
    (running,) = queue("--states=RUNNING")
    subprocess.run(["scancel", running.split()[0]], check=True)
    waits.unlink()

    wait_for(waits.exists, process)  # its second try
    (running,) = queue("--states=RUNNING")
    subprocess.run(["scontrol", "requeue", running.split()[0]], check=True)
    waits.unlink()

    wait_for(waits.exists, process)  # the second try once more
    (prepared / "stub_go").touch()
    end(process)
    cancelled, requeued = accounts("train_rl")[before:]
    assert cancelled["State"].startswith("CANCELLED")
    assert requeued["State"] == "COMPLETED"
    assert (prepared / ADAPTER / "weights").exists()


def test_an_interrupted_run_leaves_no_job_behind_and_goes_on(start, prepared):
    process = start(ADAPTER, STUB_WAITS="train_rl")
    wait_for((prepared / "stub_waits").exists, process)
    assert queue()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode != 0
    deadline = time.monotonic() + 30
    while queue():
        assert time.monotonic() < deadline
        time.sleep(0.5)
    assert not (prepared / ADAPTER).exists()
    end(start(ADAPTER))
    assert (prepared / ADAPTER / "weights").exists()


def test_starting_twice_is_safe_and_another_cluster_is_left_alone(cluster, tmp_path):
    folder = Path("/etc/slurm/slurm.conf").resolve().parent
    again = subprocess.run([sys.executable, CLUSTER, "start", folder], check=True, capture_output=True, text=True)
    assert "runs" in again.stdout
    second = subprocess.run([sys.executable, CLUSTER, "start", tmp_path], capture_output=True, text=True)
    assert second.returncode != 0
    assert "another cluster's" in second.stderr
    assert not list(tmp_path.glob("*.pid"))
