"""Measure: accuracy, calibration and what else describes graded answers, with intervals."""


def printed_name(wildcards):
    """Name a variant as the tables print it."""
    if wildcards.variant in run_of(wildcards).baselines:
        return wildcards.variant
    return scheme_of(wildcards, wildcards.variant)


rule measure_confidence:
    """Measure a variant by difficulty and overall (paper section 4 and appendix B)."""
    input:
        script=script("measure_confidence"),
        grades="results/grades/{model}/{dataset}/{variant}.parquet",
    output:
        "results/metrics/{model}/{dataset}/{variant}.json",
    log:
        "logs/metrics/{model}/{dataset}/{variant}.log",
    benchmark:
        "results/benchmarks/metrics/{model}/{dataset}/{variant}.tsv"
    threads: 1
    resources:
        mem_mb=growing(4 * 1024),
        runtime=growing(30),
    params:
        model=lambda wildcards: settings.models[wildcards.model].label,
        dataset=lambda wildcards: settings.datasets[wildcards.dataset].label,
        scheme=printed_name,
        name="{model}/{dataset}/{variant}",
        seed=settings.seed,
        resamples=settings.bootstrap.resamples,
        level=settings.bootstrap.level,
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --grades {input.grades:q} --output {output:q} \
            --model {params.model:q} --dataset {params.dataset:q} --scheme {params.scheme:q} --name {params.name:q} \
            --seed {params.seed:q} --resamples {params.resamples:q} --level {params.level:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
