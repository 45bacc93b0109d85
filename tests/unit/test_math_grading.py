"""Mathematical answers: verdicts by hand and by math-verify itself, and workers that hang, die or are killed."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from candor.grading import math
from candor.grading.graders import Verdict, open_grader

needs_math_verify = pytest.mark.usefixtures("math_verify")
HANGS = "10^{10^{10}}"
"""sympy computes this power in one step of C, which no Python timeout can interrupt."""


@pytest.fixture(scope="module")
def math_verify():
    return pytest.importorskip("math_verify", reason="math-verify is of the model environment")


@pytest.fixture(scope="module")
def workers(math_verify):
    with math.Workers(2, limit=5) as pool:
        yield pool


def by_math_verify(answer, gold):
    """Compare in this process, as `math_worker` documents it, with math-verify's own calls."""
    from math_verify import LatexExtractionConfig, parse, verify

    latex = [LatexExtractionConfig()]
    golds = parse(f"${gold.strip()}$", latex)
    wrapped = parse(answer if answer.startswith("$") else f"${answer.strip()}$", latex)
    return verify(golds, wrapped, float_rounding=2) or verify(golds, parse(answer), float_rounding=2)


# Settled without parsing


@pytest.mark.parametrize(
    ("answer", "gold", "outcome"),
    [
        ("12", "12", "right"),
        (" 12\n", "12", "right"),
        ("007", "7", "right"),
        ("-0", "0", "right"),
        ("12", "-12", "wrong"),
        ("12", "12.5", "wrong"),
        ("12.51", "12.5", None),  # closer than rounding can tell
        ("12.5", "12.50", "right"),
        ("12.0", "12", "right"),
        (r"\frac{1}{2}", r"\frac{1}{2}", "right"),
        (r"\frac{1}{2}", r"\frac{2}{4}", None),
        ("x + 1", "x + 1", "right"),
        ("none", "none", None),  # no digit: what it is read as may be nothing
        ("$3$", "$ 3 $", "right"),
        ("$3$", "4", "wrong"),
        ("$3$ $", "3", None),
        ("$ $", "$ $", None),
        ("1,000", "1000", None),
        ("1e3", "1000", None),
        ("1" * 10, "1" * 9, None),
        ("", "", None),
    ],
)
def test_what_is_settled_without_parsing(answer, gold, outcome):
    assert math.settle(answer, gold) == outcome


def number(draw):
    digits = "".join(draw.choice("0123456789") for _ in range(draw.randint(1, draw.choice((2, 6, 12)))))
    fraction = "." + "".join(draw.choice("0123456789") for _ in range(draw.randint(1, 4)))
    return draw.choice(("", "-")) + digits + draw.choice(("", "", fraction))


def formula(draw):
    atoms = [
        "x",
        "y",
        "12",
        "0",
        "3.50",
        r"\pi",
        r"\frac{1}{2}",
        r"\sqrt{2}",
        "(1, 2)",
        "[0, 3)",
        r"\{1, 2\}",
        r"1/0",
        "n!",
    ]
    joined = [draw.choice(atoms) for _ in range(draw.randint(1, 4))]
    return draw.choice(("+", "=", " ", "^", ", ", "-", " < ", r"\cdot ", r"\\")).join(joined)


@needs_math_verify
@pytest.mark.parametrize("seed", range(4))
def test_what_is_settled_is_what_math_verify_says(seed):
    draw = random.Random(seed)
    settled = 0
    for _ in range(150):
        gold = number(draw)
        near = str(round(float(gold) + draw.choice((0, 0.01, 0.02, 1)), 4))
        answer = draw.choice((gold, number(draw), "0" + gold, gold + "0" if "." in gold else gold + ".00", near))
        if draw.random() < 0.3:
            gold = answer = formula(draw)
        answer = draw.choice((answer, f"${answer}$"))
        if outcome := math.settle(answer, gold):
            settled += 1
            assert (outcome == "right") == by_math_verify(answer, gold), (answer, gold)
    assert settled > 80


# By hand


