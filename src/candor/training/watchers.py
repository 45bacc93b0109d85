"""Watching a training run: what its log shows of the faults that the paper's runs had (appendices F.4, I.1, I.2).

Each watcher is a function of a frame of `tables.TRAINING_LOG` and returns what it found, at most one finding of a name. A
finding of the first n steps stays one of the whole run, so that what is said while training is what the report says.
`tests/unit/test_watchers.py` shows each on runs that have its fault and on runs that do not.

Accuracies, confidences and rewards of a step are means of a sample, and of a small one on a CPU. So they are compared as
means over several steps, and a fall counts only where it is far larger than what the run's own noise explains.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from candor.vocabulary import DIFFICULTIES, confidence_of

WINDOW = 10
"""Steps of which a level is the mean: a sixth of the paper's shortest run (60 steps), and 640 questions there."""
SURE = 6.0
"""Standard errors of the run's own noise that a fall must exceed: every step is looked at, hundreds of times a run."""

SPIKE = 10.0
"""Times the median, and robust standard deviations above it, that make a loss or gradient norm a spike."""
OVER_LARGEST = 5.0
"""And times the largest distance from it just before: both have heavy tails, whose outliers alone are no news."""
BASELINE = 30
LEAST_BASELINE = 20
"""Steps that a spike is compared with, and the fewest: of fewer, none may have been large yet."""

FALLEN = 1 / 3
"""Share of its earlier best level at which accuracy or format has collapsed; in figures 8 to 10 they go far below it."""
LEAST_ACCURACY = 0.05
LEAST_FORMAT = 0.3
"""Levels below which there is nothing yet that could collapse."""

MISREAD = (0.05, 0.13)
"""Mean confidences of a model that takes the scale for 0 to 10. Its 10 is 0.104 and its 5 is 0.054; the few outputs that
still use the right scale pull the mean up."""
MISREAD_STEPS = 20
"""Steps that confidence has to stay there; in the paper's runs it stayed for hundreds (I.1), in passing it does not."""
MISREAD_GAP = 0.15
"""By how much accuracy must exceed it. Of an honest 0.1 one answer in ten is right, the paper's misreaders had 0.3 to 0.4."""

HACKED_STEPS = 20
"""Steps of which the levels are means that tell hacking: accuracy on hard questions is low and of few outputs."""
HACKED = 0.75
"""Share of its best that is left of the accuracy on hard questions. Under brier-2 the paper's models kept .45 to .80 of what
correctness-only gives, under log-1 .10 to .90 (tables 10, 23, 35)."""
SELECTIVE = 0.1
"""By how much the share kept on easy questions must be larger: giving up is chosen where a right answer is unlikely."""
GIVEN_UP = 0.2
"""Share of its best below which accuracy as a whole has been given up, easy questions too (log-loss, brier-score)."""

CONSTANT_STEPS = 20
"""Steps without any change of the reward that are many: at 512 outputs a step, ten thousand outputs rewarded alike."""
SAME = 1e-9

FORMAT_HELD = 0.9
"""Share of outputs that obey the format in the last steps of a run in which it held (F.4: at least 90 %)."""
FORMAT_LOST = 0.2
"""By how much the share that does not obey it is larger at evaluation. In F.4 the schemes that failed were above 0.5, the
others mostly under 0.2."""


@dataclass(frozen=True)
class Finding:
    """What a watcher saw."""

    name: str
    step: int | None
    """The first step, counted from 1, by which it is seen; None of an evaluation."""
    sentence: str
    """With the figures, for a reader who has not seen the log."""


def watch(log: pl.DataFrame) -> list[Finding]:
    """Return what all watchers of training find in a log, by first step."""
    watchers = (spikes, collapse, misreading, hacking, constant_reward)
    return sorted((finding for watcher in watchers for finding in watcher(log)), key=lambda finding: finding.step)


