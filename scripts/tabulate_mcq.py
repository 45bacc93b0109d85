"""Gather multiple-choice metrics into one of the paper's tables (1 to 12), as CSV, Markdown and LaTeX."""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import polars as pl

from candor import commands
from candor.report import layout, mcq_frames, mcq_tables
from candor.report.tables import read_metrics

KINDS = ("details", "variance_ratios", "scores_by_fewshot", "extraction_rates", "costs", "shortcut_effects", "sampling")


def main(arguments: argparse.Namespace) -> None:
    records = read_metrics(arguments.metrics, mcq_frames.KEYS)
    printed = arguments.printed
    frame = mcq_frames.mcq_metrics(records)
    benchmarks = list(dict.fromkeys(record["benchmark"] for record in records))
    fewshots = list(dict.fromkeys(record["fewshot"] for record in records))
    match arguments.kind:
        case "details":
            tables = [mcq_tables.details(frame, of, fewshot, printed) for of in benchmarks for fewshot in fewshots]
            if arguments.as_printed:
                moved = mcq_frames.mcq_metrics(map(mcq_frames.moved_runs_alone, records))
                tables += [
                    replace(
                        mcq_tables.details(moved, of, fewshot, printed),
                        title=f"{of} as the paper has it: the moved runs alone, the first in place of the original",
                    )
                    for of in benchmarks
                    for fewshot in fewshots
                ]
        case "variance_ratios":
            frame = mcq_frames.protocol_pairs(frame)
            tables = [mcq_tables.variance_ratios(frame, benchmarks, printed)]
        case "scores_by_fewshot":
            frame = mcq_frames.protocol_pairs(frame)
            tables = [mcq_tables.scores_by_fewshot(frame, of, printed) for of in benchmarks]
        case "extraction_rates":
            frame, tables = mcq_frames.rule_rates(records), [mcq_tables.extraction_rates(records, printed)]
        case "costs":
            frame, tables = mcq_frames.run_seconds(records), [mcq_tables.computational_costs(records)]
        case "shortcut_effects":
            frame = mcq_frames.shortcut_effects(records)
            tables = [mcq_tables.shortcut_effects(frame)]
            frame = frame.select(pl.exclude(pl.List(pl.Float64)))  # no cell of a CSV holds a list
        case "sampling":
            frame = pl.DataFrame(json.loads(arguments.sampling), infer_schema_length=None)
            tables = [mcq_tables.sampling(frame)]
    layout.write(frame, tables, arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", required=True, choices=KINDS)
    parser.add_argument("--metrics", nargs="*", default=[], metavar="JSON", help="in the order of the table's rows")
    parser.add_argument("--printed", required=True, type=Path, metavar="DIR", help="folder of the paper's tables")
    parser.add_argument("--as-printed", action="store_true", help="details: also without the original run (table 5)")
    parser.add_argument("--sampling", metavar="JSON", help="sampling: [{model, temperature, top_k, top_p}, ...]")
    layout.add_outputs(parser)
    commands.run(main, parser)
