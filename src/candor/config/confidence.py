"""The confidence track: datasets, models, and what is trained and evaluated."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from candor.config.base import Name, Needs, Positive, Settings
from candor.config.sources import DatasetSource, GeneratedSource, HubSource, ModelSource
from candor.vocabulary import safe_name


class Dataset(Settings):
    label: str
    """Name in tables and figures."""
    kind: Literal["hotpotqa", "hotpotqa-modified", "bigmath", "deepmath", "arithmetic"]
    """Which loader reads it."""
    source: DatasetSource
    """Where its rows come from."""
    licence: str
    """Licence of the rows (paper E.10)."""
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
        math = self.kind in ("bigmath", "deepmath", "arithmetic")
        if math != (self.grader == "math"):
            valid = "math" if math else "rouge-1, exact-match"
            raise ValueError(f"grader {self.grader!r} does not fit a dataset of kind {self.kind!r}; valid: {valid}")
        if self.kind in ("bigmath", "deepmath") and isinstance(self.source, GeneratedSource):
            raise ValueError(f"kind {self.kind!r} cannot be generated; kind 'arithmetic' is generated mathematics")
        if self.kind == "arithmetic" and not isinstance(self.source, GeneratedSource):
            raise ValueError("kind 'arithmetic' is generated; its source is {generated_train, generated_test}")
        if self.kind == "deepmath" and isinstance(self.source, HubSource) and self.difficulty_source is None:
            raise ValueError("kind 'deepmath' from the hub needs difficulty_source, which holds the difficulty column")
        if self.kind != "deepmath" and self.difficulty_source is not None:
            raise ValueError("difficulty_source is for kind 'deepmath' alone")
        return self


class Sampling(Settings):
    temperature: Annotated[float, Field(ge=0)] = 1.0
    """Sampling temperature."""
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Nucleus sampling: mass of the tokens considered."""
    top_k: Positive | None = None
    """Number of tokens considered; none means all."""


Precision = Literal["auto", "float16", "bfloat16", "float32"]


class Model(Settings):
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


class Lora(Settings):
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


class Sft(Settings):
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


class Rl(Settings):
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


class Evaluation(Settings):
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


class Attempts(Settings):
    count: Positive
    """How many times the run is trained, each with a seed of its own."""
    evaluated: Positive
    """Which of them, counted from 1, is evaluated."""

    @model_validator(mode="after")
    def _exists(self):
        if self.evaluated > self.count:
            raise ValueError(f"attempt {self.evaluated} is evaluated but only {self.count} are trained")
        return self


class Resources(Settings):
    """What the stages of a run ask a cluster for (paper E.9)."""

    train_sft: Needs = Needs()
    train_rl: Needs = Needs()
    generate: Needs = Needs()


class Run(Settings):
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
    judges: list[Name] = []
    """Which of `judges` tell of its answers whether they abstain (paper E.6.2: with Qwen 3 and Gemma 4)."""
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
        if self.evaluation is None and self.judges:
            raise ValueError("judges are listed but evaluation is null, so there are no answers to judge; drop them")
        if len(set(self.judges)) < len(self.judges):
            raise ValueError("judges: name each judge once")
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
