"""Work folders of training: a killed run goes on from its last whole checkpoint, a changed one starts afresh."""

import hashlib
import json
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
    fingerprint = {"settings": settings, "inputs": [_digest(Path(path)) for path in inputs]}
    marker = work / "fingerprint.json"
    if marker.is_file() and json.loads(marker.read_text(encoding="utf-8")) == json.loads(json.dumps(fingerprint)):
        for checkpoint in sorted(work.glob("checkpoint-*"), key=_step, reverse=True):
            if (checkpoint / "trainer_state.json").is_file():
                logging.info("going on from %s", checkpoint)
                return str(checkpoint)
            shutil.rmtree(checkpoint)
        return None
    if work.exists():
        logging.info("%s is from other settings or inputs: starting afresh", work)
        shutil.rmtree(work)
    tables.write_json(fingerprint, marker)
    return None


def _step(checkpoint: Path) -> int:
    return int(re.sub(r"\D", "", checkpoint.name) or 0)


def _digest(path: Path) -> str:
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    digest = hashlib.sha256()
    for file in files:
        if file.name != ".snakemake_timestamp":
            digest.update(file.name.encode() + b"\0")
            with file.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()
