"""Rows of data sets, from files (JSON lines, JSON, Parquet, CSV) or from the hub; errors name file, row and field."""

import csv
import io
import json
import os
import reprlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Any

import polars as pl

from candor.config import HubSource

ABSENT = object()
"""Stands for a field that is not there."""


class DataError(ValueError):
    """A source cannot be read, or a row is not of its schema; the message names the file, the row and the field."""


def download(source: HubSource, config: str | None, split: str, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Load one split from the hub, of its pinned revision and the named columns alone.

    Returns:
        The rows, as (place in the split, row).

    Raises:
        DataError: the hub cannot be reached, or has no such repository, configuration, revision or column.
    """
    from datasets import load_dataset  # of the model environment; files and the generators do without it

    try:
        rows = load_dataset(source.hub, config, revision=source.revision, split=split, columns=list(columns))
    except Exception as error:  # whatever it is (network, name, revision, columns), the remedy is the same
        raise DataError(
            f"{source.hub} at {source.revision}: cannot be loaded from the hub ({error}); check hub, config and revision, "
            "or give files instead"
        ) from error
    return ((f"row {index}", row) for index, row in enumerate(rows))


def expand(path: str) -> Path:
    """Replace `$NAME` in a path from the environment.

    Raises:
        DataError: a variable is not set, or a $ is not followed by a name.
    """
    try:
        return Path(Template(path).substitute(os.environ))
    except KeyError as error:
        name = error.args[0]
        raise DataError(f"{path}: environment variable {name} is not set; set it, or write the path out") from None
    except ValueError:
        raise DataError(f"{path}: a $ must be followed by an environment variable's name (write $$ for a $)") from None


def read(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Read a file by its extension; of a Parquet file only those of `columns` that it has.

    Yields:
        The rows, as (place in the file, row): lines from 1, other rows from 0. A row is whatever stands there.

    Raises:
        DataError: the extension is not known, or the file is not readable as what it says.
    """
    readers = {
        ".jsonl": lambda: _read_jsonl(path),
        ".json": lambda: _read_json(path),
        ".parquet": lambda: _read_parquet(path, columns),
        ".csv": lambda: _read_csv(path),
    }
    if path.suffix not in readers:
        raise DataError(f"{path}: extension {path.suffix!r} is not known; valid: {', '.join(readers)}")
    try:
        yield from readers[path.suffix]()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error


def text(value: Any, where: str, field: str) -> str:
    """Return a value that is text; DataError where it is not, or is none that a file can hold."""
    if not isinstance(value, str):
        raise wrong(where, field, "text", value)
    try:
        value.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which JSON can write and no file of ours can hold
        raise wrong(where, field, "text in Unicode", value) from None
    return value


def wrong(where: str, field: str, expected: str, found: Any) -> DataError:
    """Return the error of a field that is not what its schema says."""
    return DataError(f"{where}: field {field!r}: expected {expected}, found {show(found)}")


def show(value: Any) -> str:
    """Write what was found, shortened, with its type."""
    return "nothing" if value is ABSENT else f"{reprlib.repr(value)} ({type(value).__name__})"


def _read_jsonl(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():  # a blank line, as at the end of many files, is no row
                yield f"line {number}", _decode(line, f"{path}: line {number}", "one JSON object")


def _read_json(path: Path) -> Iterator[tuple[str, Any]]:
    rows = _decode(path.read_bytes(), str(path), "a JSON list of rows (JSON lines have the extension .jsonl)")
    if not isinstance(rows, list):
        raise DataError(f"{path}: expected a list of rows, found {type(rows).__name__}")
    return ((f"row {index}", row) for index, row in enumerate(rows))


def _read_parquet(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Any]]:
    try:
        with path.open("rb") as file:  # not by its path, in which polars would take brackets for a pattern
            names = pl.read_parquet_schema(file)
            file.seek(0)
            frame = pl.read_parquet(file, columns=[name for name in names if name in columns])
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path}: not readable as Parquet ({error})") from error
    return ((f"row {index}", row) for index, row in enumerate(frame.iter_rows(named=True)))


def _read_csv(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline=""), strict=True))
    except (csv.Error, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not readable as CSV in UTF-8 ({error})") from error
    return ((f"row {index}", row) for index, row in enumerate(rows))


def _decode(data: bytes, where: str, expected: str) -> Any:
    try:
        return json.loads(data.decode())
    except (ValueError, RecursionError) as error:  # ValueError: not JSON, or not UTF-8
        raise DataError(f"{where}: expected {expected}, found what is not valid JSON ({error})") from error
