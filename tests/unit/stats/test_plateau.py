"""Provider caps: the same rate on several types with next to no spread."""

import pytest

from nephoscope.importers.cloud_report_2019.logs import measured_runs
from nephoscope.model.records import VerdictKind
from nephoscope.stats.plateau import caps
from tests.support.shared_data import shared

CAPPED = {"a": [100.0, 100.1, 100.0], "b": [100.2, 100.2, 100.1], "c": [99.9, 100.0, 99.9]}


def test_three_types_on_one_plateau_are_a_cap() -> None:
    (cap,) = caps({**CAPPED, "d": [140.0, 140.1, 140.2]})
    assert cap.types == ("a", "b", "c")
    assert cap.level == pytest.approx(100.0)
    assert cap.largest_spread < 0.001


@pytest.mark.parametrize(
    "trials",
    [
        {name: CAPPED[name] for name in "ab"},
        {**CAPPED, "c": [90.0, 100.0, 110.0]},
        {**CAPPED, "c": [100.0, 100.0]},
        {**CAPPED, "c": [101.5, 101.5, 101.5]},
        {**CAPPED, "c": [0.0, 0.0, 0.0]},
        {},
    ],
)
def test_fewer_types_more_spread_fewer_trials_or_another_level_are_none(trials: dict[str, list[float]]) -> None:
    assert caps(trials) == []


def test_the_caps_of_2019_are_found() -> None:
    by_type: dict[str, list[float]] = {}
    for run, measured in measured_runs(shared("cloud-report-2019")):
        for row in measured if run.verdict is VerdictKind.VALID and run.label.provider == "aws" else ():
            if (row.tool, row.metric, row.threads) == ("sysbench fileio random write", "written_bytes_per_s", 64):
                by_type.setdefault(run.label.machine_type, []).append(row.value)
    found = caps(by_type)
    assert [cap.types for cap in found] == [
        ("m5ad.4xlarge", "m5d.4xlarge", "r5ad.4xlarge", "r5d.4xlarge"),
        ("c5.4xlarge", "c5n.4xlarge", "m5.4xlarge"),
    ]
