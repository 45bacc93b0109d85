"""Tables and figures of training: what is drawn and set, and that the paper's settings come out as it prints them."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from matplotlib.colors import to_rgba

from candor import tables
from candor.config import Config, load
from candor.report.layout import latex, markdown
from candor.report.training_figures import KINDS, Curve, plot_training, smooth, smooth_from_mean
from candor.report.training_tables import (
    HYPERPARAMETERS,
    SAMPLING,
    Trained,
    hyperparameters_table,
    sampling_table,
    training_flags,
    training_flags_table,
    valid_responses,
    valid_responses_table,
)
from candor.vocabulary import PAPER_SCHEMES

ROOT = Path(__file__).parents[2]


def log(steps: int, **columns) -> pl.DataFrame:
    values = {name: np.linspace(0, 1, steps) for name in tables.TRAINING_LOG.names()} | columns
    return pl.DataFrame(values | {"step": np.arange(1, steps + 1)}).cast(dict(tables.TRAINING_LOG))


def curve(scheme="brier-1", steps=50, attempt=1, evaluated=True, **columns) -> Curve:
    return Curve(scheme, attempt, evaluated, log(steps, **columns))


# --- Figures ---


def test_smoothing_begins_at_one_half_at_step_10():
    assert smooth([1.0] * 10) == []
    assert smooth([1.0] * 11) == [0.5]
    assert smooth([0.0] * 11 + [1.0, None, 0.0]) == pytest.approx([0.5, 0.6, 0.6, 0.48])


def test_smoothing_of_figure_10_begins_with_the_mean_of_five():
    assert smooth_from_mean([1.0, 0.0]) == [1.0, 0.5]
    assert smooth_from_mean([1.0, 0.0, 1.0, 0.0, 0.5, 1.0, None, 0.0]) == pytest.approx(
        [1.0, 0.5, 2 / 3, 0.5, 0.5, 0.6, 0.6, 0.48]
    )
    assert smooth_from_mean([None, 1.0]) == [None, 1.0]
    assert smooth_from_mean([None] * 5 + [1.0, 0.0]) == [None] * 5 + [1.0, 0.8]


def test_figure_6():
    figure = plot_training("curves", [curve(name) for name in PAPER_SCHEMES], hackable=PAPER_SCHEMES[:5])
    left, right = figure.axes
    looks = [(line.get_color(), line.get_linestyle()) for line in left.lines]
    assert len(set(looks)) == len(PAPER_SCHEMES)
    assert looks == [(line.get_color(), line.get_linestyle()) for line in right.lines]
    assert list(left.lines[0].get_xdata()) == list(range(10, 50))
    assert left.lines[0].get_ydata()[0] == right.lines[0].get_ydata()[0] == 0.5
    assert right.get_ylabel() == "Training confidence (smoothed)"


def test_figure_7_draws_the_rerun_solid_in_the_colour_of_the_first_attempt():
    curves = [
        curve(scheme, attempt=attempt, evaluated=attempt == 2) for scheme in ("log-1", "brier-1") for attempt in (1, 2)
    ]
    for axis in plot_training("attempts", curves, hackable=["log-1"]).axes:
        assert [line.get_linestyle() for line in axis.lines] == [":", "-", ":", "-"]
        colours = [to_rgba(line.get_color()) for line in axis.lines]
        assert colours[0] == colours[1] != colours[2] == colours[3]
    assert [line.get_label() for line in axis.lines[:2]] == ["Log-1, attempt 1", "Log-1, attempt 2 (evaluated)"]


def test_figures_8_and_9_show_the_loss_as_it_is():
    accuracy, loss = plot_training("loss", [curve(), curve("log-1")], hackable=["log-1"]).axes
    assert accuracy.lines[0].get_ydata()[0] == 0.5
    assert list(loss.lines[0].get_xdata()) == list(range(10, 50))
    assert list(loss.lines[0].get_ydata()) == pytest.approx(np.linspace(0, 1, 50)[10:])
    assert [line.get_linestyle() for line in loss.lines] == ["-", ":"]


def test_figure_10_counts_from_one_and_smooths_the_accuracy_alone():
    spike = np.where(np.arange(60) == 30, 100.0, 0.1)
    figure = plot_training("collapse", [curve(steps=60, gradient_norm=spike)])
    assert len(figure.axes) == len(KINDS["collapse"]) == 4
    accuracy, format_reward, loss, gradient = figure.axes
    assert [list(axis.lines[0].get_xdata()) for axis in figure.axes] == [list(range(1, 61))] * 4
    assert accuracy.lines[0].get_ydata()[4] == pytest.approx(np.linspace(0, 1, 60)[:5].mean())
    for axis in (format_reward, loss):
        assert list(axis.lines[0].get_ydata()) == pytest.approx(np.linspace(0, 1, 60))
    assert (gradient.get_yscale(), loss.get_yscale()) == ("log", "linear")


def test_short_training_is_shown_whole_and_says_so():
    shuffled = Curve("brier-1", 1, True, log(6).reverse())
    axis = plot_training("curves", [shuffled, curve("log-1", steps=30)]).axes[0]
    assert list(axis.lines[0].get_xdata()) == list(range(6))
    assert list(axis.lines[0].get_ydata()) == pytest.approx(np.linspace(0, 1, 6))
    assert "not smoothed" in axis.get_xlabel()
    assert "smoothed" not in axis.get_ylabel()


def test_figures_refuse_what_they_cannot_show():
    for curves in ([], [curve(steps=0)]):
        with pytest.raises(ValueError, match="no training step"):
            plot_training("curves", curves)


# --- Table 4 ---


def responses(*statuses: str) -> pl.DataFrame:
    rows = [{"question_id": f"q{i}", "status": status} for i, status in enumerate(statuses)]
    return pl.DataFrame(rows, schema=tables.RESPONSES)


def test_valid_responses_are_counted_with_why_the_others_are_not():
    frame = valid_responses(
        [
            ("M", "D", responses("valid", "truncated", "valid", "invalid json")),
            ("M", "E", responses("valid", "fields missing or invalid")),
        ]
    )
    assert frame.to_dicts() == [
        {
            "model": "M",
            "dataset": "D",
            "questions": 4,
            "valid": 2,
            "fields missing or invalid": 0,
            "invalid json": 1,
            "truncated": 1,
        },
        {
            "model": "M",
            "dataset": "E",
            "questions": 2,
            "valid": 1,
            "fields missing or invalid": 1,
            "invalid json": 0,
            "truncated": 0,
        },
    ]
    assert "| M | D | 2 | 4 | 0 | 1 | 1 |" in markdown([valid_responses_table(frame)])


def test_all_responses_may_be_valid():
    table = valid_responses_table(valid_responses([("M", "D", responses("valid"))]))
    assert [cell.text for cell in table.rows[0]] == ["M", "D", "1", "1"]
    assert table.note == ""


# --- Tables 5 and 6: as the rule gives them, from config/paper.yaml, against the print ---


@pytest.fixture(scope="module")
def config() -> Config:
    return load(ROOT / "config" / "paper.yaml")


def printed(name: str, schema: pl.Schema) -> pl.DataFrame:
    table = pl.read_csv(ROOT / "resources" / "paper_tables" / f"{name}.csv", infer_schema=False)
    return table.select(schema.names()).cast(dict(schema))


def test_table_5_is_as_printed(config):
    rows = [
        (
            config.models[run.model].label,
            config.datasets[run.dataset].label,
            run.rl.steps,
            run.rl.learning_rate,
            run.max_tokens,
        )
        for run in config.runs
        if run.evaluation  # the Llamas of I.2 are not in it
    ]
    frame = pl.DataFrame(rows, HYPERPARAMETERS, orient="row")
    assert frame.equals(printed("confidence_rl_hyperparameters", HYPERPARAMETERS))
    text = latex([hyperparameters_table(frame)])
    assert r"Qwen 2.5 (3B) Instruct & BigMath & 500 & $10^{-5}$ & 2048 \\" in text
    assert r"Qwen 3 (4B) & DeepMath-103K & 150 & $2 \times 10^{-5}$ & 8192 \\" in text
    assert "| Gemma 4 (E2B) Instruct | HotpotQA-Modified | 60 | 1e-4 | 4096 |" in markdown(
        [hyperparameters_table(frame)]
    )


def test_table_6_is_as_printed(config):
    evaluated = dict.fromkeys(run.model for run in config.runs if run.evaluation)
    models = pl.DataFrame(
        [{"model": config.models[name].label, **config.models[name].sampling.model_dump()} for name in evaluated],
        SAMPLING,
    )
    all_rows = printed("confidence_sampling", SAMPLING)
    assert models.equals(all_rows.head(3))  # below are the judges
    table = sampling_table(models, all_rows.tail(2))
    assert [None if row is None else [cell.text for cell in row] for row in table.rows] == [
        ["Qwen 2.5 (3B) Instruct", "1", "1", "All"],
        ["Qwen 3 (4B)", "0.7", "0.8", "20"],
        ["Gemma 4 (E2B) Instruct", "1", "0.95", "64"],
        None,
        ["GPT-OSS-20B", "1", "1", "All"],
        ["Qwen 3 (30B-A3B) FP8", "0.6", "0.95", "20"],
    ]
    assert None not in sampling_table(models, all_rows.clear()).rows


# --- What the watchers found ---

STEADY = {"accuracy": 0.5, "accuracy_easy": 0.5, "accuracy_medium": 0.5, "accuracy_hard": 0.5, "format_rate": 0.97}


def trained(attempt: int, invalid: float | None, **columns) -> Trained:
    metrics = None if invalid is None else {"difficulties": {"all": {"invalid_format_rate": {"value": invalid}}}}
    return Trained("M", "D", "log-1/ln202", attempt, invalid is not None, log(40, **(STEADY | columns)), metrics)


def test_flags_have_a_row_for_every_finding_and_for_every_attempt_without_one():
    frame = training_flags([trained(1, None, scheme_reward=0.1, format_reward=0.1), trained(2, 0.6), trained(3, 0.1)])
    assert frame.select("attempt", "evaluated", "finding", "step").rows() == [
        (1, False, "constant reward", 20),
        (2, True, "format lost at evaluation", None),
        (3, True, None, None),
    ]
    text = markdown([training_flags_table(frame, sentences=True)])
    assert (
        "| M | D | Log-1/ln 202 | 1 | constant reward | 20 | the reward (scheme's 0.1, format's 0.1) is the same"
        in text
    )
    assert "| 2 (evaluated) | format lost at evaluation | - |" in text
    assert "1 of 3 attempts have no finding." in text
    page = latex([training_flags_table(frame, sentences=False)])
    assert r"Log-$\frac{1}{\ln 202}$ & 1 & constant reward & 20 \\" in page


# --- The scripts ---


def run(script: str, *arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, "-W", "error", ROOT / "scripts" / f"{script}.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_scripts_of_tables_and_figures(tmp_path):
    tables.write(log(40, **STEADY), tmp_path / "log.parquet", tables.TRAINING_LOG)
    tables.write(responses("valid", "truncated"), tmp_path / "responses.parquet", tables.RESPONSES)
    metrics = dict.fromkeys(("model", "dataset", "scheme"), "x")
    metrics["difficulties"] = {"all": {"invalid_format_rate": {"value": 0.9}}}
    tables.write_json(metrics, tmp_path / "metrics.json")
    attempt = {"scheme": "brier-1", "attempt": 1, "evaluated": True}
    model = {"model": "M", "temperature": 0.7, "top_p": 0.8, "top_k": 20}
    jobs = {
        "sft_valid_responses": ([{"model": "M", "dataset": "D"}], ["--files", tmp_path / "responses.parquet"]),
        "rl_hyperparameters": (
            [{"model": "M", "dataset": "D", "steps": 500, "learning_rate": 1e-5, "max_tokens": 2048}],
            [],
        ),
        "sampling_parameters": ({"models": [model], "judges": [model | {"top_k": None}]}, []),
        "training_flags": (
            [{"model": "M", "dataset": "D", "measured": True, **attempt}],
            ["--files", tmp_path / "log.parquet", "--metrics", tmp_path / "metrics.json"],
        ),
    }
    for kind, (given, files) in jobs.items():
        outputs = [tmp_path / f"{kind}.{ending}" for ending in ("csv", "md", "tex")]
        places = ("--csv", outputs[0], "--markdown", outputs[1], "--latex", outputs[2])
        done = run("tabulate_training", "--kind", kind, "--given", json.dumps(given), *files, *places)
        assert (done.returncode, done.stderr) == (0, "")
        assert all("M" in path.read_text() for path in outputs)
    assert pl.read_csv(tmp_path / "sampling_parameters.csv")["top_k"].to_list() == [20, None]
    flags = pl.read_csv(tmp_path / "training_flags.csv")
    assert flags["finding"].to_list() == ["format lost at evaluation"]
    for kind in KINDS:
        figure = ("--svg", tmp_path / f"{kind}.svg", "--png", tmp_path / f"{kind}.png")
        logs = ("--logs", tmp_path / "log.parquet", "--runs", json.dumps([attempt]))
        done = run("plot_training", "--kind", kind, *logs, *figure)
        assert (done.returncode, done.stderr) == (0, "")
        assert all((tmp_path / f"{kind}.{ending}").stat().st_size for ending in ("svg", "png"))


@pytest.mark.parametrize(("logs", "runs"), [(["absent.parquet"], 1), (["a", "b"], 1)])
def test_a_script_that_fails_says_why_in_one_line_and_leaves_nothing(tmp_path, logs, runs):
    given = json.dumps([{"scheme": "brier-1", "attempt": 1, "evaluated": True}] * runs)
    figure = ("--svg", tmp_path / "c.svg", "--png", tmp_path / "c.png")
    done = run("plot_training", "--kind", "curves", "--logs", *logs, "--runs", given, *figure)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("plot_training: ")
    assert not list(tmp_path.iterdir())
