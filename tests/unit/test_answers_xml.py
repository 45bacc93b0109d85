# Without hypothesis, which the model environment lacks: the tests of the enforcer run there. Property tests of both formats
# are in test_answers_json.py.
import json as stdlib_json
from dataclasses import replace

import pytest

from candor.answers import json, xml
from candor.answers.response import Response

GOOD = """<reasoning>
If a < b & b < c,
then a<c.

</reasoning>
<answer>\\frac{1}{2}
or so</answer>
<confidence_analysis>two
lines</confidence_analysis>
<confidence> 85
</confidence>"""
READ = Response("If a < b & b < c,\nthen a<c.", "\\frac{1}{2}\nor so", "two\nlines", 85, True)
RLCR = ("think", "answer", "analysis", "confidence")
RLCR_WITHOUT_ANALYSIS = ("think", "answer", None, "confidence")


@pytest.mark.parametrize(("text", "value"), [("0", 0), ("7", 7), ("10", 10), ("99", 99), ("100", 100), (" \n50\t", 50)])
def test_read_percent(text, value):
    assert xml.read_percent(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "007",
        "05",
        "00",
        "+5",
        "-5",
        "50.0",
        "50.",
        "50%",
        "1e1",
        "101",
        "1000",
        "5 0",
        "٥",
        "５",
        "²",
        "high",
        "50\n60",
        "0x10",
        "1_0",
        pytest.param("9" * 5000, id="long"),
    ],
)
def test_read_percent_takes_integers_from_0_to_100_only(text):
    assert xml.read_percent(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.9", 0.9),
        (" 0.95 ", 0.95),
        ("1", 1),
        ("1.0", 1),
        ("0", 0),
        ("2", 0.02),
        ("90", 0.9),
        ("100.", 1),
        ("90%", 0.9),
        ("1%", 0.01),
        ("0.5%", 0.005),
        ("I am 90% confident in this answer.", 0.9),
        ("I am 0.9 confident.", 0.9),
    ],
)
def test_read_number(text, value):
    assert xml.read_number(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "high",
        "-0.5",
        "+1",
        "100.5",
        "101%",
        "1e1",
        "9 out of 10",
        "9/10",
        "0,9",
        "0.9.5",
        "0.5 %",
        "٥",
        "nan",
        "inf",
        "x9",
        "9x",
        "80% to 90%",
        pytest.param("9" * 5000, id="long"),
    ],
)
def test_read_number_takes_exactly_one_number(text):
    assert xml.read_number(text) is None


def test_multi_line_output_is_well_formed():
    assert xml.parse(GOOD) == READ
    assert xml.parse(f"\n {GOOD}\n\n") == READ


def test_elements_may_follow_each_other_directly():
    text = (
        "<reasoning></reasoning><answer>x</answer><confidence_analysis></confidence_analysis><confidence>0</confidence>"
    )
    assert xml.parse(text) == Response("", "x", "", 0, True)


@pytest.mark.parametrize(
    ("text", "expected", "follows"),
    [
        (f"Sure! {GOOD}", replace(READ, well_formed=False), False),
        (f"{GOOD} Done.", replace(READ, well_formed=False), False),
        (GOOD.replace("</answer>\n", "</answer> so "), replace(READ, well_formed=False), False),
        (GOOD + GOOD, replace(READ, well_formed=False), False),
        (GOOD.replace("85", "85%"), replace(READ, confidence=None, well_formed=False), True),
        (GOOD.replace("85", "101"), replace(READ, confidence=None, well_formed=False), True),
        (
            GOOD.replace("\\frac{1}{2}\nor so", " \n"),
            replace(READ, answer=None, well_formed=False),
            True,
        ),
        (GOOD.replace("</reasoning>", ""), replace(READ, reasoning=None, well_formed=False), False),
        (
            GOOD.replace("confidence_analysis", "analysis"),
            replace(READ, confidence_analysis=None, well_formed=False),
            False,
        ),
        (GOOD.replace("<answer>", "<ANSWER>"), replace(READ, answer=None, well_formed=False), False),
        # a tag that is mentioned in a text stands there twice
        (
            GOOD.replace("a<c", "<answer>"),
            replace(READ, reasoning="If a < b & b < c,\nthen <answer>.", well_formed=False),
            False,
        ),
        ("", Response(None, None, None, None, False), False),
        ("The answer is 4.", Response(None, None, None, None, False), False),
    ],
)
def test_salvage(text, expected, follows):
    assert xml.parse(text) == expected
    assert xml.follows_format(text) is follows


