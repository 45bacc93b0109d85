import json as stdlib_json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor.answers import json, xml
from candor.answers.response import Response

FIELDS = {"reasoning": "two\nlines", "answer": "x", "confidence_analysis": "a < b", "confidence": 85}
NOTHING = Response(None, None, None, None, False)


def output(**changes):
    return stdlib_json.dumps(FIELDS | changes)


def test_well_formed():
    expected = Response("two\nlines", "x", "a < b", 85, True)
    assert json.parse(output()) == expected
    assert json.parse(f"\n  {output()}\n") == expected
    assert json.parse(output(note="ignored")) == expected
    assert json.parse(stdlib_json.dumps(dict(reversed(FIELDS.items())))) == expected


@pytest.mark.parametrize("confidence", [0, 1, 100])
def test_bounds_of_the_confidence(confidence):
    assert json.parse(output(confidence=confidence)).confidence == confidence


@pytest.mark.parametrize(
    "confidence",
    [
        "-1",
        "101",
        "1000",
        "50.0",
        "1e1",
        "1e999",
        "true",
        "false",
        '"50"',
        "null",
        "[50]",
        '{"a": 1}',
        pytest.param("7" * 5000, id="more digits than int takes"),
    ],
)
def test_unreadable_confidence_leaves_the_rest(confidence):
    text = output().replace("85", confidence)
    assert json.parse(text) == Response("two\nlines", "x", "a < b", None, False)


@pytest.mark.parametrize("value", [None, 5, True, ["x"], {"x": "y"}])
@pytest.mark.parametrize("key", ["reasoning", "answer", "confidence_analysis"])
def test_unreadable_text_leaves_the_rest(key, value):
    response = json.parse(output(**{key: value}))
    assert not response.well_formed
    assert {k: getattr(response, k) for k in FIELDS} == FIELDS | {key: None}


def test_missing_fields():
    assert json.parse('{"answer": "x"}') == Response(None, "x", None, None, False)
    assert json.parse("{}") == NOTHING


@pytest.mark.parametrize("answer", ["", " \n"])
def test_an_empty_answer_is_none(answer):
    assert json.parse(output(answer=answer)) == Response("two\nlines", None, "a < b", 85, False)
    assert json.parse(output(reasoning="", confidence_analysis="")).well_formed


@pytest.mark.parametrize(
    "text",
    ["", " ", "null", "5", '"x"', "[]", f"[{output()}]", output()[:-1], output() + output(), f"Sure! {output()}"]
    + [f"```json\n{output()}\n```", output().replace('"x"', "'x'"), output().replace('"x"', '"a "b" c"')]
    + [output().replace("\\n", "\n"), output().replace('"x"', r'"\sqrt"'), output()[:-1] + ",}", "\ufeff" + output()]
    + [output().replace("85", constant) for constant in ("NaN", "Infinity", "-Infinity", "05", "+5", "")]
    + ['{"answer": "x\0"}', '{"answer": "\\ud8"}']
    + [pytest.param("[" * 200_000, id="deep list"), pytest.param('{"a":' * 200_000, id="deep object")],
)
def test_broken_json_gives_nothing(text):
    assert json.parse(text) == NOTHING
    assert json.format_reward(text, 5) == 0


def test_the_last_of_a_repeated_key_counts():
    assert json.parse(output()[:-1] + ', "confidence": 7}').confidence == 7
    assert json.parse(output()[:-1] + ', "confidence": "high"}').confidence is None


def test_escaped_nul_and_half_surrogates_can_be_written_to_a_file():
    response = json.parse(output(answer="a\0b", reasoning="\ud83d\ude00 \ud83d \ude00"))
    assert response.answer == "a\0b"
    assert response.reasoning == "😀 \ufffd \ufffd"
    assert response.well_formed


def test_format_reward():
    assert json.format_reward(output(), 0.5) == 0.5
    assert json.format_reward(output(confidence=101), 0.5) == 0
    assert json.format_reward(output(reasoning=None), 0.5) == 0


def test_schema():
    free, limited = json.schema(None), json.schema(1000)
    assert list(free["properties"]) == free["required"] == list(FIELDS)
    assert free["additionalProperties"] is False
    assert free["properties"]["confidence"] == {"type": "integer", "minimum": 0, "maximum": 100}
    assert "maxLength" not in free["properties"]["answer"]
    assert limited["properties"]["answer"]["maxLength"] == 1000
    assert "maxLength" not in limited["properties"]["reasoning"]


