"""Which numbers enter a statistic, and what stands in it."""

import pytest

from nephoscope.analysis.boards import boards_of
from nephoscope.analysis.cells import Metrics, cells_of
from nephoscope.analysis.statistics import statistics_of_cells
from nephoscope.model.errors import DamagedFile
from nephoscope.model.records import Direction, Metric, VerdictKind
from nephoscope.model.rows import MeasurementRow, Statistic, TrialRow
from tests.unit.analysis.study_builder import LATENCY, METRICS, TPMC, measurement, rows, shuffled, trial

SIX = [100.0, 101, 102, 103, 104, 150]


def statistics_of(trials: list[TrialRow], measurements: list[MeasurementRow], metrics: Metrics) -> list[Statistic]:
    cells = cells_of(trials, measurements, metrics)
    return statistics_of_cells(cells, boards_of(cells, blocked=True))


def test_one_statistic_per_metric_and_one_per_cpu() -> None:
    plain, per_cpu = statistics_of(*rows({"a": SIX}, cpus={"a": 4}), METRICS)
    assert (plain.per_cpu, per_cpu.per_cpu) == (False, True)
    assert (plain.n, plain.n_excluded, plain.cpus) == (6, 0, 4)
    assert (plain.median, plain.low, plain.high) == (102.5, 100, 150)
    assert (per_cpu.median, per_cpu.low, per_cpu.high) == (102.5 / 4, 25, 37.5)
    assert plain.coverage == 0.96875
    assert plain.margin_percent == pytest.approx(100 * 25 / 102.5)
    assert plain.outliers == ["tpcc-a-6"]
    assert plain.trials == [f"tpcc-a-{n}" for n in range(1, 7)]
    assert plain.more_replicates_needed == 0


def test_each_value_is_divided_by_the_cpus_of_its_own_trial() -> None:
    trials = [trial("x", "a", 1, cpus=2), trial("y", "a", 2, cpus=4), trial("z", "a", 3, cpus=None)]
    found = statistics_of(trials, [measurement(row, 8.0) for row in trials], METRICS)
    plain, per_cpu = found
    assert (plain.n, plain.cpus) == (3, None)
    assert (per_cpu.n, per_cpu.n_excluded) == (2, 1)
    assert (per_cpu.minimum, per_cpu.maximum) == (2.0, 4.0)


def test_only_trials_that_count_enter_and_the_others_are_counted() -> None:
    trials, measurements = rows({"a": SIX})
    trials[5] = trials[5].model_copy(
        update={"verdict": VerdictKind.INVALID, "reasons": ["quiet: busy"], "rejected_by": ["quiet"]}
    )
    trials[4] = trials[4].model_copy(update={"verdict": VerdictKind.UNKNOWN})
    trials.append(trial("planned", "a", 7, state="planned", verdict=None))
    found = statistics_of(trials, measurements, METRICS)[0]
    assert (found.n, found.n_excluded, found.maximum) == (4, 3, 103)
    assert (found.coverage, found.more_replicates_needed) == (0.875, 2)


def test_values_inside_a_trial_are_never_replicates() -> None:
    trials, measurements = rows({"a": SIX})
    measurements += [measurement(trials[0], 1.0, at_s=float(second)) for second in range(100)]
    assert statistics_of(trials, measurements, METRICS)[0].n == 6


def test_a_metric_missing_in_some_trials_is_counted_as_excluded_there() -> None:
    trials, measurements = rows({"a": SIX})
    measurements += [measurement(row, 0.01, LATENCY) for row in trials[:4]]
    found = {row.metric: row for row in statistics_of(trials, measurements, METRICS) if not row.per_cpu}
    assert (found[LATENCY.name].n, found[LATENCY.name].n_excluded) == (4, 2)
    assert found[TPMC.name].n == 6


def test_nothing_in_nothing_out() -> None:
    assert statistics_of([], [], METRICS) == []
    trials, measurements = rows({"a": SIX})
    none_count = [row.model_copy(update={"verdict": VerdictKind.INVALID}) for row in trials]
    assert statistics_of(none_count, measurements, METRICS) == []


def test_an_undeclared_metric_is_taken_as_its_rows_describe_it() -> None:
    found = statistics_of(*rows({"a": SIX}), {})
    assert [(row.unit, row.direction, row.per_cpu) for row in found] == [("New-Orders/min", Direction.HIGHER, False)]


@pytest.mark.parametrize("values", [[0.0] * 6, [-3.0, -2, -1, 0, 1, 2], [5.0] * 6])
def test_zero_negative_and_constant_values(values: list[float]) -> None:
    found = statistics_of(*rows({"a": values}), METRICS)[0]
    assert found.low <= found.median <= found.high
    assert found.outliers == []
    assert (found.margin_percent is None) == (found.median == 0)


def test_order_of_rows_does_not_matter() -> None:
    trials, measurements = rows({"a": SIX, "b": [x * 1.1 for x in SIX]})
    expected = statistics_of(trials, measurements, METRICS)
    for seed in range(5):
        assert statistics_of(shuffled(trials, seed), shuffled(measurements, 9 - seed), METRICS) == expected


def test_contradictions_are_refused() -> None:
    trials, measurements = rows({"a": SIX})
    with pytest.raises(DamagedFile, match="two values"):
        statistics_of(trials, [*measurements, measurements[0]], METRICS)
    with pytest.raises(DamagedFile, match="not in the study"):
        statistics_of(trials[1:], measurements, METRICS)
    other = Metric(name=TPMC.name, unit="1/s", direction=Direction.HIGHER, title="")
    with pytest.raises(DamagedFile, match="has values in 1/s and in New-Orders/min"):
        statistics_of(trials, [measurement(trials[0], 1.0, other), *measurements[1:]], METRICS)