@needs_math_verify
@pytest.mark.parametrize(
    ("answer", "gold", "outcome"),
    [
        # numbers
        (r"\frac{1}{2}", "0.5", "right"),
        (r"\dfrac12", "1/2", "right"),
        ("2/4", r"\frac{1}{2}", "right"),
        ("0.33", r"\frac{1}{3}", "right"),  # two decimals
        ("0.34", r"\frac{1}{3}", "wrong"),
        ("25.324", "25.32", "right"),
        ("25.326", "25.32", "wrong"),
        ("1,446", "1446", "right"),
        (r"2\sqrt{2}", r"\sqrt{8}", "right"),
        ("3.14", r"\pi", "right"),
        (r"10\%", "10", "right"),
        ("12.0", "12", "right"),
        # around the number
        ("$12$", "12", "right"),
        (r"\(12\)", "12", "right"),
        (r"\boxed{12}", "12", "right"),
        (r"\text{12}", "12", "right"),
        ("x = 12", "12", "right"),
        ("The answer is 12.", "12", "right"),
        ("12 apples", "12", "right"),
        # sets, intervals, tuples, formulas
        ("2, 1", r"\{1,2\}", "right"),
        (r"\{1,2,3\}", r"\{1,2\}", "wrong"),
        ("(1,2)", "(1, 2)", "right"),
        ("(2,1)", "(1, 2)", "wrong"),
        ("[1,2)", "[1, 2)", "right"),
        ("(1,2)", "[1, 2)", "wrong"),
        ("1+x^2", "x^2+1", "right"),
        ("(x+1)^2", "x^2+2x+1", "right"),
        ("x > 2", r"(2, \infty)", "wrong"),  # math-verify turns a gold into an interval, not an answer
        (r"(2, \infty)", "x > 2", "right"),
        (r"\begin{pmatrix}1&2\end{pmatrix}", r"\begin{bmatrix}1&2\end{bmatrix}", "right"),
        # text
        (r"\text{even}", "even", "right"),
        ("odd", r"\text{even}", "wrong"),
        ("five", "5", "wrong"),
        # no mathematics
        ("?", "3", "unparsable"),
        ("", "3", "unparsable"),
        ("\0", "3", "unparsable"),
        ("\ud800 中", "3", "unparsable"),
        (r"\begin{cases}", "3", "unparsable"),
        (None, "3", "wrong"),
        # nothing can be said of the answer
        ("3", r"\frac{", "error"),
        ("3", "*", "error"),
        # equal, though it takes for ever to compute
        (HANGS, HANGS, "right"),
    ],
)
def test_by_hand(workers, answer, gold, outcome):
    assert workers.compare([answer], [gold]) == [outcome]


def variants(gold, draw):
    """Right, reformatted and wrong answers to a plain number."""
    value = float(gold)
    wrong = str(value + draw.choice((1, -2, 0.5))).removesuffix(".0")
    return [
        gold,
        f"${gold}$",
        rf"\boxed{{{gold}}}",
        rf"\frac{{{2 * value:.10g}}}{{2}}",
        f"{gold} units",
        f"x = {gold}",
        wrong,
        rf"\text{{{wrong}}}",
        rf"\sqrt{{{wrong.removeprefix('-')}}}",
    ]


def test_real_golds_get_the_verdicts_of_math_verify_itself(workers, data_folder):
    lines = (data_folder / "bigmath" / "big-math-digits_test_1000.jsonl").read_text(encoding="utf-8").splitlines()
    draw = random.Random(3)
    golds = [json.loads(line)["answer"] for line in draw.sample(lines, 120)]
    pairs = [(answer, gold) for gold in golds for answer in variants(gold.strip(), draw)]
    outcomes = workers.compare(*zip(*pairs, strict=True))
    assert [outcome == "right" for outcome in outcomes] == [by_math_verify(*pair) for pair in pairs]
    assert outcomes.count("right") > 600
    assert outcomes.count("wrong") > 300
    assert set(outcomes) == {"right", "wrong"}


# Workers that hang, die or are killed


