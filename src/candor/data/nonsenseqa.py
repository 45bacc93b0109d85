"""NonsenseQA: questions and options of random words, with a gold at random (paper 5.2, figure 2)."""

import json
from collections.abc import Iterable, Sequence
from hashlib import sha256
from string import ascii_uppercase

from candor.data.files import DataError, expand
from candor.data.items import Item
from candor.data.randomness import draw

WORDS = 10_000
"""Words of the default list."""
QUESTION_LENGTH = (5, 20)
OPTION_LENGTH = (1, 6)
OPTIONS = 4


def word_list(path: str | None = None) -> tuple[str, ...]:
    """Return the words that questions are made of.

    Args:
        path: of a UTF-8 text file with a word a line, such as the paper's list; `$NAME` is replaced from the
            environment. None for the 10,000 most frequent words of Wikipedia as `zxcvbn` lists them.

    Raises:
        DataError: the file cannot be read, is empty, or has a word twice.
    """
    if path is None:
        from zxcvbn.frequency_lists import FREQUENCY_LISTS  # large, and of no use to the other benchmarks

        return tuple(FREQUENCY_LISTS["english_wikipedia"][:WORDS])
    file = expand(path)
    try:
        words = file.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file}: not readable as a UTF-8 word list ({error})") from error
    if not words or len(set(words)) < len(words):
        raise DataError(
            f"{file}: expected different words, one a line; found {len(set(words))} different of {len(words)}"
        )
    return tuple(words)


def generate(role: str, count: int, words: Sequence[str], seed: int) -> list[Item]:
    """Generate questions of a role, `asked` or `example`; fewer of them are the head of more.

    A question depends on `seed`, the words and its id alone; its options differ. Of each four questions in a row, one
    has its gold at each of the four positions.
    """
    split = {"asked": "test", "example": "validation"}[role]
    ids = [f"nonsenseqa-{split}-{number:04}" for number in range(count)]
    items = []
    for number, identity in enumerate(ids):
        options: list[str] = []
        attempt = 0
        while len(options) < OPTIONS:
            option = _phrase(words, seed, identity, f"option {attempt}", *OPTION_LENGTH)
            if option not in options:
                options.append(option)
            attempt += 1
        block = number // OPTIONS * OPTIONS
        positions = sorted(range(OPTIONS), key=lambda place: draw(seed, "gold", split, str(block), str(place)))
        items.append(
            Item(
                item_id=identity,
                role=role,
                question=_phrase(words, seed, identity, "question", *QUESTION_LENGTH) + "?",
                options=tuple(options),
                gold=positions[number - block],
                category=None,
                language="en",
                rationale=None,
                label_reference=False,
            )
        )
    return items


def to_jsonl(items: Iterable[Item]) -> str:
    """Write questions as JSON lines, one object a question, in their order."""
    rows = (
        {
            "id": item.item_id,
            "split": "test" if item.role == "asked" else "validation",
            "question": item.question,
            "options": list(item.options),
            "answer": ascii_uppercase[item.gold],
            "answer_index": item.gold,
        }
        for item in items
    )
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def data_card(items: Sequence[Item], words: Sequence[str], list_name: str, seed: int) -> str:
    """Write what the data set is, how it was made, and the digest by which a copy is known.

    Args:
        items: all questions.
        words: the list that they are made of.
        list_name: where the list is from.
        seed: that they were generated with.
    """
    asked = sum(item.role == "asked" for item in items)
    words_digest = _digest("".join(word + "\n" for word in words))
    return f"""\
# NonsenseQA

Multiple-choice questions without meaning. Whoever answers better than one in four does so by something else than \
the question: the labels, the positions, or the examples in the prompt. Described in "ABCD: All Biases Come Disguised" \
(Nowak, Cadet, Chin), section 5.2.

- Questions: {asked} in the split `test`, {len(items) - asked} in the split `validation`, which serves for few-shot prompts.
- A question: {QUESTION_LENGTH[0]} to {QUESTION_LENGTH[1]} words drawn at random from a list; {OPTIONS} options of \
{OPTION_LENGTH[0]} to {OPTION_LENGTH[1]} words, no two alike.
- Gold: drawn at random; of each four questions in a row, one has it at each position.
- Fields: `id`, `split`, `question`, `options`, `answer` (letter of the gold), `answer_index` (from 0).
- Words: {len(words)}, {list_name}; SHA-256 of the words, one a line: {words_digest}
- Seed: {seed}
- SHA-256 of the JSONL file: {_digest(to_jsonl(items))}

The same seed and word list give the same bytes on every machine. The words are of everyday text and may, side by side, \
read as something unintended. Not for training.
"""


def _phrase(words: Sequence[str], seed: int, identity: str, part: str, shortest: int, longest: int) -> str:
    length = shortest + draw(seed, "length", identity, part) % (longest - shortest + 1)
    phrase = " ".join(words[draw(seed, "word", identity, part, str(place)) % len(words)] for place in range(length))
    return phrase[0].upper() + phrase[1:]


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
