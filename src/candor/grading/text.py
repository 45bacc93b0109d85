"""Grading of free text: ROUGE-1 F (the paper's way, HotpotQA) and exact match (RLCR's way).

Paper: E.7, accuracy. An answer is correct where its ROUGE-1 F with the gold is above 0.7.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence

THRESHOLD = 0.7
"""A ROUGE-1 F above this is correct; 0.7 itself is not."""

_TOKEN = re.compile(r"[^\W_]+")
_LONGEST_WORD = 1000
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def rouge1_f(answer: str, gold: str) -> float:
    """Return the F measure, 0 to 1, of the words that two strings share, each counted as often as both have it.

    Words are runs of letters and digits of the lower-cased text, without stemming. On ASCII text that is what the
    package `rouge_score` does. It also drops every letter outside a-z, so that a gold such as 'Кино' would match
    nothing, not even itself; here any letter of Unicode counts, after composing accents (NFC), and a text without a
    letter or digit ('!!!' is a band) is split at its spaces. An empty text scores 0.
    """
    ours, theirs = _tokens(answer), _tokens(gold)
    shared = (Counter(ours) & Counter(theirs)).total()
    # 2PR / (P + R) with one division: a share of exactly 0.7 does not round to just above it.
    return 2 * shared / (len(ours) + len(theirs)) if shared else 0.0


def exact_match(answer: str, gold: str) -> bool:
    """Tell whether two strings are equal up to case, ASCII punctuation, articles and spaces (SQuAD, HotpotQA, RLCR).

    Where nothing is left of one of them ('The The', '!!!'), the strings themselves are compared, so that an empty
    answer never equals such a gold.
    """
    ours, theirs = _bare(answer), _bare(gold)
    if not ours or not theirs:
        return bool(answer.strip()) and answer.strip().lower() == gold.strip().lower()
    return ours == theirs


def grade(answers: Sequence[str | None], golds: Sequence[str], grader: str) -> tuple[list[float], list[bool]]:
    """Compare each answer with the gold at its place; no answer (None) scores 0 and is not correct.

    Returns:
        The scores, 0 to 1, and whether each answer is correct.

    Raises:
        ValueError: the lists differ in length, or `grader` is neither 'rouge-1' nor 'exact-match'.
    """
    if grader not in _GRADERS:
        raise ValueError(f"no grader of text is called {grader!r}; valid: {', '.join(_GRADERS)}")
    compare, threshold = _GRADERS[grader]
    seen: dict[tuple[str | None, str], float] = {}  # the samples of a question often share an answer
    scores = []
    for pair in zip(answers, golds, strict=True):
        if pair not in seen:
            seen[pair] = 0.0 if pair[0] is None else float(compare(*pair))
        scores.append(seen[pair])
    return scores, [score > threshold for score in scores]


_GRADERS: dict[str, tuple[Callable[[str, str], float | bool], float]] = {
    "rouge-1": (rouge1_f, THRESHOLD),
    "exact-match": (exact_match, 0.5),
}


def _tokens(text: str) -> list[str]:
    text = text.lower()
    if not text.isascii():
        # Composing takes time in the square of the marks on one letter: a megabyte of them would take minutes. A word too
        # long to be composed is no word of an answer.
        text = " ".join(
            unicodedata.normalize("NFC", word) if len(word) <= _LONGEST_WORD else word for word in text.split()
        )
    return _TOKEN.findall(text) or text.split()


def _bare(text: str) -> str:
    return " ".join(_ARTICLE.sub(" ", text.lower().translate(_PUNCTUATION)).split())
