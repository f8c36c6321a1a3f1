"""Where machine time went; and what a table needs besides its module: nothing."""

import re

import pytest

from nephoscope.analysis.durations import DurationRow, durations_of
from nephoscope.analysis.query import query
from nephoscope.analysis.table import in_columns
from nephoscope.analysis.tables import frame_of, to_parquet
from nephoscope.insights.registry import analyse
from tests.docs.pages import ROOT
from tests.unit.analysis.study_builder import inputs, rows, trial

SAYS_WHICH = ("docs/reference/results-folder.md", "src/nephoscope/report/templates/bundle.md")


def test_time_is_summed_over_finished_trials_whether_or_not_they_count() -> None:
    made = [
        trial("1", "a", duration_s=10.0, attempts=2),
        trial("2", "a", duration_s=20.0, reasons=["busy"], verdict="invalid"),
        trial("3", "a", duration_s=5.0, state="failed", verdict=None),
        trial("4", "b", duration_s=7.0, also=["tpcc-same"]),
    ]
    found = {(row.configuration, row.benchmark): row for row in durations_of(made)}
    assert found.keys() == {("a", "tpcc"), ("b", "tpcc"), ("b", "tpcc-same")}
    row = found["a", "tpcc"]
    assert (row.trials, row.attempts, row.mean_s, row.longest_s, row.total_s) == (2, 3, 15.0, 20.0, 30.0)


def test_a_declared_table_is_analysed_stored_and_asked_without_further_code() -> None:
    study = analyse(inputs(rows({"b": [1.0, 2.0], "a": [1.0]})))
    content = to_parquet(study[DurationRow], DurationRow)
    found = query({"durations": frame_of(content, DurationRow)}, "select configuration, total_s from durations")
    assert found == (["configuration", "total_s"], [("a", 10.5), ("b", 21.0)])


@pytest.mark.parametrize("page", SAYS_WHICH)
def test_readers_are_told_of_every_table(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    words = set(re.findall(r"[a-z_]+", text))
    assert [name for name in in_columns() if name not in words] == [], f"add a line to {page}"
