"""Reinforcement learning with a confidence reward scheme: Dr GRPO or DAPO (paper E.5)."""

import logging
import os
from collections.abc import Callable

import numpy as np

from candor import tables
from candor.answers.enforcing import enforcement
from candor.config import Rl
from candor.grading.graders import open_grader
from candor.schemes import build
from candor.training import watchers
from candor.training.checkpoints import open_work_folder
from candor.training.enforcing import enforce_sampling
from candor.training.logs import StepLog
from candor.training.models import check_lengths, effective, import_unsloth, load, save_adapter, trainer_arguments
from candor.training.rewards import Rewards, reward
from candor.vocabulary import DIFFICULTIES

MOST_WORKERS = 8
"""Processes that compare mathematics, where there are as many processors."""


def train(
    model_folder: str,
    model: dict,
    rl: Rl,
    scheme: str,
    definitions: dict,
    prompts: list[list[dict[str, str]]],
    golds: list[str],
    difficulties: list[str],
    names: list[str],
    *,
    format: str,
    grader: str,
    json_answer_limit: int | None,
    max_tokens: int,
    max_prompt_tokens: int,
    start: str | None,
    seed: int,
    work: str,
    adapter: str,
    training_log: str,
    effective_settings: str,
) -> None:
    """Train an adapter under a reward scheme and write it, its per-step log and what was really used.

    Args:
        model_folder: the base model.
        model: the model's settings: device, train_precision, chat_template_arguments, end_of_turn.
        rl: the settings of this stage.
        scheme: name of the reward scheme.
        definitions: the configuration's definitions that the scheme is made of, by name.
        prompts: conversations up to the answer, one for each question.
        golds, difficulties, names: right answer, difficulty and id of each question.
        format: how the model is asked to answer, "xml" or "json".
        grader: how answers are compared with golds.
        json_answer_limit: longest answer that the JSON enforcer allows.
        max_tokens, max_prompt_tokens: limits of answer and prompt; their sum is the context length.
        start: adapter to go on from (SFT's); None starts from the base model.
        seed: seeds the adapter's weights, the order of the questions and sampling.
        work: folder of the checkpoints; a killed run goes on from there, and it is removed at the end by the caller.
        adapter, training_log, effective_settings: what is written.

    Raises:
        ValueError: a prompt is too long, there are fewer questions than a step takes, or the reward has been the same for
            many steps from the first one on (`watchers.fails`).
    """
    if len(prompts) < rl.questions_per_step:
        raise ValueError(f"{len(prompts)} train questions are fewer than rl.questions_per_step {rl.questions_per_step}")
    on_cpu = model["device"] == "cpu"
    settings = {"rl": rl.model_dump(), "model": model, "scheme": scheme, "format": format, "grader": grader}
    settings |= {"schemes": definitions, "json_answer_limit": json_answer_limit}
    limits = {"max_tokens": max_tokens, "max_prompt_tokens": max_prompt_tokens, "seed": seed}
    inputs = [model_folder] if start is None else [model_folder, start]
    checkpoint = open_work_folder(work, {**settings, **limits, "questions": [prompts, golds]}, inputs)
    import_unsloth(model["device"])
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    length = max_prompt_tokens + max_tokens
    network, tokenizer = load(
        model_folder,
        model["device"],
        model["train_precision"],
        rl.lora,
        length,
        seed,
        model["end_of_turn"],
        start=start,
        sample_with_vllm=not on_cpu,
    )
    check_lengths(tokenizer, prompts, names, max_prompt_tokens, model["chat_template_arguments"])
    rule = enforcement(format, json_answer_limit) if rl.enforce_format else None
    if on_cpu and rule is not None:
        enforce_sampling(network, tokenizer, rule)
    arguments = GRPOConfig(
        # the objective; every field is set because Unsloth changes TRL's defaults on a GPU and not on a CPU
        loss_type=rl.loss,
        scale_rewards="none",
        beta=rl.beta,
        epsilon=rl.epsilon,
        epsilon_high=rl.epsilon_high,
        num_iterations=rl.iterations,
        importance_sampling_level=f"{rl.importance_sampling}",
        mask_truncated_completions=rl.mask_truncated,
        top_entropy_quantile=1.0,
        entropy_coef=0.0,
        delta=None,
        off_policy_mask_threshold=None,
        # sampling
        num_generations=rl.generations,
        max_completion_length=max_tokens,
        temperature=rl.temperature,
        top_p=1.0,
        top_k=0,
        min_p=None,
        repetition_penalty=1.0,
        chat_template_kwargs=model["chat_template_arguments"],
        shuffle_dataset=True,
        use_vllm=not on_cpu,
        vllm_mode="colocate",
        vllm_importance_sampling_correction=False,
        vllm_structured_outputs_regex=None,  # TRL makes it of a regular expression; ours is a schema, as at evaluation
        generation_kwargs=None if on_cpu else vllm_arguments(network.generation_config.eos_token_id, rule),
        # the optimiser
        max_steps=rl.steps,
        gradient_accumulation_steps=rl.questions_per_step * rl.generations // rl.micro_batch_size,
        adam_beta1=rl.adam_beta1,
        adam_beta2=rl.adam_beta2,
        **trainer_arguments(rl, model, work, seed),
    )
    log = StepLog(work)
    chosen = build(scheme, definitions)

    def scheme_and_format_reward(completions, gold, difficulty, **columns) -> list[float]:
        """Wrap the pure reward for TRL: completions are conversations of one message."""
        texts = [completion[-1]["content"] for completion in completions]
        rewards = reward(texts, gold, chosen, format, grade, rl.json_format_reward, rl.repair_json)
        log.extra = summarise(rewards, difficulty)
        return rewards.total.tolist()

    questions = [
        {"prompt": prompt, "gold": gold, "difficulty": difficulty}
        for prompt, gold, difficulty in zip(prompts, golds, difficulties, strict=True)
    ]
    trainer = GRPOTrainer(
        model=network,
        reward_funcs=[scheme_and_format_reward],
        args=arguments,
        train_dataset=Dataset.from_list(questions),
        processing_class=tokenizer,
        callbacks=[log.callback(watching(log))],
    )
    with open_grader(grader, workers=min(MOST_WORKERS, len(os.sched_getaffinity(0)))) as grade:
        trainer.train(resume_from_checkpoint=checkpoint)
    frame = log.frame(tables.TRAINING_LOG, steps=rl.steps)
    with tables.replacing(adapter) as folder:
        save_adapter(trainer.model, tokenizer, folder)
    facts = {"questions": len(prompts), "started_from": "base" if start is None else "sft"}
    facts["stop_token_ids"] = trainer.eos_token_ids
    tables.write_json(effective(trainer, {**settings, **limits}, **facts), effective_settings)
    tables.write(frame, training_log, tables.TRAINING_LOG)


