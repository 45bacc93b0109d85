"""The confidence track's tables, figures and comparison: on what the paper prints, and on made-up numbers."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from markdown_it import MarkdownIt

from candor import tables
from candor.confidence.metrics import METRICS, RATES
from candor.report import comparison, hacked_samples, spectrum_figures
from candor.report.accuracy_tables import CATEGORIES, accuracy, accuracy_table, category
from candor.report.figures import save
from candor.report.layout import latex, markdown
from candor.report.tables import CONFIDENCE_METRICS, confidence_metrics, confidence_subset_table, scheme_label
from candor.schemes import SPECTRUM, build
from candor.tables import GENERATIONS, GRADES, QUESTIONS, RESPONSES, write_json
from candor.vocabulary import BASELINES, DIFFICULTIES, PAPER_SCHEMES

ROOT = Path(__file__).parents[2]
PRINTED = ROOT / "resources/paper_tables"
PAPER = Path(os.environ.get("CANDOR_DATA", ROOT.parent / "shared/data")).parent / "papers/confidence_rewards.txt"
QWEN_25, QWEN_3, GEMMA = "Qwen 2.5 (3B) Instruct", "Qwen 3 (4B)", "Gemma 4 (E2B) Instruct"

the_paper = pytest.mark.skipif(not PAPER.is_file(), reason=f"the paper's text is not at {PAPER}")


def number_or_none(text):
    return None if text == "" else float(text)


def as_metrics(rows):
    """Make what `measure_confidence` would have written, had it measured the rows that the paper prints."""
    found = {}
    for row in rows:
        key = (row["model"], row["dataset"], row["scheme"])
        one = found.setdefault(key, dict(zip(("model", "dataset", "scheme"), key, strict=True)) | {"difficulties": {}})
        values = {metric: number_or_none(row[metric]) for metric in METRICS}
        one["difficulties"][row["difficulty"]] = {
            **{metric: {"value": v, "low": v, "high": v} for metric, v in values.items()},
            **{name: {"value": 0.0, "low": 0.0, "high": 0.0} for name in RATES},
            **{"n_questions": 10, "n_samples": 160, "calibration": []},
            **{f"{part}_status": {"valid": 1.0} for part in ("answer", "confidence")},
        }
    return list(found.values())


@pytest.fixture(scope="module")
def rows():
    """The 376 rows of tables 7 to 27 and 32 to 35, each figure as it is printed."""
    with (PRINTED / "confidence_metrics.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture(scope="module")
def frame(rows):
    return confidence_metrics(as_metrics(rows))


def texts(table):
    return [[cell.text for cell in row] for row in table.rows if row is not None]


def marks(table, column):
    """Return (best, second) of a column, as sets of texts."""
    cells = [row[column] for row in table.rows if row is not None]
    return tuple({cell.text for cell in cells if cell.mark == mark} for mark in ("best", "second"))


def printed_rows(after):
    """Read the rows of a table below a caption of the paper's text."""
    lines = PAPER.read_text(encoding="utf-8").split(f"\n{after}", 1)[1].split("\n\n")[1].splitlines()
    return [line.split("\t") for line in lines if re.search(r"\t-?\d\.\d{4}", line)]


def plain(label):
    """Write a label of the paper's text as ours."""
    return label.replace(r"Log- $\frac{1}{l n 202}$", "Log-1/ln 202").replace("Base Model", "Base (JSON)")


# --- Tables 7 to 27 and 32 to 35 --------------------------------------------------------------------------------------


