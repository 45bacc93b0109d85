"""What Snakemake plans for a configuration, a target and a change; what runs is a stand-in for the model."""

import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
import yaml

from candor.keep_log import ENDED

TABLE = "results/tables/confidence_metrics.csv"
RUNS = yaml.safe_load((Path(__file__).parents[2] / "config" / "demo.yaml").read_text(encoding="utf-8"))["runs"]
SCHEMES = sum(len(demo_run["schemes"]) for demo_run in RUNS)
VARIANTS = SCHEMES + sum(len(demo_run["baselines"]) for demo_run in RUNS)
OF_FIRST = len(RUNS[0]["schemes"]) + len(RUNS[0]["baselines"])
OF_SCHEMES = {
    "classify_schemes": 1,
    "simulate_schemes": 1,
    "tabulate_scheme_properties": 1,
    "plot_schemes": 1,
    "plot_simulations": 1,
}
OF_CHOICES = {
    "build_benchmark": 1,
    "prepare_embedder": 1,
    "generate_mcq_answers": 4,
    "match_answers": 4,
    "measure_mcq": 4,
    "tabulate_mcq": 5,
    "plot_mcq": 6,
}
"""Of NonsenseQA under four protocols."""
OF_CARDS = {"write_dataset_card": len(RUNS), "write_model_card": 1}
OF_TRAINING = {"tabulate_training": 4, "plot_training": 2 * len(RUNS)}
"""Of runs without reruns."""
OF_REPORT = {
    "tabulate_confidence_subset": 4 * len(RUNS),
    "tabulate_accuracy": 1,
    "tabulate_comparison": 1,
    "tabulate_hacked_samples": 1,
    "plot_spectrum": 3,
}
"""Of one model on datasets of three difficulties."""
OF_JUDGES = {
    "judge_abstention": OF_FIRST,
    "measure_abstention": OF_FIRST,
    "tabulate_abstention": 2,  # of the run, and all together
    "tabulate_accuracy_and_abstention": 1,
}
DEMO = {
    **OF_SCHEMES,
    **OF_CHOICES,
    **OF_CARDS,
    "build_dataset": len(RUNS),
    "prepare_model": 1,
    "generate_sft_responses": 1,
    "train_sft": 1,
    "train_rl": SCHEMES,
    "generate_answers": VARIANTS,
    "grade_answers": VARIANTS,
    "measure_confidence": VARIANTS,
    "tabulate_confidence_metrics": 1,
    "plot_calibration": len(RUNS),
    **OF_TRAINING,
    **OF_REPORT,
    **OF_JUDGES,
    "all": 1,
}
GPU_RULES = {
    "generate_sft_responses",
    "train_sft",
    "train_rl",
    "generate_answers",
    "generate_mcq_answers",
    "judge_abstention",
}


def without(plan: dict[str, int], *rules: str) -> dict[str, int]:
    return {rule: count for rule, count in plan.items() if rule not in rules}


def blocks(output: str) -> list[tuple[str, str]]:
    """Split a dry run into (rule, what is said of a job)."""
    return re.findall(r"^(?:local)?rule (\w+):\n((?: {4}.*\n)+)", output, re.MULTILINE)


@pytest.fixture(scope="module")
def fresh(clone) -> Path:
    return clone("fresh")


@pytest.fixture(scope="module")
def built(clone, run, stubbed) -> tuple[Path, str]:
    """The demo, run with the stand-in, and what was printed; SFT fails once and is tried again."""
    copy = clone("built")
    stubbed(copy)
    return copy, run(copy, "snakemake", "--cores", "2", "--retries", "1", STUB_FAILS="train_sft").stdout


def test_demo_is_the_default_and_asks_for_no_gpu(fresh, run, jobs):
    output = run(fresh, "snakemake", "--dry-run").stdout
    assert jobs(output) == DEMO
    assert set(re.findall(r"gpu=(\d+)", output)) == {"0"}


