"""The paper's table 2: a model's accuracy under each reward scheme, by dataset and difficulty."""

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from candor.report.layout import LATEX_ESCAPES, Cell, Table
from candor.report.tables import marked, scheme_cell, scheme_label
from candor.schemes import Scheme, classify
from candor.vocabulary import DIFFICULTIES, LEVELS, confidence_of

CATEGORIES = ("independent of confidence", "hackable", "non-hackable")
"""What schemes are divided into, in the table's order."""

ACCURACY = pl.Schema(
    {
        **dict.fromkeys(("model", "dataset", "difficulty", "scheme", "category"), pl.String),
        **dict.fromkeys(("accuracy", "accuracy_low", "accuracy_high"), pl.Float64),
        **dict.fromkeys(("n_questions", "n_samples"), pl.Int64),
    }
)


def category(scheme: Scheme) -> str:
    """Return which of CATEGORIES a scheme belongs to: whether it sees the confidence, then whether it can be hacked."""
    stated = confidence_of(np.arange(LEVELS))
    if not np.ptp(scheme.f(stated)) and not np.ptp(scheme.g(stated)):
        return CATEGORIES[0]
    return CATEGORIES[1 if classify(scheme).hackable else 2]


def accuracy(frame: pl.DataFrame, categories: Mapping[str, str]) -> pl.DataFrame:
    """Select what table 2 shows, as a frame of ACCURACY, unrounded.

    Datasets that have difficulties come first and are shown by difficulty, the others as a whole. Baselines are left out,
    as in print.

    Args:
        frame: of `report.tables.CONFIDENCE_METRICS`, all of one model.
        categories: one of CATEGORIES for each scheme.
    """
    split = (pl.col("difficulty") != "all").any().over("dataset")
    return (
        frame.filter(pl.col("scheme").is_in(list(categories)))
        .with_columns(category=pl.col("scheme").replace_strict(categories, return_dtype=pl.String), split=split)
        .filter(pl.col("split") == (pl.col("difficulty") != "all"))
        .sort(~pl.col("split"), maintain_order=True)
        .sort(pl.col("category").replace_strict({name: i for i, name in enumerate(CATEGORIES)}), maintain_order=True)
        .select(ACCURACY.names())
    )


def accuracy_table(frame: pl.DataFrame) -> Table:
    """Lay out a frame of ACCURACY, not empty: a row for each scheme, a column for each dataset and difficulty.

    The best figure of a column is bold, the second best underlined; lines part the categories.
    """
    order = ["all", *DIFFICULTIES]
    keys = sorted(
        frame.select("dataset", "difficulty").unique(maintain_order=True).rows(),
        key=lambda key: (frame["dataset"].unique(maintain_order=True).to_list().index(key[0]), order.index(key[1])),
    )
    schemes = dict(zip(frame["scheme"], frame["category"], strict=True))
    found = {tuple(row[:3]): row[3] for row in frame.select("dataset", "difficulty", "scheme", "accuracy").iter_rows()}
    columns = [marked("accuracy", [found.get((*key, scheme)) for scheme in schemes]) for key in keys]
    rows: list[list[Cell] | None] = [
        [scheme_cell(scheme), *cells] for scheme, *cells in zip(schemes, *columns, strict=True)
    ]
    for index, (above, below) in reversed(list(enumerate(pairwise(schemes.values()), 1))):
        if above != below:
            rows.insert(index, None)
    heads = [Cell("Reward Scheme")]
    for dataset, difficulty in keys:
        text = dataset if difficulty == "all" else f"{dataset} {difficulty}"
        heads.append(Cell(text, latex=difficulty.translate(LATEX_ESCAPES)))
    datasets = [dataset for dataset, _ in keys]
    parts = [
        f"{name} ({', '.join(scheme_label(scheme) for scheme, of in schemes.items() if of == name)})"
        for name in dict.fromkeys(schemes.values())
    ]
    return Table(
        f"{frame['model'][0]}: accuracy by dataset and difficulty",
        heads,
        rows,
        f"From top to bottom: {'; '.join(parts)}.",
        [("", 1), *((dataset, datasets.count(dataset)) for dataset in dict.fromkeys(datasets))],
    )
