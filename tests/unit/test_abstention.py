"""Rates of abstention, the agreement of judges, and their tables; the paper's printed rates go through the same builders."""

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from candor.confidence.abstention import agreement, measure
from candor.report.abstention_tables import (
    ABSTENTION_RATES,
    JUDGE_AGREEMENT,
    abstention_rates,
    abstention_tables,
    accuracy_and_abstention,
    accuracy_and_abstention_table,
    judge_agreement_table,
)
from candor.report.layout import latex, markdown
from candor.tables import JUDGEMENTS, write, write_json
from candor.vocabulary import PAPER_SCHEMES

ROOT = Path(__file__).parents[2]
PAPER = ROOT / "resources" / "paper_tables"


def judgements(*rows, **more) -> pl.DataFrame:
    """Make judgements of (question, sample, difficulty, label)."""
    empty = dict.fromkeys(JUDGEMENTS)
    keys = ("question_id", "sample", "difficulty", "label")
    return pl.DataFrame([empty | dict(zip(keys, row, strict=True)) for row in rows], JUDGEMENTS).with_columns(
        pl.lit(value).alias(name) for name, value in more.items()
    )


SMALL = judgements(
    ("a", 0, "easy", "answer"),
    ("a", 1, "easy", "unanswerable"),
    ("b", 0, "hard", "unanswerable"),
    ("b", 1, "hard", "abstain"),
    ("c", 0, "hard", "format-error"),
    ("c", 1, "hard", "missing"),
    ("d", 0, "hard", "too-long"),
    ("d", 1, "hard", "answer"),
)


def test_rates_are_shares_of_all_samples():
    found = measure(SMALL, seed=1, name="x", resamples=50)
    assert list(found) == ["all", "easy", "hard"]
    values = {name: [found[name][rate]["value"] for rate in ("unanswerable", "other", "total")] for name in found}
    assert values == {"all": [2 / 8, 1 / 8, 3 / 8], "easy": [1 / 2, 0, 1 / 2], "hard": [1 / 6, 1 / 6, 2 / 6]}
    counts = ("format_errors", "not_judged", "n_questions", "n_samples")
    assert [found["all"][name] for name in counts] == [1, 2, 4, 8]
    assert [found["hard"][name] for name in counts] == [1, 2, 3, 6]


def test_intervals_are_over_questions():
    """Two questions, each of one kind alone: a resample has rate 0, 1/2 or 1, whatever the number of samples."""
    rows = [(q, s, "easy", label) for q, label in (("a", "abstain"), ("b", "answer")) for s in range(16)]
    found = measure(judgements(*rows), seed=1, name="x", resamples=400)["all"]
    assert found["total"] == {"value": 0.5, "low": 0.0, "high": 1.0}
    certain = measure(judgements(*((q, s, "easy", "abstain") for q in "ab" for s in (0, 1))), seed=1, name="x")["all"]
    assert certain["other"] == {"value": 1.0, "low": 1.0, "high": 1.0}


def test_order_of_the_rows_does_not_matter():
    assert measure(SMALL.reverse(), seed=1, name="x", resamples=50) == measure(SMALL, seed=1, name="x", resamples=50)


def test_one_difficulty_is_all_alone():
    assert list(measure(judgements(("a", 0, "hard", "answer")), seed=1, name="x", resamples=5)) == ["all"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no judgement"),
        ([("a", 0, "easy", "answer")] * 2, "question 'a', sample 0 is judged twice"),
        (
            [("a", 0, "easy", "yes")],
            "label is 'yes'; valid: unanswerable, abstain, answer, format-error, missing, too-long",
        ),
        ([("a", 0, "simple", "answer")], "difficulty is 'simple'; valid: easy, medium, hard"),
    ],
)
def test_wrong_judgements_are_refused(rows, message):
    with pytest.raises(ValueError, match=message):
        measure(judgements(*rows), seed=1, name="x", resamples=5)