def test_slurm_profile_plans_the_papers_matrix_on_gpus(fresh, run, jobs):
    output = run(fresh, "snakemake", "--profile", "slurm", "all", "--dry-run").stdout
    assert jobs(output) == {
        **OF_SCHEMES,
        "build_dataset": 4,
        # 5 are trained, 12 are asked in the multiple-choice track; one of those is a judge too, the other judge is not.
        "prepare_model": 5 + 12,
        "write_dataset_card": 4,
        "write_model_card": 5 + 12,
        "prepare_judge": 1,
        # Four runs of Qwen 2.5 and the two Llamas learn XML first.
        "generate_sft_responses": 6,
        "train_sft": 6,
        # 13 schemes in each of 7 evaluated runs; 4 and 8 schemes for the Llamas, which are only trained.
        # Three schemes of Qwen 2.5 and one of Gemma 4 are trained twice (figures 7 and 10).
        "train_rl": 7 * 13 + 4 + 8 + 3 + 1,
        # Beside the schemes: three baselines with Qwen 2.5, one with Qwen 3 and Gemma 4.
        "generate_answers": 7 * 13 + 4 * 3 + 3,
        "grade_answers": 7 * 13 + 4 * 3 + 3,
        "measure_confidence": 7 * 13 + 4 * 3 + 3,
        # Two judges of two runs of Qwen 3 and one of Gemma 4: 13 schemes and the base model.
        "judge_abstention": 2 * 3 * 14,
        "measure_abstention": 2 * 3 * 14,
        # Tables 28 to 31, 36, 37 and all together; table 39 for two judges and two datasets
        "tabulate_abstention": 6 + 1,
        "tabulate_accuracy_and_abstention": 4,
        "tabulate_judge_agreement": 1,
        "tabulate_confidence_metrics": 1,
        "plot_calibration": 7,
        # HotpotQA's test questions are all hard.
        "tabulate_confidence_subset": 6 * 4 + 1,
        "tabulate_accuracy": 3,
        "tabulate_comparison": 1,
        "tabulate_hacked_samples": 1,
        "plot_spectrum": 1 + 2 * 3,
        "tabulate_training": 4,
        # Two of each run's training, two more of the two runs with reruns.
        "plot_training": 2 * 9 + 2 * 2,
        "build_benchmark": 6,
        # For each model six benchmarks under two protocols; two more of NonsenseQA; two with few-shot examples kept; cloze
        # and five label sets of CommonsenseQA.
        "generate_mcq_answers": 12 * (6 * 2 + 2 + 2 + 6),
        # CommonsenseQA's M&D is matched in nine ways.
        "match_answers": 12 * (6 * 2 + 2 + 2 + 6 + 8),
        "measure_mcq": 12 * (6 * 2 + 2 + 2 + 6 + 8),
        "prepare_embedder": 5,
        "tabulate_mcq": 25,
        "plot_mcq": 29,
        "all": 1,
    }
    for rule, said in blocks(output):
        wants = re.findall(r"gpu=(\d+)", said)
        if rule != "match_answers":  # of which those that need no sentence-embedding model need no GPU
            assert wants == (["1"] if rule in GPU_RULES else []), rule
        if rule == "train_rl" and "qwen2.5-3b" in said:  # 48 GiB and 72 hours in the configuration
            assert "mem_mb=49152" in said
            assert "runtime=4320" in said
    # The rerun of a run that went astray is what is evaluated (figure 7); the other is trained, watched and drawn.
    (evaluated,) = (
        said
        for rule, said in blocks(output)
        if rule == "generate_answers"
        and "variant=brier-1\n" in said
        and "model=qwen2.5-3b, dataset=hotpotqa-modified" in said
    )
    assert "results/rl/qwen2.5-3b/hotpotqa-modified/brier-1/2/adapter" in evaluated
    assert "brier-1/1/" not in evaluated


def test_every_table_and_figure_of_the_second_paper_is_a_target(fresh, run):
    """As docs/multiple_choice_metrics.md lists them."""
    text = (fresh / "docs" / "multiple_choice_metrics.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| ((?:table|figure) \d+) \| `(\S+)` \|$", text, re.MULTILINE))
    figures = [*range(3, 6), *range(7, 14), *range(16, 21)]  # 1, 2, 6, 14 and 15 show no measurement
    assert list(listed) == [*(f"table {n}" for n in range(1, 13)), *(f"figure {n}" for n in figures)]
    wanted = [f"results/{name}{'.tex' if 'tables/' in name else '.png'}" for name in listed.values()]
    output = run(fresh, "snakemake", *wanted, "--dry-run", "--configfile", "config/paper.yaml").stdout
    assert output.count("rule tabulate_mcq:") == 12
    assert output.count("rule plot_mcq:") == len(figures)
    several = [said for rule, said in blocks(output) if rule in ("tabulate_mcq", "plot_mcq") and "minilm" in said]
    assert len(several) == 1  # all but figure 7 take the first of nine matchers
    assert "commonsense_qa_moved_matchers.svg" in several[0]


