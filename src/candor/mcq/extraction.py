r"""Reading an answer out of a model's raw output (ABCD paper, appendix F.2; the letter rules are after MMLU-Pro's).

Rules are tried in order and the first that finds something is the status of the output:

1. `answer_is`: after the last "answer is", to the end of its line;
2. `answer_colon`: after the last "answer:", likewise;
3. text asked for: `verbatim_option`, the option named last, then `last_sentence`;
   a letter asked for: `last_line`, a label alone on the last line.

Where none does, the status is `random` and `random_option` chooses. Reasoning is cut off first. Two of the paper's
expressions look ahead to the end from every start and so are quadratic. Every expression here matches at most so many
characters, however long the output is, so that the time is linear in it.
"""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_uppercase
from typing import NamedTuple

from candor.data.randomness import draw

TEXT_RULES = ("answer_is", "answer_colon", "verbatim_option", "last_sentence")
LETTER_RULES = ("answer_is", "answer_colon", "last_line")
RANDOM = "random"
"""Status of an output that no rule could read."""


@dataclass(frozen=True)
class Extraction:
    """What was read out of an output."""

    rule: str
    """One of TEXT_RULES or LETTER_RULES, or RANDOM."""
    text: str | None = None
    """The answer as the model wrote it, a part of its output; None where no rule found one."""
    position: int | None = None
    """Place of the option that a label names, from 0; None where the text is not a label."""


_ANSWER_IS = re.compile(r"(?<![^\W_])answer[*_]{0,3}[ \t]{1,2}is\b[*_]{0,3}", re.IGNORECASE)
_ANSWER_COLON = re.compile(r"(?<![^\W_])answer[*_]{0,3}[ \t]?[:：][*_]{0,3}", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?][\"'”’)\]*_]{0,4}\s|[。！？\n]")
_CHANNEL = re.compile(r"<\|channel\|>|(?:analysis|commentary)(?=[A-Z0-9\"“(])")
_FINAL_CHANNEL = re.compile(r"<\|channel\|>final[^<\n]{0,40}<\|message\|>|assistantfinal")
_SPECIAL_TOKEN = re.compile(r"<\|[a-z_]{1,20}\|>")

_DEPTH = 16
"""So many layers of dress are taken off at most; no answer has more, and the time stays linear."""
_PAIRS = (
    *((sign, sign) for sign in ("**", "*", "__", "_", "`", "$$", "$", '"', "'")),
    *(("“", "”"), ("‘", "’"), ("«", "»"), ("„", "“"), (r"\(", r"\)"), (r"\[", r"\]")),
    *((rf"\{command}{{", "}") for command in ("boxed", "text", "textbf", "mathrm", "mathbf", "fbox")),
)
_BRACKETS = (("(", ")"), ("[", "]"))
_BULLET = re.compile(r"[-–—*•][ \t]{1,4}")
_WORDS = r"(?i:the|correct|final|answer|option|choice|letter)\b"
_OPENING = rf"(?:[\s*_`\"'“‘«„$:(\[{{]|\\(?:boxed|text|textbf|mathrm|mathbf|fbox)\{{|\\[(\[]|{_WORDS}){{0,24}}"
_CLOSING = r"[\s*_`\"'”’»“$)\]}.,:;!?\\]{0,24}"


def answer_part(output: str) -> str:
    """Return what a model said after its reasoning; empty where it never came to an end of it.

    Reasoning is `<think>...</think>`, all before a lone `</think>` (the template opened the tag), and gpt-oss's
    channels other than `final`, with its special tokens or as decoded without them.
    """
    head, closed, answer = output.rpartition("</think>")
    answer = answer if closed else head + answer
    answer = answer.partition("<think>")[0]
    start = answer.lstrip().removeprefix("<|start|>assistant")
    if _CHANNEL.match(start) or (start.startswith("analysis") and "assistantfinal" in start):
        final = _last(_FINAL_CHANNEL, start)
        answer = start[final.end() :] if final else ""
        token = _SPECIAL_TOKEN.search(answer)
        answer = answer[: token.start()] if token else answer
    return answer


def extract_text(output: str, options: Sequence[str], labels: Sequence[str] = ()) -> Extraction:
    """Read the full text of an option out of an output (M&L, M&D).

    Args:
        output: as the model wrote it.
        options: in the order shown.
        labels: shown in front of the options, one each, or none. An answer may repeat its label; an answer that is a
            label and nothing else is one only where labels differ and no option reads like it.

    Returns:
        The text without Markdown, LaTeX, quotes, a label and closing punctuation around it, unless an option has them.
    """
    answer, labels = answer_part(output), tuple(labels)
    for rule in TEXT_RULES:
        if rule == "verbatim_option":
            text = _last_named(answer, options)
        else:
            place = _last_sentence(answer) if rule == "last_sentence" else _place(answer, rule)
            text = _bare_answer(place, options, labels)
        if text:
            named = text in labels and text not in options and len(set(labels)) == len(labels)
            return Extraction(rule, text, labels.index(text) if named else None)
    return Extraction(RANDOM)


