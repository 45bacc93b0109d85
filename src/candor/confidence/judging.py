"""Asking a judge of each answer whether it abstains, and reading what the judge says (paper E.6.2).

Every answer is judged, equal ones each on its own: with a sampled judgement a wording that comes often is not decided by
one draw. A judge's randomness comes from the seed, the question's id and the sample.
"""

import logging
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from candor import tables
from candor.confidence.prompts import abstention_judge
from candor.config import Judge
from candor.data.randomness import draw
from candor.engine.generation import Conversation, Engine, Output
from candor.engine.parts import IN_FLIGHT, in_parts
from candor.engine.server import Server
from candor.vocabulary import ABSTENTION_LABELS

FORMAT_ERROR = "format-error"
"""Label of a judgement that says none of the three."""

MISSING = "missing"
"""Label of an answer that could not be read, so that there is nothing to judge."""

TOO_LONG = "too-long"
"""Label of an answer that, with its question, exceeds the judge's prompt."""

logger = logging.getLogger(__name__)

_END_OF_THINKING = "</think>"
_THINKING_ROOM = 128
"""Tokens for what closes the thinking, and for odd characters that take more tokens to read than they took to write."""


def context_length(judge: Judge) -> int:
    """Return the tokens that one judgement may take, the prompt included; for a judge that runs here."""
    thinking = judge.thinking_budget + _THINKING_ROOM if judge.thinking_budget else 0
    return judge.max_prompt_tokens + thinking + judge.max_tokens


def judge_answers(
    engine: Engine | Server,
    judge: Judge,
    questions: pl.DataFrame,
    grades: pl.DataFrame,
    *,
    seed: int,
    work: Path,
    identity: str,
) -> pl.DataFrame:
    """Judge each graded answer.

    An answer that could not be read is not asked about: its label is `missing`. One that with its question is longer than
    `max_prompt_tokens`, or than the context of a server, is `too-long`.

    Args:
        engine: the judge; one that runs here with a context of `context_length(judge)` at least.
        judge: how it is asked.
        questions: of `tables.QUESTIONS`.
        grades: of `tables.GRADES`.
        seed: with a question's id and a sample it determines that judgement.
        work: folder that keeps what is done; of no use after the result is written.
        identity: of everything that the result depends on (`tables.fingerprint`); another one's work is thrown away.

    Returns:
        A frame of `tables.JUDGEMENTS`, in the order of `grades`.

    Raises:
        ValueError: a graded question is not among the questions.
    """
    asked = grades.select("question_id", "sample", "difficulty", "answer").join(
        questions.select("question_id", "prompt"), on="question_id", how="left", maintain_order="left"
    )
    if unknown := asked.filter(pl.col("prompt").is_null())["question_id"].to_list():
        raise ValueError(f"question {unknown[0]!r} is graded but not in the questions file; grade the answers anew")

    def answer(part: pl.DataFrame) -> pl.DataFrame:
        rows = [
            {**row, "text": None, "finish_reason": None, "tokens": None, "label": None}
            for row in part.iter_rows(named=True)
        ]
        requests = []
        for row in rows:
            if row["answer"] is None:
                row["label"] = MISSING
            else:
                requests.append((row, abstention_judge(row["prompt"], row["answer"])))
        if not isinstance(engine, Server):  # whose tokenizer is its own
            lengths = map(len, engine.tokens([conversation for _, conversation in requests]))
            fits = [length <= judge.max_prompt_tokens for length in lengths]
            for (row, _), fit in zip(requests, fits, strict=True):
                row["label"] = None if fit else TOO_LONG
            requests = [request for request, fit in zip(requests, fits, strict=True) if fit]
        seeds = [draw(seed, "judge", row["question_id"], str(row["sample"])) % 2**62 for row, _ in requests]
        outputs = _ask(engine, judge, [conversation for _, conversation in requests], seeds)
        for (row, _), output in zip(requests, outputs, strict=True):
            if output is None:
                row["label"] = TOO_LONG
                continue
            row |= {"text": output.text, "finish_reason": output.finish_reason, "tokens": output.output_tokens}
            row["label"] = read_label(output.text, output.finish_reason)
        return pl.DataFrame(rows, tables.JUDGEMENTS)

    size = IN_FLIGHT[engine.device]
    judgements = in_parts(engine, asked, size, answer, tables.JUDGEMENTS, work, identity, "answer")
    counts = Counter(judgements["label"])
    logger.info("%d answers: %s", len(judgements), ", ".join(f"{n} {label}" for label, n in counts.most_common()))
    return judgements


