"""Multiple-choice metrics: models whose behaviour is known, laws, and the paper's printed tables."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from candor.mcq import metrics, statistics
from candor.mcq.metrics import METRICS, agreeing_pairs, describe, measure
from candor.mcq.permutations import is_clamped, order
from candor.tables import ITEMS, MCQ_PREDICTIONS

RESOURCES = Path(__file__).parents[2] / "resources/paper_tables"


def items(options, golds):
    return pl.DataFrame(
        [
            {
                "item_id": f"q{i:03}",
                "role": "asked",
                "question": "?",
                "options": [f"option {i} {k}" for k in range(options if isinstance(options, int) else options[i])],
                "gold": gold,
                "language": "en",
                "label_reference": False,
            }
            for i, gold in enumerate(golds)
        ],
        schema=ITEMS,
    )


def predictions(asked, runs, choose, rule="answer_is"):
    """Let a model choose: `choose(options, order, gold, run)` returns the position that it takes."""
    rows = []
    for item in asked.iter_rows(named=True):
        for run in range(runs):
            shown = order(len(item["options"]), item["gold"], run)
            position = choose(item["options"], shown, item["gold"], run)
            rows.append(
                {
                    "item_id": item["item_id"],
                    "run": run,
                    "gold": item["gold"],
                    "clamped": is_clamped(len(item["options"]), run),
                    "rule": rule,
                    "extracted": "x",
                    "choice": shown[position],
                    "position": position,
                    "similarity": None,
                    "correct": shown[position] == item["gold"],
                }
            )
    return pl.DataFrame(rows, schema=MCQ_PREDICTIONS)


def measured(asked, runs, choose, **settings):
    return measure(asked, predictions(asked, runs, choose), **({"seed": 1, "name": "n", "resamples": 20} | settings))


def values(found):
    return {name: metric["value"] for name, metric in found["metrics"].items()}


BALANCED = items(4, [0, 1, 2, 3] * 5)


def test_a_model_that_always_says_a():
    found = measured(BALANCED, 5, lambda options, shown, gold, run: 0)
    assert [run["accuracy"]["value"] for run in found["runs"]] == [25, 100, 0, 0, 0]
    # Runs 0 and 2 to 4 of a gold that was first show another option first each; of another gold the same.
    assert values(found) == pytest.approx(
        {
            "acc_mean": 25,
            "acc_original": 25,
            "delta_acc": 0,
            "variance": 1500,
            "acc_min": 0,
            "acc_max": 100,
            "range": 100,
            "score": 0.55,
            "score_moved": 0.5,
            "rstd": np.std([100, 0, 0, 0]),
        }
    )
    first = measured(items(4, [0] * 5), 5, lambda options, shown, gold, run: 0)
    other = measured(items(4, [2] * 5), 5, lambda options, shown, gold, run: 0)
    assert (values(first)["score"], values(other)["score"]) == pytest.approx((0.4, 0.6))
    assert found["runs"][1]["choice_rates"] == [1, 0, 0, 0]
    assert found["recalls"] == [100, 0, 0, 0]


def test_a_perfect_model_and_one_that_never_changes_its_mind():
    perfect = values(measured(BALANCED, 5, lambda options, shown, gold, run: shown.index(gold)))
    wrong = values(measured(BALANCED, 5, lambda options, shown, gold, run: shown.index((gold + 1) % 4)))
    for found, accuracy in ((perfect, 100), (wrong, 0)):
        assert found == pytest.approx(
            dict.fromkeys(found, 0)
            | dict.fromkeys(("acc_mean", "acc_original", "acc_min", "acc_max"), accuracy)
            | {"score": 1, "score_moved": 1}
        )


@pytest.mark.parametrize(("moved", "score"), [(4, 0.6), (5, 2 / 3), (10, 9 / 11)])
def test_the_papers_worked_scores(moved, score):
    """All wrong in the original order, all right in every moved run (paper I.3; 9/11 is printed as 0.81)."""
    found = values(
        measured(items(moved, [0] * 3), moved + 1, lambda options, shown, gold, run: shown.index(gold if run else 1))
    )
    assert found["score"] == pytest.approx(score)
    assert (found["acc_original"], found["delta_acc"], found["score_moved"]) == (0, 100, 1)


def test_the_papers_variance_ratio_of_genuine_and_exploited_consistency():
    """Section 5.7: right in ten of eleven runs by a bias, or with 90% in each run; in expectation 0.99/N of N questions."""
    random = np.random.default_rng(0)
    exploited = describe(np.array([0.0] + [100.0] * 10))["variance"]
    genuine = describe(random.binomial(1000, 0.9, size=(4000, 11)) / 10)["variance"].mean()
    assert statistics.variance_ratio(genuine, exploited) == pytest.approx(0.99 / 1000, rel=0.05)
    assert values(measured(items(10, [0]), 11, lambda o, shown, gold, run: shown.index(gold if run else 1)))[
        "score"
    ] == pytest.approx(0.82, abs=0.005)


choices = st.integers(2, 6).flatmap(
    lambda runs: st.lists(st.lists(st.integers(0, 3), min_size=runs, max_size=runs), min_size=1, max_size=12)
)


@given(choices)
def test_score_is_the_share_of_pairs_that_agree(rows):
    choice = np.array(rows)
    pairs = list(combinations(range(choice.shape[1]), 2))
    assert agreeing_pairs(choice).tolist() == [sum(row[i] == row[j] for i, j in pairs) for row in rows]


@given(choices)
@settings(max_examples=40)
def test_score_is_within_0_and_1_and_1_only_where_every_question_keeps_its_option(rows):
    asked = items(4, [0] * len(rows))
    iterator = iter([each for row in rows for each in row])
    found = values(measured(asked, len(rows[0]), lambda o, shown, gold, run: shown.index(next(iterator)), resamples=2))
    assert 0 <= found["score"] <= 1
    assert (found["score"] == 1) == all(len(set(row)) == 1 for row in rows)


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_the_order_of_rows_and_the_names_of_options_change_nothing(seed):
    random = np.random.default_rng(seed)
    table = random.integers(4, size=(20, 5))
    rows = iter(table.ravel())
    made = predictions(BALANCED, 5, lambda o, shown, gold, run: int(next(rows)))
    shuffled = made.sample(fraction=1, shuffle=True, seed=seed)
    arguments = {"seed": 3, "name": "n", "resamples": 5}
    assert measure(BALANCED, made, **arguments) == measure(BALANCED.reverse(), shuffled, **arguments)


def test_intervals_hold_the_value_and_follow_seed_and_name():
    random = np.random.default_rng(0)
    made = predictions(BALANCED, 5, lambda o, shown, gold, run: int(random.integers(4)))
    first = measure(BALANCED, made, seed=1, name="a", resamples=300)
    assert first == measure(BALANCED, made, seed=1, name="a", resamples=300)
    assert first["metrics"] != measure(BALANCED, made, seed=1, name="b", resamples=300)["metrics"]
    for name in ("acc_mean", "acc_original", "score", "score_moved"):
        metric = first["metrics"][name]
        assert metric["low"] < metric["value"] < metric["high"]
    json.dumps(first, allow_nan=False)


def test_one_run_has_no_difference_between_runs():
    found = measured(BALANCED, 1, lambda options, shown, gold, run: 0)
    assert (found["metrics"]["delta_acc"]["value"], found["metrics"]["score"]["value"]) == (None, None)
    assert found["metrics"]["variance"]["value"] == 0
    json.dumps(found, allow_nan=False)


def test_questions_that_lack_a_position_are_kept_counted_and_measured_apart():
    asked = items([4, 4, 3, 5], [0, 1, 2, 3])
    found = measured(asked, 6, lambda options, shown, gold, run: min(3, len(shown) - 1))
    assert [run["n_clamped"] for run in found["runs"]] == [0, 0, 0, 0, 1, 3]
    assert found["complete"]["n_questions"] == 1
    assert found["complete"]["variance"] == describe(np.array([100.0, 0, 0, 0, 100, 0]))["variance"]
    assert found["n_questions"] == 4
    assert found["runs"][4]["chance"] == pytest.approx(100 * (1 / 4 + 1 / 4 + 1 / 3 + 1 / 5) / 4)
    short = measured(items([3, 3], [0, 1]), 5, lambda options, shown, gold, run: 0)
    assert short["complete"] == {"n_questions": 0, **dict.fromkeys(METRICS)}


def test_rates_of_rules():
    made = predictions(BALANCED, 2, lambda options, shown, gold, run: 0)
    rules = ["random"] * 4 + ["last_sentence"] * 2 + ["answer_colon"] * 2 + ["answer_is"] * 32
    found = measure(BALANCED, made.with_columns(rule=pl.Series(rules)), seed=1, name="n", resamples=2)
    assert found["rules"] == {"random": 0.1, "last_sentence": 0.05, "answer_colon": 0.05, "answer_is": 0.8}
    assert (found["invalid_rate"], found["fallback_rate"]) == pytest.approx((0.1, 0.05))
    assert [run["invalid_rate"] for run in found["runs"]] == pytest.approx([0.1, 0.1])


def test_equal_options_are_counted():
    asked = items(3, [0, 1, 2]).with_columns(options=pl.Series([["a", "b", "a "], ["a", "b", "a"], ["a", "b", "c"]]))
    found = measured(asked, 2, lambda options, shown, gold, run: 0)
    assert found["equal_options"] == {"n_items": 2, "n_gold": 1}


def test_what_cannot_be_measured_is_named():
    made = predictions(BALANCED, 3, lambda options, shown, gold, run: 0)
    arguments = {"seed": 1, "name": "n"}
    for wrong, message in (
        (made.clear(), "nothing to measure"),
        (
            made.filter(~((pl.col("item_id") == "q003") & (pl.col("run") == 1))),
            r"'q003' has predictions of runs \[0, 2\]",
        ),
        (pl.concat([made, made.head(1)]), r"'q000' has predictions of runs \[0, 0, 1, 2\]"),
        (made.with_columns(item_id=pl.col("item_id") + "x"), "'q000x' has predictions but is not among the items"),
    ):
        with pytest.raises(ValueError, match=message):
            measure(BALANCED, wrong, **arguments)
    with pytest.raises(ValueError, match="resamples must be at least 1"):
        measure(BALANCED, made, resamples=0, **arguments)


# --- Statistics -------------------------------------------------------------------------------------------------------


def test_a_zero_variance_has_no_place_in_a_mean():
    assert statistics.variance_ratio(1.0, 4.0) == 0.25
    assert statistics.variance_ratio(0.0, 4.0) == 0.0
    assert statistics.variance_ratio(1.0, 0.0) is None
    assert statistics.geometric_mean([0.25, 4.0]) == pytest.approx(1.0)
    assert statistics.geometric_mean([0.25, 4.0, 0.0, None]) == pytest.approx(1.0)
    assert statistics.geometric_mean([0.0, None]) is None


def test_statistics_that_are_undefined():
    assert statistics.wilcoxon_p([1, 2], [1, 2]) is None
    assert statistics.cohens_d([1], [2]) is None
    assert statistics.cohens_d([1, 1], [2, 2]) is None
    assert statistics.rank_correlations([1, 1], [1, 2]) == {"spearman": None, "kendall": None}
    assert statistics.rank_correlations([1, 2, 3], [3, 2, 1]) == {
        "spearman": pytest.approx(-1),
        "kendall": pytest.approx(-1),
    }


def test_cohens_d_by_hand():
    assert statistics.cohens_d([1, 3], [0, 0]) == pytest.approx(2 / 1)  # sample variances 2 and 0


def test_chance():
    assert statistics.chance_test(250, 1000, 0.25) == pytest.approx(1.0)
    assert statistics.chance_test(300, 1000, 0.25) < 1e-3
    random = np.random.default_rng(0)
    found = [statistics.chance_test(int(random.binomial(1000, 0.25)), 1000, 0.25) for _ in range(400)]
    assert 0.01 < np.mean(np.array(found) < 0.05) < 0.09


# --- The paper's tables -----------------------------------------------------------------------------------------------

RUNS = {"CommonsenseQA": 6, "ARC": 5, "GPQA": 5, "INCLUDE": 5, "MMLU-Pro": 11, "NonsenseQA": 4}
HALF = 0.005 + 1e-9
"""What rounding to two digits can hide."""


@pytest.fixture(scope="module")
def printed():
    frame = pl.read_csv(RESOURCES / "mcq_metrics.csv")
    assert frame.height == 182
    return frame.with_columns(pl.col("benchmark").replace_strict(RUNS, return_dtype=pl.Int64).alias("n"))


def wide(frame, *columns):
    """Put the two protocols side by side, in the order of the models."""
    return frame.pivot(on="protocol", index="model", values=list(columns), maintain_order=True)


def test_printed_delta_is_that_of_the_moved_runs(printed):
    """Our definition, of runs with the printed original and mean, gives every printed |dACC|; that of all runs none."""
    others = 0
    for row in printed.iter_rows(named=True):
        moved = (row["n"] * row["acc_mean"] - row["acc_original"]) / (row["n"] - 1)
        found = describe(np.array([row["acc_original"]] + [moved] * (row["n"] - 1)))
        assert found["acc_mean"] == pytest.approx(row["acc_mean"])
        assert found["delta_acc"] == pytest.approx(row["delta_acc"], abs=2 * HALF * row["n"] / (row["n"] - 1) + HALF)
        others += abs(abs(row["acc_mean"] - row["acc_original"]) - row["delta_acc"]) > 3 * HALF
    assert others > 100


def test_printed_range(printed):
    assert (printed["acc_max"] - printed["acc_min"] - printed["range"]).abs().max() <= 3 * HALF


def test_printed_variance_is_that_of_a_population(printed):
    """Where four runs are printed whole (table 5: mean, lowest, highest, and an ORG between), the variance is known."""
    checked = 0
    for row in printed.filter(pl.col("n") == 4).iter_rows(named=True):
        known = [row["acc_original"], row["acc_min"], row["acc_max"]]
        if len(set(known)) < 3:
            continue
        runs = np.array([*known, 4 * row["acc_mean"] - sum(known)])
        slack = 2 * np.abs(runs - runs.mean()).max() * 4 * HALF + HALF
        assert describe(runs)["variance"] == pytest.approx(row["variance"], abs=slack)
        assert abs(runs.var(ddof=1) - row["variance"]) > slack
        checked += 1
    assert checked >= 6


def test_printed_variance_ratios(printed):
    """Table 1 has three digits and tables 5 to 11 two; each is within what their rounded variances allow."""
    table_1 = pl.read_csv(RESOURCES / "mcq_variance_ratio.csv")
    columns = {"CommonsenseQA": "csqa", "ARC": "arc", "GPQA": "gpqa", "INCLUDE": "include", "MMLU-Pro": "mmlu_pro"}
    checked = 0
    for (benchmark, _), part in printed.group_by("benchmark", "fewshot"):
        for row in wide(part, "variance", "variance_ratio").iter_rows(named=True):
            matched, standard = row["variance_M&D"], row["variance_S&L"]
            low = statistics.variance_ratio(max(0, matched - HALF), standard + HALF)
            high = statistics.variance_ratio(matched + HALF, standard - HALF)
            prints = [(row["variance_ratio_M&D"], HALF)]
            if part["table"][0] != 11 and benchmark in columns:
                cell = table_1.filter(pl.col("model") == row["model"])[columns[benchmark]].item()
                prints.append((cell, HALF / 10))
            for ratio, half in prints:
                assert low - half <= ratio <= high + half, (benchmark, row)
                checked += 1
    assert checked == 91 + 65


def test_printed_geometric_means():
    table = pl.read_csv(RESOURCES / "mcq_variance_ratio.csv")
    models = table.filter(pl.col("model") != "GEOMETRIC MEAN").drop("table", "model")
    means = table.filter(pl.col("model") == "GEOMETRIC MEAN").drop("table", "model").row(0, named=True)
    cells = models.drop("geometric_mean")
    for *ratios, printed_mean in models.iter_rows():
        low = statistics.geometric_mean([ratio - HALF / 10 for ratio in ratios])
        high = statistics.geometric_mean([ratio + HALF / 10 for ratio in ratios])
        assert low - HALF <= printed_mean <= high + HALF
    for name in cells.columns:
        assert statistics.geometric_mean(cells[name]) == pytest.approx(means[name], abs=HALF)
    assert statistics.geometric_mean(np.ravel(cells.to_numpy())) == pytest.approx(means["geometric_mean"], abs=HALF)


def test_printed_score_differences(printed):
    for _, part in printed.group_by("benchmark", "fewshot"):
        scores = wide(part, "score", "delta_score")
        gap = scores["score_S&L"] - scores["score_M&D"] - scores["delta_score_S&L"]
        assert gap.abs().max() <= 2 * HALF + HALF / 10


def test_printed_scores_of_table_12():
    """Every row and mean but the last: its rows give -0.0165, the print -0.014, which is their median."""
    table = pl.read_csv(RESOURCES / "mcq_score_fewshot.csv").drop("table")
    rows, mean = table.filter(pl.col("model") != "Mean"), table.filter(pl.col("model") == "Mean").row(0, named=True)
    for kind in ("moved", "kept"):
        gap = rows[f"{kind}_SL"] - rows[f"{kind}_MD"] - rows[f"{kind}_delta"]
        assert gap.abs().max() <= 0.3 * HALF + 1e-9
        for name in (f"{kind}_SL", f"{kind}_MD"):
            assert rows[name].mean() == pytest.approx(mean[name], abs=0.2 * HALF)
    assert rows["moved_delta"].mean() == pytest.approx(mean["moved_delta"], abs=0.2 * HALF)
    assert rows["kept_delta"].mean() == pytest.approx(-0.0165, abs=1e-4)


def nonsense(printed):
    """Return table 5, its four runs' median by the mean, the lowest and the highest, S&L beside M&D."""
    rows = printed.filter(pl.col("benchmark") == "NonsenseQA").with_columns(
        median=(4 * pl.col("acc_mean") - pl.col("acc_min") - pl.col("acc_max")) / 2
    )
    return wide(rows, "acc_mean", "acc_min", "acc_max", "median")


