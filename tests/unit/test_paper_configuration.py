"""config/paper.yaml says what the two papers say: their printed tables are the witnesses."""

import re
from pathlib import Path

import jsonschema
import polars as pl
import pytest
import yaml
from pydantic import BaseModel

from candor.config import Config, HubSource, Judge, Model, Run, Sampling, json_schema, load
from candor.vocabulary import DIFFICULTIES, PAPER_SCHEMES

ROOT = Path(__file__).parents[2]
CONFIGURATION = ROOT / "config" / "paper.yaml"


def printed(name: str) -> list[dict]:
    """Read one of the paper's tables, every cell as text."""
    return pl.read_csv(ROOT / "resources" / "paper_tables" / f"{name}.csv", infer_schema=False).to_dicts()


HYPERPARAMETERS = printed("confidence_rl_hyperparameters")
PRINTED_METRICS = printed("confidence_metrics")
CELLS = list(dict.fromkeys((row["model"], row["dataset"]) for row in PRINTED_METRICS))
LLAMAS = ("Llama 3.2 (3B) Instruct", "Llama 3.1 (8B) Instruct")


@pytest.fixture(scope="module")
def config() -> Config:
    return load(CONFIGURATION)


@pytest.fixture(scope="module")
def runs(config) -> dict[tuple[str, str], Run]:
    """Runs by the labels that the paper prints for their model and dataset."""
    return {(config.models[run.model].label, config.datasets[run.dataset].label): run for run in config.runs}


@pytest.fixture(scope="module")
def trained(config) -> list[Model]:
    return [config.models[name] for name in dict.fromkeys(run.model for run in config.runs)]


def unwritten(value, path="") -> list[str]:
    """List the settings below a value that were not given but taken from a default."""
    if isinstance(value, BaseModel):
        fields = type(value).model_fields
        missing = [f"{path}.{name}" for name in fields if name not in value.model_fields_set]
        inner = [(f"{path}.{name}", getattr(value, name)) for name in fields]
    elif isinstance(value, dict):
        missing, inner = [], [(f"{path}.{key}", item) for key, item in value.items()]
    elif isinstance(value, list):
        missing, inner = [], [(f"{path}.{index}", item) for index, item in enumerate(value)]
    else:
        return []
    return missing + [name for where, item in inner for name in unwritten(item, where)]


def test_every_setting_is_written_in_the_file(config):
    assert unwritten(config) == []


