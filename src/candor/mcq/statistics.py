"""Statistics over models and benchmarks (ABCD paper, sections 5.2, 5.7, 5.8; eq. 3; tables 1 and 5; figure 5)."""

from collections.abc import Iterable, Sequence

import numpy as np
from scipy import stats

EXPLICIT_ABOVE = 90.0
IMPLICIT_ABOVE = 50.0
"""Medians over the moved S&L runs of NonsenseQA, in points, above which a model is of a kind of section 5.2."""


def variance_ratio(matched: float, standard: float) -> float | None:
    """Return variance(M&D) / variance(S&L) (eq. 3); below 1 the matched protocol is the more stable.

    None where the standard protocol's variance is 0.
    """
    return matched / standard if standard > 0 else None


def geometric_mean(ratios: Iterable[float | None]) -> float | None:
    """Return the geometric mean of variance ratios (table 1), None where there is none.

    A ratio that is 0 or undefined (None) has no logarithm: it is left out, and a table must name it beside the mean.
    """
    usable = [ratio for ratio in ratios if ratio]
    return float(np.exp(np.mean(np.log(usable)))) if usable else None


def wilcoxon_p(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the two-sided p value of the paired Wilcoxon signed-rank test, None where no pair differs.

    Thirteen models alone cannot give less than 2 / 2**13 = 2.4e-4; the paper's p < 1e-4 takes pairs of model and run.
    """
    differences = np.asarray(first) - np.asarray(second)
    if not differences.any():
        return None
    return float(stats.wilcoxon(differences).pvalue)


def cohens_d(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return (mean of first - mean of second) / sqrt of the mean of the two sample variances; None without spread."""
    if min(len(first), len(second)) < 2:
        return None
    first, second = np.asarray(first), np.asarray(second)
    pooled = np.sqrt((first.var(ddof=1) + second.var(ddof=1)) / 2)
    return float((first.mean() - second.mean()) / pooled) if pooled > 0 else None


def rank_correlations(first: Sequence[float], second: Sequence[float]) -> dict[str, float | None]:
    """Return Spearman's rho and Kendall's tau (b) of two benchmarks' accuracies over the same models (section 5.8).

    None where one of them is the same for all models, or there are fewer than two.
    """
    if len(first) < 2 or len(set(first)) == 1 or len(set(second)) == 1:
        return {"spearman": None, "kendall": None}
    return {
        "spearman": float(stats.spearmanr(first, second).statistic),
        "kendall": float(stats.kendalltau(first, second).statistic),
    }


def chance_test(correct: int, questions: int, chance: float) -> float:
    """Return the two-sided p value of the binomial test that a run's accuracy is that of chance, a share in (0, 1].

    Where questions have different numbers of options, `chance` is the mean of theirs, and the test is conservative.
    """
    return float(stats.binomtest(correct, questions, chance).pvalue)


def kind_of_model(median: float) -> str:
    """Tell which of the three kinds of section 5.2 a model is, by the median of its moved S&L runs on NonsenseQA.

    `explicit` above 90 points, `implicit` above 50, else `unable` to exploit the few-shot examples. The paper gives no
    thresholds and tells explicit from implicit by reading what models write; these are ours.
    """
    if median > EXPLICIT_ABOVE:
        return "explicit"
    return "implicit" if median > IMPLICIT_ABOVE else "unable"
