"""Outputs in XML: reading them, rewarding their format, enforcing it, and writing them (paper E.3, E.5.1, E.6.1, E.8).

The format is four elements in order. It only looks like XML: nothing is escaped (`a < b & c` stands as it is), and a tag
is exactly `<name>` or `</name>`. All functions take time linear in the length of the text: none leaves the matching of
a whole output to one regular expression, which could backtrack, or stop at the first newline.
"""

import re
from collections.abc import Callable

from candor.answers.response import Response

Tags = tuple[str | None, str | None, str | None, str | None]
"""Names of the elements for reasoning, answer, analysis and confidence, in order; None where a format has no such one."""

TAGS: Tags = ("reasoning", "answer", "confidence_analysis", "confidence")

ANSWER_LIMIT = 1000
"""Longest answer that is rewarded, in characters (paper E.5.1)."""

_PERCENT = re.compile(r"100|[1-9]?[0-9]")
# A number, alone or as the only one of a sentence ("I am 90% confident in this answer."). Possessive, so that a long run
# of digits is tried once.
_NUMBER = re.compile(r"(?:[^\d%]*\s)?([0-9]++(?:\.[0-9]*+)?)(%?)(?:\s[^\d%]*)?")


def read_percent(text: str) -> int | None:
    """Read a confidence by the paper's rule, an integer between 0 and 100 inclusive (E.5.1); None where it is not one.

    ASCII digits, with whitespace around them and nothing else. `+5`, `50.0`, `50%`, `1e1` and `٥` are not integers as
    the prompt asks for them. Nor are `007` and `05`: no one writes a percentage so, and the enforcer's grammar does not
    either.
    """
    text = text.strip()
    return int(text) if _PERCENT.fullmatch(text) else None


def read_number(text: str) -> float | None:
    """Read a confidence by RLCR's looser scale, as a fraction in 0..1; None where there is not exactly one number.

    A number up to 1 is a fraction, one above 1 and up to 100 a percentage, and with a `%` it is a percentage whatever
    its size: `0.9`, `90`, `100.`, `90%`. It may stand in a sentence that holds no other number, as in RLCR's outputs:
    `I am 90% confident in this answer.` Two numbers (`9 out of 10`), signs and exponents are not read.
    """
    match = _NUMBER.fullmatch(text.strip())
    if match is None:
        return None
    value = float(match[1])
    if match[2] or value > 1:
        value /= 100
    return value if value <= 1 else None


def parse(
    text: str, tags: Tags = TAGS, read_confidence: Callable[[str], int | float | None] = read_percent
) -> Response:
    """Read an output, salvaging what is readable of one that is not well-formed (paper E.6.1).

    An element runs from an opening tag to the next closing one of its name, without another opening one between. Of
    several, the last one is taken; for the confidence, the last one that is valid. An element stands for itself
    wherever it is found, and its content is taken as it is, tags of other names included.

    Well-formed is an output that `follows_format`, with an answer that is not empty and a valid confidence.

    Args:
        text: the output as it came.
        tags: the names of the elements; for RLCR's outputs ("think", "answer", "analysis", "confidence"), with None in
            place of "analysis" for those of its models that were not asked for one.
        read_confidence: `read_percent`, or `read_number` for RLCR's scale.
    """
    reasoning, answer, analysis = (_last(_elements(text, tag)) for tag in tags[:3])
    values = map(read_confidence, reversed(_elements(text, tags[3])))
    confidence = next((value for value in values if value is not None), None)
    answer = answer or None
    readable = (answer is not None or tags[1] is None) and (confidence is not None or tags[3] is None)
    return Response(reasoning, answer, analysis, confidence, readable and follows_format(text, tags))


def follows_format(text: str, tags: Tags = TAGS) -> bool:
    """Tell whether a text is the elements in order, whatever they hold: the 'full format' of E.5.1.

    Every tag stands there exactly once, with nothing but whitespace around and between the elements. Whether the
    confidence is valid does not matter: E.5.1 rewards that on its own.
    """
    names = [tag for tag in tags if tag is not None]
    expected = [f"<{slash}{name}>" for name in names for slash in ("", "/")]
    if any(text.count(tag) != 1 for tag in expected):
        return False
    found = [text.index(tag) for tag in expected]
    if found != sorted(found):
        return False
    ends = [0, *(start + len(tag) for start, tag in zip(found[1::2], expected[1::2], strict=True))]
    starts = [*found[::2], len(text)]
    return not any(text[end:start].strip() for end, start in zip(ends, starts, strict=True))


def tag_reward(text: str) -> float:
    """Return 0.1 for each of the eight opening and closing tags that appears exactly once (paper E.5.1)."""
    return sum(text.count(f"<{slash}{tag}>") == 1 for tag in TAGS for slash in ("", "/")) / 10


def format_reward(text: str) -> float:
    """Return the format reward of an XML output, 0 to 2.8 (paper E.5.1).

    The sum of four rewards, each independent of the others and of whether the answer is right: 0.5 for the full format
    (`follows_format`), `tag_reward`, 1 for a valid confidence, and 0.5 for an answer of at most 1000 characters. The
    last two look at what `parse` reads, which is what the scheme's reward grades too.
    """
    response = parse(text)
    return (
        0.5 * follows_format(text)
        + tag_reward(text)
        + 1.0 * (response.confidence is not None)
        + 0.5 * (response.answer is not None and len(response.answer) <= ANSWER_LIMIT)
    )


def grammar() -> str:
    """Return the grammar, in xgrammar's EBNF, that makes an engine generate the format (paper E.6.1).

    Whatever it accepts, `follows_format` accepts, and the confidence is valid. Only the answer may come out empty.
    """
    # Contents are free, but for `</` and for `<r`, `<a`, `<c`, with which the opening tags begin that would stand there
    # twice. So `a < b` and `a<b` can be written. One character of look-ahead keeps the check of a token at a hundredth of
    # a millisecond; with two it took 33 ms, for each token of each output.
    return r"""root ::= reasoning "\n" answer "\n" analysis "\n" confidence
reasoning ::= "<reasoning>" content "</reasoning>"
answer ::= "<answer>" content "</answer>"
analysis ::= "<confidence_analysis>" content "</confidence_analysis>"
confidence ::= "<confidence>" [ \n]? percent [ \n]? "</confidence>"
content ::= ([^<] | "<" [^</rac])*
percent ::= "100" | [1-9]? [0-9]
"""


def render(response: Response) -> str:
    """Write a response as XML, the target of SFT (paper E.3); a part that is None is left out.

    `parse(render(r)) == r` for a response that `parse` could have read, unless one of its texts holds a tag.
    """
    parts = (response.reasoning, response.answer, response.confidence_analysis, response.confidence)
    return "\n".join(f"<{tag}>{part}</{tag}>" for tag, part in zip(TAGS, parts, strict=True) if part is not None)


def _elements(text: str, tag: str | None) -> list[str]:
    """Return the contents of the elements of a name, in order."""
    if tag is None:
        return []
    opening, closing = f"<{tag}>", f"</{tag}>"
    contents = []
    after = 0
    while (end := text.find(closing, after)) >= 0:
        start = text.rfind(opening, after, end)
        if start >= 0:
            contents.append(text[start + len(opening) : end])
        after = end + len(closing)
    return contents


def _last(contents: list[str]) -> str | None:
    return contents[-1].strip() if contents else None
