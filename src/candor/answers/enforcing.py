"""What an engine enforces while it samples, so that the output obeys its format (paper E.5.2, E.6.1)."""

from typing import Any

from candor.answers import json, xml


def enforcement(format: str, json_answer_limit: int | None) -> dict[str, Any]:
    """Return the enforcer's rule: `{"json": schema}` or `{"grammar": xgrammar's EBNF}`, as vLLM calls them.

    Args:
        format: "xml" or "json".
        json_answer_limit: longest answer in JSON in characters, None for no limit.
    """
    return {"json": json.schema(json_answer_limit)} if format == "json" else {"grammar": xml.grammar()}
