from collections import Counter
from itertools import islice

import pytest

from candor.config import GeneratedSource
from candor.data import hotpotqa, two_hop

COUNT = 600


@pytest.fixture(scope="module", params=["train", "test"])
def rows(request):
    return [two_hop.row(request.param, index) for index in range(COUNT)]


def text_of(row):
    return {title: "".join(sentences) for title, sentences in row["context"]}


def names_of(row):
    words = (
        " ".join([row["question"], row["answer"], *text_of(row).values()]).replace("?", " ").replace(".", " ").split()
    )
    kinds = {"Institute", "Bridge", "Sonata", "Chronicle", "Museum", "Festival", "Railway", "Pottery"}
    grammar = {"The", "In", "On", "Who", "Whom", "After"}
    return {word for word in words if word[0].isupper()} - kinds - grammar


def test_a_row_is_hotpotqas_official_schema_with_ten_short_paragraphs_and_two_supporting_ones(rows):
    for row in rows:
        assert list(row) == ["_id", "question", "answer", "type", "level", "supporting_facts", "context"]
        text = text_of(row)
        assert len(row["context"]) == len(text) == 10
        (thing, first), (bridge, second) = row["supporting_facts"]
        assert thing != bridge
        assert first == second == 0
        assert {thing, bridge} <= set(text)
        assert all(1 <= len(sentences) <= 2 for _, sentences in row["context"])
        assert all(sentence.startswith(" ") for _, sentences in row["context"] for sentence in sentences[1:])


def test_the_two_supporting_paragraphs_lead_from_the_question_to_the_answer_and_no_other_does(rows):
    for row in rows:
        text = text_of(row)
        (thing, _), (bridge, _) = row["supporting_facts"]
        assert thing in row["question"]
        assert bridge in text[thing]
        assert row["answer"] in text[bridge]
        assert bridge not in row["question"]
        assert row["answer"] not in row["question"]
        others = [text[title] for title in text if title not in (thing, bridge)]
        assert not any(row["answer"] in other or bridge in other or thing in other for other in others)


def test_the_level_is_how_many_other_chains_could_be_mistaken_for_the_questions(rows):
    for row in rows:
        text = text_of(row)
        (thing, _), (bridge, _) = row["supporting_facts"]
        relation = text[bridge].split(". ")[0].replace(bridge, "").replace(row["answer"], "").strip(". ")
        alike = sum(f" {relation} " in other for title, other in text.items() if title != bridge)
        kind = sum(title.split()[-1] == thing.split()[-1] for title in text if title != thing)
        assert alike == kind == {"easy": 0, "medium": 2, "hard": 4}[row["level"]], row["_id"]


def test_levels_and_relations_are_all_there(rows):
    levels = Counter(row["level"] for row in rows)
    assert set(levels) == {"easy", "medium", "hard"}
    sigma = (COUNT * 2 / 9) ** 0.5
    assert all(abs(count - COUNT / 3) < 4 * sigma for count in levels.values())
    kinds = Counter((row["supporting_facts"][0][0].split()[-1], row["question"].split()[0]) for row in rows)
    assert len({kind for kind, _ in kinds}) == 8
    assert {word for _, word in kinds} == {"In", "Who", "Whom", "On", "After"}


def test_the_position_of_the_supporting_paragraphs_tells_nothing(rows):
    places = Counter(
        place
        for row in rows
        for place, (title, _) in enumerate(row["context"])
        if title in {title for title, _ in row["supporting_facts"]}
    )
    sigma = (COUNT * 2 * 0.1 * 0.9) ** 0.5
    assert all(abs(places[place] - COUNT * 2 / 10) < 4 * sigma for place in range(10))


def test_ids_are_unique_and_say_where_a_row_is_from(rows):
    assert len({row["_id"] for row in rows}) == COUNT
    assert two_hop.row("train", 12)["_id"] == "two-hop-train-000012"
    assert len({row["question"] for row in rows}) > 0.99 * COUNT


def test_a_row_depends_on_neither_count_nor_order():
    few, _ = hotpotqa.load(GeneratedSource(generated_train=5, generated_test=3), "train")
    many, _ = hotpotqa.load(GeneratedSource(generated_train=50, generated_test=3), "train")
    assert few == list(islice(many, 5))
    assert two_hop.row("train", 7) == two_hop.row("train", 7)
    assert two_hop.row("train", 7)["context"] != two_hop.row("test", 7)["context"]


def test_no_name_is_in_both_splits():
    train, test = (
        set().union(*(names_of(two_hop.row(split, index)) for index in range(COUNT))) for split in ("train", "test")
    )
    assert len(train) > COUNT
    assert len(test) > COUNT
    assert not train & test


@pytest.mark.parametrize(("split", "count"), [("train", 40), ("test", 30)])
def test_every_row_passes_the_checks_of_the_loader(split, count):
    rows, dropped = hotpotqa.load(GeneratedSource(generated_train=40, generated_test=30), split)
    assert len(rows) == count
    assert dropped == {}
