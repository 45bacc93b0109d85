"""The reward of an output: the scheme's reward for its confidence, and the format's (paper section 3, appendix E.5).

Pure: texts in, numbers out. The thin wrapper for TRL is in `rl`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from candor.answers import json, xml
from candor.grading.text import grade
from candor.schemes import Scheme
from candor.vocabulary import confidence_of


@dataclass(frozen=True)
class Rewards:
    """Rewards of a batch of n outputs and what they were given for; each an array of shape (n,)."""

    scheme: NDArray[np.float64]
    format: NDArray[np.float64]
    correct: NDArray[np.bool_]
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
    grader: str,
    json_format_reward: float | None = None,
) -> Rewards:
    """Reward outputs as in RL (paper E.5, E.5.1, E.5.2).

    An invalid confidence counts as the worst one for its answer: 100 where it is wrong, 0 where it is right. An answer
    that cannot be read is wrong, at confidence 100.

    Args:
        texts: outputs as they came.
        golds: the right answers, one for each output.
        scheme: the confidence reward scheme.
        format: "xml" or "json".
        grader: how answers are compared, as in the configuration.
        json_format_reward: reward for the whole JSON format; None with XML.
    """
    if format == "xml":
        responses = [xml.parse(text) for text in texts]
        format_rewards = [xml.format_reward(text) for text in texts]
    else:
        responses = [json.parse(text) for text in texts]
        format_rewards = [json.format_reward(text, json_format_reward) for text in texts]
    _, correct = grade([response.answer for response in responses], golds, grader)
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
        confidence=confidence_of(np.asarray(stated, dtype=float)),
        well_formed=np.asarray([response.well_formed for response in responses], dtype=bool),
    )
