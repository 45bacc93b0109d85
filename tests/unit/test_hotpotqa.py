import json
import os
import random
import subprocess
import sys
import types
from collections import Counter
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest

from candor import data, tables
from candor.config import Dataset, FileSource, GeneratedSource, HubSource
from candor.data import hotpotqa
from candor.data.hotpotqa import DataError, Row

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("CANDOR_DATA", ROOT.parent / "shared/data")) / "hotpotqa"
REVISION = "0123456789abcdef0123456789abcdef01234567"

real_files = pytest.mark.skipif(
    not FOLDER.is_dir() and os.environ.get("CI") != "true", reason=f"no real data at {FOLDER}; set CANDOR_DATA"
)


def official(number=0, **changes):
    """A row of the official schema, made up."""
    row = {
        "_id": f"id-{number}",
        "question": f"Question {number}?",
        "answer": f"answer {number}",
        "type": "bridge",
        "level": "hard",
        "supporting_facts": [["Title 3", 0], ["Title 7", 1], ["Title 7", 0]],
        "context": [[f"Title {i}", [f"First of {number}-{i}.", f" Second of {number}-{i}."]] for i in range(10)],
    }
    row.update(changes)
    return {key: value for key, value in row.items() if value is not None}


def as_hub(row):
    """The same row in the hub's schema."""
    row = dict(row)
    titles, sentences = zip(*row.pop("context"), strict=True)
    facts, numbers = zip(*row.pop("supporting_facts"), strict=True)
    identity = {"id": row.pop("_id")} if "_id" in row else {}
    return {
        **identity,
        **row,
        "supporting_facts": {"title": list(facts), "sent_id": list(numbers)},
        "context": {"title": list(titles), "sentences": list(sentences)},
    }


def write(path, rows):
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".json":
        path.write_text(json.dumps(rows))
    else:
        pl.DataFrame(rows).write_parquet(path)
    return path


def load(*paths, split="train"):
    paths = list(map(str, paths))
    return hotpotqa.load(FileSource(train=paths, test=paths), split)


def row_of(number, paragraphs=10):
    return Row(
        id=f"id-{number}",
        question="?",
        answer="!",
        level="hard",
        paragraphs=tuple((f"Title {i}", f"Text {i}.") for i in range(paragraphs)),
        supporting=frozenset({"Title 3", "Title 7"}),
    )


def dataset(source, kind="hotpotqa-modified", **limits):
    return Dataset(label="D", kind=kind, source=source, licence="CC-BY-SA-4.0", grader="rouge-1", **limits)


def is_near(count, total, share):
    return abs(count - total * share) < 4 * (total * share * (1 - share)) ** 0.5


def fate_of(seed, identity):
    """The rule of the documentation, written anew: SHA-256 of `seed:fate:id` modulo 3."""
    return ("easy", "medium", "hard")[int(sha256(f"{seed}:fate:{identity}".encode()).hexdigest(), 16) % 3]


# Real files. The counts were taken from the files by `Counter(len(json.loads(line)["context"]) for line in file)`.


@real_files
@pytest.mark.parametrize(
    ("name", "kept", "dropped", "level"),
    [
        ("train_easy_100", 97, {"2 paragraphs instead of 10": 2, "6 paragraphs instead of 10": 1}, "easy"),
        ("train_medium_100", 100, {}, "medium"),
        ("dev_hard_100_official", 99, {"4 paragraphs instead of 10": 1}, "hard"),
        ("dev_hard_100_hfschema", 100, {}, "hard"),
        ("dev_first100_hfschema_noid", 99, {"2 paragraphs instead of 10": 1}, "hard"),
    ],
)
def test_real_files_load_and_what_is_dropped_is_counted(name, kept, dropped, level):
    rows, counts = load(FOLDER / f"{name}.jsonl")
    assert (len(rows), counts) == (kept, dropped)
    assert len({row.id for row in rows}) == kept
    for row in rows:
        assert row.level == level
        assert len(row.paragraphs) == len(dict(row.paragraphs)) == 10
        assert len(row.supporting) == 2
        assert row.supporting <= dict(row.paragraphs).keys()


