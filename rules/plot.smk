"""Plot: figures, as SVG for a paper and PNG for a page."""


localrules:
    plot_calibration,
    plot_training_curves,


rule plot_calibration:
    """Plot accuracy against confidence for every variant of a run (paper figure 2)."""
    input:
        script=script("plot_calibration"),
        metrics=lambda wildcards: metrics_of(run_of(wildcards)),
    output:
        svg="results/figures/calibration_{model}_{dataset}.svg",
        png="results/figures/calibration_{model}_{dataset}.png",
    log:
        "logs/figures/calibration_{model}_{dataset}.log",
    benchmark:
        "results/benchmarks/figures/calibration_{model}_{dataset}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        title=lambda wildcards: title_of(run_of(wildcards)),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --metrics {input.metrics:q} --title {params.title:q} \
            --svg {output.svg:q} --png {output.png:q} 2>&1 | tee {log:q}
        """


rule plot_training_curves:
    """Plot accuracy and confidence in the course of training, for every scheme of a run (paper figure 6)."""
    input:
        script=script("plot_training_curves"),
        logs=lambda wildcards: [
            f"{rl_folder(run_of(wildcards), scheme)}/log.parquet" for scheme in run_of(wildcards).schemes
        ],
    output:
        svg="results/figures/training_curves_{model}_{dataset}.svg",
        png="results/figures/training_curves_{model}_{dataset}.png",
    log:
        "logs/figures/training_curves_{model}_{dataset}.log",
    benchmark:
        "results/benchmarks/figures/training_curves_{model}_{dataset}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        names=lambda wildcards: run_of(wildcards).schemes,
        schemes=lambda wildcards: to_json(settings.definitions_of(*run_of(wildcards).schemes)),
        title=lambda wildcards: title_of(run_of(wildcards)),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --logs {input.logs:q} --names {params.names:q} \
            --schemes {params.schemes:q} --title {params.title:q} --svg {output.svg:q} --png {output.png:q} 2>&1 | tee {log:q}
        """
