"""Loading a base model with a LoRA adapter through Unsloth, and saying what a training run really used."""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

from candor.config import Lora, Rl, Sft

PACKAGES = ("torch", "transformers", "trl", "unsloth", "peft", "accelerate")


def import_unsloth(device: str):
    """Import Unsloth, which must come before TRL and transformers, and return it.

    On a CPU vLLM is hidden from it: Unsloth probes vLLM by loading its compiled kernels for AVX-512, which ends the
    process with an illegal instruction on a processor without. Sampling in RL is transformers' own there.
    """
    if device == "cpu":
        os.environ["UNSLOTH_FORCE_CPU"] = "1"
        os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # as in engine.generation
        sys.modules.setdefault("vllm", None)
    os.environ.setdefault("UNSLOTH_DISABLE_STATISTICS", "1")
    import unsloth

    return unsloth


def load(
    folder: str,
    device: str,
    precision: str,
    lora: Lora,
    max_length: int,
    seed: int,
    end_of_turn: list[str],
    start: str | None = None,
    sample_with_vllm: bool = False,
):
    """Load a base model with a LoRA adapter to train, and its tokenizer.

    Args:
        folder: the base model.
        device: "cpu" or "gpu".
        precision: "float32", "float16", "bfloat16", or "auto".
        lora: the adapter's shape.
        max_length: context length in tokens.
        seed: seeds the adapter's weights.
        end_of_turn: tokens that end a turn beside the eos token.
        start: folder of an adapter to go on from; None starts afresh.
        sample_with_vllm: whether Unsloth keeps a vLLM engine on the same GPU for sampling.

    Raises:
        ValueError: the adapter to go on from has another shape than `lora`, or a token of `end_of_turn` does not exist.
    """
    unsloth = import_unsloth(device)
    import torch
    from peft import load_peft_weights, set_peft_model_state_dict

    fast = (
        {"fast_inference": True, "max_lora_rank": lora.rank, "gpu_memory_utilization": 0.6} if sample_with_vllm else {}
    )
    model, tokenizer = unsloth.FastLanguageModel.from_pretrained(
        folder,
        max_seq_length=max_length,
        dtype=None if precision == "auto" else getattr(torch, precision),
        load_in_4bit=False,
        **fast,
    )
    model = unsloth.FastLanguageModel.get_peft_model(
        model,
        r=lora.rank,
        lora_alpha=lora.alpha,
        lora_dropout=0.0,
        bias="none",
        target_modules=list(lora.target_modules),
        use_gradient_checkpointing="unsloth" if device == "gpu" else False,
        random_state=seed,
    )
    if start is not None:
        result = set_peft_model_state_dict(model, load_peft_weights(start, device="cpu"))
        adapter = [key for key in result.missing_keys if "lora_" in key]
        if adapter or result.unexpected_keys:
            raise ValueError(f"{start}: this adapter has other layers than the configured one; train it again")
    # Of a model that also takes images it is a processor, which reads a text otherwise; all of ours is text.
    tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
    ids = [tokenizer.eos_token_id]
    for token in end_of_turn:
        index = tokenizer.get_vocab().get(token)  # the unknown token may itself be one that ends a turn
        if index is None:
            raise ValueError(f"end_of_turn: {folder} has no token {token!r}")
        ids.append(index)
    # TRL reads from here which tokens end an output; one that ends in another would count as truncated.
    model.generation_config.eos_token_id = ids
    return model, tokenizer


def trainer_arguments(stage: Sft | Rl, model: dict, work: str, seed: int) -> dict[str, Any]:
    """Return what SFT and RL tell TRL alike: the optimiser, the machine, the log and the checkpoints.

    Args:
        stage: the stage's settings.
        model: the model's settings: device and train_precision.
        work: folder of the checkpoints.
        seed: seeds the order of the questions and sampling.
    """
    on_cpu = model["device"] == "cpu"
    return {
        "per_device_train_batch_size": stage.micro_batch_size,
        "learning_rate": stage.learning_rate,
        "lr_scheduler_type": stage.schedule,
        "warmup_steps": stage.warmup_steps,
        "optim": stage.optimizer,
        "weight_decay": stage.weight_decay,
        "max_grad_norm": stage.max_grad_norm,
        "use_cpu": on_cpu,
        "fp16": model["train_precision"] == "float16",
        "bf16": model["train_precision"] == "bfloat16",
        "gradient_checkpointing": not on_cpu,
        "dataloader_pin_memory": not on_cpu,
        "seed": seed,
        "data_seed": seed,
        "logging_steps": 1,
        "report_to": "none",
        "output_dir": work,
        "save_strategy": "steps",
        "save_steps": stage.checkpoint_steps,
        "save_total_limit": 2,
    }


def check_lengths(tokenizer, conversations: list, names: list[str], limit: int, template_arguments: dict) -> None:
    """Raise a ValueError that names the first conversation longer than `limit` tokens: nothing is cut silently."""
    for name, conversation in zip(names, conversations, strict=True):
        text = tokenizer.apply_chat_template(
            conversation, tokenize=False, add_generation_prompt=True, **template_arguments
        )
        length = len(tokenizer(text, add_special_tokens=False)["input_ids"])
        if length > limit:
            raise ValueError(f"question {name}: {length} tokens, over the limit of {limit}; raise max_prompt_tokens")


def effective(trainer, settings: dict, **facts: Any) -> dict:
    """Return what a run really used: its settings, the trainer's whole configuration, and the versions.

    Unsloth changes TRL's defaults on a GPU; what is written here is read off the trainer after it was made.
    """
    arguments = json.loads(json.dumps(trainer.args.to_dict(), default=str))
    # Facts of the machine, not of the run.
    for key in [key for key in arguments if key.endswith(("token", "_dir")) or key in ("local_rank", "run_name")]:
        del arguments[key]
    versions = {package: version(package) for package in PACKAGES}
    return {"settings": settings, "trainer": arguments, "versions": versions, **facts}


def save_adapter(model, tokenizer, folder: Path) -> None:
    """Save the adapter (safetensors) with its tokenizer to a folder."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for file in folder.iterdir():
        if file.name == "README.md":
            file.unlink()  # a model card that peft fills with nothing
        else:
            file.chmod(0o644)
