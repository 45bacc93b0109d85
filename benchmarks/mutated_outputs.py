"""Time what is done with ten thousand outputs that went wrong, of which one in a hundred is a megabyte long.

Prints the seconds of each stage and in all, and what came of the outputs: reading them (`parse`), reading them again with
JSON repair and the second chance's outputs (`rescue`), comparing text with golds by ROUGE-1 (`grade`), and rewarding them
as in RL (`reward`). Half of the questions are mathematics; math-verify takes its time there, printed apart and not in the
sum. Fails where the sum is over 10 s. Runs in the model environment.

    PYTHONPATH=src:tests .venv-model/bin/python benchmarks/mutated_outputs.py
"""

import argparse
import os
import sys
import time
from collections import Counter

import polars as pl
from mutations import mutate, probes

from candor import tables
from candor.confidence.grading import READERS, read_outputs
from candor.grading.graders import open_grader
from candor.schemes import get
from candor.training.rewards import reward

GOAL = 10.0
"""Seconds in all, on two cores that nothing else uses."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    seconds: Counter[str] = Counter()
    found: Counter[str] = Counter()
    characters = 0

    def timed(stage, function, *inputs):
        start = time.perf_counter()
        result = function(*inputs)
        seconds[stage] += time.perf_counter() - start
        return result

    for topic, grader in (("text", "rouge-1"), ("math", "math")):
        with open_grader(grader, arguments.workers) as compare:
            for format in ("xml", "json"):
                outputs = mutate(arguments.outputs // 4, format, topic, arguments.seed)
                texts, golds = [output.text for output in outputs], [output.gold for output in outputs]
                characters += sum(map(len, texts))
                asked = probes(len(outputs), arguments.seed)
                rows = [(str(i), 0, text, "stop", 9, 9, *probe) for i, (text, probe) in enumerate(zip(texts, asked, strict=True))]
                generations = pl.DataFrame(rows, tables.GENERATIONS, orient="row")

                timed("parse", lambda: [READERS[format](text) for text in texts])
                read = timed("rescue", read_outputs, generations, format, format == "json")
                verdicts = timed("grade" if topic == "text" else "math-verify", compare, read["answer"].to_list(), golds)
                known = {}

                def remember(answers, golds):
                    known.update(zip(zip(answers, golds, strict=True), compare(answers, golds), strict=True))
                    return [known[pair] for pair in zip(answers, golds, strict=True)]

                json_settings = (0.5, True) if format == "json" else (None, False)
                if topic == "math":  # once to know the verdicts, and once with them at hand
                    timed("math-verify", reward, texts, golds, get("brier-1"), format, remember, *json_settings)
                again = compare if topic == "text" else lambda answers, golds: [known[p] for p in zip(answers, golds, strict=True)]
                timed("reward", reward, texts, golds, get("brier-1"), format, again, *json_settings)
                found.update(f"answer {status}" for status in read["answer_status"])
                found.update(f"confidence {status}" for status in read["confidence_status"])
                found.update(verdict.outcome for verdict in verdicts)

    apart = seconds.pop("math-verify")
    for stage, taken in seconds.items():
        print(f"{stage:8} {taken:6.2f} s")
    print(f"in all   {seconds.total():6.2f} s for {arguments.outputs:,} outputs of {characters / 2**20:.0f} million characters")
    print(f"apart    {apart:6.2f} s by math-verify with {arguments.workers} workers")
    print(", ".join(f"{name}: {count}" for name, count in sorted(found.items())))
    sys.exit(seconds.total() > GOAL)


if __name__ == "__main__":
    main()
