"""How each benchmark is read: from the hub, or from files in its original schema.

A benchmark is a function that reads one of its rows, and its line in `LOADERS`.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from string import ascii_uppercase
from typing import Any

from candor.data.files import ABSENT, DataError, text, wrong

_LANGUAGES = {"English": "en", "French": "fr", "German": "de", "Italian": "it", "Spanish": "es"}
NAMES = {code: name for name, code in _LANGUAGES.items()}
"""Languages by code, as INCLUDE and EXAMS name them."""
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
LOADERS = {
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
