"""Multiple-choice benchmarks (paper 5.1): from the hub or from files in their original schemas, to `tables.ITEMS`.

A benchmark is a function that reads one of its rows, and its line in `_LOADERS`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from string import ascii_uppercase
from typing import Any

import polars as pl

from candor.config import Benchmark, HubSource, ItemFiles, NonsenseSource
from candor.data import nonsenseqa
from candor.data.files import ABSENT, DataError, download, expand, read, text, wrong
from candor.data.items import Item, has_equal_options, to_frame
from candor.data.label_references import refers_to_labels
from candor.data.randomness import draw

_LANGUAGES = {"English": "en", "French": "fr", "German": "de", "Italian": "it", "Spanish": "es"}
_NAMES = {code: name for name, code in _LANGUAGES.items()}
_NO_GOLD = "gold is missing or is no option's label"


@dataclass(frozen=True, slots=True)
class Row:
    """A question as a loader read it, before it is known whether it can be asked."""

    id: str
    """Empty where the benchmark has none; then it is made of the content."""
    question: str
    options: tuple[str, ...]
    gold: int | None
    """Index of the right option; None where it is missing or doubtful."""
    category: str | None = None
    language: str = "en"
    """ISO 639-1, or its name where candor does not know the language."""
    rationale: str | None = None
    doubt: str = _NO_GOLD
    """Why `gold` is None."""


@dataclass(frozen=True, slots=True)
class Loader:
    """How a benchmark is read, and where the hub keeps it."""

    parse: Callable[[dict[str, Any], str], Row]
    """Reads a row, or raises a DataError that names its place."""
    columns: tuple[str, ...]
    asked: str
    """Split of the hub that is asked."""
    examples: str | None = None
    """Split of the hub that examples come from; None where they are the first questions of `asked`."""
    configs: tuple[str | None, ...] = (None,)
    """Configurations of the hub's repository; one for each language where it is empty."""
    examples_by_category: bool = False
    """Whether an example serves the questions of its category alone."""
    gold_first: bool = False
    """Whether rows have the gold first, so that the original order has to be drawn."""


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
    loader = _LOADERS[benchmark.kind]
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
                row = replace(row, id=sha256(repr((row.question, row.options, row.gold)).encode()).hexdigest()[:24])
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
    if benchmark.strict_duplicates and has_equal_options(row.options):
        return "equal options"
    return None


def _choose_examples(pool: Iterable[Item], count: int, loader: Loader) -> list[Item]:
    """Take the first `count` of each language, or of each language and category, that are fit to be shown."""
    chosen: Counter[tuple[str, str | None]] = Counter()
    examples = []
    for item in pool:
        category = item.category if loader.examples_by_category else None
        group = (item.language, category)
        if chosen[group] < count and not item.label_reference and not has_equal_options(item.options):
            chosen[group] += 1
            examples.append(replace(item, role="example", category=category))
    return examples


