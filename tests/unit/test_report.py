"""Tables and figures of the report."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from candor.confidence.metrics import METRICS, RATES, calibration_bins
from candor.report.figures import plot_calibration, save
from candor.report.layout import latex, markdown
from candor.report.tables import (
    CONFIDENCE_METRICS,
    confidence_metrics,
    confidence_metrics_tables,
    read_metrics,
    scheme_label,
)
from candor.tables import GRADES, TableError, write, write_json

SCRIPTS = Path(__file__).parents[2] / "scripts"


def metrics(scheme, figures, model="A_1", dataset="B", difficulties=("all",)):
    """Make the metrics of a run whose METRICS are `figures`."""
    counts = np.zeros(207, dtype=int)
    counts[[5, 101 + 90]] = 3, 20_000
    measured = {
        **{name: {"value": v, "low": v, "high": v} for name, v in zip(METRICS, figures, strict=True)},
        **{name: {"value": 0.25, "low": 0.2, "high": 0.3} for name in RATES},
        "n_questions": 10,
        "n_samples": 40,
        "calibration": calibration_bins(counts),
    }
    return {"model": model, "dataset": dataset, "scheme": scheme, "difficulties": dict.fromkeys(difficulties, measured)}


RUNS = [
    metrics("base-json", (0.5, None, 0.3, 0.2, 0.1, -0.1)),
    metrics("log-1/ln202", (0.50001, 0.7, 0.31, 0.19, 0.2, 0.05)),
    metrics("brier-1", (0.4, 0.8, 0.29, 0.30, 0.3, -0.00001)),
]


@pytest.mark.parametrize(
    ("name", "label", "latex"),
    [
        ("base-json", "Base (JSON)", None),
        ("sft-xml", "SFT (XML)", None),
        ("log-loss", "Log Loss", None),
        ("brier-score", "Brier Score", None),
        ("log-1", "Log-1", None),
        ("brier-0.5", "Brier-0.5", None),
        ("log-1/ln202", "Log-1/ln 202", r"Log-$\frac{1}{\ln 202}$"),
        ("log-1/2", "Log-1/2", r"Log-$\frac{1}{2}$"),
        ("correctness-only", "Correctness-only", None),
        ("overconfidence-1000", "Overconfidence-1000", None),
        ("brier-log-hybrid", "Brier-log Hybrid", None),
    ],
)
def test_labels(name, label, latex):
    assert scheme_label(name) == label
    assert scheme_label(name, latex=True) == (latex or label)


def test_a_scheme_of_ones_own_keeps_its_name():
    assert scheme_label("give_up-1") == "give_up-1"
    assert scheme_label("give_up-1", latex=True) == r"give\_up-1"


def test_the_frame_keeps_the_order_of_schemes_and_the_papers_order_of_difficulties():
    both = [metrics(name, (0.1,) * 6, difficulties=("hard", "easy", "all")) for name in ("log-1", "base-json")]
    frame = confidence_metrics([*both, metrics("log-1", (0.1,) * 6, model="C")])
    assert frame.schema == CONFIDENCE_METRICS
    assert frame.select("model", "difficulty", "scheme").rows() == [
        *[("A_1", difficulty, scheme) for difficulty in ("all", "easy", "hard") for scheme in ("log-1", "base-json")],
        ("C", "all", "log-1"),
    ]
    with pytest.raises(ValueError, match="log-1 is given twice"):
        confidence_metrics([both[0], both[0]])


def test_markdown():
    table = markdown(confidence_metrics_tables(confidence_metrics(RUNS)))
    assert table.startswith("### A_1 on B: test set\n")
    # What prints alike shares its place; the best bias is the nearest to 0 and prints without a sign.
    assert "| Base (JSON) | **0.5000** | - | <ins>0.3000</ins> | <ins>0.2000</ins> | **0.1000** | -0.1000 |" in table
    assert (
        "| Log-1/ln 202 | **0.5000** | <ins>0.7000</ins> | **0.3100** | **0.1900** | <ins>0.2000</ins> | <ins>0.0500</ins> |"
        in table
    )
    assert "| Brier-1 | <ins>0.4000</ins> | **0.8000** | 0.2900 | 0.3000 | 0.3000 | **0.0000** |" in table
    assert "missing confidence 25.00%" in table


def test_latex():
    table = latex(confidence_metrics_tables(confidence_metrics(RUNS)))
    assert r"\caption{A\_1 on B: test set. 10 questions;" in table
    assert r"Log-$\frac{1}{\ln 202}$ & \textbf{0.5000} & \underline{0.7000}" in table
    rows = [line for line in table.splitlines() if line.endswith(r"\\")]
    assert all(row.count("&") == 6 for row in rows)
    assert len(rows) == 4
    assert table.count("{") == table.count("}")
    assert "25.00%" not in table.replace(r"\%", "")
    assert table.count(r"\midrule") == 3  # under the heads, below baselines, and above the spectrum's schemes


def test_read_metrics_names_the_file(tmp_path):
    for name, text in (("absent", None), ("broken", "{"), ("list", "[1]"), ("partial", '{"model": "a"}')):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(TableError, match=name):
            read_metrics([tmp_path / name])


def test_calibration_plot():
    figure = plot_calibration(RUNS)
    axis = figure.axes[0]
    assert [text.get_text() for text in axis.texts] == ["3", "20k"]
    assert list(axis.lines[1].get_ydata()) == [0.0, 1.0]
    assert [a.get_title() for a in figure.axes if a.get_visible()] == ["Base (JSON)", "Log-1/ln 202", "Brier-1"]


def test_figures_refuse_what_they_cannot_show():
    with pytest.raises(ValueError, match="one model on one dataset"):
        plot_calibration([])
    with pytest.raises(ValueError, match="one model on one dataset"):
        plot_calibration([RUNS[0], metrics("log-1", (0.1,) * 6, model="C")])
    with pytest.raises(ValueError, match="'hard' was not measured"):
        plot_calibration(RUNS, difficulty="hard")


def test_figures_are_the_same_bytes_again(tmp_path):
    for turn in ("first", "second"):
        save(plot_calibration(RUNS, "title"), tmp_path / f"{turn}.svg", tmp_path / f"{turn}.png")
    for kind in ("svg", "png"):
        assert (tmp_path / f"first.{kind}").read_bytes() == (tmp_path / f"second.{kind}").read_bytes()
    assert "<dc:date>" not in (tmp_path / "first.svg").read_text()
    assert len(list(tmp_path.iterdir())) == 4


def run(script, *arguments):
    command = [sys.executable, "-W", "error", SCRIPTS / f"{script}.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_scripts_from_grades_to_tables_and_figures(tmp_path):
    n = 60
    grades = pl.DataFrame(
        {
            "question_id": [f"q{i // 2}" for i in range(n)],
            "sample": [i % 2 for i in range(n)],
            "difficulty": ["easy" if i < 30 else "hard" for i in range(n)],
            "gold": ["g"] * n,
            "answer": ["g"] * n,
            "score": [1.0] * n,
            "outcome": ["wrong" if i % 3 else "right" for i in range(n)],
            "correct": [i % 3 == 0 for i in range(n)],
            "confidence": list(range(n)),
            "well_formed": [True] * n,
            "answer_status": ["valid"] * n,
            "confidence_status": ["valid"] * n,
        },
        schema=GRADES,
    )
    write(grades, tmp_path / "grades.parquet", GRADES)
    for scheme in ("base-json", "log-1/ln202"):
        output = tmp_path / f"{scheme[:4]}.json"
        settings = (
            "--model",
            "M",
            "--dataset",
            "D",
            "--scheme",
            scheme,
            "--name",
            f"m/d/{scheme}",
            "--seed",
            1,
            "--resamples",
            20,
        )
        done = run(
            "measure_confidence", "--grades", tmp_path / "grades.parquet", "--output", output, *settings, "--level", 0.9
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(output.read_text())["scheme"] == scheme
    measured = [tmp_path / "base.json", tmp_path / "log-.json"]
    outputs = [tmp_path / "t.csv", tmp_path / "t.md", tmp_path / "t.tex"]
    done = run(
        "tabulate_confidence_metrics",
        "--metrics",
        *measured,
        "--csv",
        outputs[0],
        "--markdown",
        outputs[1],
        "--latex",
        outputs[2],
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert pl.read_csv(outputs[0], schema=CONFIDENCE_METRICS).equals(confidence_metrics(read_metrics(measured)))
    done = run(
        "plot_calibration",
        "--metrics",
        *measured,
        "--svg",
        tmp_path / "c.svg",
        "--png",
        tmp_path / "c.png",
        "--title",
        "M",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert all((tmp_path / name).stat().st_size for name in ("c.svg", "c.png"))


def test_a_script_that_fails_says_why_in_one_line_and_leaves_nothing(tmp_path):
    write_json({"model": "M"}, tmp_path / "m.json")
    done = run(
        "plot_calibration",
        "--metrics",
        tmp_path / "m.json",
        "--svg",
        tmp_path / "c.svg",
        "--png",
        tmp_path / "c.png",
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("plot_calibration")
    assert [path.name for path in tmp_path.iterdir()] == ["m.json"]
