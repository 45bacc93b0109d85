"""Models from the Hugging Face hub, of their pinned revision, by way of the hub's own cache."""

import shutil
from pathlib import Path

from candor.config import HubSource


def copy_repository(source: HubSource, folder: str | Path, files: list[str], left_out: list[str]) -> None:
    """Copy files of a repository's revision to a folder; what the hub's cache (`$HF_HOME`) lacks is downloaded to it.

    A connection that breaks is taken up where it broke. What a killed process had downloaded whole stays in the cache, so
    that the next one fetches the other files alone. From a warm cache nothing is downloaded, also with HF_HUB_OFFLINE=1.

    Args:
        source: repository and commit.
        folder: is made; may lie on another file system than the cache.
        files: patterns of the files that are wanted.
        left_out: patterns of those among them that are not.

    Raises:
        ValueError: the hub cannot be reached and the cache does not hold them all, or there is no such repository or commit.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.utils import filter_repo_objects

    patterns = {"allow_patterns": files, "ignore_patterns": left_out}
    try:
        snapshot = Path(snapshot_download(source.hub, revision=source.revision, **patterns))
    except Exception as error:  # whatever it is (network, name, revision, access), the remedy is the same
        raise ValueError(
            f"{source.hub} at {source.revision}: cannot be brought from the hub ({error}); check hub and revision, and "
            "whether it wants a token; run again to go on"
        ) from error
    names = [str(path.relative_to(snapshot)) for path in snapshot.rglob("*") if path.is_file()]
    for name in filter_repo_objects(names, **patterns):  # other programs share the cache
        target = Path(folder, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(snapshot / name, target)
