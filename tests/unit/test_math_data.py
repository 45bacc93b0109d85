"""BigMath, DeepMath-103K and arithmetic: either schema of each, their split, their terciles, and what is dropped."""

import json
import re
import sys
import types
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from candor import data
from candor.config import Dataset, HubSource
from candor.data import arithmetic, math
from candor.data.files import DataError

REVISION = "0123456789abcdef0123456789abcdef01234567"


def dataset(kind="bigmath", train="train.jsonl", test="test.jsonl", **changes):
    source = {"train": [str(train)], "test": [str(test)]}
    return Dataset(**{"label": "M", "kind": kind, "source": source, "licence": "MIT", "grader": "math", **changes})


def bigmath(number, rate=0.5, **changes):
    """A row of the authors' schema, made up."""
    row = {"problem": f"What is {number}?", "answer": str(number), "source": "x", "llama8b_solve_rate": rate}
    return {key: value for key, value in {**row, **changes}.items() if value is not ...}


def write(path, rows):
    if path.suffix == ".parquet":
        pl.DataFrame(rows).write_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def built(rows, test=(), kind="bigmath", split="train", *, folder, **changes):
    train = write(folder / "train.jsonl", rows)
    tested = write(folder / "test.jsonl", [*test, bigmath("a test question")] if kind == "bigmath" else test)
    return data.build(dataset(kind, train, tested, **changes), split, 1)


# Real rows


def test_the_real_rows_load_whole(tmp_path, data_folder):
    path = data_folder / "bigmath" / "big-math-digits_test_1000.jsonl"
    raw = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    train = write(tmp_path / "train.jsonl", [bigmath("a train question", 0.25), raw[0]])
    frame, report = data.build(dataset(train=train, test=path), "test", 5)
    assert (report["read"], report["kept"], report["dropped"]) == (1000, 1000, {})
    assert dict(frame.select("prompt", "gold").iter_rows()) == {row["problem"]: row["answer"].strip() for row in raw}
    assert report["terciles"] == [0.25, 0.25]
    assert report["difficulty"]["easy"] == sum(row["llama8b_solve_rate"] > 0.25 for row in raw)
    _, report = data.build(dataset(train=train, test=path), "train", 5)
    assert report["dropped"] == {"question is in test": 1}


def test_one_file_for_both_splits_is_split_without_overlap(data_folder):
    path = data_folder / "bigmath" / "big-math-digits_test_1000.jsonl"
    train, report = data.build(dataset(train=path, test=path), "train", 5)
    test, _ = data.build(dataset(train=path, test=path), "test", 5)
    assert (len(train), len(test)) == (970, 30)
    assert not set(train["question_id"]) & set(test["question_id"])
    rates = {row["problem"]: row["llama8b_solve_rate"] for row in map(json.loads, path.read_text().splitlines())}
    low, high = report["terciles"]
    for split in (train, test):
        for prompt, difficulty in split.select("prompt", "difficulty").iter_rows():
            expected = "hard" if rates[prompt] < low else "easy" if rates[prompt] > high else "medium"
            assert difficulty == expected


# Split and difficulty


@pytest.mark.parametrize(("rows", "share", "seed"), [(1000, 0.03, 886049745), (77, 0.05, 42), (1, 0.03, 1)])
def test_the_split_is_that_of_the_hubs_library(rows, share, seed):
    datasets = pytest.importorskip("datasets", reason="`datasets` is of the model environment")
    whole = datasets.Dataset.from_dict({"n": list(range(rows))})
    ours = math.split_rows(list(range(rows)), share, seed)
    if rows == 1:  # the library refuses an empty train split
        assert ours == {"train": [], "test": [0]}
        return
    theirs = whole.train_test_split(test_size=share, seed=seed)
    assert ours == {split: theirs[split]["n"] for split in ("train", "test")}


def test_the_split_of_ten_rows_by_hand():
    # numpy.random.default_rng(42).permutation(10) is 5 6 0 7 3 2 4 9 1 8; 5% of ten rows is rounded up to one
    assert math.split_rows(list("abcdefghij"), 0.05, 42) == {"train": list("gahdcejbi"), "test": ["f"]}


def test_a_tercile_lies_between_two_neighbours():
    assert math.terciles([4, 1, 3, 2]) == pytest.approx((2, 3))
    assert math.terciles([0, 1, 2]) == pytest.approx((2 / 3, 4 / 3))
    assert math.terciles([5]) == (5, 5)


def test_terciles_are_numpys_but_for_rounding():
    random = np.random.default_rng(0)
    for size in random.integers(1, 200, 50):
        levels = random.integers(0, 65, size) / 64
        assert math.terciles(levels.tolist()) == pytest.approx(np.percentile(levels, [100 / 3, 200 / 3]))


