"""Asking a model the questions: the sampled answers of the evaluation with its second chance (paper E.6.1), and the
answers that SFT learns from (E.3).

Both go through the questions in parts, each written to a work folder when it is done, so that a killed run goes on after
its last part. Each output's randomness comes from the seed, the question's id and the sample.
"""

import json
import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from candor import tables
from candor.answers import json as json_format
from candor.answers.enforcing import enforcement
from candor.confidence.grading import read_answer_probe, read_output
from candor.confidence.prompts import ANSWER_PREFIX, CONFIDENCE_PROBE, answer_probe, messages
from candor.config import Evaluation, Sampling
from candor.data.randomness import draw
from candor.engine.generation import Conversation, Engine, check_prompts
from candor.engine.parts import IN_FLIGHT, in_parts

logger = logging.getLogger(__name__)

_PROBE_ROOM = 128
"""Tokens for what the second chance adds to a conversation beside its outputs: its questions and the template's marks."""

_ANSWER_PATTERN = rf"{ANSWER_PREFIX} ?[^ \t\r\n][^\r\n]*"
_CONFIDENCE_PATTERN = "100|[1-9]?[0-9]"
_CONFIDENCE_TOKENS = 8
"""Enough for three digits and the end of the turn; the pattern sets the true limit."""


@dataclass(frozen=True, slots=True)
class Asking:
    """How the questions are put, whoever asks."""

    format: str
    """`xml` or `json`."""
    json_prompt: str
    json_answer_limit: int | None
    enforce_format: bool
    max_tokens: int
    max_prompt_tokens: int

    def conversations(self, questions: pl.DataFrame) -> list[Conversation]:
        return [messages(prompt, self.format, self.json_prompt) for prompt in questions["prompt"]]

    def enforcement(self) -> dict[str, Any] | None:
        """Return what the engine enforces."""
        return enforcement(self.format, self.json_answer_limit) if self.enforce_format else None


def context_length(asking: Asking, evaluation: Evaluation | None = None) -> int:
    """Return the tokens that a conversation may take, its outputs and those of the second chance included."""
    length = asking.max_prompt_tokens + asking.max_tokens
    if evaluation is not None and evaluation.second_chance:
        length += evaluation.probe_tokens + _CONFIDENCE_TOKENS + _PROBE_ROOM
    return length