def test_kappa_of_a_small_case_by_hand():
    """Of ten answers the judges agree on 4 + 2 + 1 = 7. One says 5, 3 and 2 times the three labels, the other 5, 4 and 1
    times, so chance agrees on 0.5 x 0.5 + 0.3 x 0.4 + 0.2 x 0.1 = 0.39: kappa is (0.7 - 0.39) / (1 - 0.39)."""
    pairs = [("answer", "answer")] * 4 + [("answer", "abstain")]
    pairs += [("abstain", "abstain")] * 2 + [("abstain", "answer")]
    pairs += [("unanswerable", "unanswerable"), ("unanswerable", "abstain")]
    # An answer that one of them did not judge is left out, and so is one that both did not.
    pairs += [("format-error", "answer"), ("missing", "missing")]
    left, right = (
        judgements(
            *((f"q{i}", 0, "easy" if i % 2 else "hard", pair[side]) for i, pair in enumerate(pairs)), variant="v"
        )
        for side in (0, 1)
    )
    found = agreement(left, right.reverse())
    assert list(found) == ["all", "easy", "hard"]
    assert found["all"]["n"] == 10
    assert found["all"]["observed"] == pytest.approx(0.7)
    assert found["all"]["kappa"] == pytest.approx((0.7 - 0.39) / (1 - 0.39))
    assert found["easy"]["n"] + found["hard"]["n"] == 10


def test_kappa_is_empty_where_it_is_not_defined_and_may_be_below_0():
    same = judgements(("a", 0, "easy", "answer"), ("b", 0, "easy", "answer"), variant="v")
    assert agreement(same, same) == {"all": {"observed": 1.0, "kappa": None, "n": 2}}
    unread = judgements(("a", 0, "easy", "missing"), ("b", 0, "easy", "missing"), variant="v")
    assert agreement(unread, same) == {"all": {"observed": None, "kappa": None, "n": 0}}
    crossed = [
        judgements(("a", 0, "easy", x), ("b", 0, "easy", y), variant="v")
        for x, y in (("answer", "abstain"), ("abstain", "answer"))
    ]
    assert agreement(*crossed)["all"]["kappa"] == pytest.approx(-1)


def test_judges_of_different_answers_are_not_compared():
    one, other = (judgements((q, 0, "easy", "answer"), variant="v") for q in "ab")
    with pytest.raises(ValueError, match="judged 1 and 1 answers, of which 0 are the same"):
        agreement(one, other)


# --- Tables ---


def record(scheme, rates=SMALL, model="M", judge="J"):
    return {
        "model": model,
        "dataset": "D",
        "judge": judge,
        "scheme": scheme,
        "difficulties": measure(rates, seed=1, name="x", resamples=20),
    }


def test_the_frame_has_the_papers_columns_first():
    frame = abstention_rates([record("base-json"), record("brier-1"), record("brier-1", judge="K")])
    printed = pl.read_csv(PAPER / "abstention_rates.csv")
    assert frame.columns[:8] == printed.columns[1:]
    assert frame.schema == ABSTENTION_RATES
    assert frame.select("judge", "difficulty", "scheme").rows() == [
        *[("J", difficulty, scheme) for difficulty in ("all", "easy", "hard") for scheme in ("base-json", "brier-1")],
        *[("K", difficulty, "brier-1") for difficulty in ("all", "easy", "hard")],
    ]
    first = frame.row(0, named=True)
    assert (first["format_error_rate"], first["not_judged_rate"], first["n_questions"]) == (1 / 8, 2 / 8, 4)
    with pytest.raises(ValueError, match="J judges brier-1 twice"):
        abstention_rates([record("brier-1"), record("brier-1")])


def test_a_table_for_each_run_and_judge_with_a_note():
    [table] = abstention_tables(abstention_rates([record("base-json"), record("log-1/ln202")]))
    assert markdown([table]).splitlines() == [
        "### M on D: abstention, judged by J",
        "",
        "| Model/Reward Scheme | Easy: Unans. | Easy: Other | Easy: Total | Hard: Unans. | Hard: Other | Hard: Total "
        "| Overall: Unans. | Overall: Other | Overall: Total |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
        "| Base (JSON) | 0.5000 | 0.0000 | 0.5000 | 0.1667 | 0.1667 | 0.3333 | 0.2500 | 0.1250 | 0.3750 |",
        "| Log-1/ln 202 | 0.5000 | 0.0000 | 0.5000 | 0.1667 | 0.1667 | 0.3333 | 0.2500 | 0.1250 | 0.3750 |",
        "",
        "4 questions; at most, of a row's samples: format error 12.50%, not judged 25.00%.",
    ]
    assert r"\multicolumn{3}{c}{Easy} & \multicolumn{3}{c}{Hard} & \multicolumn{3}{c}{Overall}" in latex([table])
    assert table.rows[1] is None  # a line below the baselines


@pytest.fixture(scope="module")
def printed() -> pl.DataFrame:
    return pl.read_csv(PAPER / "abstention_rates.csv")


