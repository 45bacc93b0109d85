"""Benchmarks load in their original and in the hub's schema; what cannot be asked is dropped and counted."""

import json
import os
import subprocess
import sys
import types
from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from candor import tables
from candor.config import Benchmark
from candor.data import benchmarks, items, loaders
from candor.data.files import DataError
from candor.data.label_references import refers_to_labels

ROOT = Path(__file__).parents[2]
REVISION = "0123456789abcdef0123456789abcdef01234567"
ENGLISH = ("commonsense_qa", "arc", "mmlu-pro", "gpqa")


def benchmark(kind, source, **settings):
    languages = {} if kind in ENGLISH else {"languages": ["de", "en", "es", "fr", "it"]}
    return Benchmark(label="B", kind=kind, source=source, positions=4, **{**languages, **settings})


def files(asked, examples=()):
    return {"asked": list(map(str, asked)), "examples": list(map(str, examples))}


def write(path, rows):
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def build(kind, path, seed=0, examples=(), **settings):
    frame, report = benchmarks.build(benchmark(kind, files([path], examples), **settings), seed)
    loaded = items.from_frame(frame)
    return (
        [item for item in loaded if item.role == "asked"],
        [item for item in loaded if item.role == "example"],
        report,
    )


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def choice(number=0, texts=("red", "green", "blue"), labels="ABC", key="B", stem="Which?", **info):
    """A row of the schema of CommonsenseQA, ARC and EXAMS, made up."""
    choices = [{"text": text, "label": label} for text, label in zip(texts, labels, strict=True)]
    row = {"id": f"id-{number}", "question": {"stem": stem, "choices": choices}, "answerKey": key}
    return {**row, "info": info} if info else row


def mmlu_pro(number=0, options=("one", "two", "three"), answer="B", index=1, category="math", cot=""):
    return {
        "question_id": number,
        "question": f"Question {number}?",
        "options": list(options),
        "answer": answer,
        "answer_index": index,
        "cot_content": cot,
        "category": category,
    }


def gpqa(number=0, **changes):
    return {
        "Record ID": f"rec{number}",
        "Question": f"Secret {number}?",
        "Correct Answer": "right secret\n",
        **{f"Incorrect Answer {i}": f"wrong secret {i}" for i in (1, 2, 3)},
        "High-level domain": "Physics",
        **changes,
    }


def include(number=0, language="French", answer=2):
    options = {f"option_{letter}": f"{letter}{number}" for letter in "abcd"}
    return {"question": f"Q{number}?", **options, "answer": answer, "language": language, "subject": "History"}


# Real files. What is expected is taken from the raw rows here, not by the loaders.


@pytest.mark.parametrize(
    ("kind", "asked", "examples", "count", "equal"),
    [
        ("commonsense_qa", "commonsenseqa/dev_rand_split", "commonsenseqa/train_rand_split_first1000", 1221, (24, 6)),
        ("arc", "arc/ARC-Challenge-Test", "arc/ARC-Challenge-Dev", 1172, (0, 0)),
    ],
)
def test_real_files_with_examples_of_their_own(data_folder, kind, asked, examples, count, equal):
    path, examples_path = (data_folder / f"{name}.jsonl" for name in (asked, examples))
    loaded, shown, report = build(kind, path, examples=[examples_path])
    assert len(loaded) == count
    assert report["asked"] == {"read": count, "dropped": {}, "kept": count}
    assert report["equal_options"] == {"questions": equal[0], "with_gold": equal[1]}
    for item, raw in zip(loaded, lines(path), strict=True):
        choices = raw["question"]["choices"]
        assert item.item_id == raw["id"]
        assert item.options == tuple(choice["text"].strip() for choice in choices)
        assert choices[item.gold]["label"] == raw["answerKey"]
        assert (item.language, item.category, item.rationale) == ("en", None, None)
    first = [raw["id"] for raw in lines(examples_path)[:5]]
    assert [item.item_id for item in shown] == first
    strict = build(kind, path, examples=[examples_path], strict_duplicates=True)[2]
    assert strict["asked"]["kept"] == count - equal[0]
    assert strict["asked"]["dropped"].get("equal options", 0) == equal[0]