@real_files
def test_a_text_is_the_sentences_of_the_file_and_the_id_of_a_file_without_ids_is_of_the_content():
    raw = json.loads((FOLDER / "dev_first100_hfschema_noid.jsonl").read_text(encoding="utf-8").splitlines()[0])
    row = load(FOLDER / "dev_first100_hfschema_noid.jsonl")[0][0]
    assert row.question == raw["question"]
    assert row.paragraphs == tuple(
        (title, "".join(sentences))
        for title, sentences in zip(raw["context"]["title"], raw["context"]["sentences"], strict=True)
    )
    assert row.supporting == {"Scott Derrickson", "Ed Wood"}
    assert row.id == sha256(b"Were Scott Derrickson and Ed Wood of the same nationality?\nyes").hexdigest()[:24]


@real_files
@pytest.mark.parametrize("seed", [0, 7])
def test_hotpotqa_modified_of_the_real_files(seed):
    train = [str(FOLDER / f"train_{level}_100.jsonl") for level in ("easy", "medium")]
    source = FileSource(train=train, test=[str(FOLDER / "dev_hard_100_official.jsonl")])
    frame, report = data.build(dataset(source), "train", seed)

    raw = [json.loads(line) for path in train for line in Path(path).read_text(encoding="utf-8").splitlines()]
    raw = {row["_id"]: row for row in raw if len(row["context"]) == 10}
    fates = {identity: fate_of(seed, identity) for identity in raw}
    counts = Counter(fates.values())
    assert report == {
        "read": 200,
        "dropped": {"2 paragraphs instead of 10": 2, "6 paragraphs instead of 10": 1},
        "kept": 197,
        "rows": 197,
        "difficulty": {level: counts[level] for level in ("easy", "medium", "hard")},
    }
    assert frame.schema == tables.QUESTIONS
    assert dict(frame.select("question_id", "difficulty").iter_rows()) == fates
    for identity, prompt, gold, difficulty in frame.iter_rows():
        row = raw[identity]
        assert gold == row["answer"]
        assert row["question"] in prompt.splitlines()[0]
        left = {title for title, sentences in row["context"] if f": {title}\n{''.join(sentences)}" in prompt}
        relevant = {title for title, _ in row["supporting_facts"]}
        assert len(left) == 8
        assert len(relevant - left) == {"easy": 0, "medium": 1, "hard": 2}[difficulty]
        assert prompt.count("\n\nSource ") == 8


@real_files
def test_both_schemas_give_the_same_rows(tmp_path):
    rows = [json.loads(line) for line in (FOLDER / "train_easy_100.jsonl").read_text(encoding="utf-8").splitlines()]
    expected = load(FOLDER / "train_easy_100.jsonl")
    hub = [as_hub(row) for row in rows]
    assert load(write(tmp_path / "official.json", rows)) == expected
    assert load(write(tmp_path / "hub.json", hub)) == expected
    assert load(write(tmp_path / "hub.jsonl", hub)) == expected
    assert load(write(tmp_path / "hub.parquet", hub)) == expected


# HotpotQA-Modified


