"""Supervised fine-tuning on the model's own answers in XML (paper E.4)."""

import polars as pl

from candor import tables
from candor.config import Sft
from candor.training.checkpoints import open_work_folder
from candor.training.logs import StepLog
from candor.training.models import check_lengths, effective, import_unsloth, load, save_adapter, trainer_arguments


def train(
    model_folder: str,
    model: dict,
    sft: Sft,
    prompts: list[list[dict[str, str]]],
    completions: list[str],
    names: list[str],
    *,
    max_tokens: int,
    max_prompt_tokens: int,
    seed: int,
    work: str,
    adapter: str,
    training_log: str,
    effective_settings: str,
) -> None:
    """Train an adapter on (prompt, completion) pairs and write it, its per-step log and what was really used.

    Args:
        model_folder: the base model.
        model: the model's settings: device, train_precision, chat_template_arguments, end_of_turn.
        sft: the settings of this stage.
        prompts: conversations up to the answer, one for each question.
        completions: the answers to learn, as text.
        names: the questions' ids, for messages.
        max_tokens, max_prompt_tokens: limits of answer and prompt; their sum is the context length.
        seed: seeds the adapter's weights and the order of the questions.
        work: folder of the checkpoints; a killed run goes on from there, and it is removed at the end by the caller.
        adapter, training_log, effective_settings: what is written.

    Raises:
        ValueError: a prompt is too long, or there is nothing to train on.
    """
    if not prompts:
        raise ValueError("no valid response to train on; raise sft.questions or max_tokens")
    settings = {"sft": sft.model_dump(), "model": model, "seed": seed, "pairs": [prompts, completions]}
    checkpoint = open_work_folder(work, settings, [model_folder])
    import_unsloth(model["device"])
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    length = max_prompt_tokens + max_tokens
    network, tokenizer = load(
        model_folder,
        model["device"],
        model["train_precision"],
        sft.lora,
        length,
        seed,
        model["end_of_turn"],
    )
    check_lengths(tokenizer, prompts, names, max_prompt_tokens, model["chat_template_arguments"])
    arguments = SFTConfig(
        # the objective
        loss_type="nll",
        completion_only_loss=True,
        assistant_only_loss=False,
        packing=False,
        padding_free=False,
        max_length=length,
        # the optimiser
        num_train_epochs=sft.epochs,
        gradient_accumulation_steps=sft.batch_size // sft.micro_batch_size,
        adam_beta1=0.9,
        adam_beta2=0.999,
        **trainer_arguments(sft, model, work, seed),
    )
    data = Dataset.from_list(
        [
            {
                "prompt": prompt,
                "completion": [{"role": "assistant", "content": completion}],
                "chat_template_kwargs": model["chat_template_arguments"],
            }
            if model["chat_template_arguments"]
            else {"prompt": prompt, "completion": [{"role": "assistant", "content": completion}]}
            for prompt, completion in zip(prompts, completions, strict=True)
        ]
    )
    log = StepLog(work)
    trainer = SFTTrainer(
        model=network, args=arguments, train_dataset=data, processing_class=tokenizer, callbacks=[log.callback()]
    )
    trainer.train(resume_from_checkpoint=checkpoint)
    frame = log.frame(tables.SFT_LOG, steps=trainer.state.max_steps)
    with tables.replacing(adapter) as folder:
        save_adapter(trainer.model, tokenizer, folder)
    tables.write_json(
        effective(
            trainer, {"sft": sft.model_dump(), "model": model}, pairs=len(prompts), steps=trainer.state.max_steps
        ),
        effective_settings,
    )
    tables.write(frame.with_columns(pl.col("step").cast(pl.Int32)), training_log, tables.SFT_LOG)
