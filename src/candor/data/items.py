"""One question of a multiple-choice benchmark, the same whichever benchmark it came from."""

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass

import polars as pl

from candor import tables


@dataclass(frozen=True, slots=True)
class Item:
    """A row of `tables.ITEMS`, which describes the fields."""

    item_id: str
    role: str
    question: str
    options: tuple[str, ...]
    gold: int
    category: str | None
    """Of an example: the category whose questions it serves, None where it serves them all."""
    language: str
    rationale: str | None
    """May name options of the original order by letter, as "(C)"; it ends before the sentence that gives the answer."""
    label_reference: bool


def to_frame(items: Iterable[Item]) -> pl.DataFrame:
    """Return items as a frame of `tables.ITEMS`, in their order."""
    return pl.DataFrame(list(map(astuple, items)), tables.ITEMS, orient="row")


def from_frame(frame: pl.DataFrame) -> list[Item]:
    """Return the items of a frame of `tables.ITEMS`, in its order."""
    return [Item(**{**row, "options": tuple(row["options"])}) for row in frame.iter_rows(named=True)]


def few_shot(item: Item, examples: Sequence[Item], shots: int) -> tuple[Item, ...]:
    """Return the examples that a question is asked with: the first that are of its language and serve its category.

    Raises:
        ValueError: there are fewer than `shots`.
    """
    fitting = [
        example
        for example in examples
        if example.language == item.language and example.category in (None, item.category)
    ]
    if len(fitting) < shots:
        raise ValueError(
            f"item {item.item_id}: {shots} examples are asked for but {len(fitting)} are of its language "
            f"({item.language}) and category ({item.category}); lower `shots`, or keep more `examples` of the benchmark"
        )
    return tuple(fitting[:shots])


def same_options(options: Sequence[str]) -> list[int]:
    """Return, for each option, the index of the first that has its text, whatever the blanks; mostly its own.

    Case counts: "Tt" and "tt" are two genotypes.
    """
    texts = [" ".join(option.split()) for option in options]
    return [texts.index(text) for text in texts]


def equal_options(options: Sequence[str]) -> set[int]:
    """Return the indices of options that have the text of another, as of `same_options`."""
    first = same_options(options)
    return {index for index, same in enumerate(first) if first.count(same) > 1}
