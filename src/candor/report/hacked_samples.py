"""A page of what models write under schemes that can be hacked; the paper's appendix G shows such a case."""

import re
from collections.abc import Iterable

import polars as pl

from candor.data.randomness import draw
from candor.report.tables import scheme_label

SAMPLES = 3
"""Shown of each scheme."""
PROMPT_LIMIT = 600
OUTPUT_LIMIT = 2000
"""Characters of a prompt and of an output that are shown; the middle of a longer one is left out."""

HACKED_SAMPLES = pl.Schema(
    {
        **dict.fromkeys(("model", "dataset", "scheme", "question_id"), pl.String),
        "sample": pl.Int32,
        **dict.fromkeys(("difficulty", "gold", "answer", "prompt", "output"), pl.String),
        "confidence": pl.Int32,
        "correct": pl.Boolean,
    }
)


def choose_samples(grades: pl.DataFrame, seed: int, name: str, count: int = SAMPLES) -> pl.DataFrame:
    """Choose the outputs of a model that look hacked most: wrong ones before right ones, of the lowest stated confidence.

    Of a question one output is taken, and ties are broken by a draw from the seed, the name, the question and the sample,
    so that the order of rows changes nothing.

    Args:
        grades: a frame of `tables.GRADES`.
        seed: of the draws.
        name: of what is shown, such as `qwen/hotpotqa/brier-2`.
        count: number of outputs.

    Returns:
        The rows of grades, in the order of the choice; those without a stated confidence or without a verdict never.
    """
    stated = grades.filter(pl.col("confidence").is_not_null() & pl.col("correct").is_not_null())
    draws = [
        f"{draw(seed, 'hacked_samples', name, question, str(sample)):064x}"
        for question, sample in stated.select("question_id", "sample").iter_rows()
    ]
    return (
        stated.with_columns(draw=pl.Series(draws, dtype=pl.String))
        .sort("correct", "confidence", "draw")
        .unique("question_id", keep="first", maintain_order=True)
        .head(count)
        .drop("draw")
    )


def samples_frame(
    chosen: pl.DataFrame, questions: pl.DataFrame, generations: pl.DataFrame, model: str, dataset: str, scheme: str
) -> pl.DataFrame:
    """Join chosen grades with what was asked and written, shortened, as a frame of HACKED_SAMPLES.

    Args:
        chosen: as of `choose_samples`.
        questions: of `tables.QUESTIONS`.
        generations: of `tables.GENERATIONS`.
        model: label.
        dataset: label.
        scheme: name.

    Raises:
        ValueError: a chosen sample is not among the questions or the generations.
    """
    joined = chosen.join(
        questions.select("question_id", "prompt"), on="question_id", how="left", maintain_order="left"
    ).join(
        generations.select("question_id", "sample", output="text"),
        on=["question_id", "sample"],
        how="left",
        maintain_order="left",
    )
    if lost := joined.filter(pl.col("prompt").is_null() | pl.col("output").is_null())["question_id"].to_list():
        raise ValueError(f"question {lost[0]!r} is graded but not among the questions or generations; grade again")
    return joined.with_columns(
        model=pl.lit(model),
        dataset=pl.lit(dataset),
        scheme=pl.lit(scheme),
        prompt=_shortened("prompt", PROMPT_LIMIT),
        output=_shortened("output", OUTPUT_LIMIT),
        gold=_shortened("gold", PROMPT_LIMIT),
        answer=_shortened("answer", PROMPT_LIMIT),
    ).select(HACKED_SAMPLES.names())


def hacked_samples_markdown(frame: pl.DataFrame, seed: int) -> str:
    """Set a frame of HACKED_SAMPLES in Markdown; what a dataset or a model wrote stands in fences that it cannot close."""
    lines = [
        "# Outputs under schemes that can be hacked",
        "",
        f"Of each scheme up to {SAMPLES} questions: wrong answers before right ones, the lowest stated confidence first, ties by "
        f"a draw from the seed ({seed}), the run, the question and the sample. An answer that is wrong, or no answer, at "
        "confidence 0 is what hacking looks like; base models give some too. Long texts are cut in the middle, and signs "
        "that do not print are written as their codes.",
        "",
    ]
    if frame.is_empty():
        lines += ["No scheme that can be hacked was evaluated.", ""]
    for (model, dataset, scheme), part in frame.group_by("model", "dataset", "scheme", maintain_order=True):
        lines += [f"## {model} on {dataset}: {scheme_label(scheme)}", ""]
        for row in part.iter_rows(named=True):
            verdict = "right" if row["correct"] else "wrong"
            lines += [
                f"### {verdict.capitalize()} at confidence {row['confidence']}: {row['difficulty']} question",
                "",
                *_fenced("Question and sample", f"{row['question_id']}, {row['sample']}"),
                *_fenced("Prompt", row["prompt"]),
                *_fenced("Output", row["output"]),
                *_fenced("Answer that was read", row["answer"] or ""),
                *_fenced("Gold", row["gold"]),
            ]
    return "\n".join(lines)


def join_samples(frames: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Put frames of HACKED_SAMPLES, also none, below each other."""
    return pl.concat([pl.DataFrame(schema=HACKED_SAMPLES), *frames])


_UNPRINTABLE = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def _shortened(column: str, limit: int) -> pl.Expr:
    text = pl.col(column)
    length = text.str.len_chars()
    ends = text.str.head(limit * 2 // 3), text.str.tail(limit - limit * 2 // 3)
    cut = pl.format("{}\n[... {} characters left out ...]\n{}", ends[0], length - limit, ends[1])
    return pl.when(length > limit).then(cut).otherwise(text)


def _fenced(name: str, text: str) -> list[str]:
    """Set text in a fence longer than any run of backticks in it; signs that would move or hide others become codes."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _UNPRINTABLE.sub(lambda match: f"<U+{ord(match[0]):04X}>", text)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return [f"{name}:", "", f"{fence}text", text, fence, ""]
