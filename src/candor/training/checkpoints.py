"""Work folders of training: a killed run goes on from its last whole checkpoint, a changed one starts afresh."""

import logging
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

from candor import tables


def open_work_folder(work: str | Path, settings: dict, inputs: Iterable[str | Path]) -> str | None:
    """Prepare a work folder and return the checkpoint to go on from, None to start afresh.

    What stands there from other settings or other inputs is removed. Inputs are compared by content; of a folder, its
    files. A checkpoint is whole when it holds the trainer's state, which the trainer writes last.
    """
    work = Path(work)
    fingerprint = tables.fingerprint(settings, *inputs)
    marker = work / "fingerprint"
    if marker.is_file() and marker.read_text(encoding="utf-8") == fingerprint:
        for checkpoint in sorted(work.glob("checkpoint-*"), key=_step, reverse=True):
            if (checkpoint / "trainer_state.json").is_file():
                logging.info("going on from %s", checkpoint)
                return str(checkpoint)
            shutil.rmtree(checkpoint)
        return None
    if work.exists():
        logging.info("%s is from other settings or inputs: starting afresh", work)
        shutil.rmtree(work)
    tables.write_text(fingerprint, marker)
    return None


def _step(checkpoint: Path) -> int:
    return int(re.sub(r"\D", "", checkpoint.name) or 0)
