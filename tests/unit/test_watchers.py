"""The watchers of training: each on runs that have its fault, and on runs that do not.

Runs are made up: the course of accuracy, confidence and losses is drawn by hand after what the paper says of its runs
(appendices H.3, I.1, I.2, and the ends of the runs in tables 7 to 35); a step is a sample of questions and outputs, so that it
has the noise of one.
"""

import numpy as np
import polars as pl
import pytest

from candor import tables
from candor.schemes import get
from candor.training.watchers import Finding, fails, format_at_evaluation, watch
from candor.vocabulary import DIFFICULTIES, confidence_of


def run(
    steps,
    accuracy=lambda step: (0.44, 0.27, 0.12),
    confidence=lambda step, right: 0.5 + 0.2 * right,
    scheme="brier-1",
    format_rate=lambda step: 0.97,
    loss=lambda step: 0.0,
    gradient=lambda step: 0.1,
    questions=64,
    generations=8,
    seed=0,
):
    """Make a log: of each step the chance of a right answer by difficulty, the confidence stated, and the rest."""
    rng, reward = np.random.default_rng(seed), get(scheme)
    rows = []
    for step in range(1, steps + 1):
        difficulty = rng.integers(3, size=questions)
        chance = np.asarray(accuracy(step))[difficulty]
        # Some questions of a difficulty are easier than others: all outputs of a question share its chance.
        chance = rng.beta(np.maximum(chance, 1e-3), np.maximum(1 - chance, 1e-3))
        readable = rng.random((generations, questions)) < format_rate(step)
        right = (rng.random((generations, questions)) < chance) & readable
        stated = np.clip(confidence(step, right) + rng.normal(scale=0.05, size=right.shape), 0, 1)
        stated = confidence_of(np.where(readable, np.round(100 * stated), 100))
        rows.append(
            {
                "step": step,
                "scheme_reward": reward.reward(right, stated).mean(),
                "format_reward": 2.8 * readable.mean(),
                "accuracy": right.mean(),
                **{
                    f"accuracy_{name}": right[:, difficulty == i].mean() if (difficulty == i).any() else None
                    for i, name in enumerate(DIFFICULTIES)
                },
                "confidence": stated[readable].mean() if readable.any() else None,
                "format_rate": readable.mean(),
                "ungraded_rate": 0.0,
                "length": 200.0,
                "truncation_rate": 1 - readable.mean(),
                "loss": loss(step) + rng.normal(scale=0.01),
                "gradient_norm": gradient(step) * np.exp(rng.normal(scale=0.4)),
                "learning_rate": 1e-5,
            }
        )
    return pl.DataFrame(rows, schema=tables.TRAINING_LOG)


def rises(start, end, steps):
    """A course that begins at one value and has come close to another after some steps."""
    return lambda step: np.asarray(end) + (np.asarray(start) - np.asarray(end)) * np.exp(-step / steps)


def falls(course, at, end=0.0, over=5):
    """The same course until a step, after which it falls to another value within some steps."""
    return lambda step: (
        course(step) if step <= at else end + (course(at) - end) * max(0.0, 1 - (step - at) / over) * np.ones(3)
    )


LEARNS = rises((0.44, 0.27, 0.12), (0.63, 0.42, 0.21), 80)


def calibrates(step, right):
    """From overconfidence to what is about right (figure 6)."""
    return (0.9 if step < 40 else 0.45) + 0.1 * right - 0.05


def names(log) -> list[str]:
    return [finding.name for finding in watch(log)]


# --- Runs without a fault ---