def _describe(asked: list[Item]) -> dict[str, Any]:
    equal = [item for item in asked if has_equal_options(item.options)]
    return {
        "options": _sorted(Counter(len(item.options) for item in asked)),
        "gold_position": _sorted(Counter(item.gold + 1 for item in asked)),
        "languages": _sorted(Counter(item.language for item in asked)),
        "label_references": sum(item.label_reference for item in asked),
        "equal_options": {
            "questions": len(equal),
            "with_gold": sum(item.options.count(item.options[item.gold]) > 1 for item in equal),
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
    configs = loader.configs or [_NAMES[language] for language in benchmark.languages]
    for config in [source.config] if source.config else configs:
        name = " ".join(filter(None, (source.hub, config)))
        yield f"{name} at {source.revision[:8]}, {split}", download(source, config, split, loader.columns)


# --- Loaders ----------------------------------------------------------------------------------------------------------


def _choices(raw: dict[str, Any], where: str) -> Row:
    """Read the schema that CommonsenseQA, ARC and EXAMS share: labelled choices and `answerKey`.

    The originals have the choices in `question`, a list of {text, label}; the hub has {text: [...], label: [...]}.
    """
    question, field = raw.get("question", ABSENT), "question"
    choices = raw.get("choices", ABSENT)
    if isinstance(question, dict):
        choices, field = question.get("choices", ABSENT), "question.stem"
        question = question.get("stem", ABSENT)
    if isinstance(choices, dict):
        texts, labels = choices.get("text"), choices.get("label")
        if not isinstance(texts, list) or not isinstance(labels, list) or len(texts) != len(labels):
            raise wrong(where, "choices", "{text: [...], label: [...]} of one length", choices)
    elif isinstance(choices, list) and all(isinstance(choice, dict) for choice in choices):
        texts, labels = ([choice.get(key, ABSENT) for choice in choices] for key in ("text", "label"))
    else:
        raise wrong(where, "choices", "[{text, label}, ...] or {text: [...], label: [...]}", choices)
    labels = [text(label, where, "choices.label") for label in labels]
    key = raw.get("answerKey", ABSENT)
    return Row(
        id=text(raw.get("id", ABSENT), where, "id"),
        question=text(question, where, field),
        options=tuple(text(option, where, "choices.text") for option in texts),
        gold=labels.index(key) if labels.count(key) == 1 else None,
    )


def _exams(raw: dict[str, Any], where: str) -> Row:
    info = raw.get("info", ABSENT)
    if not isinstance(info, dict):
        raise wrong(where, "info", "{language, subject, ...}", info)
    language = text(info.get("language", ABSENT), where, "info.language")
    return replace(
        _choices(raw, where),
        category=text(info.get("subject", ABSENT), where, "info.subject"),
        language=_LANGUAGES.get(language, language),
    )


_COT_START = re.compile(r"\s*(?:A|Answer): Let's think step by step\.?\s*")
_COT_ANSWER = re.compile(r"\s*(?:Therefore, |So |Thus, )?[Tt]he answer is \(?([A-J])\)?\.?\s*")


def _mmlu_pro(raw: dict[str, Any], where: str) -> Row:
    options = raw.get("options", ABSENT)
    if not isinstance(options, list):
        raise wrong(where, "options", "a list of texts", options)
    identity = raw.get("question_id", ABSENT)
    if not isinstance(identity, int):
        raise wrong(where, "question_id", "a whole number", identity)
    letter, index = raw.get("answer"), raw.get("answer_index")
    known = isinstance(index, int) and 0 <= index < len(options)
    agree = known and letter == ascii_uppercase[index]
    doubt = "answer and answer_index disagree" if known else _NO_GOLD
    rationale = text(raw.get("cot_content") or "", where, "cot_content")
    rationale = rationale[match.end() :] if (match := _COT_START.match(rationale)) else rationale
    if answers := list(_COT_ANSWER.finditer(rationale)):
        rationale = rationale[: answers[-1].start()]
        if agree and answers[-1][1] != letter:
            agree, doubt = False, "worked solution gives another answer"
    return Row(
        id=str(identity),
        question=text(raw.get("question", ABSENT), where, "question"),
        options=tuple(text(option, where, "options") for option in options),
        gold=index if agree else None,
        category=text(raw.get("category", ABSENT), where, "category"),
        rationale=rationale.strip() or None,
        doubt=doubt,
    )


_GPQA_OPTIONS = ("Correct Answer", "Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
_GPQA_COLUMNS = ("Record ID", "Question", *_GPQA_OPTIONS, "High-level domain")


def _gpqa(raw: dict[str, Any], where: str) -> Row:
    """Read a row of GPQA; its authors ask that no question is shown anywhere, so an error tells types alone."""
    for column in _GPQA_COLUMNS:
        if not isinstance(raw.get(column), str):
            raise DataError(f"{where}: field {column!r}: expected text, found {type(raw.get(column)).__name__}")
    return Row(
        id=raw["Record ID"],
        question=raw["Question"],
        options=tuple(raw[column] for column in _GPQA_OPTIONS),
        gold=0,
        category=raw["High-level domain"],
    )


def _include(raw: dict[str, Any], where: str) -> Row:
    index = raw.get("answer")
    options = tuple(text(raw.get(f"option_{letter}", ABSENT), where, f"option_{letter}") for letter in "abcd")
    language = text(raw.get("language", ABSENT), where, "language")
    return Row(
        id="",
        question=text(raw.get("question", ABSENT), where, "question"),
        options=options,
        gold=index if isinstance(index, int) and 0 <= index < len(options) else None,
        category=text(raw.get("subject", ABSENT), where, "subject"),
        language=_LANGUAGES.get(language, language),
    )


_CHOICES = ("id", "question", "choices", "answerKey")
_LOADERS = {
    "commonsense_qa": Loader(_choices, _CHOICES, asked="validation", examples="train"),  # its test has no keys
    "arc": Loader(_choices, _CHOICES, asked="test", examples="train", configs=("ARC-Easy", "ARC-Challenge")),
    "mmlu-pro": Loader(
        _mmlu_pro,
        ("question_id", "question", "options", "answer", "answer_index", "cot_content", "category"),
        asked="test",
        examples="validation",
        examples_by_category=True,
    ),
    "gpqa": Loader(_gpqa, _GPQA_COLUMNS, asked="train", configs=("gpqa_main",), gold_first=True),
    "include": Loader(
        _include,
        ("language", "subject", "question", "option_a", "option_b", "option_c", "option_d", "answer"),
        asked="test",
        examples="validation",
        configs=(),
    ),
    "exams": Loader(_exams, ("id", "question", "answerKey", "info"), asked="test", configs=("multilingual",)),
}
