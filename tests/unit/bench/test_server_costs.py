"""What an operation costs beside other work: trials are read, widths compared, the page says both."""

import json
from pathlib import Path

import pytest

from bench.server_costs import COST, page, trials_of, widths

RATE = "selects_per_s"


def trials(costs: list[float], rates: list[float]) -> list[dict[str, float]]:
    return [{COST: cost, RATE: rate} for cost, rate in zip(costs, rates, strict=True)]


def test_widths_are_those_of_the_intervals_of_the_medians() -> None:
    found = widths(trials([10, 10.1, 9.9, 10, 10.2, 9.8], [100, 110, 90, 100, 120, 80]), RATE)
    assert found.cost == pytest.approx(0.04)
    assert found.rate == pytest.approx(0.4)
    assert found.ratio == pytest.approx(0.1)


@pytest.mark.parametrize("lacking", [COST, RATE])
def test_a_metric_that_is_missing_is_named(lacking: str) -> None:
    measured = trials([1] * 6, [1] * 6)
    del measured[3][lacking]
    with pytest.raises(ValueError, match=lacking):
        widths(measured, RATE)


@pytest.mark.parametrize(("narrow", "verdict"), [(0.1, "met"), (0.9, "missed")])
def test_the_page_judges_the_ratio(narrow: float, verdict: str) -> None:
    rates = [100.0, 110, 90, 100, 120, 80]
    costs = [100 + narrow * (rate - 100) for rate in rates]
    lines = page({"point-select": widths(trials(costs, rates), RATE)}, 5, "here").splitlines()
    (judged,) = (line for line in lines if line.startswith("| point-select: width"))
    assert verdict in judged
    assert f"{100 * 0.4 * narrow:.2f} %" in "\n".join(lines)


def test_trials_are_read_by_their_benchmark(tmp_path: Path) -> None:
    for name, uses, at_s in (("a", "point-select", None), ("b", "tpcc", None), ("c", "point-select", None)):
        folder = tmp_path / "trials" / name
        (folder / "attempts" / "1").mkdir(parents=True)
        (folder / "trial.json").write_text(json.dumps({"benchmark": {"uses": uses}}))
        rows = [{"schema": "nephoscope/measurement/1"}, {"metric": RATE, "value": 5.0, "at_s": at_s}]
        rows.append({"metric": RATE, "value": 7.0, "at_s": 1.0})
        (folder / "attempts" / "1" / "measurements.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert trials_of(tmp_path, "point-select") == [{RATE: 5.0}, {RATE: 5.0}]
