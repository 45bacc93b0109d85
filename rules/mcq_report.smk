"""Multiple choice, reported: the paper's tables and figures, each a target of its own, from what is configured."""


localrules:
    tabulate_mcq,
    plot_mcq,


PRINTED = os.path.relpath(ROOT / "resources" / "paper_tables")
PAIR = ("sl", "md")  # the protocols that the paper compares


def cells_where(**fixed):
    """List the cells (benchmark, fewshot, model, protocol) with these values.

    They are in the order of the configuration's `benchmarks` and `models`, then of the protocols asked for.
    """
    keys = ("benchmark", "fewshot", "model", "protocol")
    cells = [cell for cell in settings.mcq_cells if all(cell[keys.index(key)] in fixed[key] for key in fixed)]
    ordered = {"benchmark": settings.benchmarks, "model": settings.models, "protocol": PROTOCOLS, **fixed}
    places = [(keys.index(key), list(ordered[key]).index) for key in ("benchmark", "model", "protocol")]
    return sorted(cells, key=lambda cell: [place(cell[at]) for at, place in places])


def main_metrics(cells):
    """List the metrics of cells by each one's first matcher, benchmarks and models together."""
    return [mcq_metrics_of(cell)[0] for cell in cells]


def compared(cells):
    """Keep the cells of which both protocols that the paper compares are asked."""
    return [cell for cell in cells if all((*cell[:3], protocol) in settings.mcq_cells for protocol in PAIR)]


def list_tables():
    """Name every table that the configuration makes: its kind, its metrics and whether it is printed twice (table 5)."""
    pairs = compared(cells_where(protocol=PAIR))
    tables = {}
    for benchmark in dict.fromkeys(cell[0] for cell in pairs):
        nonsense = settings.benchmarks[benchmark].kind == "nonsenseqa"
        fewshots = list(dict.fromkeys(cell[1] for cell in pairs if cell[0] == benchmark))
        for fewshot in fewshots:
            part = [cell for cell in pairs if cell[:2] == (benchmark, fewshot)]
            tables[f"mcq_{benchmark}_{fewshot}"] = ("details", part, nonsense)
            tables[f"mcq_{benchmark}_{fewshot}_costs"] = ("costs", part, False)
            matched = [cell for cell in part if cell[3] == "md"]
            tables[f"mcq_{benchmark}_{fewshot}_extraction_rates"] = ("extraction_rates", matched, False)
            if nonsense:
                tables[f"mcq_{benchmark}_{fewshot}_shortcut_effects"] = ("shortcut_effects", part, False)
        if len(fewshots) == 2:
            both = [cell for cell in pairs if cell[0] == benchmark]
            tables[f"mcq_{benchmark}_scores_by_fewshot"] = ("scores_by_fewshot", both, False)
    real = [cell for cell in pairs if settings.benchmarks[cell[0]].kind != "nonsenseqa"]
    if real:
        tables["mcq_variance_ratios"] = ("variance_ratios", real, False)
    if settings.mcq_cells:
        tables["mcq_sampling"] = ("sampling", [], False)
    return tables


def sampling_option(wildcards):
    """Tell the script of table 4 how each model is sampled."""
    if mcq_tables[wildcards.mcq_table][0] != "sampling":
        return []
    asked = {cell[2] for cell in settings.mcq_cells}
    models = [model for name, model in settings.models.items() if name in asked]
    return ["--sampling", to_json([{"model": model.label, **model.sampling.model_dump()} for model in models])]


