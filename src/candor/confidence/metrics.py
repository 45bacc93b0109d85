"""Metrics of accuracy and confidence with intervals by bootstrap over questions (paper E.7).

A confidence takes only 101 values, so every metric follows from how often each value came with a right and with a
wrong answer. One row of counts per question is all that a resample of the questions needs: it is a weight for each
row, and a thousand resamples are one product of matrices.
"""

from typing import Any

import numpy as np
import polars as pl

from candor.bootstrap import generator, interval, resample
from candor.vocabulary import DIFFICULTIES, LEVELS, confidence_of

METRICS = ("accuracy", "auroc", "brier_1", "brier", "ece", "calibration_bias")
"""The paper's metrics, in the order of its tables."""

RATES = ("invalid_format_rate", "missing_confidence_rate", "missing_answer_rate", "ungraded_rate")
"""Shares of the samples; they say how far the metrics can be trusted."""

BINS = 10

_LEVEL = np.arange(LEVELS)
_CONFIDENCE = confidence_of(_LEVEL)
# In integers, because level 50 lies exactly on the edge 0.5; an edge belongs to the bin on its right.
_BIN_OF_LEVEL = BINS * (2 * _LEVEL + 1) // (2 * LEVELS)
_BIN_STARTS = np.searchsorted(_BIN_OF_LEVEL, np.arange(BINS))


def measure(grades: pl.DataFrame, seed: int, name: str, resamples: int = 1000, level: float = 0.95) -> dict[str, Any]:
    """Measure graded samples, overall and by difficulty.

    Args:
        grades: a frame of `tables.GRADES`, in any order.
        seed: of the bootstrap, together with `name` and the difficulty.
        name: of what is measured, such as `qwen/hotpotqa/brier-1`.
        resamples: number of bootstrap resamples of the questions.
        level: of the percentile intervals, in (0, 1).

    Returns:
        For `all` and each difficulty (only `all` where there is one difficulty, as in paper F.1): every name of
        METRICS and RATES as `{value, low, high}`, each None where undefined; `n_questions`; `n_samples`;
        `outcome`, `answer_status` and `confidence_status` as shares of the samples; `calibration` as of `calibration_bins`.

    Raises:
        ValueError: there are no graded rows, a row is there twice, or a value is out of its range.
    """
    if resamples < 1 or not 0 < level < 1:
        raise ValueError(f"resamples must be at least 1 and level within (0, 1); found {resamples} and {level}")
    _check(grades)
    measured = {}
    for difficulty, group in by_difficulty(grades).items():
        counts = question_counts(group)
        total = counts.sum(axis=0)
        resampled = metrics_of(resample(counts, resamples, generator(seed, f"{name}/{difficulty}")))
        measured[difficulty] = {
            **{key: interval(value, resampled[key], level) for key, value in metrics_of(total).items()},
            "n_questions": len(counts),
            "n_samples": group.height,
            "outcome": _shares(group["outcome"]),
            "answer_status": _shares(group["answer_status"]),
            "confidence_status": _shares(group["confidence_status"]),
            "calibration": calibration_bins(total),
        }
    return measured