@pytest.mark.parametrize(
    ("level", "high_is_easy", "expected"),
    [(1.9, True, "hard"), (2, True, "medium"), (3, True, "medium"), (3.1, True, "easy"), (1.9, False, "easy"),
     (2, False, "medium"), (3, False, "medium"), (3.1, False, "hard")],
)  # fmt: skip
def test_ties_with_a_tercile_are_medium(level, high_is_easy, expected):
    assert math.difficulty(level, 2, 3, high_is_easy) == expected


def test_difficulty_is_judged_by_all_train_rows_whatever_the_limit(tmp_path):
    rows = [bigmath(number, number / 64) for number in range(64)]
    whole, report = built(rows, folder=tmp_path)
    few, limited = built(rows, folder=tmp_path, train_limit=5)
    assert few.rows() == whole.rows()[:5]
    assert limited["terciles"] == report["terciles"] == pytest.approx([21 / 64, 42 / 64])
    assert report["difficulty"] == {"easy": 21, "medium": 22, "hard": 21}
    assert (limited["kept"], limited["rows"]) == (64, 5)


def test_the_order_depends_on_the_seed_and_not_on_the_file(tmp_path):
    rows = [bigmath(number, number / 64) for number in range(40)]
    one, _ = built(rows, folder=tmp_path)
    other, _ = built(rows[::-1], folder=tmp_path)
    assert one.equals(other)
    assert one["gold"].to_list() != sorted(one["gold"])


# The schemas


def test_the_hubs_schema_of_bigmath_gives_the_same_rows(tmp_path):
    rows = [bigmath(number, number / 8) for number in range(8)]
    names = {"problem": "prompt", "answer": "solution"}
    as_hub = [{names.get(key, key): value for key, value in row.items()} for row in rows]
    test = write(tmp_path / "test.jsonl", [bigmath(99)])
    first, _ = data.build(dataset(train=write(tmp_path / "a.jsonl", rows), test=test), "train", 1)
    second, _ = data.build(dataset(train=write(tmp_path / "b.parquet", as_hub), test=test), "train", 1)
    assert first.equals(second)


def deepmath(number, difficulty=5.0, **changes):
    row = {"question": f"Find {number}.", "final_answer": rf"\frac{{{number}}}{{7}}", "difficulty": difficulty}
    return {**row, **changes}


def as_trl(row):
    answer = row["final_answer"]
    prompt = [{"role": "user", "content": row["question"]}]
    return {"prompt": prompt, "solution": answer if answer in ("Yes", "True") else f"${answer}$"}


def test_the_hub_is_asked_for_trls_split_and_the_authors_difficulty(monkeypatch):
    rows = [deepmath(number, float(number)) for number in range(12)]
    asked = []

    def load_dataset(hub, config, *, revision, split, columns):
        asked.append((hub, split, columns))
        if hub == "zwhe99/DeepMath-103K":
            return [{key: row[key] for key in columns} for row in rows]
        return [as_trl(row) for row in (rows[:9] if split == "train" else rows[9:])]

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    whole = dataset(
        "deepmath",
        source=HubSource(hub="trl-lib/DeepMath-103K", revision=REVISION),
        difficulty_source=HubSource(hub="zwhe99/DeepMath-103K", revision=REVISION),
    )
    frame, report = data.build(whole, "test", 1)
    assert asked == [
        ("zwhe99/DeepMath-103K", "train", ["question", "difficulty"]),
        ("trl-lib/DeepMath-103K", "train", ["prompt", "solution"]),
        ("trl-lib/DeepMath-103K", "test", ["prompt", "solution"]),
    ]
    assert sorted(frame.select("prompt", "gold", "difficulty").rows()) == [
        ("Find 10.", r"\frac{10}{7}", "hard"),
        ("Find 11.", r"\frac{11}{7}", "hard"),
        ("Find 9.", r"\frac{9}{7}", "hard"),
    ]
    assert report["terciles"] == pytest.approx([8 / 3, 16 / 3])


def test_the_hub_is_asked_for_one_split_of_bigmath(monkeypatch):
    asked = []

    def load_dataset(*arguments, **options):
        asked.append((arguments, options))
        return [{"prompt": f"{n}?", "solution": str(n), "llama8b_solve_rate": n / 100} for n in range(100)]

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    source = HubSource(hub="open-r1/Big-Math-RL-Verified-Processed", revision=REVISION, config="all")
    frame, _ = data.build(dataset(source=source), "test", 1)
    columns = ["prompt", "solution", "llama8b_solve_rate"]
    options = {"revision": REVISION, "split": "train", "columns": columns}
    assert asked == [(("open-r1/Big-Math-RL-Verified-Processed", "all"), options)]
    order = np.random.default_rng(886049745).permutation(100)
    assert set(frame["gold"]) == {str(number) for number in order[:3]}


