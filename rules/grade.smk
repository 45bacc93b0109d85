"""Grade: read answer and confidence out of the raw text and compare the answer with the gold. Cheap, and repeatable."""


def grade_settings(wildcards):
    """Select what grades depend on."""
    return to_json(
        {
            "format": format_of(wildcards),
            "grader": settings.datasets[wildcards.dataset].grader,
            "repair_json": run_of(wildcards).evaluation.repair_json,
        }
    )


def is_mathematics(wildcards):
    """Tell whether answers are compared as mathematics."""
    return settings.datasets[wildcards.dataset].grader == "math"


def needs_model_environment(wildcards):
    """Tell whether grading takes math-verify or fast-json-repair: of the model environment, as in RL."""
    repairs = format_of(wildcards) == "json" and run_of(wildcards).evaluation.repair_json
    return is_mathematics(wildcards) or repairs


rule grade_answers:
    """Grade a model's answers."""
    input:
        script=script("grade_answers"),
        questions="results/data/{dataset}/test.parquet",
        generations="results/generations/{model}/{dataset}/{variant}.parquet",
    output:
        "results/grades/{model}/{dataset}/{variant}.parquet",
    log:
        "logs/grades/{model}/{dataset}/{variant}.log",
    benchmark:
        "results/benchmarks/grades/{model}/{dataset}/{variant}.tsv"
    threads: lambda wildcards: MODEL_THREADS if is_mathematics(wildcards) else 1
    resources:
        mem_mb=lambda wildcards, attempt: (8 if is_mathematics(wildcards) else 2) * 1024 * attempt,
        runtime=growing(60),
    params:
        settings=grade_settings,
        python=lambda wildcards: "MODEL_PYTHON" if needs_model_environment(wildcards) else "CONTROLLER_PYTHON",
    conda:
        lambda wildcards: (
            device_environment(wildcards) if needs_model_environment(wildcards) else "../envs/controller.yaml"
        )
    shell:
        """
        "${params.python}" {input.script:q} --questions {input.questions:q} --generations {input.generations:q} \
            --settings {params.settings:q} --workers {threads} --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
