"""The simulation of what a policy learns: its closed forms, and training against the theory of the 101 values."""

from math import exp

import numpy as np
import pytest

from candor.schemes import SPECTRUM, Scheme, get
from candor.schemes.simulation import (
    CONFIDENCE_STEP,
    Policy,
    _draw,
    entropy_regularised,
    is_degenerate,
    midpoints,
    train,
    verbalisation_noise,
)
from candor.schemes.theory import GRID, classify

# Trial figures of the mean bias, along the spectrum after correctness-only: p on 400 midpoints, tau 0.05, noise 0.15.
ENTROPY = ["-0.0314", "-0.0100", "-0.0040", "+0.0000", "+0.0034", "+0.0067", "+0.0117"]
NOISE = ["-0.0397", "-0.0193", "-0.0089", "+0.0000", "+0.0089", "+0.0193", "+0.0401"]


@pytest.mark.parametrize(("bias", "printed"), [(entropy_regularised, ENTROPY), (verbalisation_noise, NOISE)])
def test_bias_of_a_blurred_policy_along_the_spectrum(bias, printed):
    means = [bias(get(name)).mean() for name in SPECTRUM[1:]]
    assert [f"{mean + 0.0 if abs(mean) > 1e-12 else 0.0:+.4f}" for mean in means] == printed
    assert means == sorted(means)
    assert means[SPECTRUM.index("brier-1") - 1] == pytest.approx(0, abs=1e-12)


def test_bias_where_confidence_earns_nothing_is_undefined():
    for bias in (entropy_regularised, verbalisation_noise):
        assert np.isnan(bias(get("correctness-only"), p=[0.1, 0.9])).all()
    constant = Scheme("constant", f=lambda c: np.full_like(c, 3), g=lambda c: np.full_like(c, -1))
    assert [is_degenerate(scheme) for scheme in (constant, get("correctness-only"), get("brier-1"))] == [
        True,
        True,
        False,
    ]


def test_entropy_regularised_by_hand():
    # Reward 1 for the highest confidence of a right answer, else 0: it weighs exp(p / tau), the hundred others 1.
    scheme = Scheme("top", f=lambda c: np.where(c == GRID[-1], 1.0, 0.0), g=np.zeros_like)
    p, tau = 0.3, 0.5
    weight = exp(p / tau)
    mean = (GRID[:-1].sum() + weight * GRID[-1]) / (100 + weight)
    assert entropy_regularised(scheme, tau, p) == pytest.approx(p - mean)


def test_a_sharp_policy_states_the_nearest_value():
    p = midpoints(37)
    for name in SPECTRUM[1:]:
        assert np.abs(verbalisation_noise(get(name), 1e-3, p)).max() <= 1 / 101  # paper theorem 8
    assert np.abs(entropy_regularised(get("brier-1"), 1e-6, p)).max() <= 1 / 202 + 1e-12


@pytest.mark.parametrize("value", [0, -1, float("nan")])
def test_widths_must_be_positive(value):
    with pytest.raises(ValueError, match="tau must be positive"):
        entropy_regularised(get("brier-1"), tau=value)
    with pytest.raises(ValueError, match="deviation must be positive"):
        verbalisation_noise(get("brier-1"), deviation=value)
    with pytest.raises(ValueError, match="ratio must be positive"):
        train(get("brier-1"), ratio=value)


def test_other_settings_are_refused():
    with pytest.raises(ValueError, match="within"):
        entropy_regularised(get("brier-1"), p=[0.5, 1.5])
    with pytest.raises(ValueError, match="samples >= 2"):
        train(get("brier-1"), ratio=1, samples=1)
    for effort in (0, 1, float("nan")):
        with pytest.raises(ValueError, match="effort at the start"):
            train(get("brier-1"), ratio=1, effort=effort)


def policy(effort, confidence=None):
    n = len(effort)
    return Policy("any", midpoints(n), np.array(effort), np.zeros((n, 2)) if confidence is None else confidence)


def test_what_a_policy_came_to():
    # p is 0.125, 0.375, 0.625 and 0.875
    learnt = policy([0.0, 0.2, 1.0, 1.0], np.array([[0.1, 0.9], [0.0, 0.5], [0.3, 0.6], [0.3, 0.8]]))
    assert learnt.accuracy == pytest.approx([0, 0.075, 0.625, 0.875])
    assert learnt.stated == pytest.approx([0.1, 0.1, 0.6, 0.8])
    assert learnt.bias == pytest.approx((1.575 - 1.6) / 4)
    assert learnt.hacking == 0.5
    assert learnt.threshold == 0.5
    assert policy([1.0, 1.0]).threshold == 0
    assert policy([0.0, 0.0]).threshold == 1
    assert policy([0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0]).threshold == 0.25  # one on the wrong side, at best


