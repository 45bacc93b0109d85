"""Evaluation protocols: which labels the options carry, what is asked for, and how it is read (paper 3, 4, D.2).

Those named `md-...` are M&D with other labels (figure 8). Its dashes are `md` itself, and its A to E are `ml`.
"""

from dataclasses import dataclass
from string import ascii_uppercase
from typing import Literal


@dataclass(frozen=True, slots=True)
class Protocol:
    """One way to ask a multiple-choice question."""

    name: str
    """As in the configuration and in paths."""
    title: str
    """As in tables and figures."""
    labels: tuple[str, ...]
    """One for each position, or a single one for all of them; empty text where options carry none."""
    reads: Literal["letter", "text", "likelihood"]
    """The letter of the option's position, the option's whole text, or the log-likelihood of each option's text."""

    def label(self, position: int) -> str:
        """Return the label shown at a position, from 0.

        Raises:
            ValueError: there are fewer labels.
        """
        if len(self.labels) == 1:
            return self.labels[0]
        if position >= len(self.labels):
            raise ValueError(f"protocol {self.name!r} has labels for {len(self.labels)} options, not {position + 1}")
        return self.labels[position]

    @property
    def has_distinct_labels(self) -> bool:
        """Whether a label tells which option it stands for."""
        return len(self.labels) > 1


LETTERS = tuple(ascii_uppercase)
"""Labels of S&L and M&L, and what S&L and S&D ask for: the letter of a position."""

# The paper's text at hand has lost its emojis; these are ours, of things that are neither right nor wrong.
_EMOJIS = ("🍎", "🚲", "🌙", "🎈", "🐟", "🌵", "🔑", "🎸", "🪁", "🧦")

PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        Protocol("sl", "S&L", LETTERS, "letter"),
        Protocol("sd", "S&D", ("-",), "letter"),
        Protocol("ml", "M&L", LETTERS, "text"),
        Protocol("md", "M&D", ("-",), "text"),
        Protocol("cloze", "Cloze", ("",), "likelihood"),
        Protocol("md-emoji", "Matched-emoji", ("🔹",), "text"),
        Protocol("md-x", "Matched-x", ("X",), "text"),
        Protocol("md-emojis", "Different-emoji", _EMOJIS, "text"),
        Protocol("md-numbers", "1/2/3/4/5", tuple(map(str, range(1, 27))), "text"),
    )
}
"""By name; the configuration admits these names alone."""
