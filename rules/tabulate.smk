"""Tabulate: measured numbers as the paper prints them, and unrounded beside that."""


localrules:
    tabulate_confidence_metrics,


rule tabulate_confidence_metrics:
    """Gather the metrics of every evaluated variant, in the order of the configuration (paper tables 7 to 35)."""
    input:
        script=script("tabulate_confidence_metrics"),
        metrics=[path for run in settings.runs for path in metrics_of(run)],
    output:
        csv="results/tables/confidence_metrics.csv",
        markdown="results/tables/confidence_metrics.md",
        latex="results/tables/confidence_metrics.tex",
    log:
        "logs/tables/confidence_metrics.log",
    benchmark:
        "results/benchmarks/tables/confidence_metrics.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --metrics {input.metrics:q} \
            --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
