"""Enforced sampling in RL on a CPU, where transformers samples and not vLLM; with the enforcer that vLLM uses."""

import json
from typing import Any


def enforce_sampling(network, tokenizer, rule: dict[str, Any]) -> None:
    """Let a model's `generate` obey a rule of `answers.enforcing`, in place.

    Args:
        network: its `generation_config.eos_token_id` lists the tokens that may end an output (`models.load`).
        tokenizer: the network's.
        rule: `{"json": schema}` or `{"grammar": EBNF}`.
    """
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor

    vocabulary = xgrammar.TokenizerInfo.from_huggingface(
        tokenizer,
        vocab_size=network.config.vocab_size,
        stop_token_ids=network.generation_config.eos_token_id,
    )
    compiler = xgrammar.GrammarCompiler(vocabulary)
    if "json" in rule:
        compiled = compiler.compile_json_schema(json.dumps(rule["json"]))
    else:
        compiled = compiler.compile_grammar(rule["grammar"])
    generate = network.generate

    def enforced(*arguments, **options):
        return generate(*arguments, logits_processor=[LogitsProcessor(compiled)], **options)

    network.generate = enforced
