"""Time the extraction of answers: ordinary outputs per second, and how the time grows with an output of repetition.

Prints outputs per second for made-up chains of thought, and for each kind of repetition how much longer 2 MB take than
1 MB; linear is 2, and more than 2.5 fails. The kinds are those that make the paper's expressions 1 and 4 quadratic.

    PYTHONPATH=src python benchmarks/extraction.py
"""

import argparse
import sys
import time
from collections.abc import Callable

from candor.mcq.extraction import extract_letter, extract_text

LABELS = tuple("ABCDEFGHIJ")
OPTIONS = tuple(f"the {word} of a long river" for word in ("source", "mouth", "bed", "bank", "name", "end", "fish"))
REPETITIONS = (
    "word ",
    "a",
    "answer is ",
    "The answer is (C). ",
    "answer: ",
    "\n",
    " ",
    "(",
    "**",
    "$",
    r"\boxed{",
    "'",
    ".",
)
REPETITIONS += ("the bed of a long river", "</think>", "<think>", "(A) and ", "A, ", "\\[", "_", "the the ", "1.")
MEBIBYTE = 2**20


def read(output: str) -> None:
    extract_text(output, OPTIONS, LABELS)
    extract_letter(output, LABELS, OPTIONS)


def fastest(function: Callable[[], None], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        function()
        seconds.append(time.process_time() - start)
    return min(seconds)


def growth(repeated: str, repeats: int) -> tuple[float, float]:
    """Return the seconds that 2 MB of repetition take, before, after and within an answer, and their ratio to 1 MB's."""
    one, two = (
        [repetition, repetition + "\nThe answer is (C).", "The answer is " + repetition]
        for repetition in (repeated * (size // len(repeated)) for size in (MEBIBYTE, 2 * MEBIBYTE))
    )
    seconds = [fastest(lambda outputs=outputs: [read(output) for output in outputs], repeats) for outputs in (one, two)]
    return seconds[1], seconds[1] / seconds[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    thought = "Let's think step by step. A river has a source and a mouth, and water flows from one to the other. " * 8
    outputs = [f"{thought}{i}. The answer is (C) {OPTIONS[2]}.\n\n" for i in range(arguments.outputs)]
    seconds = fastest(lambda: [read(output) for output in outputs], 1)
    print(
        f"{len(outputs):,} outputs of {len(outputs[0])} characters, read as text and as letter: "
        f"{len(outputs) / seconds:,.0f} a second"
    )
    worst = 0.0
    for repeated in REPETITIONS:
        taken, ratio = growth(repeated, arguments.repeats)
        if taken > 0.05:  # what takes less says nothing of growth
            worst = max(worst, ratio)
        print(f"{repeated!r:28} 2 MB in {taken:6.2f} s, {ratio:.2f} times 1 MB")
    print(f"worst ratio {worst:.2f}")
    sys.exit(worst > 2.5)
