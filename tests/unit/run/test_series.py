"""From measurements to the series that checks look at."""

from nephoscope.model.records import Direction, Measurement, Metric
from nephoscope.run.derive import series_of

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
