"""Generate: the answers of a base model or of an adapter on it, as raw text that is kept for ever."""


def format_of(wildcards):
    """Name the format that a variant answers in: a baseline's is in its name, a scheme's is the run's."""
    baselines = {"base-json": "json", "base-xml": "xml", "sft-xml": "xml"}
    return baselines.get(wildcards.variant) or run_of(wildcards).format


def adapter_of(wildcards):
    """Name the adapter that a variant answers with, where it does not answer with the base model alone."""
    run = run_of(wildcards)
    if wildcards.variant in ("base-json", "base-xml"):
        return []
    if wildcards.variant == "sft-xml":
        return f"results/sft/{run.model}/{run.dataset}/adapter"
    return f"{rl_folder(run, scheme_of(wildcards, wildcards.variant))}/adapter"


def adapter_option(wildcards, input):
    """Name it to the script."""
    return ["--adapter", input.adapter] if input.adapter else []


def answer_settings(wildcards):
    """Select what answers depend on."""
    run = run_of(wildcards)
    return to_json(
        {
            "model": model_settings(wildcards, "generate_precision", "sampling"),
            "evaluation": run.evaluation.model_dump(),
            "format": format_of(wildcards),
            # The second chance asks for mathematics in LaTeX. Between the graders of one kind nothing is generated anew.
            **({"grader": "math"} if settings.datasets[wildcards.dataset].grader == "math" else {}),
            **run_settings(wildcards, "json_prompt", "json_answer_limit"),
        }
    )


rule generate_answers:
    """Let a model answer the test questions, several times each (paper E.6)."""
    input:
        script=script("generate_answers"),
        model="results/models/{model}",
        questions="results/data/{dataset}/test.parquet",
        adapter=adapter_of,
    output:
        "results/generations/{model}/{dataset}/{variant}.parquet",
    log:
        "logs/generations/{model}/{dataset}/{variant}.log",
    benchmark:
        "results/benchmarks/generations/{model}/{dataset}/{variant}.tsv"
    threads: side_by_side
    resources:
        mem_mb=memory("generate"),
        runtime=minutes("generate"),
        gpu=gpus,
    params:
        adapter=adapter_option,
        settings=answer_settings,
        seed=settings.seed,
        work="results/work/generations/{model}/{dataset}/{variant}",
    conda:
        device_environment
    shell:
        """
        OMP_NUM_THREADS={threads} "$MODEL_PYTHON" {input.script:q} --model {input.model:q} --questions {input.questions:q} {params.adapter:q} \
            --settings {params.settings:q} --seed {params.seed:q} --work {params.work:q} \
            --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
