"""The `candor` command as a user types it, also wrongly."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from candor.cli import main
from candor.vocabulary import PAPER_SCHEMES

DEMO = Path(__file__).parents[2] / "config" / "demo.yaml"


@pytest.fixture
def candor(capsys):
    """Run a command; give its exit status and what it printed."""

    def run(*arguments):
        status = main(arguments)
        return status, *capsys.readouterr()

    return run


@pytest.fixture
def configuration(tmp_path):
    """A configuration with schemes of its own."""
    settings = yaml.safe_load(DEMO.read_text(encoding="utf-8"))
    settings["schemes"] = {"give-up": {"shift": "brier-1", "give_up_below": 0.3}}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path


def test_list(candor):
    status, out, err = candor("scheme", "list")
    assert (status, err) == (0, "")
    rows = {line.split()[0]: " ".join(line.split()) for line in out.splitlines()[1:14]}
    assert list(rows) == list(PAPER_SCHEMES)
    assert rows["log-1"] == "log-1 strictly on (0.26894, 1) 0.64842 0.64534 -"
    assert rows["log-1/ln202"].endswith("0.01337 never -")
    assert rows["log-loss"].endswith("always always -")
    assert rows["overconfidence-4"] == "overconfidence-4 strictly never never over"


def test_list_for_programs(candor, configuration):
    status, out, _ = candor("scheme", "list", "--json", "--config", str(configuration))
    found = {each["name"]: each for each in json.loads(out)}
    assert status == 0
    assert list(found) == [*PAPER_SCHEMES, "give-up"]
    assert found["give-up"]["hacking_pays_below"] == pytest.approx(0.3)
    assert found["brier-2"]["interval"] == [0.25, 1.0]


def test_show(candor):
    status, out, err = candor("scheme", "show", "brier-2")
    assert (status, err) == (0, "")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    for line in (
        "f(c), correct 1 - k (1 - c)^2",
        "k 2",
        "proper scoring strictly",
        "best effort no, only from 0.25 on",
        "non-hackable no: strictly on (0.25, 1)",
        "giving up pays below p = 0.5; with the 101 confidences below p = 0.49995",
        "E_max(c) -0.0050 -0.0800 -0.1250 0.0000 0.3750 0.7200 0.9850",
    ):
        assert line in lines
    assert "against best effort: with p = 0.2525, answer wrongly on purpose" in out
    assert "-0.0000" not in out


def test_show_what_lies_below_the_floats(candor):
    assert "best effort      no, only from exp(-1000) on" in candor("scheme", "show", "log-0.001")[1]


def test_show_formulas(candor):
    status, out, _ = candor("scheme", "show", "--correct", "c", "--wrong", "c + log(1-c)")
    assert status == 0
    assert "non-hackable     strictly" in out
    # A formula may begin with a minus, which argparse takes for an option.
    status, out, _ = candor("scheme", "show", "--correct", "1", "--wrong", "-c", "--json")
    assert status == 0
    assert json.loads(out)["non_hackable"] == "not"


def test_show_a_scheme_of_a_configuration(candor, configuration):
    status, out, _ = candor("scheme", "show", "give-up", "--config", str(configuration))
    assert status == 0
    assert "f1(c) - 0.3, f1 that of brier-1" in out
    assert "giving up pays   below p = 0.3;" in out


def test_figures(candor, tmp_path):
    for kind in ("svg", "png", "pdf"):
        file = tmp_path / f"figure.{kind}"
        status, _, err = candor("scheme", "show", "brier-2", "--figure", str(file))
        assert (status, err) == (0, f"figure: {file}\n")
        assert file.stat().st_size
    file = tmp_path / "learnt.svg"
    small = ("--steps", "5", "--questions", "30")
    assert candor("scheme", "simulate", "brier-1", *small, "--figure", str(file))[0] == 0
    assert file.stat().st_size


def test_simulate(candor):
    arguments = ("scheme", "simulate", "brier-1", "overconfidence-4", "correctness-only", "--steps", "5")
    status, out, err = candor(*arguments)
    assert (status, err) == (0, "")
    rows = [" ".join(line.split()) for line in out.splitlines()]
    assert "brier-1 +0.0000 +0.0000" in rows
    assert "overconfidence-4 -0.0100 -0.0193" in rows
    assert "correctness-only - -" in rows
    assert "honest best effort 0.000 0.000 0.168 0.501 0.834 0.500 +0.000" in rows
    status, out, _ = candor(*arguments, "--json", "--seed", "3")
    found = json.loads(out)
    assert found["settings"] == {"ratio": 40, "steps": 5, "questions": 400, "effort": 0.5, "seed": 3}
    assert found["schemes"][2]["bias_verbalisation_noise"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show",), "wants a scheme's name, or both --correct and --wrong"),
        (("show", "brier-2", "--correct", "c"), "wants a scheme's name, or both"),
        (("show", "--correct", "c"), "wants a scheme's name, or both"),
        (("show", "brier"), "no reward scheme is called 'brier'; valid: correctness-only"),
        (("show", "--correct", "c", "--wrong", "c + lug(1-c)"), "position 5: 'lug(1-c)'"),
        (("show", "--correct", "2c", "--wrong", "0"), "write 2*c for 2c"),
        (("show", "brier-1", "--config", "absent.yaml"), "absent.yaml: No such file or directory"),
        (("show", "brier-1", "--figure", "figure.jpg"), "must end in .svg, .png or .pdf"),
        (("simulate", "brier-1", "nope"), "no reward scheme is called 'nope'"),
        (("simulate", "brier-1", "--ratio", "0"), "ratio must be positive"),
        (("simulate", "brier-1", "--steps", "0"), "steps >= 1"),
        (("simulate", "brier-1", "--effort", "1"), "effort at the start must be in (0, 1), not 1.0"),
        (("show", "--correct", "1 + log(c-1)", "--wrong", "0"), "position 5: 'log(c-1)' is not real, finite"),
    ],
)
def test_what_is_not_possible_is_said_in_one_line(candor, arguments, said):
    status, out, err = candor("scheme", *arguments)
    assert (status, out) == (1, "")
    assert err.count("\n") == 1
    assert err.startswith("candor: ")
    assert said in err


def test_without_a_command_it_says_what_there_is(candor):
    assert "scheme" in candor()[1]
    assert "simulate" in candor("scheme")[1]
    with pytest.raises(SystemExit, match="2"):
        main(["scheme", "shows"])


def test_the_command_starts_without_what_it_does_not_need():
    code = "import sys; from candor.cli import main; main(['scheme', 'show', 'brier-2']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"polars", "matplotlib", "sympy", "scipy", "torch", "sklearn"}


def test_a_reader_that_stops_early_is_no_error():
    code = "from candor.cli import main; raise SystemExit(main(['scheme', 'list', '--json']))"
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)
    process.stderr.close()
