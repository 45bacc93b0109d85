"""Train a small policy under each reward scheme, with confidence learnt as fast as effort and ever faster."""

import argparse
import json
import logging

import polars as pl

from candor import commands, tables
from candor.schemes import build
from candor.schemes.simulation import train


def main(arguments: argparse.Namespace) -> None:
    definitions = json.loads(arguments.schemes)
    frames = []
    for name in arguments.names:
        for ratio in arguments.ratios:
            policy = train(build(name, definitions), ratio, seed=arguments.seed)
            logging.info("%s, ratio %g: gives up below p = %.3f", name, ratio, policy.threshold)
            columns = {
                "p": policy.p,
                "effort": policy.effort,
                "confidence_given_up": policy.confidence[:, 0],
                "confidence_tried": policy.confidence[:, 1],
            }
            frames.append(pl.DataFrame(columns).with_columns(scheme=pl.lit(name), ratio=pl.lit(ratio)))
    tables.write(pl.concat(frames), arguments.output, tables.SIMULATIONS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", required=True, nargs="+", metavar="SCHEME")
    parser.add_argument("--schemes", default="{}", metavar="JSON", help="definitions of those not in table 1")
    parser.add_argument(
        "--ratios", required=True, nargs="+", type=float, help="of the step sizes of confidence and effort"
    )
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--output", required=True, metavar="PARQUET")
    commands.run(main, parser)
