"""Repair of broken JSON, before `json.parse` reads it (paper E.5.2).

First the object is found, from the first opening bracket to its match. Then quotation marks and backslashes that the model
should have escaped are escaped, and `fast-json-repair` mends the rest. That library is of the model environment.
"""

import json
import re

from candor.answers.json import reject_constant

# What follows the mark that ends a string: of a key a colon; of a value the next key (even without a comma, or one of the
# format without its marks), a closing bracket or the end of the text; of an element of a list a comma. Possessive: nothing
# is tried twice.
_AFTER_KEY = re.compile(r"\s*+:")
_KEY = r'(?:"(?:[^"\\]|\\.)*+"|\'?(?:reasoning|answer|confidence_analysis|confidence)\b\'?)'
_AFTER_VALUE = re.compile(rf"\s*+(?:,\s*+)?+(?:{_KEY}\s*+:|[}}\]]|\Z)", re.DOTALL)
_AFTER_ELEMENT = re.compile(r"\s*+(?:[,\]]|\Z)")
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
_MARK = re.compile(r'["\\{}\[\],:]')


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
    except UnicodeEncodeError:  # half a surrogate pair, which the library cannot take
        return repair_json(escaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace"), ensure_ascii=False)


def _escape(text: str, start: int) -> str:
    """Return the object that begins at `start`, with its quotation marks and backslashes escaped."""
    written: list[str] = []
    brackets: list[str] = []
    done = position = start
    in_string = is_key = False
    while match := _MARK.search(text, position):
        mark, index, position = match[0], match.start(), match.end()
        if not in_string:
            if mark == '"':
                in_string = True
            elif mark in "{[":
                brackets.append(mark)
            elif mark in "}]":
                brackets.pop()
                if not brackets:
                    return "".join(written) + text[done:position]
            if mark in "{,:":
                is_key = mark != ":" and brackets[-1] == "{"
        elif mark == "\\":
            if escape := _ESCAPE.match(text, index):
                position = escape.end()
            else:
                written.append(text[done:index] + "\\")
                done = index
        elif mark == '"':
            after = _AFTER_KEY if is_key else _AFTER_VALUE if brackets[-1] == "{" else _AFTER_ELEMENT
            if after.match(text, position):
                in_string, is_key = False, not is_key and brackets[-1] == "{"
            else:
                written.append(text[done:index] + "\\")
                done = index
    rest = text[done:]
    end = rest.rfind("}") + 1
    return "".join(written) + (rest[:end] if end and '"' not in rest[end:] else rest)
