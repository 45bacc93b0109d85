"""What the rules share: the validated configuration, interpreters, paths, settings and resources."""

import json
import os
import shlex
import string
import sys
from pathlib import Path

from snakemake.settings.types import DeploymentMethod

ROOT = Path(workflow.basedir)
sys.path.insert(0, str(ROOT / "src"))

from candor.config import FileSource, HubSource, Run, load
from candor.schemes import build
from candor.vocabulary import safe_name

try:
    settings = load(config)
    for name in settings.schemes:
        build(name, settings.schemes)
except ValueError as error:
    raise WorkflowError(str(error)) from None


EVALUATED = [run for run in settings.runs if run.evaluation]
EVALUATED_MODELS = list(dict.fromkeys(run.model for run in EVALUATED))


# --- Interpreters -----------------------------------------------------------------------------------------------------
# Rules call "$CONTROLLER_PYTHON" or "$MODEL_PYTHON". Both live in the shell and not in `params`, so that a repository that
# moves, or a cluster with other paths, makes nothing run again. Conda takes PYTHONPATH away, hence the prefix.

if DeploymentMethod.CONDA in workflow.deployment_settings.deployment_method:
    controller_python = model_python = "python"
else:
    controller_python, model_python = sys.executable, ROOT / settings.model_python

exports = {
    "CONTROLLER_PYTHON": controller_python,
    "MODEL_PYTHON": model_python,
    "PYTHONPATH": ROOT / "src",
    "PYTHONUNBUFFERED": 1,  # through a pipe Python would hold its messages back
    "TQDM_MININTERVAL": 2,  # seconds between the states of a progress bar; the log keeps them all
}
shell.prefix(
    "set -euo pipefail; export "
    + " ".join(f"{name}={shlex.quote(str(value))}" for name, value in exports.items())
    .replace("{", "{{")
    .replace("}", "}}")
    + "; "
)


def device_environment(wildcards):
    """Return the conda environment of a model's stages."""
    return f"../envs/model-{settings.models[wildcards.model].device}.yaml"


# --- Wildcards --------------------------------------------------------------------------------------------------------


def any_of(names):
    """Return a regular expression for these names, and for nothing where there are none."""
    return "|".join(map(re.escape, dict.fromkeys(names))) or "(?!)"


wildcard_constraints:
    dataset=any_of(settings.datasets),
    model=any_of(settings.models),
    scheme=any_of(safe_name(scheme) for run in settings.runs for scheme in run.schemes),
    variant=any_of(variant for run in settings.runs for variant in run.variants),
    attempt=r"[1-9]\d*",


# --- Paths ------------------------------------------------------------------------------------------------------------


def script(name):
    """Return the path of a script, from the working directory: scripts are inputs, a changed one runs again."""
    return os.path.relpath(ROOT / "scripts" / f"{name}.py")


def run_of(wildcards) -> Run:
    """Return the run that a path belongs to."""
    try:
        return settings.run(wildcards.model, wildcards.dataset)
    except KeyError:
        runs = ", ".join(f"{run.model}/{run.dataset}" for run in settings.runs)
        raise WorkflowError(
            f"no run of {wildcards.model} on {wildcards.dataset} is configured; valid: {runs}"
        ) from None


def scheme_of(wildcards, name) -> str:
    """Return the scheme that a path name stands for."""
    run = run_of(wildcards)
    try:
        return run.scheme(name)
    except KeyError:
        raise WorkflowError(
            f"{wildcards.model} on {wildcards.dataset} has no scheme {name!r}; valid: {', '.join(run.schemes)}"
        ) from None


def rl_folder(run, scheme):
    """Return the folder of the attempt at a scheme that is evaluated."""
    return f"results/rl/{run.model}/{run.dataset}/{safe_name(scheme)}/{run.attempts_of(scheme).evaluated}"


def metrics_of(run):
    """List a run's metrics in the order of the tables."""
    return [f"results/metrics/{run.model}/{run.dataset}/{variant}.json" for variant in run.variants]


def labels_of(run):
    """Name a run's model and dataset as tables print them."""
    return {"model": settings.models[run.model].label, "dataset": settings.datasets[run.dataset].label}


def title_of(run):
    """Name a run in a figure."""
    return ", ".join(labels_of(run).values())


# --- Settings ---------------------------------------------------------------------------------------------------------
# A script gets one JSON object with what its stage depends on and nothing else: a setting that changes runs its stage again.


def to_json(value):
    """Write settings in one canonical way."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def model_settings(wildcards, *names):
    """Select settings of a model."""
    names = {"device", "chat_template_arguments", "end_of_turn", *names}
    return settings.models[wildcards.model].model_dump(include=names)


def run_settings(wildcards, *names):
    """Select settings of a run."""
    return run_of(wildcards).model_dump(include={"max_tokens", "max_prompt_tokens", *names})


# --- Resources --------------------------------------------------------------------------------------------------------
# A retry gets as much again. Partitions, accounts and the number of retries are the cluster's: see profiles/.

# Threads of a stage that a run has one of. Snakemake lowers them to the cores that there are.
MODEL_THREADS = 8


def engine_threads(device):
    """Take half of the cores for generation on a CPU: two engines at a time are faster than one after another, since
    each spends much of its time in one thread. Training is not so: two at a time would need twice its memory."""
    try:
        return max(1, workflow.cores // 2) if device == "cpu" else MODEL_THREADS
    except WorkflowError:  # on a cluster there is no such number
        return MODEL_THREADS


def side_by_side(wildcards):
    """Take them for a model's stage."""
    return engine_threads(settings.models[wildcards.model].device)


def growing(first):
    """Ask for `first` at the first try."""

    def amount(wildcards, attempt):
        return first * attempt

    return amount


def memory(stage):
    """Ask for the memory that the run's configuration names, in MiB."""

    def amount(wildcards, attempt):
        return getattr(run_of(wildcards).resources, stage).memory_gib * 1024 * attempt

    return amount


def minutes(stage):
    """Ask for the time that the run's configuration names."""

    def amount(wildcards, attempt):
        return round(getattr(run_of(wildcards).resources, stage).hours * 60 * attempt)

    return amount


def gpus(wildcards):
    """Ask for a GPU where the model is configured to run on one."""
    return int(settings.models[wildcards.model].device == "gpu")
