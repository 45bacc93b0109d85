"""BigMath, DeepMath-103K and generated arithmetic (paper E.2, E.8): from the hub or from files, to tables of questions.

The prompt is the question alone (E.8). Where a dataset has one split, the test questions are those that public code of the
same method takes: a seeded split of the hub's library over the rows in their order, the one draw here that depends on
their order. At the pinned revision it gives the same questions to everybody, so that figures compare with the paper's.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from math import ceil, isfinite
from typing import Any

import numpy as np
import polars as pl

from candor.config import Dataset, FileSource, GeneratedSource
from candor.data import arithmetic
from candor.data.files import ABSENT, DataError, download, expand, read, show, text, wrong
from candor.data.questions import Question, Split, choose, table

CHOICES = ("yes", "no", "true", "false", "a", "b", "c", "d")
"""Golds of DeepMath-103K that are dropped: of questions to prove something, or to choose from options."""


@dataclass(frozen=True, slots=True)
class Schema:
    """How one of the datasets is laid out and split."""

    questions: tuple[str, ...]
    """Names of the field with the question, in the hub's schema and in the authors' own."""
    golds: tuple[str, ...]
    level: str
    """Field that difficulty is judged by."""
    high_is_easy: bool
    test_share: float
    test_seed: int


SCHEMAS = {
    "bigmath": Schema(("prompt", "problem"), ("solution", "answer"), "llama8b_solve_rate", True, 0.03, 886049745),
    "deepmath": Schema(("prompt", "question"), ("solution", "final_answer"), "difficulty", False, 0.05, 42),
}


@dataclass(frozen=True, slots=True)
class Row:
    """One question, whichever schema it came in."""

    id: str
    """First 24 hexadecimal digits of the SHA-256 of the question: no source has ids."""
    question: str
    gold: str
    """In LaTeX, without the `$` around it that one schema has."""
    level: float
    """What difficulty is judged by."""


def build(dataset: Dataset, split: Split, seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Build one split of a dataset of kind bigmath, deepmath or arithmetic.

    The order of the rows depends on `seed` and their ids alone, difficulty on the terciles of all train rows.

    Returns:
        The table and its report, as of `questions.table`, with the `terciles` of train in the dataset's own measure.

    Raises:
        DataError: a file cannot be read, a row is not of the schema, or no row is kept.
    """
    if isinstance(dataset.source, GeneratedSource):
        count = dataset.source.generated_train if split == "train" else dataset.source.generated_test
        sums = [arithmetic.question(split, index) for index in range(count)]
        return table(choose(dataset, split, sums, {}, seed), count, {})
    schema = SCHEMAS[dataset.kind]
    rows, dropped = load(dataset)
    chosen = choose(dataset, split, rows[split], dropped[split], seed)
    if not rows["train"]:
        raise DataError(f"{dataset.label}: no train row to judge difficulty by; dropped: {dropped['train']}")
    low, high = terciles([row.level for row in rows["train"]])
    questions = [
        Question(row.id, row.question, row.gold, difficulty(row.level, low, high, schema.high_is_easy))
        for row in chosen
    ]
    frame, report = table(questions, len(rows[split]), dropped[split])
    return frame, report | {"terciles": [low, high]}


def load(dataset: Dataset) -> tuple[dict[Split, list[Row]], dict[Split, dict[str, int]]]:
    """Read both splits of a dataset of kind bigmath or deepmath, or raise.

    Kept are rows with a question, an answer and a level, each question once, and in train none that is in test. Of
    DeepMath-103K the rows with a gold of `CHOICES` are left out.

    Returns:
        For each split the rows that are kept, in the order of the source, and how many were dropped for each reason.

    Raises:
        DataError: a file cannot be read, or a row is not of the schema.
    """
    schema = SCHEMAS[dataset.kind]
    levels = None
    if dataset.difficulty_source is not None:
        source = dataset.difficulty_source
        listed = download(source, source.config, "train", ("question", "difficulty"))
        levels = {raw["question"]: raw["difficulty"] for _, raw in listed}
    splits = {
        split: [_parse(raw, where, schema, levels) for where, raw in places] for split, places in _open(dataset).items()
    }
    rows: dict[Split, list[Row]] = {}
    dropped: dict[Split, dict[str, int]] = {}
    tested: set[str] = set()
    for split in ("test", "train"):
        seen: set[str] = set()
        counts: Counter[str] = Counter()
        rows[split] = []
        for row in splits[split]:
            if reason := _unusable(row, dataset.kind):
                counts[reason] += 1
            elif row.id in seen:
                counts["question is there twice"] += 1
            elif row.id in tested:
                counts["question is in test"] += 1
            else:
                seen.add(row.id)
                rows[split].append(row)
        tested = seen
        dropped[split] = dict(sorted(counts.items()))
    return rows, dropped


