"""A fault kind a row: medians over all faults, what is only a bound, and what no loss so far says."""

from collections.abc import Sequence

import pytest

from nephoscope.analysis.faults import FaultRow, faults_of, quantities_of
from nephoscope.model.records import Direction
from nephoscope.model.rows import MeasurementRow
from nephoscope.model.subjects import Subject

KINDS = {"kill": ("kill", "primary"), "quiet": ("pause", "any")}


def row(
    metric: str, value: float, trial: str = "t1", at_s: float | None = 5.0, *, valid: bool = True
) -> MeasurementRow:
    return MeasurementRow(
        trial, "pg", "kill", metric, "s", Direction.LOWER, value, "load", at_s, 1, 1, 1, valid, Subject.DATABASE
    )


def longest(*values_s: float, trial: str = "t1") -> list[MeasurementRow]:
    return [row("outage.longest_outage", value_s, trial, float(at)) for at, value_s in enumerate(values_s)]


def only(values: Sequence[MeasurementRow], bounds: Sequence[MeasurementRow] = ()) -> FaultRow:
    (found,) = faults_of(values, quantities_of(values, bounds), KINDS)
    return found


def test_each_fault_is_a_value_and_faults_of_rejected_trials_are_none() -> None:
    values = [*longest(2, 3, 4), *longest(5, 6, 7, trial="t2"), row("writes_lost", 0, at_s=None)]
    found = only([*values, row("outage.longest_outage", 100, "t3", valid=False), row("longest_outage", 50, at_s=None)])
    assert (found.fault, found.victim, found.faults, found.trials) == ("kill", "primary", 6, ["t1", "t2"])
    assert (found.longest_outage_s, found.longest_outage_low_s, found.longest_outage_high_s) == (4.5, 2, 7)
    assert found.coverage == pytest.approx(1 - 2 / 2**6)
    assert found.response_p99_ratio is None, "too few operations in each"


def test_an_outage_that_did_not_end_is_longer_than_all_that_is_known_of_it() -> None:
    ended = only(longest(2, 3, 4), longest(8, 9)[:1])
    assert (ended.faults, ended.longest_outage_s, ended.longest_outage_high_s) == (4, 3.5, None)
    most = only(longest(2), longest(8, 9))
    assert (most.longest_outage_s, most.longest_outage_low_s) == (None, 2)


def test_no_loss_so_far_bounds_how_often_a_fault_loses_a_write() -> None:
    none = only([*longest(*range(12)), row("writes_lost", 0, at_s=None)])
    assert none.losing_at_most_share == pytest.approx(1 - 0.05 ** (1 / 12))
    assert none.losing_at_most_share is not None
    lost = only([*longest(1, 2), *longest(3, trial="t2"), row("writes_lost", 7, "t2", None)])
    assert (lost.trials_with_loss, lost.writes_lost, lost.losing_at_most_share) == (1, 7, None)


def runs(count: int, *values_s: float) -> list[MeasurementRow]:
    """Of each run the same outages, longer from run to run."""
    return [one for run in range(count) for one in longest(*(run + value for value in values_s), trial=f"t{run}")]


def test_runs_are_the_replicates_where_there_are_enough_and_single_outages_else() -> None:
    (many,) = quantities_of(runs(6, 2, 3, 4))
    assert (many.interval_of, many.faults, many.runs, many.machines) == ("runs", 18, 6, None)
    assert (many.median, many.low, many.high) == (5.5, 3, 8)
    assert many.coverage == pytest.approx(1 - 2 / 2**6)
    (few,) = quantities_of(runs(5, 2, 3, 4))
    assert (few.interval_of, few.faults) == ("outages", 15)


def test_runs_on_the_same_machines_are_no_replicates_of_machines() -> None:
    on_six = {f"t{run}": f"m{run % 6}" for run in range(12)}
    (found,) = quantities_of(runs(12, 2, 3), machines=on_six)
    assert (found.interval_of, found.runs, found.machines) == ("machines", 12, 6)
    (found,) = quantities_of(runs(12, 2, 3), machines=on_six | dict.fromkeys(on_six, "m"))
    assert (found.interval_of, found.machines) == ("runs", 1)


def test_a_run_whose_outages_mostly_did_not_end_is_a_bound() -> None:
    (found,) = quantities_of(runs(6, 2), [*longest(50, 50, trial="t5"), *longest(60, 60, trial="t4")])
    assert (found.median, found.high, found.low) == (4.5, None, 2)