def test_every_printed_table_comes_out_as_printed(rows, frame):
    """The same rows in the same order, every figure to its last digit, a line between the paper's sections."""
    by_table = {}
    for row in rows:
        by_table.setdefault(row["table"], []).append(row)
    assert [int(number) for number in by_table] == [*range(7, 28), *range(32, 36)]
    for printed in by_table.values():
        first = printed[0]
        part = frame.filter(model=first["model"], dataset=first["dataset"])
        table = confidence_subset_table(part, first["difficulty"])
        assert [cell.text for cell in table.heads] == [
            *("Model/Reward Scheme", "Accuracy", "AUROC", "Brier-1", "Brier", "ECE", "Calib. Bias")
        ]
        assert texts(table) == [
            [scheme_label(row["scheme"]), *(row[metric] or "-" for metric in METRICS)] for row in printed
        ]
        baselines = sum(row["scheme"] in BASELINES for row in printed)
        lines = [index for index, row in enumerate(table.rows) if row is None]
        assert lines == [baselines, baselines + 1 + 5]  # five hackable ones, then the spectrum


@the_paper
def test_every_printed_table_is_that_of_the_papers_text(rows, frame):
    for number in (*range(7, 28), *range(32, 36)):
        first = next(row for row in rows if row["table"] == str(number))
        part = frame.filter(model=first["model"], dataset=first["dataset"])
        ours = texts(confidence_subset_table(part, first["difficulty"]))
        assert ours == [[plain(label), *figures] for label, *figures in printed_rows(f"Table {number}: ")]


def test_the_best_of_table_7_is_bold_and_the_second_underlined(frame):
    table = confidence_subset_table(frame.filter(model=QWEN_25, dataset="BigMath"), "all")
    assert [marks(table, column) for column in range(1, 7)] == [
        ({"0.6769"}, {"0.6739"}),
        ({"0.8602"}, {"0.8521"}),
        ({"0.5278"}, {"0.5272"}),
        ({"0.0001"}, {"0.0002"}),
        ({"0.0049"}, {"0.0244"}),
        ({"0.0028"}, {"-0.0049"}),
    ]
    tex = latex([table])
    assert r"Underconfidence-4 & \textbf{0.6769} & 0.8343 & \underline{0.5272}" in tex


def test_a_difficulty_that_was_not_measured_has_an_empty_table(frame):
    table = confidence_subset_table(frame.filter(model=QWEN_25, dataset="HotpotQA"), "easy")
    assert table.rows == []
    assert "Not measured" in markdown([table])
    assert latex([table]).count(r"\midrule") == 1


# --- Table 2 ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def categories():
    return {name: category(build(name, {})) for name in PAPER_SCHEMES}


def test_schemes_are_divided_as_table_2_divides_them(categories):
    assert categories == {
        "correctness-only": CATEGORIES[0],
        **dict.fromkeys(("log-loss", "brier-score", "log-1", "brier-2", "log-1/ln202"), CATEGORIES[1]),
        **dict.fromkeys(SPECTRUM[1:], CATEGORIES[2]),
    }
    assert category(build("brier-0.5", {})) == CATEGORIES[2]


def test_table_2_is_assembled_of_tables_7_to_19(rows, frame, categories):
    table = accuracy_table(accuracy(frame.filter(model=QWEN_25), categories))
    columns = [
        *((dataset, of) for dataset in ("BigMath", "DeepMath-103K", "HotpotQA-Modified") for of in DIFFICULTIES),
        ("HotpotQA", "all"),
    ]
    assert table.groups == [
        *(("", 1), ("BigMath", 3), ("DeepMath-103K", 3), ("HotpotQA-Modified", 3)),
        ("HotpotQA", 1),
    ]
    printed = {(row["dataset"], row["difficulty"], row["scheme"]): row["accuracy"] for row in rows[: 13 * 16]}
    order = [name for of in CATEGORIES for name in PAPER_SCHEMES if categories[name] == of]
    assert texts(table) == [[scheme_label(name), *(printed[*key, name] for key in columns)] for name in order]
    assert [index for index, row in enumerate(table.rows) if row is None] == [1, 7]
    assert marks(table, 1) == ({"0.9552"}, {"0.9540"})  # of BigMath's easy ones, schemes alone
    assert r"\multicolumn{3}{c}{BigMath}" in latex([table])


