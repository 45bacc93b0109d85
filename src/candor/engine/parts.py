"""Going through requests in parts, each kept when it is done, so that a killed run goes on after its last part."""

import logging
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
from tqdm import tqdm

from candor import tables
from candor.engine.generation import Engine
from candor.engine.server import Server

logger = logging.getLogger(__name__)

IN_FLIGHT = {"cpu": 64, "gpu": 1024, "server": 256}
"""Sequences sampled at once, by device: many, for speed, and so few that a kill loses minutes at most."""


def in_parts(
    engine: Engine | Server,
    requests: pl.DataFrame,
    size: int,
    answer: Callable[[pl.DataFrame], pl.DataFrame],
    schema: pl.Schema,
    work: Path,
    identity: str,
    unit: str,
) -> pl.DataFrame:
    """Return `answer` of all requests, `size` at a time, and show progress.

    Each part begins with an empty cache of prefixes, so that its outputs do not depend on whether the run was killed, up to
    the rounding of the arithmetic.

    Args:
        engine: what `answer` asks.
        requests: one a row.
        size: rows of a part.
        answer: from some rows of `requests` to rows of `schema`.
        work: folder that keeps the parts; of no use after the result is written.
        identity: of everything that the result depends on (`tables.fingerprint`); another one's work is thrown away.
        unit: what a request is called beside the progress bar.
    """
    identity = f"{identity} {size}\n"
    owner = work / "fingerprint"
    if not owner.exists() or owner.read_text(encoding="utf-8") != identity:
        if work.exists():
            logger.info("%s is of other settings or inputs; starting afresh", work)
            shutil.rmtree(work)
        tables.write_text(identity, owner)
    elif done := len(list(work.glob("part-*.parquet"))):
        logger.info("going on after %d of %d parts", done, -(-len(requests) // size))
    parts = []
    with tqdm(total=len(requests), unit=unit) as progress:
        for number, part in enumerate(requests.iter_slices(size)):
            path = work / f"part-{number:06d}.parquet"
            if path.exists():
                progress.initial += len(part)  # so that the speed shown is that of this run
            else:
                engine.forget_prefixes()
                tables.write(answer(part), path, schema)
            parts.append(tables.read(path, schema))
            progress.update(len(part))
    return pl.concat(parts) if parts else pl.DataFrame(schema=schema)