def spikes(log: pl.DataFrame) -> list[Finding]:
    """Find a loss or gradient norm far above all of the steps before it (I.2, figures 8 to 10).

    A step whose figure is missing or infinite is passed over: training in float16 has such steps while its loss scale is
    adjusted. Where the gradient is so for many steps in a row, nothing is learnt any more, and that is a finding.
    """
    findings = []
    infinite = _runs(np.where(np.isfinite(_values(log, "gradient_norm")), np.nan, 0.0))
    if (found := np.flatnonzero(infinite >= LEAST_BASELINE)).size:
        at = int(found[0])
        sentence = f"no gradient is finite ({_span(log, at, LEAST_BASELINE)}), so the optimiser makes no step"
        findings.append(Finding("no finite gradient", _step(log, at), sentence))
    for column, title in (("loss", "loss"), ("gradient_norm", "gradient norm before clipping")):
        values = _values(log, column)
        for at in range(LEAST_BASELINE, len(values)):
            before = values[max(0, at - BASELINE) : at]
            before = before[np.isfinite(before)]
            if len(before) < LEAST_BASELINE or not np.isfinite(values[at]):
                continue
            middle = float(np.median(before))
            spread = 1.4826 * float(np.median(np.abs(before - middle)))
            largest = float(np.abs(before - middle).max())
            ordinary = max(SPIKE * spread, (SPIKE - 1) * abs(middle), OVER_LARGEST * largest)
            if spread > 0 and values[at] - middle > ordinary:
                sentence = (
                    f"the {title} is {values[at]:.3g} at step {_step(log, at)}; the median of the {len(before)} steps "
                    f"before is {middle:.3g} and none is more than {largest:.3g} from it"
                )
                findings.append(Finding(f"{column.replace('_', ' ')} spike", _step(log, at), sentence))
                break
    return findings


def collapse(log: pl.DataFrame) -> list[Finding]:
    """Find accuracy or format that falls away together with the reward (I.2, figures 8 to 10).

    A policy that gives up for the sake of its reward loses its accuracy too; its reward does not fall, and it is `hacking`.
    """
    reward = _values(log, "scheme_reward") + _values(log, "format_reward")
    for column, least, title in (
        ("accuracy", LEAST_ACCURACY, "accuracy"),
        ("format_rate", LEAST_FORMAT, "format rate"),
    ):
        values = _values(log, column)
        for at, best in _falls(values, WINDOW, FALLEN, least):
            if _mean(reward, at, WINDOW) < _mean(reward, best, WINDOW):
                sentence = (
                    f"{title} fell from {_mean(values, best, WINDOW):.3f} ({_span(log, best, WINDOW)}) to "
                    f"{_mean(values, at, WINDOW):.3f} ({_span(log, at, WINDOW)}), and the reward from "
                    f"{_mean(reward, best, WINDOW):.3f} to {_mean(reward, at, WINDOW):.3f}"
                )
                return [Finding("collapse", _step(log, at), sentence)]
    return []


def misreading(log: pl.DataFrame) -> list[Finding]:
    """Find a confidence that settles near 0.1 while far more answers are right: 0 to 10 for 0 to 100 (I.1, figure 7)."""
    confidence, accuracy = _values(log, "confidence"), _values(log, "accuracy")
    for at in range(MISREAD_STEPS - 1, len(confidence)):
        stated = confidence[at + 1 - MISREAD_STEPS : at + 1]
        right = _mean(accuracy, at, MISREAD_STEPS)
        settled = bool(((stated >= MISREAD[0]) & (stated <= MISREAD[1])).all())
        if settled and right - stated.mean() > max(MISREAD_GAP, SURE * _noise(accuracy[: at + 1]) / MISREAD_STEPS**0.5):
            sentence = (
                f"confidence stays near {stated.mean():.3f} ({_span(log, at, MISREAD_STEPS)}) while {right:.3f} of the "
                f"answers are right: the scale of 0 to 100 is read as 0 to 10, whose 10 is {confidence_of(10):.3f}"
            )
            return [Finding("0-to-10 misreading", _step(log, at), sentence)]
    return []