def test_printed_effect_on_nonsenseqa(printed):
    found = nonsense(printed)
    assert statistics.cohens_d(found["acc_mean_S&L"], found["acc_mean_M&D"]) == pytest.approx(2.2, abs=0.05)
    assert statistics.wilcoxon_p(found["acc_mean_S&L"], found["acc_mean_M&D"]) == pytest.approx(2 / 2**13)
    # p < 1e-4 needs more pairs than 13: with the lowest, middle and highest run of each model it holds.
    pairs = [
        np.concatenate([found[f"{name}_{of}"] for name in ("acc_min", "median", "acc_max")]) for of in ("S&L", "M&D")
    ]
    assert statistics.wilcoxon_p(*pairs) < 1e-4


def test_printed_reductions_on_nonsenseqa(printed):
    """12.5 points is Ministral's, of the medians; 52 is Nemotron-3-Nano's of the means, its medians' being 54."""
    found = nonsense(printed)
    reductions = dict(zip(found["model"], found["median_S&L"] - found["median_M&D"], strict=True))
    assert min(reductions, key=reductions.get) == "Ministral-3-8b-base"
    assert reductions["Ministral-3-8b-base"] == pytest.approx(12.5, abs=0.05)
    assert max(reductions, key=reductions.get) == "Nvidia-nemotron-3-nano"
    assert reductions["Nvidia-nemotron-3-nano"] == pytest.approx(54.2, abs=0.05)
    nano = found.filter(pl.col("model") == "Nvidia-nemotron-3-nano")
    assert (nano["acc_mean_S&L"] - nano["acc_mean_M&D"]).item() == pytest.approx(52, abs=0.05)


