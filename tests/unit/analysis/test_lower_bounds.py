"""A value that its tool could not tell is a value of its own kind, from the measurement to the page."""

import csv
import json
from pathlib import Path

import pytest

from nephoscope.analysis.lower_bounds import apart
from nephoscope.importers.registry import IMPORTERS
from nephoscope.insights.registry import analyse
from nephoscope.model.quantities import LowerBound
from nephoscope.model.records import Measurement, VerdictKind
from nephoscope.model.rows import Comparison, MeasurementRow, RankRow, Statistic, TrialRow
from nephoscope.report.files import report_files
from tests.support.latency_outputs import cockroach
from tests.unit.analysis.study_builder import LATENCY, inputs, measurement, rows, trial

END_S = 103.079


def capped(configuration: str, values_s: list[float]) -> tuple[list[TrialRow], list[MeasurementRow]]:
    trials = [trial(f"{configuration}-{number}", configuration, number) for number, _ in enumerate(values_s, start=1)]
    return trials, [measurement(row, value_s, LATENCY) for row, value_s in zip(trials, values_s, strict=True)]


@pytest.mark.parametrize(
    ("above", "text"),
    [(103.079, "> 103"), (100.0, "> 100"), (17.11276032, "> 17.1"), (1.999, "> 1.99"), (0.0009999, "> 0.000999")],
)
def test_a_bound_is_written_rounded_down(above: float, text: str) -> None:
    assert str(LowerBound(above=above)) == text


@pytest.mark.parametrize(
    ("known_s", "bounds", "told"),
    [
        ([], 3, LowerBound(above=END_S)),
        ([50.0, 60.0], 1, LowerBound(above=60.0, or_equal=True)),
        ([50.0], 2, LowerBound(above=END_S)),
        ([50.0], 1, LowerBound(above=50.0, or_equal=True)),
    ],
)
def test_a_median_with_a_bound_is_a_bound_and_no_value_is_left_to_a_statistic(
    known_s: list[float], bounds: int, told: LowerBound
) -> None:
    trials, measurements = capped("slow", [*known_s, *[END_S] * bounds])
    left, (row,) = apart(trials, measurements[: len(known_s)], measurements[len(known_s) :])
    assert left == []
    assert (row.value, row.n, row.bounded) == (told, len(known_s) + bounds, bounds)


def test_bounds_of_rejected_trials_and_of_single_seconds_take_nothing_away() -> None:
    trials, measurements = capped("slow", [50.0, END_S])
    refused = [trials[0], trials[1].model_copy(update={"verdict": VerdictKind.INVALID})]
    assert apart(refused, measurements[:1], measurements[1:]) == (measurements[:1], [])
    second = measurement(trials[1], END_S, LATENCY, at_s=1.0)
    assert apart(trials, measurements[:1], [second]) == (measurements[:1], [])


def test_a_lower_bound_stands_on_the_page_and_in_no_ratio_mean_or_rank() -> None:
    trials, measurements = rows({"quick": [1.0, 1.1, 1.2], "quicker": [0.9, 0.8, 0.7]}, metric=LATENCY)
    slow, bounds = capped("slow", [END_S] * 3)
    study = analyse(inputs((trials + slow, measurements), bounds=bounds))
    assert {row.configuration for row in study[Statistic]} == {"quick", "quicker"}
    assert not [row for row in study[Comparison] if "slow" in {row.left, row.right}]
    assert not [row for row in study[RankRow] if row.configuration == "slow"]
    (warning,) = [one for one in study.insights if one.rule == "lower_bounds"]
    assert "on slow > 103 s" in str(warning.text)
    files = report_files(study).files
    page = files["evidence.html"].decode()
    assert "&gt; 103" in page or "> 103" in page
    (row,) = csv.DictReader(files["lower_bounds.csv"].decode().splitlines())
    assert (row["configuration"], float(row["above"]), row["or_equal"], row["bounded"]) == ("slow", END_S, "false", "3")


def test_the_figure_of_latencies_says_what_it_cannot_draw() -> None:
    metric = LATENCY.model_copy(update={"name": "read.latency_p99", "title": "read: latency, p99"})
    trials, measurements = rows({"quick": [1.0, 1.1, 1.2]}, metric=metric)
    slow = [trial(f"slow-{number}", "slow", number) for number in (1, 2, 3)]
    bounds = [measurement(row, 17.1127, metric) for row in slow]
    study = analyse(inputs((trials + slow, measurements), {"tpcc": [metric]}, bounds=bounds))
    assert "not drawn: slow p99 &gt; 17.1" in report_files(study).files["evidence.html"].decode()


def test_a_measurement_says_that_it_is_a_bound_and_older_ones_are_values() -> None:
    told = Measurement.of("p95_s", "s", LowerBound(above=END_S))
    assert (told.value, told.bound) == (END_S, "lower")
    old = {name: value for name, value in json.loads(told.model_dump_json()).items() if name != "bound"}
    assert Measurement.model_validate(old).bound is None


def test_an_import_keeps_the_end_of_a_histogram_apart(tmp_path: Path) -> None:
    for machine, longest_s in (("slow", 103.0792), ("quick", 0.2)):
        folder = tmp_path / "gcp" / machine
        folder.mkdir(parents=True)
        text = cockroach(p50=0.1, p95=min(longest_s, 0.15), p99=longest_s, maximum=longest_s, mean=0.1)
        (folder / "run.txt").write_text(text)
    study = IMPORTERS["cockroach-workload"].read(tmp_path)
    bounded = {
        (one.machine.name, row.metric) for one in study.trials for row in one.measurements if row.bound == "lower"
    }
    assert {metric for name, metric in bounded if name == "gcp-slow"} >= {"latency_p99_all", "latency_maximum_all"}
    assert not {name for name, _ in bounded} - {"gcp-slow"}
