"""Small sums, for mathematics without a network: one line each, with an integer or a fraction for an answer.

easy: two numbers below 100 added or subtracted; medium: a product, then a number added or subtracted; hard: two
fractions added, subtracted or multiplied, so that most answers are fractions.

A question is in one split alone: which one depends on its text, nine in ten in train.
"""

from fractions import Fraction
from random import Random

from candor.data.questions import Question, Split
from candor.data.randomness import draw
from candor.vocabulary import DIFFICULTIES


def question(split: Split, index: int) -> Question:
    """Return question `index` (0, 1, ...) of a split.

    It depends on these two alone, on no seed and on no count, like those of a published dataset. Among many questions
    some are equal: there are not many sums of small numbers.
    """
    random = Random(draw(0, "arithmetic", split, str(index)))
    difficulty = random.choice(DIFFICULTIES)
    while True:
        text, answer = _SUMS[difficulty](random)
        if (draw(0, "arithmetic split", text) % 10 == 0) == (split == "test"):
            return Question(f"arithmetic-{split}-{index:06d}", f"What is {text}?", latex(answer), difficulty)


def latex(number: Fraction) -> str:
    """Write a number in lowest terms: `-3`, `-\\frac{3}{4}`."""
    if number.denominator == 1:
        return str(number.numerator)
    return rf"{'-' if number < 0 else ''}\frac{{{abs(number.numerator)}}}{{{number.denominator}}}"


def _add(random: Random) -> tuple[str, Fraction]:
    a, b = random.randint(2, 99), random.randint(2, 99)
    return random.choice(((f"{a} + {b}", Fraction(a + b)), (f"{a} - {b}", Fraction(a - b))))


def _multiply_and_add(random: Random) -> tuple[str, Fraction]:
    a, b, c = random.randint(3, 20), random.randint(3, 20), random.randint(2, 99)
    return random.choice(((f"{a} * {b} + {c}", Fraction(a * b + c)), (f"{a} * {b} - {c}", Fraction(a * b - c))))


def _fractions(random: Random) -> tuple[str, Fraction]:
    (a, b), (c, d) = ((random.randint(1, 9), random.randint(2, 12)) for _ in range(2))
    x, y = Fraction(a, b), Fraction(c, d)
    return random.choice(((f"{a}/{b} + {c}/{d}", x + y), (f"{a}/{b} - {c}/{d}", x - y), (f"{a}/{b} * {c}/{d}", x * y)))


_SUMS = {"easy": _add, "medium": _multiply_and_add, "hard": _fractions}
