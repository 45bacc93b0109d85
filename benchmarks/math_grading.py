"""Time the grading of mathematics against math-verify itself, and a batch with comparisons that hang.

Prints the seconds for 1000 golds with right, reformatted and wrong answers, here and by math-verify one at a time, and
whether the verdicts are the same; then the seconds of 1000 comparisons of which ten hang, against ten limits divided by
the workers plus 5. Fails where a verdict differs or the batch takes longer. Runs in the model environment.

    PYTHONPATH=src .venv-model/bin/python benchmarks/math_grading.py ../shared/data/bigmath/big-math-digits_test_1000.jsonl
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from math_verify import LatexExtractionConfig, parse, verify

from candor.grading.math import LIMIT, Workers

LATEX = [LatexExtractionConfig()]


def answers_to(gold: str) -> list[str]:
    wrong = f"{float(gold) + 1:.10g}"
    return [gold, f"${gold}$", rf"\frac{{{2 * float(gold):.10g}}}{{2}}", wrong, rf"\text{{{wrong}}}"]


def by_math_verify(answer: str, gold: str) -> bool:
    golds = parse(f"${gold}$", LATEX)
    wrapped = answer if answer.startswith("$") else f"${answer}$"
    return verify(golds, parse(wrapped, LATEX), float_rounding=2) or verify(golds, parse(answer), float_rounding=2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bigmath", type=Path, metavar="JSONL", help="rows with plain numbers as `answer`")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    lines = arguments.bigmath.read_text(encoding="utf-8").splitlines()[:1000]
    golds = [json.loads(line)["answer"].strip() for line in lines]
    pairs = [(answer, gold) for gold in golds for answer in answers_to(gold)]

    with Workers(arguments.workers) as pool:
        start = time.perf_counter()
        outcomes = pool.compare(*zip(*pairs, strict=True))
        ours = time.perf_counter() - start
        start = time.perf_counter()
        expected = [by_math_verify(*pair) for pair in pairs]
        theirs = time.perf_counter() - start
        differ = sum((outcome == "right") != right for outcome, right in zip(outcomes, expected, strict=True))
        print(f"{len(pairs)} comparisons: {ours:.1f} s, math-verify {theirs:.1f} s, {theirs / ours:.1f} times as fast")
        print(f"verdicts that differ: {differ}")

        batch = [(rf"\frac{{{2 * i}}}{{2}}", str(i)) for i in range(1000)]
        for i in range(10):
            batch[97 * i] = (f"10^{{10^{{10}}}} + {i}", "7")
        start = time.perf_counter()
        outcomes = pool.compare(*zip(*batch, strict=True))
        taken, allowed = time.perf_counter() - start, 10 * LIMIT / arguments.workers + 5
        print(f"1000 comparisons, ten of which hang: {taken:.1f} s, allowed {allowed:.1f}")
    unaffected = outcomes.count("timeout") == 10 and outcomes.count("right") == 990
    sys.exit(bool(differ) or taken > allowed or not unaffected)


if __name__ == "__main__":
    main()
