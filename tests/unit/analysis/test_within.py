"""What is said of the values within trials."""

from statistics import stdev

import pytest

from nephoscope.analysis.within import within_of
from nephoscope.model.records import Direction, Metric, VerdictKind
from nephoscope.model.subjects import Subject
from tests.unit.analysis.study_builder import measurement, trial

RATE = Metric(name="throughput", unit="bit/s", direction=Direction.HIGHER, title="Throughput", headline=True)
SECONDS = ((9e9, 9.1e9), (9.3e9,))


def test_all_seconds_of_valid_trials_are_one_distribution() -> None:
    of_network = {"benchmark": "throughput", "subject": Subject.NETWORK}
    trials = [trial(f"t{place}", "c", place, **of_network) for place in (1, 2, 3)]
    trials[2] = trials[2].model_copy(update={"verdict": VerdictKind.INVALID})
    rows = [
        measurement(row, value, RATE, at_s=float(at))
        for row, values in zip(trials, (*SECONDS, (1.0,)), strict=True)
        for at, value in enumerate(values, 1)
    ]
    rows += [measurement(row, 9e9, RATE) for row in trials]
    (found,) = within_of(rows)
    flat = [value for values in SECONDS for value in values]
    assert (found.trials, found.values, found.minimum, found.maximum) == (2, 3, 9e9, 9.3e9)
    assert found.mean == pytest.approx(sum(flat) / 3)
    assert found.deviation == pytest.approx(stdev(flat))


def test_one_value_has_no_deviation_and_a_database_no_row() -> None:
    row = trial("t", "c", benchmark="ping", subject=Subject.NETWORK)
    (found,) = within_of([measurement(row, 1.0, RATE, at_s=1.0)])
    assert found.deviation is None
    assert within_of([measurement(trial("t", "c"), 1.0, at_s=1.0)]) == []
