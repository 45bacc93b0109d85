"""The files between stages: their schemas, and reading and writing them so that no half file is ever seen."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path

import polars as pl

QUESTIONS = pl.Schema(
    {
        "question_id": pl.String,
        "prompt": pl.String,  # the user's message, whole
        "gold": pl.String,
        "difficulty": pl.String,  # easy, medium or hard
    }
)

GENERATIONS = pl.Schema(
    {
        "question_id": pl.String,
        "sample": pl.Int32,  # 0, 1, ... within the question
        "text": pl.String,  # the model's output as it came
        "finish_reason": pl.String,  # stop, or length where the token limit cut it off
        "prompt_tokens": pl.Int32,
        "output_tokens": pl.Int32,
        "answer_probe": pl.String,  # output of the second chance for the answer; null where none was needed
        "confidence_probe": pl.String,  # likewise for the confidence
    }
)

RESPONSES = pl.Schema(
    {
        "question_id": pl.String,
        "text": pl.String,  # the JSON as the model wrote it
        "finish_reason": pl.String,
        "status": pl.String,  # valid, or why it is not used
        "xml": pl.String,  # the same response as XML, the target of SFT; null where invalid
    }
)

GRADES = pl.Schema(
    {
        "question_id": pl.String,
        "sample": pl.Int32,
        "difficulty": pl.String,
        "gold": pl.String,
        "answer": pl.String,  # null where none could be read
        "score": pl.Float64,  # ROUGE-1 F, or 1 where right and 0 where wrong; null where nobody knows
        "outcome": pl.String,  # right, wrong, unparsable, timeout or error
        "correct": pl.Boolean,  # null after a timeout or an error
        "confidence": pl.Int32,  # verbalised, 0..100; null where none could be read
        "well_formed": pl.Boolean,  # the output obeyed the whole format without any rescue
        "answer_status": pl.String,  # valid, repaired, salvaged, probed or missing
        "confidence_status": pl.String,
    }
)

JUDGEMENTS = pl.Schema(
    {
        "question_id": pl.String,
        "sample": pl.Int32,
        "difficulty": pl.String,
        "text": pl.String,  # what the judge said, as it came; null where it was not asked
        "finish_reason": pl.String,  # stop, or length where the token limit cut it off
        "tokens": pl.Int32,  # of what it said, its thinking included
        "label": pl.String,  # unanswerable, abstain, answer or format-error; missing or too-long where it was not asked
    }
)

TRAINING_LOG = pl.Schema(
    {
        "step": pl.Int32,  # 1-based
        "scheme_reward": pl.Float64,  # batch mean
        "format_reward": pl.Float64,
        "accuracy": pl.Float64,
        "accuracy_easy": pl.Float64,  # null where the batch holds no such question
        "accuracy_medium": pl.Float64,
        "accuracy_hard": pl.Float64,
        "confidence": pl.Float64,  # mean of (k + 0.5) / 101 over outputs that state one
        "format_rate": pl.Float64,  # share of outputs that obey the whole format
        "ungraded_rate": pl.Float64,  # share whose comparison with the gold timed out or failed; not in the accuracies
        "length": pl.Float64,  # mean completion length in tokens
        "truncation_rate": pl.Float64,
        "loss": pl.Float64,
        "gradient_norm": pl.Float64,  # before clipping
        "learning_rate": pl.Float64,
    }
)


SFT_LOG = pl.Schema(
    {
        "step": pl.Int32,  # 1-based
        "loss": pl.Float64,
        "gradient_norm": pl.Float64,  # before clipping
        "learning_rate": pl.Float64,
    }
)

ITEMS = pl.Schema(
    {
        "item_id": pl.String,
        "role": pl.String,  # asked, or example where it serves in the few-shot prompt
        "question": pl.String,
        "options": pl.List(pl.String),  # in the benchmark's own order; an option's index is its identity
        "gold": pl.Int32,  # index of the right option, from 0
        "category": pl.String,  # null where the benchmark has none
        "language": pl.String,  # ISO 639-1
        "rationale": pl.String,  # worked solution of an example; null where the benchmark has none
        "label_reference": pl.Boolean,  # an option refers to labels ("A and B"), which runs without labels do not show
    }
)

MCQ_GENERATIONS = pl.Schema(
    {
        "item_id": pl.String,
        "run": pl.Int32,  # 0 is the original order; i >= 1 has the gold at position i
        "order": pl.List(pl.Int32),  # option indices in the order shown
        "text": pl.String,  # the model's output as it came; null under cloze
        "finish_reason": pl.String,  # stop, or length where the token limit cut it off; null under cloze
        "prompt_tokens": pl.Int32,
        "output_tokens": pl.Int32,
        "seconds": pl.Float64,  # the request's share of its batch's time
        "log_likelihoods": pl.List(pl.Float64),  # cloze alone: mean log-probability of each option's text, by index
    }
)

MCQ_PREDICTIONS = pl.Schema(
    {
        "item_id": pl.String,
        "run": pl.Int32,
        "gold": pl.Int32,
        "clamped": pl.Boolean,  # the item has fewer options than the run's position; its gold is last instead
        "rule": pl.String,  # which rule read the answer, or random where none did
        "extracted": pl.String,  # what it read; null where none did
        "choice": pl.Int32,  # index of the chosen option, whatever its place
        "position": pl.Int32,  # its place as shown, from 0
        "similarity": pl.Float64,  # of the match; null where none was needed
        "correct": pl.Boolean,
    }
)

SIMULATIONS = pl.Schema(
    {
        "scheme": pl.String,
        "ratio": pl.Float64,  # step size of confidence in step sizes of effort
        "p": pl.Float64,  # chance of a right answer to this question when trying
        "effort": pl.Float64,  # learnt probability of trying
        "confidence_given_up": pl.Float64,  # mean stated confidence after giving up
        "confidence_tried": pl.Float64,  # and after trying
    }
)


class TableError(ValueError):
    """A file between stages is missing, unreadable, or not of its schema."""


def read(path: str | Path, schema: pl.Schema) -> pl.DataFrame:
    """Read a Parquet file and check its columns and types against `schema`.

    Raises:
        TableError: the file cannot be read, or a column is missing or of another type.
    """
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise TableError(f"{path}: not readable as Parquet ({error}); delete it and rerun its rule") from error
    _check(frame, schema, path)
    return frame.select(schema.names())


def write(frame: pl.DataFrame, path: str | Path, schema: pl.Schema) -> None:
    """Write a Parquet file of `schema`, whole or not at all.

    Raises:
        TableError: a column is missing or of another type.
    """
    _check(frame, schema, path)
    with replacing(path) as temporary:
        frame.select(schema.names()).write_parquet(temporary)


def write_json(value, path: str | Path) -> None:
    """Write JSON (sorted keys, no NaN), whole or not at all."""
    write_text(json.dumps(value, indent=2, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n", path)


def write_text(text: str, path: str | Path) -> None:
    """Write a UTF-8 text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """Give a path beside `path` to write a file or folder to; rename it to `path` on success, remove it on failure."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    _remove(temporary)
    try:
        yield temporary
        if path.is_dir():  # a folder cannot be renamed over another that is not empty
            _remove(path)
        temporary.replace(path)
    finally:
        _remove(temporary)


def fingerprint(settings: object, *paths: str | Path) -> str:
    """Return a digest of settings (whatever JSON can hold) and of the contents of files and folders.

    A work folder keeps the fingerprint of what it is worked on, so that nothing goes on from other settings or inputs.
    """
    contents = []
    for path in map(Path, paths):
        files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
        for file in files:
            if file.name != ".snakemake_timestamp":  # Snakemake leaves it in folders that a rule made
                with file.open("rb") as stream:
                    contents.append([str(file.relative_to(path)), file_digest(stream, "sha256").hexdigest()])
    return sha256(json.dumps([settings, contents], sort_keys=True).encode()).hexdigest()


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _check(frame: pl.DataFrame, schema: pl.Schema, path: str | Path) -> None:
    problems = [
        f"column {name!r} is {frame.schema[name]}, not {dtype}"
        if name in frame.columns
        else f"column {name!r} is missing"
        for name, dtype in schema.items()
        if frame.schema.get(name) != dtype
    ]
    if problems:
        raise TableError(f"{path}: {'; '.join(problems)}; rerun the rule that makes it")