def test_arc_has_labels_of_both_kinds_and_three_to_five_options(data_folder):
    path = data_folder / "arc/ARC-Challenge-Test.jsonl"
    labels = Counter("".join(c["label"] for c in raw["question"]["choices"]) for raw in lines(path))
    assert set(labels) == {"ABC", "ABCD", "ABCDE", "123", "1234"}
    report = build("arc", path)[2]
    assert sum(report["options"].values()) == sum(labels.values()) - 5


def test_real_mmlu_pro_without_its_validation_split(data_folder):
    path = data_folder / "mmlu_pro/test_sample_504.jsonl"
    loaded, shown, report = build("mmlu-pro", path)
    assert report["asked"]["dropped"] == {"one option": 1, "serves as example": 14 * 5}
    assert len(loaded) == 504 - 1 - 70
    raw = {str(row["question_id"]): row for row in lines(path)}
    assert "5666" in raw
    assert "5666" not in {item.item_id for item in loaded}
    for item in (*loaded, *shown):
        row = raw[item.item_id]
        assert item.options == tuple(option.strip() for option in row["options"])
        assert (item.gold, item.category) == (row["answer_index"], row["category"])
    assert {len(item.options) for item in loaded} == {3, 4, 5, 6, 7, 8, 9, 10}
    assert Counter(item.category for item in shown) == Counter(dict.fromkeys({r["category"] for r in raw.values()}, 5))
    assert not {item.item_id for item in loaded} & {item.item_id for item in shown}
    for item in loaded:
        assert {example.category for example in items.few_shot(item, shown, 5)} == {item.category}


def test_real_exams_in_four_languages(data_folder):
    names = {"de": 500, "es": 235, "fr": 318, "it": 500}
    source = files([data_folder / f"exams/{name}.jsonl" for name in names])
    frame, report = benchmarks.build(benchmark("exams", source, languages=list(names)), 0)
    assert report["asked"] == {"read": 1553, "dropped": {"serves as example": 20}, "kept": 1533}
    assert report["languages"] == {name: count - 5 for name, count in names.items()}
    assert report["label_references"] == 1  # a German option: "... wie bei A oder B ..."
    assert frame.filter(label_reference=True)["language"].to_list() == ["de"]
    for name in names:
        shown = frame.filter(role="example", language=name)
        assert shown["item_id"].to_list() == [raw["id"] for raw in lines(data_folder / f"exams/{name}.jsonl")[:5]]
    assert benchmarks.build(benchmark("exams", source, languages=["es"]), 0)[1]["asked"]["dropped"] == {
        "language is not asked": 1318,
        "serves as example": 5,
    }


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("commonsense_qa", "commonsenseqa/dev_rand_split"),
        ("exams", "exams/fr"),
        ("mmlu-pro", "mmlu_pro/test_sample_504"),
    ],
)
def test_nothing_but_the_chosen_examples_depends_on_the_order_of_a_file(data_folder, tmp_path, kind, name):
    path = data_folder / f"{name}.jsonl"
    raw = lines(path)
    turned = write(tmp_path / "turned.jsonl", raw[::-1])
    examples = [write(tmp_path / "examples.jsonl", raw[:40])]
    first, second = (build(kind, file, examples=examples, limit=30)[0] for file in (path, turned))
    assert len(first) == 30
    assert first == second[::-1]
    larger = build(kind, path, examples=examples, limit=60)[0]
    assert set(first) < set(larger)


# Schemas


def test_a_row_of_the_hub_is_the_same_item_as_the_original():
    original = choice(3, texts=("x", "y", "z"), key="C")
    hub = {
        "id": "id-3",
        "question": "Which?",
        "question_concept": "?",
        "choices": {"text": ["x", "y", "z"], "label": ["A", "B", "C"]},
        "answerKey": "C",
    }
    exams_hub = {**original, "question": {"stem": "Which?", "choices": hub["choices"]}}
    parsed = loaders._choices(original, "here")
    assert loaders._choices(hub, "here") == loaders._choices(exams_hub, "here") == parsed
    assert (parsed.question, parsed.options, parsed.gold) == ("Which?", ("x", "y", "z"), 2)


