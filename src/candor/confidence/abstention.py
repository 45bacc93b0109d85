"""Rates of abstention with intervals by bootstrap over questions, and how far two judges agree (paper E.6.2)."""

from typing import Any

import numpy as np
import polars as pl

from candor.bootstrap import generator, interval, resample
from candor.confidence.metrics import by_difficulty
from candor.vocabulary import ABSTENTION_LABELS, DIFFICULTIES

RATES = ("unanswerable", "other", "total")
"""The paper's rates, in the order of its tables (28 to 31, 36, 37)."""

UNREAD = ("format-error", "missing", "too-long")
"""Labels of answers of which no judgement could be read: the judge said none, or was not asked."""


def measure(
    judgements: pl.DataFrame, seed: int, name: str, resamples: int = 1000, level: float = 0.95
) -> dict[str, Any]:
    """Measure how often answers abstain, overall and by difficulty.

    Every rate is a share of all samples. One without a label of the three counts as no abstention, so that the true rate
    is at most the sum of `total` and what could not be read.

    Args:
        judgements: a frame of `tables.JUDGEMENTS`, in any order.
        seed: of the bootstrap, together with `name` and the difficulty.
        name: of what is measured, such as `judge/qwen/hotpotqa/brier-1`.
        resamples: number of bootstrap resamples of the questions.
        level: of the percentile intervals, in (0, 1).

    Returns:
        For `all` and each difficulty (only `all` where there is one difficulty): `unanswerable`, `other` and `total` as
        `{value, low, high}`; `format_errors` and `not_judged` (missing or too long), counts of samples; `n_questions`;
        `n_samples`.

    Raises:
        ValueError: there are no rows, a row is there twice, or a label or a difficulty is unknown.
    """
    _check(judgements)
    measured = {}
    for difficulty, group in by_difficulty(judgements).items():
        counts = _question_counts(group)
        rates = _rates(counts.sum(axis=0))
        resampled = _rates(resample(counts, resamples, generator(seed, f"{name}/{difficulty}")))
        measured[difficulty] = {
            **{key: interval(rates[key], resampled[key], level) for key in RATES},
            "format_errors": int((group["label"] == "format-error").sum()),
            "not_judged": int(group["label"].is_in(["missing", "too-long"]).sum()),
            "n_questions": len(counts),
            "n_samples": group.height,
        }
    return measured


def agreement(left: pl.DataFrame, right: pl.DataFrame) -> dict[str, dict[str, float | int | None]]:
    """Compare the labels of two judges, overall and by difficulty.

    Args:
        left, right: frames of `tables.JUDGEMENTS` with another column `variant`, of the same answers in any order.

    Returns:
        For `all` and each difficulty (only `all` where there is one): `observed`, the share of equal labels; `kappa`,
        Cohen's, over the three labels, None where it is 0/0 (both judges say one and the same label throughout); and `n`,
        the answers of which both judges' labels could be read, of which alone the others speak.

    Raises:
        ValueError: the two judged different answers.
    """
    keys = ["variant", "question_id", "sample"]
    pairs = left.select(*keys, "difficulty", left="label").join(
        right.select(*keys, right="label"), on=keys, how="inner"
    )
    if not len(pairs) == len(left) == len(right):
        raise ValueError(
            f"two judges judged {len(left)} and {len(right)} answers, of which {len(pairs)} are the same; judge them anew"
        )
    return {difficulty: _agreement(group) for difficulty, group in by_difficulty(pairs).items()}


def _agreement(pairs: pl.DataFrame) -> dict[str, float | int | None]:
    from sklearn.metrics import cohen_kappa_score

    read = pairs.filter(pl.all_horizontal(pl.col("left", "right").is_in(ABSTENTION_LABELS)))
    if read.is_empty():
        return {"observed": None, "kappa": None, "n": 0}
    # As numbers: texts take scikit-learn several times longer.
    left, right = (read[judge].cast(pl.Enum(ABSTENTION_LABELS)).to_physical() for judge in ("left", "right"))
    constant = pl.concat([left, right.alias("left")]).n_unique() == 1
    kappa = None if constant else float(cohen_kappa_score(left, right))
    return {"observed": float((left == right).mean()), "kappa": kappa, "n": len(read)}


def _question_counts(judgements: pl.DataFrame) -> np.ndarray:
    """Count each question's samples: unanswerable, other and all, integers [questions, 3]; questions sorted by id."""
    counts = judgements.group_by("question_id").agg(
        (pl.col("label") == "unanswerable").sum().alias("unanswerable"),
        (pl.col("label") == "abstain").sum().alias("other"),
        pl.len().alias("samples"),
    )
    return counts.sort("question_id").select("unanswerable", "other", "samples").to_numpy().astype(np.int64)


def _rates(counts: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the rates from counts [..., 3] that are summed over questions."""
    unanswerable, other, samples = np.moveaxis(counts, -1, 0)
    return {
        "unanswerable": unanswerable / samples,
        "other": other / samples,
        "total": (unanswerable + other) / samples,
    }


def _check(judgements: pl.DataFrame) -> None:
    if judgements.is_empty():
        raise ValueError("no judgement; nothing to measure")
    pairs = judgements.select("question_id", "sample")
    if pairs.is_duplicated().any():
        question, sample = pairs.filter(pairs.is_duplicated()).row(0)
        raise ValueError(
            f"question {question!r}, sample {sample} is judged twice; delete the judgements and rerun their rule"
        )
    for name, valid in (("label", (*ABSTENTION_LABELS, *UNREAD)), ("difficulty", DIFFICULTIES)):
        bad = judgements.filter(~pl.col(name).is_in(valid).fill_null(False))
        if bad.height:
            row = bad.row(0, named=True)
            raise ValueError(
                f"question {row['question_id']!r}, sample {row['sample']}: {name} is {row[name]!r}; valid: {', '.join(valid)}"
            )
