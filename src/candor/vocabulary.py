"""The words that every room of candor shares: scheme names, difficulties, the confidence scale."""

import re
from math import isfinite, log

DIFFICULTIES = ("easy", "medium", "hard")

ABSTENTION_LABELS = ("unanswerable", "abstain", "answer")
"""What a judge of abstention says of an answer (paper E.6.2)."""

LEVELS = 101
"""Number of confidences that a model can state: the integers 0 to 100."""

SCHEMES_WITHOUT_K = ("correctness-only", "log-loss", "brier-score", "brier-log-hybrid")
SCHEME_FAMILIES_WITH_K = ("log", "brier", "overconfidence", "underconfidence")
PAPER_SCHEMES = (
    "log-loss",
    "brier-score",
    "log-1",
    "brier-2",
    "log-1/ln202",
    "correctness-only",
    "overconfidence-1000",
    "overconfidence-4",
    "overconfidence-1",
    "brier-1",
    "underconfidence-1",
    "underconfidence-4",
    "brier-log-hybrid",
)
"""The paper's 13 schemes in the order of its tables (7 to 27)."""

BASELINES = ("base-json", "base-xml", "sft-xml")

_NUMBER = r"\d+(?:\.\d+)?(?:e[+-]?\d+)?"
_SCHEME_WITH_K = re.compile(rf"({'|'.join(SCHEME_FAMILIES_WITH_K)})-(?:({_NUMBER})|({_NUMBER})/(ln)?({_NUMBER}))")


def confidence_of(percent):
    """Map a verbalised integer (or array of them) in 0..100 to the confidence (percent + 0.5) / 101 in (0, 1).

    Paper: appendix E.1, stage 4.
    """
    return (percent + 0.5) / LEVELS


def parse_scheme_name(name: str) -> tuple[str, float | None]:
    """Split a scheme's name into its family and its k, None for a family without one.

    k is a positive number, a fraction or a number over a natural logarithm: `brier-2`, `log-1/2`, `log-1/ln202`.

    Raises:
        ValueError: no scheme has this name; the message lists what would have been valid.
    """
    if name in SCHEMES_WITHOUT_K:
        return name, None
    if match := _SCHEME_WITH_K.fullmatch(name):
        family, number, numerator, logarithm, denominator = match.groups()
        if number is not None:
            k = float(number)
        else:
            divisor = log(float(denominator)) if logarithm and float(denominator) > 0 else float(denominator)
            k = float(numerator) / divisor if divisor > 0 else -1.0
        if k > 0 and isfinite(k):
            return family, k
        raise ValueError(f"scheme {name!r}: k must be positive and finite")
    with_k = ", ".join(f"{family}-K" for family in SCHEME_FAMILIES_WITH_K)
    raise ValueError(
        f"no reward scheme is called {name!r}; valid: {', '.join(SCHEMES_WITHOUT_K)}, {with_k} with K > 0 such as 1, 0.5 or 1/ln202"
    )


def is_scheme_name(name: str) -> bool:
    """Tell whether `parse_scheme_name` knows a name."""
    try:
        parse_scheme_name(name)
    except ValueError:
        return False
    return True


def safe_name(name: str) -> str:
    """Return a name as it stands in paths: `log-1/ln202` is `log-1-ln202`."""
    return name.replace("/", "-")