def test_unanswerable_and_other_make_the_total_on_every_printed_row(printed):
    assert printed.height == 6 * 14 * 4
    gap = (printed["unanswerable"] + printed["other"] - printed["total"]).abs()
    assert gap.max() <= 1.5e-4 + 1e-9  # three figures, each rounded to 4 digits


def test_printed_rates_come_out_as_they_are_printed(printed):
    tables = abstention_tables(printed)
    assert [table.title for table in tables] == [
        f"{model} on {dataset}: abstention, judged by {judge}"
        for model, dataset in (
            ("Qwen 3 (4B)", "HotpotQA-Modified"),
            ("Qwen 3 (4B)", "DeepMath-103K"),
            ("Gemma 4 (E2B) Instruct", "HotpotQA-Modified"),
        )
        for judge in ("GPT-OSS-20B", "Qwen 3 (30B-A3B) FP8")
    ]
    first = tables[0]
    assert [cell.latex for cell in first.heads[1:]] == ["Unans.", "Other", "Total"] * 4
    assert first.groups == [("", 1), ("Easy", 3), ("Medium", 3), ("Hard", 3), ("Overall", 3)]
    # The first two rows of the paper's table 28, and the last of table 37
    rows = [[cell.text for cell in row] for row in first.rows if row is not None]
    base = "0.0066 0.0012 0.0077 0.1109 0.0130 0.1239 0.2474 0.0188 0.2661 0.1219 0.0110 0.1329"
    log_loss = "0.8399 0.1085 0.9484 0.8449 0.1074 0.9522 0.8455 0.1091 0.9546 0.8434 0.1083 0.9518"
    assert rows[:2] == [["Base (JSON)", *base.split()], ["Log Loss", *log_loss.split()]]
    hybrid = "0.0073 0.0034 0.0106 0.1077 0.0237 0.1314 0.2110 0.0407 0.2517 0.1088 0.0226 0.1314"
    assert [cell.text for cell in tables[-1].rows[-1]] == ["Brier-log Hybrid", *hybrid.split()]
    assert all(table.note == "" for table in tables)


def test_table_39_comes_out_of_the_printed_rates_and_accuracies(printed):
    """It has figures of tables 21 to 23, 28 and 33 to 36 again, in three groups."""
    ends = [
        pl.lit(None, pl.Float64).alias(f"{name}_{end}") for name in ("accuracy", "total") for end in ("low", "high")
    ]
    accuracy = pl.read_csv(PAPER / "confidence_metrics.csv").with_columns(ends[:2])
    rates = printed.filter(dataset="HotpotQA-Modified", judge="GPT-OSS-20B").with_columns(ends[2:])
    table = accuracy_and_abstention_table(accuracy_and_abstention(accuracy, rates))
    assert table.title == "Accuracy and abstention on HotpotQA-Modified, judged by GPT-OSS-20B"
    assert table.groups == [
        ("", 1),
        ("Qwen 3 (4B): accuracy", 3),
        ("Qwen 3 (4B): abstention", 3),
        ("Gemma 4 (E2B) Instruct: accuracy", 3),
        ("Gemma 4 (E2B) Instruct: abstention", 3),
    ]
    texts = [None if row is None else [cell.text for cell in row] for row in table.rows]
    assert texts[:3] == [
        [
            "Base (JSON)",
            "0.5394",
            "0.2905",
            "0.1137",
            "0.0077",
            "0.1239",
            "0.2661",
            "0.5491",
            "0.2603",
            "0.0929",
            "0.0156",
            "0.2319",
            "0.4169",
        ],
        None,
        [
            "Log Loss",
            "0.0018",
            "0.0000",
            "0.0001",
            "0.9484",
            "0.9522",
            "0.9546",
            "0.0000",
            "0.0000",
            "0.0000",
            "0.9742",
            "0.9782",
            "0.9767",
        ],
    ]
    assert texts[-1] == (
        [
            "Brier-log Hybrid",
            "0.6594",
            "0.3907",
            "0.1813",
            "0.0080",
            "0.1246",
            "0.2603",
            "0.6527",
            "0.3892",
            "0.1782",
            "0.0134",
            "0.1410",
            "0.2639",
        ]
    )
    assert [index for index, row in enumerate(texts) if row is None] == [
        1,
        7,
    ]  # base; the five that can be hacked; R_spec
    assert len(texts) == len(PAPER_SCHEMES) + 3


