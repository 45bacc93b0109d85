"""Prompts are what the golden files show, and moving the gold moves nothing else.

After a change that is meant: `UPDATE_GOLDEN=1 python -m pytest tests/unit/test_mcq_prompts.py`, and read the difference.
"""

import os
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import get_args

import pytest

from candor.config import Benchmark, ProtocolName
from candor.data import benchmarks, items
from candor.data.items import Item
from candor.mcq import prompts
from candor.mcq.permutations import order
from candor.mcq.protocols import LETTERS, PROTOCOLS

GOLDEN = Path(__file__).parent / "golden" / "mcq_prompts"


def item(identity, question, options, gold, role="example", language="en", category=None, rationale=None):
    return Item(identity, role, question, tuple(options), gold, category, language, rationale, False)


EXAMPLES = {
    "en": [
        item(
            "e1",
            "Which of these is a prime number?",
            ["21", "23", "25", "27", "33"],
            1,
            category="math",
            rationale="(A) and (E) are divisible by 3, and so is option D. (C) is five times 5. Only (B) is left; P(A) is no option.",
        ),
        item("e2", "How many sides has a cube?\nCount them.", ["six", "eight", "twelve"], 0, category="math"),
    ],
    "de": [item("e1", "Welche Farbe hat Schnee?", ["Rot", "Weiß", "Schwarz"], 1, language="de")],
    "fr": [item("e1", "De quelle couleur est la neige ?", ["Rouge", "Blanche", "Noire"], 1, language="fr")],
    "it": [item("e1", "Di che colore è la neve?", ["Rossa", "Bianca", "Nera"], 1, language="it")],
    "es": [item("e1", "¿De qué color es la nieve?", ["Roja", "Blanca", "Negra"], 1, language="es")],
}
ASKED = {
    "en": item("q", "What is $2 + 2$?", ["3", "4", "5", "22"], 1, "asked", category="math"),
    "de": item("q", "Wie viele Beine hat eine Spinne?", ["Sechs.", "Acht.", "Zehn."], 1, "asked", "de", "Biology"),
    "fr": item("q", "Combien de pattes a une araignée ?", ["Six.", "Huit.", "Dix."], 1, "asked", "fr", "Biology"),
    "it": item("q", "Quante zampe ha un ragno?", ["Sei.", "Otto.", "Dieci."], 1, "asked", "it", "Biology"),
    "es": item("q", "¿Cuántas patas tiene una araña?", ["Seis.", "Ocho.", "Diez."], 1, "asked", "es", "Biology"),
}
SHOWN = [
    *((name, shots, "en") for name in PROTOCOLS for shots in (0, 2)),
    *((name, 1, language) for name in ("sl", "md") for language in ("de", "fr", "it", "es")),
]


def ask(name, run, language="en", shots=2, moved=True):
    asked = ASKED[language]
    examples = items.few_shot(asked, EXAMPLES[language], shots)
    return prompts.prompt(asked, run, examples, PROTOCOLS[name], moved)


def test_the_configuration_names_every_protocol():
    assert set(get_args(ProtocolName)) == set(PROTOCOLS) == set(prompts.INSTRUCTIONS)


@pytest.mark.parametrize(("name", "shots", "language"), SHOWN)
def test_golden(name, shots, language):
    """The original order, then the gold at the third position."""
    path = GOLDEN / f"{name}-{shots}-{language}.txt"
    text = "\n----- run 3 -----\n".join(f"{ask(name, run, language, shots)}\n" for run in (0, 3))
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_every_golden_file_is_of_a_prompt():
    assert {path.name for path in GOLDEN.iterdir()} == {
        f"{name}-{shots}-{language}.txt" for name, shots, language in SHOWN
    }


@pytest.mark.parametrize("run", range(6))
@pytest.mark.parametrize("moved", [True, False])
def test_the_letter_of_a_worked_example_is_where_its_gold_now_stands(run, moved):
    first, second = EXAMPLES["en"]
    for name in ("sl", "sd"):
        *blocks, last = ask(name, run, moved=moved).split("\n\n")[1:]
        for example, block in zip((first, second), blocks, strict=True):
            place = order(len(example.options), example.gold, run if moved else 0).index(example.gold)
            assert block.endswith(f"The answer is ({LETTERS[place]}).")
            shown = block.split("Options:\n")[1].split("\nAnswer:")[0].splitlines()
            assert shown[place] == (f"{LETTERS[place]}. " if name == "sl" else "- ") + example.options[example.gold]
        asked = last.split("Options:\n")[1].split("\nAnswer:")[0].splitlines()
        assert asked[min(run, 4) - 1 if run else 1].endswith(" 4")