@pytest.mark.parametrize(
    ("kind", "rows", "dropped"),
    [
        ("arc", [choice(texts=["red"], labels="A", key="A")], {"one option": 1}),
        ("arc", [choice(texts=[], labels="")], {"no options": 1}),
        (
            "arc",
            [choice(key=""), choice(1, key="D"), choice(2, key=None)],
            {"gold is missing or is no option's label": 3},
        ),
        ("arc", [choice(labels="ABB")], {"gold is missing or is no option's label": 1}),
        ("arc", [choice(texts=["red", " ", "blue"])], {"empty option": 1}),
        ("arc", [choice(stem=" ")], {"no question": 1}),
        ("arc", [choice(1), choice(1)], {"identical duplicate": 1}),
        ("exams", [choice(1, language="Polish", subject="History")], {"language is not asked": 1}),
        ("mmlu-pro", [mmlu_pro(index=2)], {"answer and answer_index disagree": 1}),
        ("mmlu-pro", [mmlu_pro(index=7, answer="H")], {"gold is missing or is no option's label": 1}),
        (
            "mmlu-pro",
            [mmlu_pro(cot="A: Let's think step by step. The answer is (A).")],
            {"worked solution gives another answer": 1},
        ),
        ("include", [include(answer=4)], {"gold is missing or is no option's label": 1}),
    ],
)
def test_what_cannot_be_asked_is_dropped_and_counted(tmp_path, kind, rows, dropped):
    good = {
        "exams": lambda number: choice(number, language="German", subject="Physics"),
        "mmlu-pro": mmlu_pro,
        "include": include,
    }.get(kind, choice)
    asked = write(tmp_path / "asked.jsonl", [*rows, good(101), good(102)])
    examples = write(tmp_path / "examples.jsonl", [good(201), good(101)])
    loaded, shown, report = build(kind, asked, examples=[examples])
    kept = 3 if "identical duplicate" in dropped else 2
    assert report["asked"] == {"read": len(rows) + 2, "dropped": dropped, "kept": kept}
    assert len(loaded) == kept
    assert report["examples"] == {"read": 2, "dropped": {"is asked": 1}, "kept": 1}
    assert not {item.item_id for item in shown} & {item.item_id for item in loaded}


def test_examples_are_fit_to_be_shown(tmp_path):
    rows = [
        choice(0, texts=("red", "red", "blue")),
        choice(1, texts=("red", "blue", "A and B")),
        *map(choice, range(2, 9)),
    ]
    loaded, shown, report = build("arc", write(tmp_path / "x.jsonl", rows))
    assert [item.item_id for item in shown] == [f"id-{number}" for number in range(2, 7)]
    assert [item.item_id for item in loaded] == ["id-0", "id-1", "id-7", "id-8"]
    assert report["equal_options"] == {"questions": 1, "with_gold": 1}
    assert report["label_references"] == 1


def test_mmlu_pro_has_a_worked_solution_without_its_answer(tmp_path):
    cot = "A: Let's think step by step. One is too small. (C) is too large. The answer is (B)."
    path = write(tmp_path / "x.jsonl", [mmlu_pro(1, cot=cot), mmlu_pro(2, cot="Plainly two.")])
    loaded, _, _ = build("mmlu-pro", path, examples=[write(tmp_path / "e.jsonl", [mmlu_pro(3)])])
    assert [item.rationale for item in loaded] == ["One is too small. (C) is too large.", "Plainly two."]


def test_include_has_no_ids_and_takes_them_from_the_content(tmp_path):
    rows = [include(1), include(2, "German"), include(1, answer=0), include(1)]
    loaded, _, report = build(
        "include", write(tmp_path / "x.jsonl", rows), examples=[write(tmp_path / "e.jsonl", [include(9)])]
    )
    assert len({item.item_id for item in loaded}) == len(loaded) == 3
    assert [item.language for item in loaded] == ["fr", "de", "fr"]
    assert report["asked"]["dropped"] == {"identical duplicate": 1}


def test_examples_are_of_the_questions_language_and_enough(tmp_path):
    rows = [include(number, language) for language in ("French", "German") for number in range(7)]
    loaded, shown, _ = build("include", write(tmp_path / "x.jsonl", rows))
    assert Counter(item.language for item in shown) == {"fr": 5, "de": 5}
    for item in loaded:
        assert {example.language for example in items.few_shot(item, shown, 3)} == {item.language}
    with pytest.raises(ValueError, match=r"6 examples are asked for but 5 are of its language \(fr\)"):
        items.few_shot(loaded[0], shown, 6)