def test_every_table_and_figure_of_the_first_paper_is_a_target(fresh, run):
    """As docs/confidence_tables.md lists them."""
    text = (fresh / "docs" / "confidence_tables.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ((?:table|figure) \d+) \| .*?`((?:tables|figures)/\S+)` \|$", text, re.MULTILINE)
    shown = [int(name.removeprefix("table ")) for name, _ in listed if name.startswith("table")]
    assert sorted(shown) == [1, 2, *range(4, 38), 39]
    assert set(range(1, 11)) == {int(name.removeprefix("figure ")) for name, _ in listed if name.startswith("figure")}
    wanted = {f"results/{path}{'.md' if 'tables/' in path else '.png'}" for _, path in listed}
    run(fresh, "snakemake", *wanted, "--dry-run", "--configfile", "config/paper.yaml")


def test_every_table_and_figure_has_its_place_in_the_guide_to_the_results(fresh, run):
    """In docs/results.md, as patterns, none of which is of nothing."""
    guide = (fresh / "docs" / "results.md").read_text(encoding="utf-8")
    made = set()
    for configuration in ("config/demo.yaml", "config/paper.yaml"):
        plan = run(fresh, "snakemake", "--dry-run", "--configfile", configuration).stdout
        made |= set(re.findall(r"results/((?:tables|figures)/[^,\s]+)\.(?:csv|svg)", plan))
    patterns = {}
    for pattern in re.findall(r"`((?:tables|figures)/\S+)`", guide):
        listed = re.sub(r"{(\w+(?:,\w+)+)}", lambda found: f"(?:{found[1].replace(',', '|')})", pattern)
        patterns[pattern] = re.compile(re.sub(r"{\w+}", r"[^_/]+(?:_[^_/]+)?", listed))  # commonsense_qa has one itself
    missing = {name for name in made if not any(each.fullmatch(name) for each in patterns.values())}
    assert not missing
    assert not [pattern for pattern, each in patterns.items() if not any(map(each.fullmatch, made))]


def test_a_table_of_one_run_needs_that_run_alone(fresh, run):
    table = "results/tables/confidence_qwen3-4b_deepmath_hard.md"
    output = run(fresh, "snakemake", table, "--dry-run", "--configfile", "config/paper.yaml").stdout
    measured = [said for rule, said in blocks(output) if rule == "measure_confidence"]
    assert len(measured) == 14
    assert all("results/metrics/qwen3-4b/deepmath/" in said for said in measured)


def test_a_model_that_is_only_trained_has_no_table_of_accuracy(fresh, run):
    for name in ("accuracy_llama3.2-3b", "confidence_llama3.2-3b_bigmath_all"):
        wanted = (f"results/tables/{name}.csv", "--dry-run", "--configfile", "config/paper.yaml")
        output = run(fresh, "snakemake", *wanted, fails=True).stdout
        assert "evaluated; valid: qwen2.5-3b" in output or "is trained only" in output


def test_table_alone_runs_what_it_lacks_and_no_figure(fresh, plan):
    assert plan(fresh, TABLE) == without(
        DEMO, *OF_SCHEMES, *OF_CHOICES, *OF_CARDS, *OF_TRAINING, *OF_REPORT, *OF_JUDGES, "plot_calibration", "all"
    )


def test_another_working_directory_finds_scripts_and_configuration(fresh, plan, tmp_path):
    assert plan(tmp_path, "--snakefile", str(fresh / "Snakefile"), "--directory", str(tmp_path / "there")) == DEMO


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["--config", "seed=-1"], ["seed: Input should be greater than or equal to 0"]),
        (
            ["--config", "sede=1"],
            ["sede: unknown key (did you mean 'seed'?); valid here: benchmarks, bootstrap, datasets"],
        ),
        # A file on the command line takes the demo's place: what it leaves out is missing, not the demo's.
        (["--configfile", "other.yaml"], ["datasets: missing", "models: missing", "runs: missing"]),
    ],
)
def test_a_wrong_configuration_stops_before_any_job(fresh, run, arguments, lines):
    (fresh / "other.yaml").write_text("seed: 1\n")
    output = run(fresh, "snakemake", "--cores", "1", *arguments, fails=True).stdout
    for line in lines:
        assert line in output
    assert "Traceback" not in output
    assert "rule" not in output.replace("rules/common.smk", "")
    assert [path.name for path in (fresh / "results").iterdir()] == [".gitignore"]