@the_paper
def test_accuracies_by_difficulty_are_those_of_table_39(frame, categories):
    """Table 2's own cells are not in the text at hand; table 39 has the same for the two other models."""
    printed = printed_rows("Table 39: ")
    for model, first in ((QWEN_3, 1), (GEMMA, 7)):
        part = frame.filter(model=model, dataset="HotpotQA-Modified")
        ours = {row[0]: row[1:] for row in texts(accuracy_table(accuracy(part, categories)))}
        theirs = {plain(row[0]): row[first : first + 3] for row in printed}
        del theirs["Base (JSON)"]
        assert ours == theirs


def test_a_scheme_that_one_dataset_lacks_leaves_a_dash_there(frame, categories):
    part = frame.filter(model=QWEN_3).filter((pl.col("scheme") != "log-1") | (pl.col("dataset") != "DeepMath-103K"))
    table = accuracy_table(accuracy(part, categories))
    (row,) = (row for row in texts(table) if row[0] == "Log-1")
    assert row[1:] == ["0.6279", "0.2634", "0.1053", "-", "-", "-"]


# --- Figures 3 to 5 ---------------------------------------------------------------------------------------------------


def panels(figure):
    return {axis.get_title(): axis for axis in figure.axes if axis.get_visible()}


def drawn(axis):
    return {line.get_label(): list(line.get_ydata()) for line in axis.lines if not line.get_label().startswith("_")}


def test_figure_3_has_a_panel_a_model_and_a_line_a_dataset(frame):
    shown = panels(spectrum_figures.plot_bias_spectrum(frame))
    assert list(shown) == [QWEN_25, QWEN_3, GEMMA]
    for model, axis in shown.items():
        assert [tick.get_text() for tick in axis.get_xticklabels()] == [scheme_label(name) for name in SPECTRUM]
        lines = drawn(axis)
        assert set(lines) == set(frame.filter(model=model)["dataset"])
        for dataset, values in lines.items():
            part = frame.filter(model=model, dataset=dataset, difficulty="all")
            by = dict(zip(part["scheme"], part["calibration_bias"], strict=True))
            assert values == [by[name] for name in SPECTRUM]
    # Of each the overconfident end is the most overconfident (5.2).
    assert all(min(values) == values[0] for axis in shown.values() for values in drawn(axis).values())


@pytest.mark.parametrize("metrics", [spectrum_figures.PERFORMANCE, spectrum_figures.CALIBRATION])
def test_figures_4_and_5_have_a_panel_a_dataset_and_a_line_a_metric(frame, metrics):
    shown = panels(spectrum_figures.plot_metrics_spectrum(frame.filter(model=QWEN_25), metrics))
    assert list(shown) == ["BigMath", "DeepMath-103K", "HotpotQA", "HotpotQA-Modified"]
    for dataset, axis in shown.items():
        part = frame.filter(model=QWEN_25, dataset=dataset, difficulty="all")
        for metric, values in zip(metrics, drawn(axis).values(), strict=True):
            by = dict(zip(part["scheme"], part[metric], strict=True))
            assert values == [by[name] for name in SPECTRUM]
        dotted = [line for line in axis.lines if line.get_linestyle() == ":"]
        assert len(dotted) == (metrics == spectrum_figures.CALIBRATION)  # closer to 0 is better
    with pytest.raises(ValueError, match="one model"):
        spectrum_figures.plot_metrics_spectrum(frame, metrics)


