"""Outputs in JSON: reading them, rewarding and enforcing their format, and rewriting them as XML (paper E.3, E.5.2).

Broken JSON is not repaired here: `json_repair.repair` is a function from text to text that runs before `parse`.
"""

import json
import re
from typing import Any, NoReturn

from candor.answers import xml
from candor.answers.response import Response
from candor.vocabulary import LEVELS

_TEXTS = ("reasoning", "answer", "confidence_analysis")


def parse(text: str) -> Response:
    """Read an output that should be one JSON object, with whitespace around it and nothing else (paper E.5.2).

    The three texts must be strings and the confidence an integer in 0..100 (not `true`, `50.0` or `"50"`). A field that
    is not so is None, as is an empty answer, and the others are kept. The output is well-formed where all four are read.
    Keys beyond the four are ignored; of a key that is given twice the last one counts. Broken JSON, NaN and
    Infinity leave nothing to read. Half a surrogate pair, which no file could hold, is read as U+FFFD.
    """
    try:
        # An integer of more than 4300 digits would be a ValueError and take the whole object with it.
        fields = json.loads(text.strip(), parse_int=_small_integer, parse_constant=reject_constant)
    except (ValueError, RecursionError):  # the latter where brackets nest too deep
        fields = None
    if not isinstance(fields, dict):
        return Response(None, None, None, None, well_formed=False)
    reasoning, answer, analysis = (_text(fields.get(key)) for key in _TEXTS)
    confidence = fields.get("confidence")
    if type(confidence) is not int or not 0 <= confidence < LEVELS:  # bool is an int
        confidence = None
    parts = (reasoning, answer if answer and answer.strip() else None, analysis, confidence)
    return Response(*parts, well_formed=None not in parts)


def format_reward(text: str, reward: float) -> float:
    """Return `reward` where the output is well-formed, else 0 (paper E.5.2)."""
    return reward if parse(text).well_formed else 0.0


def schema(answer_limit: int | None) -> dict[str, Any]:
    """Return the JSON schema that makes an engine generate the format (paper E.6.1).

    `answer_limit` is the longest answer in characters, None for no limit.
    """
    string = {"type": "string"}
    return {
        "type": "object",
        "properties": {
            "reasoning": string,
            "answer": string if answer_limit is None else {"type": "string", "maxLength": answer_limit},
            "confidence_analysis": string,
            "confidence": {"type": "integer", "minimum": 0, "maximum": LEVELS - 1},
        },
        "required": ["reasoning", "answer", "confidence_analysis", "confidence"],
        "additionalProperties": False,
    }


# Continuations of commands that begin with \t or \n. Those that are English words as well (\ne, \ni, \nless, \nexists)
# are left out: a newline before them is more likely a newline. `\tan` is too common for that, so it only must not be the
# article before a word.
_AFTER_TAB = r"an(?! [A-Za-z]{2})|anh|au|binom|ext|extbf|extit|extrm|frac|heta|herefore|ilde|imes|o|op|riangle"
_AFTER_NEWLINE = r"abla|cong|eq|geq|leq|ot|otin|sim|subseteq|u"
_EATEN = re.compile(rf"[\b\f\r](?=[A-Za-z])|\t(?=(?:{_AFTER_TAB})(?![A-Za-z]))|\n(?=(?:{_AFTER_NEWLINE})(?![A-Za-z]))")
_ESCAPES = {"\b": r"\b", "\f": r"\f", "\r": r"\r", "\t": r"\t", "\n": r"\n"}


def unescape_latex(text: str) -> str:
    r"""Recover LaTeX from a JSON string whose writer escaped its backslashes too little or too much (paper E.3).

    Two rules, since the paper does not give its own:

    1. Escaped too much (`\\\\frac` in the raw JSON, `\\frac` here): where every run of backslashes is even and one stands
       before a command of two letters or more, all runs are halved. One odd run, as in `\begin{matrix} 1 \\ 2`, shows
       that the text was escaped rightly.
    2. Escaped too little (`\frac`, `\times` in the raw JSON; a form feed and `rac`, a tab and `imes` here): a backspace,
       form feed or carriage return before a letter becomes `\b`, `\f` or `\r`, for prose has none. A tab or newline
       becomes `\t` or `\n` only before the rest of a known command (`imes`, `heta`, `eq`, `abla`, ...).
    """
    runs = re.findall(r"\\+", text)
    if all(len(run) % 2 == 0 for run in runs) and re.search(r"\\[A-Za-z]{2}", text):
        text = re.sub(r"\\+", lambda run: run[0][: len(run[0]) // 2], text)
    return _EATEN.sub(lambda control: _ESCAPES[control[0]], text)


def to_xml(response: Response) -> str | None:
    """Rewrite a response as XML with its LaTeX recovered, the target of SFT (paper E.3).

    None where it is not well-formed, or where one of its texts holds a tag, so that the XML would not be either.
    """
    if not response.well_formed:
        return None
    # Whitespace goes last: a form feed at the beginning may be that of \frac.
    texts = (unescape_latex(getattr(response, key)).strip() for key in _TEXTS)
    recovered = Response(*texts, response.confidence, well_formed=True)
    target = xml.render(recovered)
    return target if xml.parse(target) == recovered else None


def _text(value: Any) -> str | None:
    """Return a string without halves of surrogate pairs; None for anything else."""
    if not isinstance(value, str):
        return None
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _small_integer(digits: str) -> int | None:
    """Read an integer that can be a confidence; None for a longer one."""
    return int(digits) if len(digits) <= 3 else None


def reject_constant(constant: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's reader would take."""
    raise ValueError(f"{constant} is not JSON")
