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
    threads: 1
    resources:
        mem_mb=growing(2 * 1024),
        runtime=growing(60),
    params:
        settings=grade_settings,
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --questions {input.questions:q} --generations {input.generations:q} \
            --settings {params.settings:q} --output {output:q} 2>&1 | tee {log:q}
        """