def test_kinds_of_the_papers_examples(printed):
    kinds = {
        row["model"]: statistics.kind_of_model(row["median_S&L"]) for row in nonsense(printed).iter_rows(named=True)
    }
    assert kinds["Gpt-oss-20b"] == "explicit"
    assert kinds["Qwen3-8b"] == "implicit"
    assert kinds["Gemma-3-27b-it"] == "unable"


def test_printed_correlations_between_benchmarks(printed):
    main = printed.filter(pl.col("table") != 11)
    accuracy = {
        protocol: part.pivot(on="benchmark", index="model", values="acc_mean", maintain_order=True)
        for (protocol,), part in main.group_by("protocol")
    }
    by = {
        protocol: {
            pair: statistics.rank_correlations(frame[pair[0]], frame[pair[1]])
            for pair in combinations(("CommonsenseQA", "ARC", "GPQA", "INCLUDE", "MMLU-Pro"), 2)
        }
        for protocol, frame in accuracy.items()
    }
    gap = {
        (pair, name): by["M&D"][pair][name] - by["S&L"][pair][name]
        for pair in by["M&D"]
        for name in ("spearman", "kendall")
    }
    assert gap[("ARC", "GPQA"), "spearman"] == pytest.approx(0.110, abs=5e-4)
    assert gap[("ARC", "GPQA"), "kendall"] == pytest.approx(0.128, abs=5e-4)
    assert gap[("CommonsenseQA", "MMLU-Pro"), "kendall"] == pytest.approx(-0.103, abs=5e-4)
    # Section 5.8: GPQA agrees more with ARC and CSQA under M&D, INCLUDE less with CSQA and MMLU-Pro.
    assert gap[("CommonsenseQA", "GPQA"), "spearman"] > 0
    assert gap[("GPQA", "MMLU-Pro"), "kendall"] > 0


def test_metrics_has_the_columns_of_the_printed_table(printed):
    assert set(metrics.METRICS) <= set(printed.columns)
