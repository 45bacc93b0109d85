"""Judge: whether answers abstain, as another model sees it, and how often they do."""

from candor.config import ServerSource


wildcard_constraints:
    judge=any_of(settings.judges),


def judge_folder(judge):
    """Name the folder of a judge's weights: that of a model which is the same, else its own; none for a server."""
    source = settings.judges[judge].source
    if isinstance(source, ServerSource):
        return []
    same = [name for name, model in settings.models.items() if model.source == source]
    return f"results/models/{same[0]}" if same else f"results/models/judges/{judge}"


def judge_option(wildcards):
    """Name it to the script."""
    folder = judge_folder(wildcards.judge)
    return ["--model", folder] if folder else []


def judge_environment(wildcards):
    """Return a judge's conda environment; a server is asked from that of a CPU."""
    return f"../envs/model-{settings.judges[wildcards.judge].device or 'cpu'}.yaml"


def judge_settings(wildcards):
    """Select what judgements depend on; another name in tables, or other needs, judge nothing anew."""
    judge = settings.judges[wildcards.judge]
    return to_json(judge.model_dump(exclude={"label", "licence", "resources"}))


def judge_threads(wildcards):
    """Take what generation takes where the judge runs here; to ask a server takes next to nothing."""
    device = settings.judges[wildcards.judge].device
    return 1 if device is None else engine_threads(device)


def judgements_of(run, folder="judgements", extension="parquet"):
    """List a run's judgements, or what is measured on them, by judge and then by variant."""
    return [
        f"results/{folder}/{judge}/{run.model}/{run.dataset}/{variant}.{extension}"
        for judge in run.judges
        for variant in run.variants
    ]


rule prepare_judge:
    """Bring a judge's weights, where no model of the configuration has the same."""
    input:
        script=script("prepare_model"),
    output:
        directory("results/models/judges/{judge}"),
    log:
        "logs/models/judges/{judge}.log",
    benchmark:
        "results/benchmarks/models/judges/{judge}.tsv"
    threads: 1
    resources:
        mem_mb=growing(16 * 1024),
        runtime=growing(240),
    params:
        source=lambda wildcards: to_json(settings.judges[wildcards.judge].source.model_dump()),
    conda:
        judge_environment
    shell:
        """
        "$MODEL_PYTHON" {input.script:q} --source {params.source:q} --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule judge_abstention:
    """Ask a judge of each answer whether it abstains (paper E.6.2)."""
    input:
        script=script("judge_abstention"),
        model=lambda wildcards: judge_folder(wildcards.judge),
        questions="results/data/{dataset}/test.parquet",
        grades="results/grades/{model}/{dataset}/{variant}.parquet",
    output:
        "results/judgements/{judge}/{model}/{dataset}/{variant}.parquet",
    log:
        "logs/judgements/{judge}/{model}/{dataset}/{variant}.log",
    benchmark:
        "results/benchmarks/judgements/{judge}/{model}/{dataset}/{variant}.tsv"
    threads: judge_threads
    resources:
        mem_mb=lambda wildcards, attempt: settings.judges[wildcards.judge].resources.memory_gib * 1024 * attempt,
        runtime=lambda wildcards, attempt: round(settings.judges[wildcards.judge].resources.hours * 60 * attempt),
        gpu=lambda wildcards: int(settings.judges[wildcards.judge].device == "gpu"),
    params:
        model=judge_option,
        settings=judge_settings,
        seed=settings.seed,
        work="results/work/judgements/{judge}/{model}/{dataset}/{variant}",
    conda:
        judge_environment
    shell:
        """
        OMP_NUM_THREADS={threads} "$MODEL_PYTHON" {input.script:q} {params.model:q} --questions {input.questions:q} \
            --grades {input.grades:q} --settings {params.settings:q} --seed {params.seed:q} --work {params.work:q} \
            --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule measure_abstention:
    """Measure how often a variant abstains, by difficulty and overall."""
    input:
        script=script("measure_abstention"),
        judgements="results/judgements/{judge}/{model}/{dataset}/{variant}.parquet",
    output:
        "results/abstention/{judge}/{model}/{dataset}/{variant}.json",
    log:
        "logs/abstention/{judge}/{model}/{dataset}/{variant}.log",
    benchmark:
        "results/benchmarks/abstention/{judge}/{model}/{dataset}/{variant}.tsv"
    threads: 1
    resources:
        mem_mb=growing(4 * 1024),
        runtime=growing(30),
    params:
        model=lambda wildcards: settings.models[wildcards.model].label,
        dataset=lambda wildcards: settings.datasets[wildcards.dataset].label,
        judge=lambda wildcards: settings.judges[wildcards.judge].label,
        scheme=printed_name,
        name="{judge}/{model}/{dataset}/{variant}",
        seed=settings.seed,
        resamples=settings.bootstrap.resamples,
        level=settings.bootstrap.level,
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --judgements {input.judgements:q} --output {output:q} \
            --model {params.model:q} --dataset {params.dataset:q} --judge {params.judge:q} --scheme {params.scheme:q} \
            --name {params.name:q} --seed {params.seed:q} --resamples {params.resamples:q} --level {params.level:q} \
            2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
