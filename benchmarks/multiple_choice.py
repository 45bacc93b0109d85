"""Two ratios of the multiple-choice track, under M&D with five examples on the CPU of this machine; starts not counted.

1. The moved runs, in candor's order and with the prefix cache, beside the same engine that reads nothing from its cache:
   at most 0.6 of the time.
2. Reading and matching beside generation, of a run whose outputs all have 256 tokens: at most 3%. So long an output of a
   small model seldom is an option, so nearly every answer is embedded.

    .venv-model/bin/python benchmarks/multiple_choice.py MODEL_FOLDER EMBEDDER_FOLDER ITEMS_PARQUET [--questions 16]
"""

import argparse
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from candor import tables
from candor.config import Sampling
from candor.engine import embedding, generation
from candor.mcq.matching import Matcher, predict
from candor.mcq.protocols import PROTOCOLS
from candor.mcq.responding import Asking, context_length, respond

OUTPUT_TOKENS, POSITIONS, SHOTS = 256, 4, 5
MOST_TIME_WITH_CACHE, MOST_TIME_FOR_MATCHING = 0.6, 0.03
PROTOCOL = PROTOCOLS["md"]
ASKING = Asking(PROTOCOL, POSITIONS, SHOTS, True, False, max_tokens=48, max_prompt_tokens=1024)


@dataclass
class Altered:
    """A `vllm.LLM` whose requests have other sampling parameters."""

    llm: Any
    changes: dict[str, Any]

    def generate(self, requests, parameters, **settings):
        for each in parameters:
            for name, value in self.changes.items():
                setattr(each, name, value)
        return self.llm.generate(requests, parameters, **settings)


def ask(engine: generation.Engine, items: pl.DataFrame, asking: Asking, **changes: Any) -> tuple[pl.DataFrame, float]:
    """Return the answers, from an empty cache, and the seconds that they took."""
    engine.llm.reset_prefix_cache()
    altered = replace(engine, llm=Altered(engine.llm, changes))
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        answers = respond(altered, items, asking, Sampling(), seed=1, work=Path(folder) / "work", identity="")
        return answers, time.perf_counter() - start


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL_FOLDER")
    parser.add_argument("embedder", metavar="EMBEDDER_FOLDER")
    parser.add_argument("items", metavar="ITEMS_PARQUET", help="of candor's build_benchmark, such as NonsenseQA")
    parser.add_argument("--questions", type=int, default=16)
    arguments = parser.parse_args()
    asked, examples = tables.read(arguments.items, tables.ITEMS).partition_by("role", maintain_order=True)
    items = pl.concat([asked.head(arguments.questions), examples])

    longest = replace(ASKING, max_tokens=OUTPUT_TOKENS)
    engine = generation.start(arguments.model, "cpu", "auto", context_length(longest))
    ask(engine, pl.concat([asked.tail(1), examples]), ASKING)  # warm-up
    _, without = ask(engine, items, ASKING, skip_reading_prefix_cache=True)
    answers, cached = ask(engine, items, ASKING)
    sharing = cached / without
    print(
        f"{len(answers)} outputs of {POSITIONS + 1} runs, prompts of {answers['prompt_tokens'].mean():.0f} tokens, outputs "
        f"of {answers['output_tokens'].mean():.0f}: {cached:.1f} s with the cache, {without:.1f} s without, ratio {sharing:.2f}"
    )

    once = replace(longest, positions=0)
    answers, generating = ask(engine, items, once, ignore_eos=True)
    assert set(answers["output_tokens"]) == {OUTPUT_TOKENS}
    matcher = Matcher(embedding.start(arguments.embedder, "cpu"))
    start = time.perf_counter()
    matched = predict(items, answers, PROTOCOL, matcher, seed=1)["similarity"].count()
    matching = time.perf_counter() - start
    share = matching / generating
    print(
        f"{len(answers)} outputs of {OUTPUT_TOKENS} tokens: {generating:.1f} s; read in {matching:.2f} s, {matched} of them "
        f"matched by the model, ratio {share:.4f}"
    )
    sys.exit(sharing > MOST_TIME_WITH_CACHE or share > MOST_TIME_FOR_MATCHING)