def test_file_obeys_the_published_schema():
    """Stricter than `load`, which forgives a number that YAML read as a text, such as 1e-5 without a point."""
    jsonschema.validate(yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8")), json_schema())


def test_a_setting_left_to_its_default_would_be_found():
    settings = yaml.safe_load(CONFIGURATION.read_text(encoding="utf-8"))
    run = settings["runs"][0]
    # The file's anchors make runs share their parts: copy a part before taking something away from it.
    run["rl"] = {key: value for key, value in run["rl"].items() if key != "beta"}
    run["evaluation"] = {key: value for key, value in run["evaluation"].items() if key != "probe_tokens"}
    assert unwritten(load(settings)) == [".runs.0.rl.beta", ".runs.0.evaluation.probe_tokens"]


def test_runs_are_the_printed_ones_and_the_two_llamas(runs):
    assert set(runs) == {*CELLS, *((llama, "BigMath") for llama in LLAMAS)}


def test_table_5_has_a_row_for_every_printed_cell():
    assert {(row["model"], row["dataset"]) for row in HYPERPARAMETERS} == set(CELLS)


@pytest.mark.parametrize("row", HYPERPARAMETERS, ids=lambda row: f"{row['model']} {row['dataset']}")
def test_steps_learning_rate_and_token_limit_are_those_of_table_5(runs, row):
    run = runs[row["model"], row["dataset"]]
    assert run.rl.steps == int(row["steps"])
    assert run.rl.learning_rate == float(row["learning_rate"])
    assert run.max_tokens == int(row["max_tokens"])


def test_sampling_is_that_of_table_6(trained):
    by_label = {model.label: model.sampling for model in trained}
    rows = {row["model"]: row for row in printed("confidence_sampling") if row["model"] in by_label}
    assert set(rows) == set(by_label) - set(LLAMAS)
    for label, row in rows.items():
        sampling = by_label[label]
        assert sampling.temperature == float(row["temperature"]), label
        assert sampling.top_p == float(row["top_p"]), label
        assert sampling.top_k == (int(row["top_k"]) if row["top_k"] else None), label  # an empty cell is "All"


@pytest.mark.parametrize("cell", CELLS, ids=" ".join)
def test_what_is_evaluated_is_what_is_printed_in_its_order(runs, cell):
    rows = [row["scheme"] for row in PRINTED_METRICS if (row["model"], row["dataset"]) == cell]
    run = runs[cell]
    assert [*run.baselines, *run.schemes] == list(dict.fromkeys(rows))


def test_printed_difficulties_are_known():
    assert {row["difficulty"] for row in PRINTED_METRICS} <= {"all", *DIFFICULTIES}


def test_llamas_are_trained_only_as_in_i_2(runs):
    small, large = (runs[llama, "BigMath"] for llama in LLAMAS)
    reference = runs["Qwen 2.5 (3B) Instruct", "BigMath"]
    assert small.schemes == ["brier-1", "log-1", "brier-2", "brier-log-hybrid"]
    assert set(large.schemes) == set(PAPER_SCHEMES) - {
        "log-loss",
        "brier-score",
        "log-1/ln202",
        "overconfidence-4",
        "underconfidence-4",
    }
    assert small.rl == reference.rl.model_copy(update={"steps": 1000, "learning_rate": 1e-6})
    assert large.rl == reference.rl.model_copy(update={"steps": 300, "max_grad_norm": 0.01})
    for run in (small, large):
        assert run.evaluation is None
        assert run.sft == reference.sft
        assert run.format == "xml"
        assert run.max_tokens == reference.max_tokens


def test_only_the_anomalous_runs_of_figures_7_and_10_are_repeated(runs):
    repeated = {
        (*cell, scheme): (attempts.count, attempts.evaluated)
        for cell, run in runs.items()
        for scheme, attempts in run.attempts.items()
    }
    qwen, gemma = "Qwen 2.5 (3B) Instruct", "Gemma 4 (E2B) Instruct"
    assert repeated == {
        (qwen, "HotpotQA-Modified", "correctness-only"): (2, 2),
        (qwen, "HotpotQA-Modified", "brier-1"): (2, 2),
        (qwen, "HotpotQA-Modified", "overconfidence-1"): (2, 2),
        (gemma, "HotpotQA-Modified", "underconfidence-4"): (2, 2),
    }


# Appendix E, by model: E.1 (format, loss, samples), E.5.2 (enforcer, repair, reward), E.6.1 (enforcer, repair, limit), E.8.
# format, SFT, loss, RL: enforcer, repair, reward; evaluation: enforcer, repair, samples, probe; prompt, answer limit
APPENDIX_E = {
    ("Qwen 2.5 (3B) Instruct", "BigMath"): (
        ("xml", True, "dr_grpo", False, False, None, True, False, 16, 64, "original", 1000)
    ),
    ("Qwen 2.5 (3B) Instruct", "DeepMath-103K"): (
        ("xml", True, "dr_grpo", False, False, None, True, False, 16, 64, "original", 1000)
    ),
    ("Qwen 2.5 (3B) Instruct", "HotpotQA"): (
        ("xml", True, "dr_grpo", False, False, None, True, False, 16, 32, "original", 1000)
    ),
    ("Qwen 2.5 (3B) Instruct", "HotpotQA-Modified"): (
        ("xml", True, "dr_grpo", False, False, None, True, False, 16, 32, "original", 1000)
    ),
    ("Qwen 3 (4B)", "HotpotQA-Modified"): (
        ("json", False, "dr_grpo", True, False, 0.1, True, True, 16, 32, "updated", None)
    ),
    ("Qwen 3 (4B)", "DeepMath-103K"): (("json", False, "dr_grpo", True, True, 0.5, True, True, 2, 64, "updated", None)),
    ("Gemma 4 (E2B) Instruct", "HotpotQA-Modified"): (
        ("json", False, "dapo", False, True, 5, False, True, 16, 32, "updated", None)
    ),
}


@pytest.mark.parametrize("cell", CELLS, ids=" ".join)
def test_formats_rewards_and_repairs_are_those_of_appendix_e(runs, cell):
    run = runs[cell]
    assert (
        run.format,
        run.sft is not None,
        run.rl.loss,
        run.rl.enforce_format,
        run.rl.repair_json,
        run.rl.json_format_reward,
        run.evaluation.enforce_format,
        run.evaluation.repair_json,
        run.evaluation.samples,
        run.evaluation.probe_tokens,
        run.json_prompt,
        run.json_answer_limit,
    ) == APPENDIX_E[cell]
    assert run.rl.start == ("sft" if run.sft else "base")
    assert run.evaluation.second_chance


def test_one_batch_is_512_outputs_everywhere(runs):
    assert {(run.rl.questions_per_step, run.rl.generations) for run in runs.values()} == {(64, 8)}


def test_only_gemma_is_trained_in_bfloat16(trained):
    precisions = {model.label: model.train_precision for model in trained}
    assert precisions.pop("Gemma 4 (E2B) Instruct") == "bfloat16"
    assert set(precisions.values()) == {"float16"}


def test_one_revision_for_each_repository(config):
    kinds = (config.models, config.judges, config.benchmarks, config.matchers)
    sources = [entry.source for kind in kinds for entry in kind.values()]
    for dataset in config.datasets.values():
        sources += [dataset.source, dataset.difficulty_source]
    pins = {(source.hub, source.revision) for source in sources if isinstance(source, HubSource)}
    assert all(re.fullmatch("[0-9a-f]{40}", revision) for _, revision in pins)
    assert len(pins) == len({hub for hub, _ in pins}) == len({revision for _, revision in pins}) == 30


# --- Abstention ---


@pytest.fixture(scope="module")
def judges(config) -> dict[str, Judge]:
    """Judges by the labels that the paper prints."""
    return {judge.label: judge for judge in config.judges.values()}


def test_judges_are_those_of_e_6_2_with_the_sampling_of_table_6(judges):
    rows = {row["model"]: row for row in printed("confidence_sampling")}
    for label, judge in judges.items():
        row = rows[label]
        top_k = int(row["top_k"]) if row["top_k"] else None
        assert judge.sampling == Sampling(temperature=float(row["temperature"]), top_p=float(row["top_p"]), top_k=top_k)
    gpt, qwen = judges["GPT-OSS-20B"], judges["Qwen 3 (30B-A3B) FP8"]
    assert (gpt.chat_template_arguments, gpt.thinking_budget) == ({"reasoning_effort": "low"}, None)
    assert (qwen.chat_template_arguments, qwen.thinking_budget) == ({"enable_thinking": True}, 2048)
    assert not gpt.enforce_label  # Harmony's channels come before the label


def test_what_is_judged_is_what_is_printed(config, runs, judges):
    by_printed = {(row["model"], row["dataset"], row["judge"]) for row in printed("abstention_rates")}
    configured = {(*cell, config.judges[judge].label) for cell, run in runs.items() for judge in run.judges}
    assert configured == by_printed
    assert {judge for *_, judge in by_printed} == set(judges)


def test_a_judge_has_room_for_every_question_and_answer(config):
    """At their limits; JSON's escapes may take more, and what is longer still is counted."""
    for run in config.runs:
        for judge in run.judges:
            instructions = 512
            assert run.max_prompt_tokens + run.max_tokens + instructions <= config.judges[judge].max_prompt_tokens


# --- Multiple choice ---

PRINTED_RUNS = printed("mcq_metrics")
TABLE_3 = [row["model"] for row in printed("mcq_extraction_rates")]
WITHOUT_A_REVISION = "Nemotron-Cascade-8B"
PROTOCOLS = {"S&L": "sl", "M&D": "md"}


def full_name(short: str) -> str:
    """Return the name in table 3 that another table's shorter one stands for."""
    (name,) = (name for name in TABLE_3 if name.lower().startswith(short.lower()))
    return name


@pytest.fixture(scope="module")
def asked(config) -> dict[str, Model]:
    return {name: config.models[name] for run in config.mcq_runs for name in run.models}


def test_the_models_of_table_3_are_asked_under_their_names(config, asked):
    assert {model.label for model in asked.values()} == set(TABLE_3) - {WITHOUT_A_REVISION}
    assert all(name == model.label.lower() for name, model in asked.items())
    assert all(model.train_precision is None and model.device == "gpu" for model in asked.values())
    in_order = [model.label for model in config.models.values() if model.label in TABLE_3]
    assert in_order == [name for name in TABLE_3 if name != WITHOUT_A_REVISION]


@pytest.mark.parametrize("table", ["mcq_metrics", "mcq_score_fewshot", "mcq_variance_ratio"])
def test_every_table_is_about_the_models_of_table_3(table):
    shorts = {row["model"] for row in printed(table)} - {"Mean", "GEOMETRIC MEAN"}
    assert {full_name(short) for short in shorts} == set(TABLE_3)


def test_what_is_asked_is_what_is_printed_and_what_figures_7_to_13_add(config, asked):
    printed_runs = {
        (row["benchmark"], row["fewshot"], full_name(row["model"]), PROTOCOLS[row["protocol"]]) for row in PRINTED_RUNS
    }
    added = {
        (benchmark, "moved", model.label, protocol)
        for model in asked.values()
        for benchmark, protocols in (
            ("NonsenseQA", ("sd", "ml")),
            ("CommonsenseQA", ("cloze", "ml", "md-emoji", "md-x", "md-emojis", "md-numbers")),
        )
        for protocol in protocols
    }
    configured = {
        (config.benchmarks[benchmark].label, fewshot, config.models[model].label, protocol)
        for benchmark, fewshot, model, protocol in config.mcq_cells
    }
    assert configured == {cell for cell in printed_runs if cell[2] != WITHOUT_A_REVISION} | added


def test_gold_moves_once_to_each_option(config):
    positions = {benchmark.label: benchmark.positions for benchmark in config.benchmarks.values()}
    assert positions == dict.fromkeys(("NonsenseQA", "ARC", "GPQA", "INCLUDE"), 4) | {
        "CommonsenseQA": 5,
        "MMLU-Pro": 10,
    }
    assert config.benchmarks["include"].languages == ["es", "fr", "it", "de"]


@pytest.mark.parametrize(
    ("benchmark", "questions"),
    # Of the hub's splits; INCLUDE's are its French, German, Italian and Spanish.
    [
        ("NonsenseQA", 1000),
        ("CommonsenseQA", 1221),
        ("ARC", 3548),
        ("GPQA", 448),
        ("MMLU-Pro", 12032),
        ("INCLUDE", 1656),
    ],
)
def test_printed_accuracies_are_of_every_question(config, benchmark, questions):
    """So that the configuration leaves none out."""
    possible = {f"{100 * right / questions:.2f}" for right in range(questions + 1)}
    rows = [row for row in PRINTED_RUNS if row["benchmark"] == benchmark]
    assert {row[column] for row in rows for column in ("acc_original", "acc_min", "acc_max")} <= possible
    (settings,) = (each for each in config.benchmarks.values() if each.label == benchmark)
    assert settings.limit is None
    assert not settings.strict_duplicates
    assert not settings.leave_out_label_references
    if benchmark == "NonsenseQA":
        assert settings.source.generated_questions == questions


def test_models_that_always_reason_have_room_for_it(config):
    limits = {config.models[name].label: run.max_tokens for run in config.mcq_runs for name in run.models}
    reasoning = {label for label, limit in limits.items() if limit == 8192}
    assert reasoning == {"DeepSeek-R1-0528-Qwen3-8B", "DeepSeek-R1-Distill-Qwen-7B", "gpt-oss-20b"}
    assert {limits[label] for label in set(limits) - reasoning} == {2048}
    assert {run.shots for run in config.mcq_runs} == {5}


def test_models_without_sampling_of_their_own_have_that_of_table_4(config):
    table_4 = Sampling(temperature=0.6, top_p=0.95, top_k=20)
    assert config.models["phi-4"].sampling == table_4
    assert config.models["ministral-3-8b-base-2512"].sampling == table_4


def test_answers_are_matched_as_in_section_4_and_on_commonsenseqa_in_every_way_of_figure_7(config):
    original = config.matchers["qwen3-embedding"]
    assert (original.source.hub, original.similarity, original.prompt) == ("Qwen/Qwen3-Embedding-0.6B", "cosine", None)
    assert {run.matchers[0] for run in config.mcq_runs} == {"qwen3-embedding"}
    ablations = [run for run in config.mcq_runs if len(run.matchers) > 1]
    assert {(*run.benchmarks, *run.protocols, run.fewshot) for run in ablations} == {
        ("commonsense_qa", "sl", "md", "cloze", "moved")
    }
    assert all(run.matchers == list(config.matchers) for run in ablations)
    of_the_original = [each for each in config.matchers.values() if each.source == original.source]
    assert {each.similarity for each in of_the_original} == {"cosine", "dot", "euclidean", "manhattan"}
    assert sum(each.prompt is not None for each in of_the_original) == 1
