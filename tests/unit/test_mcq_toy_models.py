"""Toy models of known behaviour through the whole of the multiple-choice track: NonsenseQA, prompts, runs, extraction,
matching, metrics and the table. They see nothing but the prompt, as a model does; an engine that hands it on is the only
stand-in."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from candor.config import Benchmark, Sampling
from candor.data import benchmarks
from candor.data.items import from_frame
from candor.data.randomness import draw
from candor.engine.generation import Output
from candor.mcq.matching import Matcher, predict
from candor.mcq.metrics import costs, measure
from candor.mcq.protocols import LETTERS, PROTOCOLS
from candor.mcq.responding import Asking, respond
from candor.report import mcq_frames, mcq_tables

PRINTED = Path(__file__).parents[2] / "resources" / "paper_tables"
QUESTIONS = 80
NONSENSE = Benchmark(
    label="NonsenseQA",
    kind="nonsenseqa",
    source={"generated_questions": QUESTIONS, "generated_examples": 5},
    positions=4,
)
ITEMS, _ = benchmarks.build(NONSENSE, seed=7)
ASKED = [item for item in from_frame(ITEMS) if item.role == "asked"]
GOLDS = {item.question: item.options[item.gold] for item in ASKED}
FOUR = ("sl", "sd", "ml", "md")
LABEL = re.compile(r"(?:[A-Z]\.|-) ")


class Toy:
    """An engine whose model is a function of the prompt."""

    device = "cpu"

    def __init__(self, model: Callable[[str], str]):
        self.model = model

    def forget_prefixes(self):
        pass

    def tokens(self, conversations):
        return [conversation[0]["content"].split() for conversation in conversations]

    def generate(self, conversations, **settings):
        return [[Output(self.model(conversation[0]["content"]), "stop", 9, 3)] for conversation in conversations]


def read(prompt: str) -> list[tuple[str, list[str], str]]:
    """Read a prompt as a model might: of each example and of the question last, the question, options and answer."""
    blocks = [block.split("\nOptions:\n") for block in prompt.split("Question:\n")[1:]]
    parted = [(question, *rest.split("\nAnswer: Let's think step by step.")) for question, rest in blocks]
    return [
        (question, [LABEL.sub("", line, count=1) for line in options.splitlines()], answer.strip())
        for question, options, answer in parted
    ]


def asks_for_letter(prompt: str) -> bool:
    return "$X" in prompt.partition("\n")[0]


def say(prompt: str, place: int, sentence: str = "The answer is {}.") -> str:
    """Answer with the option at a place, as the prompt asks for it."""
    *_, (_, options, _) = read(prompt)
    return sentence.format(f"({LETTERS[place]})" if asks_for_letter(prompt) else options[place])


def first(prompt):
    return say(prompt, 0)


def last(prompt):
    return say(prompt, 3)


def longest(prompt):
    *_, (_, options, _) = read(prompt)
    return say(prompt, options.index(max(options, key=lambda option: (len(option), option))))


def perfect(prompt, sentence="The answer is {}."):
    *_, (question, options, _) = read(prompt)
    return say(prompt, options.index(GOLDS[question]), sentence)


def german(prompt):
    return perfect(prompt, "Die richtige Antwort ist {}.")


def paraphraser(prompt):
    *_, (question, _, _) = read(prompt)
    return f"The answer is {' '.join(reversed(GOLDS[question].upper().split()))}."


def guesser(prompt):
    return say(prompt, draw(1, prompt) % 4)


def majority_letter(prompt):
    """Say the letter that the examples' answers have most often, whatever is asked for; A where they have none."""
    letters = Counter(letter for *_, answer in read(prompt)[:-1] for letter in re.findall(r"\(([A-D])\)", answer))
    return f"The answer is ({letters.most_common(1)[0][0] if letters else 'A'})."


def majority_place(prompt):
    """Say the option at the place where the examples' answers stand most often, by letter or by text."""
    places = Counter()
    for _, options, answer in read(prompt)[:-1]:
        answer = answer.removeprefix("The answer is ")
        places[LETTERS.index(answer[1]) if asks_for_letter(prompt) else options.index(answer)] += 1
    return say(prompt, places.most_common(1)[0][0])


