"""Put what was measured beside every cell that the paper prints of the same models, as CSV, Markdown and LaTeX."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from candor import commands, tables
from candor.report import comparison, layout
from candor.report.tables import read_metrics
from candor.tables import write_text


def main(arguments: argparse.Namespace) -> None:
    metrics = read_metrics(arguments.metrics)
    labels = json.loads(arguments.response_labels)
    responses = [
        (model, dataset, tables.read(path, tables.RESPONSES))
        for (model, dataset), path in zip(labels, arguments.responses, strict=True)
    ]
    abstentions = [pl.read_csv(path) for path in arguments.abstentions]
    printed = comparison.printed_cells(arguments.printed)
    ours = [comparison.measured_cells(metrics), comparison.response_cells(responses)]
    frame = comparison.compare(printed, *ours, *map(comparison.judged_cells, abstentions))
    summary = comparison.summary(frame, printed, [one["model"] for one in metrics])
    first, *others = comparison.comparison_tables(frame)
    write_text(frame.write_csv(), arguments.csv)
    write_text(f"# Comparison with the paper\n\n{summary}\n\n{layout.markdown([first, *others])}", arguments.markdown)
    write_text(layout.latex([replace(first, note=f"{summary} {first.note}"), *others]), arguments.latex)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--metrics", required=True, nargs="+", metavar="JSON")
    parser.add_argument("--responses", nargs="*", default=[], metavar="PARQUET", help="answers that SFT learns from")
    parser.add_argument(
        "--response-labels", default="[]", metavar="JSON", help="[[model, dataset], ...] of --responses"
    )
    parser.add_argument("--abstentions", nargs="*", default=[], metavar="CSV", help="rates of abstention, where judged")
    parser.add_argument("--printed", required=True, type=Path, metavar="DIR", help="folder of the paper's tables")
    layout.add_outputs(parser)
    commands.run(main, parser)
