"""Training, reported: the paper's tables 4 to 6 and figures 6 to 10, and what the watchers of training found."""


localrules:
    tabulate_training,
    plot_training,


def attempts_at(run, scheme):
    """Describe every attempt at a scheme, as the scripts are told of it."""
    attempts = run.attempts_of(scheme)
    return [
        {"scheme": scheme, "attempt": attempt, "evaluated": attempt == attempts.evaluated}
        for attempt in range(1, attempts.count + 1)
    ]


def log_of(run, attempt):
    """Return an attempt's training log."""
    scheme = safe_name(attempt["scheme"])
    return f"results/rl/{run.model}/{run.dataset}/{scheme}/{attempt['attempt']}/log.parquet"


# --- Tables -----------------------------------------------------------------------------------------------------------

ATTEMPTS = [(run, attempt) for run in settings.runs for scheme in run.schemes for attempt in attempts_at(run, scheme)]


def is_measured(run, attempt):
    """Tell whether an attempt has metrics: Llama is only trained, and of two attempts one is evaluated."""
    return attempt["evaluated"] and run in EVALUATED


def sampling_of(labelled):
    """Describe how models or judges are sampled."""
    return [{"model": each.label, **each.sampling.model_dump()} for each in labelled]


def list_training_tables():
    """Name every table that the configuration makes: what it is told, and the files and metrics that it reads."""
    sft = [run for run in settings.runs if run.sft]
    judging = dict.fromkeys(judge for run in settings.runs for judge in run.judges)
    models = sampling_of(settings.models[name] for name in EVALUATED_MODELS)
    judges = sampling_of(settings.judges[name] for name in judging)
    hyperparameters = [
        labels_of(run) | {"steps": run.rl.steps, "learning_rate": run.rl.learning_rate, "max_tokens": run.max_tokens}
        for run in settings.runs
    ]
    watched = [labels_of(run) | attempt | {"measured": is_measured(run, attempt)} for run, attempt in ATTEMPTS]
    metrics = [
        f"results/metrics/{run.model}/{run.dataset}/{safe_name(attempt['scheme'])}.json"
        for run, attempt in ATTEMPTS
        if is_measured(run, attempt)
    ]
    tables = {
        "rl_hyperparameters": (hyperparameters, [], []),
        "training_flags": (watched, [log_of(*one) for one in ATTEMPTS], metrics),
    }
    if models:
        tables["sampling_parameters"] = ({"models": models, "judges": judges}, [], [])
    if sft:
        responses = [f"results/sft/{run.model}/{run.dataset}/responses.parquet" for run in sft]
        tables["sft_valid_responses"] = ([labels_of(run) for run in sft], responses, [])
    return tables


training_tables = list_training_tables()


rule tabulate_training:
    """Set table 4 (valid responses for SFT), 5 (RL's settings) or 6 (sampling), or what the watchers of training found."""
    input:
        script=script("tabulate_training"),
        files=lambda wildcards: training_tables[wildcards.training_table][1],
        metrics=lambda wildcards: training_tables[wildcards.training_table][2],
    output:
        csv="results/tables/{training_table}.csv",
        markdown="results/tables/{training_table}.md",
        latex="results/tables/{training_table}.tex",
    log:
        "logs/tables/{training_table}.log",
    benchmark:
        "results/benchmarks/tables/{training_table}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        given=lambda wildcards: to_json(training_tables[wildcards.training_table][0]),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --kind {wildcards.training_table:q} --given {params.given:q} \
            --files {input.files:q} --metrics {input.metrics:q} \
            --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


# --- Figures ----------------------------------------------------------------------------------------------------------
# Every run has figure 6 (`curves`) and 8 or 9 (`loss`), of the attempts that are evaluated. One with schemes that were
# tried more than once has also 7 (`attempts`) and 10 (`collapse`), of all attempts at these.


def training_figures_of(run):
    """List the kinds of figures of a run's training."""
    return ["curves", "loss", *(["attempts", "collapse"] if run.attempts else [])]


def drawn(wildcards):
    """Describe the attempts that a figure shows."""
    run = run_of(wildcards)
    if wildcards.training_figure in ("curves", "loss"):
        return [attempt for scheme in run.schemes for attempt in attempts_at(run, scheme) if attempt["evaluated"]]
    if not run.attempts:
        raise WorkflowError(
            f"{wildcards.model} on {wildcards.dataset} has one attempt at each scheme; "
            f"valid figures of its training: {', '.join(training_figures_of(run))}"
        )
    return [attempt for scheme in run.schemes if scheme in run.attempts for attempt in attempts_at(run, scheme)]


wildcard_constraints:
    training_table=any_of(training_tables),
    training_figure=any_of(["curves", "loss", "attempts", "collapse"]),


rule plot_training:
    """Plot a run's training: accuracy and confidence (figure 6), the same of anomalous attempts and their reruns (7),
    accuracy and loss (8, 9), or these with the format reward and the gradient norm, of all attempts (10)."""
    input:
        script=script("plot_training"),
        logs=lambda wildcards: [log_of(run_of(wildcards), attempt) for attempt in drawn(wildcards)],
    output:
        svg="results/figures/training_{training_figure}_{model}_{dataset}.svg",
        png="results/figures/training_{training_figure}_{model}_{dataset}.png",
    log:
        "logs/figures/training_{training_figure}_{model}_{dataset}.log",
    benchmark:
        "results/benchmarks/figures/training_{training_figure}_{model}_{dataset}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        runs=lambda wildcards: to_json(drawn(wildcards)),
        schemes=lambda wildcards: to_json(settings.definitions_of(*run_of(wildcards).schemes)),
        title=lambda wildcards: title_of(run_of(wildcards)),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --kind {wildcards.training_figure:q} --logs {input.logs:q} \
            --runs {params.runs:q} --schemes {params.schemes:q} --title {params.title:q} \
            --svg {output.svg:q} --png {output.png:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
