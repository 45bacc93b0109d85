"""Targets: names for what can be asked for. One for each phase, of which each DVC stage asks for one."""

SFT_RUNS = [run for run in settings.runs if run.sft]
MODELS = dict.fromkeys([*(run.model for run in settings.runs), *(cell[2] for cell in settings.mcq_cells)])
BENCHMARKS = dict.fromkeys(cell[0] for cell in settings.mcq_cells)
DATASETS = dict.fromkeys(run.dataset for run in settings.runs)
JUDGES = dict.fromkeys(judge for run in settings.runs for judge in run.judges)


def each_variant(folder, extension):
    """List a phase's file for every evaluated variant."""
    return [
        f"results/{folder}/{run.model}/{run.dataset}/{variant}.{extension}"
        for run in EVALUATED
        for variant in run.variants
    ]


rule schemes_all:
    """What is known of the reward schemes, and what small policies learnt under them."""
    input:
        rules.classify_schemes.output,
        rules.simulate_schemes.output,


rule build_all:
    """Every dataset, base model and judge that a run uses."""
    input:
        [f"results/data/{dataset}/train.parquet" for dataset in DATASETS],
        [f"results/models/{model}" for model in MODELS],
        [judge_folder(judge) for judge in JUDGES],


rule cards_all:
    """The card of each of them."""
    input:
        [f"results/cards/datasets/{dataset}.md" for dataset in DATASETS],
        [f"results/cards/models/{model}.md" for model in MODELS],


rule train_sft_all:
    """The SFT adapter of every run that has one."""
    input:
        [f"results/sft/{run.model}/{run.dataset}/adapter" for run in SFT_RUNS],


rule train_rl_all:
    """The RL adapter of every scheme of every run, all attempts of it."""
    input:
        [
            f"results/rl/{run.model}/{run.dataset}/{safe_name(scheme)}/{attempt}/adapter"
            for run in settings.runs
            for scheme in run.schemes
            for attempt in range(1, run.attempts_of(scheme).count + 1)
        ],


rule generate_all:
    """The answers of every evaluated variant."""
    input:
        each_variant("generations", "parquet"),


rule grade_all:
    """Their grades."""
    input:
        each_variant("grades", "parquet"),


rule measure_all:
    """Their metrics."""
    input:
        each_variant("metrics", "json"),


rule judge_all:
    """Whether the answers of every run that is judged abstain, as each of its judges sees it."""
    input:
        [path for run in settings.runs for path in judgements_of(run)],


rule measure_abstention_all:
    """How often they do."""
    input:
        [path for run in settings.runs for path in judgements_of(run, "abstention", "json")],


rule mcq_build_all:
    """Every benchmark that is asked, with NonsenseQA's export, and the sentence-embedding models."""
    input:
        [f"results/mcq/items/{name}.parquet" for name in BENCHMARKS],
        [f"results/mcq/items/{name}.jsonl" for name in BENCHMARKS if settings.benchmarks[name].kind == "nonsenseqa"],
        [embedder_of(settings.matchers[matcher]) for run in settings.mcq_runs for matcher in run.matchers],


rule mcq_generate_all:
    """The answers to every benchmark under every protocol."""
    input:
        [f"results/mcq/generations/{'/'.join(cell)}.parquet" for cell in settings.mcq_cells],


rule mcq_match_all:
    """The options that they chose."""
    input:
        [
            f"results/mcq/predictions/{'/'.join(cell)}/{matcher}.parquet"
            for cell in settings.mcq_cells
            for matcher in matchers_of(cell)
        ],


rule mcq_measure_all:
    """Their metrics."""
    input:
        [path for cell in settings.mcq_cells for path in mcq_metrics_of(cell)],


rule tabulate_all:
    """Every table."""
    input:
        rules.tabulate_scheme_properties.output,
        rules.tabulate_confidence_metrics.output if EVALUATED else [],
        [
            f"results/tables/confidence_{run.model}_{run.dataset}_{difficulty}.csv"
            for run in EVALUATED
            for difficulty in difficulties_of(run)
        ],
        [f"results/tables/accuracy_{model}.csv" for model in EVALUATED_MODELS],
        rules.tabulate_comparison.output if EVALUATED else [],
        rules.tabulate_hacked_samples.output if EVALUATED else [],
        [f"results/tables/{name}.csv" for name in training_tables],
        [f"results/tables/{name}.csv" for name in (*abstention_tables, *accuracy_tables)],
        rules.tabulate_judge_agreement.output if compared_runs else [],
        [f"results/tables/{name}.csv" for name in mcq_tables],


rule plot_all:
    """Every figure."""
    input:
        rules.plot_schemes.output,
        rules.plot_simulations.output,
        [f"results/figures/calibration_{run.model}_{run.dataset}.svg" for run in EVALUATED],
        [f"results/figures/{name}.svg" for name in spectrum_figures],
        [
            f"results/figures/training_{kind}_{run.model}_{run.dataset}.svg"
            for run in settings.runs
            for kind in training_figures_of(run)
        ],
        [f"results/figures/{name}.svg" for name in mcq_figures],
