"""Repair of broken JSON, before `json.parse` reads it (paper E.5.2).

First the object is found, from the first opening bracket to its match. Then quotation marks and backslashes that the model
should have escaped are escaped, and `fast-json-repair` mends the rest. That library is of the model environment.
"""

import json
import re

from candor.answers.json import reject_constant

# What follows the mark that ends a string: of a key a colon; of a value the next key (even without a comma, or one of the
# format without its marks), a closing bracket or the end of the text; of an element of a list a comma. Possessive, here and
# below: nothing is tried twice.
_KEY = r'(?:"(?:[^"\\]|\\.)*+"|\'?(?:reasoning|answer|confidence_analysis|confidence)\b\'?)'
_AFTER_KEY = r"\s*+:"
_AFTER_VALUE = rf"\s*+(?:,\s*+)?+(?:{_KEY}\s*+:|[}}\]]|\Z)"
_AFTER_ELEMENT = r"\s*+(?:[,\]]|\Z)"

_FINE = r'(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))'  # in a string, written as it should be
_BEGINNING = re.compile(rf"{_FINE}*+")
_TO_ESCAPE = re.compile(rf'["\\]{_FINE}*+')  # a mark that should be escaped, and what is fine after it
_TO_END_OF_KEY, _TO_END_OF_VALUE, _TO_END_OF_ELEMENT = (
    re.compile(rf'(?:{_FINE}|\\|"(?!{after}))*+', re.DOTALL) for after in (_AFTER_KEY, _AFTER_VALUE, _AFTER_ELEMENT)
)
_MARK = re.compile(r'["{}\[\],:]')  # outside a string


def repair(text: str) -> str:
    r"""Return the JSON object in a text, mended; the text itself where it has no opening bracket.

    An object that is valid comes back as it stands, without what is around it. In a string, a quotation mark is taken for
    the end only where JSON could go on after it; others are escaped, as are backslashes that begin no escape (`\sqrt`,
    `\(`), which fast-json-repair would drop. `\frac` begins one, a form feed's, and stays. An object without an end goes
    to the last closing bracket of the text, or to its end where a quotation mark, and so perhaps a field, follows that.
    """
    from fast_json_repair import repair_json

    start = text.find("{")
    if start < 0:
        return text
    try:
        _, end = json.JSONDecoder(parse_constant=reject_constant).raw_decode(text, start)
        return text[start:end]
    except (ValueError, RecursionError):
        escaped = _escape(text, start)
    try:
        return repair_json(escaped, ensure_ascii=False)
    except RecursionError:  # brackets nest too deep, and an integer is so long that the library asks Python to read it
        return escaped
    except UnicodeEncodeError:  # half a surrogate pair, which the library cannot take
        return repair_json(escaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), ensure_ascii=False)


def _escape(text: str, start: int) -> str:
    """Return the object that begins at `start`, with its quotation marks and backslashes escaped."""
    written: list[str] = []
    brackets: list[str] = []
    done = position = start
    is_key = False
    while match := _MARK.search(text, position):
        mark, position = match[0], match.end()
        if mark == '"':
            rest = _TO_END_OF_KEY if is_key else _TO_END_OF_VALUE if brackets[-1] == "{" else _TO_END_OF_ELEMENT
            end = rest.match(text, position).end()
            fine = _BEGINNING.match(text, position, end).end()
            if fine < end:
                pieces = _TO_ESCAPE.findall(text, fine, end)
                written.append("\\".join((text[done:fine], *pieces[:-1], "")))
                done = end - len(pieces[-1])
            if end == len(text):
                break
            position = end + 1
            is_key = not is_key and brackets[-1] == "{"
        elif mark in "{[":
            brackets.append(mark)
            is_key = is_key or mark == "{"
        elif mark in "}]":
            brackets.pop()
            if not brackets:
                return "".join(written) + text[done:position]
        else:
            is_key = mark == "," and brackets[-1] == "{"
    rest = text[done:]
    end = rest.rfind("}") + 1
    return "".join(written) + (rest[:end] if end and '"' not in rest[end:] else rest)
