"""Text from a language model: one vLLM engine, on CPU and GPU, with formats enforced and an adapter proved.

Nothing of vLLM is imported before `start`, so that its environment variables can be set first.
"""

import json
import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

Conversation = list[dict[str, str]]
"""Messages with a role and a content, oldest first."""

logger = logging.getLogger(__name__)

_DAY = date(2026, 1, 1)
"""What a template that writes the day's date (gpt-oss) writes instead: no output depends on when it was made."""

_ADAPTER_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""The values that vLLM takes for `max_lora_rank`."""


@dataclass(frozen=True, slots=True)
class Output:
    """One sampled output of a model."""

    text: str
    finish_reason: str
    """`stop`, or `length` where the token limit cut it off."""
    prompt_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Engine:
    """A started model; made by `start`."""

    llm: Any
    """The `vllm.LLM`."""
    tokenizer: Any
    device: str
    max_model_len: int
    chat_template_arguments: Mapping[str, bool | str]
    stop_token_ids: list[int]
    """Tokens that end a turn beside the tokenizer's eos token."""
    adapter: Any
    """The `LoRARequest`, or None."""

    def tokens(self, conversations: Sequence[Conversation], begun: Sequence[str] | None = None) -> list[list[int]]:
        """Return the token ids of each prompt, by the model's chat template, up to where its answer begins.

        A base model without a template gets the messages' contents as plain text. `begun` are texts that the answers
        begin with.
        """
        if not conversations:
            return []
        if self.tokenizer.chat_template is None:
            texts = ["\n\n".join(message["content"] for message in conversation) for conversation in conversations]
            prompts = self.tokenizer(texts)["input_ids"]
        else:
            prompts = self.tokenizer.apply_chat_template(
                list(conversations),
                add_generation_prompt=True,
                return_dict=False,
                strftime_now=_DAY.strftime,
                **self.chat_template_arguments,
            )
        if begun is None:
            return prompts
        beginnings = self.tokenizer(list(begun), add_special_tokens=False)["input_ids"]
        return [prompt + beginning for prompt, beginning in zip(prompts, beginnings, strict=True)]

    def forget_prefixes(self) -> None:
        """Empty the cache of what prompts share.

        A prompt that is partly in the cache is computed in other pieces and so rounded otherwise, which can change an output.
        """
        self.llm.reset_prefix_cache()

    def generate(
        self,
        conversations: Sequence[Conversation],
        *,
        seeds: Sequence[int],
        n: int,
        max_tokens: int,
        temperature: float,
        top_p: float,
        top_k: int | None,
        enforce: Mapping[str, Any] | None,
        begun: Sequence[str] | None = None,
        until: str | None = None,
        keep_special_tokens: bool = False,
    ) -> list[list[Output]]:
        """Sample `n` outputs for each conversation.

        Args:
            conversations: prompts; those that begin alike share the computation of what they share.
            seeds: one for each conversation, in [0, 2**62), the only source of randomness: the outputs depend on
                neither the order nor the company of the prompts, up to the rounding of the arithmetic.
            n: samples per conversation; at temperature 0 they are all the same.
            max_tokens: token limit of an output, its end-of-turn token included.
            temperature, top_p, top_k: of the sampling; `top_k` None considers all tokens.
            enforce: None, or one of {"json": schema}, {"grammar": xgrammar's EBNF}, {"regex": pattern} and
                {"choice": texts}.
            begun: texts that the outputs go on from, one for each conversation; they are not in the outputs.
            until: text that ends an output too; it is in the output.
            keep_special_tokens: whether they are in the output, as the channels of Harmony; the end of turn is not.

        Returns:
            For each conversation its `n` outputs.

        Raises:
            ValueError: a prompt and `max_tokens` do not fit the engine's context together.
        """
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        prompts = self.tokens(conversations, begun)
        longest = max(map(len, prompts), default=0)
        if longest + max_tokens > self.max_model_len:
            raise ValueError(
                f"a prompt of {longest} tokens and {max_tokens} of output exceed the context of {self.max_model_len}"
            )
        parameters = [
            SamplingParams(
                n=n if temperature > 0 else 1,  # vLLM refuses more where they would be equal
                seed=seed,
                max_tokens=max_tokens,
                temperature=temperature,
                top_p=top_p,
                top_k=top_k or 0,
                stop=until,
                include_stop_str_in_output=until is not None,
                stop_token_ids=self.stop_token_ids,
                skip_special_tokens=not keep_special_tokens,
                structured_outputs=None if enforce is None else StructuredOutputsParams(**enforce),
            )
            for seed in seeds
        ]
        requests = [{"prompt_token_ids": prompt} for prompt in prompts]
        results = self.llm.generate(requests, parameters, use_tqdm=False, lora_request=self.adapter) if requests else []
        outputs = [[_output(sample, len(result.prompt_token_ids)) for sample in result.outputs] for result in results]
        return [samples * n if len(samples) < n else samples for samples in outputs]

    def mean_log_likelihoods(self, prompts: Sequence[str], continuations: Sequence[Sequence[str]]) -> list[list[float]]:
        """Return the mean log-probability per token of each continuation of each prompt, for cloze evaluation.

        Args:
            prompts: plain text, without a chat template.
            continuations: for each prompt some texts, each as it follows the prompt, its leading blank included.

        Raises:
            ValueError: a prompt and a continuation do not fit the engine's context together, or add no token.
        """
        from vllm import SamplingParams

        before = self.tokenizer(list(prompts))["input_ids"] if prompts else []
        requests, starts = [], []
        for prompt, ids, texts in zip(prompts, before, continuations, strict=True):
            for text in texts:
                whole = self.tokenizer(prompt + text)["input_ids"]
                # Tokens may span the seam; scored is all from the first that the prompt alone does not have.
                start = next((i for i, (a, b) in enumerate(zip(ids, whole, strict=False)) if a != b), len(ids))
                if len(whole) <= start or len(whole) >= self.max_model_len:
                    raise ValueError(
                        "a continuation adds no token to its prompt"  # its text may be of a benchmark that is kept secret
                        if len(whole) <= start
                        else f"a prompt and its continuation have {len(whole)} tokens, the context {self.max_model_len}"
                    )
                requests.append({"prompt_token_ids": whole})
                starts.append(start)
        parameters = SamplingParams(temperature=0, max_tokens=1, prompt_logprobs=0, detokenize=False)
        results = self.llm.generate(requests, parameters, use_tqdm=False, lora_request=self.adapter) if requests else []
        means = []
        for result, start in zip(results, starts, strict=True):
            ids = result.prompt_token_ids
            scored = [result.prompt_logprobs[i][ids[i]].logprob for i in range(start, len(ids))]
            means.append(sum(scored) / len(scored))
        rest = iter(means)
        return [[next(rest) for _ in texts] for texts in continuations]


