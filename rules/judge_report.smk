"""Abstention, reported: the paper's tables 28 to 31, 36, 37 and 39, each a target of its own, and how far judges agree."""


localrules:
    tabulate_abstention,
    tabulate_accuracy_and_abstention,


def list_abstention_tables():
    """Name every table of rates of abstention with the files that it is made of: all of them, and each judge's of each run."""
    tables = {
        f"abstention_{judge}_{run.model}_{run.dataset}": [
            f"results/abstention/{judge}/{run.model}/{run.dataset}/{variant}.json" for variant in run.variants
        ]
        for run in settings.runs
        for judge in run.judges
    }
    return {"abstention_rates": sum(tables.values(), []), **tables} if tables else {}


def list_accuracy_tables():
    """Name the tables that set accuracy beside abstention: one for each judge and dataset, with the runs in it."""
    tables = {}
    for run in settings.runs:
        for judge in run.judges:
            tables.setdefault(f"accuracy_and_abstention_{judge}_{run.dataset}", (judge, []))[1].append(run)
    return tables


abstention_tables = list_abstention_tables()
accuracy_tables = list_accuracy_tables()
compared_runs = [run for run in settings.runs if len(run.judges) > 1]


wildcard_constraints:
    abstention_table=any_of(abstention_tables),
    accuracy_table=any_of(accuracy_tables),


rule tabulate_abstention:
    """Gather rates of abstention: of every judge and run, or of one (paper tables 28 to 31, 36, 37)."""
    input:
        script=script("tabulate_abstention"),
        abstention=lambda wildcards: abstention_tables[wildcards.abstention_table],
    output:
        csv="results/tables/{abstention_table}.csv",
        markdown="results/tables/{abstention_table}.md",
        latex="results/tables/{abstention_table}.tex",
    log:
        "logs/tables/{abstention_table}.log",
    benchmark:
        "results/benchmarks/tables/{abstention_table}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --abstention {input.abstention:q} \
            --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule tabulate_accuracy_and_abstention:
    """Set accuracy beside abstention by difficulty, for every model that a judge judges on a dataset (paper table 39)."""
    input:
        script=script("tabulate_accuracy_and_abstention"),
        metrics=lambda wildcards: [
            path for run in accuracy_tables[wildcards.accuracy_table][1] for path in metrics_of(run)
        ],
        abstention=lambda wildcards: [
            path
            for run in accuracy_tables[wildcards.accuracy_table][1]
            for path in abstention_tables[
                f"abstention_{accuracy_tables[wildcards.accuracy_table][0]}_{run.model}_{run.dataset}"
            ]
        ],
    output:
        csv="results/tables/{accuracy_table}.csv",
        markdown="results/tables/{accuracy_table}.md",
        latex="results/tables/{accuracy_table}.tex",
    log:
        "logs/tables/{accuracy_table}.log",
    benchmark:
        "results/benchmarks/tables/{accuracy_table}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --metrics {input.metrics:q} --abstention {input.abstention:q} \
            --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule tabulate_judge_agreement:
    """Tell how far each pair of judges agrees, for every run that several judge (not in the paper)."""
    input:
        script=script("tabulate_judge_agreement"),
        judgements=[path for run in compared_runs for path in judgements_of(run)],
    output:
        csv="results/tables/judge_agreement.csv",
        markdown="results/tables/judge_agreement.md",
        latex="results/tables/judge_agreement.tex",
    log:
        "logs/tables/judge_agreement.log",
    benchmark:
        "results/benchmarks/tables/judge_agreement.tsv"
    threads: 1
    resources:
        mem_mb=growing(8 * 1024),
        runtime=growing(30),
    params:
        runs=to_json(
            [
                {
                    **labels_of(run),
                    "judges": [settings.judges[judge].label for judge in run.judges],
                    "variants": run.variants,
                }
                for run in compared_runs
            ]
        ),
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --runs {params.runs:q} --judgements {input.judgements:q} \
            --csv {output.csv:q} --markdown {output.markdown:q} --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