def test_intervals_are_drawn_and_what_lacks_breaks_the_line(frame):
    part = frame.filter(model=QWEN_3, dataset="HotpotQA-Modified").filter(pl.col("scheme") != "brier-1")
    part = part.with_columns(calibration_bias_low=pl.lit(-0.5), calibration_bias_high=pl.lit(-0.45))  # not around it
    part = part.with_columns(
        calibration_bias_low=pl.when(pl.col("scheme") != "overconfidence-1").then("calibration_bias_low")
    )
    other = frame.filter(model=GEMMA)
    axis = panels(spectrum_figures.plot_bias_spectrum(pl.concat([part, other])))[QWEN_3]
    (values,) = drawn(axis).values()
    assert [value != value for value in values] == [name == "brier-1" for name in SPECTRUM]
    ends = [segment[:, 1].tolist() for segment in axis.collections[0].get_segments()]
    assert ends == [[-0.5, -0.45]] * 6
    assert {text.get_text() for text in axis.get_xticklabels()} == {scheme_label(name) for name in SPECTRUM}


def test_a_demo_with_one_scheme_of_the_spectrum_is_one_point(frame, tmp_path):
    part = frame.filter(model=QWEN_3).filter(pl.col("scheme").is_in(["brier-1", "brier-2", "base-json"]))
    figure = spectrum_figures.plot_bias_spectrum(part, "title")
    (axis,) = panels(figure).values()
    assert [text.get_text() for text in axis.get_xticklabels()] == ["Brier-1"]
    for turn in ("first", "second"):
        save(figure, tmp_path / f"{turn}.svg")
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()
    with pytest.raises(ValueError, match="no scheme of the spectrum"):
        spectrum_figures.plot_bias_spectrum(part.filter(pl.col("scheme") != "brier-1"))


# --- The comparison ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def printed():
    return comparison.printed_cells(PRINTED)


def as_judged(**changed):
    """Make the table of abstention rates that the printed ones would give."""
    rates = pl.read_csv(PRINTED / "abstention_rates.csv").drop("table")
    bounds = {f"{name}_{end}": name for name in ("unanswerable", "other", "total") for end in ("low", "high")}
    return rates.with_columns(**bounds, format_error_rate=pl.lit(0.0001), n_questions=10, n_samples=160, **changed)


def as_responses():
    """Make answers of which as many are valid as table 4 says."""
    found = []
    for row in pl.read_csv(PRINTED / "confidence_valid_json.csv").iter_rows(named=True):
        statuses = ["valid"] * row["valid"] + ["broken"] * (1024 - row["valid"])
        columns = {name: [None] * 1024 for name in RESPONSES.names()} | {"status": statuses}
        found.append((QWEN_25, row["dataset"], pl.DataFrame(columns, RESPONSES)))
    return found


def with_rates(metrics):
    """Give each variant a rate of invalid format that F.4 says it has."""
    for one in metrics:
        rate = 0.0005 if one["scheme"] != "base-xml" else 0.1
        bad = one["scheme"] in ("correctness-only", "underconfidence-1", "overconfidence-1")
        if bad and (one["model"], one["dataset"]) == (QWEN_3, "DeepMath-103K"):
            rate = 0.6
        one["difficulties"]["all"]["invalid_format_rate"] = {"value": rate, "low": rate, "high": rate}
    return metrics


def test_every_printed_cell_is_there_once(printed):
    assert not printed.select(comparison.CELL).is_duplicated().any()
    counts = dict(printed["table"].value_counts().iter_rows())
    assert (
        sum(count for table, count in counts.items() if table in map(str, [*range(7, 28), *range(32, 36)])) == 376 * 6
    )
    assert sum(counts[str(table)] for table in (28, 29, 30, 31, 36, 37)) == 336 * 3
    assert counts["4"] == 4
    # Of F.4: 16 variants on 4 datasets, 14 and 13 of Qwen 3, 14 of Gemma 4, and 2 judges of 14 variants of 3 runs.
    assert counts["F.4"] == 16 * 4 + 14 + 13 + 14 + 2 * 14 * 3
    assert printed.filter(pl.col("void"))["table"].unique().sort().to_list() == ["32", "33", "34", "35"]


