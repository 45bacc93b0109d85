"""Time what is done with ten thousand outputs that went wrong, of which one in a hundred is a megabyte long.

Prints the seconds of the processor for each stage and in all, and what came of the outputs: reading them (`parse`), reading them again with
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
from mutations import Output, mutate, probes

from candor import tables
from candor.confidence.grading import READERS, read_outputs
from candor.grading.graders import Grade, open_grader
from candor.schemes import get
from candor.training.rewards import reward

GOAL = 10.0
"""Seconds in all."""


class Times(Counter):
    """Seconds by stage."""

    def of(self, stage: str, function, *inputs):
        """Call a function and add the seconds that it takes."""
        clock = time.perf_counter if stage == "math-verify" else time.process_time  # its workers are other processes
        start = clock()
        result = function(*inputs)
        self[stage] += clock() - start
        return result


def run(format: str, topic: str, outputs: list[Output], compare: Grade, times: Times) -> Counter[str]:
    """Do everything with outputs of one format; count what came of them."""
    texts, golds = [output.text for output in outputs], [output.gold for output in outputs]
    rows = [
        (str(index), 0, text, "stop", 9, 9, *probe)
        for index, (text, probe) in enumerate(zip(texts, probes(len(texts)), strict=True))
    ]
    generations = pl.DataFrame(rows, tables.GENERATIONS, orient="row")
    times.of("parse", lambda: [READERS[format](text) for text in texts])
    read = times.of("rescue", read_outputs, generations, format, format == "json")
    verdicts = times.of("grade" if topic == "text" else "math-verify", compare, read["answer"].to_list(), golds)
    known = {}

    def remember(answers, golds):
        known.update(zip(zip(answers, golds, strict=True), compare(answers, golds), strict=True))
        return recall(answers, golds)

    def recall(answers, golds):
        return [known[pair] for pair in zip(answers, golds, strict=True)]

    json_settings = (0.5, True) if format == "json" else (None, False)
    if topic == "math":  # once to know the verdicts, then with them at hand
        times.of("math-verify", reward, texts, golds, get("brier-1"), format, remember, *json_settings)
    again = compare if topic == "text" else recall
    times.of("reward", reward, texts, golds, get("brier-1"), format, again, *json_settings)
    statuses = [f"{part} {status}" for part in ("answer", "confidence") for status in read[f"{part}_status"]]
    return Counter([*statuses, *(verdict.outcome for verdict in verdicts)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--outputs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    times, found, characters = Times(), Counter(), 0
    for topic, grader in (("text", "rouge-1"), ("math", "math")):
        with open_grader(grader, arguments.workers) as compare:
            for format in ("xml", "json"):
                outputs = mutate(arguments.outputs // 4, format, topic, arguments.seed)
                characters += sum(len(output.text) for output in outputs)
                found += run(format, topic, outputs, compare, times)
    apart = times.pop("math-verify")
    for stage, seconds in times.items():
        print(f"{stage:8} {seconds:6.2f} s")
    print(
        f"in all   {times.total():6.2f} s for {arguments.outputs:,} outputs of {characters / 1e6:.0f} million characters"
    )
    print(f"apart    {apart:6.2f} s by math-verify with {arguments.workers} workers")
    print(", ".join(f"{name}: {count}" for name, count in sorted(found.items())))
    sys.exit(times.total() > GOAL)


if __name__ == "__main__":
    main()
