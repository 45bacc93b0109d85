"""Confidence metrics: by hand, against scikit-learn, and as identities."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, roc_auc_score

from candor.bootstrap import draw_weights, generator
from candor.confidence.metrics import (
    METRICS,
    RATES,
    calibration_bins,
    measure,
    metrics_of,
    question_counts,
)
from candor.tables import GRADES
from candor.vocabulary import LEVELS, confidence_of


def graded(rows, **columns) -> pl.DataFrame:
    """Make a frame of grades from (question, correct, confidence) rows; `columns` replaces whole columns."""
    questions = [row[0] for row in rows]
    frame = {
        "question_id": questions,
        "sample": [questions[:i].count(question) for i, question in enumerate(questions)],
        "difficulty": ["hard"] * len(rows),
        "gold": ["gold"] * len(rows),
        "answer": ["answer"] * len(rows),
        "score": [float(row[1] or 0) for row in rows],
        "outcome": ["error" if row[1] is None else "right" if row[1] else "wrong" for row in rows],
        "correct": [row[1] for row in rows],
        "confidence": [row[2] for row in rows],
        "well_formed": [True] * len(rows),
        "answer_status": ["valid"] * len(rows),
        "confidence_status": ["valid" if row[2] is not None else "missing" for row in rows],
    }
    return pl.DataFrame(frame | columns, schema=GRADES)


def values(rows, **columns) -> dict[str, float]:
    return {
        name: float(value) for name, value in metrics_of(question_counts(graded(rows, **columns)).sum(axis=0)).items()
    }


def random_rows(questions=40, samples=4, seed=0):
    random = np.random.default_rng(seed)
    return [
        (f"q{q}", bool(random.random() < 0.5), int(random.integers(LEVELS)))
        for q in range(questions)
        for _ in range(samples)
    ]


some_rows = st.lists(st.tuples(st.sampled_from("abcdef"), st.booleans(), st.integers(0, 100)), min_size=1, max_size=60)


def test_by_hand():
    found = values([("a", True, 100), ("a", False, 50), ("b", True, 50), ("b", False, 0)])
    top, half, low = 100.5 / 101, 0.5, 0.5 / 101
    assert found["accuracy"] == 0.5
    assert found["auroc"] == (1 + 1 + 0.5 + 1) / 4  # right at 100 beats both wrong; right at 50 ties one, beats one
    brier = ((1 - top) ** 2 + half**2 + half**2 + low**2) / 4
    assert found["brier"] == pytest.approx(brier, abs=1e-15)
    assert found["brier_1"] == pytest.approx(0.5 - brier, abs=1e-15)
    assert found["ece"] == pytest.approx((low + 2 * abs(0.5 - half) + (1 - top)) / 4, abs=1e-15)
    assert found["calibration_bias"] == pytest.approx(0.0, abs=1e-15)


def test_one_question():
    measured = measure(graded([("a", True, 73)]), seed=1, name="x", resamples=20)
    c = confidence_of(73)
    assert measured["all"]["accuracy"] == {"value": 1.0, "low": 1.0, "high": 1.0}
    assert measured["all"]["auroc"] == {"value": None, "low": None, "high": None}
    assert measured["all"]["ece"]["value"] == pytest.approx(1 - c)
    assert measured["all"]["brier"]["high"] == pytest.approx((1 - c) ** 2)
    assert (measured["all"]["n_questions"], measured["all"]["n_samples"]) == (1, 1)


@pytest.mark.parametrize("correct", [True, False])
def test_one_class_has_no_auroc(correct):
    found = values([("a", correct, 10), ("b", correct, 90)])
    assert np.isnan(found["auroc"])
    assert found["accuracy"] == float(correct)


def test_auroc_needs_an_accuracy_within_the_papers_range():
    at_the_edge = [("a", i == 0, i % LEVELS) for i in range(1000)]
    within = [("a", i == 0, i % LEVELS) for i in range(999)]
    assert np.isnan(values(at_the_edge)["auroc"])
    assert not np.isnan(values(within)["auroc"])
    assert np.isnan(values([(q, not right, k) for q, right, k in at_the_edge])["auroc"])


def test_a_missing_confidence_is_scored_at_the_worst_and_counted():
    missing = values([("a", True, None), ("a", False, None), ("b", True, 80), ("b", False, 20)])
    worst = values([("a", True, 0), ("a", False, 100), ("b", True, 80), ("b", False, 20)])
    assert {name: missing[name] for name in METRICS} == {name: worst[name] for name in METRICS}
    assert missing["missing_confidence_rate"] == 0.5
    assert worst["missing_confidence_rate"] == 0.0


def test_rates():
    rows = [("a", True, 1), ("a", False, 2), ("b", None, 3), ("b", False, None)]
    found = values(rows, answer=["x", None, "x", "x"], well_formed=[True, False, False, False])
    assert [found[name] for name in RATES] == [0.75, 0.25, 0.25, 0.25]
    assert found["accuracy"] == pytest.approx(1 / 3)  # a sample without a verdict is not wrong


@pytest.mark.parametrize("seed", range(3))
def test_against_scikit_learn(seed):
    rows = random_rows(seed=seed)
    right = np.array([row[1] for row in rows])
    stated = confidence_of(np.array([row[2] for row in rows]))
    found = values(rows)
    assert found["auroc"] == pytest.approx(roc_auc_score(right, stated), abs=1e-12)
    assert found["brier"] == pytest.approx(brier_score_loss(right, stated), abs=1e-12)
    ece = 0.0
    for low in range(10):
        members = [i for i, c in enumerate(stated) if low / 10 <= c < (low + 1) / 10 or (low == 9 and c == 1)]
        if members:
            ece += len(members) / len(rows) * abs(right[members].mean() - stated[members].mean())
    assert found["ece"] == pytest.approx(ece, abs=1e-12)
    assert found["calibration_bias"] == pytest.approx(right.mean() - stated.mean(), abs=1e-12)


def test_only_level_50_lies_on_an_edge_and_it_belongs_to_the_right():
    on_an_edge = [k for k in range(LEVELS) if (10 * (2 * k + 1)) % 202 == 0]
    assert on_an_edge == [50]
    bins = calibration_bins(question_counts(graded([("a", True, 50)])).sum(axis=0))
    assert [b["count"] for b in bins] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]


def test_bins_cover_every_level_once():
    bins = calibration_bins(question_counts(graded([(f"q{k}", k % 2 == 0, k) for k in range(LEVELS)])).sum(axis=0))
    assert len(bins) == 10
    assert [b["count"] for b in bins] == [10, 10, 10, 10, 10, 11, 10, 10, 10, 10]
    assert all(b["low"] <= b["confidence"] < b["high"] for b in bins)
    assert bins[9]["accuracy"] == 0.5
    empty = calibration_bins(question_counts(graded([("a", False, 0)])).sum(axis=0))[9]
    assert empty == {"low": 0.9, "high": 1.0, "count": 0, "confidence": None, "accuracy": None}


@settings(deadline=None)  # a busy machine is no failure
@given(some_rows)
def test_identities(rows):
    found = values(rows)
    assert abs(found["calibration_bias"]) <= found["ece"] + 1e-12
    assert found["brier_1"] == pytest.approx(found["accuracy"] - found["brier"], abs=1e-15)
    assert 0 <= found["brier"] <= 1
    bins = calibration_bins(question_counts(graded(rows)).sum(axis=0))
    assert sum(b["count"] for b in bins) == len(rows)
    gaps = [b["count"] * abs(b["accuracy"] - b["confidence"]) for b in bins if b["count"]]
    assert found["ece"] == pytest.approx(sum(gaps) / len(rows), abs=1e-12)


@settings(deadline=None)  # a busy machine is no failure
@given(some_rows, st.sets(st.integers(0, 100), min_size=LEVELS - 40))
def test_auroc_sees_only_the_order(rows, levels):
    stated = sorted({row[2] for row in rows})
    mapped = dict(zip(stated, sorted(levels), strict=False))  # an increasing map
    moved = [(q, right, mapped[k]) for q, right, k in rows]
    flipped = [(q, right, 100 - k) for q, right, k in rows]
    before, after = values(rows)["auroc"], values(moved)["auroc"]
    assert (np.isnan(before) and np.isnan(after)) or before == pytest.approx(after, abs=1e-12)
    assert np.isnan(before) or values(flipped)["auroc"] == pytest.approx(1 - before, abs=1e-12)


def test_the_bootstrap_equals_a_plain_one_with_the_same_weights():
    rows = random_rows(questions=6, samples=3, seed=4)
    frame = graded(rows)
    measured = measure(frame, seed=5, name="n", resamples=30, level=0.9)["all"]
    weights = draw_weights(6, 30, generator(5, "n/all"))
    assert (weights.sum(axis=1) == 6).all()
    questions = sorted({row[0] for row in rows})
    plain = {name: [] for name in METRICS}
    for weight in weights.astype(int):
        drawn = [
            row for question, times in zip(questions, weight, strict=True) for row in rows * times if row[0] == question
        ]
        for name, value in values(drawn).items():
            if name in plain and not np.isnan(value):
                plain[name].append(value)
    for name in METRICS:
        low, high = np.quantile(plain[name], [0.05, 0.95])
        assert measured[name]["low"] == pytest.approx(low, abs=1e-12)
        assert measured[name]["high"] == pytest.approx(high, abs=1e-12)


def test_resamples_draw_whole_questions():
    """Sixteen equal samples of a question say no more than one: the interval must not shrink."""
    one = [(f"q{q}", q % 2 == 0, 50) for q in range(30)]
    once = measure(graded(one), seed=0, name="n", resamples=200)["all"]["accuracy"]
    often = measure(graded(one * 16), seed=0, name="n", resamples=200)["all"]["accuracy"]
    assert once == often
    assert once["low"] < 0.4 < 0.6 < once["high"]


def test_intervals_hold_the_value_and_follow_the_seed_and_the_name():
    frame = graded(random_rows(questions=100))
    first = measure(frame, seed=1, name="a", resamples=300)["all"]
    assert all(first[name]["low"] < first[name]["value"] < first[name]["high"] for name in METRICS if name != "ece")
    others = [
        measure(frame, seed=2, name="a", resamples=300)["all"],
        measure(frame, seed=1, name="b", resamples=300)["all"],
    ]
    for other in others:
        assert other["brier"]["value"] == first["brier"]["value"]
        assert other["brier"]["low"] != first["brier"]["low"]


def test_the_order_of_rows_changes_nothing():
    rows = random_rows()
    frame = graded(rows, difficulty=[("easy", "medium", "hard")[int(q[1:]) % 3] for q, _, _ in rows])
    assert measure(frame, 1, "n", 50) == measure(frame.sample(fraction=1, shuffle=True, seed=3), 1, "n", 50)


def test_measure_by_difficulty_is_json():
    rows = random_rows()
    frame = graded(rows, difficulty=[("easy", "hard")[int(q[1:]) % 2] for q, _, _ in rows])
    measured = measure(frame, 1, "n", 50)
    assert list(measured) == ["all", "easy", "hard"]
    assert measured["all"]["n_samples"] == measured["easy"]["n_samples"] + measured["hard"]["n_samples"] == 160
    assert measured["easy"]["n_questions"] == 20
    assert measured["easy"]["accuracy"]["value"] == frame.filter(pl.col("difficulty") == "easy")["correct"].mean()
    assert measured["all"]["answer_status"] == {"valid": 1.0}
    assert json.loads(json.dumps(measured, allow_nan=False)) == measured
    assert list(measure(graded(rows), 1, "n", 5)) == ["all"]  # one difficulty: nothing to tell apart


def test_more_resamples_than_a_block_are_all_used():
    frame = graded(random_rows(questions=10))
    assert measure(frame, 1, "n", 700)["all"]["brier"] != measure(frame, 1, "n", 256)["all"]["brier"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (graded([]), "no graded row"),
        (graded([("a", None, 3)]), "no graded row"),
        (graded([("a", True, 3), ("a", True, 3)], sample=[0, 0]), "'a', sample 0 is graded twice"),
        (graded([("a", True, 101)]), "confidence is 101; valid: 0 to 100 or null"),
        (graded([("a", True, 3)], difficulty=["level 5"]), "difficulty is 'level 5'; valid: easy, medium, hard"),
        (graded([("a", True, 3)], difficulty=[None]), "difficulty is None"),
        (graded([("a", True, 3)], well_formed=[None]), "well_formed is None"),
        (graded([("a", True, 3), ("a", True, 4)], difficulty=["easy", "hard"]), "more than one difficulty"),
    ],
)
def test_measure_names_what_is_wrong(frame, message):
    with pytest.raises(ValueError, match=message):
        measure(frame, 1, "n", 5)


def test_measure_refuses_settings_out_of_range():
    with pytest.raises(ValueError, match="resamples"):
        measure(graded([("a", True, 3)]), 1, "n", 0)
    with pytest.raises(ValueError, match="level"):
        measure(graded([("a", True, 3)]), 1, "n", 5, 1.0)