def by_difficulty(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Part rows by their difficulty: `all` of them, then each difficulty, where there is more than one (paper F.1)."""
    parts = {difficulty: frame.filter(pl.col("difficulty") == difficulty) for difficulty in DIFFICULTIES}
    present = {difficulty: part for difficulty, part in parts.items() if len(part)}
    return {"all": frame} | (present if len(present) > 1 else {})


def question_counts(grades: pl.DataFrame) -> np.ndarray:
    """Count what each question's samples came to; questions are sorted by id, whatever the order of the rows.

    A right or wrong answer without a confidence counts at the worst one for it, 0 or 100, as in training (E.5).
    A sample that could not be graded (`correct` is null) counts in the rates alone.

    Returns:
        Integers [questions, 2 x 101 + 5]: wrong at confidence 0 to 100, right at 0 to 100, then all samples, and
        those of each of RATES.
    """
    question = grades["question_id"].rank("dense").to_numpy().astype(np.int64) - 1
    questions = int(question.max(initial=-1)) + 1
    graded = grades["correct"].is_not_null().to_numpy()
    right = grades["correct"].fill_null(False).to_numpy()
    missing = grades["confidence"].is_null().to_numpy()
    stated = grades["confidence"].fill_null(0).to_numpy()
    cell = right * LEVELS + np.where(missing & ~right, LEVELS - 1, stated)
    joint = np.bincount((question * 2 * LEVELS + cell)[graded], minlength=questions * 2 * LEVELS)
    flags = (
        np.ones_like(graded),
        ~grades["well_formed"].to_numpy(),
        missing,
        grades["answer"].is_null().to_numpy(),
        ~graded,
    )
    rates = [np.bincount(question[flag], minlength=questions) for flag in flags]
    return np.hstack([joint.reshape(questions, 2 * LEVELS), np.stack(rates, axis=1)])


def metrics_of(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Compute every metric from counts [..., 2 x 101 + 5] that are summed over questions.

    Returns:
        For each name of METRICS and RATES an array [...], NaN where undefined: AUROC without right or without wrong
        answers or at an accuracy outside (0.001, 0.999) (F.1), and whatever has nothing to count.
    """
    wrong, right = counts[..., :LEVELS], counts[..., LEVELS : 2 * LEVELS]
    samples, flagged = counts[..., 2 * LEVELS], counts[..., 2 * LEVELS + 1 :]
    both = wrong + right
    graded = both.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = right.sum(axis=-1) / graded
        brier = (wrong @ _CONFIDENCE**2 + right @ (1 - _CONFIDENCE) ** 2) / graded
        gaps = np.add.reduceat(right - both * _CONFIDENCE, _BIN_STARTS, axis=-1)
        wins = (right * (wrong.cumsum(axis=-1) - wrong / 2)).sum(axis=-1)  # a tie counts half
        auroc = wins / (right.sum(axis=-1) * wrong.sum(axis=-1))
        rates = {name: flagged[..., i] / samples for i, name in enumerate(RATES)}
        return {
            "accuracy": accuracy,
            "auroc": np.where((accuracy > 0.001) & (accuracy < 0.999), auroc, np.nan),
            "brier_1": accuracy - brier,
            "brier": brier,
            "ece": np.abs(gaps).sum(axis=-1) / graded,
            "calibration_bias": gaps.sum(axis=-1) / graded,
            **rates,
        }


def calibration_bins(counts: np.ndarray) -> list[dict[str, float | int | None]]:
    """Describe the ten bins of confidence (figure 2) from counts [2 x 101 + 5] that are summed over questions.

    Returns:
        For each bin `low` and `high` (a confidence at `low` is within, one at `high` is not), `count` of the graded
        samples, and their mean `confidence` and `accuracy`, None where there are none.
    """
    wrong, right = counts[:LEVELS], counts[LEVELS : 2 * LEVELS]
    both = np.add.reduceat(wrong + right, _BIN_STARTS)
    right_in = np.add.reduceat(right, _BIN_STARTS)
    confidence_in = np.add.reduceat((wrong + right) * _CONFIDENCE, _BIN_STARTS)
    return [
        {
            "low": i / BINS,
            "high": (i + 1) / BINS,
            "count": int(both[i]),
            "confidence": float(confidence_in[i] / both[i]) if both[i] else None,
            "accuracy": float(right_in[i] / both[i]) if both[i] else None,
        }
        for i in range(BINS)
    ]


def _shares(statuses: pl.Series) -> dict[str, float]:
    return dict(statuses.value_counts(name="share", normalize=True).sort(statuses.name).iter_rows())


def _check(grades: pl.DataFrame) -> None:
    if grades.is_empty() or grades["correct"].is_null().all():
        raise ValueError("no graded row; nothing to measure")
    pairs = grades.select("question_id", "sample")
    if pairs.is_duplicated().any():
        question, sample = pairs.filter(pairs.is_duplicated()).row(0)
        raise ValueError(
            f"question {question!r}, sample {sample} is graded twice; delete the grades and rerun their rule"
        )
    for name, wrong, valid in (
        ("difficulty", ~pl.col("difficulty").is_in(DIFFICULTIES).fill_null(False), ", ".join(DIFFICULTIES)),
        ("confidence", ~pl.col("confidence").is_between(0, LEVELS - 1).fill_null(True), f"0 to {LEVELS - 1} or null"),
        ("well_formed", pl.col("well_formed").is_null(), "true or false"),
    ):
        bad = grades.filter(wrong)
        if bad.height:
            row = bad.row(0, named=True)
            raise ValueError(
                f"question {row['question_id']!r}, sample {row['sample']}: {name} is {row[name]!r}; valid: {valid}"
            )
    levels = (
        grades.group_by("question_id").agg(pl.col("difficulty").n_unique().alias("levels")).filter(pl.col("levels") > 1)
    )
    if levels.height:
        raise ValueError(f"question {levels['question_id'].min()!r} has samples of more than one difficulty")
