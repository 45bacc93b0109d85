"""How fast answers are sampled: candor's engine (vLLM) beside transformers' `generate` in batches of 32.

Both answer the same questions, 4 samples of 128 tokens each, on the CPU of this machine, each in the better of float32
and bfloat16. Ends of turns are ignored, so that both write exactly as much. Start-up is not counted; each side first
answers one question of another kind. Where the processor does not compute bfloat16 natively, both skip it.

    .venv-model/bin/python benchmarks/generation.py MODEL_FOLDER TEST_PARQUET [--questions 16]
"""

import argparse
import subprocess
import sys
import time

from candor import tables
from candor.confidence.prompts import messages
from candor.engine import generation

SAMPLES, NEW_TOKENS, BATCH = 4, 128, 32
WARM_UP = [[{"role": "user", "content": "What is the capital of France?"}]]


def time_engine(model, conversations, precision):
    """Return the seconds that candor's engine takes."""
    from vllm import SamplingParams

    engine = generation.start(model, "cpu", precision, 4096)
    warm_up, prompts = ([{"prompt_token_ids": ids} for ids in engine.tokens(c)] for c in (WARM_UP, conversations))
    parameters = [
        SamplingParams(n=SAMPLES, seed=seed, temperature=1, max_tokens=NEW_TOKENS, ignore_eos=True)
        for seed in range(len(prompts))
    ]
    engine.llm.generate(warm_up, parameters[:1], use_tqdm=False)
    start = time.perf_counter()
    results = engine.llm.generate(prompts, parameters, use_tqdm=False)
    seconds = time.perf_counter() - start
    assert all(len(sample.token_ids) == NEW_TOKENS for result in results for sample in result.outputs)
    return seconds


def time_transformers(model, conversations, precision):
    """Return the seconds that a loop over batches with transformers' `generate` takes."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    loaded = AutoModelForCausalLM.from_pretrained(model, dtype=precision)

    def sample(batch):
        texts = tokenizer.apply_chat_template(batch, add_generation_prompt=True, tokenize=False)
        inputs = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        settings = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
        return loaded.generate(
            **inputs, **settings, num_return_sequences=SAMPLES, min_new_tokens=NEW_TOKENS, max_new_tokens=NEW_TOKENS
        )

    with torch.inference_mode():
        sample(WARM_UP)
        start = time.perf_counter()
        size = BATCH // SAMPLES
        for first in range(0, len(conversations), size):
            sample(conversations[first : first + size])
        return time.perf_counter() - start


SIDES = {"engine": time_engine, "transformers": time_transformers}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL_FOLDER")
    parser.add_argument("questions_file", metavar="TEST_PARQUET", help="questions of candor's build_dataset")
    parser.add_argument("--questions", type=int, default=16)
    parser.add_argument("--side", nargs=2, metavar=("SIDE", "PRECISION"), help="internal: time one side, print seconds")
    arguments = parser.parse_args()
    if arguments.side:
        side, precision = arguments.side
        questions = tables.read(arguments.questions_file, tables.QUESTIONS).head(arguments.questions)
        conversations = [messages(prompt, "xml") for prompt in questions["prompt"]]
        print(SIDES[side](arguments.model, conversations, precision))
        return

    precisions = ["float32"]
    if generation.resolve_precision("cpu", "auto") == "bfloat16":
        precisions.append("bfloat16")
    else:
        print("bfloat16 is skipped: this processor has neither AVX512-BF16 nor AMX and would emulate it")
    best = {}
    for side in SIDES:
        for precision in precisions:  # a process each, so that neither inherits the other's threads and memory
            command = [sys.executable, __file__, *sys.argv[1:], "--side", side, precision]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
            seconds = float(done.stdout.split()[-1])
            answers = arguments.questions * SAMPLES
            print(f"{side}, {precision}: {answers} answers in {seconds:.1f} s, {answers / seconds:.2f} per second")
            best[side] = min(seconds, best.get(side, seconds))
    print(f"the engine is {best['transformers'] / best['engine']:.2f} times as fast")


if __name__ == "__main__":
    main()
