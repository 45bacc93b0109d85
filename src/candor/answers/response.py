"""What was read from one output of a model, whichever format it was written in."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Response:
    """The four parts of an output (paper, appendix E.3); a part that cannot be read is None.

    Texts from XML have no surrounding whitespace; those from JSON are the strings as they stand there. An answer of
    nothing but whitespace is none.
    """

    reasoning: str | None
    answer: str | None
    confidence_analysis: str | None
    confidence: int | float | None
    """As verbalised, an integer in 0..100; in 0..1 where it was read with `xml.read_number`."""
    well_formed: bool
    """Whether the output obeys the whole format, as opposed to parts that were salvaged from it."""