def extract_letter(output: str, labels: Sequence[str], options: Sequence[str] = ()) -> Extraction:
    r"""Read one label out of an output (S&L, S&D), in any of the usual dresses: `(C)`, `**C**`, `\boxed{C}`, `C) text`.

    A place that names several labels ("(A) and (B)") names none. On the last line the label stands alone, or with the
    text of its option.

    Args:
        output: as the model wrote it.
        labels: one for each option, all different; they need not have been shown.
        options: in the order shown.

    Raises:
        ValueError: labels are not all different.
    """
    answer, labels = answer_part(output), tuple(labels)
    if len(set(labels)) < len(labels):
        raise ValueError(f"labels {labels} cannot be told apart; letters are read by labels that all differ")
    written = _written(labels)
    for rule in LETTER_RULES:
        if rule == "last_line":
            found = _label_alone(answer.rstrip().rpartition("\n")[2].lstrip(), written, options)
        else:
            found = _label_in(_place(answer, rule), written)
        if found:
            position = labels.index(found) if found in labels else [label.lower() for label in labels].index(found)
            return Extraction(rule, found, position)
    return Extraction(RANDOM)


def random_option(seed: int, item_id: str, run: int, options: int) -> int:
    """Choose the index of an option for an output that no rule could read; it depends on nothing but the arguments."""
    return draw(seed, "unread-answer", item_id, str(run)) % options


def undress(text: str) -> str:
    """Take Markdown, LaTeX, quotes, brackets and closing punctuation off both ends of an answer."""
    *_, bare = _layers(text)
    return bare


def _layers(text: str) -> Iterator[str]:
    """Yield a text with one more layer of dress taken off each time, from spaces alone to bare."""
    text = text.strip()
    yield text
    for _ in range(_DEPTH):
        before = text
        if text[-1:] in tuple(".,;:!?。！？"):
            text = text.rstrip(text[-1])
        elif text[:1] in (":", "："):
            text = text[1:]
        elif pair := next((p for p in _PAIRS if text.startswith(p[0]) and _ends(text, p)), None):
            text = text[len(pair[0]) : -len(pair[1])]
        elif (pair := next((p for p in _BRACKETS if text[:1] + text[-1:] == p[0] + p[1]), None)) and not any(
            sign in text[1:-1] for sign in pair
        ):
            text = text[1:-1]
        elif text[-1:] in tuple(")]}") and "([{"[")]}".index(text[-1])] not in text:
            text = text[:-1]
        else:
            text = text.strip("*`")
        text = text.strip()
        if text == before:
            return
        yield text


def _ends(text: str, pair: tuple[str, str]) -> bool:
    return len(text) >= len(pair[0]) + len(pair[1]) and text.endswith(pair[1])


def _bare_answer(place: str, options: Sequence[str], labels: tuple[str, ...]) -> str:
    """Take the dress off an answer, but no more of it than makes it an option; then the label in front, likewise."""
    for _ in range(3):  # a label may stand within bold type, and its text in quotes
        bare = place
        for bare in _layers(place):
            if bare in options:
                return bare
        label = _label_prefix(labels).match(bare) or _BULLET.match(bare)
        if not label or label.end() == len(bare):
            return bare
        place = bare[label.end() :]
    return undress(place)


@lru_cache(maxsize=256)
def _label_prefix(labels: tuple[str, ...]) -> re.Pattern[str]:
    """Match a label and its dress in front of a text: any capital letter, and the labels shown.

    A label that is a letter or a digit must have a dress, for "A cat" and "2 apples" are texts; a label that all
    options share, or a sign, need not.
    """
    uniform = len(set(labels)) == 1
    bare = [re.escape(label) for label in labels if uniform or not label.isalnum()]
    dressed = "|".join(["[A-Z]", *map(re.escape, sorted(labels, key=len, reverse=True))])
    free = "".join(rf"|{label}\s{{1,4}}" for label in dict.fromkeys(bare))
    return re.compile(rf"\((?:{dressed})\)[*_:.]{{0,4}}\s{{0,4}}|(?:{dressed})[).:][*_]{{0,3}}\s{{1,4}}{free}")


def _place(answer: str, rule: str) -> str:
    """Return what follows the last of a rule's words, to the end of its line; of the next line where nothing does.

    Where an output was cut off right after such words, those before them count.
    """
    pattern = _ANSWER_IS if rule == "answer_is" else _ANSWER_COLON
    for words in reversed(deque(pattern.finditer(answer), maxlen=2)):
        line, _, rest = answer[words.end() :].partition("\n")
        if place := (line if undress(line) else rest.lstrip().partition("\n")[0]).strip():
            return place
    return ""


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(iter(deque(pattern.finditer(text), maxlen=1)), None)