def test_the_three_fates_are_equally_likely_and_remove_what_they_say():
    total = 30_000
    fates, removed_easy, removed_medium = Counter(), Counter(), Counter()
    for number in range(total):
        row = row_of(number)
        modified = hotpotqa.modify(row, seed=3)
        removed = [title for title, _ in row.paragraphs if title not in dict(modified.paragraphs)]
        relevant = sum(title in row.supporting for title in removed)
        assert len(removed) == 2
        assert relevant == {"easy": 0, "medium": 1, "hard": 2}[modified.level]
        assert [p for p in row.paragraphs if p in modified.paragraphs] == list(modified.paragraphs)
        fates[modified.level] += 1
        if modified.level == "easy":
            removed_easy.update(removed)
        elif modified.level == "medium":
            removed_medium.update(removed)
    assert sum(fates.values()) == total
    assert all(is_near(count, total, 1 / 3) for count in fates.values())
    for title, _ in row_of(0).paragraphs:
        if title in ("Title 3", "Title 7"):
            assert removed_easy[title] == 0
            assert is_near(removed_medium[title], fates["medium"], 1 / 2)
        else:
            assert is_near(removed_easy[title], fates["easy"], 1 / 4)
            assert is_near(removed_medium[title], fates["medium"], 1 / 8)


@pytest.mark.parametrize("seed", [0, 1, 20250101])
def test_the_fates_of_a_thousand_ids_are_those_of_the_documented_rule(seed):
    levels = [hotpotqa.modify(row_of(number), seed).level for number in range(1000)]
    assert levels == [fate_of(seed, f"id-{number}") for number in range(1000)]


def test_another_seed_is_another_draw():
    assert [hotpotqa.modify(row_of(n), 0) for n in range(50)] != [hotpotqa.modify(row_of(n), 1) for n in range(50)]


def test_the_order_of_the_sources_is_uniform_and_independent_of_the_fate():
    total, place = 6000, Counter()
    for number in range(total):
        shuffled = hotpotqa.shuffle(row_of(number), seed=5)
        assert sorted(shuffled.paragraphs) == sorted(row_of(number).paragraphs)
        place[[title for title, _ in shuffled.paragraphs].index("Title 3")] += 1
    assert all(is_near(place[index], total, 1 / 10) for index in range(10))


@pytest.mark.parametrize("kind", ["hotpotqa", "hotpotqa-modified"])
def test_a_question_is_the_same_for_any_order_subset_or_limit(tmp_path, kind):
    rows = [official(number) for number in range(60)]
    source = lambda rows, name: FileSource(train=[path := str(write(tmp_path / name, rows))], test=[path])  # noqa: E731
    whole, _ = data.build(dataset(source(rows, "a.jsonl"), kind), "train", 4)
    backwards = [{**row, "context": row["context"][::-1]} for row in rows[::-1]]
    assert data.build(dataset(source(backwards, "b.jsonl"), kind), "train", 4)[0].equals(whole)
    some, _ = data.build(dataset(source(random.Random(1).sample(rows, 20), "c.jsonl"), kind), "train", 4)
    assert some.equals(whole.filter(pl.col("question_id").is_in(some["question_id"].to_list())))
    limited, report = data.build(dataset(source(rows, "d.jsonl"), kind, train_limit=7, test_limit=3), "train", 4)
    assert limited.equals(whole.head(7))
    assert (report["read"], report["kept"], report["rows"]) == (60, 60, 7)
    assert sum(report["difficulty"].values()) == 7
    assert data.build(dataset(source(rows, "e.jsonl"), kind, test_limit=3), "test", 4)[0].equals(whole.head(3))
    assert not data.build(dataset(source(rows, "f.jsonl"), kind), "train", 5)[0].equals(whole)
    assert whole["question_id"].to_list() != [row["_id"] for row in rows]


# Prompt and table


def test_the_prompt_is_that_of_the_paper():
    row = Row("x", "Who?", "me", "easy", (("A", "One. Two."), ("B (film)", "Three.")), frozenset("A"))
    assert hotpotqa.prompt(row) == (
        "Based on the information sources given below and your existing knowledge, answer the following question: Who?\n"
        "\n"
        "Source 1: A\n"
        "One. Two.\n"
        "\n"
        "Source 2: B (film)\n"
        "Three."
    )


