"""Metrics of one model on one benchmark under one protocol, over the original run and the moved ones.

Accuracies are in points (0 to 100), their variance in points squared, as the paper prints them (tables 5 to 12). Each
metric follows from sums over questions, so that a resample of the questions is a weight for each: see `bootstrap`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from candor.bootstrap import generator, interval, resample
from candor.data.items import equal_options
from candor.mcq.extraction import LETTER_RULES, RANDOM, TEXT_RULES
from candor.mcq.statistics import chance_test

METRICS = ("acc_mean", "acc_original", "delta_acc", "variance", "acc_min", "acc_max", "range", "score")
"""The paper's metrics of one protocol, in the order of its tables."""

LAST_RULES = (TEXT_RULES[-1], LETTER_RULES[-1])
"""What is read where no place was marked as the answer; the paper's fallback (section 4)."""


@dataclass(frozen=True)
class Choices:
    """What was chosen, as arrays [questions] or [questions, runs]; questions sorted by id, runs from 0."""

    choice: np.ndarray
    """Identity of the chosen option."""
    position: np.ndarray
    """Its place as shown."""
    correct: np.ndarray
    clamped: np.ndarray
    options: np.ndarray
    """How many options a question has."""
    gold: np.ndarray
    """Place of the gold in the original order."""


def measure(
    items: pl.DataFrame, predictions: pl.DataFrame, seed: int, name: str, resamples: int = 1000, level: float = 0.95
) -> dict[str, Any]:
    """Measure the predictions of all runs of one model, benchmark and protocol.

    Args:
        items: a frame of `tables.ITEMS`; those that were predicted are looked up in it.
        predictions: a frame of `tables.MCQ_PREDICTIONS`, in any order: run 0, 1, ... of every question.
        seed: of the bootstrap, together with `name`.
        name: of what is measured, such as `csqa/moved/qwen3-8b/md`.
        resamples: number of bootstrap resamples of the questions.
        level: of the percentile intervals, in (0, 1).

    Returns:
        `metrics`: each of METRICS, `score_moved` (SCORE without the original run) and `rstd` as `{value, low, high}`,
        None where undefined; `runs`: one record a run with its accuracy, rates, chance test and choice rates;
        `recalls`: accuracy by the gold's place in the original run; `complete`: the metrics over the questions that
        have every position; `rules`: how often each rule read the answer; `invalid_rate`, `fallback_rate`; sizes.

    Raises:
        ValueError: a question lacks a run or has one twice, is not among the items, or there is none.
    """
    if resamples < 1 or not 0 < level < 1:
        raise ValueError(f"resamples must be at least 1 and level within (0, 1); found {resamples} and {level}")
    choices = choices_of(items, predictions)
    sums = question_rows(choices)
    resampled = metrics_of(resample(sums, resamples, generator(seed, name)), choices)
    values = metrics_of(sums.sum(axis=0), choices)
    rules = predictions["rule"]
    return {
        "n_questions": len(sums),
        "n_runs": choices.choice.shape[1],
        "metrics": {name: interval(values[name], resampled[name], level) for name in (*METRICS, "score_moved", "rstd")},
        "runs": _runs(predictions, choices, values["accuracy"], resampled["accuracy"], level),
        "recalls": _numbers(values["recall"]),
        "complete": _complete(sums, choices),
        "rules": dict(rules.value_counts(name="share", normalize=True).sort("rule").iter_rows()),
        "invalid_rate": float((rules == RANDOM).mean()),
        "fallback_rate": float(rules.is_in(LAST_RULES).mean()),
        "equal_options": _equal_options(items.join(predictions, on="item_id", how="semi")),
    }


def costs(generations: pl.DataFrame) -> dict[str, Any]:
    """Sum up what generation took.

    Args:
        generations: a frame of `tables.MCQ_GENERATIONS`.

    Returns:
        `generation_seconds` of each run, in the order of the runs; the mean of `output_tokens`; `truncated_rate`, the
        share of outputs that the token limit cut off, None under cloze.
    """
    return {
        "generation_seconds": generations.group_by("run").agg(pl.col("seconds").sum()).sort("run")["seconds"].to_list(),
        "output_tokens": generations["output_tokens"].mean(),
        "truncated_rate": (generations["finish_reason"] == "length").mean(),
    }


def describe(accuracies: np.ndarray) -> dict[str, np.ndarray]:
    """Compute the paper's metrics from the accuracies [..., runs] of the original run, first, and the moved ones.

    delta_acc is |mean of the moved runs - original| and NaN without moved runs; the variance is that of the runs as a
    population. The paper says neither: both follow from its printed tables (docs/multiple_choice_metrics.md).
    """
    original, moved = accuracies[..., 0], accuracies[..., 1:]
    delta = np.abs(moved.mean(axis=-1) - original) if moved.shape[-1] else np.full_like(original, np.nan)
    lowest, highest = accuracies.min(axis=-1), accuracies.max(axis=-1)
    return {
        "acc_mean": accuracies.mean(axis=-1),
        "acc_original": original,
        "delta_acc": delta,
        "variance": (accuracies - accuracies[..., :1]).var(axis=-1),  # exactly 0 where all runs are equal
        "acc_min": lowest,
        "acc_max": highest,
        "range": highest - lowest,
    }


