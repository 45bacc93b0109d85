"""Text from a model behind an address that speaks OpenAI's chat completions, such as `vllm serve`."""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from string import Template
from typing import Any

from candor.engine.generation import Conversation, Output

CONCURRENCY = 32
"""Requests under way at once."""

RETRIES = 6
"""Of a request that got no answer, or one of a server that is overloaded or failed; the pauses grow up to 8 seconds."""

TIMEOUT = 600.0
"""Seconds that one try of a request may take."""

_TOO_LONG = re.compile(r"context[ _](length|size|window)", re.IGNORECASE)
"""How servers (OpenAI, vLLM, llama.cpp) say that a prompt is longer than their context."""


@dataclass(frozen=True, slots=True)
class Server:
    """A server that was found to have its model; made by `connect`."""

    address: str
    model: str
    key_variable: str
    device: str = "server"

    def forget_prefixes(self) -> None:
        """Do nothing: the server's cache is its own."""

    def generate(
        self,
        conversations: Sequence[Conversation],
        *,
        seeds: Sequence[int],
        max_tokens: int,
        temperature: float,
        top_p: float,
        top_k: int | None,
        choice: Sequence[str] | None,
        thinking_budget: int | None,
        chat_template_arguments: Mapping[str, bool | str],
    ) -> list[Output | None]:
        """Sample one output for each conversation.

        Args:
            conversations: prompts.
            seeds: one for each conversation; whether the same seed gives the same output is up to the server.
            max_tokens: token limit of an output, its thinking within a budget apart.
            temperature, top_p, top_k: of the sampling; `top_k` None leaves it to the server.
            choice: texts to one of which the output is held, or None; a parameter of vLLM's.
            thinking_budget: tokens of thinking, or None; a parameter of vLLM's.
            chat_template_arguments: a parameter of vLLM's, but for `reasoning_effort`, which is OpenAI's.

        Returns:
            For each conversation its output, None where it is longer than the server's context; what the server calls
            reasoning stands before the rest, in `<think>`.

        Raises:
            OSError: the server does not answer.
            ValueError: it refuses a request; the message says why and what to do.
        """
        arguments = dict(chat_template_arguments)
        effort = arguments.pop("reasoning_effort", None)
        extensions = {
            "top_k": top_k,
            "structured_outputs": None if choice is None else {"choice": list(choice)},
            "thinking_token_budget": thinking_budget,
            "chat_template_kwargs": arguments or None,
        }
        parameters = {
            "model": self.model,
            "max_completion_tokens": max_tokens + (thinking_budget or 0),
            "temperature": temperature,
            "top_p": top_p,
            **({} if effort is None else {"reasoning_effort": effort}),
            # Only what is asked for: servers other than vLLM refuse what they do not know.
            "extra_body": {name: value for name, value in extensions.items() if value is not None},
        }

        def ask(request: tuple[Conversation, int]) -> Output | None:
            conversation, seed = request
            create = client.chat.completions.create
            answer = _explained(self, create, messages=conversation, seed=seed, **parameters)
            return None if answer is None else _output(answer)

        with self.client() as client, ThreadPoolExecutor(CONCURRENCY) as pool:
            return list(pool.map(ask, zip(conversations, seeds, strict=True)))

    def client(self) -> Any:
        """Return an `openai.OpenAI` to be closed after use; where no key is set it sends one that says so."""
        from openai import OpenAI

        key = os.environ.get(self.key_variable) or "none"
        return OpenAI(base_url=self.address, api_key=key, max_retries=RETRIES, timeout=TIMEOUT)


def connect(address: str, model: str, key_variable: str = "OPENAI_API_KEY") -> Server:
    """Find a server and see that it has a model.

    Args:
        address: up to the version, such as `http://localhost:8000/v1`; `$NAME` is replaced from the environment.
        model: name by which the server knows it.
        key_variable: environment variable that holds the key; a server that asks for none needs none set.

    Raises:
        OSError: the server does not answer.
        ValueError: it does not take the key, has no such model, or the address names a variable that is not set.
    """
    try:
        address = Template(address).substitute(os.environ)
    except KeyError as error:
        raise ValueError(
            f"the environment variable {error.args[0]} of the address {address!r} is not set; set it, or write the address out"
        ) from None
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # it has a line for every request
    server = Server(address, model, key_variable)
    with server.client() as client:
        valid = [each.id for each in _explained(server, client.models.list)]
    if model not in valid:
        raise ValueError(f"{address} serves no model called {model!r}; valid for served_model: {', '.join(valid)}")
    return server


def _explained(server: Server, call: Any, **parameters: Any) -> Any:
    """Call, and turn the client's errors into those that say what to do; None where the context is too short."""
    import openai

    try:
        return call(**parameters)
    except openai.APIConnectionError as error:
        raise ConnectionError(
            f"{server.address} does not answer ({error}); start the server or correct `server`, then run again: what was "
            "answered is kept"
        ) from None
    except (openai.AuthenticationError, openai.PermissionDeniedError):
        state = "is set" if os.environ.get(server.key_variable) else "is not set"
        raise ValueError(
            f"{server.address} does not take the key in the environment variable {server.key_variable}, which {state}; "
            "set it, or name another with api_key_variable"
        ) from None
    except openai.APIStatusError as error:
        if error.status_code == 400 and _TOO_LONG.search(error.message):
            return None
        raise ValueError(
            f"{server.address} refused a request for {server.model!r} with status {error.status_code}: {error.message}; "
            "see docs/judges.md for what a server must know"
        ) from None


def _output(answer: Any) -> Output:
    choice, usage = answer.choices[0], answer.usage
    said = choice.message
    # `reasoning` is vLLM's name, `reasoning_content` that of others; the client keeps what it does not know.
    thought = getattr(said, "reasoning", None) or getattr(said, "reasoning_content", None)
    text = said.content or ""
    if thought:
        text = f"<think>{thought}" + (f"</think>{text}" if text else "")
    return Output(text, choice.finish_reason or "length", usage.prompt_tokens, usage.completion_tokens)