def test_the_printed_numbers_as_ours_differ_nowhere(rows, printed):
    found = comparison.compare(
        printed,
        comparison.measured_cells(with_rates(as_metrics(rows))),
        comparison.judged_cells(as_judged()),
        comparison.response_cells(as_responses()),
    )
    assert found.schema == comparison.COMPARISON
    assert found.height == printed.height
    assert found.select("table", *comparison.CELL).equals(printed.select("table", *comparison.CELL))
    compared = found.filter(status="compared")
    assert compared["difference"].abs().max() == 0
    assert compared["within"].drop_nulls().all()
    # Where the paper has a dash, we have none either.
    others = found.filter(pl.col("status") != "compared")
    assert set(others["status"]) == {"undefined"}
    assert set(others["metric"]) == {"auroc"}
    assert others["printed"].null_count() == len(others)
    assert "3457 of them of the models measured here" in comparison.summary(found, printed, [QWEN_25, QWEN_3, GEMMA])


def test_an_auroc_printed_where_accuracy_is_0_is_no_difference(rows, printed):
    metrics = as_metrics(row for row in rows if row["model"] == GEMMA)
    voids = 0
    for one in metrics:
        for measured in one["difficulties"].values():
            if measured["accuracy"]["value"] == 0:
                assert measured["auroc"]["value"] == 0  # as printed
                measured["auroc"] = {"value": None, "low": None, "high": None}
                voids += 1
    found = comparison.compare(printed, comparison.measured_cells(metrics)).filter(metric="auroc")
    assert voids == printed["void"].sum() == 8
    assert found.filter(status="undefined")["printed"].to_list() == [0.0] * 8
    assert found.filter(status="undefined")["difference"].null_count() == 8
    assert set(found["status"]) == {"undefined", "compared"}


def one_cell(value, low, high, metric="accuracy", model=QWEN_25, scheme="brier-1"):
    """Make our measurement of one cell of table 7, or of F.4."""
    row = (model, "BigMath", None, "all", scheme, metric, value, low, high)
    return pl.DataFrame([row], comparison.OURS, orient="row")


def test_what_was_not_run_is_missing_and_other_models_are_left_out(printed):
    found = comparison.compare(printed, one_cell(0.7, 0.66, 0.73))
    assert set(found["model"]) == {QWEN_25}
    assert found.height == 13 * 16 * 6 + 4 + 64
    (row,) = found.filter(status="compared").iter_rows(named=True)
    assert (row["table"], row["printed"], row["within"]) == ("7", 0.6676, True)
    assert row["difference"] == pytest.approx(0.0324)
    assert set(found.filter(pl.col("status") != "compared")["status"]) == {"missing"}
    text = comparison.summary(found, printed, [QWEN_25, "Other"])
    assert "Compared: 1; the printed value lies within our interval in 1 of the 1 that have one." in text
    assert f"nothing of ours was measured: {found.height - 1}." in text
    assert "The paper has nothing of Other." in text


@pytest.mark.parametrize(
    ("value", "low", "high", "within"),
    [
        (0.7, 0.6677, 0.73, False),  # the print's last digit is too far off
        (0.7, 0.66764, 0.73, True),  # 0.66764 prints as 0.6676
        (0.7, None, None, None),
    ],
)
def test_the_printed_value_is_looked_for_in_our_interval(printed, value, low, high, within):
    (row,) = comparison.compare(printed, one_cell(value, low, high)).filter(status="compared").iter_rows(named=True)
    assert row["within"] is within


@pytest.mark.parametrize(
    ("scheme", "value", "low", "high", "difference", "within"),
    [
        ("brier-1", 0.004, 0.003, 0.005, 0, True),
        ("brier-1", 0.012, 0.009, 0.015, 0.002, True),
        ("brier-1", 0.03, 0.02, 0.04, 0.02, False),
        ("base-xml", 0.04, 0.03, 0.045, -0.01, False),
        ("base-xml", 0.1, None, None, 0, None),
    ],
)
def test_bounds_are_compared_as_bounds(printed, scheme, value, low, high, difference, within):
    ours = one_cell(value, low, high, "invalid_format_rate", scheme=scheme)
    (row,) = comparison.compare(printed, ours).filter(status="compared").iter_rows(named=True)
    assert row["table"] == "F.4"
    assert row["printed"] is None
    assert row["difference"] == pytest.approx(difference)
    assert row["within"] is within


