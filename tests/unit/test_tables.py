"""Files between stages: refused when they are not of their schema, and written whole or not at all."""

import polars as pl
import pytest

from candor import tables

SCHEMA = pl.Schema({"name": pl.String, "count": pl.Int32})


def test_what_is_written_is_read(tmp_path):
    frame = pl.DataFrame({"name": ["a"], "count": [1], "more": [2.0]}, schema_overrides=SCHEMA)
    tables.write(frame, tmp_path / "new/x.parquet", SCHEMA)
    assert tables.read(tmp_path / "new/x.parquet", SCHEMA).to_dicts() == [{"name": "a", "count": 1}]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["x.parquet"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"name": ["a"]}, "column 'count' is missing"),
        ({"name": ["a"], "count": [1.5]}, "column 'count' is Float64, not Int32"),
    ],
)
def test_another_schema_is_refused(tmp_path, columns, message):
    path = tmp_path / "x.parquet"
    pl.DataFrame(columns).write_parquet(path)
    with pytest.raises(tables.TableError, match=message) as error:
        tables.read(path, SCHEMA)
    assert str(path) in str(error.value)
    with pytest.raises(tables.TableError, match=message):
        tables.write(pl.DataFrame(columns), tmp_path / "y.parquet", SCHEMA)
    assert not (tmp_path / "y.parquet").exists()


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and then nothing"])
def test_an_unreadable_file_is_named(tmp_path, content):
    path = tmp_path / "x.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(tables.TableError, match=r"x\.parquet: not readable as Parquet"):
        tables.read(path, SCHEMA)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_failure_leaves_what_was_there(tmp_path, kind):
    path = tmp_path / "x"
    with tables.replacing(path) as new:
        write_one(new, kind, "old")
    with pytest.raises(ZeroDivisionError):
        fail_half_way(path, kind)
    assert read_one(path, kind) == "old"
    with tables.replacing(path) as new:
        write_one(new, kind, "new")
    assert read_one(path, kind) == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


def fail_half_way(path, kind):
    with tables.replacing(path) as new:
        write_one(new, kind, "new")
        _ = 1 / 0


def write_one(path, kind, text):
    if kind == "folder":
        path.mkdir()
        path = path / "inside"
    path.write_text(text)


def read_one(path, kind):
    return (path / "inside" if kind == "folder" else path).read_text()


def test_json_has_no_nan(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        tables.write_json({"a": float("nan")}, tmp_path / "x.json")
    assert not list(tmp_path.iterdir())


def test_a_fingerprint_tells_settings_and_contents_apart(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "weights").write_bytes(b"one")
    first = tables.fingerprint({"a": 1, "b": 2}, tmp_path / "folder")
    assert tables.fingerprint({"b": 2, "a": 1}, tmp_path / "folder") == first
    assert tables.fingerprint({"a": 1, "b": 3}, tmp_path / "folder") != first
    (tmp_path / "folder" / "weights").write_bytes(b"two")
    assert tables.fingerprint({"a": 1, "b": 2}, tmp_path / "folder") != first