@pytest.mark.parametrize(
    "latex",
    [
        r"\frac{1}{2}",
        r"\beta + \binom{n}{k}",
        r"\forall x",
        r"\left( x \right)",
        r"\rho",
        r"3 \times 4",
        r"\theta_1",
        r"\text{km}",
        r"\tan x",
        r"\tan\theta",
        r"x \to 0",
        r"\tau",
        r"a \neq b",
        r"\nabla f",
        r"\nu",
        r"x \notin A",
        r"a \leq b",
        r"\boxed{\frac{\theta}{2}}",
    ],
)
def test_latex_is_recovered(latex):
    assert json.unescape_latex(latex) == latex  # escaped rightly
    twice = latex.replace("\\", "\\\\")
    assert json.unescape_latex(twice) == latex  # escaped twice
    for letter, control in zip("bfrtn", "\b\f\r\t\n", strict=True):
        damaged = latex.replace(f"\\{letter}", control)
        assert json.unescape_latex(damaged) == latex  # not escaped


def test_latex_from_raw_json():
    raw = r'{"reasoning": "\\\\frac{1}{2} \\\\\\\\ x", "answer": "\frac{\theta}{2} \neq\\pi"}'
    response = json.parse(raw)
    assert json.unescape_latex(response.reasoning) == r"\frac{1}{2} \\ x"
    assert json.unescape_latex(response.answer) == r"\frac{\theta}{2} \neq\pi"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "First,\nequal parts.\nNot so.\nnot so\nuntil then\nuse it\nexists\nless\ni.e. 5\ne = 2.7",
        "a\tb\n\tan apple\n\ttotal\ttime\n\ttext\ttotally\r\n\r\nnext",
        "one\n\ntwo\n- three\n1. four\n$x$",
        r"\begin{matrix} 1 \\ 2 \\alpha \end{matrix}",
        r"a \\ b",
        r"a\\b",
        "page\f break",
    ],
)
def test_prose_and_right_latex_are_left_alone(text):
    assert json.unescape_latex(text) == text


def test_to_xml():
    target = json.to_xml(
        json.parse(r'{"reasoning":" a\n\nb","answer":"\frac{1}{2}","confidence_analysis":"","confidence":5}')
    )
    assert target == (
        "<reasoning>a\n\nb</reasoning>\n<answer>\\frac{1}{2}</answer>\n"
        "<confidence_analysis></confidence_analysis>\n<confidence>5</confidence>"
    )
    assert xml.parse(target).well_formed


@pytest.mark.parametrize(
    "changes",
    [
        {"confidence": 101},
        {"answer": ""},
        {"reasoning": None},
        {"reasoning": "see <answer>"},
        {"answer": "</reasoning>"},
    ],
)
def test_to_xml_is_none_where_it_would_not_be_well_formed(changes):
    assert json.to_xml(json.parse(output(**changes))) is None


# Properties of both formats.

PIECES = [f"<{slash}{tag}>" for tag in (*xml.TAGS, "think", "analysis") for slash in ("", "/")]
PIECES += [
    '{"answer": "',
    '", "confidence": ',
    '"reasoning"',
    '{"',
    '"}',
    "}",
    "\\",
    "\n",
    " ",
    "0.5",
    "90%",
    "100",
    "9",
]
anything = st.text() | st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)
contents = st.text(st.characters(codec="utf-8")).filter(lambda text: xml.tag_reward(text) == 0 and ">" not in text)
stripped = contents.map(str.strip)


@given(anything)
def test_any_text_gives_a_response(text):
    for tags in (xml.TAGS, ("think", "answer", "analysis", "confidence"), ("think", "answer", None, "confidence")):
        for read in (xml.read_percent, xml.read_number):
            response = xml.parse(text, tags, read)
            assert response.confidence is None or 0 <= response.confidence <= 100
            assert response.answer != ""
    assert 0 <= xml.format_reward(text) <= 2.8
    assert xml.parse(text).well_formed is (xml.format_reward(text) > 2.75) or len(xml.parse(text).answer or "") > 1000
    response = json.parse(text)
    assert json.to_xml(response) is None or response.well_formed


@given(st.text())
def test_latex_of_any_text(text):
    json.unescape_latex(text)


json_values = st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=5)


@given(st.dictionaries(st.sampled_from([*FIELDS, "other"]), json_values))
def test_any_object_gives_what_is_readable_of_it(fields):
    response = json.parse(stdlib_json.dumps(fields))
    for key in ("reasoning", "answer", "confidence_analysis"):
        assert getattr(response, key) is None or isinstance(fields[key], str)
    assert response.confidence is None or response.confidence == fields["confidence"]


@given(st.none() | stripped, st.none() | stripped.filter(bool), st.none() | stripped, st.none() | st.integers(0, 100))
def test_a_rendered_response_is_read_back(reasoning, answer, analysis, confidence):
    parts = (reasoning, answer, analysis, confidence)
    response = Response(*parts, well_formed=None not in parts)
    assert xml.parse(xml.render(response)) == response


@given(contents, contents.filter(str.strip), contents, st.integers(0, 100))
def test_json_as_xml_is_read_back(reasoning, answer, analysis, confidence):
    fields = dict(zip(FIELDS, (reasoning, answer, analysis, confidence), strict=True))
    response = json.parse(stdlib_json.dumps(fields))
    assert response == Response(*fields.values(), well_formed=True)
    assert xml.parse(json.to_xml(response)).confidence == confidence
