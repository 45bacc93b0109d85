"""Train: SFT on the model's own answers, turned to XML, then RL under each reward scheme.

Both go on from their last checkpoint when they were killed. The checkpoints are in results/work, which is no output:
Snakemake deletes outputs before it runs a job.
"""


def sft_response_settings(wildcards):
    """Select what the answers that SFT learns from depend on."""
    sft = run_of(wildcards).sft
    return to_json(
        {
            "model": model_settings(wildcards, "generate_precision"),
            **sft.model_dump(include={"questions", "temperature", "enforce_format"}),
            **run_settings(wildcards, "json_prompt", "json_answer_limit"),
        }
    )


def sft_settings(wildcards):
    """Select what SFT depends on, given its answers."""
    sft = run_of(wildcards).sft
    return to_json(
        {
            "model": model_settings(wildcards, "train_precision"),
            "sft": sft.model_dump(exclude={"questions", "temperature", "enforce_format"}),
            **run_settings(wildcards),
        }
    )


def rl_settings(wildcards):
    """Select what RL depends on, beside its scheme's name."""
    return to_json(
        {
            "model": model_settings(wildcards, "train_precision"),
            "rl": run_of(wildcards).rl.model_dump(),
            "grader": settings.datasets[wildcards.dataset].grader,
            "schemes": settings.definitions_of(scheme_of(wildcards, wildcards.scheme)),
            **run_settings(wildcards, "format", "json_prompt", "json_answer_limit"),
        }
    )


def start_of(wildcards):
    """Name the adapter that RL goes on from, where it does not start on the base model."""
    run = run_of(wildcards)
    return f"results/sft/{run.model}/{run.dataset}/adapter" if run.rl.start == "sft" else []


def start_option(wildcards, input):
    """Name it to the script."""
    return ["--start", input.start] if input.start else []


rule generate_sft_responses:
    """Let the base model answer train questions in JSON; the valid answers, as XML, are what SFT learns."""
    input:
        script=script("generate_sft_responses"),
        model="results/models/{model}",
        questions="results/data/{dataset}/train.parquet",
    output:
        "results/sft/{model}/{dataset}/responses.parquet",
    log:
        "logs/sft/{model}/{dataset}/responses.log",
    benchmark:
        "results/benchmarks/sft/{model}/{dataset}/responses.tsv"
    threads: MODEL_THREADS
    resources:
        mem_mb=memory("generate"),
        runtime=minutes("generate"),
        gpu=gpus,
    params:
        settings=sft_response_settings,
        seed=settings.seed,
        work="results/work/sft/{model}/{dataset}/responses",
    conda:
        device_environment
    shell:
        """
        OMP_NUM_THREADS={threads} "$MODEL_PYTHON" {input.script:q} --model {input.model:q} --questions {input.questions:q} \
            --settings {params.settings:q} --seed {params.seed:q} --work {params.work:q} \
            --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule train_sft:
    """Fine-tune a LoRA adapter on those answers (paper E.4)."""
    input:
        script=script("train_sft"),
        model="results/models/{model}",
        questions="results/data/{dataset}/train.parquet",
        responses="results/sft/{model}/{dataset}/responses.parquet",
    output:
        adapter=directory("results/sft/{model}/{dataset}/adapter"),
        training_log="results/sft/{model}/{dataset}/log.parquet",
        effective="results/sft/{model}/{dataset}/effective.json",
    log:
        "logs/sft/{model}/{dataset}/adapter.log",
    benchmark:
        "results/benchmarks/sft/{model}/{dataset}/adapter.tsv"
    threads: MODEL_THREADS
    resources:
        mem_mb=memory("train_sft"),
        runtime=minutes("train_sft"),
        gpu=gpus,
    params:
        settings=sft_settings,
        seed=settings.seed,
        work="results/work/sft/{model}/{dataset}/adapter",
    conda:
        device_environment
    shell:
        """
        OMP_NUM_THREADS={threads} "$MODEL_PYTHON" {input.script:q} --model {input.model:q} --questions {input.questions:q} \
            --responses {input.responses:q} --settings {params.settings:q} --seed {params.seed:q} \
            --work {params.work:q} --adapter {output.adapter:q} --training-log {output.training_log:q} \
            --effective {output.effective:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule train_rl:
    """Train an adapter to answer and to state its confidence under one reward scheme (paper E.5)."""
    input:
        script=script("train_rl"),
        model="results/models/{model}",
        questions="results/data/{dataset}/train.parquet",
        start=start_of,
    output:
        adapter=directory("results/rl/{model}/{dataset}/{scheme}/{attempt}/adapter"),
        training_log="results/rl/{model}/{dataset}/{scheme}/{attempt}/log.parquet",
        effective="results/rl/{model}/{dataset}/{scheme}/{attempt}/effective.json",
    log:
        "logs/rl/{model}/{dataset}/{scheme}/{attempt}.log",
    benchmark:
        "results/benchmarks/rl/{model}/{dataset}/{scheme}/{attempt}.tsv"
    threads: MODEL_THREADS
    resources:
        mem_mb=memory("train_rl"),
        runtime=minutes("train_rl"),
        gpu=gpus,
    params:
        start=start_option,
        settings=rl_settings,
        scheme=lambda wildcards: scheme_of(wildcards, wildcards.scheme),
        seed=settings.seed,
        work="results/work/rl/{model}/{dataset}/{scheme}/{attempt}",
    conda:
        device_environment
    shell:
        """
        OMP_NUM_THREADS={threads} "$MODEL_PYTHON" {input.script:q} --model {input.model:q} --questions {input.questions:q} {params.start:q} \
            --settings {params.settings:q} --scheme {params.scheme:q} --seed {params.seed:q} \
            --attempt {wildcards.attempt:q} --work {params.work:q} --adapter {output.adapter:q} \
            --training-log {output.training_log:q} --effective {output.effective:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