# GPQA


def test_gpqa_has_its_own_order_and_five_fixed_rows_that_are_not_asked(tmp_path):
    rows = [gpqa(number) for number in range(405)]
    path = tmp_path / "gpqa_main.csv"
    pl.DataFrame(rows).write_csv(path)
    loaded, shown, report = build("gpqa", path, seed=3)
    assert [item.item_id for item in shown] == [f"rec{number}" for number in range(5)]
    assert len(loaded) == 400
    for item in loaded:
        assert item.options[item.gold] == "right secret"
        assert sorted(item.options) == ["right secret", "wrong secret 1", "wrong secret 2", "wrong secret 3"]
    counts = Counter(item.gold for item in loaded)
    assert all(abs(counts[place] - 100) < 45 for place in range(4))  # five deviations
    assert {
        item.item_id: item.options for item in build("gpqa", write(tmp_path / "x.jsonl", rows[::-1]), seed=3)[0]
    }.items() >= {item.item_id: item.options for item in loaded[:395]}.items()
    assert "secret" not in json.dumps(report).lower()


@pytest.mark.parametrize("value", [None, ["Secret"], {"Secret": 1}, 3])
def test_an_error_of_gpqa_shows_no_item(tmp_path, value):
    for rows in ([gpqa(0), gpqa(1, Question=value)], [gpqa(0), gpqa(0, Question="Secret two?")], ["Secret"]):
        path = write(tmp_path / "x.jsonl", rows)
        with pytest.raises(DataError) as error:
            build("gpqa", path)
        assert f"{path}: line {len(rows)}: " in str(error.value)
        assert "secret" not in str(error.value).lower()


# Errors


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("arc", [], "line 2: expected an object with id, question, choices, answerKey, found list"),
        (
            "arc",
            {"id": "x"},
            "line 2: field 'choices': expected [{text, label}, ...] or {text: [...], label: [...]}, found nothing",
        ),
        ("arc", {**choice(), "id": 3}, "line 2: field 'id': expected text, found 3 (int)"),
        (
            "arc",
            {**choice(), "question": {"choices": []}},
            "line 2: field 'question.stem': expected text, found nothing",
        ),
        (
            "arc",
            {**choice(), "question": "?", "choices": {"text": ["a"], "label": []}},
            "line 2: field 'choices': expected {text: [...], label: [...]} of one length, found",
        ),
        ("arc", choice(texts=["a", 3, "c"]), "line 2: field 'choices.text': expected text, found 3 (int)"),
        ("arc", choice(99, stem="Other?"), "line 2: id 'id-99' is also the id of other content, at"),
        ("exams", choice(), "line 2: field 'info': expected {language, subject, ...}, found nothing"),
        (
            "mmlu-pro",
            {**mmlu_pro(), "options": "abc"},
            "line 2: field 'options': expected a list of texts, found 'abc' (str)",
        ),
        (
            "mmlu-pro",
            {**mmlu_pro(), "question_id": "1"},
            "line 2: field 'question_id': expected a whole number, found '1' (str)",
        ),
        ("include", {"option_a": None}, "line 2: field 'option_a': expected text, found None (NoneType)"),
    ],
)
def test_a_broken_row_names_file_line_and_field(tmp_path, kind, row, message):
    good = {"exams": choice(99, language="German", subject="x"), "mmlu-pro": mmlu_pro(99), "include": include(99)}
    path = write(tmp_path / "x.jsonl", [good.get(kind, choice(99)), row])
    with pytest.raises(DataError) as error:
        build(kind, path)
    assert str(error.value).startswith(f"{path}: {message}")


def test_nothing_left_is_an_error(tmp_path):
    path = write(tmp_path / "x.jsonl", [choice(key="")])
    with pytest.raises(DataError, match=r"B: no question is left of 1; dropped: \{\"gold is missing"):
        build("arc", path)


# The hub