def _last_sentence(answer: str) -> str:
    body = answer.rstrip()
    end = _last(_SENTENCE_END, body)
    return body[end.end() :] if end else body


def _last_named(answer: str, options: Sequence[str]) -> str:
    """Return the option that an answer names last as it stands, at word boundaries; of two that overlap the longer."""
    spans = sorted((span for option in set(options) if (span := _last_span(answer, option))), reverse=True)
    if not spans:
        return ""
    start, end = spans[0]
    for other_start, other_end in spans[1:]:
        if other_end > start and other_end - other_start > end - start:
            start, end = other_start, other_end
    return answer[start:end]


def _last_span(answer: str, option: str) -> tuple[int, int] | None:
    start = answer.rfind(option) if option.strip() else -1
    while start >= 0:
        end = start + len(option)
        if _bounded(answer, start, end):
            return start, end
        start = answer.rfind(option, 0, end - 1)
    return None


def _bounded(text: str, start: int, end: int) -> bool:
    """Tell whether no word or number goes on at either end: 5 is not named by 15, 0.5, -5 or 5.2."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    first, last = text[start], text[end - 1]
    return not (
        (first.isalnum() and before[-1:].isalnum())
        or (last.isalnum() and after[:1].isalnum())
        or (first.isdigit() and (before.endswith(("-", "−")) or re.fullmatch(r"\d[.,]", before)))
        or (last.isdigit() and re.fullmatch(r"[.,]\d", after))
    )


class _Written(NamedTuple):
    """How the labels of a question are written; each expression holds the label it finds in a group."""

    first: re.Pattern[str]  # at the beginning of a place
    next: re.Pattern[str]  # after the first: several are named
    dressed: re.Pattern[str]  # anywhere in a place
    any_case: re.Pattern[str]  # at the beginning, in brackets or with nothing after it
    alone: re.Pattern[str]
    before_text: re.Pattern[str]


@lru_cache(maxsize=256)
def _written(labels: tuple[str, ...]) -> _Written:
    label = "|".join(map(re.escape, sorted(labels, key=len, reverse=True)))
    end = r"(?![^\W_]|\(|['’-][^\W_]|[.,]\d)"
    other = "[A-Z]" if set(labels) <= set(ascii_uppercase) else label  # "A, B or E" names several, whatever there is
    another = rf"(?:\((?:{other})\)|(?:{other})(?=\s{{0,4}}(?:$|[)\].,;:/&*}}]|and\b|or\b)))"
    return _Written(
        first=re.compile(rf"{_OPENING}({label}){end}"),
        next=re.compile(
            rf"[)\]}}*_$\s.]{{0,8}}(?:[,/&+]|and\b|or\b)\s{{0,4}}(?:(?:and|or)\b)?[\s(\[*_$]{{0,8}}?{another}"
        ),
        dressed=re.compile(
            rf"(?<![^\W_])(?:\(({label})\)|\*\*\(?({label})[).]?\*\*|\\boxed\{{(?:\\text\{{)?\(?({label})[)}}]"
            rf"|(?i:option|choice|letter) \(?({label}){end})"
        ),
        any_case=re.compile(rf"{_OPENING}(?:\(((?i:{label}))\)|((?i:{label})){end}{_CLOSING}$)"),
        alone=re.compile(rf"{_OPENING}({label}){end}{_CLOSING}"),
        before_text=re.compile(rf"{_OPENING}({label})[).:]"),
    )


def _label_in(place: str, written: _Written) -> str | None:
    """Return the label that a place begins with, else the one that it names in dress; none where it names several."""
    if first := written.first.match(place):
        rest = place[first.end() :]
        if written.next.match(rest):
            return None
        article = first[1] in ("A", "I") and re.match(r"\s{1,4}[^\W_]", rest) and place[first.start(1) - 1 :][:1] != "("
        if not article:
            return first[1]
    named = {label for labels in written.dressed.findall(place) for label in labels if label}
    if named:
        return named.pop() if len(named) == 1 else None
    if any_case := written.any_case.match(place):
        bracketed, bare = any_case.groups()
        return bracketed or (None if bare in ("a", "i") else bare)
    return None


def _label_alone(line: str, written: _Written, options: Sequence[str]) -> str | None:
    """Return the label that a line is, with nothing else or with the text of an option."""
    if alone := written.alone.fullmatch(line):
        return alone[1]
    label = written.before_text.match(line)
    return label[1] if label and undress(line[label.end() :]) in map(undress, options) else None
