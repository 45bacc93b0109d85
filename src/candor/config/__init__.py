"""The configuration: what runs, typed, described and validated before any job starts.

`load` turns a mapping (the YAML file, after Snakemake has merged its overrides) into a `Config` or raises a `ConfigError`
that names the key and what would have been valid. `json_schema` is written to `config/schema.json`.
"""

from candor.config.confidence import Dataset, Evaluation, Lora, Model, Rl, Run, Sampling, Sft
from candor.config.judging import Judge
from candor.config.loading import ConfigError, json_schema, load, scheme_definition
from candor.config.multiple_choice import Benchmark, ProtocolName
from candor.config.schemes import (
    ClipScheme,
    DensityScheme,
    FormulaScheme,
    ScaleScheme,
    ShiftScheme,
    UnnormalisedScheme,
    WeightScheme,
)
from candor.config.sources import (
    EmbeddingPackage,
    FileSource,
    GeneratedSource,
    HubSource,
    ItemFiles,
    NonsenseSource,
    PackageSource,
    ServerSource,
)
from candor.config.whole import Config

__all__ = [
    "Benchmark",
    "ClipScheme",
    "Config",
    "ConfigError",
    "Dataset",
    "DensityScheme",
    "EmbeddingPackage",
    "Evaluation",
    "FileSource",
    "FormulaScheme",
    "GeneratedSource",
    "HubSource",
    "ItemFiles",
    "Judge",
    "Lora",
    "Model",
    "NonsenseSource",
    "PackageSource",
    "ProtocolName",
    "Rl",
    "Run",
    "Sampling",
    "ScaleScheme",
    "ServerSource",
    "Sft",
    "ShiftScheme",
    "UnnormalisedScheme",
    "WeightScheme",
    "json_schema",
    "load",
    "scheme_definition",
]
