"""Print how the confidence track reads real outputs of twelve models: the table of docs/model_outputs.md.

Runs in the model environment, whose library repairs JSON.

    PYTHONPATH=src:tests .venv-model/bin/python benchmarks/model_outputs.py ../shared/data
"""

import argparse
from pathlib import Path

from real_outputs import COLUMNS, load, table_row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="FOLDER", help="folder that holds model_outputs/")
    arguments = parser.parse_args()
    print(f"| {' | '.join(('model', 'outputs', *COLUMNS))} |")
    print("|---" * (2 + len(COLUMNS)) + "|")
    for model, outputs in load(arguments.data).items():
        print(table_row(model, outputs))


if __name__ == "__main__":
    main()