def read_label(text: str, finish_reason: str = "stop") -> str:
    """Read a judgement: the label that its final text ends with, else `format-error`.

    The final text follows the thinking (`</think>`) or is Harmony's final channel; where neither was reached there is none.
    Quotation marks, punctuation and letter case do not matter, and a label is a whole word: `unanswerable` does not end
    with one of the others, nor is `answered` one. What the token limit cut off counts only where it is a label alone.
    """
    final = _final_text(text)
    *_, last = ["", *re.findall(r"\w+", re.sub(r"<\|\w+\|>", " ", final).lower())]
    label = last.strip("_")
    alone = re.sub(r"[\W_]", "", final).lower() == label
    return label if label in ABSTENTION_LABELS and (finish_reason == "stop" or alone) else FORMAT_ERROR


def _final_text(text: str) -> str:
    """Return what a judge says after its thinking."""
    *before, channel = text.split("<|channel|>")
    if before:
        name, _, message = channel.partition("<|message|>")
        return message if name.startswith("final") else ""
    if text.startswith("analysis"):  # Harmony whose marks were taken away
        return text.rpartition("assistantfinal")[2] if "assistantfinal" in text else ""
    if "<think>" in text or _END_OF_THINKING in text:
        return text.rpartition(_END_OF_THINKING)[2] if _END_OF_THINKING in text else ""
    return text


def _ask(
    engine: Engine | Server, judge: Judge, conversations: Sequence[Conversation], seeds: Sequence[int]
) -> list[Output | None]:
    """Let the judge speak: in one go, or first think within its budget and then say its label."""
    drawing = judge.sampling.model_dump()
    labels = ABSTENTION_LABELS if judge.enforce_label else None
    if isinstance(engine, Server):
        return engine.generate(
            conversations,
            seeds=seeds,
            max_tokens=judge.max_tokens,
            choice=labels,
            thinking_budget=judge.thinking_budget,
            chat_template_arguments=judge.chat_template_arguments,
            **drawing,
        )
    saying = {
        "n": 1,
        "max_tokens": judge.max_tokens,
        "enforce": None if labels is None else {"choice": list(labels)},
        "keep_special_tokens": True,  # Harmony's channels, by which the final one is told from the analysis
        **drawing,
    }
    if judge.thinking_budget is None:
        return [output for [output] in engine.generate(conversations, seeds=seeds, **saying)]
    thoughts = [
        thought
        for [thought] in engine.generate(
            conversations,
            seeds=seeds,
            n=1,
            max_tokens=judge.thinking_budget,
            enforce=None,
            until=_END_OF_THINKING,
            **drawing,
        )
    ]
    cut = sum(thought.finish_reason == "length" for thought in thoughts)
    if cut:
        logger.info("%d of %d thoughts were cut off at the budget", cut, len(thoughts))
    begun = [f"{thought.text.removesuffix(_END_OF_THINKING).rstrip()}\n{_END_OF_THINKING}\n\n" for thought in thoughts]
    room = engine.max_model_len - judge.max_tokens
    fits = [len(prompt) <= room for prompt in engine.tokens(conversations, begun)]
    chosen = [index for index, fit in enumerate(fits) if fit]
    verdicts = engine.generate(
        [conversations[index] for index in chosen],
        seeds=[seeds[index] for index in chosen],
        begun=[begun[index] for index in chosen],
        **saying,
    )
    # A thought that leaves no room for a label stays alone, which is a format error.
    outputs = [replace(thought, finish_reason="length") for thought in thoughts]
    for index, [verdict] in zip(chosen, verdicts, strict=True):
        thought = thoughts[index]
        tokens = thought.output_tokens + verdict.output_tokens
        text = begun[index] + verdict.text
        outputs[index] = Output(text, verdict.finish_reason, thought.prompt_tokens, tokens)
    return outputs
