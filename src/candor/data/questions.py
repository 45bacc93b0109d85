"""From the rows of a dataset to its table of questions: what every kind of dataset does alike."""

from collections import Counter
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

import polars as pl

from candor import tables
from candor.config import Dataset
from candor.data.files import DataError
from candor.data.randomness import draw
from candor.vocabulary import DIFFICULTIES

Split = Literal["train", "test"]


class Question(NamedTuple):
    """One row of `tables.QUESTIONS`."""

    id: str
    prompt: str
    gold: str
    difficulty: str


def choose(dataset: Dataset, split: Split, rows: list, dropped: dict[str, int], seed: int) -> list:
    """Put rows (each with an `id`) in an order drawn from `seed` and their ids, and keep the first, up to the limit.

    So a smaller table is the head of a larger one.

    Raises:
        DataError: there are none.
    """
    if not rows:
        raise DataError(f"{dataset.label}, {split}: no row is left of {sum(dropped.values())}; dropped: {dropped}")
    ordered = sorted(rows, key=lambda row: draw(seed, "order", row.id))
    return ordered[: dataset.train_limit if split == "train" else dataset.test_limit]


def table(questions: Iterable[Question], kept: int, dropped: dict[str, int]) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Make the table of questions, and its report.

    Returns:
        A frame of `tables.QUESTIONS`, and `read`, `dropped` (reason: count), `kept`, `rows` (of the table, after the
        limit) and `difficulty` (difficulty: rows).
    """
    frame = pl.DataFrame(list(questions), tables.QUESTIONS, orient="row")
    counts = Counter(frame["difficulty"])
    return frame, {
        "read": kept + sum(dropped.values()),
        "dropped": dropped,
        "kept": kept,
        "rows": len(frame),
        "difficulty": {difficulty: counts[difficulty] for difficulty in DIFFICULTIES},
    }
