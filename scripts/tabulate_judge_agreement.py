"""Tell how far each pair of judges agrees on a run's answers, as CSV, Markdown and LaTeX."""

import argparse
import json
from itertools import combinations

import polars as pl

from candor import commands, tables
from candor.confidence.abstention import agreement
from candor.report import layout
from candor.report.abstention_tables import JUDGE_AGREEMENT, judge_agreement_table


def main(arguments: argparse.Namespace) -> None:
    paths = iter(arguments.judgements)
    rows = []
    for run in json.loads(arguments.runs):
        judged = {
            judge: pl.concat(
                tables.read(next(paths), tables.JUDGEMENTS).with_columns(variant=pl.lit(variant))
                for variant in run["variants"]
            )
            for judge in run["judges"]
        }
        for judge, other in combinations(judged, 2):
            for difficulty, found in agreement(judged[judge], judged[other]).items():
                names = (run["model"], run["dataset"], judge, other, difficulty)
                rows.append((*names, found["observed"], found["kappa"], found["n"]))
    table = pl.DataFrame(rows, JUDGE_AGREEMENT, orient="row")
    layout.write(table, [judge_agreement_table(table)], arguments)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs", required=True, metavar="JSON", help="[{model, dataset, judges, variants}, ...], as in tables"
    )
    parser.add_argument(
        "--judgements", required=True, nargs="+", metavar="PARQUET", help="by run, then by judge, then by variant"
    )
    layout.add_outputs(parser)
    commands.run(main, parser)
