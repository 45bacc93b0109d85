"""The engine on a real model: the converted weights, enforced formats, seeds, adapters and the second chance."""

import logging
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from candor import tables
from candor.answers import json, xml
from candor.confidence import responding
from candor.confidence.grading import read_outputs
from candor.confidence.prompts import messages
from candor.config import Evaluation, Sampling
from candor.engine import generation

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings(
        "ignore"
    ),  # the model libraries warn of their own deprecations when imported and started
]

CAPITAL = [{"role": "user", "content": "What is the capital of France?"}]
FIRST_TOKENS = {"The": -1.883, "L": -1.965, "La": -2.266}
"""The three likeliest first tokens of the answer in float32."""
SENTENCE = "The capital of France is Paris."
PLAIN = {"temperature": 1.0, "top_p": 1.0, "top_k": None, "enforce": None}
GREEDY = {**PLAIN, "temperature": 0.0}
PROMPTS = ["What is 2 + 3?", "Name a river of Egypt.", "Who wrote Hamlet?"]


@pytest.fixture(scope="module")
def adapters(model_folder, tmp_path_factory) -> dict[str, Path]:
    """Two untrained adapters: one random, one as training begins with, which changes nothing."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    folders = {}
    for name, zero in (("random", False), ("zero", True)):
        base = AutoModelForCausalLM.from_pretrained(model_folder)
        targets = ["q_proj", "v_proj", "down_proj"]
        settings = LoraConfig(r=8, target_modules=targets, init_lora_weights=zero, task_type="CAUSAL_LM")
        folders[name] = tmp_path_factory.mktemp(name)
        get_peft_model(base, settings).save_pretrained(folders[name])
    return folders


@pytest.fixture(scope="module")
def adapted(model_folder, adapters):
    """The only engine started here; `engine` is its base model."""
    return generation.start(model_folder, "cpu", "float32", 2048, adapter=adapters["random"])


@pytest.fixture(scope="module")
def engine(adapted):
    return replace(adapted, adapter=None)


def conversations(format):
    return [messages(prompt, format) for prompt in PROMPTS]


def test_the_converted_model_is_the_same_in_transformers(model_folder):
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_folder)
    loaded = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    prompt = tokenizer.apply_chat_template(CAPITAL, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    with torch.no_grad():
        best = loaded(**prompt).logits[0, -1].log_softmax(-1).topk(3)
        written = loaded.generate(**prompt, max_new_tokens=20, do_sample=False)[0, prompt["input_ids"].shape[1] :]
    found = dict(zip(map(tokenizer.decode, best.indices), best.values.tolist(), strict=True))
    assert found == pytest.approx(FIRST_TOKENS, abs=1e-3)
    assert tokenizer.decode(written) == SENTENCE + "<|im_end|>"


def test_the_converted_model_is_the_same_in_the_engine(engine):
    [logprobs] = generation.first_token_logprobs(engine, [CAPITAL], None)
    best = sorted(logprobs, key=logprobs.get, reverse=True)[:3]
    found = {engine.tokenizer.decode([token]): logprobs[token] for token in best}
    assert found == pytest.approx(FIRST_TOKENS, abs=1e-3)
    [[output, same]] = engine.generate([CAPITAL], seeds=[0], n=2, max_tokens=20, **GREEDY)
    assert (output.text, output.finish_reason) == (SENTENCE, "stop")
    assert output.prompt_tokens == len(engine.tokens([CAPITAL])[0])
    assert output == same


@pytest.mark.parametrize("format", ["xml", "json"])
def test_what_is_enforced_follows_the_format_unless_cut_off(engine, format):
    enforce = {"grammar": xml.grammar()} if format == "xml" else {"json": json.schema(100)}
    settings = {**PLAIN, "temperature": 0.7, "enforce": enforce}
    outputs = engine.generate(conversations(format), seeds=[1, 2, 3], n=3, max_tokens=200, **settings)
    finished = [output.text for samples in outputs for output in samples if output.finish_reason == "stop"]
    assert finished
    for text in finished:
        if format == "xml":  # whose grammar lets an answer be empty
            assert xml.follows_format(text)
            assert xml.parse(text).confidence is not None
        else:
            assert json.parse(text).reasoning is not None
            assert json.parse(text).confidence is not None
            assert len(json.parse(text).answer or "") <= 100


def test_an_output_depends_on_its_seed_and_not_on_its_company(engine):
    asked = conversations("xml")
    together = engine.generate(asked, seeds=[11, 12, 13], n=2, max_tokens=16, **PLAIN)
    [alone] = engine.generate(asked[1:2], seeds=[12], n=1, max_tokens=16, **PLAIN)
    backwards = engine.generate(asked[::-1], seeds=[13, 12, 11], n=2, max_tokens=16, **PLAIN)
    [other] = engine.generate(asked[1:2], seeds=[99], n=1, max_tokens=16, **PLAIN)
    assert alone == together[1][:1]
    assert backwards[::-1] == together
    assert together[1][0] != together[1][1]
    assert other != alone
    assert {output.finish_reason for samples in together for output in samples} <= {"stop", "length"}


def test_the_product_with_one_adapter_is_vllms(monkeypatch):
    import torch
    from vllm.lora.ops.torch_ops import lora_ops
    from vllm.lora.punica_wrapper import punica_cpu

    names = ("bgmv_shrink", "bgmv_expand", "bgmv_expand_slice")
    for module in (lora_ops, punica_cpu):  # both are put back after the test
        for name in names:
            monkeypatch.setattr(module, name, getattr(module, name))
    torch.manual_seed(0)
    x, y = torch.randn(5, 12), torch.randn(5, 4)
    a, b = torch.randn(1, 1, 4, 12), torch.randn(1, 1, 6, 4)
    none = torch.zeros(5, dtype=torch.long)

    def results():
        outputs = [torch.ones(5, 4), torch.ones(5, 6), torch.ones(5, 9), torch.ones(5, 9)]
        lora_ops.bgmv_shrink(x, a, outputs[0], none, 0.5)
        lora_ops.bgmv_expand(y, b, outputs[1], none, True)
        lora_ops.bgmv_expand_slice(y, b, outputs[2], none, 2, 6, True)
        lora_ops.bgmv_expand_slice(y, b, outputs[3], none, 2, 6, False)
        return outputs

    original = {name: getattr(lora_ops, name) for name in names}
    generation._multiply_by_one_adapter()
    ours = results()
    if original["bgmv_shrink"].__module__ == lora_ops.__name__:  # else an engine of this session has put ours there
        for name in names:
            setattr(lora_ops, name, original[name])
        for one, other in zip(ours, results(), strict=True):
            torch.testing.assert_close(one, other)
    torch.testing.assert_close(ours[0], 0.5 * x @ a[0, 0].T)
    torch.testing.assert_close(ours[1], 1 + y @ b[0, 0].T)
    torch.testing.assert_close(ours[2][:, 2:8], 1 + y @ b[0, 0].T)
    torch.testing.assert_close(ours[3][:, 2:8], y @ b[0, 0].T)
    assert (ours[2][:, [0, 1, 8]] == 1).all()


def test_an_adapter_that_does_something_is_proved(adapted):
    assert generation.prove_adapter(adapted, conversations("xml")) > 0.01


def test_an_adapter_of_zeros_warns(adapted, adapters, caplog):
    from vllm.lora.request import LoRARequest

    untrained = replace(adapted, adapter=LoRARequest("zero", 2, str(adapters["zero"])))
    with caplog.at_level(logging.WARNING):
        assert generation.prove_adapter(untrained, conversations("xml")) == 0
    assert "the adapter is untrained" in caplog.text


def test_an_adapter_that_was_not_applied_is_an_error(adapted, monkeypatch):
    real = generation.first_token_logprobs
    monkeypatch.setattr(generation, "first_token_logprobs", lambda engine, asked, adapter: real(engine, asked, None))
    with pytest.raises(RuntimeError, match="was not applied"):
        generation.prove_adapter(adapted, conversations("xml"))


def test_what_does_not_fit_is_refused(engine):
    long = [messages("word " * 3000, "xml")]
    with pytest.raises(ValueError, match="exceed the context of 2048"):
        engine.generate(long, seeds=[0], n=1, max_tokens=10, **PLAIN)
    with pytest.raises(ValueError, match=r"longer than max_prompt_tokens .* question 'the long one'"):
        generation.check_prompts(engine, [CAPITAL, *long], ["short", "the long one"], 500)


def test_cloze_scores_are_those_of_transformers(engine, model_folder):
    import torch
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32)
    prompts = ["Question:\nWhat is the capital of France?\nAnswer:", "2 + 2 ="]
    options = [[" Paris", " the city of Lyon", " Rome"], [" four", " 4"]]
    expected = []
    for prompt, texts in zip(prompts, options, strict=True):
        expected.append([])
        for text in texts:
            ids = engine.tokenizer(prompt + text, return_tensors="pt")["input_ids"]
            start = len(engine.tokenizer(prompt)["input_ids"])
            with torch.no_grad():
                logprobs = loaded(ids).logits[0].log_softmax(-1)
            scored = [logprobs[i - 1, ids[0, i]].item() for i in range(start, ids.shape[1])]
            expected[-1].append(sum(scored) / len(scored))
    found = engine.mean_log_likelihoods(prompts, options)
    for ours, theirs in zip(found, expected, strict=True):
        assert ours == pytest.approx(theirs, abs=1e-3)
    assert found[0][0] == max(found[0])
    with pytest.raises(ValueError, match="adds no token"):
        engine.mean_log_likelihoods(["2 + 2 ="], [[""]])


def test_a_model_without_a_chat_template_gets_plain_text(engine):
    import copy

    plain = copy.copy(engine.tokenizer)
    plain.chat_template = None
    [ids] = replace(engine, tokenizer=plain).tokens([CAPITAL])
    assert plain.decode(ids) == CAPITAL[0]["content"]


def test_no_prompt_has_the_days_date(engine):
    dated = {"chat_template": "{{ strftime_now('%d %B %Y') }}: {{ messages[0]['content'] }}"}
    [ids] = replace(engine, chat_template_arguments=dated).tokens([CAPITAL])
    assert engine.tokenizer.decode(ids) == f"01 January 2026: {CAPITAL[0]['content']}"


@pytest.mark.parametrize("format", ["xml", "json"])
def test_outputs_that_are_cut_off_get_their_second_chance(engine, tmp_path, format):
    rows = [(prompt, prompt, "gold", "easy") for prompt in PROMPTS[:2]]
    asking = responding.Asking(format, "original", 100, enforce_format=True, max_tokens=12, max_prompt_tokens=500)
    evaluation = Evaluation(samples=2)
    answers = responding.respond(
        engine,
        pl.DataFrame(rows, tables.QUESTIONS, orient="row"),
        asking,
        evaluation,
        Sampling(),
        latex=False,
        seed=1,
        work=tmp_path,
        identity="test",
    )
    assert answers["finish_reason"].to_list() == ["length"] * 4
    assert answers["answer_probe"].str.starts_with("Final Answer:").all()
    read = read_outputs(answers, format)
    assert read["answer_status"].to_list() == read["confidence_status"].to_list() == ["probed"] * 4
    assert read["confidence"].is_between(0, 100).all()
