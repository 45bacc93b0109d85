"""Model outputs that went wrong: well-formed ones, mutated at random, the same for everybody.

`tests/unit/test_mutated_outputs.py` holds the laws that they obey, `benchmarks/mutated_outputs.py` the time that they take.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

MEBIBYTE = 2**20
LONG_EVERY = 100
"""One output in so many is a megabyte long."""

TAGS = ("reasoning", "answer", "confidence_analysis", "confidence")

GOLDS = {
    "text": ("Arthur's Magazine", "yes", "Кино", "3,677 seated", "the Adriatic Sea", "東京", "!!!"),
    "math": (r"\frac{3}{4}", "12", "-0.5", "x^2+1", r"\sqrt{2}", r"\{1, 2\}", "[0, 1)", r"2\pi"),
}
WRONG = {
    "text": ("no", "Magazine for Women", "the sea of Japan and of Korea", "Arthur", "يشرح", "नमस्ते दुनिया"),
    "math": ("13", r"\frac{1}{", "x = 3 or x = 4", r"10^{10} + 1", "the set of all primes", r"\text{none}", "१२"),
}
BAD_CONFIDENCES = (
    "1e308",
    "-5",
    "50.5",
    '"ninety"',
    "0.9",
    "101",
    "1e400",
    "true",
    '"50"',
    "[50]",
    "5" * 5000,
    "٥٠",
    "50%",
    "007",
    "",
    "9 0",
    "5\0",
    "NaN",
    "-Infinity",
    "null",
)
ASIDES = (
    "\0",
    "\0\0\0",
    "\x08",
    "\x1b[31m",
    "\uffff",
    "\u202e",
    "\u0301" * 50,
    "😀",
    "مرحبا",
    "你好",
    "\u2028",
    "\r\n",
    "\\",
    "&lt;",
)
REPEATED = {
    "xml": [
        *("<answer>", "</answer>", "<answer>x</answer>", "<confidence>50</confidence>", "<reasoning><answer>"),
        *(
            "<",
            "</",
            ">",
            "a ",
            "a",
            "9",
            " ",
            "\n",
            "\0",
            "$",
            "(",
            r"\frac{1}{",
            "字",
            "the ",
            "_",
            "!",
            "\u0301\u0323",
        ),
    ],
    "json": [
        *('{"answer": "x"}', '"answer": "x", ', '{"a":', '"a":[{', '"', "\\", "{", "[", ",", ":", "}", "]"),
        *("\\u", '\\"', '""', '",', '":', '" ', '"\\', "a ", "9", " ", "\n", "\0", r"\sqrt{", "字", "\u0301\u0323"),
        *("'", "//", "-", "1e", "tru"),
    ],
}


@dataclass(frozen=True)
class Output:
    """One output."""

    text: str
    gold: str
    answered: str
    """The answer before anything went wrong; equal to `gold` in half of them."""
    kinds: tuple[str, ...]
    """What was done to it, in order."""


def mutate(number: int, format: str, topic: str, seed: int = 0) -> list[Output]:
    """Return outputs in `format` (xml or json) to questions on `topic` (text or math).

    Output i depends on the seed, the format, the topic and i alone.
    """
    return [_mutated(Random(f"{seed}:{format}:{topic}:{index}"), index, format, topic) for index in range(number)]


def probes(number: int, seed: int = 0) -> list[tuple[str | None, str | None]]:
    """Return outputs of the second chance, for the answer and the confidence, as good and as bad; None where not asked."""
    random = Random(f"{seed}:probes")
    answers = (
        None,
        "Final Answer: Rome",
        "Final Answer:",
        "Final Answer: \nRome",
        "\0",
        "Rome",
        "Final Answer: " + "9" * 999,
    )
    confidences = (None, "70", "100", " 5\n", *BAD_CONFIDENCES)
    return [(random.choice(answers), random.choice(confidences)) for _ in range(number)]


def _mutated(random: Random, index: int, format: str, topic: str) -> Output:
    gold = random.choice(GOLDS[topic])
    answer = gold if random.random() < 0.5 else random.choice(WRONG[topic])
    confidence = str(random.randrange(101))
    kinds = [KINDS[index % len(KINDS)]]
    if random.random() < 0.4:
        kinds.append(random.choice(KINDS))
    if index % LONG_EVERY == LONG_EVERY - 1:
        kinds.append("repeated")
    if "confidence" in kinds:
        confidence = random.choice(BAD_CONFIDENCES)
    text = _render(format, answer, confidence)
    for kind in kinds:
        text = _KINDS[kind](text, random, format)
    return Output(text, gold, answer, tuple(kinds))


def _render(format: str, answer: str, confidence: str) -> str:
    parts = ("It says so.\nTwice.", answer, "Quite sure.")
    if format == "xml":
        return "\n".join(f"<{tag}>{part}</{tag}>" for tag, part in zip(TAGS, (*parts, confidence), strict=True))
    fields = [f'"{tag}": {json.dumps(part, ensure_ascii=False)}' for tag, part in zip(TAGS, parts, strict=False)]
    return "{" + ", ".join([*fields, f'"confidence": {confidence}']) + "}"


def _marks(format: str) -> list[str]:
    """List what holds an output together."""
    if format == "xml":
        return [f"<{slash}{tag}>" for tag in TAGS for slash in ("", "/")]
    return ["{", "}", '"', ":", ",", *(f'"{tag}":' for tag in TAGS)]


def _somewhere(text: str, random: Random) -> int:
    return random.randint(0, len(text))


def _truncated(text: str, random: Random, format: str) -> str:
    return text[: _somewhere(text, random)]


def _missing(text: str, random: Random, format: str) -> str:
    for mark in random.sample(_marks(format), random.randint(1, 3)):
        text = text.replace(mark, "", random.choice((1, -1)))
    return text


def _doubled(text: str, random: Random, format: str) -> str:
    how = random.randrange(3)
    if how == 0:
        return text + random.choice(("", "\n", " or ")) + text
    mark = random.choice(_marks(format))
    return text.replace(mark, mark * random.randint(2, 4), random.choice((1, -1)))


def _nested(text: str, random: Random, format: str) -> str:
    depth = random.choice((1, 2, 50, 5000))
    how = random.randrange(3)
    if format == "xml":
        tag = random.choice(TAGS)
        wrapped = f"<{tag}>" * depth + text + f"</{tag}>" * depth
        moved = text.replace(f"</{tag}>", "", 1) + f"</{tag}>"
        return (wrapped, moved, text.replace(f"<{tag}>", f"<{tag}>{text}", 1))[how]
    wrapped = '{"a":' * depth + text + "}" * depth
    return (wrapped, "[" * depth + text + "]" * depth, text.replace('"answer": ', '"answer": ' + text + " ", 1))[how]


def _broken(text: str, random: Random, format: str) -> str:
    changes = [("It", 'It "really"'), ("It", r"\(x\) \sqrt{2} \frac{1}{2}"), (">", " >"), ("<", "&lt;"), ('"', "'")]
    changes += [("answer", "Answer"), ("}", ",}"), (", ", " "), (":", "="), ("\\n", "\n"), ("It", r"\ud83d \u12 \x00")]
    changes += [("{", "```json\n{"), ("}", "}\n```"), ("It", '", "answer": "x'), ("<answer>", "<answer/>"), ("}", "")]
    for old, new in random.sample(changes, random.randint(1, 3)):
        text = text.replace(old, new, random.choice((1, 1, -1)))
    return text


def _interspersed(text: str, random: Random, format: str) -> str:
    for _ in range(random.randint(1, 4)):
        place = _somewhere(text, random)
        text = text[:place] + random.choice(ASIDES) + text[place:]
    return text


def _surrounded(text: str, random: Random, format: str) -> str:
    return (
        random.choice(("Sure: ", "```\n", "\n\n", "<think>no</think>", "{}"))
        + text
        + random.choice((" Right?", "\n```", "{"))
    )


def _repeated(text: str, random: Random, format: str) -> str:
    unit = random.choice(REPEATED[format])
    long = unit * (MEBIBYTE // len(unit))
    places = [0, len(text), _somewhere(text, random), text.find("It says"), text.find("Quite")]
    end = "</answer>" if format == "xml" else '", "confidence_analysis"'
    place = random.choice([*places, *[text.find(end)] * 3])
    return text[:place] + long + text[place:] if random.random() < 0.7 else text[:place] + long


def _untouched(text: str, random: Random, format: str) -> str:
    return text


_KINDS: dict[str, Callable[[str, Random, str], str]] = {
    "truncated": _truncated,
    "missing": _missing,
    "doubled": _doubled,
    "nested": _nested,
    "broken": _broken,
    "interspersed": _interspersed,
    "surrounded": _surrounded,
    "confidence": _untouched,  # a bad one is written when the output is
    "untouched": _untouched,
}
KINDS = tuple(_KINDS)
_KINDS["repeated"] = _repeated  # of one in `LONG_EVERY`
