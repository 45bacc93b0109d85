"""What all tests share: no hub, and where the real data are."""

import os
from pathlib import Path

import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # also for what the tests start

DATA = Path(os.environ.get("CANDOR_DATA", Path(__file__).parents[1].parent / "shared" / "data"))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Folder of the real data: $CANDOR_DATA, or shared/data beside the repository. Skips without it, fails in CI."""
    if not DATA.is_dir():
        message = f"no real data at {DATA}; set CANDOR_DATA to the folder that holds them"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    return DATA