def test_gemmas_bound_is_of_what_repair_could_not_mend(rows, printed):
    (one,) = as_metrics(row for row in rows if row["model"] == GEMMA and row["scheme"] == "brier-1")
    one["difficulties"]["all"] |= {
        "invalid_format_rate": {"value": 0.05, "low": 0.04, "high": 0.06},
        "answer_status": {"valid": 0.95, "repaired": 0.0498, "missing": 0.0002},
        "confidence_status": {"valid": 0.95, "repaired": 0.0495, "probed": 0.0005},
    }
    found = comparison.compare(printed, comparison.measured_cells([one])).filter(table="F.4", status="compared")
    assert found["metric"].to_list() == ["invalid_format_rate_after_repair"]
    assert found["ours"].to_list() == pytest.approx([0.0005])
    assert found["difference"].to_list() == [0]


def test_values_on_one_side_alone_have_a_status_each(printed):
    log_loss = one_cell(0.6, 0.5, 0.7, "auroc", scheme="log-loss")  # printed as a dash
    undefined = one_cell(None, None, None, "auroc")
    every = comparison.compare(printed, log_loss, undefined)
    found = every.filter(pl.col("status") != "missing")
    assert found["status"].to_list() == ["undefined in print", "undefined here"]
    assert found["difference"].null_count() == 2
    text = markdown(comparison.comparison_tables(every))
    assert "0.6000 (- in print)" in text
    assert "- (0.8195 in print)" in text


def test_a_cell_of_ours_that_comes_twice_is_refused(printed):
    with pytest.raises(pl.exceptions.ComputeError):
        comparison.compare(printed, one_cell(0.7, 0.6, 0.8), one_cell(0.7, 0.6, 0.8))


def test_a_model_that_the_paper_has_not_has_an_empty_comparison(printed):
    found = comparison.compare(printed, one_cell(0.7, 0.6, 0.8, model="SmolLM2 (135M) Instruct"))
    assert found.is_empty()
    assert found.schema == comparison.COMPARISON
    text = comparison.summary(found, printed, ["SmolLM2 (135M) Instruct"])
    assert text.endswith("none of them of SmolLM2 (135M) Instruct; nothing is compared.")
    laid_out = comparison.comparison_tables(found)
    assert [table.rows for table in laid_out] == [[]]
    assert latex(laid_out).count(r"\midrule") == 1


def test_the_comparisons_tables_are_whole(rows, printed):
    metrics = with_rates(as_metrics(rows))
    metrics[0]["difficulties"]["all"]["accuracy"] = {"value": 0.3, "low": 0.29, "high": 0.31}
    ours = [comparison.measured_cells(metrics), comparison.judged_cells(as_judged())]
    laid_out = comparison.comparison_tables(comparison.compare(printed, *ours, comparison.response_cells([])))
    # One of counts, one for each numbered table, and F.4's seven runs.
    assert len(laid_out) == 1 + 1 + 31 + 7
    assert all(len(row) == len(table.heads) for table in laid_out for row in table.rows)
    text = markdown(laid_out)
    assert "| Base (JSON) | **0.3000 (+0.0469)** | 0.5908 (+0.0000) |" in text
    assert "| BigMath | missing |" in text
    assert "| Correctness-only | above 0.5 | 0.6000 |" in text
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert all(line.endswith(" |") or line.endswith("|") for line in lines)
    tex = latex(laid_out)
    assert tex.count("{") == tex.count("}")
    assert all(ord(sign) < 0x300 for sign in tex)  # pdflatex
    (counts,) = (row for row in texts(laid_out[0]) if row[0] == "7")
    assert counts == ["7", "96", "94", "93", "1", "0", "2", "0.0005", "0.0469"]


