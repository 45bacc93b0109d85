"""Asking: what is sent, what is probed, and how a killed run goes on. The engine here is a stand-in that writes down
what it is asked and answers by a script; tests/model/test_engine.py has the real one."""

from dataclasses import dataclass, field

import polars as pl
import pytest

from candor import tables
from candor.confidence import grading, responding
from candor.confidence.prompts import CONFIDENCE_PROBE, XML_SYSTEM, answer_probe
from candor.config import Evaluation, Sampling
from candor.engine.generation import Output, prove_adapter

GOOD = (
    "<reasoning>r</reasoning>\n<answer>Paris</answer>\n"
    "<confidence_analysis>c</confidence_analysis>\n<confidence>70</confidence>"
)
NO_CONFIDENCE = "<answer>Paris</answer> and that is that"
NOTHING = "Well ..."
NO_ANSWER = "<reasoning>r</reasoning> <confidence>40</confidence>"
SAMPLING = Sampling(temperature=0.7, top_p=0.8, top_k=20)


@dataclass
class StandInEngine:
    """Answers `texts[question][sample]`; a word counts as a token."""

    texts: dict[str, list[str]]
    answer_probe: str = "Final Answer: Lyon"
    confidence_probe: str = "55"
    device: str = "cpu"
    max_model_len: int = 10_000
    adapter: None = None
    calls_before_a_kill: int = 10**9
    calls: list[dict] = field(default_factory=list)

    def forget_prefixes(self):
        pass

    def tokens(self, conversations):
        return [" ".join(message["content"] for message in conversation).split() for conversation in conversations]

    def generate(self, conversations, **settings):
        if len(self.calls) == self.calls_before_a_kill:
            raise KeyboardInterrupt
        self.calls.append({"conversations": conversations, **settings})
        assert len(conversations) == len(settings["seeds"])
        results = []
        for conversation in conversations:
            last = conversation[-1]["content"]
            if last == CONFIDENCE_PROBE:
                texts = [self.confidence_probe]
            elif last.startswith("Reasoning token limit"):
                texts = [self.answer_probe]
            else:
                texts = self.texts[last][: settings["n"]]
            results.append([Output(text, "stop", len(last), len(text)) for text in texts])
        return results


def questions(prompts):
    rows = [(f"id-{prompt}", prompt, "Paris", "easy") for prompt in prompts]
    return pl.DataFrame(rows, tables.QUESTIONS, orient="row")


def asking(**changes):
    settings = {"format": "xml", "json_prompt": "original", "json_answer_limit": None, "enforce_format": True}
    return responding.Asking(**{**settings, "max_tokens": 100, "max_prompt_tokens": 500, **changes})


def respond(engine, asked, work, *, evaluation=None, identity="one", latex=False, how=None):
    return responding.respond(
        engine,
        asked,
        how or asking(),
        evaluation or Evaluation(samples=2),
        SAMPLING,
        latex=latex,
        seed=3,
        work=work,
        identity=identity,
    )


def test_rows_follow_the_questions_and_their_samples(tmp_path):
    engine = StandInEngine({"b": [GOOD, NO_CONFIDENCE], "a": [GOOD, GOOD]})
    answers = respond(engine, questions("ba"), tmp_path / "work")
    assert answers.schema == tables.GENERATIONS
    pairs = answers.select("question_id", "sample", "text").rows()
    assert pairs == [("id-b", 0, GOOD), ("id-b", 1, NO_CONFIDENCE), ("id-a", 0, GOOD), ("id-a", 1, GOOD)]
    first = engine.calls[0]
    assert first["conversations"][0] == [
        {"role": "system", "content": XML_SYSTEM},
        {"role": "user", "content": "b"},
    ]
    assert (first["n"], first["max_tokens"], list(first["enforce"])) == (2, 100, ["grammar"])
    assert (first["temperature"], first["top_p"], first["top_k"]) == (0.7, 0.8, 20)


