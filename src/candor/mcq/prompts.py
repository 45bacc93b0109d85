"""What the models are asked in the multiple-choice track (paper F.3, F.4): one user message, few-shot block first.

The form is MMLU-Pro's chain of thought; the matched form writes $OPTION for $X and forbids labels (figure 14). Figures 14
and 15 are pictures, so the words that they add are ours. The instructions are English for every language (paper 5.4).
All that two questions of one run, category and language have in common comes first, so that its cache serves both.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from string import Template

from candor.data.items import Item
from candor.mcq.permutations import order
from candor.mcq.protocols import LETTERS, PROTOCOLS, Protocol

_HEAD = "The following are multiple choice questions (with answers)$about. Think step by step and then finish your answer with "
_OPTION = (
    _HEAD
    + '"the answer is $$OPTION" where $$OPTION is the whole text of the correct option, exactly as it is written. '
    "Do not answer with the letter, number, symbol or position of an option."
)
INSTRUCTIONS = {
    "sl": _HEAD + '"the answer is ($$X)" where $$X is the correct letter choice.',
    "sd": _HEAD
    + '"the answer is ($$X)" where $$X is the letter of the correct option by its position: A for the first '
    "option, B for the second, and so on.",
    "cloze": "The following are multiple choice questions (with answers)$about.",
    **{name: _OPTION for name, protocol in PROTOCOLS.items() if protocol.reads == "text"},
}
"""The first lines of a prompt, by protocol; `$about` is empty or names the examples' category."""

QUESTION = Template("Question:\n$question\nOptions:\n$options\nAnswer:")
REASONING = "Let's think step by step."
"""What an answer begins with, except under cloze."""

_STEP = re.compile(r"(?<![\w)\]])\(([A-J])\)|\b([Oo]ption|[Cc]hoice|[Aa]nswer|[Ss]tatement) ([A-J])\b(?!['’]\w)")


def prompt(item: Item, run: int, examples: Sequence[Item], protocol: Protocol, moved: bool) -> str:
    """Write the prompt that asks an item in a run: plain text, for a model without a chat template and for cloze.

    Under cloze the candidates are `continuations(item)`.

    Args:
        item: what is asked.
        run: 0 for the original order, i for the gold at position i.
        examples: of `items.few_shot`; they come in this order.
        protocol: of `protocols.PROTOCOLS`.
        moved: whether the examples' golds move with the run, or the examples stay as they are.

    Raises:
        ValueError: an item has more options than the protocol has labels.
    """
    block = _block(tuple(examples), run if moved else 0, protocol)
    return block + _ask(item, order(len(item.options), item.gold, run), protocol)


def messages(item: Item, run: int, examples: Sequence[Item], protocol: Protocol, moved: bool) -> list[dict[str, str]]:
    """Return the conversation that asks an item in a run: `prompt` as one message of the user."""
    return [{"role": "user", "content": prompt(item, run, examples, protocol, moved)}]


def continuations(item: Item) -> list[str]:
    """Return what is scored after a cloze prompt: each option's text, by index, after a blank."""
    return [f" {option}" for option in item.options]


@lru_cache(maxsize=1024)
def _block(examples: tuple[Item, ...], run: int, protocol: Protocol) -> str:
    """Write the instruction and the worked examples, up to the question."""
    category = examples[0].category if examples else None
    about = f" about {category}" if category else ""
    return "\n\n".join(
        (
            Template(INSTRUCTIONS[protocol.name]).substitute(about=about),
            *(_worked(example, order(len(example.options), example.gold, run), protocol) for example in examples),
            "",
        )
    )


def _worked(example: Item, shown: tuple[int, ...], protocol: Protocol) -> str:
    """Write an example with its worked solution and its answer in the protocol's own form."""
    gold = example.options[example.gold]
    if protocol.reads == "likelihood":
        return f"{_ask(example, shown, protocol)} {gold}"
    answer = (
        f"The answer is {gold}"
        if protocol.reads == "text"
        else f"The answer is ({LETTERS[shown.index(example.gold)]})."
    )
    steps = [_reword(example, shown, protocol)] if example.rationale else []
    return " ".join((_ask(example, shown, protocol), *steps, answer))


def _ask(item: Item, shown: tuple[int, ...], protocol: Protocol) -> str:
    options = "\n".join(_line(protocol.label(place), item.options[index]) for place, index in enumerate(shown))
    asked = QUESTION.substitute(question=item.question, options=options)
    return asked if protocol.reads == "likelihood" else f"{asked} {REASONING}"


def _line(label: str, option: str) -> str:
    """Write an option behind its label: "A. text", "1. text", "- text", or the text alone."""
    return f"{label}{'.' if label.isalnum() else ''} {option}".strip()


def _reword(example: Item, shown: tuple[int, ...], protocol: Protocol) -> str:
    """Make a worked solution name options as the protocol does, where they now stand.

    "(C)" and "option C" become the letter of the option's new place where letters are asked for, else its text.
    """
    # A letter that the question uses itself, as in "(I) and (II)" or "Statement A", names no option.
    text = "\n".join((example.question, *example.options))
    own = {letter for match in _STEP.finditer(text) for letter in match.groups()[::2] if letter}
    if re.search(r"\bII\b", text):
        own.add("I")

    def name(match: re.Match) -> str:
        letter = match[1] or match[3]
        index = LETTERS.index(letter)
        if letter in own or index >= len(example.options):
            return match[0]
        if protocol.reads == "letter":
            place = LETTERS[shown.index(index)]
            return f"({place})" if match[1] else f"{match[2]} {place}"
        quoted = f'"{example.options[index]}"'
        return quoted if match[1] else f"{match[2]} {quoted}"

    return _STEP.sub(name, example.rationale)
