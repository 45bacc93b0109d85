"""What all tests share: no hub, and where the real data are."""

import os
from pathlib import Path

import pytest

try:
    from hypothesis import settings
except ModuleNotFoundError:  # the model environment, whose tests have no properties
    pass
else:  # no deadline on machines that others use too; in CI the same examples every time, elsewhere new ones
    settings.register_profile("candor", deadline=None, derandomize=os.environ.get("CI") == "true")
    settings.load_profile("candor")

os.environ["HF_HUB_OFFLINE"] = "1"  # also for what the tests start
os.environ.setdefault("GOMP_SPINCOUNT", "10000")  # as in engine.generation, before any test imports torch

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
