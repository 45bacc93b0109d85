"""Multiple-choice tables and figures: on made-up metrics, and on what the paper prints."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from candor.mcq.metrics import METRICS, describe
from candor.report import mcq_figures, mcq_tables
from candor.report.figures import save
from candor.report.layout import latex, markdown
from candor.report.mcq_frames import (
    KEYS,
    MCQ_METRICS,
    PAPER_MODELS,
    main_fewshot,
    mcq_metrics,
    moved_runs_alone,
    paper_pairs,
    printed_name,
    protocol_pairs,
    rank_agreement,
    rule_rates,
    run_seconds,
    shortcut_effects,
)
from candor.report.tables import read_metrics

ROOT = Path(__file__).parents[2]
PRINTED = ROOT / "resources/paper_tables"


def record(model="M", benchmark="NonsenseQA", fewshot="moved", protocol="sl", accuracies=(25, 60, 70, 80, 90), **other):
    described = {name: float(value) for name, value in describe(np.array(accuracies, dtype=float)).items()}
    values = {**described, "score": 0.5, "score_moved": 0.75, "rstd": 3.0}
    return {
        **{"model": model, "benchmark": benchmark, "fewshot": fewshot, "protocol": protocol, "matcher": "none"},
        "metrics": {name: {"value": value, "low": value - 1, "high": value + 1} for name, value in values.items()},
        "runs": [
            {"run": run, "accuracy": {"value": float(accuracy)}, "chance": 25.0, "chance_p": 0.5}
            for run, accuracy in enumerate(accuracies)
        ],
        "rules": {"answer_is": 0.9, "last_sentence": 0.0612, "random": 0.0388},
        "complete": {"n_questions": 90, "variance": 1.5},
        **{"n_questions": 100, "n_runs": len(accuracies), "invalid_rate": 0.0388, "fallback_rate": 0.0612},
        "generation_seconds": [10.0, 12.0, 14.0, 12.0, 12.0][: len(accuracies)],
        "extraction_seconds": [1.0] * len(accuracies),
        **other,
    }


SAMPLING = pl.DataFrame({"model": ["M", "N"], "temperature": [1.0, 0.6], "top_k": [None, 20], "top_p": [1.0, 0.95]})
PAIR = [record(), record(protocol="md", accuracies=(25, 26, 27, 28, 29), matcher="Qwen3")]


def rows_of(table):
    return [[cell.text for cell in row] for row in table.rows if row is not None]


def test_the_frame_keeps_everything_unrounded():
    frame = mcq_metrics(PAIR)
    assert frame.schema == MCQ_METRICS
    assert frame["protocol"].to_list() == ["S&L", "M&D"]
    assert frame["n_clamped"].to_list() == [10, 10]
    assert frame["variance"].to_list() == pytest.approx([np.var([25, 60, 70, 80, 90]), 2.0])
    with pytest.raises(ValueError, match=r"M / NonsenseQA / moved / S&L is given twice"):
        mcq_metrics([PAIR[0], PAIR[0]])


def test_pairs():
    (row,) = protocol_pairs(mcq_metrics(PAIR)).iter_rows(named=True)
    assert row["variance_ratio"] == pytest.approx(2 / np.var([25, 60, 70, 80, 90]))
    assert row["delta_score"] == 0
    assert protocol_pairs(mcq_metrics(PAIR[:1])).is_empty()
    still = [record(accuracies=(50,) * 5), record(protocol="md")]
    assert protocol_pairs(mcq_metrics(still))["variance_ratio"].to_list() == [None]


def test_table_5_as_the_paper_has_it():
    moved = moved_runs_alone(PAIR[0])
    assert {name: moved["metrics"][name]["value"] for name in METRICS} == pytest.approx(
        {
            **{"acc_mean": 75, "acc_original": 60, "delta_acc": 20, "variance": 125},
            **{"acc_min": 60, "acc_max": 90, "range": 30, "score": 0.75},
        }
    )
    assert moved["n_runs"] == 4
    assert PAIR[0]["metrics"]["acc_original"]["value"] == 25  # the true original is untouched


def test_details_of_a_model_of_the_paper_have_its_figures_below():
    records = [record("QWEN3-8B"), record("QWEN3-8B", protocol="md", accuracies=(25, 26, 27, 28, 29)), *PAIR]
    table = mcq_tables.details(mcq_metrics(records), "NonsenseQA", "moved", PRINTED)
    ours, theirs, other = rows_of(table)
    assert ours[0] == "QWEN3-8B"
    assert ours[1:9] == ["65.00", "25.00", "50.00", "500.00", "25.00", "90.00", "65.00", "0.50"]
    assert theirs[:9] == ["paper", "66.65", "84.10", "23.27", "216.91", "43.30", "84.10", "40.80", "0.54"]
    assert theirs[9:17] == ["33.33", "51.10", "23.70", "107.03", "25.60", "51.10", "25.50", "0.57"]
    assert theirs[17:] == ["0.49", "-0.034"]  # as printed, not from rounded figures
    assert other[0] == "M"
    text = markdown([table])
    assert "**2.50**" in text  # the |ΔACC| closer to 0
    assert "*66.65*" in text
    assert "100 questions, of which 10 lack a position" in text
    assert "invalid 3.88%, fallback 6.12%" in text


@pytest.mark.parametrize(
    "table",
    [
        mcq_tables.details(mcq_metrics(PAIR), "NonsenseQA", "moved", PRINTED),
        mcq_tables.variance_ratios(protocol_pairs(mcq_metrics(PAIR)), ["NonsenseQA"], PRINTED),
        mcq_tables.scores_by_fewshot(protocol_pairs(mcq_metrics(PAIR)), "NonsenseQA", PRINTED),
        mcq_tables.extraction_rates(PAIR[1:], PRINTED),
        mcq_tables.computational_costs(PAIR),
        mcq_tables.shortcut_effects(shortcut_effects(PAIR)),
        mcq_tables.sampling(SAMPLING),
    ],
    ids=lambda table: table.title[:20],
)
def test_every_table_is_whole_in_both_forms(table):
    assert all(len(row) == len(table.heads) for row in table.rows if row is not None)
    lines = [line for line in markdown([table]).splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in lines}) == 1
    tex = latex([table])
    assert tex.count("{") == tex.count("}")
    assert {line.count("&") - line.count(r"\&") for line in tex.splitlines() if line.endswith(r"\\")} <= {
        len(table.heads) - 1,
        len(table.groups) - 1,
    }
    assert all(ord(sign) < 0x300 for line in tex.splitlines() if "caption" not in line for sign in line)  # pdflatex


def test_variance_ratios_of_the_paper_itself():
    """Its own rounded variances give its table 1 but for the rounding; its figures stand below."""
    table = mcq_tables.variance_ratios(
        paper_pairs(PRINTED), ["CommonsenseQA", "ARC", "GPQA", "INCLUDE", "MMLU-Pro"], PRINTED
    )
    rows = rows_of(table)
    assert len(rows) == 2 * 14
    assert rows[0] == [
        "Deepseek-r1-0528-qwen3",
        "0.010",
        "0.090",
        "0.230",
        "0.030",
        "0.940",
        "0.09",
    ]  # printed to 2 digits
    assert rows[1] == ["paper", "0.005", "0.089", "0.226", "0.033", "0.945", "0.08"]
    assert rows[-1] == ["paper", "0.11", "0.33", "0.49", "0.23", "0.99", "0.33"]


def test_a_zero_variance_is_named():
    records = [
        *(record("A", "ARC", protocol=name, accuracies=(90,) * 5) for name in ("sl", "md")),
        *(record("B", "ARC", protocol=name, accuracies=(90, 91, 92, 93, 94)) for name in ("sl", "md")),
    ]
    table = mcq_tables.variance_ratios(protocol_pairs(mcq_metrics(records)), ["ARC"], PRINTED)
    assert rows_of(table)[:2] == [["A", "-", "-"], ["B", "1.000", "1.00"]]
    assert "not in the means: A on ARC." in table.note


def test_scores_by_fewshot():
    kept = [{**one, "fewshot": "kept"} for one in PAIR[:1]]
    ours = ["M", "0.500", "0.500", "0.000", "-", "-", "-"]
    table = mcq_tables.scores_by_fewshot(protocol_pairs(mcq_metrics([*PAIR, *kept])), "NonsenseQA", PRINTED)
    assert rows_of(table) == [ours, ["Mean", *ours[1:]]]
    assert not table.note
    pairs = protocol_pairs(mcq_metrics([{**one, "benchmark": "CommonsenseQA"} for one in (*PAIR, *kept)]))
    table = mcq_tables.scores_by_fewshot(pairs, "CommonsenseQA", PRINTED)
    assert rows_of(table)[0] == ours
    assert rows_of(table)[-1] == ["paper", "0.784", "0.774", "0.010", "0.760", "0.776", "-0.014"]


def test_extraction_rates():
    ours = record("phi-4", "MMLU-Pro", protocol="md")
    rows = rows_of(mcq_tables.extraction_rates([ours], PRINTED))
    assert rows == [
        ["phi-4", "90.00", "0.00", "0.00", "6.12", "3.88"],
        ["paper", "99.12", "0.11", "0.31", "0.46", "0.00"],
    ]
    assert len(rows_of(mcq_tables.extraction_rates([{**ours, "benchmark": "ARC"}], PRINTED))) == 1


def test_costs():
    (row,) = rows_of(mcq_tables.computational_costs(PAIR))
    assert row[:5] == ["M", "12.00 (± 1.41)", "1.00 (± 0.00)", "13.00 (± 1.41)", "7.7%"]
    assert row[-1] == "1.00"
    (row,) = rows_of(mcq_tables.computational_costs(PAIR[:1]))
    assert row[5:] == ["-"] * 5


def test_sampling():
    assert rows_of(mcq_tables.sampling(SAMPLING)) == [
        ["M", "1", "-", "1"],
        ["N", "0.6", "20", "0.95"],
        ["paper", "0.6", "20", "0.95"],
    ]


def test_shortcut_effects():
    table = mcq_tables.shortcut_effects(shortcut_effects([*PAIR, record("without M&D")]))
    assert rows_of(table) == [["M", "75.00", "27.50", "47.50", "implicit", "0.5", "0.5"]]
    assert "Cohen's d of ACC mean -" in table.note  # one model has no spread
    models = [
        record(str(i), protocol=name, accuracies=(25, *(base + i + run for run in range(4))))
        for i in range(5)
        for name, base in (("sl", 92), ("md", 40))
    ]
    table = mcq_tables.shortcut_effects(shortcut_effects(models))
    assert {row[4] for row in rows_of(table)} == {"explicit"}
    p_models, p_pairs, d = map(
        float, re.findall(r"(?:models|run|mean) ([\d.e-]+?)[;.] ?(?=over|Cohen|The)", table.note)
    )
    assert p_models == pytest.approx(2 / 2**5, abs=1e-3)
    assert p_pairs < 1e-4
    assert d > 30


def test_names_of_the_paper():
    assert len(PAPER_MODELS) == 13
    assert set(PAPER_MODELS.values()) == set(paper_pairs(PRINTED)["model"])
    assert set(PAPER_MODELS) == set(pl.read_csv(PRINTED / "mcq_extraction_rates.csv")["model"])
    assert printed_name("GPT-OSS-20b") == "Gpt-oss-20b"
    assert printed_name("SmolLM2") == "SmolLM2"


def test_the_main_few_shot_of_a_benchmark():
    frame = pl.DataFrame({"benchmark": ["CSQA", "CSQA", "GPQA"], "fewshot": ["kept", "moved", "kept"]})
    assert main_fewshot(frame).rows() == [("CSQA", "moved"), ("GPQA", "kept")]


def test_rank_agreement_of_the_paper():
    """Section 5.8: GPQA-ARC, and CSQA-MMLU-Pro."""
    found = rank_agreement(paper_pairs(PRINTED).filter(pl.col("benchmark") != "NonsenseQA"))
    assert len(found) == 10
    by = {
        frozenset(row[:2]): row
        for row in found.select("first", "second", "spearman_difference", "kendall_difference").iter_rows()
    }
    assert by[frozenset(("ARC", "GPQA"))][2:] == pytest.approx((0.110, 0.128), abs=5e-4)
    assert by[frozenset(("CommonsenseQA", "MMLU-Pro"))][3] == pytest.approx(-0.103, abs=5e-4)


def test_long_frames():
    assert rule_rates(PAIR[:1]).row(0) == ("M", "NonsenseQA", "moved", "sl", "answer_is", 0.9)
    assert run_seconds(PAIR)["generation_seconds"].to_list() == [10.0, 12.0, 14.0, 12.0, 12.0] * 2


# --- Figures ----------------------------------------------------------------------------------------------------------


def marks(axis, marker):
    return [(line.get_xdata()[0], line.get_ydata()[0]) for line in axis.lines if line.get_marker() == marker]


def test_runs_are_boxes_with_whiskers_at_the_extremes_a_dot_and_a_star():
    figure = mcq_figures.plot_runs(PAIR, "title")
    axis = figure.axes[0]
    boxes = [patch.get_path().vertices for patch in axis.patches]
    assert [(box[:, 1].min(), box[:, 1].max()) for box in boxes] == [(60, 80), (26, 28)]  # quartiles of five runs
    assert {25.0, 90.0, 29.0} <= {y for line in axis.lines for y in line.get_ydata()}
    assert [y for _, y in marks(axis, "o")] == [25, 25]
    assert [y for _, y in marks(axis, "*")] == [50, 50]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["M"]
    assert [text.get_text() for text in figure.legends[0].texts][:2] == ["S&L", "M&D"]
    places = [x for x, _ in marks(axis, "o")]
    assert places[0] < 0 < places[1]


def test_a_protocol_has_one_colour_in_all_figures():
    both = mcq_figures.plot_runs(PAIR).axes[0].patches
    alone = mcq_figures.plot_runs(PAIR[1:]).axes[0].patches
    assert both[1].get_facecolor() == alone[0].get_facecolor() != both[0].get_facecolor()


def test_ablations():
    records = [
        record(benchmark="CommonsenseQA", protocol="cloze"),
        record(benchmark="CommonsenseQA", protocol="sl"),
        *(record(benchmark="CommonsenseQA", protocol="md", matcher=name) for name in ("Original", "Manhattan")),
    ]
    names = mcq_figures.matcher_settings(records)
    assert names == ["Cloze", "Letter (standard)", "Original", "Manhattan"]
    second = [{**one, "model": "N"} for one in records[:2]]
    figure = mcq_figures.plot_ablation([*records, *second], names + names[:2])
    panels = [axis for axis in figure.axes if axis.get_title()]
    assert [axis.get_title() for axis in panels] == ["M", "N"]
    assert [len(axis.patches) for axis in panels] == [4, 2]
    many = [{**record(benchmark="CommonsenseQA", protocol="sl"), "model": f"model {i}"} for i in range(13)]
    figure = mcq_figures.plot_ablation(many, ["Baseline"] * 13)
    assert figure.get_figwidth() < 12  # in rows, as a page holds them
    assert sum(axis.get_visible() for axis in figure.axes if axis.get_title()) == 13
    assert mcq_figures.label_settings([{"protocol": name} for name in ("sl", "md", "ml", "md-x", "md-numbers")]) == [
        "Baseline",
        "Matched-dash",
        "A/B/C/D/E",
        "Matched-x",
        "1/2/3/4/5",
    ]


def test_the_agreement_figure_has_the_papers_numbers():
    agreement = rank_agreement(paper_pairs(PRINTED).filter(pl.col("benchmark") != "NonsenseQA"))
    left, right = mcq_figures.plot_rank_agreement(agreement).axes
    assert "+0.110" in [text.get_text() for text in left.texts]
    assert {"+0.128", "-0.103"} <= {text.get_text() for text in right.texts}


def test_figures_refuse_what_they_cannot_show():
    with pytest.raises(ValueError, match="one benchmark"):
        mcq_figures.plot_runs([])
    with pytest.raises(ValueError, match="one benchmark"):
        mcq_figures.plot_runs([PAIR[0], record(benchmark="ARC")])
    with pytest.raises(ValueError, match="M / sl is given twice"):
        mcq_figures.plot_runs([PAIR[0], PAIR[0]])
    with pytest.raises(ValueError, match="at least two benchmarks"):
        mcq_figures.plot_rank_agreement(rank_agreement(protocol_pairs(mcq_metrics(PAIR))))


def test_figures_are_the_same_bytes_again(tmp_path):
    for turn in ("first", "second"):
        save(mcq_figures.plot_runs(PAIR), tmp_path / f"{turn}.svg", tmp_path / f"{turn}.png")
    for kind in ("svg", "png"):
        assert (tmp_path / f"first.{kind}").read_bytes() == (tmp_path / f"second.{kind}").read_bytes()


# --- Scripts ----------------------------------------------------------------------------------------------------------


def run(script, *arguments):
    command = [sys.executable, "-W", "error", ROOT / "scripts" / f"{script}.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_scripts_from_metrics_to_tables_and_figures(tmp_path):
    paths = []
    for one in PAIR:
        paths.append(tmp_path / f"{one['protocol']}.json")
        paths[-1].write_text(json.dumps(one))
    assert read_metrics(paths, KEYS) == PAIR
    table = ("--csv", tmp_path / "t.csv", "--markdown", tmp_path / "t.md", "--latex", tmp_path / "t.tex")
    done = run("tabulate_mcq", "--kind", "details", "--as-printed", "--metrics", *paths, "--printed", PRINTED, *table)
    assert (done.returncode, done.stderr) == (0, "")
    assert pl.read_csv(tmp_path / "t.csv", schema=MCQ_METRICS).equals(mcq_metrics(PAIR))
    assert (tmp_path / "t.md").read_text().count("### NonsenseQA") == 2
    done = run("tabulate_mcq", "--kind", "shortcut_effects", "--metrics", *paths, "--printed", PRINTED, *table)
    assert (done.returncode, done.stderr) == (0, "")
    (row,) = pl.read_csv(tmp_path / "t.csv").rows(named=True)
    assert (row["median_standard"], row["reduction"], row["kind"]) == (75, 47.5, "implicit")
    sampling = ("--sampling", SAMPLING.write_json(), "--metrics")
    done = run("tabulate_mcq", "--kind", "sampling", *sampling, "--printed", PRINTED, *table)
    assert (done.returncode, done.stderr) == (0, "")
    assert pl.read_csv(tmp_path / "t.csv").equals(SAMPLING)
    figure = ("--svg", tmp_path / "f.svg", "--png", tmp_path / "f.png", "--title", "T")
    done = run("plot_mcq", "--kind", "runs", "--metrics", *paths, *figure)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "f.svg").stat().st_size
    done = run("plot_mcq", "--kind", "rank_agreement", "--metrics", *paths, *figure)
    assert done.returncode == 1
    assert done.stderr.startswith("plot_mcq: agreement needs at least two benchmarks")
