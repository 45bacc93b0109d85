"""What a policy learns under a reward scheme: in closed form where it is blurred, and by training a small one.

In closed form, a policy that cannot state its confidence sharply errs on the side on which its scheme punishes less:
that is the calibration bias that the scheme pulls towards. By training, policy gradient decides for each of many
questions whether to try or to answer wrongly on purpose, and which of the 101 confidences to state.

`docs/scheme_laboratory.md` says what such a simulation shows and what it does not.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from candor.schemes.scheme import Scheme
from candor.schemes.theory import GRID, expected_reward
from candor.vocabulary import LEVELS

Floats = NDArray[np.float64]


def midpoints(n: int) -> Floats:
    """Return the midpoints of n equal parts of (0, 1): the questions' probabilities of a right answer."""
    return (np.arange(n) + 0.5) / n


# --- In closed form ---------------------------------------------------------------------------------------------------


def entropy_regularised(scheme: Scheme, tau: float = 0.05, p: ArrayLike | None = None) -> Floats:
    """Return the calibration bias of a policy that states c with a probability proportional to exp(E(c, p) / tau).

    It is the optimum of expected reward plus tau times the entropy of the stated confidence.

    Args:
        scheme: its rewards at the 101 confidences must be finite.
        tau: weight of the entropy, in units of reward; positive.
        p: true probabilities of a right answer; by default 400 midpoints of (0, 1).

    Returns:
        p minus the mean stated confidence, of p's shape; NaN where confidence earns nothing (`is_degenerate`).

    Raises:
        ValueError: tau is not positive, or p is not within [0, 1].
    """
    if not tau > 0:
        raise ValueError(f"tau must be positive, not {tau}")
    p, expected = _expected_rewards(scheme, p)
    if is_degenerate(scheme):
        return np.full_like(p, np.nan)
    weights = np.exp((expected - expected.max(axis=-1, keepdims=True)) / tau)
    return p - weights @ GRID / weights.sum(axis=-1)


def verbalisation_noise(scheme: Scheme, deviation: float = 0.15, p: ArrayLike | None = None) -> Floats:
    """Return the calibration bias of a policy that intends the best confidence, and states it with noise.

    The noise is a Gaussian kernel over the 101 values, renormalised for each intended value.

    Args:
        scheme: its rewards at the 101 confidences must be finite.
        deviation: standard deviation of the noise, in units of confidence; positive.
        p: true probabilities of a right answer; by default 400 midpoints of (0, 1).

    Returns:
        p minus the mean stated confidence, of p's shape; NaN where confidence earns nothing (`is_degenerate`).

    Raises:
        ValueError: the deviation is not positive, or p is not within [0, 1].
    """
    if not deviation > 0:
        raise ValueError(f"deviation must be positive, not {deviation}")
    p, expected = _expected_rewards(scheme, p)
    if is_degenerate(scheme):
        return np.full_like(p, np.nan)
    kernel = np.exp(-(((GRID[:, None] - GRID) / deviation) ** 2) / 2)
    kernel /= kernel.sum(axis=1, keepdims=True)
    intended = (expected @ kernel.T).argmax(axis=-1)
    return p - (kernel @ GRID)[intended]


def is_degenerate(scheme: Scheme) -> bool:
    """Tell whether every confidence earns the same, so that a policy keeps the one that it started with."""
    return bool(np.ptp(scheme.f(GRID)) == 0 and np.ptp(scheme.g(GRID)) == 0)


