"""Reading answers out of raw outputs: rule by rule, as laws, and on real outputs whose letters are known."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor.mcq import extraction
from candor.mcq.extraction import (
    LETTER_RULES,
    RANDOM,
    TEXT_RULES,
    Extraction,
    answer_part,
    extract_letter,
    extract_text,
    random_option,
)

LETTERS = tuple("ABCDEFGHIJ")
OPTIONS = ("Paris", "New York", "New York City", "a café", "U.S.", "5", "5!")


@pytest.mark.parametrize(
    ("output", "rule", "text"),
    [
        ("Hm. The answer is Paris.", "answer_is", "Paris"),
        ("The answer is Rome. No: the answer is Paris.\nDone.", "answer_is", "Paris"),
        ("The answer is the city of light. It is nice.\nDone.", "answer_is", "the city of light. It is nice"),
        ("Answer: Rome\nThe answer is Paris", "answer_is", "Paris"),
        ("Answer: Rome\nAnswer: Paris\n", "answer_colon", "Paris"),
        ("ANSWER:Paris", "answer_colon", "Paris"),
        ("The correct answer is:\n\n**Paris**\n", "answer_is", "Paris"),
        ("The answer is Paris.\nTherefore, the correct answer is", "answer_is", "Paris"),  # cut off
        ("Answer: Paris\nCorrect answer: **", "answer_colon", "Paris"),
        ("The **answer** is **Paris**.", "answer_is", "Paris"),
        ("**The answer is: Paris.**", "answer_is", "Paris"),
        ("**Answer:** Paris", "answer_colon", "Paris"),
        (r"The answer is $\boxed{\text{New York}}$.", "answer_is", "New York"),
        (r"\boxed{The answer is Paris}", "answer_is", "Paris"),
        (r"The answer is \(\boxed{Paris}\).", "answer_is", "Paris"),
        ("the answer is „a café“.", "answer_is", "a café"),
        ("The answer is 'New York City'!", "answer_is", "New York City"),
        ("The answer is (Paris).", "answer_is", "Paris"),
        ("The answer is (C) New York City.", "answer_is", "New York City"),
        ("The answer is **C. New York City**", "answer_is", "New York City"),
        ("The answer is C) `New York City`", "answer_is", "New York City"),
        ("The answer is - Paris", "answer_is", "Paris"),
        ("The answer is U.S.", "answer_is", "U.S."),  # an option keeps what dress it has
        ("The answer is 5!.", "answer_is", "5!"),
        ("The answer is 5.", "answer_is", "5"),
        ("The answer isn't known, but New York City is near New York. York?", "verbatim_option", "New York"),
        ("It must be New York City. Not Rome.", "verbatim_option", "New York City"),
        ("Parisian, 15, 0.5, 5.2 or -5? The town in France!", "last_sentence", "The town in France"),
        ("It is 3.5 m long", "last_sentence", "It is 3.5 m long"),
        ("paris", "last_sentence", "paris"),  # verbatim is verbatim
    ],
)
def test_text_rules(output, rule, text):
    assert extract_text(output, OPTIONS) == Extraction(rule, text)


@pytest.mark.parametrize(
    "output", ["", " \n", "...", "**", "<think>The answer is Paris", "<think>The answer is Paris.</think>\n"]
)
def test_where_there_is_no_answer(output):
    assert extract_text(output, OPTIONS) == Extraction(RANDOM)
    assert extract_letter(output, LETTERS) == Extraction(RANDOM)


@pytest.mark.parametrize(
    ("labels", "output", "text", "position"),
    [
        ("ABCDEFG", "The answer is (B).", "B", 1),
        ("ABCDEFG", "The answer is (B) New York", "New York", None),
        ("1234567", "The answer is 2. New York", "New York", None),
        ("1234567", "The answer is 3", "3", 2),
        ("1234567", "The answer is 5", "5", None),  # an option, too
        ("🔴🔵🟢🟡🟠🟣⚪", "The answer is 🔵 New York", "New York", None),
        ("🔴🔵🟢🟡🟠🟣⚪", "The answer is 🔵", "🔵", 1),
        ("-------", "The answer is - New York", "New York", None),
        ("XXXXXXX", "The answer is X New York", "New York", None),
        ("XXXXXXX", "The answer is X", "X", None),  # says nothing of which
    ],
)
def test_texts_under_labels_of_any_kind(labels, output, text, position):
    assert extract_text(output, OPTIONS, labels) == Extraction("answer_is", text, position)


@pytest.mark.parametrize(
    ("output", "rule", "label"),
    [
        ("So the answer is (C).", "answer_is", "C"),
        ("The answer is (A). On second thought, the answer is (C).", "answer_is", "C"),
        ("The answer is C", "answer_is", "C"),
        ("The answer is C, for it is cold.", "answer_is", "C"),
        ("The answer is **C**.", "answer_is", "C"),
        ("**The answer is C.**", "answer_is", "C"),
        (r"The answer is \boxed{C}.", "answer_is", "C"),
        (r"The answer is $\boxed{\text{C}}$.", "answer_is", "C"),
        ("The answer is $C$", "answer_is", "C"),
        ("The answer is 'C'", "answer_is", "C"),
        ("The answer is C) New York City", "answer_is", "C"),
        ("The answer is option C.", "answer_is", "C"),
        ("The answer is (c).", "answer_is", "c"),
        ("The answer is:\n\n(C)", "answer_is", "C"),
        ("The answer is (C), since it is cold. Therefore, the correct answer is", "answer_is", "C"),  # cut off
        ("The answer is not listed, but it is closest to (C).", "answer_is", "C"),
        ("The answer is, I think, (C)", "answer_is", "C"),
        ("The answer is what I think: (C)", "answer_is", "C"),
        ("The answer is A.", "answer_is", "A"),
        ("The answer is (I)", "answer_is", "I"),
        ("Hm.\nANSWER: C\nCONFIDENCE: 90", "answer_colon", "C"),
        ("Answer: C. New York City", "answer_colon", "C"),
        ("It is cold there.\n**C**", "last_line", "C"),
        ("$C$\n", "last_line", "C"),
        ("C) New York City", "last_line", "C"),
    ],
)
def test_letter_rules(output, rule, label):
    assert extract_letter(output, LETTERS, OPTIONS) == Extraction(rule, label, LETTERS.index(label.upper()))


@pytest.mark.parametrize(
    "output",
    [
        "The answer is (A) and (B).",
        "The answer is (D), (C), and (F).",
        "The answer is A, B, C, D, and E.",
        "The answer is (I) or (C), depending on the tradition.",
        "The answer is not (A) but (B)",
        "Answer: [A/B/C/D]",
        "The answer is C, X or Z.",
        "The answer is (II).",
        "The answer is CBF, which is no mode.",
        "The answer is (Cannot be determined).",
        "The answer is a matter of taste.",
        "The answer is C-section.",
        "The answer is $C(8, 5) = 56$.",
        "Then P(A) = 1.",
        "C. something that is no option, in a list that was cut off",
    ],
)
def test_what_is_no_label_or_several(output):
    assert extract_letter(output, LETTERS, OPTIONS) == Extraction(RANDOM)


def test_letters_of_any_set():
    assert extract_letter("The answer is 3.", "12345").position == 2
    assert extract_letter("The answer is 3.5.", "12345").rule == RANDOM
    assert extract_letter("The answer is 10", [str(i) for i in range(1, 11)]).position == 9
    assert extract_letter("The answer is 🔵", "🔴🔵").position == 1
    assert extract_letter("The answer is (E)", "ABCD").rule == RANDOM  # there is no E
    with pytest.raises(ValueError, match="cannot be told apart"):
        extract_letter("The answer is X", "XXX")


@pytest.mark.parametrize(
    ("output", "answer"),
    [
        ("<think>The answer is A.</think> B", " B"),
        ("The answer is A.</think>B", "B"),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("<think>never done", ""),
        ("analysisThe user asks. It is A.assistantfinalThe answer is B.", "The answer is B."),
        ("analysisWe must think and then", ""),
        (
            "<|channel|>analysis<|message|>A<|end|><|start|>assistant<|channel|>final<|message|>B<|return|>",
            "B",
        ),
        ("<|channel|>final<|message|>B<|return|>", "B"),
        ("<|channel|>analysis<|message|>A, but", ""),
        ("analysis of the text shows B", "analysis of the text shows B"),
        ("The answer is B.", "The answer is B."),
    ],
)
def test_reasoning_is_not_the_answer(output, answer):
    assert answer_part(output) == answer


def test_the_fallback_depends_on_seed_question_and_run_alone():
    chosen = [random_option(1, f"q{i}", 0, 4) for i in range(4000)]
    assert chosen == [random_option(1, f"q{i}", 0, 4) for i in range(4000)]
    assert chosen != [random_option(2, f"q{i}", 0, 4) for i in range(4000)]
    assert chosen != [random_option(1, f"q{i}", 1, 4) for i in range(4000)]
    assert all(abs(chosen.count(option) - 1000) < 5 * (4000 * 3 / 16) ** 0.5 for option in range(4))


PIECES = (
    *("The answer is ", "answer:", "Answer: ", "(C)", "A", "**", "$", r"\boxed{", "}", "\n", ". ", " ", "'", "["),
    *("Paris", "New York", "5", "-", "é", "🔵"),
    *("</think>", "<think>", "analysis", "assistantfinal", "<|channel|>final<|message|>"),
)
outputs = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=20).map("".join))


@given(outputs, st.sampled_from(["", "ABCDEFG", "1234567", "-------", "XXXXXXX", "🔴🔵🟢🟡🟠🟣⚪"]))
def test_text_is_part_of_the_output_or_there_is_none(output, labels):
    found = extract_text(output, OPTIONS, labels)
    assert (found.rule == RANDOM) == (found.text is None)
    assert found.rule in (*TEXT_RULES, RANDOM)
    assert found.text is None or (found.text and found.text in output)
    assert found.position is None or labels[found.position] == found.text


@given(outputs)
def test_a_letter_is_part_of_the_output_or_there_is_none(output):
    found = extract_letter(output, LETTERS, OPTIONS)
    assert (found.rule == RANDOM) == (found.text is None) == (found.position is None)
    assert found.rule in (*LETTER_RULES, RANDOM)
    assert found.text is None or (found.text in output and LETTERS[found.position] == found.text.upper())


def is_option(text):
    return text and "think>" not in text  # no option is a tag of reasoning


def texts(*categories):
    characters = st.characters(categories=categories, include_characters=" ")
    return st.lists(
        st.text(characters, min_size=1).map(str.strip).filter(is_option), min_size=1, max_size=5, unique=True
    )


@given(texts("L", "N", "P", "S"))
def test_an_options_own_text_is_read_whole(options):
    assert extract_text(f"The answer is {options[0]}", options).text == options[0]


@given(
    texts("Ll", "Nd"), st.sampled_from(["{}.", "**{}**", '"{}"', "({})", "${}$", r"\boxed{{\text{{{}}}}}.", "(C) {}"])
)
def test_an_options_own_text_is_read_in_every_usual_dress(options, dress):
    assert extract_text(f"The answer is {dress.format(options[0])}\nDone.", options) == Extraction(
        "answer_is", options[0]
    )


@given(
    st.sampled_from(LETTERS),
    st.sampled_from(["{}", "({})", "{}.", "**{}**", r"\boxed{{{}}}", "${}$", "{}) text", "`{}`"]),
)
def test_a_label_is_read_in_every_usual_dress(label, dress):
    assert extract_letter(f"The answer is {dress.format(label)}", LETTERS).text == label
    assert extract_letter(f"Well.\nAnswer: {dress.format(label)}\n", LETTERS).text == label


def test_every_expression_is_bounded_so_that_time_is_linear():
    """An expression that matches at most so many characters costs a constant at each of the places it is tried at."""
    patterns = [value for value in vars(extraction).values() if isinstance(value, re.Pattern)]
    patterns += [*extraction._written(LETTERS), extraction._label_prefix(LETTERS)]
    assert len(patterns) >= 12
    for pattern in patterns:
        assert re._parser.parse(pattern.pattern, pattern.flags).getwidth()[1] < 1000, pattern.pattern


# Where we differ from the extraction that MMLU-Pro's authors recorded; each was read by eye.
# Blind: no letter was stated as the answer, and theirs is made up; ours is the status `random`.
# Several: two or more letters are named, theirs takes the first. Inside: theirs is the beginning of a word.
# Earlier: theirs is the first statement of several, ours the last. Missed: theirs read nothing.
DIFFERENCES = {
    "Meta-Llama-3_1-8B-Instruct": {
        **dict.fromkeys(
            (321, 581, 3354, 3464, 3594, 3712, 3784, 4129, 4152, 6849, 6945, 7770, 8286, 9865), None
        ),  # blind
        **dict.fromkeys((10590, 10614, 10862, 11687, 11976), None),  # blind
    },
    "Mistral-7B-Instruct-v0.2": {
        **dict.fromkeys((2687, 4710, 5886, 10832), None),  # several
        **dict.fromkeys((10483, 10531), None),  # inside "(II)" and "CBF"
        10998: None,  # "The answer is (G) is incorrect. The correct answer is not provided"
        **{3174: "G", 7705: "I", 11687: "F"},  # earlier
        10862: "J",  # missed: at the end of the line after "answer is:"
    },
    "Phi-3-mini-4k-instruct": {528: None, 8453: "G"},  # several: "(H, J)"; missed: "closest to (G)"
    "gemini-1.5-flash-002": {
        321: None,  # inside "(Cannot be determined"
        **dict.fromkeys((638, 7140, 9978, 11495, 11645, 11976, 12037), None),  # blind
        **{3948: "J", 10364: "C", 10389: "H", 10655: "I"},  # earlier: six questions answered, ours is the last
    },
}


def real_outputs(data_folder, name):
    return [json.loads(line) for line in (data_folder / "model_outputs" / name).read_text("utf-8").splitlines()]


READ = {  # by "answer is", of 252 outputs; in the others no rule found a letter
    "Meta-Llama-3_1-8B-Instruct": 233,
    "Mistral-7B-Instruct-v0.2": 204,
    "Phi-3-mini-4k-instruct": 219,
    "gemini-1.5-flash-002": 241,
}


@pytest.mark.parametrize("model", DIFFERENCES)
def test_real_letters_agree_with_those_recorded_but_for_what_was_looked_at(model, data_folder):
    differences, rules = {}, Counter()
    for row in real_outputs(data_folder, f"mmlu_pro/{model}.jsonl"):
        labels = LETTERS[: len(row["options"])]
        found = extract_letter(row.get("model_outputs") or row.get("generated_text"), labels, row["options"])
        rules[found.rule] += 1
        if (letter := None if found.position is None else labels[found.position]) != row["pred"]:
            differences[row["question_id"]] = letter
    assert differences == DIFFERENCES[model]
    assert rules == {"answer_is": READ[model], RANDOM: 252 - READ[model]}


def test_real_answers_beside_confidence_agree_with_those_recorded(data_folder):
    rows = real_outputs(data_folder, "mmlu_answer_confidence/final_results_v1.jsonl")
    found = [extract_letter(row["raw_response"], "ABCD") for row in rows]
    differ = [row for row, ours in zip(rows, found, strict=True) if (ours.text or "") != row["predicted_letter"]]
    # One output is cut off in a list of the options, after "D": a label alone on the last line.
    assert [row["raw_response"][-6:] for row in differ] == [". ✗\n\nD"]
    assert Counter(each.rule for each in found) == {"answer_colon": 982, "answer_is": 6, "last_line": 1, RANDOM: 91}
