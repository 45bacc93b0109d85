"""Options that refer to other options by their labels ("A and B"), which is lost where labels change or are not shown."""

import re
from collections.abc import Sequence
from string import ascii_uppercase

# Words that may stand before such a pair, in the languages of our benchmarks. Before any other word, as in "hepatitis A
# and B", the letters name something else.
_CUES = re.compile(
    "both|either|neither|only|answers?|options?|choices?|alternatives?|of|in|for|with|as"
    "|sowohl|weder|entweder|nur|beide|antwort(?:en)?|bei|wie|von"
    "|fois|soit|ni|seulement|réponses?|propositions?|en|les"
    "|sia|né|solo|soltanto|entramb[ei]|rispost[ae]|opzion[ei]|di"
    "|tanto|ambas|ambos|solamente|sólo|respuestas?|opción|opciones",
    re.IGNORECASE,
)
_AND = r"(?:and|or|nor|und|oder|noch|als auch|sowie|et|ou|ni|e|ed|o|sia|che|né|y|como|&|/)"
_LETTER = r"[(\"'“„]?(?P<{name}>[A-J])[)\"'”“]?"
_PAIR = re.compile(
    rf"(?:^|(?<=\s))(?:(?P<cue>\w+)\s+)?(?:[(]?[A-J][)]?,\s*)*{_LETTER.format(name='first')},?\s+{_AND}\s+"
    rf"(?:{_AND}\s+)?{_LETTER.format(name='second')}(?![\w'’°])"
)
_NAMED = re.compile(
    r"\b(?:answers?|options?|choices?|antwort|réponse|risposta|opzione|respuesta|opción)\s+[(]?([A-J])[)]?(?![\w'’])",
    re.IGNORECASE,
)


def refers_to_labels(question: str, options: Sequence[str]) -> bool:
    """Tell whether an option refers to options by letter, in English, French, German, Italian or Spanish.

    "A and B", "both A and C", "wie bei A oder B" and "answer C is wrong" do, if the letters are labels of the question's
    options and the question itself does not name things by them. "All of the above" does not: it needs no label.
    """
    labels = set(ascii_uppercase[: len(options)])
    labels -= set(re.findall(r"(?<![\w'’])([B-J])(?![\w'’])", question))  # A alone is an article in English
    return any(_refers(option, labels) for option in options)


def _refers(option: str, labels: set[str]) -> bool:
    for pair in _PAIR.finditer(option):
        first, second, cue = pair["first"], pair["second"], pair["cue"]
        if first != second and {first, second} <= labels and (cue is None or _CUES.fullmatch(cue)):
            return True
    return any(name[1] in labels for name in _NAMED.finditer(option) if name[1].isupper())
