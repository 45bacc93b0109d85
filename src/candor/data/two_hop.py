"""Small two-hop questions over made-up entities, in HotpotQA's official schema: work without a network.

A row is five chains of two facts, "The Velm Institute was founded by Tarin Okesh." and "Tarin Okesh was born in Lodra.",
one paragraph each. The question asks for the end of one chain, so that its two paragraphs are the supporting ones; the
other four chains are the eight distractors. Its level is how many of these tell the same two relations as the question,
and so could be mistaken for it: none (easy), two (medium) or all four (hard).

The entities exist nowhere, so that without its sources no question can be answered from prior knowledge. Names of the
train and the test split begin with different letters: no name, and so no answer, is in both.
"""

from random import Random
from typing import Any, Literal

from candor.data.randomness import draw
from candor.vocabulary import DIFFICULTIES

# What a thing is called, how it is tied to a person or a town (the bridge), and how a question refers to that bridge.
_TO_PERSON = (
    ("{} Institute", "The {0} was founded by {1}.", "the founder of the {}"),
    ("{} Bridge", "The {0} was designed by {1}.", "the designer of the {}"),
    ("{} Sonata", "The {0} was composed by {1}.", "the composer of the {}"),
    ("{} Chronicle", "The {0} was written by {1}.", "the author of the {}"),
)
_TO_TOWN = (
    ("{} Museum", "The {0} is in the town of {1}.", "the town of the {}"),
    ("{} Festival", "The {0} is held in the town of {1}.", "the town that holds the {}"),
    ("{} Railway", "The {0} begins in the town of {1}.", "the town where the {} begins"),
    ("{} Pottery", "The {0} has its kilns in the town of {1}.", "the town with the kilns of the {}"),
)
# What is told of the bridge, how the question asks for it, and whether the answer is a person's name (of two words).
_OF_PERSON = (
    ("{0} was born in {1}.", "In which town was {} born?", False),
    ("{0} lived in {1}.", "In which town did {} live?", False),
    ("{0} was taught by {1}.", "Who taught {}?", True),
    ("{0} married {1}.", "Whom did {} marry?", True),
)
_OF_TOWN = (
    ("{0} lies on the river {1}.", "On which river lies {}?", False),
    ("{0} is in the province of {1}.", "In which province is {}?", False),
    ("{0} was named after {1}.", "After whom was {} named?", True),
    ("{0} is governed by {1}.", "Who governs {}?", True),
)
_CHAINS = tuple(
    (is_person, first, second)
    for is_person, firsts, seconds in ((True, _TO_PERSON, _OF_PERSON), (False, _TO_TOWN, _OF_TOWN))
    for first in firsts
    for second in seconds
)

_FIRST_LETTERS = {"train": "BDKLMTVZ", "test": "FGHJNPRS"}
_VOWELS = "aeiou"
_MIDDLES = ("b", "d", "l", "ld", "lm", "m", "n", "nd", "r", "rk", "rv", "sk", "st", "th", "v", "z")
_ENDS = ("", "", "k", "l", "m", "n", "r", "sh", "th")
_LIKE_IT = {"easy": 0, "medium": 2, "hard": 4}


def row(split: Literal["train", "test"], index: int) -> dict[str, Any]:
    """Return row `index` (0, 1, ...) of a split: it depends on these two alone, on no seed and on no count.

    Like a published dataset it never changes: `_id` (such as `two-hop-train-000012`) stands for the same row for ever.
    """
    random = Random(draw(0, "two-hop", split, str(index)))
    name = _namer(random, split)
    level = random.choice(DIFFICULTIES)
    asked = random.choice(_CHAINS)
    _, first, second = asked
    others = [chain for chain in _CHAINS if chain[1] != first and chain[2] != second]
    chains = [asked] * (1 + _LIKE_IT[level]) + random.sample(others, 4 - _LIKE_IT[level])
    context = []
    for is_person, (kind, bridging, reference), (telling, asking, ends_in_person) in chains:
        thing = kind.format(name())
        bridge = f"{name()} {name()}" if is_person else name()
        end = f"{name()} {name()}" if ends_in_person else name()
        if not context:
            question, answer, supporting = asking.format(reference.format(thing)), end, [[thing, 0], [bridge, 0]]
        context.append([thing, [bridging.format(thing, bridge), *_aside(random, "The name is from {}.")]])
        aside = "The year of birth is {}." if is_person else "The first charter is from {}."
        context.append([bridge, [telling.format(bridge, end), *_aside(random, aside)]])
    random.shuffle(context)
    return {
        "_id": f"two-hop-{split}-{index:06d}",
        "question": question,
        "answer": answer,
        "type": "bridge",
        "level": level,
        "supporting_facts": supporting,
        "context": context,
    }


def _namer(random: Random, split: str):
    """Return a function that makes up names; within a row none is part of another, so that an answer is told apart."""
    names: list[str] = []

    def name() -> str:
        while True:
            letters = (_FIRST_LETTERS[split], _VOWELS, _MIDDLES, _VOWELS, _ENDS)
            new = "".join(random.choice(choices) for choices in letters)
            if not any(new in old or old in new for old in names):
                names.append(new)
                return new

    return name


def _aside(random: Random, text: str) -> list[str]:
    """In one paragraph of three, a second sentence that answers nothing."""
    return [" " + text.format(random.randint(1500, 1899))] if random.randrange(3) == 0 else []