def start(
    model_folder: str | Path,
    device: str,
    precision: str,
    max_model_len: int,
    adapter: str | Path | None = None,
    seed: int = 0,
    end_of_turn: Sequence[str] = (),
    chat_template_arguments: Mapping[str, bool | str] | None = None,
) -> Engine:
    """Load a model, and an adapter on top of it.

    Args:
        model_folder: a folder in the form of the Hugging Face hub.
        device: `cpu` or `gpu`; the environment's vLLM is built for one of them.
        precision: `float16`, `bfloat16`, `float32` or `auto` (see `resolve_precision`).
        max_model_len: tokens of a prompt and its output together.
        adapter: folder of a LoRA adapter in PEFT's form.
        seed: of whatever is not seeded by a request.
        end_of_turn: tokens that end a turn beside the tokenizer's eos token.
        chat_template_arguments: for the chat template, such as `enable_thinking`.

    Raises:
        ValueError: a token of `end_of_turn` is not in the vocabulary, or the model does not take the settings.
        OSError: a folder cannot be read.
    """
    settings: dict[str, Any] = {}
    if device == "cpu":
        _prepare_cpu()
        settings = {
            "enforce_eager": True,  # compiling costs minutes, more than it gains with models of a CPU's size
            "distributed_executor_backend": "uni",
            # A request with a seed crashes where only part of its prompt is computed ("CPU Generator does not use
            # offset"), so prompts are computed whole.
            "enable_chunked_prefill": False,
            "max_num_batched_tokens": max(8192, max_model_len),
        }
    else:
        settings = {"gpu_memory_utilization": 0.9}
    if adapter is not None:  # without one, LoRA support would halve the speed on a CPU
        settings |= {"enable_lora": True, "max_loras": 1, "max_lora_rank": _adapter_rank(Path(adapter))}
    # On a CPU vLLM warns of every weight that it casts and of every choice made above.
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR" if device == "cpu" else "WARNING")
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")

    from vllm import LLM
    from vllm.lora.request import LoRARequest

    if device == "cpu" and adapter is not None:
        _multiply_by_one_adapter()
    llm = LLM(
        model=str(model_folder),
        dtype=resolve_precision(device, precision),
        max_model_len=max_model_len,
        seed=seed,
        generation_config="vllm",  # or the model's own file would set sampling parameters behind our back
        enable_prefix_caching=True,
        structured_outputs_config={"backend": "xgrammar"},  # the grammars are in its dialect
        **settings,
    )
    tokenizer = llm.get_tokenizer()
    vocabulary = tokenizer.get_vocab()
    unknown = [token for token in end_of_turn if token not in vocabulary]
    if unknown:
        raise ValueError(f"end_of_turn: {', '.join(map(repr, unknown))} not in the vocabulary of {model_folder}")
    return Engine(
        llm=llm,
        tokenizer=tokenizer,
        device=device,
        max_model_len=max_model_len,
        chat_template_arguments=chat_template_arguments or {},
        stop_token_ids=[vocabulary[token] for token in end_of_turn],
        adapter=None if adapter is None else LoRARequest("adapter", 1, str(Path(adapter).resolve())),
    )


