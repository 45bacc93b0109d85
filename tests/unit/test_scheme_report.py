"""Figures and tables of the reward-scheme laboratory."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from candor import tables
from candor.report.figures import save
from candor.report.scheme_figures import (
    plot_bias,
    plot_hacking,
    plot_miscalibration_penalty,
    plot_policies,
    plot_schemes,
)
from candor.report.scheme_tables import (
    SCHEME_PROPERTIES,
    read_classifications,
    read_policies,
    read_printed,
    scheme_properties,
    scheme_properties_latex,
    scheme_properties_markdown,
)
from candor.schemes import SPECTRUM, Scheme, build, classify, get
from candor.schemes.description import facts, formulas, probability, warning
from candor.schemes.simulation import Policy, midpoints
from candor.vocabulary import PAPER_SCHEMES

ROOT = Path(__file__).parents[2]
PRINTED = read_printed(ROOT / "resources" / "paper_tables" / "scheme_properties.csv")
OWN = {"give_up": {"shift": "brier-1", "give_up_below": 0.3}}


def found(*names):
    return [facts(scheme, classify(scheme)) for scheme in (build(name, OWN) for name in names)]


def test_what_the_paper_prints_and_what_is_found_agree():
    table = scheme_properties(found(*PAPER_SCHEMES), PRINTED)
    assert table.schema == SCHEME_PROPERTIES
    assert set(PRINTED.values()) == {"Strict", "Weak", "No", "Only for k <= 1"}
    means = {"Strict": {"strictly"}, "Weak": {"weakly"}, "No": {"not"}}
    for row in table.iter_rows(named=True):
        k = row["scheme"].removeprefix("brier-")
        ours = {"1": {"strictly"}, "2": {"not"}}[k] if row["paper"].startswith("Only") else means[row["paper"]]
        assert row["non_hackable"] in ours, row["scheme"]


def test_the_table_gives_the_thresholds():
    rows = {row["scheme"]: row for row in scheme_properties(found(*PAPER_SCHEMES, "give_up"), PRINTED).to_dicts()}
    assert rows["log-1"]["hacking_pays_below"] == pytest.approx(0.64842, abs=5e-6)
    assert rows["brier-2"]["non_hackable_from"] == 0.25
    assert rows["log-1/ln202"]["hacking_pays_below_on_101"] is None
    assert rows["give_up"]["paper"] is None
    assert rows["give_up"]["hacking_pays_below"] == pytest.approx(0.3)


def test_markdown_and_latex_are_whole_tables():
    table = scheme_properties(found("brier-2", "brier-1", "give_up"), PRINTED)
    notes = [warning(classify(build(name, OWN))) for name in ("brier-2", "give_up")]
    text = scheme_properties_markdown(table, notes)
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in rows}) == 1
    assert (
        "| Brier-2 | `1 - k (1 - c)^2` | `-k c^2` | Only for k <= 1 | no; strictly on (0.25, 1) | 0.5 | 0.49995 |"
        in text
    )
    assert "| give_up | `f1(c) - 0.3, f1 that of brier-1` | `g1(c), g1 that of brier-1` | - |" in text
    assert text.splitlines()[-1].startswith("- give_up can be hacked")
    assert "trained with" not in scheme_properties_markdown(table)

    text = scheme_properties_latex(table, notes)
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {row.count("&") for row in rows} == {7}
    assert text.count("{") == text.count("}")
    assert r"Only for k $\leq$ 1" in text
    assert r"give\_up" in text
    assert r"\_up can be hacked" in text


def test_what_is_constructed_is_written_as_it_was_given():
    written = {
        "dense": ({"density": "-2*c"}, "(t - 1) h(t) over t from 0 to c, h(c) = -2*c", "t h(t)"),
        "weighted": ({"weight": "2*(1 - t)"}, "w(t) over t from 0 to c, w(t) = 2*(1 - t)", "w(t) t / (t - 1)"),
    }
    for name, (definition, f, g) in written.items():
        assert formulas(build(name, {name: definition})) == (
            f"0 + integral of {f}",
            f"0 + integral of {g} over t from 0 to c",
        )


def test_warnings():
    assert warning(classify(get("brier-1"))) is None
    assert [probability(p) for p in (0.5, 1 - 1e-6, 1)] == ["0.5", "1 - 1e-06", "1"]
    note = warning(classify(get("brier-2")))
    assert "strictly non-hackable on (0.25, 1) alone; giving up pays below p = 0.5;" in note
    assert "exp(-999); with the 101 confidences never" in warning(classify(get("log-0.001")))
    improper = Scheme("improper", f=lambda c: np.ones_like(c), g=lambda c: -np.asarray(c))
    assert warning(classify(improper)).startswith("improper can be hacked everywhere: proper scoring fails")


def test_figure_1_has_a_panel_a_scheme_and_two_guide_lines():
    figure = plot_miscalibration_penalty([get(name) for name in SPECTRUM])
    panels = [axis for axis in figure.axes if axis.images]
    assert [axis.get_title() for axis in panels][3:5] == ["Overconfidence-1", "Brier-1"]
    for axis in panels:
        gaps = [set(np.round(np.subtract(line.get_ydata(), line.get_xdata()), 9)) for line in axis.lines]
        assert gaps == [{0.0}, {0.2}, {-0.2}]  # ideal, overconfident, underconfident
    brier = panels[4].images[0].get_array()
    rows, columns = np.indices(brier.shape)
    assert np.allclose(brier, ((rows - columns) / len(brier)) ** 2)  # (c - p)^2; c upwards, p to the right


def test_functions_of_schemes():
    figure = plot_schemes([get("brier-1"), get("brier-2")])
    f, g, best, h = figure.axes
    p = best.lines[0].get_xdata()
    assert np.allclose(best.lines[0].get_ydata(), p**2)
    assert np.allclose(h.lines[1].get_ydata(), -4)
    assert np.allclose(f.lines[0].get_ydata() - g.lines[0].get_ydata(), 2 * p)
    assert [line.get_linestyle() for line in f.lines] == ["-", ":"]
    alone = plot_schemes([get("brier-2")]).axes[2]
    assert alone.texts[0].get_text() == "giving up pays\nbelow 0.5"


def test_a_scheme_without_a_density_is_still_plotted():
    improper = build("improper", {"improper": {"correct": "1", "wrong": "-c"}})
    f, _, _, h = plot_schemes([improper]).axes
    assert len(f.lines) == 1
    assert not h.lines


def test_bias_leaves_out_where_there_is_none():
    axis = plot_bias([get(name) for name in SPECTRUM]).axes[0]
    assert axis.get_xticklabels()[0].get_text() == "Overconfidence-1000"
    _, softmax, noise = axis.lines
    for line in (softmax, noise):
        assert list(line.get_ydata()) == sorted(line.get_ydata())


def policy(scheme, given_up):
    """Make a policy of 40 questions that gives up on so many of the hardest and else states the truth."""
    p = midpoints(40)
    return Policy(scheme, p, (np.arange(40) >= given_up).astype(float), np.stack([0 * p, p], axis=1))


def test_policies():
    left, right = plot_policies([policy("brier-1", 0), policy("brier-2", 20)], hackable=["brier-2"]).axes
    honest, hacked = left.lines[1:]
    assert np.allclose(honest.get_ydata(), midpoints(20))
    assert np.allclose(hacked.get_ydata(), np.where(midpoints(20) < 0.5, 0, midpoints(20)))
    stated = right.lines[2].get_ydata()
    assert np.isnan(stated[:10]).all()  # it never tries there
    assert np.allclose(stated[10:], midpoints(20)[10:])
    assert hacked.get_linestyle() == ":"


def test_hacking_by_ratio():
    policies = {"brier-2": {40.0: policy("brier-2", 18), 1.0: policy("brier-2", 0)}}
    curve, theory = plot_hacking(policies, {"brier-2": 0.49995}).axes[0].lines
    assert list(curve.get_xdata()) == [1, 40]
    assert list(curve.get_ydata()) == [0, 0.45]
    assert set(theory.get_ydata()) == {0.49995}


def test_figures_refuse_what_they_cannot_show():
    for plot in (plot_miscalibration_penalty, plot_schemes, plot_bias, plot_policies):
        with pytest.raises(ValueError, match=r"no scheme|needs policies"):
            plot([])
    with pytest.raises(ValueError, match="every confidence earns the same"):
        plot_bias([get("correctness-only")])
    with pytest.raises(ValueError, match="that differ"):
        plot_policies([policy("brier-1", 0)] * 2)
    with pytest.raises(ValueError, match="no policy"):
        plot_hacking({}, {})


def test_figures_are_the_same_bytes_again(tmp_path):
    for turn in ("first", "second"):
        save(plot_miscalibration_penalty([get("brier-1")]), tmp_path / f"{turn}.svg")
        save(plot_schemes([get("brier-1")]), tmp_path / f"{turn}.pdf")
    for kind in ("svg", "pdf"):
        assert (tmp_path / f"first.{kind}").read_bytes() == (tmp_path / f"second.{kind}").read_bytes()


def script(name, *arguments):
    command = [sys.executable, "-W", "error", ROOT / "scripts" / f"{name}.py", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_scripts_from_names_to_tables_and_figures(tmp_path):
    own = json.dumps(OWN)
    classification, simulations = tmp_path / "c.json", tmp_path / "s.parquet"
    done = script("classify_schemes", "--trained", "brier-2", "give_up", "--schemes", own, "--output", classification)
    assert (done.returncode, done.stderr) == (0, "")
    assert [each["name"] for each in read_classifications(classification)] == [*PAPER_SCHEMES, "give_up"]

    out = [tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")]
    printed = ROOT / "resources" / "paper_tables" / "scheme_properties.csv"
    inputs = ("--classification", classification, "--printed", printed)
    done = script("tabulate_scheme_properties", *inputs, "--csv", out[0], "--markdown", out[1], "--latex", out[2])
    assert (done.returncode, done.stderr) == (0, "")
    table = pl.read_csv(out[0], schema=SCHEME_PROPERTIES)
    assert table.equals(scheme_properties(found(*PAPER_SCHEMES, "give_up"), PRINTED))
    assert out[1].read_text().count("can be hacked") == 2  # of those trained with, not of all

    figures = [arg for name in ("penalty", "bias", "functions") for arg in (f"--{name}", *_pair(tmp_path, name))]
    done = script("plot_schemes", "--names", "brier-2", "give_up", "--schemes", own, *figures)
    assert (done.returncode, done.stderr) == (0, "")

    learnt = policy("give_up", 12)
    columns = {"p": learnt.p, "effort": learnt.effort, "confidence_given_up": learnt.confidence[:, 0]}
    frame = pl.DataFrame(columns | {"confidence_tried": learnt.confidence[:, 1]})
    frame = frame.with_columns(scheme=pl.lit("give_up"), ratio=pl.lit(40.0))
    tables.write(frame, simulations, tables.SIMULATIONS)
    assert read_policies(simulations)["give_up"][40.0].threshold == learnt.threshold == 0.3
    figures = [arg for name in ("learnt", "hacking") for arg in (f"--{name}", *_pair(tmp_path, name))]
    inputs = ("--simulations", simulations, "--classification", classification)
    done = script("plot_simulations", *inputs, "--ratio", 40, *figures)
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("penalty", "bias", "functions", "learnt", "hacking"):
        assert all(path.stat().st_size for path in _pair(tmp_path, name))


def _pair(folder, name):
    return folder / f"{name}.svg", folder / f"{name}.png"


def test_a_classification_that_is_none_is_named(tmp_path):
    for name, text in (("absent", None), ("broken", "{"), ("partial", '[{"name": "a"}]'), ("number", "[1]")):
        if text is not None:
            (tmp_path / name).write_text(text)
        with pytest.raises(tables.TableError, match=name):
            read_classifications(tmp_path / name)
