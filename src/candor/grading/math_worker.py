"""A process that compares mathematical answers with golds by math-verify; `candor.grading.math` starts and feeds it.

It imports math-verify once and forks a child that does the comparisons. The kernel ends the child when one of them takes
longer than the limit, whatever it is doing, or when it takes too much memory; then the next child is forked, which takes
milliseconds. Off the main thread, or without a limit of its own, math-verify would fail or hang its caller.

Lines in: a number and, in JSON, [gold, answer]. Lines out: `ready` at first, or why not, then that number and an outcome; `-` in place
of the number where a child died.
"""

import json
import logging
import os
import resource
import signal
import sys

FLOAT_ROUNDING = 2
"""Decimals of a comparison with a decimal number (known elsewhere)."""

MEMORY = 4 * 2**30
"""Bytes of address space that a child may take."""


def compare(gold: str, answer: str) -> str:
    """Return `right`, `wrong`, `unparsable` (the answer is no mathematics) or `error`.

    The gold is read as LaTeX, the answer as LaTeX and as plain text, of which math-verify takes the last number or formula;
    it is right where either equals the gold (known elsewhere). An error is a comparison that raised, or a gold that cannot
    be read, neither of which says anything of the answer.
    """
    from math_verify import LatexExtractionConfig, parse, verify
    from sympy import Basic, MatrixBase

    latex = [LatexExtractionConfig()]
    golds = parse(_in_dollars(gold), latex, parsing_timeout=None)
    readings = [
        parse(_in_dollars(answer), latex, parsing_timeout=None),
        parse(answer, parsing_timeout=None),
    ]
    failed = False
    for reading in readings:
        try:
            equal = verify(golds, reading, FLOAT_ROUNDING, timeout_seconds=None, raise_on_error=True)
        except Exception:  # whatever sympy raises; the texts may still be equal
            failed = True
            equal = verify(golds, reading, FLOAT_ROUNDING, timeout_seconds=None)
        if equal:
            return "right"

    def is_read(parsed: list) -> bool:
        return any(isinstance(part, Basic | MatrixBase) for part in parsed)

    if failed or not is_read(golds):
        return "error"
    return "wrong" if any(map(is_read, readings)) else "unparsable"


def _in_dollars(text: str) -> str:
    text = text.strip()
    return text if len(text) > 1 and text[0] == text[-1] == "$" else f"${text}$"


def _serve(limit: float) -> None:
    """Compare line by line until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for line in sys.stdin.buffer:
        try:
            number, _, job = line.partition(b" ")
            gold, answer = json.loads(job)
        except ValueError:  # the rest of a line whose beginning a killed child had read
            continue
        signal.setitimer(signal.ITIMER_REAL, limit)  # SIGALRM, left at its default, ends the process
        outcome = compare(gold, answer)
        signal.setitimer(signal.ITIMER_REAL, 0)
        os.write(_OUT, number + b" " + outcome.encode() + b"\n")


def main(limit: float) -> None:
    """Keep a child at work until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the process that feeds this one, and so the input
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    logging.disable()
    try:
        compare("1/2", r"\frac{1}{2}")  # what is built at first use is then built before the fork
    except ImportError as error:  # not there, or with a version of ANTLR that it does not know
        os.write(_OUT, f"{error}\n".encode())
        return
    os.write(_OUT, b"ready\n")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 2)  # the LaTeX parser prints what it stumbles over
    while True:
        child = os.fork()
        if not child:
            try:
                _serve(limit)
            except BaseException:  # such as a lack of memory: the next child starts afresh
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status == 0:
            return
        timed_out = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM
        os.write(_OUT, b"- timeout\n" if timed_out else b"- error\n")


if __name__ == "__main__":
    _OUT = os.dup(1)  # results have a pipe of their own: what a library prints goes nowhere
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    main(float(sys.argv[1]))