def hacking(log: pl.DataFrame) -> list[Finding]:
    """Find answers that are given up because that pays (section 5.1, table 39).

    The signs in the log: accuracy falls, on hard questions by the larger share (or wholly, on all), confidence falls with
    it, and the scheme's reward does not fall. Abstentions themselves are judged after the evaluation only.
    """
    reward, confidence = _values(log, "scheme_reward"), _values(log, "confidence")
    accuracy = {name: _values(log, f"accuracy_{name}") for name in DIFFICULTIES} | {"all": _values(log, "accuracy")}

    def kept(name: str, at: int, best: int) -> float:
        then = _mean(accuracy[name], best, HACKED_STEPS)
        return _mean(accuracy[name], at, HACKED_STEPS) / then if then > 0 else np.nan

    def told(at: int, best: int, how: str) -> list[Finding]:
        levels = ", ".join(
            f"{name} {_mean(values, best, HACKED_STEPS):.3f} to {_mean(values, at, HACKED_STEPS):.3f}"
            for name, values in accuracy.items()
            if np.isfinite(_mean(values, at, HACKED_STEPS))
        )
        sentence = (
            f"accuracy fell {how} from {_span(log, best, HACKED_STEPS)} to {_span(log, at, HACKED_STEPS)} ({levels}), "
            f"confidence from {_mean(confidence, best, HACKED_STEPS):.3f} to {_mean(confidence, at, HACKED_STEPS):.3f}, "
            f"while the scheme's reward went from {_mean(reward, best, HACKED_STEPS):.3f} to "
            f"{_mean(reward, at, HACKED_STEPS):.3f}: giving up seems to pay"
        )
        return [Finding("hacking", _step(log, at), sentence)]

    def pays(at: int, best: int) -> bool:
        before, after = (
            [_mean(values, end, HACKED_STEPS) for values in (accuracy["all"], confidence, reward)] for end in (best, at)
        )
        return after[0] < before[0] and after[1] < before[1] and after[2] >= before[2]

    falls = [
        (at, best, "most on hard questions")
        for at, best in _falls(accuracy["hard"], HACKED_STEPS, HACKED, 0.0)
        if kept("easy", at, best) - kept("hard", at, best) > SELECTIVE
    ]
    falls += [
        (at, best, "on all questions") for at, best in _falls(accuracy["all"], HACKED_STEPS, GIVEN_UP, LEAST_ACCURACY)
    ]
    paying = [fall for fall in falls if pays(*fall[:2])]
    return told(*min(paying)) if paying else []


def constant_reward(log: pl.DataFrame) -> list[Finding]:
    """Find a reward that does not change for many steps, and a format that is never rewarded.

    The former from the first step on is a fault of the reward or the prompt (`fails` tells it); later on the policy has
    come to one and the same output, as a scheme that can be hacked wholly brings about.
    """
    scheme, format_reward = _values(log, "scheme_reward"), _values(log, "format_reward")
    findings = []
    same = _runs(scheme + format_reward)
    if (found := np.flatnonzero(same >= CONSTANT_STEPS)).size:
        at = int(found[0])
        begin = "the first step" if same[at] == at + 1 else f"step {_step(log, at + 1 - CONSTANT_STEPS)}"
        sentence = (
            f"the reward (scheme's {scheme[at]:.4g}, format's {format_reward[at]:.4g}) is the same in each of the "
            f"{CONSTANT_STEPS} steps from {begin} on: there is nothing to learn from"
        )
        findings.append(Finding("constant reward", _step(log, at), sentence))
    if len(scheme) >= CONSTANT_STEPS and not format_reward[:CONSTANT_STEPS].any():
        sentence = f"no output of the first {CONSTANT_STEPS} steps earned anything for its format"
        findings.append(Finding("format never rewarded", _step(log, CONSTANT_STEPS - 1), sentence))
    return findings


