"""The documents tell the truth about files, tables and figures."""

import re
from pathlib import Path

import polars as pl
import pytest

from candor import tables

DOCS = Path(__file__).parents[2] / "docs"
TYPES = {pl.String: "text", pl.Int32: "int32", pl.Float64: "float64", pl.Boolean: "bool"}
SCHEMAS = {name: value for name, value in vars(tables).items() if isinstance(value, pl.Schema)}


def columns(title: str) -> list[tuple[str, str]]:
    """Read the names and types of a section's columns, each of which must say what it is."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", (DOCS / "files.md").read_text(), re.DOTALL | re.MULTILINE)
    assert section, f"docs/files.md has no section {title!r}"
    rows = re.findall(r"^\| `(\w+)` \| ([\w ]+) \| (.*) \|$", section[1], re.MULTILINE)
    assert all(meaning.strip() for *_, meaning in rows)
    return [(name, kind) for name, kind, _ in rows]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_column_of_every_file_is_described(name):
    title = name.replace("_", " ").capitalize().replace("Mcq", "Multiple-choice").replace("Sft", "SFT")
    expected = [
        (column, f"list of {TYPES[kind.inner]}" if isinstance(kind, pl.List) else TYPES[kind.base_type()])
        for column, kind in SCHEMAS[name].items()
    ]
    assert columns(title) == expected
