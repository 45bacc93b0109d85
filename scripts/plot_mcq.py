"""Plot multiple-choice metrics: the runs of a benchmark (figures 3, 4, 9 to 13, 16 to 20), an ablation (7, 8), or how
alike benchmarks rank the models (5)."""

import argparse

from candor import commands
from candor.report import mcq_figures, mcq_frames
from candor.report.figures import save
from candor.report.tables import read_metrics


def main(arguments: argparse.Namespace) -> None:
    records = read_metrics(arguments.metrics, mcq_frames.KEYS)
    title = arguments.title
    match arguments.kind:
        case "runs":
            figure = mcq_figures.plot_runs(records, title)
        case "matchers":
            figure = mcq_figures.plot_ablation(records, mcq_figures.matcher_settings(records), title)
        case "labels":
            figure = mcq_figures.plot_ablation(records, mcq_figures.label_settings(records), title)
        case "rank_agreement":
            pairs = mcq_frames.protocol_pairs(mcq_frames.mcq_metrics(records))
            figure = mcq_figures.plot_rank_agreement(mcq_frames.rank_agreement(pairs), title)
    save(figure, arguments.svg, arguments.png)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", required=True, choices=("runs", "matchers", "labels", "rank_agreement"))
    parser.add_argument("--metrics", required=True, nargs="+", metavar="JSON", help="in the order of the figure")
    parser.add_argument("--svg", required=True)
    parser.add_argument("--png", required=True)
    parser.add_argument("--title", default="")
    commands.run(main, parser)
