"""Time reading, grading and rewarding within the RL steps of the demo, against the steps themselves.

Trains for a few steps as the demo does, each of its runs under its first scheme, and prints for each the seconds of a step
and the share that the reward takes, grading included. A step is generation, reward, loss and gradient, without the
optimiser. Fails where a share is over 5 %. Runs in the model environment, after `make demo`; what it trains is thrown away.

    PYTHONPATH=src:scripts .venv-model/bin/python benchmarks/reward_share.py
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import train_rl
from candor.config import Config, Run, load
from candor.training import rl
from candor.training.models import import_unsloth

GOAL = 0.05


def timed(function, seconds: list[float]):
    """Wrap a function so that it notes how long each call takes."""

    def call(*arguments, **settings):
        start = time.perf_counter()
        try:
            return function(*arguments, **settings)
        finally:
            seconds.append(time.perf_counter() - start)

    return call


def train(config: Config, run: Run, results: Path, steps: int, folder: Path) -> None:
    model, dataset = config.models[run.model], config.datasets[run.dataset]
    settings = {
        "model": model.model_dump(include={"device", "chat_template_arguments", "end_of_turn", "train_precision"}),
        "rl": run.rl.model_dump() | {"steps": steps},
        "grader": dataset.grader,
        "schemes": config.definitions_of(run.schemes[0]),
        **run.model_dump(include={"max_tokens", "max_prompt_tokens", "format", "json_prompt", "json_answer_limit"}),
    }
    adapter = results / "sft" / run.model / run.dataset / "adapter"
    train_rl.main(
        argparse.Namespace(
            model=str(results / "models" / run.model),
            questions=results / "data" / run.dataset / "train.parquet",
            start=str(adapter) if run.rl.start == "sft" else None,
            settings=json.dumps(settings),
            scheme=run.schemes[0],
            attempt=1,
            seed=config.seed,
            work=str(folder / "work"),
            adapter=str(folder / "adapter"),
            training_log=folder / "log.parquet",
            effective=folder / "effective.json",
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", type=Path, default=Path("config/demo.yaml"))
    parser.add_argument("--results", type=Path, default=Path("results"), help="of that configuration")
    parser.add_argument("--steps", type=int, default=3)
    arguments = parser.parse_args()
    config = load(arguments.config)
    import_unsloth("cpu")
    from trl import GRPOTrainer

    steps: list[float] = []
    rewards: list[float] = []
    GRPOTrainer.training_step = timed(GRPOTrainer.training_step, steps)
    rl.reward = timed(rl.reward, rewards)
    rl.summarise = timed(rl.summarise, rewards)
    lines, worst = [], 0.0
    for run in config.runs:
        steps.clear()
        rewards.clear()
        with tempfile.TemporaryDirectory() as folder:
            train(config, run, arguments.results, arguments.steps, Path(folder))
        share = sum(rewards) / sum(steps)
        worst = max(worst, share)
        lines.append(
            f"{run.model} on {run.dataset}, {arguments.steps} steps: {sum(steps) / arguments.steps:.1f} s a step, "
            f"of which reward and grading {sum(rewards) / arguments.steps:.3f} s, {100 * share:.2f} %"
        )
    print("\n".join(lines))
    sys.exit(worst > GOAL)


if __name__ == "__main__":
    main()
