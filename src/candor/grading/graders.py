"""One way to grade, whatever compares: answers and golds in, verdicts out."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from candor.grading import math, text

_CORRECT = {"right": True, "wrong": False, "unparsable": False}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of comparing one answer with its gold."""

    outcome: str
    """One of `math.OUTCOMES`; text is right or wrong alone."""
    score: float | None
    """ROUGE-1 F, or 1 where right and 0 where wrong; None where nobody knows."""

    @property
    def correct(self) -> bool | None:
        """Whether the answer is right; None after a timeout or an error, which say nothing of it.

        An answer that is no mathematics is not right: left out, it would pay to write one when unsure.
        """
        return _CORRECT.get(self.outcome)


Grade = Callable[[Sequence[str | None], Sequence[str]], list[Verdict]]


@contextmanager
def open_grader(name: str, workers: int = 1) -> Iterator[Grade]:
    """Give a function that compares each answer (None where there is none) with the gold at its place.

    Args:
        name: `rouge-1`, `exact-match` or `math`; the last needs math-verify, of the model environment.
        workers: processes that compare mathematics.

    Raises:
        RuntimeError: math-verify is not there.
        ValueError: where it is called, the lists differ in length or there is no such grader.
    """
    if name == "math":
        with math.Workers(workers) as pool:
            yield lambda answers, golds: [
                Verdict(outcome, {"right": 1.0, "wrong": 0.0, "unparsable": 0.0}.get(outcome))
                for outcome in pool.compare(answers, golds)
            ]
    else:
        yield lambda answers, golds: [
            Verdict("right" if correct else "wrong", score)
            for score, correct in zip(*text.grade(answers, golds, name), strict=True)
        ]