def test_the_second_chance_asks_for_what_is_missing_and_keeps_the_trace(tmp_path):
    engine = StandInEngine({"q": [GOOD, NO_CONFIDENCE, NOTHING, NO_ANSWER]})
    answers = respond(engine, questions("q"), tmp_path / "work", evaluation=Evaluation(samples=4))

    def user(content):
        return {"role": "user", "content": content}

    def assistant(content):
        return {"role": "assistant", "content": content}

    _, for_answers, for_confidences = engine.calls
    probe = user(answer_probe(32, latex=False))
    assert for_answers["conversations"] == [
        [user("q"), assistant(NOTHING), probe],
        [user("q"), assistant(NO_ANSWER), probe],
    ]
    assert for_confidences["conversations"] == [
        [user("q"), assistant(NO_CONFIDENCE), user(CONFIDENCE_PROBE)],
        [user("q"), assistant(NOTHING), probe, assistant("Final Answer: Lyon"), user(CONFIDENCE_PROBE)],
    ]
    assert for_answers["max_tokens"] == 32
    assert for_answers["enforce"]["regex"].startswith("Final")
    assert for_confidences["enforce"] == {"regex": "100|[1-9]?[0-9]"}
    for call in (for_answers, for_confidences):
        assert (call["n"], call["temperature"], call["top_p"], call["top_k"]) == (1, 0.7, 0.8, 20)
    assert answers["answer_probe"].to_list() == [None, None, "Final Answer: Lyon", "Final Answer: Lyon"]
    assert answers["confidence_probe"].to_list() == [None, "55", "55", None]

    read = grading.read_outputs(answers, "xml")
    assert read["answer"].to_list() == ["Paris", "Paris", "Lyon", "Lyon"]
    assert read["confidence"].to_list() == [70, 55, 55, 40]
    assert read["answer_status"].to_list() == ["valid", "salvaged", "probed", "probed"]
    assert read["confidence_status"].to_list() == ["valid", "probed", "probed", "salvaged"]


def test_mathematics_is_probed_for_latex(tmp_path):
    engine = StandInEngine({"q": [NOTHING]})
    evaluation = Evaluation(samples=1, probe_tokens=64)
    respond(engine, questions("q"), tmp_path / "work", evaluation=evaluation, latex=True)
    assert engine.calls[1]["conversations"][0][-1]["content"].endswith(
        "within 64 tokens. Express your answer in LaTeX."
    )


def test_without_a_second_chance_nothing_is_probed(tmp_path):
    engine = StandInEngine({"q": [NOTHING]})
    evaluation = Evaluation(samples=1, second_chance=False)
    answers = respond(engine, questions("q"), tmp_path / "work", evaluation=evaluation)
    assert len(engine.calls) == 1
    assert answers.select("answer_probe", "confidence_probe").row(0) == (None, None)
    assert grading.read_outputs(answers, "xml").row(0) == (None, None, False, "missing", "missing")


def test_a_trace_that_no_longer_fits_is_left_without_its_probe(tmp_path):
    engine = StandInEngine({"q": ["word " * 9_990], "r": [NOTHING]})
    answers = respond(engine, questions("qr"), tmp_path / "work", evaluation=Evaluation(samples=1))
    assert answers["answer_probe"].to_list() == [None, "Final Answer: Lyon"]
    assert answers["confidence_probe"].to_list() == [None, "55"]


def test_seeds_depend_on_the_question_and_the_sample_alone(tmp_path):
    texts = {name: [NOTHING, NOTHING] for name in "abc"}
    engine, other = StandInEngine(texts), StandInEngine(texts)
    respond(engine, questions("abc"), tmp_path / "one")
    respond(other, questions("ca"), tmp_path / "two")
    a, b, c = engine.calls[0]["seeds"]
    assert other.calls[0]["seeds"] == [c, a]
    assert len({a, b, c}) == 3
    for call, others in zip(engine.calls[1:], other.calls[1:], strict=True):  # two samples of each question
        assert others["seeds"] == call["seeds"][4:] + call["seeds"][:2]
        assert len(set(call["seeds"])) == 6
    everything = [seed for call in engine.calls for seed in call["seeds"]]
    assert len(set(everything)) == len(everything)
    assert all(0 <= seed < 2**62 for seed in everything)


def test_a_killed_run_goes_on_without_repeating_or_losing_a_question(tmp_path):
    names = [f"q{number}" for number in range(5)]
    texts = {name: [GOOD] * 32 for name in names}
    evaluation = Evaluation(samples=32)  # so that a part holds two questions
    asked = questions(names)
    killed = StandInEngine(texts, calls_before_a_kill=1)
    with pytest.raises(KeyboardInterrupt):
        respond(killed, asked, tmp_path / "work", evaluation=evaluation)

    resumed, whole = StandInEngine(texts), StandInEngine(texts)
    answers = respond(resumed, asked, tmp_path / "work", evaluation=evaluation)
    assert answers.equals(respond(whole, asked, tmp_path / "elsewhere", evaluation=evaluation))
    assert len(killed.calls) + len(resumed.calls) == len(whole.calls) == 3
    sent = [c[-1]["content"] for call in killed.calls + resumed.calls for c in call["conversations"]]
    assert sent == names
    assert answers.select("question_id", "sample").is_unique().all()


