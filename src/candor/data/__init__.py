"""Datasets: from the hub, from files or generated, to tables of questions (`tables.QUESTIONS`)."""

from typing import Any, Literal

import polars as pl

from candor.config import Dataset
from candor.data import hotpotqa


def build(dataset: Dataset, split: Literal["train", "test"], seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Build one split of a dataset: its table of `tables.QUESTIONS`, and a report of what was read, dropped and kept.

    Raises:
        ValueError: the source cannot be read or holds a row that is not of its schema (`files.DataError`).
        NotImplementedError: this version has no loader for the dataset's kind.
    """
    if dataset.kind in ("bigmath", "deepmath"):
        raise NotImplementedError(f"kind {dataset.kind!r}: this version has no loader for the math datasets yet")
    return hotpotqa.build(dataset, split, seed)