@needs_math_verify
def test_what_hangs_is_ended_and_nothing_else_changes():
    answers = [rf"\frac{{{2 * i}}}{{2}}" for i in range(120)]
    golds = [str(i + (i % 3 == 0)) for i in range(120)]
    expected = ["wrong" if i % 3 == 0 else "right" for i in range(120)]
    for i in (0, 1, 50, 119):
        answers[i], golds[i], expected[i] = HANGS + f"+{i}", "7", "timeout"
    with math.Workers(2, limit=1.5) as pool:
        assert pool.compare(answers, golds) == expected


@needs_math_verify
def test_a_worker_that_the_system_kills_costs_at_most_its_own_comparison(workers):
    def kill_children():
        for worker in workers._workers:
            keeper = worker._process.pid
            for child in Path(f"/proc/{keeper}/task/{keeper}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)

    for _ in range(2):  # idle: nothing is lost
        kill_children()
        assert workers.compare(["2/1", "4/2", "6/2"], ["2", "2", "2"]) == ["right", "right", "wrong"]
    for worker in workers._workers:  # and the processes that keep them
        worker._process.kill()
    assert workers.compare(["2/1", "4/2", "6/2"], ["2", "2", "2"]) == ["right", "right", "wrong"]


@needs_math_verify
@pytest.mark.parametrize("fault", ["os.kill(os.getpid(), 9)", "time.sleep(len(b'x' * 500 * 2**20))", "1 / 0"])
def test_what_kills_its_worker_is_an_error(tmp_path, fault):
    # The worker itself, but that one answer makes it crash, or take more memory than it may.
    source = Path(math.math_worker.__file__).read_text(encoding="utf-8")
    for line, changed in (
        ("MEMORY = 2 * 2**30\n", "MEMORY = 300 * 2**20\n"),
        ("    latex = [LatexExtractionConfig()]\n", f"    if answer == 'fault':\n        {fault}\n"),
    ):
        assert line in source
        source = source.replace(line, (line if "latex" in line else "") + changed)
    script = tmp_path / "worker.py"
    script.write_text(source, encoding="utf-8")
    command = [sys.executable, "-P", script, "30"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        said = [process.stdout.readline()]
        for job in (b'["1", "2/2"]\n', b'["1", "fault"]\n', b'["1", "3/3"]\n'):
            process.stdin.write(job)
            process.stdin.flush()
            said.append(process.stdout.readline())
        assert said == [b"ready\n", b"right\n", b"error\n", b"right\n"]
        process.stdin.close()
        assert process.wait() == 0


@needs_math_verify
def test_no_process_is_left():
    pool = math.Workers(2)
    processes = [worker._process for worker in pool._workers]
    with pool:
        assert pool.compare(["1"], ["2"]) == ["wrong"]
    assert all(process.poll() is not None for process in processes)


def test_without_math_verify_the_error_names_the_remedy(monkeypatch, tmp_path):
    (tmp_path / "math_verify.py").write_text("raise ImportError('not there')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=r"cannot be graded \(not there\); math-verify is in the model environment"):
        math.Workers(1)


# Graders


@needs_math_verify
def test_a_grader_gives_verdicts():
    with open_grader("math", workers=1) as grade:
        verdicts = grade(["1/2", "3", "?", None, "4"], ["0.5", "2", "2", "2", "*"])
    assert verdicts == [
        Verdict("right", 1.0),
        Verdict("wrong", 0.0),
        Verdict("unparsable", 0.0),
        Verdict("wrong", 0.0),
        Verdict("error", None),
    ]
    assert [verdict.correct for verdict in verdicts] == [True, False, False, False, None]
    with open_grader("math", workers=1) as grade, pytest.raises(ValueError, match="shorter"):
        grade(["1"], [])


def test_a_grader_of_text_keeps_its_score():
    with open_grader("rouge-1") as grade:
        assert grade(["the big cat", None], ["the cat", "x"]) == [Verdict("right", 0.8), Verdict("wrong", 0.0)]
    with open_grader("other") as grade, pytest.raises(ValueError, match="no grader of text is called 'other'"):
        grade([], [])


@pytest.mark.parametrize("outcome", math.OUTCOMES)
def test_only_what_says_something_of_the_answer_is_right_or_wrong(outcome):
    expected = {"right": True, "timeout": None, "error": None}
    assert Verdict(outcome, None).correct is expected.get(outcome, False)