def test_work_of_other_settings_is_thrown_away(tmp_path):
    texts = {"a": [GOOD, GOOD]}
    respond(StandInEngine(texts), questions("a"), tmp_path / "work")
    again, other = StandInEngine(texts), StandInEngine(texts)
    respond(again, questions("a"), tmp_path / "work")
    respond(other, questions("a"), tmp_path / "work", identity="two")
    assert (len(again.calls), len(other.calls)) == (0, 1)


def test_a_prompt_that_is_too_long_is_named_before_anything_is_generated(tmp_path):
    engine = StandInEngine({})
    asked = questions(["short", "long " * 500])
    with pytest.raises(ValueError, match=r"1 of 2 prompts .* question 'id-long long"):
        respond(engine, asked, tmp_path / "work")
    assert not engine.calls


@pytest.mark.parametrize("repair_json", [True, False])
def test_what_repaired_json_says_is_not_asked_again(tmp_path, repair_json):
    pytest.importorskip("fast_json_repair", reason="fast-json-repair is of the model environment")
    texts = ['{"answer": "a "b"", "confidence": 7', '{"answer": "a "b"', "no JSON"]
    engine = StandInEngine({"q": texts})
    evaluation = Evaluation(samples=3, repair_json=repair_json)
    answers = respond(engine, questions("q"), tmp_path / "work", evaluation=evaluation, how=asking(format="json"))
    read = grading.read_outputs(answers, "json", repair_json)
    assert not read["well_formed"].any()
    if repair_json:
        assert read["answer"].to_list() == ['a "b"', 'a "b', "Lyon"]
        assert read["answer_status"].to_list() == ["repaired", "repaired", "probed"]
        assert read["confidence_status"].to_list() == ["repaired", "probed", "probed"]
    else:
        assert read["answer"].to_list() == ["Lyon"] * 3
        assert read["answer_status"].to_list() == read["confidence_status"].to_list() == ["probed"] * 3


def test_the_context_has_room_for_the_second_chance():
    assert responding.context_length(asking()) == 600
    assert responding.context_length(asking(), Evaluation(second_chance=False)) == 600
    assert responding.context_length(asking(), Evaluation(probe_tokens=64)) >= 600 + 64 + 3 + 100


def test_an_engine_without_an_adapter_has_none_to_prove():
    with pytest.raises(ValueError, match="without an adapter"):
        prove_adapter(StandInEngine({}), [])


JSON = '{"reasoning": "r", "answer": "Paris", "confidence_analysis": "c", "confidence": 70}'


def sft(engine, prompts, work):
    how = asking(format="json", json_answer_limit=50)
    return responding.sft_responses(engine, questions(prompts), how, 1.0, seed=3, work=work, identity="one")


def test_valid_json_becomes_xml_and_the_rest_says_why_not(tmp_path):
    texts = {
        "a": JSON,
        "b": JSON[:30],
        "c": '{"answer": "Paris"}',
        "d": JSON.replace("Paris", "<answer>"),
    }
    engine = StandInEngine({name: [text] for name, text in texts.items()})
    responses = sft(engine, texts, tmp_path / "work")
    assert responses.schema == tables.RESPONSES
    expected = ["valid", "invalid json", "fields missing or invalid", "not well-formed as XML"]
    assert responses["status"].to_list() == expected
    assert responses["xml"].to_list() == [GOOD, None, None, None]
    assert engine.calls[0]["enforce"]["json"]["properties"]["answer"]["maxLength"] == 50
    assert (engine.calls[0]["top_p"], engine.calls[0]["top_k"], engine.calls[0]["n"]) == (1.0, None, 1)


def test_no_valid_response_at_all_is_an_error(tmp_path):
    with pytest.raises(ValueError, match="none of the 1 responses is valid"):
        sft(StandInEngine({"a": ["no"]}), "a", tmp_path / "work")
