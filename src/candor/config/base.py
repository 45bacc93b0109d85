"""What every part of the configuration is made of."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, use_attribute_docstrings=True)


Positive = Annotated[int, Field(gt=0)]
Revision = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


class Needs(Settings):
    memory_gib: Positive = 16
    """Memory of a first try; a retry asks for as much again."""
    hours: Annotated[float, Field(gt=0)] = 1.0
    """Time of a first try; a retry asks for as much again."""


def kind_by_key(kinds: Mapping[str, type[BaseModel]]) -> Callable[[Any], str | None]:
    """Tell which of several is meant, by a key that only one has, so that an error speaks of that one alone."""

    def kind(value: Any) -> str | None:
        if isinstance(value, BaseModel):
            return type(value).__name__
        keys = value if isinstance(value, Mapping) else ()
        return next((cls.__name__ for key, cls in kinds.items() if key in keys), None)

    return kind
