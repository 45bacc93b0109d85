"""Write the JSON schema of the configuration, or check that the file is in step with the code."""

import argparse
import json
from pathlib import Path

from candor import commands
from candor.config import json_schema
from candor.tables import write_text


def main(arguments: argparse.Namespace) -> None:
    output, text = arguments.output, json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n"
    if not arguments.check:
        write_text(text, output)
    elif not output.is_file() or output.read_text(encoding="utf-8") != text:
        raise ValueError(f"{output} is not what src/candor/config/ describes; run `make schema` and commit it")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", required=True, type=Path, metavar="JSON")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where the file differs")
    commands.run(main, parser)