def small(name, ratio, steps=1200, seed=1):
    return train(get(name), ratio, steps, questions=100, seed=seed)


def test_training_depends_on_the_seed_alone():
    once, again, other = (train(get("brier-2"), 10, steps=50, questions=20, seed=seed) for seed in (1, 1, 2))
    for name in ("effort", "confidence"):
        assert np.array_equal(getattr(once, name), getattr(again, name))
        assert not np.array_equal(getattr(once, name), getattr(other, name))


def test_draws_follow_the_weights():
    weights = np.random.default_rng(0).random((3, 101)) ** 4
    n = 200_000
    columns, total = _draw(weights, np.repeat([[0], [1], [2]], n, axis=1), np.tile(midpoints(n), (3, 1)))
    assert total == pytest.approx(weights.sum(axis=1))
    for drawn, row in zip(columns, weights, strict=True):
        share = np.bincount(drawn, minlength=101) / n
        assert np.abs(share - row / row.sum()).max() < 2 / n  # evenly spaced draws leave no more to chance


def test_training_is_policy_gradient_with_the_groups_mean_as_baseline():
    """The same draws, one answer at a time and by the definition: gradient of log probability times advantage."""
    scheme, ratio, steps, questions, samples = get("log-1"), 3, 40, 5, 8
    f, g, p = scheme.f(GRID), scheme.g(GRID), midpoints(questions)
    effort, logits = np.zeros(questions), np.zeros((questions, 2, 101))
    random = np.random.default_rng(7)
    for _ in range(steps):
        draws = random.random((3, questions, samples))
        for q in range(questions):
            chance = 1 / (1 + np.exp(-effort[q]))
            policy = np.exp(logits[q]) / np.exp(logits[q]).sum(axis=1, keepdims=True)
            answers = []
            for i in range(samples):
                tried = int(draws[0, q, i] < chance)
                column, _ = _draw(policy, np.array([[tried]]), draws[1:2, q : q + 1, i])
                stated = int(column[0, 0])
                answers.append((tried, stated, f[stated] if tried and draws[2, q, i] < p[q] else g[stated]))
            mean = np.mean([reward for _, _, reward in answers])
            for tried, stated, reward in answers:
                step = CONFIDENCE_STEP * (reward - mean) / samples
                effort[q] += step / ratio * (tried - chance)
                logits[q, tried] += step * ((np.arange(101) == stated) - policy[tried])
    learnt = train(scheme, ratio, steps, questions, samples, seed=7)
    assert learnt.effort == pytest.approx(1 / (1 + np.exp(-effort)), rel=1e-4)
    assert learnt.confidence == pytest.approx(np.exp(logits) @ GRID / np.exp(logits).sum(axis=2), rel=1e-4)


@pytest.mark.parametrize(("name", "threshold"), [("log-1", 0.6453), ("brier-2", 0.49995)])
def test_thresholds_approach_the_theory_as_confidence_is_learnt_faster(name, threshold):
    theory = classify(get(name)).hacking_pays_below_on_101
    assert theory == pytest.approx(threshold, abs=5e-5)
    distances = [
        theory - np.mean([small(name, ratio, 2000, seed).threshold for seed in (1, 2)]) for ratio in (1, 4, 10, 40)
    ]
    assert distances == sorted(distances, reverse=True)
    assert distances[0] > theory - 0.1  # learnt alike, it gives up almost nowhere
    assert abs(distances[-1]) < 0.06


def test_who_hardly_ever_gives_up_at_the_start_does_not_learn_to():
    for name in ("log-1", "brier-2"):
        learnt = [train(get(name), 40, 2000, 100, effort=effort).hacking for effort in (0.5, 0.7, 0.95)]
        assert learnt == sorted(learnt, reverse=True)
        assert learnt[0] > 0.4
        assert learnt[2] < 0.05


def test_schemes_without_a_reward_for_being_right_are_given_up_everywhere():
    for name in ("log-loss", "brier-score"):
        assert small(name, 40).threshold > 0.9


@pytest.mark.parametrize("name", [*SPECTRUM, "log-1/ln202"])
def test_safe_schemes_keep_all_but_a_little_of_the_hardest(name):
    learnt = small(name, 40)
    assert learnt.hacking < 0.1
    assert learnt.effort[learnt.p > 0.3].min() > 0.5


def test_training_learns_to_state_the_truth_unless_confidence_earns_nothing():
    learnt = small("brier-1", 40)
    assert np.abs(learnt.confidence[:, 1] - learnt.p).mean() < 0.1
    aimless = small("correctness-only", 40)
    assert np.abs(aimless.confidence[:, 1] - aimless.p).mean() > 0.2
