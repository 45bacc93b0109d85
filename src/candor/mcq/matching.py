"""From what a model wrote to the option that it chose (ABCD paper, section 4 and D.1).

An option is its index in the item, whatever its place in a run; options of one text count as one, the first of them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from candor import tables
from candor.data.items import same_options
from candor.mcq.extraction import RANDOM, Extraction, extract_letter, extract_text, random_option, undress
from candor.mcq.permutations import is_clamped
from candor.mcq.protocols import LETTERS, Protocol

LIKELIHOOD = "likelihood"
"""What `rule` says under cloze, where nothing is extracted."""

Embed = Callable[[list[str]], np.ndarray]
"""Returns one row for each text."""


class Matcher:
    """Finds the option that a text is most similar to; each text is embedded once, however often it comes."""

    def __init__(self, embed: Embed, similarity: str = "cosine"):
        if similarity not in _SIMILARITIES:
            raise ValueError(f"no similarity is called {similarity!r}; valid: {', '.join(_SIMILARITIES)}")
        self._embed = embed
        self._similarity = _SIMILARITIES[similarity]
        self._embedded: dict[str, np.ndarray] = {}

    def nearest(self, answers: Sequence[str], options: Sequence[Sequence[str]]) -> list[tuple[int, float]]:
        """Return the index of the option nearest to each answer, among its own options, and their similarity.

        Of options that are equally near the first wins. Distances count as similarities below 0.
        """
        texts = dict.fromkeys(text for answer, of in zip(answers, options, strict=True) for text in (answer, *of))
        if new := [text for text in texts if text not in self._embedded]:
            self._embedded |= zip(new, np.asarray(self._embed(new), dtype=np.float32), strict=True)
        found = []
        for answer, of in zip(answers, options, strict=True):
            near = self._similarity(np.stack([self._embedded[text] for text in of]), self._embedded[answer])
            found.append((int(near.argmax()), float(near.max())))
        return found


def predict(
    items: pl.DataFrame, generations: pl.DataFrame, protocol: Protocol, matcher: Matcher | None, seed: int
) -> pl.DataFrame:
    """Read and match the outputs of one model on one benchmark under one protocol.

    Args:
        items: a frame of `tables.ITEMS`.
        generations: a frame of `tables.MCQ_GENERATIONS`, in any order.
        protocol: that they were asked under.
        matcher: for the texts that are no option as they stand; a protocol that does not ask for text needs none.
        seed: of the random options, together with item and run.

    Returns:
        A frame of `tables.MCQ_PREDICTIONS`, in the order of the generations.

    Raises:
        ValueError: a generation's item is not among the items, or its order is none of the item's options.
    """
    known = {
        row["item_id"]: {**row, "first": same_options(row["options"])}
        for row in items.select("item_id", "options", "gold").iter_rows(named=True)
    }
    rows, unmatched = [], []
    for output in generations.iter_rows(named=True):
        item = known.get(output["item_id"])
        if item is None or sorted(output["order"]) != list(range(len(item["options"]))):
            raise ValueError(
                f"item {output['item_id']!r}, run {output['run']}: generated for other items than these; "
                "rerun the rule that generates the answers"
            )
        found, choice = _read(output, item["options"], protocol, seed)
        if choice is None:
            unmatched.append(len(rows))
        rows.append(
            {
                "item_id": output["item_id"],
                "run": output["run"],
                "gold": item["gold"],
                "clamped": is_clamped(len(item["options"]), output["run"]),
                "rule": found.rule,
                "extracted": found.text,
                "choice": choice,
                "position": found.position,
                "similarity": None,
            }
        )
    if unmatched:
        if matcher is None:
            raise ValueError(
                f"protocol {protocol.name!r} asks for an option's text; it needs a matcher to be read with"
            )
        texts = [rows[index]["extracted"] for index in unmatched]
        options = [known[rows[index]["item_id"]]["options"] for index in unmatched]
        for index, (choice, similarity) in zip(unmatched, matcher.nearest(texts, options), strict=True):
            rows[index] |= {"choice": choice, "similarity": similarity}
    for row, order in zip(rows, generations["order"].to_list(), strict=True):
        first = known[row["item_id"]]["first"]
        row["choice"] = first[row["choice"]]
        row["correct"] = row["choice"] == first[row["gold"]]
        if row["position"] is None:
            row["position"] = order.index(row["choice"])
    return pl.DataFrame(rows, schema=tables.MCQ_PREDICTIONS)


def exact_option(text: str, options: Sequence[str]) -> int | None:
    """Return the index of the option that a text is: as it stands, else without dress and case if only one is so."""
    for normal in (_spaced, _normal):
        wanted = normal(text)
        equal = [index for index, option in enumerate(options) if normal(option) == wanted]
        if wanted and equal and len({_spaced(options[index]) for index in equal}) == 1:
            return equal[0]
    return None


def _read(
    output: dict[str, Any], options: Sequence[str], protocol: Protocol, seed: int
) -> tuple[Extraction, int | None]:
    """Extract an answer and choose its option, where neither needs a model; a label decides before a text does."""
    if protocol.reads == "likelihood":
        return Extraction(LIKELIHOOD), int(np.argmax(output["log_likelihoods"]))
    order = output["order"]
    shown = [options[index] for index in order]
    if protocol.reads == "letter":
        found = extract_letter(output["text"], LETTERS[: len(order)], shown)
    else:
        labels = [label for place in range(len(order)) if (label := protocol.label(place))]
        found = extract_text(output["text"], shown, labels)
    if found.rule == RANDOM:
        return found, random_option(seed, output["item_id"], output["run"], len(options))
    if found.position is not None:
        return found, order[found.position]
    return found, exact_option(found.text, options)


def _spaced(text: str) -> str:
    return " ".join(text.split())


def _normal(text: str) -> str:
    return _spaced(undress(text)).casefold()


def _cosine(options: np.ndarray, answer: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(options, axis=1) * np.linalg.norm(answer)
    return (options @ answer) / np.where(lengths > 0, lengths, 1)


_SIMILARITIES = {
    "cosine": _cosine,
    "dot": lambda options, answer: options @ answer,
    "euclidean": lambda options, answer: -np.linalg.norm(options - answer, axis=1),
    "manhattan": lambda options, answer: -np.abs(options - answer).sum(axis=1),
}
