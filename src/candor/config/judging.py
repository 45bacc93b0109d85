"""The judges of abstention: models that tell whether an answer is one."""

from typing import Literal

from pydantic import model_validator

from candor.config.base import Needs, Positive, Settings
from candor.config.confidence import Precision, Sampling
from candor.config.sources import JudgeSource, ServerSource


class Judge(Settings):
    """A model that is asked of each answer whether it abstains (paper E.6.2)."""

    label: str
    """Name in tables and figures."""
    source: JudgeSource
    """Where its weights come from, or the server that is asked instead."""
    licence: str
    """Licence of the weights."""
    device: Literal["cpu", "gpu"] | None = None
    """Where it runs; on `gpu` each of its jobs asks the cluster for one GPU. None for a server."""
    sampling: Sampling
    """Sampling of what it says (paper table 6)."""
    precision: Precision = "auto"
    """Precision of generation; `auto` is bfloat16 where the processor computes it natively, else float32. Idle for a server."""
    chat_template_arguments: dict[str, bool | str] = {}
    """Arguments of the chat template, such as `reasoning_effort: low` or `enable_thinking: true`."""
    end_of_turn: list[str] = []
    """Tokens that end a turn beside the tokenizer's eos token. Idle for a server."""
    max_prompt_tokens: Positive | None = None
    """Token limit of question and answer as it is asked of them; what is longer is not judged. None for a server."""
    thinking_budget: Positive | None = None
    """Tokens that it may think, up to `</think>`, before it is made to judge (paper E.6.2); none where it does not think so."""
    max_tokens: Positive
    """Token limit of what it says, its thinking within a budget apart."""
    enforce_label: bool
    """Whether what it says (after its thinking within a budget) is held to one of the three labels. Not with Harmony
    (gpt-oss), whose channels come first; there the label is read off the end of the final channel."""
    resources: Needs = Needs()
    """What it asks a cluster for, for each model, dataset and variant."""

    @model_validator(mode="after")
    def _fits(self):
        local = {name: getattr(self, name) for name in ("device", "max_prompt_tokens")}
        if isinstance(self.source, ServerSource):
            if given := [name for name, value in local.items() if value is not None]:
                raise ValueError(f"{', '.join(given)}: of no use with a server, which has its own; leave out or null")
        elif missing := [name for name, value in local.items() if value is None]:
            raise ValueError(
                f"{', '.join(missing)}: missing; a judge that runs here needs a device (cpu, gpu) and max_prompt_tokens"
            )
        return self
