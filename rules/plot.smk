"""Plot: figures, as SVG for a paper and PNG for a page."""


localrules:
    plot_calibration,


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
            --svg {output.svg:q} --png {output.png:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
