"""Multiple-choice benchmarks (paper 5.1): from the hub or from files, to `tables.ITEMS`."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import sha256
from typing import Any

import polars as pl

from candor.config import Benchmark, HubSource, ItemFiles, NonsenseSource
from candor.data import nonsenseqa
from candor.data.files import DataError, download, expand, read
from candor.data.items import Item, equal_options, to_frame
from candor.data.label_references import refers_to_labels
from candor.data.loaders import LOADERS, NAMES, Loader, Row
from candor.data.randomness import draw


def build(benchmark: Benchmark, seed: int) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Build a benchmark: the questions that are asked, and the few-shot examples.

    Dropped are rows with one option, an empty one, no question, a missing or doubtful gold, or a language that is not
    asked. `limit` keeps the questions with the smallest draws of (seed, id), in the order of the source. Examples have no
    two equal options and none that refers to labels.

    Returns:
        A frame of `tables.ITEMS`, and a report without any text of an item: for `asked` and `examples` the rows `read`,
        `dropped` (reason: count) and `kept` after drop and limit; for the questions asked, the counts by `options` and
        by the gold's `gold_position` (from 1), `languages`, `label_references`, and of `equal_options` the questions and
        those where the gold is one of the equals.

    Raises:
        DataError: a file cannot be read, a row is not of the schema, two different rows share an id, or nothing is kept.
    """
    if isinstance(benchmark.source, NonsenseSource):
        words = nonsenseqa.word_list(benchmark.source.word_list)
        asked = nonsenseqa.generate("asked", benchmark.source.generated_questions, words, seed)
        examples = nonsenseqa.generate("example", benchmark.source.generated_examples, words, seed)
        counts = {
            "asked": {"read": len(asked), "dropped": {}, "kept": len(asked)},
            "examples": {"read": len(examples), "dropped": {}, "kept": len(examples)},
        }
    else:
        asked, examples, counts = _load(benchmark, benchmark.source, seed)
    return to_frame((*asked, *examples)), {**counts, **_describe(asked), "seed": seed}


def _load(
    benchmark: Benchmark, source: HubSource | ItemFiles, seed: int
) -> tuple[list[Item], list[Item], dict[str, Any]]:
    loader = LOADERS[benchmark.kind]
    separate = bool(source.examples if isinstance(source, ItemFiles) else loader.examples)
    asked_read, asked_dropped, asked = _items(benchmark, loader, _open(benchmark, loader, "asked"), "asked", seed)
    if separate:
        read, dropped, pool = _items(benchmark, loader, _open(benchmark, loader, "examples"), "example", seed)
        also_asked = {item.item_id for item in asked}
        dropped["is asked"] += sum(item.item_id in also_asked for item in pool)
        pool = [item for item in pool if item.item_id not in also_asked]
    else:
        read, dropped, pool = 0, Counter(), asked
    examples = _choose_examples(pool, benchmark.examples, loader)
    if not separate:
        chosen = {example.item_id for example in examples}
        asked_dropped["serves as example"] = len(chosen)
        asked = [item for item in asked if item.item_id not in chosen]
    if not asked:
        raise DataError(f"{benchmark.label}: no question is left of {asked_read}; dropped: {dict(asked_dropped)}")
    if benchmark.limit is not None:
        smallest = set(sorted(asked, key=lambda item: draw(seed, "limit", item.item_id))[: benchmark.limit])
        asked = [item for item in asked if item in smallest]
    return (
        asked,
        examples,
        {
            "asked": {"read": asked_read, "dropped": _sorted(asked_dropped), "kept": len(asked)},
            "examples": {"read": read, "dropped": _sorted(dropped), "kept": len(examples)},
        },
    )


