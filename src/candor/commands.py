"""What the scripts share: logging, and errors that a user can act on."""

import argparse
import logging
import sys
from collections.abc import Callable
from pathlib import Path


def run(main: Callable[[argparse.Namespace], None], parser: argparse.ArgumentParser) -> None:
    """Run a script's `main` with its parsed arguments, and end the process.

    An error of the input (ValueError, OSError, NotImplementedError) becomes one line on stderr and exit status 1; any
    other is a fault of ours and keeps its traceback. The rule sends both to its log and to the terminal.
    """
    arguments = parser.parse_args()
    name = Path(sys.argv[0]).stem
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
    # At each start the first two say which of their kernels do not load; the third tells every request to the hub.
    for library in ("torchao", "bitsandbytes", "httpx"):
        logging.getLogger(library).setLevel(logging.ERROR)
    try:
        main(arguments)
    except (ValueError, OSError, NotImplementedError) as error:
        logging.debug("traceback", exc_info=True)
        print(f"{name}: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(1)
