"""Confidence, reported: each of the paper's tables and figures along the spectrum, the comparison, and hacked samples."""

from functools import cache

from candor.schemes import spectrum_place
from candor.vocabulary import DIFFICULTIES


localrules:
    tabulate_confidence_subset,
    tabulate_accuracy,
    tabulate_comparison,
    plot_spectrum,


def difficulties_of(run):
    """List what a run is measured on alone: HotpotQA's own test split is hard throughout (paper F.1)."""
    dataset = settings.datasets[run.dataset]
    if dataset.kind == "hotpotqa" and isinstance(dataset.source, HubSource):
        return ["all"]
    return ["all", *DIFFICULTIES]


def evaluated_run_of(wildcards):
    """Return the run that a path belongs to, which must be evaluated."""
    run = run_of(wildcards)
    if run not in EVALUATED:
        raise WorkflowError(f"{run.model} on {run.dataset} is trained only; give it an `evaluation:` to measure it")
    return run


def evaluated_on(model):
    """List the evaluated runs of a model, their datasets in the configuration's order."""
    runs = [run for run in EVALUATED if run.model == model]
    if not runs:
        raise WorkflowError(f"no run of {model} is evaluated; valid: {', '.join(EVALUATED_MODELS)}")
    return sorted(runs, key=lambda run: list(settings.datasets).index(run.dataset))


def schemes_of(model):
    """List the schemes of a model's evaluated runs."""
    return list(dict.fromkeys(scheme for run in evaluated_on(model) for scheme in run.schemes))


def list_spectrum_figures():
    """Name every figure along the spectrum: its kind, its runs and its title. A run without such schemes has none."""

    def on_spectrum(runs):
        return [run for run in runs if any(map(spectrum_place, run.schemes))]

    figures = {}
    if runs := on_spectrum(run for model in EVALUATED_MODELS for run in evaluated_on(model)):
        figures["calibration_bias_spectrum"] = ("bias", runs, "Calibration bias along the spectrum of reward schemes")
    for model in EVALUATED_MODELS:
        if runs := on_spectrum(evaluated_on(model)):
            for kind in ("performance", "calibration"):
                figures[f"{kind}_spectrum_{model}"] = (kind, runs, settings.models[model].label)
    return figures


spectrum_figures = list_spectrum_figures()


wildcard_constraints:
    difficulty="|".join(["all", *DIFFICULTIES]),
    spectrum_figure=any_of(spectrum_figures),


rule tabulate_confidence_subset:
    """Set the metrics of a run for one difficulty (paper tables 7 to 27 and 32 to 35)."""
    input:
        script=script("tabulate_confidence_subset"),
        metrics=lambda wildcards: metrics_of(evaluated_run_of(wildcards)),
    output:
        csv="results/tables/confidence_{model}_{dataset}_{difficulty}.csv",
        markdown="results/tables/confidence_{model}_{dataset}_{difficulty}.md",
        latex="results/tables/confidence_{model}_{dataset}_{difficulty}.tex",
    log:
        "logs/tables/confidence_{model}_{dataset}_{difficulty}.log",
    benchmark:
        "results/benchmarks/tables/confidence_{model}_{dataset}_{difficulty}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --metrics {input.metrics:q} --difficulty {wildcards.difficulty:q} \
            --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule tabulate_accuracy:
    """Set a model's accuracy by scheme, dataset and difficulty (paper table 2)."""
    input:
        script=script("tabulate_accuracy"),
        metrics=lambda wildcards: [path for run in evaluated_on(wildcards.model) for path in metrics_of(run)],
    output:
        csv="results/tables/accuracy_{model}.csv",
        markdown="results/tables/accuracy_{model}.md",
        latex="results/tables/accuracy_{model}.tex",
    log:
        "logs/tables/accuracy_{model}.log",
    benchmark:
        "results/benchmarks/tables/accuracy_{model}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        schemes=lambda wildcards: schemes_of(wildcards.model),
        definitions=lambda wildcards: to_json(settings.definitions_of(*schemes_of(wildcards.model))),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --metrics {input.metrics:q} --schemes {params.schemes:q} \
            --definitions {params.definitions:q} --csv {output.csv:q} --markdown {output.markdown:q} \
            --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


