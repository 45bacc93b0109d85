"""The multiple-choice track: benchmarks, matchers, and what is asked of which model."""

from collections.abc import Iterator
from itertools import product
from typing import Annotated, Literal

from pydantic import Field, model_validator

from candor.config.base import Name, Needs, Positive, Settings
from candor.config.sources import BenchmarkSource, EmbeddingSource, NonsenseSource

Language = Literal["de", "en", "es", "fr", "it"]
BenchmarkKind = Literal["nonsenseqa", "commonsense_qa", "arc", "mmlu-pro", "gpqa", "include", "exams"]
ProtocolName = Literal["sl", "sd", "ml", "md", "cloze", "md-emoji", "md-x", "md-emojis", "md-numbers"]
FewShot = Literal["moved", "kept"]


class Benchmark(Settings):
    """A multiple-choice benchmark."""

    label: str
    """Name in tables and figures."""
    kind: BenchmarkKind
    """Which loader reads it."""
    source: BenchmarkSource
    """Where its questions come from."""
    positions: Positive
    """How many positions the gold is moved to, each in a run of its own (the paper: 5 of CommonsenseQA, 10 of MMLU-Pro, else 4)."""
    languages: Annotated[list[Language], Field(min_length=1)] = ["en"]
    """Which languages are asked, of a benchmark that has several."""
    examples: Positive = 5
    """Few-shot examples that are kept, of each language, and for MMLU-Pro of each category. NonsenseQA has `generated_examples` instead."""
    limit: Positive | None = None
    """Keep only so many of the questions, drawn by their ids; the others are not asked."""
    strict_duplicates: bool = False
    """Whether a question with two options of one text is dropped; else the two count as one option."""
    leave_out_label_references: bool = False
    """Whether a question with an option such as "A and B" is left out where options carry no labels of their own."""

    @model_validator(mode="after")
    def _fits(self):
        if (self.kind == "nonsenseqa") != isinstance(self.source, NonsenseSource):
            valid = (
                "{generated_questions, generated_examples}"
                if self.kind == "nonsenseqa"
                else "{hub, revision} or {asked, examples}"
            )
            raise ValueError(f"this source does not fit kind {self.kind!r}; valid: {valid}")
        if self.kind not in ("include", "exams") and self.languages != ["en"]:
            raise ValueError(f"kind {self.kind!r} is in English; languages are for kinds include, exams")
        if self.kind == "nonsenseqa" and self.limit is not None:
            raise ValueError("limit is for the other kinds; NonsenseQA has generated_questions")
        return self

    @property
    def most_shots(self) -> int:
        """How many few-shot examples a question can have."""
        return self.source.generated_examples if isinstance(self.source, NonsenseSource) else self.examples


class Matcher(Settings):
    """How the text of an answer is matched with the options (paper 4, D.1)."""

    label: str
    """Name in tables and figures."""
    source: EmbeddingSource
    """Where the sentence-embedding model comes from."""
    similarity: Literal["cosine", "dot", "euclidean", "manhattan"] = "cosine"
    """How near two embeddings are."""
    prompt: str | None = None
    """Instruction put before each text that is embedded."""


class McqRun(Settings):
    """Models asked the questions of benchmarks under protocols, in their original order and once per position."""

    models: Annotated[list[Name], Field(min_length=1)]
    """Some of `models`."""
    benchmarks: Annotated[list[Name], Field(min_length=1)]
    """Some of `benchmarks`."""
    protocols: Annotated[list[ProtocolName], Field(min_length=1)]
    """Labels shown and what is asked for: S&L, S&D, M&L, M&D, cloze, and M&D with other labels (figure 8)."""
    fewshot: FewShot = "moved"
    """Whether the examples' golds stand where the question's does, or the examples stay as they are (tables 11, 12)."""
    shots: Annotated[int, Field(ge=0)] = 5
    """Few-shot examples in a prompt."""
    max_tokens: Positive
    """Token limit of an output (2048, of models that reason 8192)."""
    max_prompt_tokens: Positive
    """Token limit of a prompt; with `max_tokens` the context length. A longer prompt is an error, never cut."""
    matchers: list[Name] = []
    """Some of `matchers`, for the protocols that ask for an option's text."""
    generate: Needs = Needs()
    """What generation asks a cluster for."""

    @model_validator(mode="after")
    def _fits(self):
        if (matched := [name for name in self.protocols if name.startswith("m")]) and not self.matchers:
            raise ValueError(
                f"protocols {', '.join(matched)} ask for an option's text; name `matchers` to read it with"
            )
        for key in ("models", "benchmarks", "protocols", "matchers"):
            if len(set(names := getattr(self, key))) < len(names):
                raise ValueError(f"{key}: name each once")
        return self

    @property
    def cells(self) -> Iterator[tuple[str, str, str, str]]:
        """Every (benchmark, fewshot, model, protocol) that is asked, as in paths."""
        return product(self.benchmarks, (self.fewshot,), self.models, self.protocols)
