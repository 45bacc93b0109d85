"""HotpotQA and HotpotQA-Modified (paper E.2, E.8): from the hub, from files or generated, to tables of questions."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import polars as pl

from candor.config import Dataset, FileSource, GeneratedSource, HubSource
from candor.data import two_hop
from candor.data.files import ABSENT, DataError, download, expand, read, show, text, wrong
from candor.data.questions import Question, Split, choose, table
from candor.data.randomness import draw
from candor.vocabulary import DIFFICULTIES

PARAGRAPHS = 10
SUPPORTING = 2

REMOVED = {"easy": (2, 0), "medium": (1, 1), "hard": (0, 2)}
"""HotpotQA-Modified: how many irrelevant and how many relevant paragraphs each difficulty has lost (paper E.2)."""

_COLUMNS = ("id", "question", "answer", "level", "supporting_facts", "context")
_HUB_SPLITS = {"train": "train", "test": "validation"}  # HotpotQA's own test split has no answers


@dataclass(frozen=True, slots=True)
class Row:
    """One question of HotpotQA, the same whichever schema it came in."""

    id: str
    question: str
    answer: str
    level: str
    """easy, medium or hard."""
    paragraphs: tuple[tuple[str, str], ...]
    """(title, text) of each source; a text is its sentences joined as they are, each with its own leading space."""
    supporting: frozenset[str]
    """Titles of the paragraphs that the answer needs."""


def build(dataset: Dataset, split: Split, seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Build one split of a dataset of kind hotpotqa or hotpotqa-modified.

    The order of the rows, what is removed of each and the order of its sources depend on `seed` and its id alone.

    Returns:
        The table and its report, as of `questions.table`.

    Raises:
        DataError: as `load`, or no row is kept.
    """
    rows, dropped = load(dataset.source, split)
    chosen = choose(dataset, split, rows, dropped, seed)
    if dataset.kind == "hotpotqa-modified":
        chosen = [modify(row, seed) for row in chosen]
    chosen = [shuffle(row, seed) for row in chosen]
    questions = (Question(row.id, prompt(row), row.answer, row.level) for row in chosen)
    return table(questions, len(rows), dropped)


def load(source: HubSource | FileSource | GeneratedSource, split: Split) -> tuple[list[Row], dict[str, int]]:
    """Read one split of a source whole, in the official or in the hub's schema, or raise.

    Kept are rows with a question and an answer, exactly 10 paragraphs of different titles, and exactly 2 supporting
    titles, both among them. A row that is there twice is kept once. Where no row of a file has an id, it is derived
    from the question and the answer.

    Returns:
        The rows that are kept, in the order of the source, and how many were dropped for each reason.

    Raises:
        DataError: a file cannot be read, a row is not of the schema, or two different rows share an id.
    """
    seen: dict[str, tuple[Row, str]] = {}
    dropped: Counter[str] = Counter()
    for name, places in _open(source, split):
        has_ids = None
        for place, raw in places:
            where = f"{name}: {place}"
            row = _parse(raw, where)
            if has_ids is None:
                has_ids = bool(row.id)
            if bool(row.id) != has_ids:
                expected = "an id, as the rows before have" if has_ids else "none, as in the rows before"
                raise wrong(where, "id", expected, row.id or ABSENT)
            if not has_ids:
                row = replace(row, id=sha256(f"{row.question}\n{row.answer}".encode()).hexdigest()[:24])
            earlier, earlier_where = seen.setdefault(row.id, (row, where))
            if earlier_where == where:
                continue
            if earlier != row:
                raise DataError(f"{where}: field 'id': {row.id!r} is also the id of other content, at {earlier_where}")
            dropped["identical duplicate"] += 1
        if has_ids is None:
            raise DataError(f"{name}: empty; expected at least one row")
    rows = []
    for row, _ in seen.values():
        if reason := _unusable(row):
            dropped[reason] += 1
        else:
            rows.append(row)
    return rows, dict(sorted(dropped.items()))


def modify(row: Row, seed: int) -> Row:
    """Remove two paragraphs of a row of ten, at random, and relabel it: HotpotQA-Modified (paper E.2).

    With probability 1/3 each: two irrelevant ones (easy), one irrelevant and one relevant (medium), both relevant ones
    (hard). The draws depend on `seed`, the row's id and the titles alone. `supporting` still names both relevant ones.
    """
    level = DIFFICULTIES[draw(seed, "fate", row.id) % 3]
    irrelevant, relevant = REMOVED[level]
    titles = sorted((title for title, _ in row.paragraphs), key=lambda title: draw(seed, "remove", row.id, title))
    removed = [title for title in titles if title not in row.supporting][:irrelevant]
    removed += [title for title in titles if title in row.supporting][:relevant]
    return replace(row, level=level, paragraphs=tuple(p for p in row.paragraphs if p[0] not in removed))