def test_order_matters():
    first, second = "<answer>x</answer>", "<reasoning>y</reasoning>"
    rest = "<confidence_analysis>z</confidence_analysis><confidence>5</confidence>"
    assert xml.parse(second + first + rest).well_formed
    assert xml.parse(first + second + rest) == Response("y", "x", "z", 5, False)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("<answer>a</answer> no, <answer>b</answer>", "b"),
        ("<answer>a</answer> no, <answer>b", "a"),
        ("<answer>a <answer>b</answer> c</answer>", "b"),
        ("<answer>a</answer> b</answer>", "a"),
        ("</answer>a<answer>", None),
        ("<answer>a</answer><answer> </answer>", None),
        ("<answer>a <confidence>5</confidence> </answer>", "a <confidence>5</confidence>"),
    ],
)
def test_the_last_complete_answer_is_taken(text, answer):
    assert xml.parse(text).answer == answer


def test_the_last_valid_confidence_is_taken():
    text = "<confidence>5</confidence><confidence>70</confidence><confidence>high</confidence><confidence>9"
    assert xml.parse(text).confidence == 70


def test_tags_of_rlcr():
    text = "<think>a\nb</think><answer>c</answer><analysis>d</analysis><confidence>0.9</confidence>"
    assert xml.parse(text, RLCR, xml.read_number) == Response("a\nb", "c", "d", 0.9, True)
    text = "<think>a</think><answer>c</answer><confidence>90%</confidence>"
    assert xml.parse(text, RLCR_WITHOUT_ANALYSIS, xml.read_number) == Response("a", "c", None, 0.9, True)
    assert not xml.parse(text, RLCR, xml.read_number).well_formed
    assert not xml.parse(text, RLCR_WITHOUT_ANALYSIS).well_formed


def test_tags_of_a_format_without_confidence():
    assert xml.parse("<answer>c</answer>", (None, "answer", None, None)) == Response(None, "c", None, None, True)


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        (GOOD, 2.8),
        (GOOD.replace(READ.answer, f" {'x' * 1000}\n"), 2.8),
        (GOOD.replace(READ.answer, "x" * 1001), 2.3),
        (GOOD.replace("85", "85%"), 1.8),  # the full format all the same
        (GOOD.replace(READ.answer, ""), 2.3),
        (f"Sure! {GOOD}", 2.3),
        (GOOD.replace("</reasoning>", ""), 2.2),
        (GOOD + "<confidence>", 2.2),
        (GOOD + GOOD, 1.5),  # no tag stands there once
        ("<answer>x</answer>", 0.7),
        ("<confidence>5", 0.1),
        ("", 0),
    ],
)
def test_format_reward(text, reward):
    assert xml.format_reward(text) == pytest.approx(reward, abs=1e-12)


def test_tag_reward_does_not_take_one_tag_for_another():
    assert xml.tag_reward("<confidence_analysis>") == 0.1
    assert xml.tag_reward(GOOD) == 0.8
    assert xml.tag_reward("< answer></ answer><answer/>") == 0