def test_unmodified_hotpotqa_keeps_its_ten_sources_and_its_level(tmp_path):
    levels = ["easy", "medium", "hard", "hard"]
    path = str(write(tmp_path / "x.jsonl", [official(number, level=level) for number, level in enumerate(levels)]))
    frame, report = data.build(dataset(FileSource(train=[path], test=[path]), "hotpotqa"), "test", 0)
    assert report["difficulty"] == {"easy": 1, "medium": 1, "hard": 2}
    assert dict(frame.select("question_id", "difficulty").iter_rows()) == {f"id-{i}": v for i, v in enumerate(levels)}
    for prompt in frame["prompt"]:
        assert prompt.count("\n\nSource ") == 10
    assert len({tuple(line for line in prompt.splitlines() if "Title" in line) for prompt in frame["prompt"]}) == 4


# What is dropped


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"context": official()["context"][:9]}, "9 paragraphs instead of 10"),
        ({"context": official()["context"][:9] + official()["context"][:1]}, "two paragraphs of one title"),
        ({"supporting_facts": [["Title 1", 0], ["Title 1", 1]]}, "1 supporting titles instead of 2"),
        ({"supporting_facts": [["Title 1", 0], ["Title 2", 0], ["Title 3", 0]]}, "3 supporting titles instead of 2"),
        ({"supporting_facts": [["Title 1", 0], ["Title 11", 0]]}, "supporting title without a paragraph"),
        ({"answer": " "}, "blank question or answer"),
    ],
)
def test_a_row_that_does_not_fit_is_dropped_and_counted(tmp_path, changes, reason):
    rows, dropped = load(write(tmp_path / "x.jsonl", [official(0), official(1, **changes), official(2)]))
    assert [row.id for row in rows] == ["id-0", "id-2"]
    assert dropped == {reason: 1}


def test_an_identical_duplicate_is_dropped_even_from_another_file_and_schema(tmp_path):
    first = write(tmp_path / "a.jsonl", [official(0), official(1), official(0)])
    second = write(tmp_path / "b.parquet", [as_hub(official(1)), as_hub(official(2))])
    rows, dropped = load(first, second)
    assert [row.id for row in rows] == ["id-0", "id-1", "id-2"]
    assert dropped == {"identical duplicate": 2}


def test_an_id_of_two_contents_is_an_error(tmp_path):
    first = write(tmp_path / "a.jsonl", [official(0), official(1)])
    second = write(tmp_path / "b.json", [official(2), official(1, answer="other")])
    with pytest.raises(DataError) as error:
        load(first, second)
    assert (
        str(error.value) == f"{second}: row 1: field 'id': 'id-1' is also the id of other content, at {first}: line 2"
    )


def test_when_no_row_is_left_that_is_an_error(tmp_path):
    path = str(write(tmp_path / "x.jsonl", [official(context=official()["context"][:4])]))
    with pytest.raises(DataError, match=r"D, train: no row is left of 1; dropped: \{'4 paragraphs instead of 10': 1\}"):
        data.build(dataset(FileSource(train=[path], test=[path])), "train", 0)


