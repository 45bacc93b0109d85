"""What comes from the hub: pinned, taken up where it was cut, whole, and there offline afterwards.

The hub is a stand-in: a server on this machine that answers the few requests of the hub's own library, which is the real
one, as the hub would. It shows what candor and the library do with the hub's answers, not that the hub gives them.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import polars as pl
import pytest

from candor import tables

pytest.importorskip("huggingface_hub", reason="huggingface_hub is of the model environment")

ROOT = Path(__file__).parents[2]
REVISION = "0123456789abcdef0123456789abcdef01234567"
PIECE = 2**16


class Hub(ThreadingHTTPServer):
    """Holds one repository at one commit; remembers what was asked for."""

    daemon_threads = True

    def __init__(self, name: str, files: dict[str, bytes]):
        super().__init__(("127.0.0.1", 0), Answer)
        self.name, self.files = name, files
        self.asked: list[str] = []
        """Method, path and range of each request."""
        self.cut_once: dict[str, int] = {}
        """Files whose connection ends after so many bytes, once."""
        self.stall: dict[str, int] = {}
        """Files that stop coming after so many bytes, and wait."""
        self.stalled = threading.Event()

    @property
    def kind(self) -> str:
        return "models" if any(name.endswith(".safetensors") for name in self.files) else "datasets"

    def downloads(self, name: str) -> list[str]:
        """Return what was asked of a file's contents, as `GET` or `GET bytes=7-`."""
        return [
            re.sub(r" \S*", "", line, count=1) for line in self.asked if line.startswith("GET") and f"/{name}" in line
        ]


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Hub

    def log_message(self, *arguments):
        pass

    def do_HEAD(self):
        self._answer()

    def do_GET(self):
        self._answer()

    def do_POST(self):
        self._answer()

    def _answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        path = unquote(urlsplit(self.path).path)
        self.server.asked.append(f"{self.command} {path} {self.headers.get('Range', '')}".rstrip())
        api = f"/api/{self.server.kind}/{self.server.name}"
        prefix = "" if self.server.kind == "models" else "/datasets"
        entries = [
            {"type": "file", "path": name, "size": len(content), "oid": sha256(content).hexdigest()[:40]}
            for name, content in self.server.files.items()
        ]
        if path.startswith(f"{api}/tree/{REVISION}"):
            inside = path.removeprefix(f"{api}/tree/{REVISION}").strip("/")
            folders = {str(Path(entry["path"]).parent) for entry in entries} - {"."}
            entries += [{"type": "directory", "path": name, "size": 0, "oid": "0" * 40} for name in folders]
            found = [entry for entry in entries if not inside or entry["path"].startswith(f"{inside}/")]
            if "recursive=true" not in self.path.lower():
                found = [entry for entry in found if str(Path(entry["path"]).parent) in (inside or ".", inside)]
            self._send(json.dumps(found).encode())
        elif path == f"{api}/paths-info/{REVISION}":
            wanted = json.loads(body)["paths"] if body.startswith("{") else re.findall(r"paths=([^&]*)", body)
            self._send(json.dumps([entry for entry in entries if entry["path"] in map(unquote, wanted)]).encode())
        elif path in (f"{api}/revision/{REVISION}", api):
            siblings = [{"rfilename": name} for name in self.server.files]
            self._send(json.dumps({"id": self.server.name, "sha": REVISION, "siblings": siblings, "tags": []}).encode())
        elif path.startswith(f"{prefix}/{self.server.name}/resolve/{REVISION}/"):
            self._send_file(path.partition(f"/resolve/{REVISION}/")[2])
        else:
            self._send(b"not here", 404)

    def _send(self, content: bytes, status: int = 200):
        self.send_response(status)
        if status == 404:
            self.send_header("X-Error-Code", "EntryNotFound")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _send_file(self, name: str):
        if name not in self.server.files:
            return self._send(b"", 404)
        content = self.server.files[name]
        first = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        start = int(first[1]) if first else 0
        end = int(first[2]) + 1 if first and first[2] else len(content)
        self.send_response(206 if first else 200)
        if first:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{len(content)}")
        self.send_header("ETag", f'"{sha256(content).hexdigest()[:40]}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        if self.command == "HEAD":
            return None
        cut, stall = self.server.cut_once.pop(name, None), self.server.stall.get(name)
        for position in range(start, end, PIECE):
            if cut is not None and position >= cut:
                self.close_connection = True
                return None
            if stall is not None and position >= stall:
                self.wfile.flush()
                self.server.stalled.set()
                time.sleep(60)
            self.wfile.write(content[position : min(position + PIECE, end)])
        return None


@contextmanager
def running(hub: Hub):
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()


def environment(cache: Path, hub: Hub | None) -> dict[str, str]:
    """Of a process that knows this hub alone; with None it is offline, and its hub would not answer."""
    endpoint = f"http://127.0.0.1:{hub.server_port}" if hub else "http://127.0.0.1:9"
    settings = {"HF_ENDPOINT": endpoint, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "0" if hub else "1"}
    return {**os.environ, **settings, "PYTHONPATH": str(ROOT / "src"), "HF_HUB_DISABLE_TELEMETRY": "1"}


BIG, SMALL = [f"model-0000{i}-of-00002.safetensors" for i in (1, 2)]
MODEL = {
    BIG: os.urandom(24 * 2**20),  # the library takes 10 MiB at a time, and what it has not taken it asks for again
    SMALL: os.urandom(2**20),
    "config.json": b'{"model_type": "none"}',
    "tokenizer.json": b"{}",
    "LICENSE": b"as you like it",
    "pytorch_model.bin": b"the same in another form",
    "onnx/model.onnx": b"and another",
}
WANTED = {name: content for name, content in MODEL.items() if name not in ("pytorch_model.bin", "onnx/model.onnx")}


def prepare(output: Path, cache: Path, hub: Hub | None) -> subprocess.Popen:
    source = json.dumps({"hub": "someone/some-model", "revision": REVISION})
    command = [sys.executable, ROOT / "scripts/prepare_model.py", "--source", source, "--output", output]
    return subprocess.Popen(
        command, env=environment(cache, hub), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )


def finish(process: subprocess.Popen, status: int = 0) -> str:
    said = process.communicate(timeout=120)[0]
    assert process.returncode == status, said
    return said


def files_in(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_broken_connection_is_taken_up_where_it_broke(tmp_path):
    with running(Hub("someone/some-model", MODEL)) as hub:
        hub.cut_once[BIG] = 15 * 2**20
        finish(prepare(tmp_path / "model", tmp_path / "cache", hub))
        assert hub.downloads(BIG) == ["GET", f"GET bytes={10 * 2**20}-"]
    assert files_in(tmp_path / "model") == WANTED
    assert all(REVISION in line for line in hub.asked), "a request without the pinned revision"
    assert not any("pytorch_model" in line or "onnx" in line for line in hub.asked)


def test_a_killed_download_goes_on_with_the_files_that_it_lacks_and_then_works_offline(tmp_path):
    with running(Hub("someone/some-model", MODEL)) as hub:
        hub.stall[BIG] = 2**20
        process = prepare(tmp_path / "model", tmp_path / "cache", hub)
        assert hub.stalled.wait(60)
        deadline = time.monotonic() + 30
        while not (kept := list((tmp_path / "cache").rglob(f"snapshots/*/{SMALL}"))) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert kept, "the other file is downloaded meanwhile"
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not (tmp_path / "model").exists()

        hub.stall.clear()
        hub.asked.clear()
        finish(prepare(tmp_path / "model", tmp_path / "cache", hub))
        assert hub.downloads(SMALL) == []
        assert hub.downloads(BIG) == ["GET"]
    assert files_in(tmp_path / "model") == WANTED
    assert [path.name for path in tmp_path.iterdir() if "part" in path.name] == []

    finish(prepare(tmp_path / "again", tmp_path / "cache", None))
    assert files_in(tmp_path / "again") == WANTED


def test_offline_with_half_a_cache_is_one_line_and_no_half_model(tmp_path):
    with running(Hub("someone/some-model", MODEL)) as hub:
        finish(prepare(tmp_path / "model", tmp_path / "cache", hub))
    for link in (tmp_path / "cache").rglob(f"snapshots/*/{BIG}"):
        link.unlink()
    said = finish(prepare(tmp_path / "again", tmp_path / "cache", None), status=1)
    assert said.splitlines()[-1].startswith(f"prepare_model: someone/some-model at {REVISION}: cannot be brought")
    assert "Traceback" not in said
    assert not (tmp_path / "again").exists()


def build(folder: Path, cache: Path, hub: Hub | None) -> None:
    source = {"hub": "someone/big-math", "revision": REVISION, "config": "all"}
    dataset = {"label": "D", "kind": "bigmath", "source": source, "grader": "math", "licence": "none"}
    options = {"--train": "train.parquet", "--test": "test.parquet", "--report": "report.json"}
    command = [sys.executable, ROOT / "scripts/build_dataset.py", "--dataset", json.dumps(dataset), "--seed", "1"]
    command += [part for option, name in options.items() for part in (option, folder / name)]
    done = subprocess.run(
        command, env=environment(cache, hub), capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_dataset_is_downloaded_once_and_then_there_offline(tmp_path):
    rows = pl.DataFrame(
        {
            "prompt": [f"What is {i} + 1?" for i in range(3000)],
            "solution": [str(i + 1) for i in range(3000)],
            "llama8b_solve_rate": [i / 3000 for i in range(3000)],
            "never_loaded": [os.urandom(200).hex() for _ in range(3000)],
        }
    )
    rows.write_parquet(tmp_path / "rows.parquet", compression="uncompressed")
    content = (tmp_path / "rows.parquet").read_bytes()
    assert len(content) > 2**20
    card = b"---\nconfigs:\n- config_name: all\n  data_files:\n  - split: train\n    path: all/train-*.parquet\n---\n"
    name = "all/train-00000-of-00001.parquet"
    with running(Hub("someone/big-math", {"README.md": card, name: content})) as hub:
        hub.cut_once[name] = 2**19
        build(tmp_path / "one", tmp_path / "cache", hub)
        assert hub.downloads(name) == ["GET", "GET"]  # it is too small to be taken up
    assert [
        line for line in hub.asked if REVISION not in line and "/api/datasets/someone/big-math " not in f"{line} "
    ] == []
    build(tmp_path / "two", tmp_path / "cache", None)
    for split in ("train", "test"):
        first, second = (tables.read(tmp_path / f"{of}/{split}.parquet", tables.QUESTIONS) for of in ("one", "two"))
        assert first.equals(second)
    report = json.loads((tmp_path / "two/report.json").read_text())
    assert (report["train"]["rows"], report["test"]["rows"]) == (2910, 90)
