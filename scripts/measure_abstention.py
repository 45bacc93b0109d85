"""Measure how often one model's answers abstain, as one judge sees it, with intervals."""

import argparse

from candor import commands, tables
from candor.confidence.abstention import measure


def main(arguments: argparse.Namespace) -> None:
    judgements = tables.read(arguments.judgements, tables.JUDGEMENTS)
    settings = {name: getattr(arguments, name) for name in ("seed", "name", "resamples", "level")}
    identity = {name: getattr(arguments, name) for name in ("model", "dataset", "judge", "scheme")}
    tables.write_json({**identity, **settings, "difficulties": measure(judgements, **settings)}, arguments.output)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--judgements", required=True, metavar="PARQUET")
    parser.add_argument("--output", required=True, metavar="JSON")
    parser.add_argument("--model", required=True, metavar="LABEL", help="name of the model in tables")
    parser.add_argument("--dataset", required=True, metavar="LABEL", help="name of the dataset in tables")
    parser.add_argument("--judge", required=True, metavar="LABEL", help="name of the judge in tables")
    parser.add_argument("--scheme", required=True, metavar="NAME", help="scheme or baseline, such as log-1/ln202")
    parser.add_argument(
        "--name", required=True, help="what is measured, such as judge/model/dataset/variant; seeds the bootstrap"
    )
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--level", type=float, default=0.95, help="of the intervals")
    commands.run(main, parser)