def list_figures():
    """Name every figure that the configuration makes: its kind, its metrics and its title."""
    figures = {}
    for benchmark, fewshot in dict.fromkeys(cell[:2] for cell in settings.mcq_cells):
        here = {"benchmark": [benchmark], "fewshot": [fewshot]}
        title = f"{settings.benchmarks[benchmark].label}, few-shot examples {fewshot}"
        name = f"mcq_{benchmark}_{fewshot}"
        asked = dict.fromkeys(cell[3] for cell in cells_where(**here))
        four = [protocol for protocol in ("sl", "sd", "ml", "md") if protocol in asked]
        selections = {protocol: [protocol] for protocol in four} | {"-".join(four): four}
        if set(PAIR) <= set(asked):
            selections["sl-md"] = list(PAIR)
        for selection, protocols in selections.items():
            if protocols:
                cells = cells_where(**here, protocol=protocols)
                figures[f"{name}_{selection}"] = ("runs", main_metrics(cells), title)
        matched = cells_where(**here, protocol=["cloze", "sl", "md"])
        if any(len(matchers_of(cell)) > 1 for cell in matched):
            figures[f"{name}_matchers"] = (
                "matchers",
                [path for cell in matched for path in mcq_metrics_of(cell)],
                title,
            )
        labelled = [protocol for protocol in asked if PROTOCOLS[protocol].reads == "text"]
        if len(labelled) > 2:
            cells = cells_where(**here, protocol=["cloze", "sl", *labelled])
            figures[f"{name}_labels"] = ("labels", main_metrics(cells), title)
    real = [cell for cell in compared(cells_where(protocol=PAIR)) if settings.benchmarks[cell[0]].kind != "nonsenseqa"]
    if len({cell[0] for cell in real}) > 1 and len({cell[2] for cell in real}) > 1:
        figures["mcq_rank_agreement"] = ("rank_agreement", main_metrics(real), "Agreement between benchmarks")
    return figures


mcq_tables = list_tables()
mcq_figures = list_figures()


wildcard_constraints:
    mcq_table=any_of(mcq_tables),
    mcq_figure=any_of(mcq_figures),


rule tabulate_mcq:
    """Set one of the paper's tables, with the figures that it prints below ours (tables 1 to 12)."""
    input:
        script=script("tabulate_mcq"),
        metrics=lambda wildcards: main_metrics(mcq_tables[wildcards.mcq_table][1]),
    output:
        csv="results/tables/{mcq_table}.csv",
        markdown="results/tables/{mcq_table}.md",
        latex="results/tables/{mcq_table}.tex",
    log:
        "logs/tables/{mcq_table}.log",
    benchmark:
        "results/benchmarks/tables/{mcq_table}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        kind=lambda wildcards: mcq_tables[wildcards.mcq_table][0],
        as_printed=lambda wildcards: ["--as-printed"] if mcq_tables[wildcards.mcq_table][2] else [],
        sampling=sampling_option,
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --kind {params.kind:q} {params.as_printed:q} {params.sampling:q} \
            --metrics {input.metrics:q} --printed {PRINTED:q} --csv {output.csv:q} --markdown {output.markdown:q} \
            --latex {output.latex:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """


rule plot_mcq:
    """Plot the runs of a benchmark, an ablation, or the agreement of benchmarks (figures 3 to 5, 7 to 13, 16 to 20)."""
    input:
        script=script("plot_mcq"),
        metrics=lambda wildcards: mcq_figures[wildcards.mcq_figure][1],
    output:
        svg="results/figures/{mcq_figure}.svg",
        png="results/figures/{mcq_figure}.png",
    log:
        "logs/figures/{mcq_figure}.log",
    benchmark:
        "results/benchmarks/figures/{mcq_figure}.tsv"
    threads: 1
    resources:
        mem_mb=growing(1024),
        runtime=growing(10),
    params:
        kind=lambda wildcards: mcq_figures[wildcards.mcq_figure][0],
        title=lambda wildcards: mcq_figures[wildcards.mcq_figure][2],
    conda:
        "../envs/controller.yaml"
    shell:
        """
        "$CONTROLLER_PYTHON" {input.script:q} --kind {params.kind:q} --metrics {input.metrics:q} \
            --title {params.title:q} --svg {output.svg:q} --png {output.png:q} 2>&1 \
            | "$CONTROLLER_PYTHON" -m candor.keep_log {log:q}
        """
