"""Asking a model the questions of a benchmark under a protocol, in every run of the attack (paper 5.1)."""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from candor import tables
from candor.config import Sampling
from candor.data.items import Item, few_shot, from_frame
from candor.data.randomness import draw
from candor.engine.generation import Engine, check_prompts
from candor.engine.parts import IN_FLIGHT, in_parts
from candor.mcq.permutations import order
from candor.mcq.prompts import continuations, messages, prompt
from candor.mcq.protocols import Protocol

logger = logging.getLogger(__name__)


_MOVING_ROOM = 64
"""Tokens by which a prompt may grow when its options move."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How a benchmark's questions are put."""

    protocol: Protocol
    positions: int
    """How many runs there are beside the original one: the gold at position 1, 2, ..."""
    shots: int
    moved: bool
    """Whether the examples' golds move with the run."""
    leave_out_label_references: bool
    """Whether an item with an option such as "A and B" is left out where options carry no distinct labels."""
    max_tokens: int
    max_prompt_tokens: int


def context_length(asking: Asking) -> int:
    """Return the tokens that a prompt and its output may take."""
    return asking.max_prompt_tokens + _MOVING_ROOM + asking.max_tokens


def respond(
    engine: Engine,
    items: pl.DataFrame,
    asking: Asking,
    sampling: Sampling,
    *,
    seed: int,
    work: Path,
    identity: str,
) -> pl.DataFrame:
    """Let a model answer every asked item once in each run; under cloze, score the options instead.

    Prompts come in an order in which neighbours share most: by run, then by language and category.

    Args:
        engine: with a context of `context_length(asking)` at least.
        items: of `tables.ITEMS`.
        asking, sampling: how to ask; cloze draws nothing.
        seed: with an item's id and the run it determines that output.
        work: folder that keeps what is done; of no use after the result is written.
        identity: of everything that the result depends on (`tables.fingerprint`); another one's work is thrown away.

    Returns:
        A frame of `tables.MCQ_GENERATIONS`, in the order of the runs and then of the items.

    Raises:
        ValueError: a prompt is too long, an item has too few examples or more options than labels, or none is asked.
    """
    everything = from_frame(items)
    examples = [item for item in everything if item.role == "example"]
    asked = [item for item in everything if item.role == "asked"]
    if asking.leave_out_label_references and not asking.protocol.has_distinct_labels:
        asked = [item for item in asked if not item.label_reference]
        logger.info("%d items whose options refer to labels are left out", items["label_reference"].sum())
    if not asked:
        raise ValueError("no item is left to ask; see the benchmark's report of what was dropped")
    asked.sort(key=lambda item: (item.language, item.category or ""))
    shown = {item.item_id: (item, few_shot(item, examples, asking.shots)) for item in asked}
    scores = asking.protocol.reads == "likelihood"

    # One run stands for all: the others move options, which changes a few tokens at most.
    prompts = [messages(item, 0, shots, asking.protocol, asking.moved) for item, shots in shown.values()]
    check_prompts(engine, prompts, list(shown), asking.max_prompt_tokens)

    def answer(part: pl.DataFrame) -> pl.DataFrame:
        requests = [(run, *shown[item_id]) for item_id, run in part.iter_rows()]
        start = time.perf_counter()
        rows = _score(engine, requests, asking) if scores else _sample(engine, requests, asking, sampling, seed)
        seconds = (time.perf_counter() - start) / len(rows)
        return pl.DataFrame([{**row, "seconds": seconds} for row in rows], tables.MCQ_GENERATIONS)

    requests = pl.DataFrame(
        [(item_id, run) for run in range(asking.positions + 1) for item_id in shown],
        schema={"item_id": pl.String, "run": pl.Int32},
        orient="row",
    )
    return in_parts(
        engine, requests, IN_FLIGHT[engine.device], answer, tables.MCQ_GENERATIONS, work, identity, unit="question"
    )


Requests = Sequence[tuple[int, Item, tuple[Item, ...]]]
"""(run, item, its examples)."""


def _sample(engine: Engine, requests: Requests, asking: Asking, sampling: Sampling, seed: int) -> list[dict[str, Any]]:
    outputs = engine.generate(
        [messages(item, run, shots, asking.protocol, asking.moved) for run, item, shots in requests],
        seeds=[draw(seed, "mcq", item.item_id, str(run)) % 2**62 for run, item, _ in requests],
        n=1,
        max_tokens=asking.max_tokens,
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        enforce=None,
    )
    return [
        {
            **_identify(run, item),
            "text": output.text,
            "finish_reason": output.finish_reason,
            "prompt_tokens": output.prompt_tokens,
            "output_tokens": output.output_tokens,
            "log_likelihoods": None,
        }
        for (run, item, _), [output] in zip(requests, outputs, strict=True)
    ]


def _score(engine: Engine, requests: Requests, asking: Asking) -> list[dict[str, Any]]:
    likelihoods = engine.mean_log_likelihoods(
        [prompt(item, run, shots, asking.protocol, asking.moved) for run, item, shots in requests],
        [continuations(item) for _, item, _ in requests],
    )
    nothing = dict.fromkeys(("text", "finish_reason", "prompt_tokens", "output_tokens"))
    return [
        {**_identify(run, item), **nothing, "log_likelihoods": means}
        for (run, item, _), means in zip(requests, likelihoods, strict=True)
    ]


def _identify(run: int, item: Item) -> dict[str, Any]:
    return {"item_id": item.item_id, "run": run, "order": list(order(len(item.options), item.gold, run))}
