"""A card for each dataset and each model: where it comes from, under which licence, and what is in it (paper E.2, E.10)."""

from typing import Any

from candor.config import Dataset, FileSource, GeneratedSource, HubSource, Model, PackageSource
from candor.vocabulary import DIFFICULTIES

COLUMNS = {
    "question_id": "the source's own id, or a digest of its content where it has none",
    "prompt": "the user's message, whole",
    "gold": "the right answer",
    "difficulty": "easy, medium or hard",
}

_SOURCES_SHUFFLED = (
    "The order of the rows and of each row's sources is drawn from the seed and the ids alone (paper E.8)."
)
MADE = {
    "hotpotqa": f"Rows with exactly 10 paragraphs and 2 supporting titles; difficulty is their own level. {_SOURCES_SHUFFLED}",
    "hotpotqa-modified": (
        "Of each row of HotpotQA two sources are removed, by a draw from the seed and its id: two irrelevant ones (easy), one "
        f"irrelevant and one relevant (medium), or both relevant ones (hard), each with probability 1/3 (paper E.2). "
        f"{_SOURCES_SHUFFLED}"
    ),
    "bigmath": (
        "The prompt is the question alone (paper E.8). Difficulty is by the terciles of llama8b_solve_rate on train, low is "
        "hard; 3% of the rows are test. The order of the rows is drawn from the seed and their ids alone."
    ),
    "deepmath": (
        "The prompt is the question alone (paper E.8). Difficulty is by the terciles of the authors' difficulty on train, low "
        "is easy. The order of the rows is drawn from the seed and their ids alone."
    ),
    "arithmetic": (
        "Sums of one line that candor generates; a sum depends on its split and number alone. Easy: two numbers added or "
        "subtracted; medium: a product and a number; hard: fractions."
    ),
}

_HOTPOTQA = (
    "Z. Yang, P. Qi, S. Zhang, Y. Bengio, W. W. Cohen, R. Salakhutdinov, C. D. Manning (2018): HotpotQA: a dataset for "
    "diverse, explainable multi-hop question answering. EMNLP."
)
CITATIONS = {
    "hotpotqa": _HOTPOTQA,
    "hotpotqa-modified": _HOTPOTQA,
    "bigmath": (
        "A. Albalak, D. Phung, N. Lile, R. Rafailov, K. Gandhi, L. Castricato, A. Singh, C. Blagden, V. Xiang, D. Mahan, "
        "N. Haber (2025): Big-Math: a large-scale, high-quality math dataset for reinforcement learning in language models. "
        "arXiv:2502.17387."
    ),
    "deepmath": (
        "Z. He, T. Liang, J. Xu, Q. Liu, X. Chen, Y. Wang, L. Song, D. Yu, Z. Liang, W. Wang, Z. Zhang, R. Wang, Z. Tu, H. Mi, "
        "D. Yu (2025): DeepMath-103K: a large-scale, challenging, decontaminated, and verifiable mathematical dataset for "
        "advancing reasoning. arXiv:2504.11456."
    ),
}
"""Of the datasets that others published, by kind."""


def dataset_card(dataset: Dataset, report: dict[str, Any]) -> str:
    """Write the card of a dataset in Markdown.

    Args:
        dataset: its settings.
        report: what its build read, dropped and kept (`report.json`).
    """
    facts = {
        "source": _source(dataset.source),
        "licence": dataset.licence,
        "grader": dataset.grader,
        "seed": report["seed"],
    }
    if dataset.difficulty_source is not None:
        facts["difficulty from"] = _source(dataset.difficulty_source)
    splits = [report["train"], report["test"]]
    rows = {"read": [split["read"] for split in splits]}
    for reason in sorted({reason for split in splits for reason in split["dropped"]}):
        rows[f"dropped: {reason}"] = [split["dropped"].get(reason, 0) for split in splits]
    rows |= {"kept": [split["kept"] for split in splits], "in the table": [split["rows"] for split in splits]}
    rows |= {name: [split["difficulty"][name] for split in splits] for name in DIFFICULTIES}
    made = [MADE[dataset.kind]]
    if isinstance(dataset.source, GeneratedSource) and dataset.kind.startswith("hotpotqa"):
        made.insert(0, "Two-hop questions over made-up entities, in HotpotQA's schema, that candor generates.")
    if "terciles" in report["train"]:
        made.append(f"The terciles are {' and '.join(f'{level:g}' for level in report['train']['terciles'])}.")
    if report["in_both_splits"]:
        made.append(f"{report['in_both_splits']} questions are in both splits.")
    parts = [
        f"# {dataset.label}",
        _table(("", ""), facts.items()),
        "## Rows",
        _table(("", "train", "test"), ((name, *counts) for name, counts in rows.items())),
        "## Columns",
        _table(("column", ""), ((f"`{name}`", what) for name, what in COLUMNS.items())),
        "## How it was made",
        " ".join(made),
    ]
    if not isinstance(dataset.source, GeneratedSource):
        parts += ["## Citation", CITATIONS[dataset.kind]]
    return "\n\n".join(parts) + "\n"


def model_card(model: Model, files: dict[str, int]) -> str:
    """Write the card of a base model in Markdown; `files` are the sizes in bytes of what its folder holds, by name."""
    facts = {"source": _source(model.source), "licence": model.licence, "size": f"{sum(files.values()):,} bytes"}
    made = (
        "Converted from the package's GGUF weights, which are quantised, to safetensors in float32."
        if isinstance(model.source, PackageSource)
        else "The hub's files as they are."
    )
    parts = [
        f"# {model.label}",
        _table(("", ""), facts.items()),
        "## How it was made",
        made,
        "## Files",
        _table(("file", "bytes"), ((f"`{name}`", f"{size:,}") for name, size in sorted(files.items()))),
    ]
    return "\n\n".join(parts) + "\n"


def _source(source: HubSource | FileSource | GeneratedSource | PackageSource) -> str:
    if isinstance(source, HubSource):
        config = f", configuration `{source.config}`" if source.config else ""
        return f"the hub, `{source.hub}`{config}, revision `{source.revision}`"
    if isinstance(source, PackageSource):
        return f"the package `{source.package}`"
    if isinstance(source, FileSource):
        names = (f"{split} {', '.join(f'`{path}`' for path in getattr(source, split))}" for split in ("train", "test"))
        return f"files: {'; '.join(names)}"
    return f"generated: {source.generated_train} for train, {source.generated_test} for test"


def _table(header: tuple[str, ...], rows) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
