"""The bootstrap over questions that both tracks share: sums of per-question rows, resampled as one product of matrices."""

import hashlib

import numpy as np

_BLOCK = 256


def generator(seed: int, name: str) -> np.random.Generator:
    """Return the random numbers that belong to a seed and a name, the same on every machine."""
    return np.random.default_rng([seed, int.from_bytes(hashlib.sha256(name.encode()).digest()[:16], "big")])


def draw_weights(questions: int, resamples: int, random: np.random.Generator) -> np.ndarray:
    """Draw questions with replacement: how often each is in, [resamples, questions]; a row sums to `questions`."""
    weights = np.empty((resamples, questions))
    for row in weights:
        row[:] = np.bincount(random.integers(questions, size=questions), minlength=questions)
    return weights


def resample(rows: np.ndarray, resamples: int, random: np.random.Generator) -> np.ndarray:
    """Sum rows [questions, columns] over each resample's questions: [resamples, columns], exact where whole numbers."""
    rows = rows.astype(np.float64)  # BLAS multiplies no integers
    blocks = (min(_BLOCK, resamples - start) for start in range(0, resamples, _BLOCK))
    return np.vstack([draw_weights(len(rows), block, random) @ rows for block in blocks])


def interval(value: float, resampled: np.ndarray, level: float) -> dict[str, float | None]:
    """Return a value with the ends of its percentile interval; None where undefined (NaN)."""
    defined = resampled[~np.isnan(resampled)]
    if np.isnan(value):
        return {"value": None, "low": None, "high": None}
    if not defined.size:
        return {"value": float(value), "low": None, "high": None}
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return {"value": float(value), "low": float(low), "high": float(high)}
