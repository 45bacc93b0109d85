"""The whole chain as a user runs it: Snakemake, the real models, real rows, to the tables and the figures."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from candor import tables
from candor.config import load
from candor.data.items import from_frame
from candor.mcq.extraction import LETTER_RULES, RANDOM, TEXT_RULES
from candor.mcq.permutations import order
from candor.vocabulary import ABSTENTION_LABELS

ROOT = Path(__file__).parents[2]
CONFIG = Path(__file__).parent / "real_data.yaml"
RUN = "smollm2-135m-instruct/hotpotqa-modified"
VARIANTS = ["base-json", "base-xml", "sft-xml", "brier-1", "brier-2"]
MATHEMATICS = "smollm2-135m-instruct/bigmath"
IN_JSON = ["base-json", "underconfidence-1"]

pytestmark = pytest.mark.skipif(
    not (ROOT / load(CONFIG).model_python).exists() and os.environ.get("CI") != "true",
    reason="the model environment is not made; `make environments` makes it",
)


def snakemake(folder: Path, data: Path, *arguments: str) -> subprocess.CompletedProcess:
    command = [Path(sys.executable).with_name("snakemake"), "--cores", "all", *arguments]
    options = ["--snakefile", ROOT / "Snakefile", "--configfile", CONFIG, "--directory", folder]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "CANDOR_DATA": str(data)}
    return subprocess.run([*command, *options], capture_output=True, text=True, env=environment)


@pytest.fixture(scope="module")
def chain(tmp_path_factory, data_folder) -> Path:
    folder = tmp_path_factory.mktemp("chain")
    result = snakemake(folder, data_folder)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-8000:]
    return folder


def read(chain: Path, kind: str, run: str, variant: str, schema: pl.Schema) -> pl.DataFrame:
    return tables.read(chain / f"results/{kind}/{run}/{variant}.parquet", schema)


def test_questions_are_real_ones(chain):
    questions = tables.read(chain / "results/data/hotpotqa-modified/test.parquet", tables.QUESTIONS)
    assert questions["prompt"].str.count_matches(r"(?m)^Source \d+: ").to_list() == [8, 8, 8]
    report = json.loads((chain / "results/data/bigmath/report.json").read_text())
    assert report["train"]["read"] + report["test"]["read"] == 1000


@pytest.mark.parametrize(("run", "variants"), [(RUN, VARIANTS), (MATHEMATICS, IN_JSON)])
def test_every_question_is_answered_and_graded_once(chain, run, variants):
    questions = tables.read(chain / f"results/data/{run.split('/')[1]}/test.parquet", tables.QUESTIONS)
    assert len(questions) == 3
    expected = {(name, sample) for name in questions["question_id"] for sample in (0, 1)}
    for variant in variants:
        generations = read(chain, "generations", run, variant, tables.GENERATIONS)
        grades = read(chain, "grades", run, variant, tables.GRADES)
        for frame in (generations, grades):
            keys = list(frame.select("question_id", "sample").iter_rows())
            assert len(keys) == len(expected)
            assert set(keys) == expected, variant
        assert (generations["text"].str.len_chars() > 0).all()
        # The confidence that the second chance asks for is enforced, so none is missing.
        assert grades["confidence"].is_between(0, 100).all()
        assert grades["confidence"].null_count() == 0


def test_the_table_holds_every_variant_and_its_identities(chain):
    table = pl.read_csv(chain / "results/tables/confidence_metrics.csv")
    overall = table.filter(pl.col("difficulty") == "all")
    assert overall["scheme"].to_list() == VARIANTS + IN_JSON
    assert (overall["n_questions"] == 3).all()
    assert (overall["n_samples"] == 6).all()
    for row in table.iter_rows(named=True):
        assert row["brier_1"] == pytest.approx(row["accuracy"] - row["brier"], abs=1e-12)
        assert abs(row["calibration_bias"]) <= row["ece"] + 1e-12
        assert row["accuracy_low"] <= row["accuracy"] <= row["accuracy_high"]
    printed = (chain / "results/tables/confidence_metrics.md").read_text()
    assert "Brier-2" in printed
    assert r"\toprule" in (chain / "results/tables/confidence_metrics.tex").read_text()


def test_every_answer_is_judged(chain):
    table = pl.read_csv(chain / "results/tables/abstention_rates.csv").filter(difficulty="all")
    for scheme in IN_JSON:
        graded = read(chain, "grades", MATHEMATICS, scheme, tables.GRADES)
        judged = tables.read(
            chain / f"results/judgements/smollm2-judge/{MATHEMATICS}/{scheme}.parquet", tables.JUDGEMENTS
        )
        assert judged.select("question_id", "sample").equals(graded.select("question_id", "sample"))
        given = judged["label"].is_in(ABSTENTION_LABELS)  # enforced wherever there is an answer to judge
        assert given.equals(graded["answer"].is_not_null())
        (row,) = table.filter(scheme=scheme).rows(named=True)
        assert row["total"] == pytest.approx(judged["label"].is_in(["unanswerable", "abstain"]).mean())
        assert row["total"] == pytest.approx(row["unanswerable"] + row["other"])


@pytest.mark.parametrize("benchmark", ["arc", "exams"])
def test_every_item_is_asked_in_its_order_and_with_the_gold_first(chain, benchmark):
    items = from_frame(tables.read(chain / f"results/mcq/items/{benchmark}.parquet", tables.ITEMS))
    asked = {item.item_id: item for item in items if item.role == "asked"}
    assert len(asked) == 4
    table = pl.read_csv(chain / f"results/tables/mcq_{benchmark}_moved.csv")
    for protocol, title, rules in (("sl", "S&L", LETTER_RULES), ("md", "M&D", TEXT_RULES)):
        matcher = "none" if protocol == "sl" else "minilm"
        cell = f"{benchmark}/moved/smollm2-135m-instruct/{protocol}"
        made = tables.read(chain / f"results/mcq/generations/{cell}.parquet", tables.MCQ_GENERATIONS)
        assert set(made.select("item_id", "run").rows()) == {(name, run) for name in asked for run in (0, 1)}
        assert len(made) == 8
        for name, run, shown in made.select("item_id", "run", "order").rows():
            assert tuple(shown) == order(len(asked[name].options), asked[name].gold, run)
        read = tables.read(chain / f"results/mcq/predictions/{cell}/{matcher}.parquet", tables.MCQ_PREDICTIONS)
        assert read.select("item_id", "run").equals(made.select("item_id", "run"))
        assert set(read["rule"]) <= {*rules, RANDOM}
        assert all(read["correct"] == (read["choice"] == read["gold"]))
        if protocol == "md":  # so small a model seldom keeps to an option: the sentence-embedding model is asked
            assert read["similarity"].drop_nulls().is_between(-1, 1).all()
            assert read["similarity"].count() > 0
        (row,) = table.filter(protocol=title).rows(named=True)
        original, moved = (100 * read.filter(run=run)["correct"].mean() for run in (0, 1))
        assert (row["acc_original"], row["delta_acc"]) == pytest.approx((original, abs(moved - original)))
        assert row["variance"] == pytest.approx(((moved - original) / 2) ** 2)
        assert (row["n_questions"], row["n_runs"]) == (4, 2)


def test_figures_are_drawn(chain):
    runs = [run.replace("/", "_") for run in (RUN, MATHEMATICS)]
    of_runs = [f"{kind}_{run}" for kind in ("calibration", "training_curves") for run in runs]
    for figure in (*of_runs, "mcq_arc_moved_sl-md", "mcq_exams_moved_sl-md"):
        svg = (chain / f"results/figures/{figure}.svg").read_text()
        assert "<svg" in svg
        assert (chain / f"results/figures/{figure}.png").read_bytes().startswith(b"\x89PNG")


def test_training_says_what_it_did(chain):
    sft = json.loads((chain / f"results/sft/{RUN}/effective.json").read_text())
    valid = tables.read(chain / f"results/sft/{RUN}/responses.parquet", tables.RESPONSES)["xml"].drop_nulls()
    assert sft["pairs"] == len(valid) > 0
    for scheme in ("brier-1", "brier-2"):
        folder = chain / f"results/rl/{RUN}/{scheme}/1"
        effective = json.loads((folder / "effective.json").read_text())
        assert effective["settings"]["scheme"] == scheme
        assert effective["trainer"]["scale_rewards"] == "none"
        assert effective["started_from"] == "sft"
        assert len(tables.read(folder / "log.parquet", tables.TRAINING_LOG)) == 1
        assert (folder / "adapter/adapter_model.safetensors").exists()
    folder = chain / f"results/rl/{MATHEMATICS}/underconfidence-1/1"
    effective = json.loads((folder / "effective.json").read_text())
    assert effective["started_from"] == "base"
    assert effective["settings"]["grader"] == "math"
    assert effective["trainer"]["loss_type"] == "dapo"
    (step,) = tables.read(folder / "log.parquet", tables.TRAINING_LOG).rows(named=True)
    assert step["format_reward"] in (0, 0.125, 0.25, 0.375, 0.5)  # half a point for each of four outputs


def test_cards_tell_licences(chain):
    assert "| licence | Apache-2.0 |" in (chain / "results/cards/datasets/bigmath.md").read_text()
    assert "| licence | CC-BY-SA-4.0 |" in (chain / "results/cards/datasets/hotpotqa-modified.md").read_text()
    assert "`model.safetensors`" in (chain / "results/cards/models/smollm2-135m-instruct.md").read_text()


def test_adapters_are_proven_to_be_applied(chain):
    log = (chain / f"logs/generations/{RUN}/sft-xml.log").read_text()
    assert re.search(r"the adapter changes log-probabilities by up to \d", log)


def test_a_second_run_does_nothing(chain, data_folder):
    result = snakemake(chain, data_folder)
    assert result.returncode == 0
    assert "Nothing to be done" in result.stdout + result.stderr


def test_one_table_alone_runs_only_what_it_lacks(chain, data_folder):
    (chain / f"results/metrics/{RUN}/brier-1.json").unlink()
    (chain / "results/tables/confidence_metrics.csv").unlink()
    result = snakemake(chain, data_folder, "results/tables/confidence_metrics.csv")
    assert result.returncode == 0, result.stderr[-4000:]
    jobs = re.findall(r"^rule (\w+):|^localrule (\w+):", result.stdout + result.stderr, flags=re.MULTILINE)
    assert sorted(name or local for name, local in jobs) == ["measure_confidence", "tabulate_confidence_metrics"]
