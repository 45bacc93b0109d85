"""candor: does a language model know what it knows?

A table of contents. What runs is in the configuration (config/demo.yaml by default; `--configfile` replaces it), how it runs
in the rules, where it runs in a profile:

    snakemake --cores all                                   the demo
    snakemake --profile slurm all                           the paper's matrix, on a cluster
    snakemake --cores all results/tables/confidence_metrics.csv     one table, and only what it lacks
"""

from pathlib import Path

from snakemake.utils import min_version

min_version("9.0")

# `configfile:` would merge what the command line names into this file; the demo's models would be in every configuration.
if not workflow.overwrite_configfiles:

    configfile: Path(workflow.basedir) / "config" / "demo.yaml"


include: "rules/common.smk"  # validation, interpreters, paths, resources
include: "rules/schemes.smk"  # what reward schemes reward, and what is learnt under them
include: "rules/build.smk"  # datasets and base models, and their cards
include: "rules/train.smk"  # SFT, then RL under each scheme
include: "rules/generate.smk"  # answers: raw text
include: "rules/grade.smk"  # answer, confidence and correctness read from it
include: "rules/measure.smk"  # accuracy, calibration and their intervals
include: "rules/judge.smk"  # whether answers abstain
include: "rules/tabulate.smk"  # tables
include: "rules/judge_report.smk"  # tables of abstention
include: "rules/plot.smk"  # figures
include: "rules/training_report.smk"  # tables and figures of training, and what its watchers found
include: "rules/mcq.smk"  # multiple choice: benchmarks, and answers as raw text
include: "rules/mcq_read.smk"  # the options that were chosen, and metrics over the runs
include: "rules/mcq_report.smk"  # tables and figures
include: "rules/confidence_report.smk"  # the confidence track's, each a target of its own, and the comparison
include: "rules/targets.smk"  # names for what can be asked for


rule all:
    """Every table, figure and card of the configuration; the default, since it is the one rule of this file."""
    input:
        rules.cards_all.input,
        rules.tabulate_all.input,
        rules.plot_all.input,
