"""Asking multiple-choice questions: what is sent, in which order, and what is kept. The engine here is a stand-in that
writes down what it is asked; tests/model/test_engine.py has the real one."""

from dataclasses import dataclass, field

import polars as pl
import pytest

from candor import tables
from candor.config import Sampling
from candor.data.items import Item, to_frame
from candor.engine.generation import Output
from candor.mcq import responding
from candor.mcq.protocols import PROTOCOLS

SAMPLING = Sampling(temperature=0.6, top_p=0.95, top_k=20)


@dataclass
class StandInEngine:
    """Answers with the prompt's last option; a word counts as a token."""

    device: str = "cpu"
    max_model_len: int = 10_000
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
        lines = [
            conversation[-1]["content"].split("Options:\n")[-1].split("\nAnswer")[0] for conversation in conversations
        ]
        return [[Output(line.splitlines()[-1], "stop", 10, 3)] for line in lines]

    def mean_log_likelihoods(self, prompts, continuations):
        self.calls.append({"prompts": prompts, "continuations": continuations})
        return [[-float(len(text)) for text in texts] for texts in continuations]


def item(number, role="asked", **changes):
    settings = {"question": f"Question {number}", "options": ("red", "green", "dark blue"), "gold": 0}
    settings |= {"category": None, "language": "en", "rationale": None, "label_reference": False, **changes}
    return Item(item_id=f"{role}-{number}", role=role, **settings)


def respond(engine, items, work, protocol="md", **changes):
    settings = {"positions": 3, "shots": 1, "moved": True, "leave_out_label_references": False}
    settings |= {"max_tokens": 20, "max_prompt_tokens": 200, **changes}
    return responding.respond(
        engine,
        to_frame(items),
        responding.Asking(protocol=PROTOCOLS[protocol], **settings),
        SAMPLING,
        seed=3,
        work=work,
        identity="one",
    )


ITEMS = [item(0), item(1, gold=2), item(0, "example")]


def test_every_item_is_asked_once_in_each_run(tmp_path):
    engine = StandInEngine()
    answers = respond(engine, ITEMS, tmp_path / "work")
    assert answers.schema == tables.MCQ_GENERATIONS
    pairs = answers.select("run", "item_id").rows()
    assert pairs == [(run, name) for run in range(4) for name in ("asked-0", "asked-1")]
    orders = dict(zip(pairs, answers["order"].to_list(), strict=True))
    assert orders[0, "asked-1"] == [0, 1, 2]
    assert orders[1, "asked-1"] == [2, 0, 1]
    assert orders[3, "asked-0"] == [1, 2, 0]
    shown = dict(zip(pairs, answers["text"].to_list(), strict=True))
    assert shown[3, "asked-0"] == "- red"  # the gold stands last, and the options have no letters
    assert (answers["seconds"] >= 0).all()
    [call] = engine.calls
    assert (call["temperature"], call["top_p"], call["top_k"], call["n"]) == (0.6, 0.95, 20, 1)
    assert len(set(call["seeds"])) == 8


def test_examples_move_with_the_run_or_stay(tmp_path):
    for moved, expected in ((True, ["- green", "- dark blue", "- red"]), (False, ["- red", "- green", "- dark blue"])):
        engine = StandInEngine()
        respond(engine, ITEMS, tmp_path / str(moved), moved=moved)
        prompt = engine.calls[0]["conversations"][-1][0]["content"]  # of the last run
        example = prompt.split("Options:\n")[1].splitlines()[:3]
        assert example == expected


def test_neighbours_share_their_examples(tmp_path):
    items = [item(n, category=name) for n, name in enumerate("abab")]
    items += [item(n, "example", category=name) for n, name in enumerate("ab")]
    answers = respond(StandInEngine(), items, tmp_path / "work")
    assert answers["item_id"].to_list()[:4] == ["asked-0", "asked-2", "asked-1", "asked-3"]


def test_cloze_scores_the_options_by_their_index(tmp_path):
    engine = StandInEngine()
    answers = respond(engine, ITEMS, tmp_path / "work", protocol="cloze")
    assert answers["log_likelihoods"].to_list() == [[-4.0, -6.0, -10.0]] * 8  # with the blank before each
    assert answers["text"].null_count() == 8


def test_options_that_refer_to_labels_are_left_out_of_runs_without(tmp_path):
    items = [*ITEMS, item(7, label_reference=True)]
    for protocol, asked in (("md", 2), ("sd", 2), ("ml", 3), ("sl", 3)):
        answers = respond(
            StandInEngine(), items, tmp_path / protocol, protocol=protocol, leave_out_label_references=True
        )
        assert answers["item_id"].n_unique() == asked, protocol


def test_a_killed_run_goes_on_without_asking_again(tmp_path):
    items = [*[item(n) for n in range(40)], item(0, "example")]  # 160 requests in 3 parts
    expected = respond(StandInEngine(), items, tmp_path / "whole").drop("seconds")
    with pytest.raises(KeyboardInterrupt):
        respond(StandInEngine(calls_before_a_kill=2), items, tmp_path / "work")
    engine = StandInEngine()
    answers = respond(engine, items, tmp_path / "work").drop("seconds")
    assert [len(call["seeds"]) for call in engine.calls] == [32]
    assert answers.equals(expected)


def test_an_output_does_not_depend_on_the_other_items(tmp_path):
    engine, alone = StandInEngine(), StandInEngine()
    respond(engine, ITEMS, tmp_path / "both")
    respond(alone, [ITEMS[1], ITEMS[2]], tmp_path / "one")
    assert alone.calls[0]["seeds"] == engine.calls[0]["seeds"][1::2]
    assert alone.calls[0]["conversations"] == engine.calls[0]["conversations"][1::2]


def test_what_cannot_be_asked_is_refused_before_anything_is(tmp_path):
    for changes, items, message in (
        ({"max_prompt_tokens": 10}, ITEMS, "longer than max_prompt_tokens"),
        ({"shots": 2}, ITEMS, "2 examples are asked for but 1"),
        ({"leave_out_label_references": True}, [item(0, label_reference=True), ITEMS[2]], "no item is left to ask"),
    ):
        engine = StandInEngine()
        with pytest.raises(ValueError, match=message):
            respond(engine, items, tmp_path / "work", **changes)
        assert engine.calls == []


def test_frames_hold_the_schema_when_nothing_was_sampled(tmp_path):
    answers = respond(StandInEngine(), ITEMS, tmp_path / "work", protocol="cloze")
    tables.write(answers, tmp_path / "answers.parquet", tables.MCQ_GENERATIONS)
    assert tables.read(tmp_path / "answers.parquet", tables.MCQ_GENERATIONS)["order"].dtype == pl.List(pl.Int32)