def test_schemes_are_grouped_whatever_their_order():
    row = {"model": "M", "dataset": "D", "judge": "J", "difficulty": "all", "accuracy": 0.5, "total": None}
    schemes = ("overconfidence-20", "mine", "sft-xml", "correctness-only", "brier-3", "brier-1")
    table = accuracy_and_abstention_table(pl.DataFrame([row | {"scheme": scheme} for scheme in schemes]))
    names = [row and row[0].text for row in table.rows]
    assert names == ["SFT (XML)", None, "mine", "Brier-3", None, "Overconfidence-20", "Correctness-only", "Brier-1"]
    assert [cell.text for cell in table.rows[0][1:]] == ["0.5000", "-"]


def test_agreement_is_laid_out_with_a_line_between_pairs():
    rows = [
        ("M", "D", "J", "K", "all", 0.7, 0.5, 10),
        ("M", "D", "J", "K", "hard", 1.0, None, 4),
        ("N", "D", "J", "K", "all", 1, 1, 2),
    ]
    table = judge_agreement_table(pl.DataFrame(rows, JUDGE_AGREEMENT, orient="row", strict=False))
    texts = [row and [cell.text for cell in row] for row in table.rows]
    assert texts == [
        ["M on D: J and K", "Overall", "0.7000", "0.5000", "10"],
        ["M on D: J and K", "Hard", "1.0000", "-", "4"],
        None,
        ["N on D: J and K", "Overall", "1.0000", "1.0000", "2"],
    ]


def script(name, *arguments):
    result = subprocess.run(
        [sys.executable, ROOT / "scripts" / f"{name}.py", *map(str, arguments)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def outputs(folder, name):
    return [part for kind in ("csv", "markdown", "latex") for part in (f"--{kind}", folder / f"{name}.{kind}")]


def test_scripts_go_from_judgements_to_tables(tmp_path):
    for judge, labels in (("j", SMALL), ("k", SMALL.with_columns(label=pl.lit("answer")))):
        for variant in ("base-json", "brier-1"):
            write(labels, tmp_path / f"{judge}_{variant}.parquet", JUDGEMENTS)
    named = {"model": "M", "dataset": "D", "judge": "J", "scheme": "brier-1", "name": "j/m/d/brier-1", "seed": 1}
    options = [part for key, value in named.items() for part in (f"--{key}", value)]
    script(
        "measure_abstention", "--judgements", tmp_path / "j_brier-1.parquet", "--output", tmp_path / "b.json", *options
    )
    measured = json.loads((tmp_path / "b.json").read_text())
    assert measured["difficulties"]["easy"]["total"]["value"] == 0.5
    assert measured["scheme"] == "brier-1"

    script("tabulate_abstention", "--abstention", tmp_path / "b.json", *outputs(tmp_path, "rates"))
    assert pl.read_csv(tmp_path / "rates.csv")["total"].to_list() == [3 / 8, 1 / 2, 1 / 3]
    assert "Brier-1" in (tmp_path / "rates.markdown").read_text()

    runs = [{"model": "M", "dataset": "D", "judges": ["J", "K"], "variants": ["base-json", "brier-1"]}]
    paths = [tmp_path / f"{judge}_{variant}.parquet" for judge in "jk" for variant in ("base-json", "brier-1")]
    script(
        "tabulate_judge_agreement", "--runs", json.dumps(runs), "--judgements", *paths, *outputs(tmp_path, "agreement")
    )
    found = pl.read_csv(tmp_path / "agreement.csv")
    assert found.select("judge", "other_judge", "difficulty", "n_judgements").rows() == [
        ("J", "K", "all", 10),
        ("J", "K", "easy", 4),
        ("J", "K", "hard", 6),
    ]
    assert found["observed_agreement"].to_list() == [0.4, 0.5, pytest.approx(1 / 3)]
    assert found["kappa"].to_list() == [0.0, 0.0, 0.0]  # the other judge says the same of every answer


def test_a_file_that_is_no_measurement_is_named(tmp_path):
    write_json({"model": "M"}, tmp_path / "bad.json")
    result = subprocess.run(
        [
            sys.executable,
            ROOT / "scripts/tabulate_abstention.py",
            "--abstention",
            tmp_path / "bad.json",
            *map(str, outputs(tmp_path, "x")),
        ],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 1
    assert "bad.json: dataset, difficulties, judge, scheme missing; delete it and rerun its rule" in result.stderr