def test_the_bounds_name_what_the_other_tables_name(printed):
    bounds = printed.filter(table="F.4")
    others = printed.filter(pl.col("table") != "F.4")
    for column in ("model", "dataset", "judge", "scheme"):
        assert set(bounds[column]) <= set(others[column])
    ends = bounds.select(pl.col("printed_low").fill_null(0), pl.col("printed_high").fill_null(1))
    assert (ends["printed_low"] < ends["printed_high"]).all()


# --- Hacked samples ---------------------------------------------------------------------------------------------------


def grades(rows):
    """Make grades of (question, sample, confidence, correct)."""
    names = ("question_id", "sample", "confidence", "correct")
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    others = {"difficulty": "hard", "gold": "gold", "answer": "Unknown", "score": 0.0, "outcome": "wrong"}
    others |= {"well_formed": True, "answer_status": "valid", "confidence_status": "valid"}
    return pl.DataFrame(columns | {name: [value] * len(rows) for name, value in others.items()}, GRADES)


def test_wrong_ones_at_the_lowest_confidence_come_first_and_the_draw_breaks_ties():
    every = grades(
        [
            *(("a", 0, 0, True), ("a", 1, 30, False), ("b", 0, 2, False), ("b", 1, 0, False), ("c", 0, None, False)),
            *(("d", 0, 1, None), ("e", 0, 0, True), ("f", 0, 50, False)),
        ]
    )
    chosen = hacked_samples.choose_samples(every, 1, "m/d/brier-2", 5)
    assert chosen.select("question_id", "sample").rows() == [("b", 1), ("a", 1), ("f", 0), ("e", 0)]
    assert chosen.equals(hacked_samples.choose_samples(every.reverse(), 1, "m/d/brier-2", 5))
    alike = grades([(f"q{i}", 0, 0, False) for i in range(50)])
    picks = {
        (seed, name): tuple(hacked_samples.choose_samples(alike, seed, name)["question_id"])
        for seed in (1, 2)
        for name in ("m/d/log-1", "m/d/brier-2")
    }
    assert len(set(picks.values())) == 4
    assert all(len(pick) == hacked_samples.SAMPLES for pick in picks.values())


HOSTILE = (
    "```\n# Heading\n<script>alert(1)</script>\n~~~~\n`````\r````\r\n[link](http://x)\x1b[2J \u202egnp \u2028 | a | b |"
)


def page(output, prompt="What?"):
    questions = pl.DataFrame({"question_id": ["q`1"], "prompt": [prompt], "gold": ["gold"], "difficulty": ["hard"]})
    generated = {"question_id": "q`1", "sample": 0, "text": output, "finish_reason": "stop"}
    generations = pl.DataFrame([generated], GENERATIONS)
    chosen = hacked_samples.choose_samples(grades([("q`1", 0, 0, False)]), 1, "x")
    frame = hacked_samples.samples_frame(chosen, questions.cast(dict(QUESTIONS)), generations, "M", "D", "brier-2")
    return frame, hacked_samples.hacked_samples_markdown(frame, 1)


@pytest.mark.parametrize("text", ["fine", HOSTILE, "```", "~~~\n" * 5, "\n\n    x\n", "x" * 9000, "`" * 1900])
def test_what_a_model_wrote_cannot_leave_its_fence(text):
    frame, markdown_text = page(text, prompt=text)
    tokens = MarkdownIt("commonmark").parse(markdown_text)
    assert [token.content for token in tokens if token.type == "html_block"] == []
    assert sum(token.type == "heading_open" for token in tokens) == 3
    fences = [token for token in tokens if token.type == "fence"]
    assert len(fences) == 5
    assert all(token.info == "text" for token in fences)
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} == {"text", "softbreak"} or {child.type for child in inline} == {"text"}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\ufeff]", markdown_text)
    assert len(frame["output"][0]) <= hacked_samples.OUTPUT_LIMIT + 60
    assert len(frame["prompt"][0]) <= hacked_samples.PROMPT_LIMIT + 60


