"""A process that compares mathematical answers with golds by math-verify; `candor.grading.math` starts and feeds it.

It imports math-verify once and forks a child that does the comparisons. The kernel ends the child when one of them takes
longer than the limit, whatever it is doing, and this process where it takes too much memory; then the next child is forked,
which takes milliseconds. Off the main thread, or without a limit of its own, math-verify would fail or hang its caller.

A line in is [gold, answer] in JSON, and the next one is sent after the answer to it. A line out is `ready` at first, or why
not, then an outcome, or `lost` where a child died between two comparisons, or while it read a line.
"""

import json
import logging
import mmap
import os
import signal
import sys
import time
from pathlib import Path

FLOAT_ROUNDING = 2
"""Decimals of a comparison with a decimal number (known elsewhere)."""

MEMORY = 2 * 2**30
"""Bytes that a child may take. More ends it; an error for lack of memory would be taken by math-verify for a difference."""

_TYPICAL = (
    ("1/2", r"\frac{3}{4}"),
    ("1.5", r"\sqrt{2}"),
    (r"\{1, 2\}", "(1, 2)"),
    ("x^2 + 1", r"x = \pi"),
    ("[0, 1)", "x > 1"),
)


def compare(gold: str, answer: str) -> str:
    """Return `right`, `wrong`, `unparsable` (the answer is no mathematics) or `error`.

    The gold is read as LaTeX, the answer as LaTeX and as plain text, of which math-verify takes the last number or formula;
    it is right where either equals the gold (known elsewhere). An error is a comparison that raised, or a gold that cannot
    be read, neither of which says anything of the answer.
    """
    from math_verify import LatexExtractionConfig, parse, verify
    from sympy import Basic, MatrixBase

    def is_mathematics(parsed: list) -> bool:
        return any(isinstance(part, Basic | MatrixBase) for part in parsed)  # where it is not, texts stand there

    latex = [LatexExtractionConfig()]
    golds = parse(_in_dollars(gold), latex, parsing_timeout=None)
    failed = read = False
    for text, settings in ((_in_dollars(answer), {"extraction_config": latex}), (answer, {})):
        reading = parse(text, **settings, parsing_timeout=None)
        read = read or is_mathematics(reading)
        try:
            equal = verify(golds, reading, FLOAT_ROUNDING, timeout_seconds=None, raise_on_error=True)
        except Exception:  # whatever sympy raises; the texts may still be equal
            failed = True
            equal = verify(golds, reading, FLOAT_ROUNDING, timeout_seconds=None)
        if equal:
            return "right"

    if failed or not is_mathematics(golds):
        return "error"
    return "wrong" if read else "unparsable"


def _in_dollars(text: str) -> str:
    text = text.strip()
    return text if len(text) > 1 and text[0] == text[-1] == "$" else f"${text}$"


def _serve(limit: float, busy: mmap.mmap) -> None:
    """Compare line by line until the input ends; `busy` is 1 meanwhile, and 0 between two lines."""
    for line in sys.stdin.buffer:
        gold, answer = json.loads(line)
        busy[0] = 1
        signal.setitimer(signal.ITIMER_REAL, limit)  # SIGALRM, left at its default, ends the process
        outcome = compare(gold, answer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        busy[0] = 0
        _say(outcome)


def _say(line: str) -> None:
    os.write(_OUT, line.encode() + b"\n")


def main(limit: float) -> None:
    """Keep a child at work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the process that feeds this one, and so the input
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    logging.disable()
    try:
        for gold, answer in _TYPICAL:  # what is built at first use is then built before the fork
            compare(gold, answer)
    except ImportError as error:  # not there, or with a version of ANTLR that it does not know
        _say(str(error))
        return
    _say("ready")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 2)  # the LaTeX parser prints what it stumbles over
    busy = mmap.mmap(-1, 1)  # shared with the child
    while True:
        busy[0] = 0
        child = os.fork()
        if not child:
            try:
                _serve(limit, busy)
            except BaseException:  # the next child starts afresh
                os._exit(1)
            os._exit(0)
        status = _watch(child)
        if status == 0:
            return
        timed_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        _say("lost" if not busy[0] else "timeout" if timed_out else "error")


def _watch(child: int) -> int:
    """Wait for the end of a child, and bring it about where it takes too much memory; return its status."""
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return status
        pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
        if pages * os.sysconf("SC_PAGE_SIZE") > MEMORY:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)


if __name__ == "__main__":
    _OUT = os.dup(1)  # results have a pipe of their own: what a library prints goes nowhere
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    main(float(sys.argv[1]))