SOUND = {
    "like figure 6": {"steps": 500, "accuracy": LEARNS, "confidence": calibrates},
    "correctness-only": {
        "steps": 500,
        "accuracy": LEARNS,
        "confidence": lambda step, right: 0.95,
        "scheme": "correctness-only",
    },
    "the underconfident end": {
        "steps": 500,
        "accuracy": rises((0.44, 0.27, 0.12), (0.61, 0.40, 0.19), 120),
        "confidence": lambda step, right: 0.2 + 0.3 * right,
        "scheme": "brier-log-hybrid",
    },
    "a hard dataset, honestly unsure": {
        "steps": 500,
        "accuracy": lambda step: (0.15, 0.1, 0.05),
        "confidence": lambda step, right: 0.1,
    },
    "never right": {"steps": 300, "accuracy": lambda step: (0, 0, 0), "confidence": lambda step, right: 0.3},
    "a small model's": {"steps": 300, "accuracy": LEARNS, "questions": 1, "generations": 4},
    "a small model's that often fails its format": {
        "steps": 300,
        "questions": 2,
        "generations": 4,
        "format_rate": lambda step: 0.4,
    },
    "the demo's": {"steps": 2, "questions": 1, "generations": 4},
    "one step": {"steps": 1},
    "a format that is learnt": {"steps": 100, "format_rate": rises(0.05, 0.98, 15)},
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_run_is_not_flagged(kind, seed):
    assert watch(run(**SOUND[kind], seed=seed)) == []


def test_a_loss_scale_that_is_being_found_is_no_fault():
    log = run(60).with_columns(
        gradient_norm=pl.when(pl.col("step") <= 3).then(float("inf")).otherwise(pl.col("gradient_norm"))
    )
    assert watch(log) == []


def test_an_empty_log_has_nothing_to_say():
    assert watch(run(2).clear()) == []
    assert fails(run(2).clear()) is None


# --- Collapse (I.2) ---

COLLAPSED = {
    "like figure 8": (
        {
            "steps": 1000,
            "accuracy": falls(rises((0.6, 0.45, 0.3), (0.75, 0.6, 0.45), 200), 600, 0.02, 30),
            "loss": lambda step: 5.0 if 605 <= step < 610 else 0.0,
        },
        (605, 640),
        {"loss spike", "collapse"},
    ),
    "like figure 9": (
        {
            "steps": 300,
            "accuracy": falls(rises((0.5, 0.35, 0.2), (0.75, 0.6, 0.45), 60), 180, 0.05, 20),
            "loss": lambda step: 0.6 if 185 <= step < 195 else 0.0,
            "confidence": lambda step, right: 0.8,
        },
        (185, 215),
        {"loss spike", "collapse"},
    ),
    "like figure 10": (
        {
            "steps": 60,
            "accuracy": falls(rises((0.55, 0.26, 0.09), (0.67, 0.43, 0.2), 20), 30),
            "format_rate": lambda step: 0.99 if step <= 30 else max(0.0, 0.99 - 0.25 * (step - 30)),
            "loss": lambda step: 3.0 if step in (32, 33) else 0.0,
            "gradient": lambda step: 20.0 if step in (32, 33) else 0.1,
            "scheme": "underconfidence-4",
        },
        (32, 42),
        {"loss spike", "gradient norm spike", "collapse", "constant reward"},
    ),
    "of the format alone": (
        {"steps": 100, "format_rate": lambda step: 0.95 if step <= 50 else 0.05, "accuracy": lambda step: (0, 0, 0)},
        (55, 65),
        {"collapse"},
    ),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", COLLAPSED)
def test_a_collapse_is_seen_soon(kind, seed):
    settings, (first, last), expected = COLLAPSED[kind]
    findings = watch(run(**settings, seed=seed))
    assert {finding.name for finding in findings} == expected
    assert all(first <= finding.step <= last for finding in findings if finding.name != "constant reward"), findings
    (collapse,) = (finding for finding in findings if finding.name == "collapse")
    assert "and the reward from" in collapse.sentence


def test_gradients_that_are_no_numbers_are_a_finding():
    log = run(60).with_columns(gradient_norm=pl.when(pl.col("step") <= 30).then("gradient_norm"))
    (finding,) = watch(log)
    assert finding == Finding(
        "no finite gradient",
        50,
        "no gradient is finite (steps 31 to 50), so the optimiser makes no step",
    )


# --- The scale misread (I.1, figure 7) ---


def misreads(step, right):
    """Converges to about 0.1 mid-run and stays there for hundreds of steps."""
    return 0.9 if step < 150 else max(0.1, 0.9 - 0.02 * (step - 150))


@pytest.mark.parametrize("scheme", ["correctness-only", "brier-1", "overconfidence-1"])
def test_a_confidence_near_a_tenth_of_mostly_right_answers_is_a_misread_scale(scheme):
    (finding,) = watch(run(500, LEARNS, misreads, scheme))
    assert finding.name == "0-to-10 misreading"
    assert 205 <= finding.step <= 230  # near 0.1 from step 189 on, and 20 steps
    assert "the scale of 0 to 100 is read as 0 to 10, whose 10 is 0.104" in finding.sentence


def test_its_rerun_is_sound():
    assert watch(run(500, LEARNS, calibrates, "brier-1", seed=1)) == []


# --- Hacking (5.1, H.1) ---


def gives_up_on_the_hard(start, end):
    """Selective: after 100 steps, what is rarely right is not tried any more."""
    course = rises(start, end, 40)
    return lambda step: np.asarray(start) if step < 100 else course(step - 100)


HACKED = {
    # Chances of a right answer by difficulty from SFT to the end of training in tables 17 to 19, and 21 to 23.
    "log-1": ((0.44, 0.27, 0.12), (0.20, 0.06, 0.02), lambda step, right: 0.75 if step < 100 else 0.2 + 0.5 * right),
    "log-loss": ((0.44, 0.27, 0.12), (0.0, 0.0, 0.0), lambda step, right: 0.75 if step < 100 else 0.0),
    "brier-score": ((0.54, 0.29, 0.11), (0.025, 0.0035, 0.0013), lambda step, right: 0.75 if step < 100 else 0.02),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("scheme", HACKED)
def test_answers_given_up_because_it_pays_are_hacking_and_no_collapse(scheme, seed):
    start, end, confidence = HACKED[scheme]
    findings = watch(run(500, gives_up_on_the_hard(start, end), confidence, scheme, seed=seed))
    assert "hacking" in [finding.name for finding in findings]
    assert {finding.name for finding in findings} <= {"hacking", "constant reward"}
    hacking = next(finding for finding in findings if finding.name == "hacking")
    assert 110 < hacking.step < 220
    assert "giving up seems to pay" in hacking.sentence


def test_hacking_of_the_hard_questions_alone_is_seen_while_easy_ones_improve():
    """Like brier-2, but more so: its own loss on hard questions (0.12 to 0.10) is within the noise of a log."""
    course = gives_up_on_the_hard((0.50, 0.30, 0.25), (0.65, 0.20, 0.05))
    confidence = lambda step, right: 0.7 if step < 100 else 0.3 + 0.4 * right  # noqa: E731
    (finding,) = watch(run(500, course, confidence, "brier-2"))
    assert finding.name == "hacking"
    assert "most on hard questions" in finding.sentence


def test_fewer_hard_answers_at_a_lower_reward_are_no_hacking():
    course = gives_up_on_the_hard((0.50, 0.30, 0.25), (0.50, 0.20, 0.05))
    assert watch(run(500, course, lambda step, right: 0.9, "brier-1")) == []


# --- A constant reward ---


def same_reward(log, scheme=-0.99, format_reward=0.3, steps=(1, 10**6)):
    within = pl.col("step").is_between(*steps)
    return log.with_columns(
        scheme_reward=pl.when(within).then(scheme).otherwise("scheme_reward"),
        format_reward=pl.when(within).then(format_reward).otherwise("format_reward"),
    )


@pytest.mark.parametrize(
    ("truncated", "well_formed", "cause"),
    [
        (0.9, 0.0, "90% of the outputs are cut off at the token limit: raise max_tokens"),
        (0.0, 0.0, "no output obeys the format: start from SFT"),
        (0.0, 1.0, "outputs are readable, so look whether the grader and the golds belong together"),
    ],
)
def test_a_reward_that_never_changes_ends_the_run_with_its_likely_cause(truncated, well_formed, cause):
    log = same_reward(run(40)).with_columns(truncation_rate=pl.lit(truncated), format_rate=pl.lit(well_formed))
    assert fails(log.head(19)) is None
    reason = fails(log.head(20))
    assert reason.startswith(
        "the reward (scheme's -0.99, format's 0.3) is the same in each of the 20 steps from the first"
    )
    assert f"Likely cause: {cause}" in reason
    assert fails(log) == reason
    assert names(log) == ["constant reward"]


def test_a_reward_that_becomes_constant_is_told_but_does_not_end_the_run():
    """As under log-loss: the policy has learnt to give up, and that is a result."""
    log = same_reward(run(100), steps=(41, 100))
    assert fails(log) is None
    (finding,) = [finding for finding in watch(log) if finding.name == "constant reward"]
    assert finding.step == 60
    assert "from step 41 on" in finding.sentence


def test_a_format_that_is_never_rewarded_is_told():
    """What a pattern without DOTALL does to outputs of several lines."""
    log = run(30).with_columns(format_reward=0.0)
    assert [(finding.name, finding.step) for finding in watch(log)] == [("format never rewarded", 20)]
    assert fails(log) is None


# --- After the evaluation (F.4) ---


def test_a_format_that_held_and_fails_at_evaluation_is_found():
    log = run(150, format_rate=lambda step: 0.95)
    (finding,) = format_at_evaluation(log, 0.55)
    assert finding.step is None
    assert (
        "of the outputs obeyed the format in the last 10 steps of training, but 0.450 at evaluation" in finding.sentence
    )
    assert format_at_evaluation(log, 0.18) == []  # as most of F.4
    assert format_at_evaluation(log, None) == []
    assert format_at_evaluation(run(150, format_rate=lambda step: 0.6), 0.55) == []
    assert format_at_evaluation(log.head(2), 0.55) == []


# --- While it trains ---


def test_what_is_said_while_training_is_what_the_report_says():
    log = run(**COLLAPSED["like figure 10"][0])
    said = {}
    for step in range(1, log.height + 1):
        for finding in watch(log.head(step)):
            said.setdefault(finding.name, (step, finding))
    assert [finding for _, finding in said.values()] == watch(log)
    assert all(step == finding.step for step, finding in said.values())


def test_the_order_of_the_rows_does_not_matter():
    log = run(**COLLAPSED["like figure 10"][0])
    assert watch(log.reverse()) == watch(log)
