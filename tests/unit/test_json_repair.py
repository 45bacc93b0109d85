"""Repair of broken JSON: what is mended, what is left alone, and that no output of a model is too broken to be read."""

import json
import random

import pytest

from candor.answers.json import parse
from candor.answers.response import Response

pytest.importorskip("fast_json_repair", reason="fast-json-repair is of the model environment")

from candor.answers.json_repair import repair

FIELDS = {"reasoning": "Both {1, 2} fit.", "answer": r"\frac{1}{2}", "confidence_analysis": "Sure.", "confidence": 70}
VALID = json.dumps(FIELDS)


def output(**raw):
    """JSON of the format whose values stand there as they are given."""
    values = {key: json.dumps(value) for key, value in FIELDS.items()} | raw
    return "{" + ", ".join(f'"{key}": {value}' for key, value in values.items()) + "}"


def read(text):
    return parse(repair(text))


def mended(**changes):
    fields = FIELDS | changes
    return Response(*fields.values(), well_formed=None not in fields.values())


@pytest.mark.parametrize("text", [VALID, json.dumps(FIELDS, indent=2), output(answer='"a \\"b\\", \\"c\\": d}"')])
def test_a_valid_object_comes_back_as_it_stands(text):
    assert repair(text) == text


@pytest.mark.parametrize("before", ["", "Sure!\n```json\n", "] "])
@pytest.mark.parametrize("after", ["", "\n```\nThat {was} it.", VALID, "}", " \0 \u4e2d"])
def test_what_is_around_the_object_is_left_out(before, after):
    assert repair(before + VALID + after) == VALID
    broken = VALID.replace('"confidence"', "confidence")
    assert read(before + broken + after) == mended()


@pytest.mark.parametrize(
    ("text", "changes"),
    [
        # quotation marks
        (output(answer='"the "big" one"'), {"answer": 'the "big" one'}),
        (output(answer='""big""'), {"answer": '"big"'}),
        (output(reasoning='"he said "a, b" and "c": d"'), {"reasoning": 'he said "a, b" and "c": d'}),
        (output(answer='"a "b", "c", d"'), {"answer": 'a "b", "c", d'}),
        (output(answer=r'"a \"b" c"'), {"answer": 'a "b" c'}),
        # backslashes
        (output(answer=r'"\sqrt{2} \(x\) \underline{u}"'), {"answer": r"\sqrt{2} \(x\) \underline{u}"}),
        (output(answer=r'"\\sqrt{2} "x""'), {"answer": r'\sqrt{2} "x"'}),
        (output(answer='"\\frac12 "x""'), {"answer": '\frac12 "x"'}),  # \f is an escape of JSON
        # what the library mends
        (output(answer='"two\nlines"'), {"answer": "two\nlines"}),
        (VALID.replace("}", ",}").replace("{1, 2,}", "{1, 2}").replace(r"\\frac{1,}{2,}", r"\\frac{1}{2}"), {}),
        (VALID.replace(', "answer"', '\n"answer"'), {}),
        (VALID.replace('"answer"', "'answer'"), {}),
        (VALID.replace('"answer"', "answer").replace('"confidence_analysis"', "confidence_analysis"), {}),
        # no end
        (VALID[:-1], {}),
        (VALID[:-1] + "\nI hope this helps.", {}),
        (VALID[: VALID.index(', "confidence":')], {"confidence": None}),
        (VALID[: VALID.index("e.") + 2], {"confidence_analysis": "Sure.", "confidence": None}),
        # what cannot be mended is not made up
        (output(confidence="101,"), {"confidence": None}),
        (output(confidence='"70",'), {"confidence": None}),
        (output(confidence="0.7,"), {"confidence": None}),
        (output(confidence="NaN"), {"confidence": None}),
        (output(confidence="9" * 5000), {"confidence": None}),
        (output(answer="12,"), {"answer": None}),
    ],
)
def test_what_is_mended(text, changes):
    assert read(text) == mended(**changes)


@pytest.mark.parametrize(
    "text", ["", "no object", "{", "}", "}{", "{}", '["a"]', '{"', '{"a":' * 50_000, "{" + "[" * 99_999]
)
def test_where_there_is_nothing_nothing_is_read(text):
    assert read(text) == Response(None, None, None, None, well_formed=False)


@pytest.mark.parametrize("unit", ['x"y', '"', '", ', '" "', "\\", '"}', '": ', "\n", '{"a": "', " " * 50 + '"'])
def test_a_megabyte_of_repetition_is_read_in_passing(unit):
    # What backtracks would take hours.
    assert not read('{"reasoning": "' + unit * (1_000_000 // len(unit))).well_formed
    assert read(VALID[:-1] + unit * (1_000_000 // len(unit))).answer == FIELDS["answer"]


def test_an_object_too_deep_to_read_with_a_long_integer_is_not_read_and_nothing_raises():
    # The library hands wide integers to Python's reader, which ends at a depth of about a thousand.
    text = '{"a":' * 5000 + VALID.replace("70", "5" * 5000) + "}" * 5000 + "."
    assert read(text).answer is None


def mutate(text, draw):
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice((0, 0, 1, 2, 30)))
        text = (
            text[:start]
            + draw.choice(("", '"', "\\", "{", "}", ",", ":", "\0", "\ud800", "中", text[start:end] * 3))
            + text[end:]
        )
    return text


@pytest.mark.parametrize("seed", range(5))
def test_any_mutation_of_an_output_is_read_or_not_but_never_raises(seed):
    draw = random.Random(seed)
    found = 0
    for _ in range(1000):
        response = read(mutate(VALID, draw))
        assert response.confidence is None or 0 <= response.confidence <= 100
        found += response.answer is not None
    assert found > 500


def test_whatever_a_string_holds_it_comes_back_from_valid_json():
    draw = random.Random(1)
    for _ in range(500):
        text = "".join(draw.choice('"\\{}[],: \nabu1') for _ in range(draw.randint(1, 30))) + "."
        whole = json.dumps({**FIELDS, "answer": text})
        assert repair(whole + "x") == whole
