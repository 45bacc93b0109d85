"""NonsenseQA is the same bytes everywhere, without meaning, and without a favourite position."""

import json
import math
from collections import Counter
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from candor.config import Benchmark
from candor.data import benchmarks, items, nonsenseqa
from candor.data.files import DataError

# Published: of the JSONL file with 1000 + 100 questions, seed 42 and the list's 10,000 words.
DIGESTS = {
    "zxcvbn": "3df793d2f8c4aea86ea16c0cd916aebec46ad46b1db5cc60405eb5cc73db28f0",
    "paper": "b8f64764fea58a43601d7180fa0a8ba83d4d5049d3b4eabc7b6d73f86b726322",
}
LIST = tuple(f"w{number}" for number in range(10_000))


def digest(text):
    return sha256(text.encode()).hexdigest()


def whole(words, seed=42):
    return [
        *nonsenseqa.generate("asked", 1000, words, seed),
        *nonsenseqa.generate("example", 100, words, seed),
    ]


def word(index, seed, identity, part):
    """The rule of the documentation, written anew: SHA-256 of `seed:word:id:part:place` modulo the length of the list."""
    return LIST[int(digest(f"{seed}:word:{identity}:{part}:{index}"), 16) % len(LIST)]


def test_the_published_bytes():
    assert digest(nonsenseqa.to_jsonl(whole(nonsenseqa.word_list()))) == DIGESTS["zxcvbn"]


def test_the_published_bytes_with_the_papers_words(data_folder, monkeypatch):
    monkeypatch.setenv("SOME_DATA", str(data_folder))
    words = nonsenseqa.word_list("$SOME_DATA/wordlist/mit_wordlist.10000.txt")
    assert len(words) == 10_000
    assert digest(nonsenseqa.to_jsonl(whole(words))) == DIGESTS["paper"]


def test_the_numbers_of_the_paper():
    questions = whole(LIST)
    for split, count in (("test", 1000), ("validation", 100)):
        of_split = [item for item in questions if item.item_id.startswith(f"nonsenseqa-{split}-")]
        assert len(of_split) == len({item.item_id for item in of_split}) == count
        assert {item.role for item in of_split} == {"asked" if split == "test" else "example"}
        assert Counter(item.gold for item in of_split) == dict.fromkeys(range(4), count // 4)
    lengths, option_lengths = Counter(), Counter()
    for item in questions:
        assert len(item.options) == len(set(item.options)) == 4
        lengths[len(item.question.rstrip("?").split())] += 1
        option_lengths.update(len(option.split()) for option in item.options)
        for phrase in (item.question.rstrip("?"), *item.options):
            assert {part.lower() for part in phrase.split()} <= set(LIST)
    assert sorted(lengths) == list(range(5, 21))
    assert sorted(option_lengths) == list(range(1, 7))
    # Uniform lengths: each count within five deviations of its expectation.
    for counts in (lengths, option_lengths):
        total, share = sum(counts.values()), 1 / len(counts)
        assert all(abs(count - total * share) < 5 * math.sqrt(total * share * (1 - share)) for count in counts.values())


def test_a_question_is_what_the_documentation_says():
    item = nonsenseqa.generate("asked", 8, LIST, 7)[5]
    identity = "nonsenseqa-test-0005"
    assert item.item_id == identity
    length = 5 + int(digest(f"7:length:{identity}:question"), 16) % 16
    expected = " ".join(word(place, 7, identity, "question") for place in range(length))
    assert item.question == expected[0].upper() + expected[1:] + "?"


@settings(max_examples=20)
@given(st.integers(0, 2**32), st.integers(1, 40))
def test_fewer_questions_are_the_head_of_more_and_golds_are_balanced(seed, count):
    questions = nonsenseqa.generate("asked", count, LIST, seed)
    assert questions == nonsenseqa.generate("asked", 41, LIST, seed)[:count]
    golds = Counter(item.gold for item in questions)
    assert max(golds.values()) - min(golds[place] for place in range(4)) <= 1


def test_options_differ_even_where_words_are_few():
    for item in nonsenseqa.generate("asked", 200, ("a", "b"), 0):
        assert len(set(item.options)) == 4


def test_the_export_holds_every_question():
    questions = whole(LIST)
    rows = [json.loads(line) for line in nonsenseqa.to_jsonl(questions).splitlines()]
    assert len(rows) == 1100
    for item, row in zip(questions, rows, strict=True):
        assert row == {
            "id": item.item_id,
            "split": "test" if item.role == "asked" else "validation",
            "question": item.question,
            "options": list(item.options),
            "answer": "ABCD"[item.gold],
            "answer_index": item.gold,
        }
    card = nonsenseqa.data_card(questions, LIST, "made up", 42)
    assert f"SHA-256 of the JSONL file: {digest(nonsenseqa.to_jsonl(questions))}\n" in card
    assert "1000 in the split `test`, 100 in the split `validation`" in card


def test_it_is_built_like_any_benchmark(tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("\n".join(LIST), encoding="utf-8")
    source = {"generated_questions": 12, "generated_examples": 6, "word_list": str(path)}
    benchmark = Benchmark(label="N", kind="nonsenseqa", source=source, positions=4)
    frame, report = benchmarks.build(benchmark, 3)
    assert items.from_frame(frame) == [
        *nonsenseqa.generate("asked", 12, LIST, 3),
        *nonsenseqa.generate("example", 6, LIST, 3),
    ]
    assert report["asked"] == {"read": 12, "dropped": {}, "kept": 12}
    assert report["gold_position"] == {"1": 3, "2": 3, "3": 3, "4": 3}


@pytest.mark.parametrize(
    ("content", "message"), [(b"a\nb\na\n", "2 different of 3"), (b"", "0 different of 0"), (b"\xff", "not readable")]
)
def test_a_word_list_that_cannot_be_used_says_why(tmp_path, content, message):
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        nonsenseqa.word_list(str(path))
