"""From raw outputs to chosen options, and matching with made-up embeddings; test_mcq_toy_models.py has the whole way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor import tables
from candor.data.items import same_options
from candor.mcq.matching import LIKELIHOOD, Matcher, exact_option, predict
from candor.mcq.metrics import measure
from candor.mcq.permutations import order
from candor.mcq.protocols import PROTOCOLS
from candor.tables import ITEMS, MCQ_GENERATIONS, MCQ_PREDICTIONS

ROOT = Path(__file__).parents[2]
WORDS = ("river", "mountain", "desert lake", "sea", "a wood")


def items(golds, options=None):
    options = options or [[f"{word} {i}" for word in WORDS[:4]] for i in range(len(golds))]
    rows = [
        {"item_id": f"q{i:03}", "role": "asked", "question": "?", "options": of, "gold": gold, "language": "en"}
        for i, (gold, of) in enumerate(zip(golds, options, strict=True))
    ]
    return pl.DataFrame(rows, schema=ITEMS)


def generations(asked, runs, say):
    """Let a model answer: `say(shown, gold, run)` returns its text, for the options in the order shown."""
    rows = []
    for item in asked.iter_rows(named=True):
        for run in range(runs):
            shown = order(len(item["options"]), item["gold"], run)
            text = say([item["options"][index] for index in shown], item["options"][item["gold"]], run)
            rows.append({"item_id": item["item_id"], "run": run, "order": shown, "text": text, "seconds": 0.5})
    return pl.DataFrame(rows, schema=MCQ_GENERATIONS)


def embed(texts):
    """Count letters: a text is most like one of the same letters, whatever their order."""
    return np.array([[text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz0123456789"] for text in texts])


def refuse(texts):
    raise AssertionError(f"no model is needed for {texts}")


BALANCED = items([0, 1, 2, 3] * 5)


def accuracies(made):
    return made.sort("run").group_by("run", maintain_order=True).agg(pl.col("correct").mean())["correct"].to_list()


@pytest.mark.parametrize("name", ["ml", "md", "md-x", "md-emoji", "md-emojis", "md-numbers"])
@pytest.mark.parametrize("dress", ["The answer is {}.", "Hm.\n**Answer:** {}", "{}", "I think {} it is!"])
def test_a_perfect_model_is_right_in_text_without_an_embedding(name, dress):
    made = predict(
        BALANCED, generations(BALANCED, 5, lambda o, gold, run: dress.format(gold)), PROTOCOLS[name], Matcher(refuse), 1
    )
    assert made["correct"].all()
    assert made["similarity"].is_null().all()
    assert (made["choice"] == made["gold"]).all()
    assert made.filter(pl.col("run") > 0).select((pl.col("position") + 1 == pl.col("run")).all()).item()


@pytest.mark.parametrize("name", ["sl", "sd"])
def test_letters_are_those_of_positions(name):
    always_a = generations(BALANCED, 5, lambda shown, gold, run: "The answer is (A).")
    made = predict(BALANCED, always_a, PROTOCOLS[name], None, 1)
    assert accuracies(made) == [0.25, 1, 0, 0, 0]
    assert set(made["position"]) == {0}
    found = measure(BALANCED, made, seed=1, name="n", resamples=2)["metrics"]
    assert found["score"]["value"] == pytest.approx(0.55)
    last = generations(BALANCED, 5, lambda shown, gold, run: f"The answer is ({'ABCD'[len(shown) - 1]}).")
    assert accuracies(predict(BALANCED, last, PROTOCOLS[name], None, 1)) == [0.25, 0, 0, 0, 1]


def test_a_label_alone_is_an_answer_where_labels_differ():
    say_b = generations(BALANCED, 2, lambda shown, gold, run: "The answer is (B).")
    made = predict(BALANCED, say_b, PROTOCOLS["ml"], Matcher(refuse), 1)
    assert set(made["position"]) == {1}
    with pytest.raises(AssertionError, match=r"no model is needed for \['B'"):
        predict(BALANCED, say_b, PROTOCOLS["md"], Matcher(refuse), 1)


def test_what_is_no_option_is_matched_and_each_text_embedded_once():
    embedded = []

    def count(texts):
        embedded.extend(texts)
        return embed(texts)

    asked = items([0, 1])
    made = predict(
        asked,
        generations(asked, 5, lambda o, g, run: f"The answer is teh {g[::-1]}."),
        PROTOCOLS["md"],
        Matcher(count),
        1,
    )
    assert made["correct"].all()
    assert (made["similarity"] > 0.8).all()
    assert len(embedded) == len(set(embedded)) == 2 + 8  # two answers of ten outputs, and the options of two items


@pytest.mark.parametrize("similarity", ["cosine", "dot", "euclidean", "manhattan"])
def test_similarities_against_their_definitions(similarity):
    random = np.random.default_rng(0)
    vectors = {f"t{i}": random.normal(size=8) for i in range(9)}
    names = list(vectors)
    matcher = Matcher(lambda texts: np.stack([vectors[text] for text in texts]), similarity)
    ((index, found),) = matcher.nearest(["t8"], [names[:8]])
    options, answer = np.stack([vectors[name] for name in names[:8]]), vectors["t8"]
    expected = {
        "cosine": [o @ answer / np.sqrt((o @ o) * (answer @ answer)) for o in options],
        "dot": [sum(o * answer) for o in options],
        "euclidean": [-np.sqrt(((o - answer) ** 2).sum()) for o in options],
        "manhattan": [-sum(abs(o - answer)) for o in options],
    }[similarity]
    assert index == int(np.argmax(expected))
    assert found == pytest.approx(max(expected), rel=1e-5)


def test_similarities_of_nothing_and_of_no_name():
    assert Matcher(lambda texts: np.zeros((len(texts), 3))).nearest(["x"], [["a", "b"]]) == [(0, 0.0)]
    with pytest.raises(ValueError, match="no similarity is called 'cos'; valid: cosine, dot, euclidean, manhattan"):
        Matcher(embed, "cos")


@given(
    st.permutations(range(4)),
    st.sampled_from(["cosine", "dot", "euclidean", "manhattan"]),
    st.text("abcd 0", max_size=9),
)
def test_the_order_shown_changes_no_match(shown, similarity, answer):
    asked = items([1])
    row = {"item_id": "q000", "run": 2, "text": f"The answer is {answer} zz", "seconds": 0.0}
    made = [
        predict(
            asked,
            pl.DataFrame([{**row, "order": each}], schema=MCQ_GENERATIONS),
            PROTOCOLS["md"],
            Matcher(embed, similarity),
            1,
        )
        for each in ([0, 1, 2, 3], list(shown))
    ]
    assert made[0]["choice"].to_list() == made[1]["choice"].to_list()
    assert shown[made[1]["position"].item()] == made[1]["choice"].item()


def test_equal_options_count_as_one():
    asked = items([2, 1], [["a", "b", "a"], ["x", "b", "a"]])
    made = predict(asked, generations(asked, 4, lambda shown, gold, run: "The answer is a."), PROTOCOLS["md"], None, 1)
    assert made.filter(pl.col("item_id") == "q000")["correct"].all()
    assert set(made.filter(pl.col("item_id") == "q000")["choice"]) == {0}
    assert not made.filter(pl.col("item_id") == "q001")["correct"].any()
    first, last = (generations(asked.head(1), 1, lambda shown, gold, run, x=x: f"The answer is {x}") for x in "AC")
    for said in (first, last):
        assert predict(asked, said, PROTOCOLS["sl"], None, 1).select("choice", "correct").row(0) == (0, True)
    assert same_options(["a", " b", "a  c", "b", "a c", "B"]) == [0, 1, 2, 1, 2, 5]


def test_exact_options():
    assert exact_option("Paris", ["Rome", "Paris"]) == 1
    assert exact_option("PARIS", ["Rome", "“Paris”."]) == 1
    assert exact_option("tt", ["Tt", "tt"]) == 1
    assert exact_option("TT", ["Tt", "tt"]) is None  # which of the two?
    assert exact_option("5", ["5", "5!"]) == 0
    assert exact_option("$x^2$", ["x", "x^2"]) == 1
    assert exact_option("...", ["!", "?"]) is None
    assert exact_option("a  b", ["a b", "a b", "c"]) == 0


@given(st.lists(st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1), min_size=1, max_size=6), st.data())
def test_an_options_own_text_is_that_option(options, data):
    index = data.draw(st.integers(0, len(options) - 1))
    assert options[exact_option(options[index], options)] == options[index]


def test_an_unread_output_is_a_status_and_its_option_follows_from_question_and_run():
    silent = generations(BALANCED, 5, lambda shown, gold, run: "<think>never done")
    made = predict(BALANCED, silent, PROTOCOLS["md"], Matcher(refuse), 1)
    assert set(made["rule"]) == {"random"}
    assert made["extracted"].is_null().all()
    assert set(made["choice"]) == {0, 1, 2, 3}
    shuffled = predict(BALANCED, silent.sample(fraction=1, shuffle=True, seed=3), PROTOCOLS["md"], None, 1)
    assert shuffled.sort("item_id", "run").equals(made.sort("item_id", "run"))
    assert predict(BALANCED, silent, PROTOCOLS["sl"], None, 1)["choice"].equals(made["choice"])
    assert not predict(BALANCED, silent, PROTOCOLS["md"], None, 2)["choice"].equals(made["choice"])


def test_cloze_takes_the_likeliest_option_by_identity():
    likelihoods = [-1.0, -0.5, -2.0, -0.5]
    silent = generations(BALANCED, 5, lambda shown, gold, run: None)
    silent = silent.with_columns(log_likelihoods=pl.lit(likelihoods, dtype=pl.List(pl.Float64)))
    made = predict(BALANCED, silent, PROTOCOLS["cloze"], None, 1)
    assert set(made["choice"]) == {1}
    assert set(made["rule"]) == {LIKELIHOOD}
    assert accuracies(made) == [0.25] * 5


def test_questions_with_fewer_options_are_clamped():
    asked = items([0, 1], [["a", "b", "c"], ["a", "b", "c", "d"]])
    made = predict(asked, generations(asked, 5, lambda shown, gold, run: gold), PROTOCOLS["md"], None, 1)
    assert made["clamped"].to_list() == [False] * 4 + [True] + [False] * 5


def test_what_does_not_belong_together_is_named():
    made = generations(BALANCED, 1, lambda shown, gold, run: "The answer is unclear")
    with pytest.raises(ValueError, match="'q005', run 0: generated for other items"):
        predict(BALANCED.head(5), made, PROTOCOLS["sl"], None, 1)
    with pytest.raises(ValueError, match="'q000', run 0: generated for other items"):
        predict(BALANCED.with_columns(options=pl.col("options").list.head(3)), made, PROTOCOLS["sl"], None, 1)
    with pytest.raises(ValueError, match="'md' asks for an option's text; it needs a matcher"):
        predict(BALANCED, made, PROTOCOLS["md"], None, 1)


def run(script, *arguments):
    command = [sys.executable, "-W", "error", ROOT / "scripts" / f"{script}.py", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "src")}
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def test_scripts_from_generations_to_metrics(tmp_path):
    made = generations(BALANCED, 5, lambda shown, gold, run: "The answer is (A).")
    tables.write(BALANCED, tmp_path / "items.parquet", ITEMS)
    tables.write(
        made.with_columns(finish_reason=pl.lit("stop"), output_tokens=pl.lit(7, pl.Int32)),
        tmp_path / "g.parquet",
        MCQ_GENERATIONS,
    )
    both = ("--items", tmp_path / "items.parquet", "--generations", tmp_path / "g.parquet", "--seed", 1)
    files = ("--predictions", tmp_path / "p.parquet", "--seconds", tmp_path / "s.json")
    log = run("match_answers", *both, "--protocol", "sl", "--settings", "null", *files)
    assert "100 outputs, 25 correct" in log
    assert "{'answer_is': 100}" in log
    assert tables.read(tmp_path / "p.parquet", MCQ_PREDICTIONS).height == 100
    identity = ("--model", "M", "--benchmark", "B", "--fewshot", "moved", "--protocol", "sl", "--matcher", "none")
    run("measure_mcq", *both, *files, *identity, "--name", "b/moved/m/sl/none", "--output", tmp_path / "m.json")
    found = json.loads((tmp_path / "m.json").read_text())
    assert found["metrics"]["variance"]["value"] == 1500
    assert found["generation_seconds"] == [10.0] * 5
    assert len(found["extraction_seconds"]) == 5
    assert (found["truncated_rate"], found["output_tokens"], found["protocol"]) == (0, 7, "sl")
