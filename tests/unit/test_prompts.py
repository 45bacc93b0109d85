"""The prompts are the paper's words, and what is sent is what the method says."""

from hashlib import sha256

import pytest

from candor.confidence import prompts

# SHA-256 of E.8's prompts with every run of whitespace as one space, which is how the paper's text at hand has them.
PRINTED = {
    prompts.JSON_SYSTEM["original"]: "d97edee5dd1bc77a",
    prompts.JSON_SYSTEM["updated"]: "a33b37fcab178717",
    prompts.XML_SYSTEM: "3e6b817873b988d1",
    prompts.CONFIDENCE_PROBE: "8f593ec3a7c0d9f1",
    prompts.answer_probe(32, latex=False): "8043c8ce0586d111",
    prompts.answer_probe(64, latex=True): "95a02365a7f4086c",
}


@pytest.mark.parametrize(("prompt", "digest"), PRINTED.items(), ids=range(len(PRINTED)))
def test_the_words_are_the_papers(prompt, digest):
    assert sha256(" ".join(prompt.split()).encode()).hexdigest()[:16] == digest


def test_a_question_is_asked_under_the_system_prompt_of_its_format():
    for format, json_prompt, system in (
        ("xml", "original", prompts.XML_SYSTEM),
        ("json", "original", prompts.JSON_SYSTEM["original"]),
        ("json", "updated", prompts.JSON_SYSTEM["updated"]),
    ):
        assert prompts.messages(" Who?\n", format, json_prompt) == [
            {"role": "system", "content": system},
            {"role": "user", "content": " Who?\n"},
        ]


def test_the_xml_prompt_breaks_its_lines_where_its_structure_shows():
    lines = prompts.XML_SYSTEM.split("\n")
    assert [line[:2] for line in lines[1:5]] == ["1)", "2)", "3)", "4)"]
    assert lines[6:9] == ["<reasoning>", "…", "</reasoning>"]
    assert lines[-1] == "</confidence>"
