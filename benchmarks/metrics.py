"""Time the confidence metrics with 1000 resamples on 1.66 million graded rows (a model's 14 variants on HotpotQA).

Prints the time, the peak memory, and how much longer a plain bootstrap would take that recomputes every metric from
the rows of each resample with scikit-learn; that one is measured on a few resamples of the same data.

    PYTHONPATH=src python benchmarks/metrics.py
"""

import argparse
import resource
import time

import numpy as np
import polars as pl
from sklearn.metrics import brier_score_loss, roc_auc_score

from candor.confidence.metrics import measure
from candor.tables import GRADES


def graded_rows(questions: int, samples: int, random: np.random.Generator) -> pl.DataFrame:
    """Return made-up grades in which harder questions are wrong more often and confidence knows a little of it."""
    n = questions * samples
    ability = np.repeat(random.beta(1, 1, questions), samples)
    correct = random.random(n) < ability
    confidence = np.clip(100 * (0.7 * ability + 0.3 * random.random(n)), 0, 100).astype(np.int32)
    difficulty = np.repeat(random.choice(["easy", "medium", "hard"], questions), samples)
    missing = random.random(n) < 0.01
    return pl.DataFrame(
        {
            "question_id": np.repeat([f"{i:024x}" for i in random.permutation(questions)], samples),
            "sample": np.tile(np.arange(samples, dtype=np.int32), questions),
            "difficulty": difficulty,
            "gold": "gold",
            "answer": "answer",
            "score": correct.astype(float),
            "correct": correct,
            "confidence": pl.Series(confidence).set(pl.Series(missing), None),
            "well_formed": random.random(n) < 0.97,
            "answer_status": "valid",
            "confidence_status": np.where(missing, "missing", "valid"),
        },
        schema=GRADES,
    )


def plain_resample(correct: np.ndarray, confidence: np.ndarray, random: np.random.Generator) -> tuple[float, ...]:
    """Draw questions and recompute the metrics from their rows; arrays are [questions, samples]."""
    drawn = random.integers(len(correct), size=len(correct))
    right, stated = correct[drawn].ravel(), confidence[drawn].ravel()
    accuracy, brier = right.mean(), brier_score_loss(right, stated)
    bins = np.minimum((stated * 10).astype(int), 9)
    ece = sum(abs(right[bins == b].mean() - stated[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins))
    return accuracy, roc_auc_score(right, stated), accuracy - brier, brier, ece, accuracy - stated.mean()


def plain_seconds(grades: pl.DataFrame, samples: int, resamples: int) -> float:
    """Return the seconds that one plain resample takes, overall and for the three difficulties."""
    random = np.random.default_rng(0)
    groups = [grades, *(grades.filter(pl.col("difficulty") == level) for level in ("easy", "medium", "hard"))]
    start = time.perf_counter()
    for group in groups:
        correct = group["correct"].to_numpy().reshape(-1, samples)
        confidence = (group["confidence"].fill_null(100).to_numpy().reshape(-1, samples) + 0.5) / 101
        for _ in range(resamples):
            plain_resample(correct, confidence, random)
    return (time.perf_counter() - start) / resamples


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=7405)
    parser.add_argument("--samples", type=int, default=16)
    parser.add_argument("--variants", type=int, default=14)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--plain-resamples", type=int, default=5)
    arguments = parser.parse_args()
    random = np.random.default_rng(1)
    variants = [graded_rows(arguments.questions, arguments.samples, random) for _ in range(arguments.variants)]
    start = time.perf_counter()
    for i, grades in enumerate(variants):
        measure(grades, seed=1, name=f"variant-{i}", resamples=arguments.resamples)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # Linux counts KiB
    plain = plain_seconds(variants[0], arguments.samples, arguments.plain_resamples)
    plain *= arguments.resamples * arguments.variants
    print(f"{sum(map(len, variants)):,} rows, {arguments.resamples} resamples: {seconds:.1f} s, peak {peak:.2f} GiB")
    print(
        print(
            f"plain bootstrap with scikit-learn: {plain:,.0f} s (from {arguments.plain_resamples} resamples), "
            f"ratio {plain / seconds:,.0f}"
        )
    )
