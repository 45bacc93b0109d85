"""The `candor` command: what can be asked at a terminal without running the workflow."""

import argparse
import os
import sys
from collections.abc import Sequence

from candor.cli import plan, scheme, status


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 1, with one line on stderr, where what was asked is not possible."""
    parser = argparse.ArgumentParser(prog="candor", description="Does a language model know what it knows?")
    parser.set_defaults(run=lambda _: parser.print_help())
    commands = parser.add_subparsers(metavar="COMMAND")
    scheme.add_to(commands)
    plan.add_to(commands)
    status.add_to(commands)
    parsed = parser.parse_args(scheme.join_formulas(sys.argv[1:] if arguments is None else arguments))
    try:
        parsed.run(parsed)
        sys.stdout.flush()
    except BrokenPipeError:  # whoever read has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    except (ValueError, OSError, NotImplementedError) as error:
        known = isinstance(error, OSError) and error.filename
        message = f"{error.filename}: {error.strerror}" if known else " ".join(str(error).split())
        print(f"candor: {message}", file=sys.stderr)
        return 1
    return 0