def _items(
    benchmark: Benchmark, loader: Loader, files: Iterable[tuple[str, Iterable]], role: str, seed: int
) -> tuple[int, Counter[str], list[Item]]:
    """Read all files of a role: the number of rows, how many were dropped for each reason, and the items."""
    seen: dict[str, tuple[Row, str]] = {}
    dropped: Counter[str] = Counter()
    count = 0
    for name, places in files:
        for place, raw in places:
            count += 1
            where = f"{name}: {place}"
            if not isinstance(raw, dict):
                raise DataError(
                    f"{where}: expected an object with {', '.join(loader.columns)}, found {type(raw).__name__}"
                )
            row = loader.parse(raw, where)
            row = replace(row, question=row.question.strip(), options=tuple(option.strip() for option in row.options))
            if not row.id:
                content = [row.question, row.options, row.gold, row.category, row.language]
                row = replace(row, id=sha256(json.dumps(content).encode()).hexdigest()[:24])
            earlier, earlier_where = seen.setdefault(row.id, (row, where))
            if earlier != row:
                raise DataError(f"{where}: id {row.id!r} is also the id of other content, at {earlier_where}")
            if earlier_where != where:
                dropped["identical duplicate"] += 1
    items = []
    for row, _ in seen.values():
        if reason := _unusable(row, benchmark):
            dropped[reason] += 1
            continue
        options, gold = row.options, row.gold
        if loader.gold_first:
            order = sorted(range(len(options)), key=lambda index: draw(seed, "option", row.id, str(index)))
            options, gold = tuple(options[index] for index in order), order.index(gold)
        items.append(
            Item(
                item_id=row.id,
                role=role,
                question=row.question,
                options=options,
                gold=gold,
                category=row.category,
                language=row.language,
                rationale=row.rationale,
                label_reference=refers_to_labels(row.question, options),
            )
        )
    return count, dropped, items


def _unusable(row: Row, benchmark: Benchmark) -> str | None:
    """Say why a row is dropped, None where it can be asked."""
    if row.language not in benchmark.languages:
        return "language is not asked"
    if not row.question:
        return "no question"
    if len(row.options) < 2:
        return "one option" if row.options else "no options"
    if not all(row.options):
        return "empty option"
    if row.gold is None:
        return row.doubt
    if benchmark.strict_duplicates and equal_options(row.options):
        return "equal options"
    return None


def _choose_examples(pool: Iterable[Item], count: int, loader: Loader) -> list[Item]:
    """Take the first `count` of each language, or of each language and category, that are fit to be shown."""
    chosen: Counter[tuple[str, str | None]] = Counter()
    examples = []
    for item in pool:
        category = item.category if loader.examples_by_category else None
        group = (item.language, category)
        if chosen[group] < count and not item.label_reference and not equal_options(item.options):
            chosen[group] += 1
            examples.append(replace(item, role="example", category=category))
    return examples


def _describe(asked: list[Item]) -> dict[str, Any]:
    equal = [(item, same) for item in asked if (same := equal_options(item.options))]
    return {
        "options": _sorted(Counter(len(item.options) for item in asked)),
        "gold_position": _sorted(Counter(item.gold + 1 for item in asked)),
        "languages": _sorted(Counter(item.language for item in asked)),
        "label_references": sum(item.label_reference for item in asked),
        "equal_options": {
            "questions": len(equal),
            "with_gold": sum(item.gold in same for item, same in equal),
        },
    }


def _sorted(counts: Counter) -> dict[str, int]:
    return {str(key): counts[key] for key in sorted(counts) if counts[key]}


def _open(benchmark: Benchmark, loader: Loader, role: str) -> Iterator[tuple[str, Iterable]]:
    """Yield the name of each file or split of a role and its rows, as (place, what stands there)."""
    source = benchmark.source
    if isinstance(source, ItemFiles):
        for path in map(expand, getattr(source, role)):
            yield str(path), read(path, loader.columns)
        return
    split = getattr(loader, role)
    configs = loader.configs or [NAMES[language] for language in benchmark.languages]
    for config in [source.config] if source.config else configs:
        name = " ".join(filter(None, (source.hub, config)))
        yield f"{name} at {source.revision[:8]}, {split}", download(source, config, split, loader.columns)
