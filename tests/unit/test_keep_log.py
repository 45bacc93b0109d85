"""What a job says becomes plain lines of a log, and reaches the terminal as it is."""

import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candor.keep_log import PlainLines


def log(*said: tuple[float, bytes]) -> list[bytes]:
    lines = PlainLines()
    kept = b"".join(lines.feed(piece, now) for now, piece in said) + lines.end()
    assert not kept or kept.endswith(b"\n")
    return kept.split(b"\n")[:-1]


def test_lines_stay_as_they_are():
    assert log((0, b"one\ntwo\n"), (1, b"\nthr"), (2, b"ee")) == [b"one", b"two", b"", b"three"]


def test_of_a_bar_the_log_has_a_state_each_half_minute_and_the_last():
    states = [(100 + second, b"\r%d%%" % second) for second in range(100)]
    assert log(*states, (200, b"\n")) == [b"0%", b"30%", b"60%", b"90%", b"99%"]


def test_a_bar_whose_job_was_killed_leaves_its_last_state():
    assert log((100, b"\r10%"), (101, b"\r20%")) == [b"10%", b"20%"]


def test_lines_between_states_are_kept():
    said = [(100, b"start\n"), (100, b"\r1%"), (101, b"\r2%\nwarning\n"), (102, b"\r3%")]
    assert log(*said) == [b"start", b"1%", b"2%", b"warning", b"3%"]


def test_a_line_end_of_two_signs_is_one():
    assert log((0, b"one\r\ntwo\r"), (0, b"\nthree\n")) == [b"one", b"two", b"three"]


@given(st.lists(st.text("ab \n", max_size=8)))
def test_without_bars_the_log_is_what_was_said(pieces):
    said = "".join(pieces).encode()
    kept = log(*((0, piece.encode()) for piece in pieces))
    assert b"\n".join(kept).rstrip() == said.rstrip()


@pytest.mark.parametrize("end", ["", "raise SystemExit('broken')"])
def test_a_job_reaches_the_terminal_and_the_log(tmp_path, end):
    job = f"import sys; sys.stderr.write('a\\rb\\n'); print('done', flush=True); {end}"
    command = f'set -o pipefail; "{sys.executable}" -c "{job}" 2>&1 | "{sys.executable}" -m candor.keep_log "$1"'
    path = tmp_path / "logs" / "job.log"
    result = subprocess.run(["bash", "-c", command, "bash", str(path)], capture_output=True, check=False)
    said = b"broken\n" if end else b""
    assert result.returncode == (1 if end else 0)
    assert result.stdout == b"a\rb\ndone\n" + said
    assert re.fullmatch(rb"a\nb\ndone\n" + said + rb"--- ended \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n", path.read_bytes())
