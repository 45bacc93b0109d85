"""Draws that depend on the seed and on what is drawn for, never on order, subset or machine."""

from hashlib import sha256


def draw(seed: int, purpose: str, *names: str) -> int:
    """Return a uniform integer in [0, 2**256): the SHA-256 of `seed:purpose:name:...`, big-endian.

    `draw(...) % n` chooses one of n; sorting by it shuffles; it seeds a `random.Random` where many draws are needed.
    """
    return int.from_bytes(sha256(":".join((str(seed), purpose, *names)).encode()).digest(), "big")
