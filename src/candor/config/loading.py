"""Reading a configuration, and saying what is wrong with one."""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from candor.config.schemes import SCHEME_KEYS, SchemeDefinition
from candor.config.sources import SOURCE_KEYS
from candor.config.whole import Config
from candor.vocabulary import BASELINES


class ConfigError(ValueError):
    """The configuration is not valid; the message names each key and the remedy."""


def load(settings: Mapping[str, Any] | str | Path) -> Config:
    """Validate a mapping, or the YAML file at a path.

    Raises:
        ConfigError: with one line for each key that is wrong.
    """
    name = "configuration"
    if not isinstance(settings, Mapping):
        name, text = str(settings), Path(settings).read_text(encoding="utf-8")
        try:
            settings = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"{name}: not valid YAML: {error}") from error
    try:
        return Config.model_validate(settings)
    except ValidationError as error:
        raise ConfigError(f"{name} is not valid:\n" + "\n".join(_explain(error, Config))) from None


def scheme_definition(name: str, definition: Any) -> BaseModel:
    """Validate the definition of one scheme; settings come back as they are.

    Raises:
        ConfigError: with one line for each key that is wrong.
    """
    try:
        return TypeAdapter(SchemeDefinition).validate_python(definition)
    except ValidationError as error:
        raise ConfigError(f"scheme {name!r} is not valid:\n" + "\n".join(_explain(error, SchemeDefinition))) from None


def json_schema() -> dict[str, Any]:
    """Return the JSON schema of the configuration file."""
    schema = Config.model_json_schema()
    schema["$defs"]["Run"]["properties"]["baselines"]["items"]["enum"] = list(BASELINES)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _explain(error: ValidationError, root: Any) -> list[str]:
    """Turn pydantic's errors into lines that name the key, the value and what is valid."""
    lines = []
    for item in error.errors():
        location = item["loc"]
        where = ".".join(str(part) for part in location if part not in (*_TAGS, "[key]"))
        message = re.sub(r"^Value error, ", "", item["msg"])
        if item["type"] == "extra_forbidden":
            valid = _valid_keys(root, location[:-1])
            close = get_close_matches(str(location[-1]), valid, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            message = f"unknown key{hint}; valid here: {', '.join(valid)}"
        elif item["type"] == "missing":
            message = "missing"
        elif item["type"] != "value_error":
            message += f" (found {item['input']!r})"
        line = f"  {where}: {message}" if where else f"  {message}"  # the whole file's own checks name their keys
        if line not in lines:
            lines.append(line)
    return lines


_MEMBERS = {cls.__name__: cls for cls in (*SOURCE_KEYS.values(), *SCHEME_KEYS.values())}
_TAGS = (*_MEMBERS, "SchemeName", "SchemeDefinition")


def _valid_keys(root: Any, location: tuple[int | str, ...]) -> list[str]:
    """List the keys that are valid at a place of the file; pydantic's location names a union's member by its tag."""
    cls = _model_in(root)
    for part in location:
        if part in _MEMBERS:
            cls = _MEMBERS[part]
        elif part in cls.model_fields and (inner := _model_in(cls.model_fields[part].annotation)):
            cls = inner
    return sorted(cls.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """Find the settings class in an annotation such as `dict[Name, Dataset]` or `Sft | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_model_in, get_args(annotation))), None)
