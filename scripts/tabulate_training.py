"""Set the paper's tables of training (4 to 6), or what the watchers found, as CSV, Markdown and LaTeX."""

import argparse
import json

import polars as pl

from candor import commands, tables
from candor.report import layout
from candor.report import training_tables as training
from candor.report.tables import read_metrics


def main(arguments: argparse.Namespace) -> None:
    given = json.loads(arguments.given)
    if arguments.kind == "sft_valid_responses":
        read = (tables.read(path, tables.RESPONSES) for path in arguments.files)
        responses = [(run["model"], run["dataset"], frame) for run, frame in zip(given, read, strict=True)]
        frame = training.valid_responses(responses)
        short = full = training.valid_responses_table(frame)
    elif arguments.kind == "rl_hyperparameters":
        frame = pl.DataFrame(given, training.HYPERPARAMETERS)
        short = full = training.hyperparameters_table(frame)
    elif arguments.kind == "sampling_parameters":
        models, judges = (pl.DataFrame(given[of], training.SAMPLING) for of in ("models", "judges"))
        frame = pl.concat([models, judges])
        short = full = training.sampling_table(models, judges)
    else:
        metrics = iter(read_metrics(arguments.metrics))
        runs = [
            training.Trained(
                **{name: value for name, value in run.items() if name != "measured"},
                log=tables.read(path, tables.TRAINING_LOG),
                metrics=next(metrics) if run["measured"] else None,
            )
            for run, path in zip(given, arguments.files, strict=True)
        ]
        frame = training.training_flags(runs)
        full, short = (training.training_flags_table(frame, sentences) for sentences in (True, False))
    tables.write_text(frame.write_csv(), arguments.csv)
    tables.write_text(layout.markdown([full]), arguments.markdown)
    tables.write_text(layout.latex([short]), arguments.latex)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    kinds = ("sft_valid_responses", "rl_hyperparameters", "sampling_parameters", "training_flags")
    parser.add_argument("--kind", required=True, choices=kinds)
    parser.add_argument(
        "--given", required=True, metavar="JSON", help="what the configuration knows: of each file its run, or the rows"
    )
    parser.add_argument("--files", nargs="*", default=[], metavar="PARQUET", help="responses, or training logs")
    parser.add_argument(
        "--metrics", nargs="*", default=[], metavar="JSON", help="of the runs that `measured` says, in their order"
    )
    layout.add_outputs(parser)
    commands.run(main, parser)