# What is refused


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"question": None}, "field 'question': expected text, found nothing"),
        ({"answer": 5}, "field 'answer': expected text, found 5 (int)"),
        ({"_id": 7}, "field '_id': expected text, found 7 (int)"),
        ({"_id": ""}, "field '_id': expected text that is not empty, found '' (str)"),
        ({"_id": None}, "field 'id': expected an id, as the rows before have, found nothing"),
        ({"level": None}, "field 'level': expected easy or medium or hard, found nothing"),
        ({"level": "Hard"}, "field 'level': expected easy or medium or hard, found 'Hard' (str)"),
        ({"answer": "\ud800"}, "field 'answer': expected text in Unicode, found '\\ud800' (str)"),
        (
            {"context": None},
            "field 'context': expected [[title, [sentence, ...]], ...] or "
            "{title: [...], sentences: [[sentence, ...], ...]}, found nothing",
        ),
        ({"context": [["T", "text"]]}, "field 'context[0]': expected a title and a list of sentences, found "),
        ({"context": [["T", []], ["U", ["a", 3]]]}, "field 'context[1]': expected text, found 3 (int)"),
        ({"context": [["T", []], [4, ["a"]]]}, "field 'context[1]': expected text, found 4 (int)"),
        ({"context": {"title": ["T"]}}, "field 'context': expected [[title, "),
        (
            {"context": {"title": ["T"], "sentences": [["a"], ["b"]]}},
            "field 'context': expected a text for each title, found 2 for 1",
        ),
        (
            {"supporting_facts": None},
            "field 'supporting_facts': expected [[title, number], ...] or {title: [...]}, found nothing",
        ),
        ({"supporting_facts": ["T", "U"]}, "field 'supporting_facts': expected [[title, number], ...] or {title"),
        ({"supporting_facts": [[1, 0]]}, "field 'supporting_facts': expected text, found 1 (int)"),
        ({"supporting_facts": {"title": "T"}}, "field 'supporting_facts': expected [[title, number], ...] or {title"),
    ],
)
def test_a_wrong_field_is_refused_with_its_file_line_and_name(tmp_path, changes, message):
    rows = [official(0), official(1, **changes), official(2)]
    path = write(tmp_path / "x.jsonl", rows)
    with pytest.raises(DataError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: line 2: {message}")
    path = write(tmp_path / "x.json", rows)
    with pytest.raises(DataError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: row 1: {message}")


def test_an_id_in_a_file_without_ids_is_refused(tmp_path):
    path = write(tmp_path / "x.jsonl", [official(0, _id=None), official(1)])
    with pytest.raises(DataError) as error:
        load(path)
    assert str(error.value) == f"{path}: line 2: field 'id': expected none, as in the rows before, found 'id-1' (str)"


def test_a_parquet_file_of_other_columns_or_types_is_refused(tmp_path):
    rows = [as_hub(official(0)), as_hub(official(1))]
    path = tmp_path / "x.parquet"
    pl.DataFrame(rows).drop("answer").write_parquet(path)
    with pytest.raises(DataError) as error:
        load(path)
    assert str(error.value) == f"{path}: row 0: field 'answer': expected text, found nothing"
    rows[1]["answer"] = None
    write(path, rows)
    with pytest.raises(DataError) as error:
        load(path)
    assert str(error.value) == f"{path}: row 1: field 'answer': expected text, found None (NoneType)"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.jsonl", b"", "{path}: empty; expected at least one row"),
        ("x.jsonl", b"\n\n", "{path}: empty; expected at least one row"),
        ("x.json", b"[]", "{path}: empty; expected at least one row"),
        (
            "x.json",
            b"",
            "{path}: expected a JSON list of rows (JSON lines have the extension .jsonl), found what is not",
        ),
        ("x.json", b'{"data": []}', "{path}: expected a list of rows, found dict"),
        ("x.json", b"{}\n{}\n", "{path}: expected a JSON list of rows (JSON lines have the extension .jsonl), found "),
        (
            "x.json",
            b"[3]",
            "{path}: row 0: expected an object with id, question, answer, level, supporting_facts, conte",
        ),
        ("x.jsonl", b"[]\n", "{path}: line 1: expected an object with id, question, answer, level, supporting_facts, "),
        ("x.jsonl", b"[" * 100_000, "{path}: line 1: expected one JSON object, found what is not valid JSON ("),
        ("x.jsonl", b'{"a": "\xff"}', "{path}: line 1: expected one JSON object, found what is not valid JSON ("),
        ("x.parquet", b"PAR1", "{path}: not readable as Parquet ("),
        ("x.txt", b"", "{path}: extension '.txt' is not known; valid: .jsonl, .json, .parquet, .csv"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as error:
        load(path)
    assert str(error.value).startswith(message.format(path=path))


def test_a_broken_line_is_refused_with_its_number(tmp_path):
    path = write(tmp_path / "x.jsonl", [official(0), official(1)])
    path.write_text(path.read_text()[:-20])
    with pytest.raises(DataError) as error:
        load(path)
    assert str(error.value).startswith(f"{path}: line 2: expected one JSON object, found what is not valid JSON (")


def test_blank_lines_are_no_rows_but_count(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text("\n" + json.dumps(official(0)) + "\n \n" + json.dumps(official(1)) + "\r\n\n{}\n")
    with pytest.raises(DataError, match="line 6: field 'level': expected"):
        load(path)
    path.write_text(path.read_text()[:-3])
    assert len(load(path)[0]) == 2


@pytest.mark.parametrize("name", ["missing.jsonl", "missing.json", "missing.parquet"])
def test_a_missing_file_says_so(tmp_path, name):
    with pytest.raises(DataError) as error:
        load(tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: cannot be read (No such file or directory)"


def test_an_unknown_split_names_the_valid_ones(tmp_path):
    with pytest.raises(DataError, match="no split is called 'dev'; valid: train, test"):
        load(tmp_path / "x.jsonl", split="dev")


def test_a_path_is_expanded_from_the_environment(tmp_path, monkeypatch):
    write(tmp_path / "x.jsonl", [official(0)])
    monkeypatch.setenv("SOME_DATA", str(tmp_path))
    assert load("$SOME_DATA/x.jsonl") == load("${SOME_DATA}/x.jsonl") == load(tmp_path / "x.jsonl")
    monkeypatch.delenv("SOME_DATA")
    with pytest.raises(DataError) as error:
        load("$SOME_DATA/x.jsonl")
    message = "environment variable SOME_DATA is not set; set it, or write the path out"
    assert str(error.value) == f"$SOME_DATA/x.jsonl: {message}"
    with pytest.raises(DataError, match="must be followed by an environment variable's name"):
        load("data/$/x.jsonl")


# The hub. No test can reach it: one runs the real `datasets` on a folder laid out as the hub's repository is, the others
# put a stand-in in its place to see what it is asked for.


@pytest.mark.parametrize(("split", "hub_split"), [("train", "train"), ("test", "validation")])
def test_the_hub_is_asked_for_one_commit_one_split_and_the_columns_that_are_used(monkeypatch, split, hub_split):
    asked = []

    def load_dataset(*arguments, **options):
        asked.append((arguments, options))
        return [as_hub(official(0)), as_hub(official(1))]

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    source = HubSource(hub="hotpotqa/hotpot_qa", revision=REVISION, config="distractor")
    rows, dropped = hotpotqa.load(source, split)
    assert [row.id for row in rows] == ["id-0", "id-1"]
    assert dropped == {}
    columns = ["id", "question", "answer", "level", "supporting_facts", "context"]
    options = {"revision": REVISION, "split": hub_split, "columns": columns}
    assert asked == [(("hotpotqa/hotpot_qa", "distractor"), options)]


def test_a_hub_that_fails_or_holds_another_schema_says_where(monkeypatch):
    source = HubSource(hub="a/b", revision=REVISION)
    failing = types.SimpleNamespace(load_dataset=lambda *_, **__: (_ for _ in ()).throw(ConnectionError("offline")))
    monkeypatch.setitem(sys.modules, "datasets", failing)
    with pytest.raises(
        DataError, match=f"a/b at {REVISION}: cannot be loaded from the hub .offline.; check hub, config"
    ):
        hotpotqa.load(source, "train")
    other = types.SimpleNamespace(load_dataset=lambda *_, **__: [{"id": "x", "level": "hard", "answer": "a"}])
    monkeypatch.setitem(sys.modules, "datasets", other)
    with pytest.raises(
        DataError, match="a/b at 01234567, train: row 0: field 'question': expected text, found nothing"
    ):
        hotpotqa.load(source, "train")


def test_the_real_library_reads_a_folder_laid_out_as_the_hubs_repository(tmp_path, monkeypatch):
    datasets = pytest.importorskip("datasets", reason="`datasets` is of the model environment")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "repository/distractor").mkdir(parents=True)
    rows = [official(number) for number in range(4)]
    parts = {"train": rows[:3], "validation": rows[3:]}
    for split, part in parts.items():
        write(tmp_path / f"repository/distractor/{split}-00000-of-00001.parquet", [as_hub(row) for row in part])
    files = "".join(f"\n  - split: {split}\n    path: distractor/{split}-*" for split in parts)
    (tmp_path / "repository/README.md").write_text(
        f"---\nconfigs:\n- config_name: distractor\n  data_files:{files}\n---\n"
    )
    source = HubSource(hub=str(tmp_path / "repository"), revision=REVISION, config="distractor")
    assert hotpotqa.load(source, "train") == load(write(tmp_path / "train.jsonl", rows[:3]))
    assert hotpotqa.load(source, "test") == load(write(tmp_path / "test.jsonl", rows[3:]))


# The command


def run_script(folder, source):
    json_text = source if isinstance(source, str) else dataset(source).model_dump_json()
    outputs = {name: folder / "out" / name for name in ("train.parquet", "test.parquet", "report.json")}
    command = [sys.executable, ROOT / "scripts/build_dataset.py", "--dataset", json_text, "--seed", "3"]
    for option, name in (("--train", "train.parquet"), ("--test", "test.parquet"), ("--report", "report.json")):
        command += [option, outputs[name]]
    return subprocess.run(command, capture_output=True, text=True, check=False), outputs


def test_the_command_writes_both_splits_and_the_report(tmp_path):
    source = GeneratedSource(generated_train=12, generated_test=8)
    result, outputs = run_script(tmp_path, source)
    assert result.returncode == 0
    report = json.loads(outputs["report.json"].read_text())
    assert report["seed"] == 3
    assert report["in_both_splits"] == 0
    for split in ("train", "test"):
        frame, expected = data.build(dataset(source), split, 3)
        assert tables.read(outputs[f"{split}.parquet"], tables.QUESTIONS).equals(frame)
        assert report[split] == expected
        assert f"INFO D, {split}: {{'read': {expected['read']}, " in result.stderr
    _, repeated = run_script(tmp_path / "again", source)
    assert all(repeated[name].read_bytes() == path.read_bytes() for name, path in outputs.items())


def test_the_command_warns_of_questions_in_both_splits(tmp_path):
    path = str(write(tmp_path / "x.jsonl", [official(0), official(1)]))
    result, outputs = run_script(tmp_path, FileSource(train=[path], test=[path]))
    assert result.returncode == 0
    assert "WARNING D: 2 questions are in both splits" in result.stderr
    assert json.loads(outputs["report.json"].read_text())["in_both_splits"] == 2


@pytest.mark.parametrize("case", ["broken row", "not JSON", "not a dataset"])
def test_the_command_fails_with_one_line_and_writes_nothing(tmp_path, case):
    good = str(write(tmp_path / "good.jsonl", [official(0)]))
    bad = str(write(tmp_path / "bad.jsonl", [official(0), official(1, answer=1)]))
    source, message = {
        "broken row": (
            FileSource(train=[good], test=[bad]),
            f"{bad}: line 2: field 'answer': expected text, found 1 (int)",
        ),
        "not JSON": ("{", "1 validation error for Dataset Invalid JSON"),
        "not a dataset": ("{}", "5 validation errors for Dataset label Field required"),
    }[case]
    result, outputs = run_script(tmp_path, source)
    assert result.returncode == 1
    assert result.stderr.startswith(f"build_dataset: {message}")
    assert result.stderr.count("\n") == 1
    assert not any(path.exists() for path in outputs.values())
    assert not (tmp_path / "out").exists()
