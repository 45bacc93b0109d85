"""`candor status`: what of a configuration is done, running, failed, and why, from its files and logs alone."""

import argparse
import json
import os
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from candor.cli.jobs import Job, add_options, dry_run
from candor.keep_log import ENDED

STATES = ("done", "running", "failed", "stopped", "waiting")
SILENCE = 15 * 60
"""Seconds without a word after which a job that has not ended is taken for stopped, with its whole node."""
_TAIL = 1 << 16


@dataclass(frozen=True)
class State:
    """How a job is."""

    rule: str
    log: str
    state: str
    """Of STATES."""
    said: str = ""
    """Its last words."""
    seconds: float = 0.0
    """Since then."""


def add_to(commands: argparse._SubParsersAction) -> None:
    """Add `status` to a parser."""
    parser = commands.add_parser(
        "status",
        help="what of a configuration is done, running or failed, and why",
        description="Say of each rule how many of its jobs are done, running, failed, stopped (killed, or its node died) or "
        "waiting, and of those under way or broken off what they said last.",
    )
    add_options(parser)
    parser.set_defaults(run=_status)


def state_of(job: Job, now: float) -> State:
    """Tell how a job is that is yet to be run, as Snakemake sees it, by its log and its outputs.

    It waits where it has no log, or where its outputs are there: they are of other settings or inputs. It failed where its
    log has ended with an error, and was stopped where it has ended without one (unless somebody removed its outputs), or is
    silent for long.

    Args:
        job: with a log; its paths begin in the working directory.
        now: seconds since the epoch.
    """
    try:
        with Path(job.log).open("rb") as log:
            about = os.fstat(log.fileno())
            silent = now - about.st_mtime
            log.seek(max(0, about.st_size - _TAIL))
            lines = [line for line in log.read().decode(errors="replace").splitlines() if line.strip()]
    except FileNotFoundError:
        return State(job.rule, job.log, "waiting")
    if all(Path(output).exists() for output in job.outputs):
        return State(job.rule, job.log, "waiting")
    ended = bool(lines) and lines[-1].startswith(ENDED)
    lines = lines[: -1 if ended else None]
    error = _error(lines) if ended else None
    state = "failed" if error else "stopped" if ended or silent > SILENCE else "running"
    return State(job.rule, job.log, state, error or (lines[-1].strip() if lines else ""), silent)


def _error(lines: Sequence[str]) -> str | None:
    """Return the error that a log's lines end with: one line of a script's own, or what follows the last traceback."""
    tracebacks = [index for index, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")]
    if tracebacks:
        after = (line for line in lines[tracebacks[-1] + 1 :] if not line.startswith(" "))
        return next(after, lines[-1])
    name, colon, _ = lines[-1].partition(": ") if lines else ("", "", "")
    is_script = colon and Path("scripts", name.removesuffix(".py") + ".py").exists()
    return lines[-1] if is_script else None


def _status(arguments: argparse.Namespace) -> None:
    with ThreadPoolExecutor(2) as pool:  # each takes seconds
        every, planned = pool.map(lambda options: dry_run(arguments, *options), [["--forceall"], []])
    now = time.time()
    left = {job.log: state_of(job, now) for job in planned if job.log}
    states = [left.get(job.log, State(job.rule, job.log, "done")) for job in every if job.log]
    counts: dict[str, Counter[str]] = {}
    for one in states:
        counts.setdefault(one.rule, Counter())[one.state] += 1
    told = {state: [one for one in states if one.state == state] for state in ("running", "failed", "stopped")}
    if arguments.json:
        jobs = [asdict(one) for some in told.values() for one in some]
        print(json.dumps({"rules": counts, "jobs": jobs}, indent=2))
        return
    counts["total"] = sum(counts.values(), Counter())
    width = max(map(len, counts))
    print(" " * width, "jobs".rjust(6), *(state.rjust(8) for state in STATES))
    for rule, count in counts.items():
        print(rule.ljust(width), str(count.total()).rjust(6), *(str(count[state] or "").rjust(8) for state in STATES))
    for state, some in told.items():
        for one in some:
            print(f"\n{state}: {one.log}, last word {_ago(one.seconds)}\n    {one.said[:500]}")


def _ago(seconds: float) -> str:
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit} ago"
    return f"{max(0, seconds):.0f} s ago"
