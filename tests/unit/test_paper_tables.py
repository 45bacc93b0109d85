"""The paper's printed confidence metrics obey the identities of their definitions."""

from pathlib import Path

import polars as pl
import pytest

from candor.confidence.metrics import METRICS
from candor.report.tables import CONFIDENCE_METRICS, scheme_label
from candor.vocabulary import BASELINES, PAPER_SCHEMES

PRINT = 1.5e-4  # three figures, each rounded to 4 digits


@pytest.fixture(scope="module")
def printed() -> pl.DataFrame:
    return pl.read_csv(Path(__file__).parents[2] / "resources/paper_tables/confidence_metrics.csv")


def test_all_rows_are_there(printed):
    assert printed.height == 376
    assert printed.columns == ["table", *CONFIDENCE_METRICS.names()[: 4 + len(METRICS)]]
    assert set(printed["scheme"]) == {*BASELINES, *PAPER_SCHEMES}


def test_brier_1_is_accuracy_less_brier(printed):
    gap = (printed["brier_1"] - (printed["accuracy"] - printed["brier"])).abs()
    assert gap.max() <= PRINT


def test_bias_is_within_ece(printed):
    assert (printed["calibration_bias"].abs() - printed["ece"]).max() <= PRINT


def test_auroc_is_empty_only_where_accuracy_is_out_of_range(printed):
    empty = printed.filter(pl.col("auroc").is_null())
    assert empty["accuracy"].max() <= 0.001 + 5e-5


def test_every_printed_scheme_has_a_label(printed):
    assert len({scheme_label(name) for name in printed["scheme"].unique()}) == 16