@pytest.mark.parametrize("run", range(6))
def test_a_worked_solution_speaks_of_the_same_options_wherever_they_stand(run):
    example = EXAMPLES["en"][0]
    shown = order(5, example.gold, run)
    letter = {index: LETTERS[place] for place, index in enumerate(shown)}
    assert (
        f"({letter[0]}) and ({letter[4]}) are divisible by 3, and so is option {letter[3]}. ({letter[2]}) is five times 5. "
        f"Only ({letter[1]}) is left; P(A) is no option."
    ) in ask("sl", run)
    for name in ("ml", "md", "md-numbers"):
        assert (
            '"21" and "33" are divisible by 3, and so is option "27". "25" is five times 5. '
            'Only "23" is left; P(A) is no option. The answer is 23\n'
        ) in ask(name, run)


@pytest.mark.parametrize(
    ("question", "rationale"),
    [
        ("Statement A: 1 = 1. Statement B: 1 = 2.", "Statement A is true."),
        ("(A) is a set.", "So (A) is open."),
        ("I. yes II. no", "Only (I) holds."),
        ("?", "f(A) and Hom(B) and [x](C) and (K) and Answer E's"),
    ],
)
def test_what_names_no_option_is_left_as_it_is(question, rationale):
    example = item("e", question, [f"option {number}" for number in range(10)], 3, rationale=rationale)
    for name in ("sl", "md"):
        assert f"step by step. {rationale} The answer is" in prompts.prompt(
            ASKED["en"], 2, [example], PROTOCOLS[name], True
        )


@pytest.mark.parametrize("name", PROTOCOLS)
def test_questions_of_a_run_share_all_but_themselves(name):
    other = replace(ASKED["en"], item_id="other", question="Another?", options=("x", "y"), gold=0)
    protocol = PROTOCOLS[name]
    for run in range(5):
        first, second = (prompts.prompt(asked, run, EXAMPLES["en"], protocol, True) for asked in (ASKED["en"], other))
        shared = "".join(
            left for left, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
        )
        assert shared.endswith("\n\nQuestion:\n")
        assert shared.count("Question:") == 3
    kept = {prompts.prompt(other, run, EXAMPLES["en"], protocol, False).split("Another?")[0] for run in range(5)}
    assert len(kept) == 1


@pytest.mark.parametrize("name", PROTOCOLS)
def test_no_protocol_but_those_with_letters_shows_one(name):
    """A letter that is shown or asked for would bring back the bias that the others are there to remove."""
    text = ask(name, 2).replace("P(A)", "")
    letters = [f"{letter}. " in text or f"({letter})" in text for letter in "ABCDE"]
    assert any(letters) == (name in ("sl", "sd", "ml"))


def test_a_prompt_is_one_message_and_cloze_scores_every_option():
    asked = ASKED["en"]
    assert prompts.messages(asked, 2, EXAMPLES["en"], PROTOCOLS["md"], True) == [
        {"role": "user", "content": ask("md", 2)}
    ]
    assert prompts.continuations(asked) == [" 3", " 4", " 5", " 22"]
    assert ask("cloze", 1).endswith("\nAnswer:")


def test_more_options_than_labels_are_an_error():
    asked = item("q", "?", [str(number) for number in range(11)], 0, "asked")
    with pytest.raises(ValueError, match="protocol 'md-emojis' has labels for 10 options, not 11"):
        prompts.prompt(asked, 0, [], PROTOCOLS["md-emojis"], True)


def test_real_items_are_asked_under_every_protocol(data_folder):
    source = {"asked": [str(data_folder / "mmlu_pro/test_sample_504.jsonl")]}
    frame, _ = benchmarks.build(Benchmark(label="M", kind="mmlu-pro", source=source, positions=10), 0)
    loaded = items.from_frame(frame)
    shown = [one for one in loaded if one.role == "example"]
    for asked in loaded[:60]:
        if asked.role == "example":
            continue
        examples = items.few_shot(asked, shown, 5)
        for name, protocol in PROTOCOLS.items():
            for run in (0, 1, 10):
                text = prompts.prompt(asked, run, examples, protocol, True)
                assert text.count("\nOptions:\n") == 6
                assert f" about {asked.category}." in text.split("\n\n")[0]
                place = order(len(asked.options), asked.gold, run).index(asked.gold)
                line = text.rsplit("\nOptions:\n", 1)[1]
                assert line.count("\n") >= len(asked.options)
                if name == "sl" and "\n" not in asked.options[asked.gold]:
                    assert f"{LETTERS[place]}. {asked.options[asked.gold]}\n" in line