def embed(texts):
    """Count letters: the words of a text in another order have its embedding."""
    return np.array([[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts])


@pytest.fixture(scope="module")
def asked(tmp_path_factory):
    """Ask a toy model under a protocol: its record, as `measure_mcq` writes it."""
    known = {}

    def ask(model, protocol):
        if (model, protocol) not in known:
            asking = Asking(PROTOCOLS[protocol], NONSENSE.positions, 5, True, False, 20, 1000)
            work = tmp_path_factory.mktemp("work") / "work"
            made = respond(Toy(model), ITEMS, asking, Sampling(), seed=1, work=work, identity="")
            matcher = Matcher(embed) if PROTOCOLS[protocol].reads == "text" else None
            predictions = predict(ITEMS, made, PROTOCOLS[protocol], matcher, seed=1)
            known[model, protocol] = {
                **{"model": model.__name__, "benchmark": "NonsenseQA", "fewshot": "moved", "protocol": protocol},
                **{"matcher": "made up", "n_matched": predictions["similarity"].count()},
                **measure(ITEMS, predictions, seed=1, name=f"{model.__name__}/{protocol}", resamples=20),
                **costs(made),
            }
        return known[model, protocol]

    return ask


def accuracies(record):
    return [run["accuracy"]["value"] for run in record["runs"]]


def value(record, metric):
    return record["metrics"][metric]["value"]


def printed(*records):
    """Return the row of table 5 that a toy model gets."""
    table = mcq_tables.details(mcq_frames.mcq_metrics(records), "NonsenseQA", "moved", PRINTED)
    (row,) = table.rows
    return [cell.text for cell in row]


@pytest.mark.parametrize("protocol", FOUR)
@pytest.mark.parametrize(("model", "wins"), [(first, 1), (last, 4)])
def test_a_model_of_one_place_wins_the_run_of_that_place(asked, model, wins, protocol):
    record = asked(model, protocol)
    assert accuracies(record) == [25, *(100 * (run == wins) for run in range(1, 5))]
    assert value(record, "score") == pytest.approx(0.55)
    assert value(record, "variance") == 1500
    assert all(run["choice_rates"][wins - 1] == 1 for run in record["runs"])
    assert record["invalid_rate"] == record["n_matched"] == 0


def test_a_model_of_one_place_in_the_table(asked):
    row = printed(asked(first, "sl"), asked(first, "md"))
    assert row[0] == "first"
    assert row[1:9] == row[9:17] == ["25.00", "25.00", "0.00", "1500.00", "0.00", "100.00", "100.00", "0.55"]
    assert row[17:] == ["1.00", "0.000"]


@pytest.mark.parametrize("protocol", FOUR)
def test_a_model_of_the_longest_option_and_a_perfect_one_never_change(asked, protocol):
    share = np.mean([max(item.options, key=lambda o: (len(o), o)) == item.options[item.gold] for item in ASKED])
    assert 0 < share < 1
    for model, accuracy in ((longest, 100 * share), (perfect, 100)):
        record = asked(model, protocol)
        assert accuracies(record) == pytest.approx([accuracy] * 5)
        assert (value(record, "variance"), value(record, "score"), value(record, "delta_acc")) == (0, 1, 0)
    assert record["runs"][0]["choice_rates"] == [0.25] * 4  # of the perfect one: golds are balanced
    assert [run["choice_rates"][run["run"] - 1] for run in record["runs"][1:]] == [1] * 4


@pytest.mark.parametrize("protocol", FOUR)
def test_a_model_that_copies_the_place_of_the_examples_answers_wins_every_moved_run(asked, protocol):
    """Label-free is not bias-free."""
    record = asked(majority_place, protocol)
    assert accuracies(record)[1:] == [100] * 4
    assert near_chance(record["runs"][:1])


def test_a_model_that_copies_the_letter_of_the_examples_answers_wins_where_letters_are_shown(asked):
    standard, matched = asked(majority_letter, "sl"), asked(majority_letter, "md")
    assert accuracies(standard)[1:] == [100] * 4
    assert matched["rules"] == {"answer_is": 1}
    assert near_chance(matched["runs"])


@pytest.mark.parametrize("protocol", FOUR)
def test_a_model_that_guesses_is_near_chance(asked, protocol):
    record = asked(guesser, protocol)
    assert near_chance(record["runs"])
    assert value(record, "score") == pytest.approx(0.25, abs=0.1)


def test_a_paraphraser_is_matched_in_text_and_unread_in_letters(asked):
    record = asked(paraphraser, "md")
    assert accuracies(record) == [100] * 5
    several_words = sum(" " in gold for gold in GOLDS.values())
    assert record["n_matched"] == 5 * several_words > 2 * QUESTIONS  # one word is the option itself, but for its case
    assert asked(paraphraser, "sl")["invalid_rate"] > 0.9


def test_german_is_read_in_text_and_not_in_letters(asked):
    """The paper's rules are English: "Die richtige Antwort ist (B)." states no letter to them."""
    for protocol in ("ml", "md"):
        record = asked(german, protocol)
        assert accuracies(record) == [100] * 5
        assert record["rules"] == {"verbatim_option": 1}
    for protocol in ("sl", "sd"):
        record = asked(german, protocol)
        assert record["invalid_rate"] == 1
        assert near_chance(record["runs"])


def near_chance(runs):
    """Tell whether runs are within what four standard deviations of a guess in four allow."""
    return all(abs(run["accuracy"]["value"] - 25) < 4 * 100 * np.sqrt(0.25 * 0.75 / QUESTIONS) for run in runs)
