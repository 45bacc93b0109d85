"""Multiple choice: the benchmarks, from the hub, from files or generated."""

from candor.config import ItemFiles


wildcard_constraints:
    benchmark=any_of(settings.benchmarks),


def benchmark_files(wildcards):
    """List the files that a benchmark is read from."""
    from candor.data.files import DataError, expand  # brings polars, which only a build of a benchmark has to wait for

    source = settings.benchmarks[wildcards.benchmark].source
    if isinstance(source, HubSource):
        return []
    paths = [*source.asked, *source.examples] if isinstance(source, ItemFiles) else filter(None, [source.word_list])
    try:
        return [str(expand(path)) for path in paths]
    except DataError as error:
        raise WorkflowError(f"benchmarks.{wildcards.benchmark}.source: {error}") from None


def benchmark_needs_hub(wildcards):
    """Tell whether a benchmark is read from the hub, for which the model environment has the library."""
    return isinstance(settings.benchmarks[wildcards.benchmark].source, HubSource)


rule build_benchmark:
    """Build a benchmark's questions and few-shot examples, and report what was read, dropped and kept."""
    input:
        script=script("build_benchmark"),
        files=benchmark_files,
    output:
        questions="results/mcq/items/{benchmark}.parquet",
        report="results/mcq/items/{benchmark}.json",
    log:
        "logs/mcq/items/{benchmark}.log",
    benchmark:
        "results/benchmarks/mcq/items/{benchmark}.tsv"
    threads: 1
    resources:
        mem_mb=growing(4 * 1024),
        runtime=growing(60),
    params:
        benchmark=lambda wildcards: to_json(settings.benchmarks[wildcards.benchmark].model_dump()),
        seed=settings.seed,
        python=lambda wildcards: "MODEL_PYTHON" if benchmark_needs_hub(wildcards) else "CONTROLLER_PYTHON",
    conda:
        lambda wildcards: "../envs/model-cpu.yaml" if benchmark_needs_hub(wildcards) else "../envs/controller.yaml"
    shell:
        """
        "${params.python}" {input.script:q} --benchmark {params.benchmark:q} --seed {params.seed:q} \
            --items {output.questions:q} --report {output.report:q} 2>&1 | tee {log:q}
        """


rule export_nonsenseqa:
    """Export NonsenseQA as JSON lines with a data card."""
    input:
        script=script("export_nonsenseqa"),
        questions="results/mcq/items/{benchmark}.parquet",
    output:
        jsonl="results/mcq/items/{benchmark}.jsonl",
        card="results/mcq/items/{benchmark}.md",
    log:
        "logs/mcq/items/{benchmark}.export.log",
    benchmark:
        "results/benchmarks/mcq/items/{benchmark}.export.tsv"
    threads: 1
    resources:
        mem_mb=growing(2 * 1024),
        runtime=growing(30),
    params:
        source=lambda wildcards: to_json(settings.benchmarks[wildcards.benchmark].source.model_dump()),
        seed=settings.seed,
    conda:
        "../envs/controller.yaml"
    wildcard_constraints:
        benchmark=any_of(name for name, benchmark in settings.benchmarks.items() if benchmark.kind == "nonsenseqa"),
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --source {params.source:q} --seed {params.seed:q} \
            --items {input.questions:q} --jsonl {output.jsonl:q} --card {output.card:q} 2>&1 | tee {log:q}
        """