def test_a_definition_that_cannot_be_built_stops_before_any_job(clone, run, edit):
    copy = clone("misdefined")
    edit(copy, lambda settings: settings.update(schemes={"mine": {"shift": "correctness-only", "give_up_below": 0.2}}))
    output = run(copy, "snakemake", "--cores", "1", fails=True).stdout
    assert "scheme 'mine': correctness-only rewards confidence the same up to 0.2" in output
    assert "Traceback" not in output
    assert [path.name for path in (copy / "results").iterdir()] == [".gitignore"]


def test_demo_runs_to_its_table_and_figures(built):
    copy, output = built
    for rule, count in without(DEMO, "train_sft").items():
        assert len(re.findall(rf"^(?:local)?rule {rule}:", output, re.MULTILINE)) == count, rule
    assert (copy / TABLE).read_text().count("\n") > 5
    assert list((copy / "results" / "figures").glob("*.svg"))


def test_a_hackable_scheme_is_announced_before_rl_and_named_under_the_table(built, run):
    copy, output = built
    note = "brier-2 can be hacked: it is strictly non-hackable on (0.25, 1) alone; giving up pays below p = 0.5"
    assert output.count(f"train_rl: {note}") == 1
    assert "brier-1 can be hacked" not in output
    assert output.index(note) < output.index("rule train_rl:")
    assert note in (copy / "results" / "tables" / "scheme_properties.md").read_text()
    assert "can be hacked" not in run(copy, "snakemake", "--cores", "1", "--force", "classify_schemes").stdout


def test_the_comparison_and_the_samples_of_the_demo(built):
    copy, _ = built
    folder = copy / "results" / "tables"
    assert "none of them of SmolLM2 (135M) Instruct; nothing is compared." in (folder / "comparison.md").read_text()
    assert (folder / "comparison.csv").read_text().count("\n") == 1
    page = (folder / "hacked_samples.md").read_text()
    assert page.count("\n## ") == 1
    assert "## SmolLM2 (135M) Instruct on HotpotQA-Modified: Brier-2" in page
    assert page.count("\n### Wrong at confidence ") + page.count("\n### Right at confidence ") == 3
    tables = sorted(path.name for path in folder.glob("confidence_smollm2*.md"))
    assert tables == [
        f"confidence_smollm2-135m-instruct_{dataset}_{of}.md"
        for dataset in ("arithmetic", "hotpotqa-modified")
        for of in ("all", "easy", "hard", "medium")
    ]


def test_a_failed_job_says_why_in_the_log_and_asks_for_more_when_retried(built):
    copy, output = built
    tries = [said for rule, said in blocks(output) if rule == "train_sft"]
    for need in ("mem_mb", "runtime"):
        first, second = (int(re.search(rf"{need}=(\d+)", said)[1]) for said in tries)
        assert second == 2 * first
    assert "train_sft: fails as it was told to" in output
    log = copy / "logs" / "sft" / "smollm2-135m-instruct" / "hotpotqa-modified" / "adapter.log"
    said, ended = log.read_text().splitlines()
    assert said == "train_sft speaks"  # of the second try
    assert ended.startswith(ENDED)


def test_nothing_is_planned_where_nothing_changed_even_elsewhere(built, plan, tmp_path):
    copy, _ = built
    assert plan(copy) == {}
    moved = tmp_path / "moved"
    shutil.copytree(copy, moved, symlinks=True)  # with its times
    assert plan(moved) == {}


def test_a_new_scheme_plans_its_own_jobs(built, plan, edit, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)
    edit(copy, lambda settings: settings["runs"][0]["schemes"].append("log-1/ln202"))
    added = {
        **OF_SCHEMES,
        "train_rl": 1,
        "generate_answers": 1,
        "grade_answers": 1,
        "measure_confidence": 1,
        "tabulate_confidence_metrics": 1,
        "plot_calibration": 1,
        "tabulate_training": 1,
        "plot_training": 2,
        **OF_REPORT,  # log-1/ln202 can be hacked
        "tabulate_confidence_subset": 4,
        **OF_JUDGES,
        "judge_abstention": 1,
        "measure_abstention": 1,
        "all": 1,
    }
    assert plan(copy) == added
    reports = (*OF_SCHEMES, *OF_TRAINING, *OF_REPORT, *OF_JUDGES, "plot_calibration", "all")
    assert plan(copy, TABLE) == without(added, *reports)