def agreeing_pairs(choice: np.ndarray) -> np.ndarray:
    """Count, for each question, the unordered pairs of runs that chose the same option, from choices [questions, runs]."""
    times = (choice[:, :, None] == np.unique(choice)).sum(axis=1)
    return (times * (times - 1) // 2).sum(axis=1)


def choices_of(items: pl.DataFrame, predictions: pl.DataFrame) -> Choices:
    """Arrange predictions as arrays, whatever the order of their rows.

    Raises:
        ValueError: as of `measure`.
    """
    if predictions.is_empty():
        raise ValueError("no prediction; nothing to measure")
    runs = int(predictions["run"].max()) + 1
    ordered = predictions.sort("item_id", "run")
    counts = ordered.group_by("item_id", maintain_order=True).agg("run")
    incomplete = counts.filter(pl.col("run") != pl.lit(list(range(runs)), dtype=pl.List(pl.Int32)))
    if incomplete.height:
        item, found = incomplete.row(0)
        raise ValueError(
            f"item {item!r} has predictions of runs {found}, not of each of 0 to {runs - 1}; rerun the rule that makes them"
        )
    known = items.select("item_id", "gold", pl.col("options").list.len().alias("n_options"))
    asked = counts.select("item_id").join(known, on="item_id", how="left", maintain_order="left")
    if asked["gold"].has_nulls():
        item = asked.filter(pl.col("gold").is_null())["item_id"][0]
        raise ValueError(f"item {item!r} has predictions but is not among the items; rerun the rule that makes them")
    columns = {
        key: ordered[key].to_numpy().reshape(len(asked), runs) for key in ("choice", "position", "correct", "clamped")
    }
    return Choices(**columns, options=asked["n_options"].to_numpy(), gold=asked["gold"].to_numpy())


def question_rows(choices: Choices) -> np.ndarray:
    """Return what is summed over questions: [questions, 1 + runs + 2 + 2 x positions].

    1, then whether each run was right, the agreeing pairs of all and of the moved runs, then for each position whether
    the gold stands there in the original run, and whether it was chosen there as well.
    """
    places = np.arange(choices.options.max())
    gold = choices.gold[:, None] == places
    return np.column_stack(
        [
            np.ones(len(choices.gold), dtype=np.int64),
            choices.correct,
            agreeing_pairs(choices.choice),
            agreeing_pairs(choices.choice[:, 1:]),
            gold,
            gold & choices.correct[:, :1],
        ]
    )


def metrics_of(sums: np.ndarray, choices: Choices) -> dict[str, np.ndarray]:
    """Compute METRICS, `score_moved`, `rstd` [...], `accuracy` [..., runs] and `recall` [..., positions] from sums of
    `question_rows` [..., columns], NaN where undefined."""
    runs = choices.choice.shape[1]
    questions, correct = sums[..., :1], sums[..., 1 : 1 + runs]
    agreeing, gold = sums[..., 1 + runs : 3 + runs], sums[..., 3 + runs :]
    places = gold.shape[-1] // 2
    pairs = np.array([runs * (runs - 1) / 2, (runs - 1) * (runs - 2) / 2])
    with np.errstate(divide="ignore", invalid="ignore"):
        accuracy = 100 * correct / questions
        score, score_moved = np.moveaxis(agreeing / (pairs * questions), -1, 0)
        recall = 100 * gold[..., places:] / gold[..., :places]
    return {
        **describe(accuracy),
        "score": score,
        "score_moved": score_moved,
        "rstd": np.nanstd(recall, axis=-1),  # over the places where golds stand
        "accuracy": accuracy,
        "recall": recall,
    }


def _complete(sums: np.ndarray, choices: Choices) -> dict[str, Any]:
    """Measure the questions that have every position."""
    complete = ~choices.clamped.any(axis=1)
    values = metrics_of(sums[complete].sum(axis=0), choices) if complete.any() else dict.fromkeys(METRICS, np.nan)
    return {
        "n_questions": int(complete.sum()),
        **dict(zip(METRICS, _numbers([values[name] for name in METRICS]), strict=True)),
    }


def _runs(
    predictions: pl.DataFrame, choices: Choices, accuracy: np.ndarray, resampled: np.ndarray, level: float
) -> list[dict[str, Any]]:
    rates = (
        predictions.group_by("run")
        .agg(
            invalid_rate=(pl.col("rule") == RANDOM).mean(),
            fallback_rate=pl.col("rule").is_in(LAST_RULES).mean(),
        )
        .sort("run")
    )
    places = np.arange(choices.options.max())
    chance = float((1 / choices.options).mean())
    return [
        {
            "run": run,
            "accuracy": interval(accuracy[run], resampled[:, run], level),
            "chance": 100 * chance,
            "chance_p": chance_test(int(choices.correct[:, run].sum()), len(choices.correct), chance),
            "invalid_rate": rate["invalid_rate"],
            "fallback_rate": rate["fallback_rate"],
            "n_clamped": int(choices.clamped[:, run].sum()),
            "choice_rates": (choices.position[:, run, None] == places).mean(axis=0).tolist(),
        }
        for run, rate in enumerate(rates.iter_rows(named=True))
    ]


def _equal_options(items: pl.DataFrame) -> dict[str, int]:
    """Count the items of which two options read the same, and those of which the gold is one of them."""
    equal = [(equal_options(options), gold) for options, gold in items.select("options", "gold").iter_rows()]
    return {
        "n_items": sum(map(bool, (found for found, _ in equal))),
        "n_gold": sum(gold in found for found, gold in equal),
    }


def _numbers(values: Iterable[float]) -> list[float | None]:
    """Return what JSON can hold: None for NaN."""
    return [None if np.isnan(value) else float(value) for value in values]