def respond(
    engine: Engine,
    questions: pl.DataFrame,
    asking: Asking,
    evaluation: Evaluation,
    sampling: Sampling,
    *,
    latex: bool,
    seed: int,
    work: Path,
    identity: str,
) -> pl.DataFrame:
    """Sample `evaluation.samples` answers to each question, and give the unreadable ones a second chance.

    Args:
        engine: with a context of `context_length(asking, evaluation)` at least.
        questions: of `tables.QUESTIONS`.
        asking, evaluation, sampling: how to ask.
        latex: whether the second chance asks for LaTeX, as for mathematics.
        seed: with a question's id and a sample it determines that sample.
        work: folder that keeps what is done; of no use after the result is written.
        identity: of everything that the result depends on (`tables.fingerprint`); another one's work is thrown away.

    Returns:
        A frame of `tables.GENERATIONS`, in the order of the questions and then of the samples.

    Raises:
        ValueError: a prompt is too long.
    """
    check_prompts(engine, asking.conversations(questions), questions["question_id"].to_list(), asking.max_prompt_tokens)
    drawing = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}

    def answer(part: pl.DataFrame) -> pl.DataFrame:
        outputs = engine.generate(
            asking.conversations(part),
            seeds=[_seed(seed, "answer", name) for name in part["question_id"]],
            n=evaluation.samples,
            max_tokens=asking.max_tokens,
            enforce=asking.enforcement(),
            **drawing,
        )
        rows = [
            {
                "question_id": question["question_id"],
                "sample": sample,
                "text": output.text,
                "finish_reason": output.finish_reason,
                "prompt_tokens": output.prompt_tokens,
                "output_tokens": output.output_tokens,
                "answer_probe": None,
                "confidence_probe": None,
            }
            for question, samples in zip(part.iter_rows(named=True), outputs, strict=True)
            for sample, output in enumerate(samples)
        ]
        if evaluation.second_chance:
            prompts = dict(part.select("question_id", "prompt").iter_rows())
            _give_second_chance(engine, rows, prompts, asking.format, evaluation, latex, seed, drawing)
        return pl.DataFrame(rows, tables.GENERATIONS)

    size = max(1, IN_FLIGHT[engine.device] // evaluation.samples)
    return in_parts(engine, questions, size, answer, tables.GENERATIONS, work, identity, "question")


def sft_responses(
    engine: Engine,
    questions: pl.DataFrame,
    asking: Asking,
    temperature: float,
    *,
    seed: int,
    work: Path,
    identity: str,
) -> pl.DataFrame:
    """Answer each question once in JSON, and turn what is valid into XML (paper E.3).

    Args:
        engine: with a context of `context_length(asking)` at least.
        questions: of `tables.QUESTIONS`.
        asking: how to ask, with format `json`.
        temperature: of the sampling, which considers all tokens.
        seed, work, identity: as for `respond`.

    Returns:
        A frame of `tables.RESPONSES`, in the order of the questions.

    Raises:
        ValueError: a prompt is too long, or no response at all is valid.
    """
    check_prompts(engine, asking.conversations(questions), questions["question_id"].to_list(), asking.max_prompt_tokens)

    def answer(part: pl.DataFrame) -> pl.DataFrame:
        outputs = engine.generate(
            asking.conversations(part),
            seeds=[_seed(seed, "sft", name) for name in part["question_id"]],
            n=1,
            max_tokens=asking.max_tokens,
            temperature=temperature,
            top_p=1.0,
            top_k=None,
            enforce=asking.enforcement(),
        )
        rows = [
            (name, output.text, output.finish_reason, *_as_xml(output.text, output.finish_reason))
            for name, [output] in zip(part["question_id"], outputs, strict=True)
        ]
        return pl.DataFrame(rows, tables.RESPONSES, orient="row")

    size = IN_FLIGHT[engine.device]
    responses = in_parts(engine, questions, size, answer, tables.RESPONSES, work, identity, "question")
    counts = Counter(responses["status"])
    logger.info("%d responses: %s", len(responses), ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    if not counts["valid"]:
        raise ValueError(
            f"none of the {len(responses)} responses is valid ({dict(counts)}), so there is nothing to fine-tune on; "
            "raise max_tokens or sft.questions"
        )
    return responses


def _give_second_chance(
    engine: Engine,
    rows: list[dict[str, Any]],
    prompts: Mapping[str, str],
    format: str,
    evaluation: Evaluation,
    latex: bool,
    seed: int,
    drawing: Mapping[str, Any],
) -> None:
    """Fill in the probes of the rows that need one: for the answer first, then for the confidence (paper E.6.1).

    The system prompt is dropped, and the rest of the conversation stays as it was.
    """
    responses = [read_output(row["text"], format, evaluation.repair_json)[0] for row in rows]
    traces = [
        [{"role": "user", "content": prompts[row["question_id"]]}, {"role": "assistant", "content": row["text"]}]
        for row in rows
    ]

    def probe(column: str, question: str, needing: Sequence[int], max_tokens: int, pattern: str) -> None:
        asked = [[*traces[index], {"role": "user", "content": question}] for index in needing]
        # Odd characters may take more tokens to read than they took to write.
        fits = [len(tokens) + max_tokens <= engine.max_model_len for tokens in engine.tokens(asked)]
        if not all(fits):
            logger.warning("%d outputs are too long to be asked for their %s", fits.count(False), column)
        chosen = [(index, trace) for index, trace, fit in zip(needing, asked, fits, strict=True) if fit]
        if not chosen:
            return
        outputs = engine.generate(
            [trace for _, trace in chosen],
            seeds=[_seed(seed, column, rows[i]["question_id"], str(rows[i]["sample"])) for i, _ in chosen],
            n=1,
            max_tokens=max_tokens,
            enforce={"regex": pattern},
            **drawing,
        )
        for (index, trace), [output] in zip(chosen, outputs, strict=True):
            rows[index][column] = output.text
            traces[index] = [*trace, {"role": "assistant", "content": output.text}]

    without_answer = [index for index, response in enumerate(responses) if response.answer is None]
    question = answer_probe(evaluation.probe_tokens, latex)
    probe("answer_probe", question, without_answer, evaluation.probe_tokens, _ANSWER_PATTERN)
    without_confidence = [index for index, response in enumerate(responses) if response.confidence is None]
    probe("confidence_probe", CONFIDENCE_PROBE, without_confidence, _CONFIDENCE_TOKENS, _CONFIDENCE_PATTERN)
    unanswered = [index for index in without_answer if read_answer_probe(rows[index]["answer_probe"]) is None]
    if unanswered:
        logger.warning("%d outputs have no answer even after the second chance", len(unanswered))


def _as_xml(text: str, finish_reason: str) -> tuple[str, str | None]:
    """Return a JSON output's status and, where it is valid, its XML."""
    response = json_format.parse(text)
    if response.well_formed:
        target = json_format.to_xml(response)
        return ("not well-formed as XML", None) if target is None else ("valid", target)
    if finish_reason == "length":
        return "truncated", None
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return "invalid json", None
    return "fields missing or invalid", None


def _seed(seed: int, purpose: str, *names: str) -> int:
    """Return a seed for the engine, which counts the samples of a question up from it."""
    return draw(seed, purpose, *names) % 2**62