def resolve_precision(device: str, precision: str) -> str:
    """Return what `auto` stands for: bfloat16 where the processor computes it natively, else float32.

    A CPU with neither AVX512-BF16 nor AMX emulates bfloat16, far slower than it computes float32.
    """
    if precision != "auto":
        return precision
    if device == "gpu":
        return "bfloat16"
    try:
        flags = set(Path("/proc/cpuinfo").read_text(encoding="utf-8").split())
    except OSError:
        flags = set()
    return "bfloat16" if flags & {"avx512_bf16", "amx_bf16"} else "float32"


def check_prompts(engine: Engine, conversations: Sequence[Conversation], names: Sequence[str], limit: int) -> None:
    """Raise ValueError, naming the longest, where a prompt is longer than `limit` tokens; prompts are never cut."""
    too_long = []
    for first in range(0, len(conversations), 1024):  # the ids of all prompts at once could fill the memory
        lengths = map(len, engine.tokens(conversations[first : first + 1024]))
        too_long += [(length, name) for length, name in zip(lengths, names[first:], strict=False) if length > limit]
    if too_long:
        length, name = max(too_long)
        raise ValueError(
            f"{len(too_long)} of {len(conversations)} prompts are longer than max_prompt_tokens ({limit}), the longest "
            f"that of question {name!r} with {length}; raise max_prompt_tokens"
        )


def prove_adapter(engine: Engine, conversations: Sequence[Conversation]) -> float:
    """Show that the engine's adapter has an effect; one that was silently not applied has been reported.

    Compares the base's and the adapter's log-probabilities of the first token of an answer to each conversation, and
    the base's with those of a second pass, which on a GPU need not be the same.

    Returns:
        The largest difference found, over the 20 likeliest tokens of either.

    Raises:
        ValueError: the engine has no adapter.
        RuntimeError: they differ no more than the base's from themselves although the adapter's weights are not zero.
    """
    if engine.adapter is None:
        raise ValueError("the engine was started without an adapter")
    base, again, adapted = (
        first_token_logprobs(engine, conversations, adapter) for adapter in (None, None, engine.adapter)
    )
    noise, difference = _largest_difference(base, again), _largest_difference(base, adapted)
    if difference > noise:
        logger.info(
            "the adapter changes log-probabilities by up to %.3g (the engine itself by %.3g)", difference, noise
        )
    elif _is_untrained(Path(engine.adapter.lora_path)):
        logger.warning("the adapter is untrained (all its B weights are zero): it answers as the base does")
    else:
        raise RuntimeError(
            f"{engine.adapter.lora_path}: the adapter was not applied: its weights are not zero, and yet the model's "
            "log-probabilities are those of the base"
        )
    return difference


