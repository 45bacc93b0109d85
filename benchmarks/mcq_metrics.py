"""Time the multiple-choice metrics at the paper's size: MMLU-Pro's 12,032 questions, 11 runs, 13 models, 2 protocols.

Prints the time and the peak memory, which must stay below 60 s and 4 GiB, and how much longer a plain bootstrap would
take that computes every metric from the rows of each resample; that one is measured on a few resamples.

    PYTHONPATH=src python benchmarks/mcq_metrics.py
"""

import argparse
import resource
import sys
import time

import numpy as np
import polars as pl

from candor.mcq.metrics import measure
from candor.tables import ITEMS, MCQ_PREDICTIONS

OPTIONS = 10


def made_up_items(questions: int, random: np.random.Generator) -> pl.DataFrame:
    columns = {
        "item_id": [f"q{i}" for i in range(questions)],
        "options": [[f"option {k}" for k in range(OPTIONS)]] * questions,
        "gold": random.integers(OPTIONS, size=questions),
    }
    return pl.DataFrame(columns, schema_overrides={"gold": pl.Int32}).select(
        [pl.col(name) if name in columns else pl.lit(None, dtype).alias(name) for name, dtype in ITEMS.items()]
    )


def made_up_predictions(items: pl.DataFrame, runs: int, random: np.random.Generator) -> pl.DataFrame:
    """Return predictions of a model that is right in six of ten outputs and guesses in the others."""
    gold = np.repeat(items["gold"].to_numpy(), runs)
    choice = np.where(random.random(len(gold)) < 0.6, gold, random.integers(OPTIONS, size=len(gold)))
    columns = {
        "item_id": np.repeat(items["item_id"].to_numpy(), runs),
        "run": np.tile(np.arange(runs), len(items)),
        "gold": gold,
        "clamped": False,
        "rule": "answer_is",
        "extracted": "option",
        "choice": choice,
        "position": choice,
        "similarity": None,
        "correct": choice == gold,
    }
    return pl.DataFrame(columns).cast(dict(MCQ_PREDICTIONS))


def plain_seconds(predictions: pl.DataFrame, runs: int, resamples: int, random: np.random.Generator) -> float:
    """Return the seconds that one resample takes that computes the metrics from its rows."""
    choice = predictions["choice"].to_numpy().reshape(-1, runs)
    correct = predictions["correct"].to_numpy().reshape(-1, runs)
    start = time.perf_counter()
    for _ in range(resamples):
        drawn = random.integers(len(choice), size=len(choice))
        accuracy = 100 * correct[drawn].mean(axis=0)
        accuracy.mean(), accuracy.var(), abs(accuracy[1:].mean() - accuracy[0])
        of = choice[drawn]
        np.mean([(of[:, i] == of[:, j]).mean() for i in range(runs) for j in range(i)])
    return (time.perf_counter() - start) / resamples


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=12_032)
    parser.add_argument("--runs", type=int, default=11)
    parser.add_argument("--cells", type=int, default=26, help="models x protocols")
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--plain-resamples", type=int, default=5)
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    items = made_up_items(arguments.questions, random)
    seconds = 0.0
    for cell in range(arguments.cells):
        predictions = made_up_predictions(items, arguments.runs, random)
        start = time.perf_counter()
        measure(items, predictions, seed=1, name=f"cell-{cell}", resamples=arguments.resamples)
        seconds += time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # Linux counts KiB
    plain = plain_seconds(predictions, arguments.runs, arguments.plain_resamples, random)
    plain *= arguments.resamples * arguments.cells
    rows = arguments.cells * arguments.questions * arguments.runs
    print(f"{rows:,} rows, {arguments.resamples} resamples: {seconds:.1f} s, peak {peak:.2f} GiB")
    print(f"plain bootstrap: {plain:,.0f} s (from {arguments.plain_resamples} resamples), ratio {plain / seconds:,.0f}")
    sys.exit(seconds > 60 or peak > 4)
