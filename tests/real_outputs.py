"""Real outputs of twelve models, as others published them, and how the confidence track reads them.

`tests/unit/test_answers_real_outputs.py` tests it, `benchmarks/model_outputs.py` prints the table of docs/model_outputs.md.
"""

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from candor import tables
from candor.answers import xml
from candor.answers.response import Response
from candor.confidence.grading import read_outputs
from candor.mcq.extraction import RANDOM, extract_letter

WITH_ANALYSIS = ("think", "answer", "analysis", "confidence")
WITHOUT_ANALYSIS = ("think", "answer", None, "confidence")
RLCR_TAGS = {
    "Base": WITHOUT_ANALYSIS,
    "RLVR": WITHOUT_ANALYSIS,
    "RLVR-Classifier": WITHOUT_ANALYSIS,
    "Answer-Prob": WITHOUT_ANALYSIS,
    "RLCR": WITH_ANALYSIS,
}
LETTERS = "ABCDEFGHIJ"
COLUMNS = (
    "XML: answer",
    "XML: confidence",
    "JSON: answer",
    "JSON: confidence",
    "as asked: answer",
    "as asked: confidence",
)
"""As the paper's XML, as its JSON, repaired, and in the format that the model was asked for."""


@dataclass(frozen=True, slots=True)
class Real:
    """One output."""

    text: str
    gold: str
    options: tuple[str, ...]
    """Of a question that is answered by a letter, else empty."""


def load(data: Path) -> dict[str, list[Real]]:
    """Return the outputs of each model, by its name and what it was asked."""
    folder = data / "model_outputs"
    models: dict[str, list[Real]] = {}
    for row in _rows(folder / "rlcr/commonsenseqa_5variants.jsonl"):
        for variant in RLCR_TAGS:
            real = Real(row[f"{variant}-output_0"], row["answer"], ())
            models.setdefault(f"{variant} (RLCR, CommonsenseQA)", []).append(real)
    for file in sorted((folder / "mmlu_pro").glob("*.jsonl")):
        for row in _rows(file):
            real = Real(row.get("model_outputs") or row["generated_text"], row["answer"], tuple(row["options"]))
            models.setdefault(f"{file.stem} (MMLU-Pro)", []).append(real)
    for row in _rows(folder / "mmlu_answer_confidence/final_results_v1.jsonl"):
        real = Real(row["raw_response"], row["correct_letter"], tuple("ABCD"))
        models.setdefault(f"{row['model_id']} (MMLU with confidence)", []).append(real)
    return models


def generations(outputs: list[Real]) -> pl.DataFrame:
    rows = [(str(index), 0, output.text, "stop", 0, 0, None, None) for index, output in enumerate(outputs)]
    return pl.DataFrame(rows, tables.GENERATIONS, orient="row")


def statuses(outputs: list[Real], format: str) -> tuple[Counter[str], Counter[str]]:
    """Count how answers and confidences are read in a format of the paper, `xml` or `json`."""
    read = read_outputs(generations(outputs), format, repair_json=format == "json")
    return Counter(read["answer_status"]), Counter(read["confidence_status"])


def statuses_as_asked(model: str, outputs: list[Real]) -> tuple[Counter[str], Counter[str]]:
    """Count likewise in the format that the model was asked for: RLCR's tags and scale, or a letter.

    A letter's status is the rule of the multiple-choice track that found it; no confidence is read beside it.
    """
    if "(RLCR" not in model:
        found = [extract_letter(output.text, LETTERS[: len(output.options)], output.options) for output in outputs]
        return Counter("no letter" if each.rule == RANDOM else each.rule for each in found), Counter()
    responses = [xml.parse(output.text, RLCR_TAGS[model.split()[0]], xml.read_number) for output in outputs]

    def status(response: Response, part: str | float | None) -> str:
        return "missing" if part is None else "valid" if response.well_formed else "salvaged"

    return (
        Counter(status(response, response.answer) for response in responses),
        Counter(status(response, response.confidence) for response in responses),
    )


def table_row(model: str, outputs: list[Real]) -> str:
    """Write a row of the table in Markdown."""
    counted = [*statuses(outputs, "xml"), *statuses(outputs, "json"), *statuses_as_asked(model, outputs)]
    cells = [", ".join(f"{number} {name}" for name, number in sorted(each.items())) or "-" for each in counted]
    return f"| {' | '.join((model, str(len(outputs)), *cells))} |"


def _rows(path: Path) -> list[dict]:
    with path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]
