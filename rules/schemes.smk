"""Schemes: what the reward schemes reward and what a small policy learns under them, before any model is trained."""

from candor.schemes import classify
from candor.schemes.description import warning

TRAINED = list(dict.fromkeys(scheme for run in settings.runs for scheme in run.schemes))

# The step size of confidence, in step sizes of effort; of one of them the figure shows what was learnt.
RATIOS = [1, 4, 10, 40, 100]
SHOWN_RATIO = 40


def scheme_definitions():
    """Write the definitions of the schemes that are trained with."""
    return to_json(settings.definitions_of(*TRAINED))


onstart:
    # A GPU-week later it would be too late. Only where RL is about to run: once in a workflow, once in each of its jobs.
    for scheme in dict.fromkeys(
        scheme_of(job.wildcards, job.wildcards.scheme)
        for job in workflow.dag.needrun_jobs()
        if job.rule.name == "train_rl"
    ):
        if note := warning(classify(build(scheme, settings.schemes))):
            logger.warning(f"train_rl: {note}")


localrules:
    classify_schemes,
    tabulate_scheme_properties,
    plot_schemes,
    plot_simulations,


rule classify_schemes:
    """Classify the paper's schemes and those that are trained with (paper section 3)."""
    input:
        script=script("classify_schemes"),
    output:
        "results/schemes/classification.json",
    log:
        "logs/schemes/classification.log",
    benchmark:
        "results/benchmarks/schemes/classification.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        trained=TRAINED,
        schemes=scheme_definitions(),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --trained {params.trained:q} --schemes {params.schemes:q} \
            --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule simulate_schemes:
    """Train a small policy under every scheme that is trained with; it takes seconds a scheme."""
    input:
        script=script("simulate_schemes"),
    output:
        "results/schemes/simulations.parquet",
    log:
        "logs/schemes/simulations.log",
    benchmark:
        "results/benchmarks/schemes/simulations.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(30),
    params:
        names=TRAINED,
        schemes=scheme_definitions(),
        ratios=RATIOS,
        seed=settings.seed,
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --names {params.names:q} --schemes {params.schemes:q} \
            --ratios {params.ratios:q} --seed {params.seed:q} --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule tabulate_scheme_properties:
    """Set our classification beside the paper's (paper table 1); schemes that can be hacked are named under it."""
    input:
        script=script("tabulate_scheme_properties"),
        classification="results/schemes/classification.json",
        printed=os.path.relpath(ROOT / "resources" / "paper_tables" / "scheme_properties.csv"),
    output:
        csv="results/tables/scheme_properties.csv",
        markdown="results/tables/scheme_properties.md",
        latex="results/tables/scheme_properties.tex",
    log:
        "logs/tables/scheme_properties.log",
    benchmark:
        "results/benchmarks/tables/scheme_properties.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --classification {input.classification:q} --printed {input.printed:q} \
            --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule plot_schemes:
    """Plot miscalibration penalty (paper figure 1) and bias of the spectrum, and the functions of what is trained with."""
    input:
        script=script("plot_schemes"),
    output:
        penalty=multiext("results/figures/scheme_penalty", ".svg", ".png"),
        bias=multiext("results/figures/scheme_bias", ".svg", ".png"),
        functions=multiext("results/figures/scheme_functions", ".svg", ".png"),
    log:
        "logs/figures/schemes.log",
    benchmark:
        "results/benchmarks/figures/schemes.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        names=TRAINED,
        schemes=scheme_definitions(),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --names {params.names:q} --schemes {params.schemes:q} \
            --penalty {output.penalty:q} --bias {output.bias:q} --functions {output.functions:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule plot_simulations:
    """Plot what the small policies learnt, and how hacking depends on what is learnt faster."""
    input:
        script=script("plot_simulations"),
        simulations="results/schemes/simulations.parquet",
        classification="results/schemes/classification.json",
    output:
        learnt=multiext("results/figures/scheme_simulations", ".svg", ".png"),
        hacking=multiext("results/figures/scheme_hacking", ".svg", ".png"),
    log:
        "logs/figures/simulations.log",
    benchmark:
        "results/benchmarks/figures/simulations.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        ratio=SHOWN_RATIO,
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --simulations {input.simulations:q} --classification {input.classification:q} \
            --ratio {params.ratio:q} --learnt {output.learnt:q} --hacking {output.hacking:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