def split_rows(rows: list, share: float, seed: int) -> dict[Split, list]:
    """Split rows as `datasets.Dataset.train_test_split(test_size=share, seed=seed)` does (known elsewhere)."""
    order = np.random.default_rng(seed).permutation(len(rows))
    count = ceil(share * len(rows))
    return {"train": [rows[index] for index in order[count:]], "test": [rows[index] for index in order[:count]]}


def terciles(levels: Iterable[float]) -> tuple[float, float]:
    """Return the first and second tercile, between two neighbours by linear interpolation as numpy's (known elsewhere).

    Exact where a tercile is one of the levels: numpy's rounding would move it past its ties.
    """
    ordered = sorted(levels)

    def quantile(thirds: int) -> float:
        index, rest = divmod(thirds * (len(ordered) - 1), 3)
        return ordered[index] + (rest and (ordered[index + 1] - ordered[index]) * rest / 3)

    return quantile(1), quantile(2)


def difficulty(level: float, low: float, high: float, high_is_easy: bool) -> str:
    """Name the difficulty of a level: strictly outside the terciles it is easy or hard, on them medium."""
    if low <= level <= high:
        return "medium"
    return "easy" if (level > high) == high_is_easy else "hard"


def _open(dataset: Dataset) -> dict[Split, list[tuple[str, Any]]]:
    """Return the raw rows of both splits, as (place, what stands there)."""
    source, schema = dataset.source, SCHEMAS[dataset.kind]
    columns = (schema.questions[0], schema.golds[0], schema.level)
    if isinstance(source, FileSource):
        columns = (*schema.questions, *schema.golds, schema.level)
        train = list(chain.from_iterable(_file(path, columns) for path in source.train))
        if source.train == source.test:
            return split_rows(train, schema.test_share, schema.test_seed)
        return {"train": train, "test": list(chain.from_iterable(_file(path, columns) for path in source.test))}
    name = f"{source.hub} at {source.revision[:8]}"

    def hub(split: str, columns: tuple[str, ...]) -> list[tuple[str, Any]]:
        return [(f"{name}, {split}: {place}", raw) for place, raw in download(source, source.config, split, columns)]

    if dataset.kind == "bigmath":
        return split_rows(hub("train", columns), schema.test_share, schema.test_seed)
    return {split: hub(split, columns[:2]) for split in ("train", "test")}


def _file(path: str, columns: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    file = expand(path)
    count = 0
    for place, raw in read(file, columns):
        count += 1
        yield f"{file}: {place}", raw
    if not count:
        raise DataError(f"{file}: empty; expected at least one row")


def _parse(raw: Any, where: str, schema: Schema, levels: dict[str, float] | None) -> Row:
    """Check a row of either schema; a level that is null is NaN. What is not used is not checked."""
    if not isinstance(raw, dict):
        raise DataError(f"{where}: expected an object with {', '.join(schema.questions)}, found {show(raw)}")
    fields = []
    for names in (schema.questions, schema.golds):
        field = next((name for name in names if name in raw), " or ".join(names))
        value = raw.get(field, ABSENT)
        if isinstance(value, list):  # TRL's schema: a conversation
            if len(value) != 1 or not isinstance(value[0], dict):
                raise wrong(where, field, "text or a conversation of one message", value)
            value = value[0].get("content", ABSENT)
        fields.append(text(value, where, field))
    question, gold = fields
    gold = gold.strip()
    if len(gold) > 1 and gold[0] == gold[-1] == "$":
        gold = gold[1:-1].strip()
    if schema.level in raw or levels is None:
        level = raw.get(schema.level, ABSENT)
        if level is not None and (isinstance(level, bool) or not isinstance(level, int | float)):
            raise wrong(where, schema.level, "a number", level)
    else:
        level = levels.get(question)
    level = float("nan") if level is None else float(level)
    return Row(sha256(question.encode()).hexdigest()[:24], question, gold, level)


def _unusable(row: Row, kind: str) -> str | None:
    """Say why a row is dropped, None where it is kept."""
    if not row.question.strip() or not row.gold:
        return "blank question or answer"
    if kind == "deepmath" and row.gold.lower() in CHOICES:
        return "answer is yes, no, true, false or a letter"
    if not isfinite(row.level):
        return "no solve rate" if kind == "bigmath" else "no difficulty"
    return None
