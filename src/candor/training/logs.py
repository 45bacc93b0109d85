"""The log of a training run, one row a step, kept on disk so that a killed run loses none of it."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl


class StepLog:
    """Collects what the trainer reports at each step, and what is added to it, in `steps.jsonl` of the work folder."""

    def __init__(self, work: str | Path):
        self.path = Path(work) / "steps.jsonl"
        self.extra: dict[str, float | None] = {}
        """Figures of the step under way that the trainer does not know; they stand in the next row."""

    def rows(self) -> dict[int, dict]:
        """Return the rows by step; of a step that was run twice (it went on from a checkpoint before it) the last."""
        if not self.path.exists():
            return {}
        rows = {}
        for line in self.path.read_text(encoding="utf-8").splitlines():
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                continue  # blank, or the run was killed in the middle of the line and its step is run again
            rows[row["step"]] = row
        return rows

    def frame(self, schema: pl.Schema, steps: int) -> pl.DataFrame:
        """Return the log as a table of `schema`, one row for each of `steps` steps.

        Raises:
            RuntimeError: the log misses a step.
        """
        rows = self.rows()
        if missing := sorted(set(range(1, steps + 1)) - set(rows)):
            raise RuntimeError(f"{self.path}: no row for step {missing[0]}; remove the folder and train again")
        return pl.DataFrame(
            [{name: rows[step].get(name) for name in schema} for step in range(1, steps + 1)], schema=schema
        )

    def append(self, row: dict) -> None:
        """Write the row of a step. It begins a line of its own, also where a killed run left half a one."""
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write("\n" + json.dumps({key: _number(value) for key, value in row.items()}) + "\n")

    def callback(self, after_step: Callable[[int], None] = lambda step: None):
        """Return the callback for the trainer; made here so that this module imports without transformers.

        `after_step` is called with the step's number once its row is written; what it raises ends the training.
        """
        from transformers import TrainerCallback

        log = self

        class WriteStep(TrainerCallback):
            def on_log(self, args, state, control, logs=None, **kwargs):
                if logs is None or "loss" not in logs:
                    return  # the summary at the end
                log.append(
                    {
                        "step": state.global_step,
                        "loss": logs["loss"],
                        "gradient_norm": logs.get("grad_norm"),
                        "learning_rate": logs.get("learning_rate"),
                        "length": logs.get("completions/mean_length"),
                        "truncation_rate": logs.get("completions/clipped_ratio"),
                        **log.extra,
                    }
                )
                after_step(state.global_step)

        return WriteStep()


def _number(value):
    """Turn the trainer's figures (tensors, strings such as '0.01') into numbers; NaN into null."""
    if value is None or isinstance(value, int):
        return value
    value = float(value)
    return value if value == value else None