def _expected_rewards(scheme: Scheme, p: ArrayLike | None) -> tuple[Floats, Floats]:
    """Return p and E(c, p) at the 101 confidences, [..., 101]."""
    p = midpoints(400) if p is None else np.asarray(p, dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("p must be within [0, 1]")
    return p, expected_reward(scheme, GRID, p[..., None])


# --- By training ------------------------------------------------------------------------------------------------------

CONFIDENCE_STEP = 2.0
"""Step size of the logits of the confidences. Beyond, a policy settles on a confidence by chance; below, it is slow."""


@dataclass(frozen=True)
class Policy:
    """What was learnt about each question.

    Attributes:
        scheme: the name of the reward scheme.
        p: probability of a right answer when trying, [questions], ascending.
        effort: probability of trying, [questions].
        confidence: mean stated confidence after giving up (column 0) and after trying (column 1), [questions, 2].
    """

    scheme: str
    p: Floats
    effort: Floats
    confidence: Floats

    @property
    def accuracy(self) -> Floats:
        """Probability of a right answer, [questions]."""
        return self.p * self.effort

    @property
    def stated(self) -> Floats:
        """Mean stated confidence, [questions]."""
        return self.effort * self.confidence[:, 1] + (1 - self.effort) * self.confidence[:, 0]

    @property
    def hacking(self) -> float:
        """Share of the questions on which it mostly gives up."""
        return float((self.effort < 0.5).mean())

    @property
    def bias(self) -> float:
        """Calibration bias: accuracy minus mean confidence."""
        return float((self.accuracy - self.stated).mean())

    @property
    def threshold(self) -> float:
        """The p below which it mostly gives up, 0 where nowhere: the split that the fewest questions contradict."""
        tries = np.concatenate([[0], np.cumsum(self.effort > 0.5)])
        contradicting = tries + (len(self.p) - np.arange(len(self.p) + 1)) - (tries[-1] - tries)
        split = int(contradicting.argmin())
        edges = np.concatenate([[0], (self.p[1:] + self.p[:-1]) / 2, [1]])
        return float(edges[split])


def train(
    scheme: Scheme,
    ratio: float,
    steps: int = 4000,
    questions: int = 400,
    samples: int = 8,
    effort: float = 0.5,
    seed: int = 1,
) -> Policy:
    """Train a tabular policy by policy gradient under a scheme.

    For each question, whose p is a midpoint of (0, 1), the policy holds a logit of trying and the logits of the 101
    confidences after giving up and after trying. Trying is right with probability p, giving up never. A step draws
    `samples` answers to every question and follows the gradient of the mean of their advantage, the reward minus the
    group's mean, not scaled, as in the RL stage (paper E.5). At the start all confidences are alike.

    Args:
        scheme: its rewards at the 101 confidences must be finite.
        ratio: how many times larger the step size of confidence (CONFIDENCE_STEP) is than that of effort; positive.
        steps: gradient steps.
        questions: their number.
        samples: answers in a group, at least 2.
        effort: chance of trying at the start, in (0, 1).
        seed: of the draws. Schemes that share it face the same luck, each question draws its own.

    Raises:
        ValueError: an argument is out of its range.
    """
    if not ratio > 0:
        raise ValueError(f"ratio must be positive, not {ratio}")
    if steps < 1 or questions < 1 or samples < 2:
        raise ValueError(f"needs steps >= 1, questions >= 1, samples >= 2; found {steps}, {questions}, {samples}")
    if not 0 < effort < 1:
        raise ValueError(f"effort at the start must be in (0, 1), not {effort}")
    p = midpoints(questions)
    rewards = np.concatenate([scheme.g(GRID), scheme.f(GRID)])  # wrong at 0 to 100, right at 0 to 100
    random = np.random.default_rng(seed)
    tries = np.full(questions, np.log(effort) - np.log1p(-effort))  # logits
    # A row of logits is 2 q for giving up question q, 2 q + 1 for trying. Half the precision is twice the speed.
    logits = np.zeros((2 * questions, LEVELS), dtype=np.float32)
    first_row = 2 * np.arange(questions)[:, None]
    place = np.empty(len(logits), dtype=np.intp)
    for _ in range(steps):
        draws = random.random((3, questions, samples))
        chance = _sigmoid(tries)[:, None]
        tried = draws[0] < chance
        row = first_row + tried
        # Once effort has settled, most questions have only one row that is sampled; the other stays as it is.
        active = np.flatnonzero(np.bincount(row.ravel(), minlength=len(logits)))
        place[active] = np.arange(len(active))
        row = place[row]
        some = logits[active]
        some -= some.max(axis=1, keepdims=True)
        weights = np.exp(some)
        stated, total = _draw(weights, row, draws[1])
        right = tried & (draws[2] < p[:, None])
        reward = rewards[right * LEVELS + stated]
        advantage = (reward - reward.mean(axis=1, keepdims=True)) / samples
        tries += CONFIDENCE_STEP / ratio * (advantage * (tried - chance)).sum(axis=1)
        # The gradient of the logarithm of a softmax is one at what was drawn, minus its probabilities.
        push = CONFIDENCE_STEP * advantage.ravel()
        row = row.ravel()
        weights *= (np.bincount(row, push) / total).astype(np.float32)[:, None]
        some -= weights
        drawn = np.bincount(row * LEVELS + stated.ravel(), push, minlength=some.size)
        some += drawn.astype(np.float32).reshape(some.shape)
        logits[active] = some
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    confidence = weights @ GRID / weights.sum(axis=1)
    return Policy(scheme.name, p, _sigmoid(tries), confidence.reshape(questions, 2))


def _draw(weights: NDArray, row: NDArray, uniform: NDArray) -> tuple[NDArray, NDArray]:
    """Draw a column with a probability proportional to its weight, for every entry of `row`; and sum each row.

    Sums of halves take the place of running sums, which are slow: at every level, column i of the next narrower one is
    the sum of columns i and i + width of this one. A draw goes back through them, left or right by the left's weight.
    """
    half = 64
    level = weights[:, :half].copy()
    level[:, : LEVELS - half] += weights[:, half:]
    levels = [level]
    while (width := level.shape[1] // 2) > 0:
        level = level[:, :width] + level[:, width:]
        levels.append(level)
    total = levels.pop()[:, 0]
    value = uniform * total[row]
    column = np.zeros_like(row)
    for level in reversed(levels):
        left = level.ravel()[row * level.shape[1] + column]
        right = value >= left
        value -= left * right
        column += level.shape[1] // 2 * right
    left = weights.ravel()[row * LEVELS + column]
    return column + half * ((value >= left) & (column < LEVELS - half)), total


def _sigmoid(x: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(x / 2))
