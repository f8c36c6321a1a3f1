"""From measurements to the series that checks look at."""

from nephoscope.benchmarks.base import Ended
from nephoscope.model.records import Direction, Measurement, Metric
from nephoscope.run.derive import series_of, work_of

RATE = Metric(name="iops", unit="IO/s", direction=Direction.HIGHER, title="I/O rate", headline=True)
OTHER = RATE.model_copy(update={"name": "cpu", "headline": False})


def row(at_s: float | None, value: float, metric: str = "iops") -> Measurement:
    return Measurement(metric=metric, unit="IO/s", value=value, at_s=at_s)


def test_headline_rates_in_order_of_time() -> None:
    rows = [row(None, 5.0), row(2.0, 7.0), row(1.0, 6.0), row(3.0, 8.0), row(1.0, 9.0, "cpu"), row(2.0, 9.0, "cpu")]
    (series,) = series_of(rows, [RATE, OTHER])
    assert (series.metric, series.step_s, series.values) == ("iops", 1.0, [6.0, 7.0, 8.0])


def test_the_ramp_is_in_no_series() -> None:
    (series,) = series_of([row(0.5, 1.0), row(1.5, 6.0), row(2.5, 7.0)], [RATE], ramp_s=0.5)
    assert series.values == [6.0, 7.0]


def test_a_gap_or_a_single_value_makes_no_series() -> None:
    assert series_of([row(1.0, 6.0)], [RATE]) == []
    assert series_of([row(1.0, 6.0), row(2.0, 6.0), row(3.0, 6.0), row(9.0, 6.0)], [RATE]) == []
    lower = RATE.model_copy(update={"direction": Direction.LOWER})
    assert series_of([row(1.0, 6.0), row(2.0, 6.0)], [lower]) == []


def test_work_in_tenths_of_a_second_by_stretch_of_the_measurement() -> None:
    ended = [
        Ended(1000, 1300, 6, (1, 2, 3)),
        Ended(1300, 1550, 9, (4, 5, 0)),  # its last part is no whole step
        Ended(9000, 9200, 2, (2, 0)),
        Ended(20_000, 20_200, 2),  # of an older output
    ]
    series = list(work_of(ended))
    assert [(one.at_unix_ms, one.step_s, one.values) for one in series] == [
        (1000, 0.1, [10, 20, 30, 40, 50]),
        (9000, 0.1, [20, 0]),
    ]