def first_token_logprobs(engine: Engine, conversations: Sequence[Conversation], adapter: Any) -> list[dict[int, float]]:
    """Return the log-probabilities of the 20 likeliest first tokens of an answer to each conversation, by token id."""
    from vllm import SamplingParams

    prompts = [{"prompt_token_ids": prompt} for prompt in engine.tokens(conversations)]
    # A prompt that is partly in the cache is computed in other pieces, which shows in the fifth digit.
    parameters = SamplingParams(temperature=0, max_tokens=1, logprobs=20, skip_reading_prefix_cache=True)
    results = engine.llm.generate(prompts, parameters, use_tqdm=False, lora_request=adapter)
    return [{token: entry.logprob for token, entry in result.outputs[0].logprobs[0].items()} for result in results]


def _largest_difference(left: list[dict[int, float]], right: list[dict[int, float]]) -> float:
    """Return the largest difference of two lists of log-probabilities; a token that one lacks counts as its least."""
    return max(
        (
            abs(ours.get(token, min(ours.values())) - theirs.get(token, min(theirs.values())))
            for ours, theirs in zip(left, right, strict=True)
            for token in ours.keys() | theirs.keys()
        ),
        default=0.0,
    )


def _output(sample: Any, prompt_tokens: int) -> Output:
    if sample.finish_reason not in ("stop", "length"):
        raise RuntimeError(f"vLLM ended an output with {sample.finish_reason!r}")
    return Output(sample.text, sample.finish_reason, prompt_tokens, len(sample.token_ids))


def _prepare_cpu() -> None:
    """Set what vLLM reads from the environment on a CPU, unless its user has."""
    cores = len(os.sched_getaffinity(0))
    os.environ.setdefault("OMP_NUM_THREADS", str(cores))
    # Threads that spin long while they wait for each other become ten times slower once anything else runs on their cores.
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")  # or vLLM keeps one core for itself
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "2")  # GiB
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # starting a second process takes half a minute


def _multiply_by_one_adapter() -> None:
    """Let vLLM's CPU kernels multiply by the engine's one adapter as by any matrix.

    They are made for many adapters at once and copy an adapter's weights for every token of a batch, which makes
    prompts dozens of times slower. With `max_loras` 1 every token that reaches them has the same adapter.
    """
    from vllm.lora.ops.torch_ops import lora_ops
    from vllm.lora.punica_wrapper import punica_cpu

    def product(inputs, weights, output):
        return inputs.to(output.dtype) @ weights[0].reshape(weights.shape[-2:]).to(output.dtype).T

    def shrink(inputs, weights, output, indices, scaling=1.0):
        result = product(inputs, weights, output)
        output[:, : result.shape[1]] = scaling * result

    def expand_slice(inputs, weights, output, indices, first, size, add_inputs=True):
        result = product(inputs, weights, output)[:, :size]
        if add_inputs:
            output[:, first : first + size] += result
        else:
            output[:, first : first + size] = result

    def expand(inputs, weights, output, indices, add_inputs=True):
        expand_slice(inputs, weights, output, indices, 0, min(weights.shape[-2], output.shape[1]), add_inputs)

    for module in (lora_ops, punica_cpu):
        module.bgmv_shrink, module.bgmv_expand, module.bgmv_expand_slice = shrink, expand, expand_slice


def _adapter_rank(adapter: Path) -> int:
    rank = json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))["r"]
    fitting = [allowed for allowed in _ADAPTER_RANKS if allowed >= rank]
    if not fitting:
        raise ValueError(f"{adapter}: vLLM takes adapters of rank {_ADAPTER_RANKS[-1]} at most, not {rank}")
    return fitting[0]


def _is_untrained(adapter: Path) -> bool:
    from safetensors import safe_open

    with safe_open(adapter / "adapter_model.safetensors", framework="np") as weights:
        names = [name for name in weights.keys() if "lora_B" in name]  # noqa: SIM118 (not a mapping)
        return bool(names) and not any(weights.get_tensor(name).any() for name in names)
