"""Datasets: from the hub, from files or generated, to tables of questions (`tables.QUESTIONS`)."""

from typing import Any

import polars as pl

from candor.config import Dataset
from candor.data import hotpotqa, math
from candor.data.questions import Split


def build(dataset: Dataset, split: Split, seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Build one split of a dataset: its table of `tables.QUESTIONS`, and a report of what was read, dropped and kept.

    Raises:
        ValueError: the source cannot be read or holds a row that is not of its schema (`files.DataError`).
    """
    return (hotpotqa if dataset.kind.startswith("hotpotqa") else math).build(dataset, split, seed)
