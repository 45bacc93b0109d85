"""Mathematical answers, compared with their golds by math-verify in worker processes with a hard limit (spec 5).

Plain integers and decimals, and equal texts, are settled here, where math-verify's verdict cannot be another one.
"""

import json
import re
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from tqdm import tqdm

from candor.grading import math_worker

OUTCOMES = ("right", "wrong", "unparsable", "timeout", "error")

LIMIT = 5.0
"""Seconds that a comparison may take."""

_IN_DOLLARS = re.compile(r"\A\$([^$\n]+)\$\Z")
_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,6})?")  # as many digits as a float tells apart
_FORMULA = re.compile(r"[-+*/^_=<>|()\[\]{},. A-Za-z0-9\\]*[0-9][-+*/^_=<>|()\[\]{},. A-Za-z0-9\\]*")
_FARTHER_THAN_ROUNDING = 0.0101


class Workers:
    """Processes that compare; a context manager. Comparisons do not depend on each other, nor on how many workers there are."""

    def __init__(self, number: int, limit: float = LIMIT):
        """Start `number` workers.

        Raises:
            RuntimeError: one does not start, as without math-verify.
        """
        self._workers: list[_Worker] = []
        try:
            for _ in range(number):
                self._workers.append(_Worker(limit))
            for worker in self._workers:
                worker.wait_until_ready()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def compare(self, answers: Sequence[str | None], golds: Sequence[str]) -> list[str]:
        """Compare each answer with the gold at its place.

        Returns:
            For each `right`, `wrong`, `unparsable` (the answer is no mathematics), `timeout` (it took longer than the
            limit) or `error` (the comparison failed, twice, or the gold cannot be read). No answer (None) is wrong.

        Raises:
            ValueError: the lists differ in length.
            RuntimeError: a worker died and cannot be started again.
        """
        outcomes: dict[tuple[str | None, str], str] = {}  # the samples of a question often share an answer
        left: deque[tuple[str, str]] = deque()
        for answer, gold in zip(answers, golds, strict=True):
            if (answer, gold) not in outcomes:
                settled = "wrong" if answer is None else settle(answer, gold)
                outcomes[answer, gold] = settled or "error"
                if settled is None:
                    left.append((answer, gold))

        def work(worker: _Worker) -> None:
            while left:
                try:
                    answer, gold = left.popleft()
                except IndexError:  # another thread was faster
                    return
                outcomes[answer, gold] = worker.compare(answer, gold)
                progress.update()

        # A step of RL is done before a bar shows; the answers of a test set are not.
        with (
            tqdm(total=len(left), unit="comparison", delay=10) as progress,
            ThreadPoolExecutor(len(self._workers)) as threads,
        ):
            list(threads.map(work, self._workers))
        return [outcomes[pair] for pair in zip(answers, golds, strict=True)]

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.close()


def settle(answer: str, gold: str) -> str | None:
    """Return `right` or `wrong` where that takes no parsing, else None.

    Settled are equal formulas with a digit, and plain numbers: equal ones, different integers, and those that are farther
    apart than rounding can close.
    """
    answer, gold = (_IN_DOLLARS.sub(r"\1", text.strip()).strip() for text in (answer, gold))
    if answer == gold:
        return "right" if _FORMULA.fullmatch(gold) and len(gold) <= 200 else None
    if not _NUMBER.fullmatch(answer) or not _NUMBER.fullmatch(gold):
        return None
    difference = abs(float(answer) - float(gold))
    if difference == 0:
        return "right"
    return "wrong" if difference > _FARTHER_THAN_ROUNDING else None


class _Worker:
    """One process of `math_worker`, started anew where it dies."""

    def __init__(self, limit: float):
        # -P: or Python would find our `math` before its own.
        self._command = [sys.executable, "-P", str(Path(math_worker.__file__)), str(limit)]
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def wait_until_ready(self) -> None:
        first = self._process.stdout.readline().decode().strip()
        if first != "ready":
            raise RuntimeError(
                f"{sys.executable}: mathematics cannot be graded ({first or 'its worker ended'}); math-verify is in the "
                "model environment"
            )

    def compare(self, answer: str, gold: str) -> str:
        outcome = self._ask(answer, gold)
        # Where the system ended a worker, that says nothing of the answer.
        return self._ask(answer, gold) if outcome == "error" else outcome

    def _ask(self, answer: str, gold: str) -> str:
        with suppress(BrokenPipeError):  # what is read next tells
            self._process.stdin.write(json.dumps([gold, answer]).encode() + b"\n")
            self._process.stdin.flush()
        outcome = self._process.stdout.readline().decode().strip()
        if outcome in OUTCOMES:
            return outcome
        self.close()  # whether the line was read is not known
        self._start()
        self.wait_until_ready()
        return "error"

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()