def vllm_arguments(stop_token_ids: list[int], rule: dict | None) -> dict:
    """Return what vLLM is told beside what TRL tells it: every token that ends a turn, and what is enforced."""
    return {"stop_token_ids": stop_token_ids} | ({} if rule is None else {"structured_outputs": rule})


def watching(log: StepLog) -> Callable[[int], None]:
    """Return what looks at a run's log after each step: it warns once of each finding, and ends a run that cannot learn.

    A run that goes on from a checkpoint warns again of what it had found, for its own log begins anew.

    Raises:
        ValueError (what is returned): `watchers.fails`.
    """
    warned = set()

    def look(step: int) -> None:
        frame = log.frame(tables.TRAINING_LOG, steps=step)
        if reason := watchers.fails(frame):
            raise ValueError(f"{reason}. Then remove {log.path.parent}, or the run goes on from its last checkpoint")
        for finding in watchers.watch(frame):
            if finding.name not in warned:
                warned.add(finding.name)
                logging.warning("step %d, %s: %s", step, finding.name, finding.sentence)

    return look


def summarise(rewards: Rewards, difficulties: list[str]) -> dict[str, float | None]:
    """Return the figures of a step's outputs that stand in the training log (spec: per step, for figures 6 to 10)."""
    difficulty = np.asarray(difficulties)
    graded = rewards.graded
    stated = rewards.confidence[~np.isnan(rewards.confidence)]
    return {
        "scheme_reward": float(rewards.scheme.mean()),
        "format_reward": float(rewards.format.mean()),
        "accuracy": _mean(rewards.correct[graded]),
        **{f"accuracy_{name}": _mean(rewards.correct[graded & (difficulty == name)]) for name in DIFFICULTIES},
        "confidence": _mean(stated),
        "format_rate": float(rewards.well_formed.mean()),
        "ungraded_rate": float((~graded).mean()),
    }


def _mean(values) -> float | None:
    return float(values.mean()) if len(values) else None