# Runs whose answers for SFT are counted beside table 4.
ANSWERED = [run for run in EVALUATED if run.sft]


rule tabulate_comparison:
    """Put ours beside every cell that the paper prints of the same models (tables 4 and 7 to 37, F.4)."""
    input:
        script=script("tabulate_comparison"),
        metrics=[path for run in EVALUATED for path in metrics_of(run)],
        responses=[f"results/sft/{run.model}/{run.dataset}/responses.parquet" for run in ANSWERED],
        abstentions=["results/tables/abstention_rates.csv"] if any(run.judges for run in EVALUATED) else [],
    output:
        csv="results/tables/comparison.csv",
        markdown="results/tables/comparison.md",
        latex="results/tables/comparison.tex",
    log:
        "logs/tables/comparison.log",
    benchmark:
        "results/benchmarks/tables/comparison.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        response_labels=to_json([list(labels_of(run).values()) for run in ANSWERED]),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --metrics {input.metrics:q} --responses {input.responses:q} \
            --response-labels {params.response_labels:q} --abstentions {input.abstentions:q} --printed {PRINTED:q} \
            --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


@cache  # a scheme given by expressions takes seconds to classify
def list_hacked():
    """List the (run, scheme) whose scheme can be hacked, of those that are evaluated."""
    hackable = {
        scheme: classify(build(scheme, settings.schemes)).hackable for run in EVALUATED for scheme in run.schemes
    }
    return [(run, scheme) for run in EVALUATED for scheme in run.schemes if hackable[scheme]]


def hacked_files(path):
    """List the file at a path for each of them."""
    return lambda wildcards: [
        path.format(model=run.model, dataset=run.dataset, variant=safe_name(scheme)) for run, scheme in list_hacked()
    ]


def hacked_labels(wildcards):
    """Name each of them as tables do."""
    return to_json([[*labels_of(run).values(), scheme] for run, scheme in list_hacked()])


rule tabulate_hacked_samples:
    """Show what models write under schemes that can be hacked (in the place of the paper's appendix G)."""
    input:
        script=script("tabulate_hacked_samples"),
        grades=hacked_files("results/grades/{model}/{dataset}/{variant}.parquet"),
        questions=hacked_files("results/data/{dataset}/test.parquet"),
        generations=hacked_files("results/generations/{model}/{dataset}/{variant}.parquet"),
    output:
        csv="results/tables/hacked_samples.csv",
        markdown="results/tables/hacked_samples.md",
    log:
        "logs/tables/hacked_samples.log",
    benchmark:
        "results/benchmarks/tables/hacked_samples.tsv"
    threads: 1
    resources:
        mem_mb=growing(4 * 1024),
        runtime=growing(30),
    params:
        names=hacked_files("{model}/{dataset}/{variant}"),
        labels=hacked_labels,
        seed=settings.seed,
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --grades {input.grades:q} --questions {input.questions:q} \
            --generations {input.generations:q} --names {params.names:q} --labels {params.labels:q} \
            --seed {params.seed:q} --csv {output.csv:q} --markdown {output.markdown:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule plot_spectrum:
    """Plot metrics along the spectrum of schemes (paper figures 3, 4 and 5)."""
    input:
        script=script("plot_spectrum"),
        metrics=lambda wildcards: [
            path for run in spectrum_figures[wildcards.spectrum_figure][1] for path in metrics_of(run)
        ],
    output:
        svg="results/figures/{spectrum_figure}.svg",
        png="results/figures/{spectrum_figure}.png",
    log:
        "logs/figures/{spectrum_figure}.log",
    benchmark:
        "results/benchmarks/figures/{spectrum_figure}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        kind=lambda wildcards: spectrum_figures[wildcards.spectrum_figure][0],
        title=lambda wildcards: spectrum_figures[wildcards.spectrum_figure][2],
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --kind {params.kind:q} --metrics {input.metrics:q} \
            --title {params.title:q} --svg {output.svg:q} --png {output.png:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