@pytest.mark.parametrize(
    "unit",
    [
        "<",
        "</",
        "<answer>",
        "</answer>",
        "<answer></answer>",
        "<confidence>9",
        "<confidence>a</confidence>",
        " ",
        "\n",
        "9",
        "9.",
        "a ",
        "<reasoning></reasoning>\n",
        "<reasoning><answer>",
    ],
)
def test_long_adversarial_texts_are_read(unit):
    # a megabyte would not end if the time grew with its square
    text = unit * (1_000_000 // len(unit))
    for tags in (xml.TAGS, RLCR_WITHOUT_ANALYSIS):
        assert not xml.parse(text, tags, xml.read_number).well_formed
    assert xml.format_reward(text) <= 0.8
    assert xml.read_percent(text) is None
    assert xml.read_number(text) is None
    assert not xml.parse(GOOD.replace("85", text), xml.TAGS, xml.read_number).well_formed


def test_render():
    response = Response("a < b\n\nc", "\\frac{1}{2}", "", 100, True)
    assert xml.render(response) == (
        "<reasoning>a < b\n\nc</reasoning>\n<answer>\\frac{1}{2}</answer>\n"
        "<confidence_analysis></confidence_analysis>\n<confidence>100</confidence>"
    )
    assert xml.parse(xml.render(response)) == response


def test_render_leaves_out_what_is_none():
    response = Response(None, "x", None, 0, False)
    assert xml.render(response) == "<answer>x</answer>\n<confidence>0</confidence>"
    assert xml.parse(xml.render(response)) == response
    assert xml.render(Response(None, None, None, None, False)) == ""


@pytest.fixture(scope="module")
def accepts():
    pytest.importorskip("xgrammar", reason="xgrammar is in the model environment only")
    from xgrammar import Grammar
    from xgrammar.testing import _is_grammar_accept_string

    def accepts(text, grammar=None, schema=None):
        enforced = Grammar.from_ebnf(grammar) if grammar else Grammar.from_json_schema(stdlib_json.dumps(schema))
        return _is_grammar_accept_string(enforced, text)

    return accepts


ENFORCED = GOOD.replace("a<c", "a<c <d <=e é東")


@pytest.mark.model
@pytest.mark.parametrize("confidence", ["0", "9", "10", "99", "100", " 5\n"])
def test_grammar_accepts(accepts, confidence):
    text = ENFORCED.replace(" 85\n", confidence).replace("a<c", "a<b")
    assert accepts(text, grammar=xml.grammar())
    assert xml.parse(text).well_formed


@pytest.mark.model
@pytest.mark.parametrize(
    ("old", "new"),
    [("85", confidence) for confidence in ("", "101", "05", "007", "-1", "50%", "5.0", "8 5", "high")]
    + [("two", tag) for name in xml.TAGS for tag in (f"<{name}>", f"</{name}>", f"<<{name}>", f"<<</{name}>")]
    + [
        ("<reasoning>", " <reasoning>"),
        ("<answer>", ""),
        ("</answer>\n", "</answer>"),
        ("</answer>\n", "</answer> so\n"),
    ],
)
def test_grammar_rejects(accepts, old, new):
    text = GOOD.replace("a<c", "a<b")
    assert accepts(text, grammar=xml.grammar())
    assert not accepts(text.replace(old, new), grammar=xml.grammar())


@pytest.mark.model
def test_grammar_ends_with_the_confidence(accepts):
    text = GOOD.replace("a<c", "a<b")
    assert not accepts(text + "\n", grammar=xml.grammar())
    assert not accepts(text[:-1], grammar=xml.grammar())


@pytest.mark.model
@pytest.mark.parametrize(
    ("limit", "changes", "accepted"),
    [
        (None, {}, True),
        (None, {"answer": "x" * 1001}, True),
        (1000, {"answer": "x" * 1000}, True),
        (1000, {"answer": "x" * 1001}, False),
        (None, {"confidence": 0}, True),
        (None, {"confidence": 100}, True),
        (None, {"confidence": 101}, False),
        (None, {"confidence": -1}, False),
        (None, {"confidence": True}, False),
        (None, {"confidence": 50.5}, False),
        (None, {"note": "x"}, False),
    ],
)
def test_schema_is_enforced(accepts, limit, changes, accepted):
    fields = {"reasoning": "a < b\n\\frac", "answer": "x", "confidence_analysis": "", "confidence": 5} | changes
    text = stdlib_json.dumps(fields)
    assert accepts(text, schema=json.schema(limit)) is accepted
    assert json.parse(text).well_formed or not accepted
