"""Multiple choice: the benchmarks, from the hub, from files or generated, and the answers to them as raw text."""

from candor.config import ItemFiles


wildcard_constraints:
    benchmark=any_of(settings.benchmarks),
    fewshot="moved|kept",
    protocol=any_of(protocol for *_, protocol in settings.mcq_cells),


def mcq_run_of(wildcards):
    """Return the run that a path of the multiple-choice track belongs to."""
    cell = (wildcards.benchmark, wildcards.fewshot, wildcards.model, wildcards.protocol)
    try:
        return settings.mcq_cells[cell]
    except KeyError:
        valid = ", ".join("/".join(one) for one in settings.mcq_cells)
        raise WorkflowError(f"{'/'.join(cell)} is not among mcq_runs; valid: {valid}") from None


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


def item_settings(wildcards):
    """Select what a benchmark's items depend on; another name in tables, or another way to ask, builds none anew."""
    idle = {"label": wildcards.benchmark, "positions": 1, "leave_out_label_references": False}
    return to_json(settings.benchmarks[wildcards.benchmark].model_dump() | idle)


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
        benchmark=item_settings,
        seed=settings.seed,
        python=lambda wildcards: "MODEL_PYTHON" if benchmark_needs_hub(wildcards) else "CONTROLLER_PYTHON",
    conda:
        lambda wildcards: "../envs/model-cpu.yaml" if benchmark_needs_hub(wildcards) else "../envs/controller.yaml"
    shell:
        """
        "${params.python}" {input.script:q} --benchmark {params.benchmark:q} --seed {params.seed:q} \
            --items {output.questions:q} --report {output.report:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
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
            --items {input.questions:q} --jsonl {output.jsonl:q} --card {output.card:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


def mcq_settings(wildcards):
    """Select what multiple-choice answers depend on."""
    run = mcq_run_of(wildcards)
    benchmark = settings.benchmarks[wildcards.benchmark]
    asking = {
        "positions": benchmark.positions,
        "leave_out_label_references": benchmark.leave_out_label_references,
        "moved": run.fewshot == "moved",
        **run.model_dump(include={"shots", "max_tokens", "max_prompt_tokens"}),
    }
    model = model_settings(wildcards, "generate_precision", "sampling")
    return to_json({"model": model, "protocol": wildcards.protocol, "asking": asking})


rule generate_mcq_answers:
    """Let a model answer a benchmark under a protocol, in its original order and once per gold position (paper 5.1)."""
    input:
        script=script("generate_mcq_answers"),
        model="results/models/{model}",
        questions="results/mcq/items/{benchmark}.parquet",
    output:
        "results/mcq/generations/{benchmark}/{fewshot}/{model}/{protocol}.parquet",
    log:
        "logs/mcq/generations/{benchmark}/{fewshot}/{model}/{protocol}.log",
    benchmark:
        "results/benchmarks/mcq/generations/{benchmark}/{fewshot}/{model}/{protocol}.tsv"
    threads: side_by_side
    resources:
        mem_mb=lambda wildcards, attempt: mcq_run_of(wildcards).generate.memory_gib * 1024 * attempt,
        runtime=lambda wildcards, attempt: round(mcq_run_of(wildcards).generate.hours * 60 * attempt),
        gpu=gpus,
    params:
        settings=mcq_settings,
        seed=settings.seed,
        work="results/work/mcq/generations/{benchmark}/{fewshot}/{model}/{protocol}",
    conda:
        device_environment
    shell:
        """
        OMP_NUM_THREADS={threads} "$MODEL_PYTHON" {input.script:q} --model {input.model:q} --items {input.questions:q} \
            --settings {params.settings:q} --seed {params.seed:q} --work {params.work:q} \
            --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
