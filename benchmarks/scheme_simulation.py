"""Time the training of a small policy under each of the paper's 13 schemes, on 400 questions for 4,000 steps.

Prints the time of a step, the whole time, and how much longer a step takes in a plain Python loop over questions and
samples; that one is measured on a few steps of the same policy.

    PYTHONPATH=src python benchmarks/scheme_simulation.py
"""

import argparse
import random
import time
from math import exp

from candor.schemes import get
from candor.schemes.simulation import CONFIDENCE_STEP, midpoints, train
from candor.schemes.theory import GRID
from candor.vocabulary import LEVELS, PAPER_SCHEMES

SAMPLES = 8


def plain_seconds(name: str, ratio: float, questions: int, steps: int) -> float:
    """Return the seconds that a step takes without numpy: the same policy, one answer at a time."""
    scheme = get(name)
    right_pays, wrong_pays = scheme.f(GRID).tolist(), scheme.g(GRID).tolist()
    ability = midpoints(questions).tolist()
    effort = [0.0] * questions
    logits = [([0.0] * LEVELS, [0.0] * LEVELS) for _ in range(questions)]
    draw = random.Random(1)
    start = time.perf_counter()
    for _ in range(steps):
        for q, p in enumerate(ability):
            chance = 1 / (1 + exp(-effort[q]))
            weights = [[exp(x) for x in row] for row in logits[q]]
            answers = []
            for _ in range(SAMPLES):
                tried = draw.random() < chance
                stated = draw.choices(range(LEVELS), weights[tried])[0]
                right = tried and draw.random() < p
                answers.append((tried, stated, right_pays[stated] if right else wrong_pays[stated]))
            mean = sum(reward for _, _, reward in answers) / SAMPLES
            totals = [sum(row) for row in weights]
            for tried, stated, reward in answers:
                push = CONFIDENCE_STEP * (reward - mean) / SAMPLES
                effort[q] += push / ratio * (tried - chance)
                row = logits[q][tried]
                for i, weight in enumerate(weights[tried]):
                    row[i] -= push * weight / totals[tried]
                row[stated] += push
    return (time.perf_counter() - start) / steps


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=400)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--ratio", type=float, default=40)
    parser.add_argument("--plain-steps", type=int, default=3)
    arguments = parser.parse_args()
    seconds = 0.0
    for name in PAPER_SCHEMES:
        start = time.perf_counter()
        policy = train(get(name), arguments.ratio, arguments.steps, arguments.questions, SAMPLES)
        took = time.perf_counter() - start
        seconds += took
        print(
            f"{name:20} {1e3 * took / arguments.steps:.2f} ms a step; gives up below {policy.threshold:.3f}", flush=True
        )
    plain = plain_seconds("brier-1", arguments.ratio, arguments.questions, arguments.plain_steps)
    step = seconds / len(PAPER_SCHEMES) / arguments.steps
    print(f"{len(PAPER_SCHEMES)} schemes, {arguments.questions} questions, {arguments.steps} steps: {seconds:.1f} s")
    print(f"plain loop: {1e3 * plain:.0f} ms a step (from {arguments.plain_steps}), ratio {plain / step:,.0f}")