def test_a_changed_definition_trains_again_under_the_schemes_made_of_it_alone(built, run, plan, edit, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)

    def define(settings):
        settings["schemes"] = {
            "cautious": {"shift": "brier-1", "give_up_below": 0.2},
            "twice": {"scale": "cautious", "factor": 2},
            "cut": {"clip": "log-1"},
        }
        settings["runs"][0]["schemes"] += ["cautious", "twice", "cut"]

    edit(copy, define)
    assert plan(copy, "train_rl_all") == {"train_rl": 3, "train_rl_all": 1}
    run(copy, "snakemake", "--cores", "2", "train_rl_all")
    assert plan(copy, "train_rl_all") == {}
    edit(copy, lambda settings: settings["schemes"]["twice"].update(factor=3))
    assert plan(copy, "train_rl_all") == {"train_rl": 1, "train_rl_all": 1}
    edit(copy, lambda settings: settings["schemes"]["cautious"].update(give_up_below=0.3))
    assert plan(copy, "train_rl_all") == {"train_rl": 2, "train_rl_all": 1}


def test_a_changed_setting_reaches_its_stage_and_what_follows_only(built, plan, edit, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)

    def change(settings):
        settings["runs"][0]["evaluation"]["samples"] = 2
        settings["runs"][0]["resources"]["train_rl"]["memory_gib"] = 11  # needs are no reason to run again

    edit(copy, change)
    of_first = dict.fromkeys(("generate_answers", "grade_answers", "measure_confidence"), OF_FIRST)
    once = dict.fromkeys(("tabulate_confidence_metrics", "plot_calibration", "all"), 1)
    # What its watchers found is tabulated again: one of them looks at the evaluation.
    again = {**OF_REPORT, "tabulate_confidence_subset": 4, "tabulate_training": 1, **OF_JUDGES}
    assert plan(copy) == {**of_first, **once, **again}


def test_a_second_judge_judges_and_generates_nothing(built, plan, run, edit, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)

    def judge(settings):
        judges, first = settings["judges"], settings["judges"]["smollm2-judge"]
        first |= {"label": "the first", "resources": {"memory_gib": 9}}  # a name in tables, and needs
        judges["served"] = {
            **{key: first[key] for key in ("licence", "sampling", "max_tokens", "enforce_label")},
            "label": "the second",
            "source": {"server": "$JUDGE_ADDRESS", "served_model": "m"},
        }
        settings["runs"][0]["judges"].append("served")

    edit(copy, judge)
    assert plan(copy) == {
        "judge_abstention": OF_FIRST,
        "measure_abstention": 2 * OF_FIRST,
        "tabulate_abstention": 3,
        "tabulate_accuracy_and_abstention": 2,
        "tabulate_judge_agreement": 1,
        "tabulate_comparison": 1,
        "tabulate_training": 1,  # how judges are sampled, which is in table 6
        "all": 1,
    }
    output = run(copy, "snakemake", "--cores", "2", "tabulate_all").stdout
    [said, *_] = [said for rule, said in blocks(output) if rule == "judge_abstention"]
    assert "results/models" not in said  # a server has its own weights
    agreement = (copy / "results" / "tables" / "judge_agreement.csv").read_text().splitlines()
    pair = "SmolLM2 (135M) Instruct,HotpotQA-Modified,the first,the second"
    assert agreement[1].startswith(f"{pair},all,")
    assert len(agreement) > 2
    assert all(line.startswith(pair) for line in agreement[1:])
    assert plan(copy, "judge_all", "tabulate_all") == {}


def test_a_judge_of_weights_of_its_own_brings_them_and_one_on_a_gpu_asks_for_it(clone, run, edit):
    copy = clone("judges")

    def judge(settings):
        settings["judges"]["smollm2-judge"] |= {"source": {"hub": "a/b", "revision": "1" * 40}, "device": "gpu"}

    edit(copy, judge)
    output = run(copy, "snakemake", "--dry-run", "judge_all").stdout
    asked = {rule: set(re.findall(r"gpu=(\d+)", said)) for rule, said in blocks(output)}
    assert asked["judge_abstention"] == {"1"}
    assert asked["generate_answers"] == {"0"}
    assert "output: results/models/judges/smollm2-judge" in output


