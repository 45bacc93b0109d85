"""Reward schemes of one's own, by their definitions; `candor.schemes` builds them and checks the mathematics."""

from typing import Annotated, Any

from pydantic import BaseModel, Discriminator, Field, Tag, model_validator

from candor.config.base import Settings, kind_by_key


class FormulaScheme(Settings):
    """A reward scheme as formulas in the confidence c: + - * / ** ^ ( ), log, ln, log1p, exp, expm1, sqrt, pi, e."""

    correct: "Formula"
    """f(c), the reward of a correct answer, such as `1 - (1 - c)^2`."""
    wrong: "Formula"
    """g(c), the reward of a wrong answer, such as `-c^2`."""


class DensityScheme(Settings):
    """The scheme of a density h (theorem 5): non-hackable by construction."""

    density: "Formula"
    """h(c) <= 0 as a formula in c, such as `-2`."""
    f0: float = 0.0
    """Reward of a correct answer at confidence 0."""
    g0: float = 0.0
    """Reward of a wrong answer at confidence 0; at most `f0`."""


class WeightScheme(Settings):
    """The scheme of a weight over abstention thresholds (definitions 9 and 10): non-hackable by construction."""

    weight: "Formula"
    """w(t) >= 0 as a formula in t, such as `2 * (1 - t)`."""
    f0: float = 0.0
    """Reward of a correct answer at confidence 0."""
    g0: float = 0.0
    """Reward of a wrong answer at confidence 0; at most `f0`."""


Share = Annotated[float, Field(gt=0, lt=1)]


class ShiftScheme(Settings):
    """Another scheme, shifted so that it pays to give up below some confidence."""

    shift: "SchemeReference"
    """The scheme that is shifted: its name, or its definition."""
    best_effort_from: Share | None = None
    """Best effort begins at this chance of being correct (theorem 10); giving up pays below some higher one."""
    give_up_below: Share | None = None
    """Giving up pays exactly below this chance of being correct (not in the paper)."""

    @model_validator(mode="after")
    def _one(self):
        if (self.best_effort_from is None) == (self.give_up_below is None):
            raise ValueError("shift needs one of best_effort_from and give_up_below")
        return self


class ScaleScheme(Settings):
    """Another scheme times a factor, plus an offset (theorem 9)."""

    scale: "SchemeReference"
    """The scheme that is scaled: its name, or its definition."""
    factor: Annotated[float, Field(gt=0)] = 1.0
    """What both rewards are multiplied by."""
    offset: float = 0.0
    """What is then added to both."""


class ClipScheme(Settings):
    """Another scheme, at the confidence clipped to bounds (section 5.1)."""

    clip: "SchemeReference"
    """The scheme that is clipped: its name, or its definition."""
    low: Share = 1 / 203
    """Lower confidences count as this one."""
    high: Share = 202 / 203
    """Higher confidences count as this one."""

    @model_validator(mode="after")
    def _ordered(self):
        if self.low >= self.high:
            raise ValueError(f"clip: low {self.low} must lie below high {self.high}")
        return self


class UnnormalisedScheme(Settings):
    """Overconfidence-k or underconfidence-k without its norm (appendix D.4)."""

    unnormalised: str
    """The scheme's name, such as `overconfidence-4`."""


SCHEME_KEYS = {
    "correct": FormulaScheme,
    "wrong": FormulaScheme,
    "density": DensityScheme,
    "weight": WeightScheme,
    "shift": ShiftScheme,
    "scale": ScaleScheme,
    "clip": ClipScheme,
    "unnormalised": UnnormalisedScheme,
}
_SCHEME_MESSAGE = (
    "not a definition of a scheme; valid: {correct, wrong}, {density, f0, g0}, {weight, f0, g0}, "
    "{shift, best_effort_from}, {shift, give_up_below}, {scale, factor, offset}, {clip, low, high}, {unnormalised}"
)
_kind_of_scheme = kind_by_key(SCHEME_KEYS)

Formula = str | int | float

SchemeDefinition = Annotated[
    Annotated[FormulaScheme, Tag("FormulaScheme")]
    | Annotated[DensityScheme, Tag("DensityScheme")]
    | Annotated[WeightScheme, Tag("WeightScheme")]
    | Annotated[ShiftScheme, Tag("ShiftScheme")]
    | Annotated[ScaleScheme, Tag("ScaleScheme")]
    | Annotated[ClipScheme, Tag("ClipScheme")]
    | Annotated[UnnormalisedScheme, Tag("UnnormalisedScheme")],
    Discriminator(_kind_of_scheme, custom_error_type="unknown_scheme", custom_error_message=_SCHEME_MESSAGE),
]

SchemeReference = Annotated[
    Annotated[str, Tag("SchemeName")] | Annotated[SchemeDefinition, Tag("SchemeDefinition")],
    Discriminator(lambda value: "SchemeName" if isinstance(value, str) else "SchemeDefinition"),
]

for _cls in set(SCHEME_KEYS.values()):
    _cls.model_rebuild()


def base_of(definition: BaseModel) -> Any:
    """Return what a definition is made of: a name, a definition, or None where it is made of formulas."""
    return next(
        (getattr(definition, key) for key in ("shift", "scale", "clip", "unnormalised") if hasattr(definition, key)),
        None,
    )