def shuffle(row: Row, seed: int) -> Row:
    """Put a row's paragraphs in an order drawn from `seed`, its id and their titles (paper E.8: random order)."""
    return replace(
        row, paragraphs=tuple(sorted(row.paragraphs, key=lambda paragraph: draw(seed, "shuffle", row.id, paragraph[0])))
    )


def prompt(row: Row) -> str:
    """Write the question prompt of paper E.8; its line breaks, which the text at hand has lost, are ours."""
    question = (
        "Based on the information sources given below and your existing knowledge, "
        f"answer the following question: {row.question}"
    )
    sources = (f"Source {number}: {title}\n{text}" for number, (title, text) in enumerate(row.paragraphs, 1))
    return "\n\n".join((question, *sources))


def _unusable(row: Row) -> str | None:
    """Say why a row is dropped, None where it is kept."""
    titles = {title for title, _ in row.paragraphs}
    if len(row.paragraphs) != PARAGRAPHS:
        return f"{len(row.paragraphs)} paragraphs instead of {PARAGRAPHS}"
    if len(titles) != PARAGRAPHS:
        return "two paragraphs of one title"
    if len(row.supporting) != SUPPORTING:
        return f"{len(row.supporting)} supporting titles instead of {SUPPORTING}"
    if not row.supporting <= titles:
        return "supporting title without a paragraph"
    if not row.question.strip() or not row.answer.strip():
        return "blank question or answer"
    return None


def _open(source: HubSource | FileSource | GeneratedSource, split: Split) -> Iterator[tuple[str, Iterable]]:
    """Yield the name of each file of a split and its rows, as (place in the file, what stands there)."""
    if split not in _HUB_SPLITS:
        raise DataError(f"no split is called {split!r}; valid: {', '.join(_HUB_SPLITS)}")
    if isinstance(source, FileSource):
        for path in source.train if split == "train" else source.test:
            path = expand(path)
            yield str(path), read(path, (*_COLUMNS, "_id"))
    elif isinstance(source, HubSource):
        yield (
            f"{source.hub} at {source.revision[:8]}, {_HUB_SPLITS[split]}",
            download(source, source.config, _HUB_SPLITS[split], _COLUMNS),
        )
    else:
        count = source.generated_train if split == "train" else source.generated_test
        yield f"two-hop, {split}", ((f"row {index}", two_hop.row(split, index)) for index in range(count))


def _parse(raw: Any, where: str) -> Row:
    """Check a row of either schema; its id is empty where it has none. What is not used is not checked."""
    if not isinstance(raw, dict):
        raise DataError(f"{where}: expected an object with {', '.join(_COLUMNS)}, found {show(raw)}")
    id_field = "_id" if "_id" in raw else "id"
    identity = text(raw[id_field], where, id_field) if id_field in raw else ""
    if id_field in raw and not identity:
        raise wrong(where, id_field, "text that is not empty", identity)
    level = raw.get("level", ABSENT)
    if level not in DIFFICULTIES:
        raise wrong(where, "level", " or ".join(DIFFICULTIES), level)
    return Row(
        id=identity,
        question=text(raw.get("question", ABSENT), where, "question"),
        answer=text(raw.get("answer", ABSENT), where, "answer"),
        level=level,
        paragraphs=tuple(_paragraphs(raw.get("context", ABSENT), where)),
        supporting=frozenset(_supporting(raw.get("supporting_facts", ABSENT), where)),
    )


def _paragraphs(context: Any, where: str) -> Iterator[tuple[str, str]]:
    expected = "[[title, [sentence, ...]], ...] or {title: [...], sentences: [[sentence, ...], ...]}"
    if isinstance(context, dict):  # the hub's schema
        titles, texts = context.get("title"), context.get("sentences")
        if not isinstance(titles, list) or not isinstance(texts, list):
            raise wrong(where, "context", expected, context)
        if len(titles) != len(texts):
            raise DataError(
                f"{where}: field 'context': expected a text for each title, found {len(texts)} for {len(titles)}"
            )
        context = list(zip(titles, texts, strict=True))
    if not isinstance(context, list):
        raise wrong(where, "context", expected, context)
    for index, paragraph in enumerate(context):
        field = f"context[{index}]"
        if not isinstance(paragraph, list | tuple) or len(paragraph) != 2 or not isinstance(paragraph[1], list):
            raise wrong(where, field, "a title and a list of sentences", paragraph)
        title, sentences = paragraph
        yield text(title, where, field), "".join(text(sentence, where, field) for sentence in sentences)


def _supporting(facts: Any, where: str) -> Iterator[str]:
    if isinstance(facts, dict):  # the hub's schema
        titles = facts.get("title")
    elif isinstance(facts, list) and all(isinstance(fact, list) and len(fact) == 2 for fact in facts):
        titles = [title for title, _ in facts]
    else:
        titles = None
    if not isinstance(titles, list):
        raise wrong(where, "supporting_facts", "[[title, number], ...] or {title: [...]}", facts)
    return (text(title, where, "supporting_facts") for title in titles)