def test_every_table_of_abstention_of_the_first_paper_is_a_target(fresh, run):
    """As docs/judges.md lists them."""
    text = (fresh / "docs" / "judges.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| ([\d, -]+) \| `results/tables/(\S+)` \|$", text, re.MULTILINE)
    assert [number for number, _ in listed] == ["28", "29", "30", "31", "36", "37", "39"]
    wanted = [f"results/tables/{name}.tex" for _, name in listed]
    output = run(fresh, "snakemake", *wanted, "--dry-run", "--configfile", "config/paper.yaml").stdout
    assert output.count("rule tabulate_abstention:") == 6
    assert output.count("rule tabulate_accuracy_and_abstention:") == 1


def test_another_matcher_reads_again_and_generates_nothing(built, plan, edit, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)
    edit(copy, lambda settings: settings["matchers"]["minilm"].update(similarity="dot"))
    planned = plan(copy)
    assert planned["match_answers"] == planned["measure_mcq"] == 2  # M&L and M&D, which ask for an option's text
    assert "generate_mcq_answers" not in planned


def test_another_name_in_tables_builds_and_generates_nothing(built, plan, edit, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)
    edit(copy, lambda settings: settings["benchmarks"]["nonsenseqa"].update(label="Nonsense"))
    planned = plan(copy)
    assert planned["measure_mcq"] == 4
    assert not {"build_benchmark", "generate_mcq_answers", "match_answers"} & set(planned)


def test_two_revisions_of_a_matchers_model_are_two_models(clone, run, edit):
    copy = clone("revisions")

    def change(settings):
        for name, revision in (("one", "1" * 40), ("two", "2" * 40), ("three", "2" * 40)):
            source = {"hub": "Qwen/Qwen3-Embedding-0.6B", "revision": revision}
            settings["matchers"][name] = {"label": name, "source": source}
        settings["mcq_runs"][0]["matchers"] = ["one", "two", "three"]

    edit(copy, change)
    output = run(copy, "snakemake", "--dry-run", "mcq_build_all").stdout
    folders = re.findall(r"output: results/embedders/(.+)", output)
    assert sorted(folders) == ["Qwen--Qwen3-Embedding-0.6B--11111111", "Qwen--Qwen3-Embedding-0.6B--22222222"]


