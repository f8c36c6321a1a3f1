"""What the part of the page that a reader may change starts from."""

from statistics import median

import pytest

from nephoscope.analysis.analyse import analyse
from nephoscope.report.lookup import Lookup
from nephoscope.report.sections.explorer import explorer_data
from tests.unit.analysis.study_builder import inputs, rows

VALUES = {"a": [10.0, 12.0, 14.0, 16.0, 18.0, 30.0], "b": [20.0, 21.0, 22.0, 23.0, 24.0, 25.0]}


@pytest.mark.parametrize(("machines", "n"), [(4, 4), (6, 6)])
def test_it_counts_what_the_analysis_counts(machines: int, n: int) -> None:
    trials, measurements = rows(VALUES, cpus={"a": 2, "b": 4})
    shared = [row.model_copy(update={"machine": f"{row.configuration}-{row.replicate % machines}"}) for row in trials]
    study = analyse(inputs((shared, measurements)))
    data = explorer_data(Lookup.of(study))
    assert data is not None
    for row in study.statistics:
        pairs = data["boards"][0]["values"][row.configuration]
        assert row.n == len(pairs) == n
        assert median(value / (cpus if row.per_cpu else 1) for value, cpus in pairs) == row.median
