"""Show outputs of models that were trained under schemes that can be hacked, as CSV and Markdown."""

import argparse
import json

from candor import commands, tables
from candor.report.hacked_samples import choose_samples, hacked_samples_markdown, join_samples, samples_frame


def main(arguments: argparse.Namespace) -> None:
    shown = []
    for labels, name, *paths in zip(
        json.loads(arguments.labels),
        arguments.names,
        arguments.grades,
        arguments.questions,
        arguments.generations,
        strict=True,
    ):
        grades, questions, generations = map(tables.read, paths, (tables.GRADES, tables.QUESTIONS, tables.GENERATIONS))
        shown.append(samples_frame(choose_samples(grades, arguments.seed, name), questions, generations, *labels))
    frame = join_samples(shown)
    tables.write_text(frame.write_csv(), arguments.csv)
    tables.write_text(hacked_samples_markdown(frame, arguments.seed), arguments.markdown)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("grades", "questions", "generations"):
        parser.add_argument(f"--{name}", nargs="*", default=[], metavar="PARQUET", help="one for each of --names")
    parser.add_argument(
        "--names", nargs="*", default=[], help="what is shown, such as model/dataset/variant; seeds the draws"
    )
    parser.add_argument("--labels", default="[]", metavar="JSON", help="[[model, dataset, scheme], ...] of --names")
    parser.add_argument("--seed", required=True, type=int)
    parser.add_argument("--csv", required=True)
    parser.add_argument("--markdown", required=True)
    commands.run(main, parser)
