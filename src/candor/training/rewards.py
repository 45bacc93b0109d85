"""The reward of an output: the scheme's reward for its confidence, and the format's (paper section 3, appendix E.5).

Pure: texts in, numbers out. The thin wrapper for TRL is in `rl`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from candor.answers import json, json_repair, xml
from candor.grading.graders import Grade
from candor.schemes import Scheme
from candor.vocabulary import confidence_of


@dataclass(frozen=True)
class Rewards:
    """Rewards of a batch of n outputs and what they were given for; each an array of shape (n,)."""

    scheme: NDArray[np.float64]
    format: NDArray[np.float64]
    correct: NDArray[np.bool_]
    """As rewarded: not where the comparison with the gold timed out or failed."""
    graded: NDArray[np.bool_]
    """False where it did."""
    confidence: NDArray[np.float64]
    """(k + 0.5) / 101 as stated; NaN where no valid confidence is."""
    well_formed: NDArray[np.bool_]

    @property
    def total(self) -> NDArray[np.float64]:
        return self.scheme + self.format


def reward(
    texts: list[str],
    golds: list[str],
    scheme: Scheme,
    format: str,
    grade: Grade,
    json_format_reward: float | None = None,
    repair_json: bool = False,
) -> Rewards:
    """Reward outputs as in RL (paper E.5, E.5.1, E.5.2).

    An invalid confidence counts as the worst one for its answer: 100 where it is wrong, 0 where it is right. An answer
    that cannot be read is wrong, at confidence 100. One that cannot be compared with its gold, by a timeout or an error,
    earns what a wrong one does, at the confidence that it states: the paper does not say, and anything better would be
    worth writing what hangs the comparison.

    Args:
        texts: outputs as they came.
        golds: the right answers, one for each output.
        scheme: the confidence reward scheme.
        format: "xml" or "json".
        grade: compares answers with golds (`graders.open_grader`).
        json_format_reward: reward for the whole JSON format; None with XML.
        repair_json: whether broken JSON is repaired before it is read. What obeys the format after that is rewarded for it
            (E.5.2: what surrounds the JSON is not penalised), but is not `well_formed`.
    """
    if format == "xml":
        responses = [xml.parse(text) for text in texts]
        format_rewards = [xml.format_reward(text) for text in texts]
        well_formed = [response.well_formed for response in responses]
    else:
        well_formed = [json.parse(text).well_formed for text in texts]
        read = [
            text if fine or not repair_json else json_repair.repair(text)
            for text, fine in zip(texts, well_formed, strict=True)
        ]
        responses = [json.parse(text) for text in read]
        format_rewards = [json.format_reward(text, json_format_reward) for text in read]
    verdicts = grade([response.answer for response in responses], golds)
    correct = [bool(verdict.correct) for verdict in verdicts]
    percents = [
        100
        if response.answer is None
        else response.confidence
        if response.confidence is not None
        else (0 if right else 100)
        for response, right in zip(responses, correct, strict=True)
    ]
    correct = np.asarray(correct, dtype=bool)
    stated = [np.nan if response.confidence is None else response.confidence for response in responses]
    return Rewards(
        scheme=scheme.reward(correct, confidence_of(np.asarray(percents, dtype=float))),
        format=np.asarray(format_rewards, dtype=float),
        correct=correct,
        graded=np.asarray([verdict.correct is not None for verdict in verdicts], dtype=bool),
        confidence=confidence_of(np.asarray(stated, dtype=float)),
        well_formed=np.asarray(well_formed, dtype=bool),
    )