def fails(log: pl.DataFrame) -> str | None:
    """Tell why a run should end: its reward has been the same from the first step on for many steps.

    One that becomes constant later goes on: it has learnt, and what it has learnt is a result (log-loss).
    """
    begin = log.sort("step").head(CONSTANT_STEPS)
    found = [finding.sentence for finding in constant_reward(begin) if finding.name == "constant reward"]
    if not found:
        return None
    truncated, well_formed = begin["truncation_rate"].mean(), begin["format_rate"].mean()
    if truncated is not None and truncated > 0.5:
        cause = f"{truncated:.0%} of the outputs are cut off at the token limit: raise max_tokens"
    elif well_formed == 0:
        cause = (
            "no output obeys the format: start from SFT (rl.start) or enforce it (rl.enforce_format), and look whether the "
            "prompt asks for the format that is rewarded"
        )
    else:
        cause = "outputs are readable, so look whether the grader and the golds belong together"
    return f"{found[0]}. Likely cause: {cause}"


def format_at_evaluation(log: pl.DataFrame, invalid_format_rate: float | None) -> list[Finding]:
    """Find a format that held at the end of training and fails at evaluation (F.4: Qwen 3 on DeepMath-103K).

    Args:
        log: the evaluated attempt's.
        invalid_format_rate: of the evaluation, over all difficulties; None where it was not measured.
    """
    obeyed = _values(log, "format_rate")
    if invalid_format_rate is None or len(obeyed) < WINDOW:
        return []
    held = _mean(obeyed, len(obeyed) - 1, WINDOW)
    if held < FORMAT_HELD or invalid_format_rate - (1 - held) <= FORMAT_LOST:
        return []
    sentence = (
        f"{held:.3f} of the outputs obeyed the format in the last {WINDOW} steps of training, but "
        f"{1 - invalid_format_rate:.3f} at evaluation: look at truncated outputs and at the sampling, which differs"
    )
    return [Finding("format lost at evaluation", None, sentence)]


def _values(log: pl.DataFrame, column: str) -> NDArray[np.float64]:
    """Return a column by step; NaN where a step has none."""
    return log.sort("step")[column].cast(pl.Float64).fill_null(np.nan).to_numpy()


def _step(log: pl.DataFrame, at: int) -> int:
    return int(log["step"].sort()[at])


def _span(log: pl.DataFrame, at: int, width: int) -> str:
    return f"steps {_step(log, at + 1 - width)} to {_step(log, at)}"


def _mean(values: NDArray[np.float64], at: int, width: int) -> float:
    """Return the mean of the `width` values that end at one; NaN where fewer than half of them are known."""
    part = values[max(0, at + 1 - width) : at + 1]
    known = part[np.isfinite(part)]
    return float(known.mean()) if 2 * len(known) >= width else np.nan


def _noise(values: NDArray[np.float64]) -> float:
    """Estimate the standard deviation of a step's value about the run's course, from the changes between steps."""
    known = values[np.isfinite(values)]
    return float(np.sqrt((np.diff(known) ** 2).mean() / 2)) if len(known) > 1 else np.inf


def _falls(values: NDArray[np.float64], width: int, share: float, least: float) -> list[tuple[int, int]]:
    """List the steps whose level has fallen to `share` of an earlier one, and where that was.

    A level is a mean of `width` steps. It is compared with the highest one before its steps, which must be over `least`, and
    the fall must be SURE.
    """
    levels = [_mean(values, at, width) if at >= width - 1 else np.nan for at in range(len(values))]
    found, best = [], None
    for at in range(2 * width - 1, len(values)):
        earlier = at - width
        if np.isfinite(levels[earlier]) and (best is None or levels[earlier] > levels[best]):
            best = earlier
        if best is None or not np.isfinite(levels[at]) or levels[best] <= least:
            continue
        error = _noise(values[: at + 1]) * (2 / width) ** 0.5
        if levels[at] <= share * levels[best] and levels[best] - levels[at] > SURE * error:
            found.append((at, best))
    return found


def _runs(values: NDArray[np.float64]) -> NDArray[np.int_]:
    """Count, for each value, the values up to it that are the same as it; 0 where it is NaN."""
    counts = np.zeros(len(values), dtype=int)
    for at, value in enumerate(values):
        if np.isfinite(value):
            counts[at] = 1 + (counts[at - 1] if at and abs(value - values[at - 1]) <= SAME else 0)
    return counts