@pytest.mark.parametrize(
    ("kind", "settings", "asked", "row"),
    [
        ("commonsense_qa", {}, [(None, "validation"), (None, "train")], choice),
        (
            "arc",
            {},
            [("ARC-Easy", "test"), ("ARC-Challenge", "test"), ("ARC-Easy", "train"), ("ARC-Challenge", "train")],
            choice,
        ),
        ("mmlu-pro", {}, [(None, "test"), (None, "validation")], mmlu_pro),
        ("gpqa", {}, [("gpqa_main", "train")], gpqa),
        (
            "include",
            {"languages": ["es", "de"]},
            [("Spanish", "test"), ("German", "test"), ("Spanish", "validation"), ("German", "validation")],
            lambda number: include(number, "German"),
        ),
        (
            "exams",
            {"languages": ["fr"]},
            [("multilingual", "test")],
            lambda number: choice(number, language="French", subject="x"),
        ),
    ],
)
def test_the_hub_is_asked_for_one_commit_and_the_columns_that_are_used(monkeypatch, kind, settings, asked, row):
    calls = []

    def load_dataset(hub, config, *, revision, split, columns):
        assert (hub, revision) == ("some/where", REVISION)
        rows = [row(number) for number in range(10 * len(calls), 10 * len(calls) + 10)]
        calls.append((config, split))
        return [{column: one[column] for column in columns if column in one} for one in rows]

    monkeypatch.setitem(sys.modules, "datasets", types.SimpleNamespace(load_dataset=load_dataset))
    source = {"hub": "some/where", "revision": REVISION}
    frame, report = benchmarks.build(benchmark(kind, source, **settings), 0)
    assert calls == asked
    assert report["asked"]["dropped"] == ({} if len(asked) > 1 else {"serves as example": 5})
    assert frame.filter(role="example").height == 5
    tables._check(frame, tables.ITEMS, "frame")


# Labels


@pytest.mark.parametrize(
    "option",
    [
        "A and B", "Both A and C.", "both (A) and (B)", "A, B, and C", "neither A nor B", "None of A or B", "A & C only",
        "Option B is wrong", "A oder B", "sowohl A als auch B", "weder A noch B", "wie bei A oder B gegeben",
        "Antwort B ist falsch", "A et B", "à la fois A et C", "la réponse B", "A e B", "sia A che B", "la risposta C",
        "A y B", "tanto A como C", "la respuesta A",
    ],
)  # fmt: skip
def test_an_option_that_refers_to_labels(option):
    assert refers_to_labels("Which is true?", ["x", "y", "z", option])


@pytest.mark.parametrize(
    ("question", "option"),
    [
        ("Which?", "all of the above"),
        ("Which?", "None of these"),
        ("Which?", "hepatitis A and B"),
        ("Which?", "vitamin A e D"),
        ("Which?", "I and II only"),
        ("Which?", "A and E"),  # of four options none is E
        ("Which?", "A and A"),
        ("Two bodies, A and B, collide.", "A and B stop"),
        ("Which?", "A cat and B. Franklin"),
        ("Which?", "23 A"),
        ("Which?", "C + I < Y"),
        ("Which?", "A tiger and a cat"),
        ("Which?", "a and b"),
    ],
)
def test_an_option_that_does_not(question, option):
    assert not refers_to_labels(question, ["x", "y", "z", option])


# The script


def test_the_script_writes_items_and_report_and_one_line_of_an_error(tmp_path):
    path = write(tmp_path / "x.jsonl", [choice(number) for number in range(8)])
    command = [sys.executable, "scripts/build_benchmark.py", "--seed", "1"]
    command += ["--items", str(tmp_path / "items.parquet"), "--report", str(tmp_path / "report.json"), "--benchmark"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}

    def run(source):
        setting = benchmark("arc", source).model_dump_json()
        return subprocess.run(
            [*command, setting], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )

    failed = run(files([tmp_path / "absent.jsonl"]))
    assert failed.returncode == 1
    assert (
        failed.stderr == f"build_benchmark: {tmp_path / 'absent.jsonl'}: cannot be read (No such file or directory)\n"
    )
    assert not (tmp_path / "items.parquet").exists()
    assert run(files([path])).returncode == 0
    assert tables.read(tmp_path / "items.parquet", tables.ITEMS).height == 8
    assert json.loads((tmp_path / "report.json").read_text())["asked"]["kept"] == 3