def test_a_long_output_keeps_its_ends_and_what_does_not_print_is_named():
    frame, markdown_text = page("begin" + "x" * 5000 + "end \u202e")
    assert frame["output"][0].startswith("beginx")
    assert "[... 3010 characters left out ...]" in frame["output"][0]
    assert "xend <U+202E>\n" in markdown_text


def test_without_a_hackable_scheme_the_page_says_so():
    frame = hacked_samples.join_samples([])
    assert frame.schema == hacked_samples.HACKED_SAMPLES
    assert "No scheme that can be hacked was evaluated." in hacked_samples.hacked_samples_markdown(frame, 1)


def test_a_sample_that_is_not_among_the_generations_is_refused():
    with pytest.raises(ValueError, match="'q`1' is graded but not among"):
        hacked_samples.samples_frame(
            grades([("q`1", 0, 0, False)]),
            pl.DataFrame(schema=QUESTIONS),
            pl.DataFrame(schema=GENERATIONS),
            "M",
            "D",
            "s",
        )


# --- Scripts ----------------------------------------------------------------------------------------------------------


def run(script, *arguments):
    command = [sys.executable, "-W", "error", ROOT / "scripts" / f"{script}.py", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done


def test_the_scripts_write_what_the_builders_build(rows, tmp_path):
    metrics = with_rates(as_metrics(row for row in rows if row["model"] == GEMMA))
    paths = []
    for one in metrics:
        paths.append(tmp_path / f"{one['scheme'].replace('/', '-')}.json")
        write_json(one, paths[-1])
    outputs = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")]
    to = [argument for pair in zip(("--csv", "--markdown", "--latex"), outputs, strict=True) for argument in pair]

    run("tabulate_confidence_subset", "--metrics", *paths, "--difficulty", "hard", *to)
    expected = confidence_metrics(metrics).filter(difficulty="hard")
    assert pl.read_csv(outputs[0], schema=CONFIDENCE_METRICS).equals(expected)

    run("tabulate_accuracy", "--metrics", *paths, "--schemes", *PAPER_SCHEMES, *to)
    assert pl.read_csv(outputs[0]).height == 13 * 3

    as_judged().write_csv(tmp_path / "judged.csv")
    tables.write(as_responses()[0][2], tmp_path / "r.parquet", RESPONSES)
    others = ("--responses", tmp_path / "r.parquet", "--response-labels", json.dumps([["Other", "BigMath"]]))
    judged = ("--abstentions", tmp_path / "judged.csv", "--printed", PRINTED)
    run("tabulate_comparison", "--metrics", *paths, *others, *judged, *to)
    found = pl.read_csv(outputs[0], schema=comparison.COMPARISON)
    assert found["difference"].abs().max() == 0
    assert set(found["model"]) == {GEMMA, QWEN_3}  # the judged ones too
    head, first = outputs[1].read_text().split("\n### ")[:2]
    assert head.startswith("# Comparison with the paper\n\nThe paper prints 3457 cells")
    assert first.startswith("What each of the paper's tables came to")
    assert "The paper prints 3457 cells" in outputs[2].read_text()

    for kind in ("bias", "performance", "calibration"):
        run(
            "plot_spectrum",
            "--kind",
            kind,
            "--metrics",
            *paths,
            "--svg",
            tmp_path / "f.svg",
            "--png",
            tmp_path / "f.png",
        )
        assert (tmp_path / "f.png").stat().st_size

    run("tabulate_hacked_samples", "--seed", 1, "--csv", outputs[0], "--markdown", outputs[1])
    assert pl.read_csv(outputs[0]).is_empty()
