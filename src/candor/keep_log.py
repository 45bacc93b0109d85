"""`COMMAND 2>&1 | python -m candor.keep_log FILE`: pass what a job says on, and keep it in a log of plain lines.

A terminal shows a progress bar in one line, each state written over the last with a carriage return. The log gets a state
as a line of its own, at most each half minute, and the last one; so it tells how far a job is, or was when it was killed.
Its last line says when the job ended, however it did: `candor status` goes by it.
"""

import os
import signal
import sys
import time
from pathlib import Path

SECONDS = 30
"""Between two states of one progress bar in the log."""
ENDED = "--- ended "
"""What the last line begins with."""


class PlainLines:
    """Turns what a terminal is told into the lines of a log."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self.seconds = seconds
        self._shown = b""
        """What stands in the terminal's line."""
        self._kept_at = 0.0
        self._returned = False

    def feed(self, said: bytes, now: float) -> bytes:
        """Take what was said at a time (s), and return what the log gets of it, whole lines."""
        lines = bytearray()
        for piece in said.splitlines(keepends=True):
            if self._returned and not piece.startswith(
                b"\n"
            ):  # a carriage return, and something is written over the line
                if self._shown and now - self._kept_at >= self.seconds:
                    lines += self._shown + b"\n"
                    self._kept_at = now
                self._shown = b""
            self._returned = piece.endswith(b"\r")
            self._shown += piece.rstrip(b"\r\n")
            if piece.endswith(b"\n"):
                lines += self._shown + b"\n"
                self._shown, self._kept_at = b"", 0.0
        return bytes(lines)

    def end(self) -> bytes:
        """Return what is left, as a line."""
        return self._shown + b"\n" if self._shown else b""


def main() -> None:
    """Do so until the job closes its end, also when Ctrl-C reaches both: the job's last words are wanted."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    path = Path(sys.argv[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = PlainLines()
    with path.open("wb", buffering=0) as log:
        terminal = True
        while said := os.read(0, 1 << 16):
            log.write(lines.feed(said, time.monotonic()))
            try:
                while terminal and said:
                    said = said[os.write(1, said) :]
            except OSError:  # nobody looks any longer; the job goes on
                terminal = False
        log.write(lines.end() + f"{ENDED}{time.strftime('%Y-%m-%d %H:%M:%S')}\n".encode())


if __name__ == "__main__":
    main()