def test_no_text_of_gpqa_is_in_a_log_report_table_or_figure(clone, run, stubbed, edit):
    copy = clone("gpqa")
    stubbed(copy)
    columns = ["Record ID", "Question", "Correct Answer", *(f"Incorrect Answer {n}" for n in (1, 2, 3))]
    rows = [f"rec{i}," + ",".join(f"SECRET {column} {i}" for column in columns[1:]) + ",Physics" for i in range(9)]
    (copy / "gpqa.csv").write_text("\n".join([",".join([*columns, "High-level domain"]), *rows]))

    def ask(settings):
        settings["benchmarks"]["gpqa"] = {
            "label": "GPQA",
            "kind": "gpqa",
            "source": {"asked": ["gpqa.csv"]},
            "positions": 4,
        }
        settings["mcq_runs"][0].update(benchmarks=["gpqa"], fewshot="kept", protocols=["sl", "md"])

    edit(copy, ask)
    run(
        copy, "snakemake", "--cores", "2", "results/tables/mcq_gpqa_kept.csv", "results/figures/mcq_gpqa_kept_sl-md.svg"
    )
    files = [path for path in copy.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    assert len([path for path in files if "gpqa" in str(path.relative_to(copy))]) > 10
    assert [path for path in files if b"SECRET" in path.read_bytes()] == [
        copy / "gpqa.csv",
        copy / "tests" / "workflow" / "test_snakemake.py",
    ]
    for path in copy.rglob("*.parquet"):
        assert "gpqa" in path.relative_to(copy / "results" / "mcq").parts[1], "what .dvcignore does not know"


def test_a_lost_table_is_made_from_what_is_there(built, plan, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)
    (copy / TABLE).unlink()
    assert plan(copy, TABLE) == {"tabulate_confidence_metrics": 1}


def test_a_changed_script_runs_again(built, plan, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)
    script = copy / "scripts" / "measure_confidence.py"
    script.write_text(script.read_text() + "\n# changed\n")
    reports = without(OF_REPORT, "tabulate_hacked_samples")
    rules = ("measure_confidence", "tabulate_confidence_metrics", "tabulate_accuracy_and_abstention", *reports)
    expected = {rule: DEMO[rule] for rule in (*rules, "plot_calibration", "all")}
    assert plan(copy) == expected | {"tabulate_training": 1}


def test_figures_of_training_are_targets_of_their_own(fresh, plan, run):
    """Figure 8 needs no evaluation; figure 10 the attempts at the one scheme of which there are two, and no more."""
    paper = ("--configfile", "config/paper.yaml")
    planned = plan(fresh, "results/figures/training_loss_llama3.2-3b_bigmath.png", *paper)
    assert (planned["train_rl"], planned["plot_training"]) == (4, 1)
    assert "generate_answers" not in planned
    name = "training_collapse_gemma4-e2b_hotpotqa-modified"
    assert plan(fresh, f"results/figures/{name}.svg", *paper)["train_rl"] == 2
    missing = "results/figures/training_attempts_qwen3-4b_deepmath.svg"
    output = run(fresh, "snakemake", missing, "--dry-run", *paper, fails=True).stdout
    assert "one attempt at each scheme; valid figures of its training: curves, loss" in output


def test_the_tables_of_settings_need_no_run_and_are_as_printed(clone, run):
    copy = clone("settings")
    names = {"rl_hyperparameters": "confidence_rl_hyperparameters", "sampling_parameters": "confidence_sampling"}
    targets = [f"results/tables/{name}.csv" for name in names]
    run(copy, "snakemake", "--cores", "1", *targets, "--configfile", "config/paper.yaml")
    for name, printed in names.items():
        expected = pl.read_csv(copy / "resources" / "paper_tables" / f"{printed}.csv", infer_schema=False).drop("table")
        built = pl.read_csv(copy / "results" / "tables" / f"{name}.csv", infer_schema=False)
        assert built.columns == expected.columns
        figures = [column for column in built.columns if column not in ("model", "dataset")]
        built, expected = (frame.with_columns(pl.col(figures).cast(pl.Float64)) for frame in (built, expected))
        # Table 5 is without the two Llamas of I.2.
        assert built.filter(pl.col("model").is_in(expected["model"].implode())).equals(expected)
        others = set(built["model"]) - set(expected["model"])
        assert others == ({"Llama 3.2 (3B) Instruct", "Llama 3.1 (8B) Instruct"} if "rl" in name else set())


def test_candor_plan_and_status_count_what_is_left(built, run, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(built[0], copy, symlinks=True)
    environment = {"PYTHONPATH": str(copy / "src")}
    assert "Nothing is left" in run(copy, "candor.cli", "plan", **environment).stdout
    counts = json.loads(run(copy, "candor.cli", "status", "--json", **environment).stdout)
    assert counts["rules"]["grade_answers"] == {"done": OF_FIRST + 2}
    assert counts["jobs"] == []
    for name in ("grades", "metrics"):
        (copy / f"results/{name}/smollm2-135m-instruct/hotpotqa-modified").rename(tmp_path / name)
    output = run(copy, "candor.cli", "plan", "measure_all", **environment).stdout
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines()[1:]}
    assert rows["grade_answers"][:2] == rows["measure_confidence"][:2] == [str(OF_FIRST), "0"]
    # Of the other dataset's two variants, whose files are there.
    assert rows["grade_answers"][4:] == ["2", "finished"]
    assert rows["total"][0] == str(2 * OF_FIRST)
    for log in (copy / "logs/grades/smollm2-135m-instruct/hotpotqa-modified").iterdir():
        log.write_text(f"grade_answers: no such grader\n{ENDED}2026-12-04 22:00:00\n")
    status = run(copy, "candor.cli", "status", "measure_all", **environment).stdout
    assert f"failed: {log.relative_to(copy)}, last word" in status
    counts = {line.split()[0]: line.split()[1:] for line in status.splitlines() if line.strip()}
    assert counts["grade_answers"] == [str(OF_FIRST + 2), "2", str(OF_FIRST)]  # jobs, done, failed