# What is dropped, and what is refused


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (bigmath(2, problem=" \n"), "blank question or answer"),
        (bigmath(2, answer=" "), "blank question or answer"),
        (bigmath(2, answer="$$"), "blank question or answer"),
        (bigmath(2, rate=None), "no solve rate"),
        (bigmath(2, rate=float("nan")), "no solve rate"),
        (bigmath(1, answer="other"), "question is there twice"),
        (bigmath("a test question"), "question is in test"),
    ],
)
def test_a_row_that_does_not_fit_is_dropped_and_counted(tmp_path, row, reason):
    frame, report = built([bigmath(1), row, bigmath(3)], folder=tmp_path)
    assert sorted(frame["gold"]) == ["1", "3"]
    assert (report["read"], report["kept"], report["dropped"]) == (3, 2, {reason: 1})


@pytest.mark.parametrize("gold", ["yes", "No", "TRUE", " false ", "A", "$d$", "$ B $"])
def test_golds_to_prove_or_choose_are_dropped_from_deepmath_alone(tmp_path, gold):
    rows = [deepmath(1), deepmath(2, final_answer=gold), deepmath(3)]
    frame, report = built(rows, [deepmath(9)], "deepmath", folder=tmp_path)
    assert len(frame) == 2
    assert report["dropped"] == {"answer is yes, no, true, false or a letter": 1}
    frame, _ = built([bigmath(1), bigmath(2, answer=gold)], folder=tmp_path)
    assert len(frame) == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (bigmath(2, problem=...), "field 'prompt or problem': expected text, found nothing"),
        (bigmath(2, answer=2), "field 'answer': expected text, found 2 (int)"),
        (bigmath(2, rate="0.5"), "field 'llama8b_solve_rate': expected a number, found '0.5' (str)"),
        (bigmath(2, rate=True), "field 'llama8b_solve_rate': expected a number, found True (bool)"),
        (bigmath(2, rate=...), "field 'llama8b_solve_rate': expected a number, found nothing"),
        (["problem"], "expected an object with prompt, problem, found ['problem'] (list)"),
        (bigmath(2, problem=[]), "field 'problem': expected text or a conversation of one message, found [] (list)"),
    ],
)
def test_a_wrong_field_is_refused_with_its_file_line_and_name(tmp_path, row, message):
    with pytest.raises(DataError) as error:
        built([bigmath(1), row], folder=tmp_path)
    assert str(error.value) == f"{tmp_path / 'train.jsonl'}: line 2: {message}"


def test_an_empty_file_says_so(tmp_path):
    with pytest.raises(DataError, match=re.escape("train.jsonl: empty; expected at least one row")):
        built([], folder=tmp_path)


# Arithmetic


def solve(question):
    """Work a question out anew, from its text."""
    text = re.fullmatch(r"What is ([-+*/0-9 ]+)\?", question)[1]
    exact = re.sub(r"(\d+)/(\d+)", r"Fraction(\1, \2)", text)
    return Fraction(eval(exact, {"Fraction": Fraction}))


def test_sums_are_right_and_of_the_three_difficulties():
    source = {"generated_train": 400, "generated_test": 100}
    frame, report = data.build(dataset("arithmetic", source=source), "train", 1)
    assert all(100 < count < 170 for count in report["difficulty"].values())
    fractions = 0
    for question, gold, difficulty in frame.select("prompt", "gold", "difficulty").iter_rows():
        assert arithmetic.latex(solve(question)) == gold
        fractions += "frac" in gold
        assert ("/" in question) == (difficulty == "hard")
        assert ("*" in question and "/" not in question) == (difficulty == "medium")
    assert fractions > 80


def test_fractions_are_written_in_lowest_terms():
    written = [arithmetic.latex(Fraction(*pair)) for pair in ((6, 3), (-4, 2), (6, 4), (-3, 4), (0, 5))]
    assert written == ["2", "-2", r"\frac{3}{2}", r"-\frac{3}{4}", "0"]


def test_no_sum_is_in_both_splits_and_a_small_table_is_the_head_of_a_large_one():
    source = {"generated_train": 500, "generated_test": 200}
    small, _ = data.build(dataset("arithmetic", source=source, train_limit=50), "train", 1)
    train, _ = data.build(dataset("arithmetic", source=source), "train", 1)
    test, _ = data.build(dataset("arithmetic", source=source), "test", 1)
    assert small.rows() == train.rows()[:50]
    assert not set(train["prompt"]) & set(test["prompt"])
    assert train["question_id"].is_unique().all()


# The configuration


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "arithmetic"}, "kind 'arithmetic' is generated; its source is {generated_train, generated_test}"),
        ({"source": {"generated_train": 1, "generated_test": 1}}, "kind 'bigmath' cannot be generated"),
        ({"grader": "rouge-1"}, "grader 'rouge-1' does not fit a dataset of kind 'bigmath'; valid: math"),
        ({"kind": "deepmath", "source": {"hub": "a/b", "revision": REVISION}}, "needs difficulty_source"),
    ],
)
def test_a_dataset_that_cannot_be_is_refused(changes, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        dataset(**changes)
