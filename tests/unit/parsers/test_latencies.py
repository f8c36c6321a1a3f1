"""What a tool's histogram cannot tell is a lower bound, for every tool that prints a set of latencies."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.importers.files import Parsed
from nephoscope.importers.oltp_logs import parse_cockroach_workload, parse_go_tpc, parse_ycsb
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.quantities import Bounded, LowerBound
from nephoscope.model.records import Relation, Requirement
from nephoscope.parsers.fio import parse_fio
from nephoscope.parsers.latencies import COCKROACH, EXACT, FIO, GO_TPC, NETPERF, SYSBENCH, Histogram, latencies
from nephoscope.parsers.netperf import parse_netperf
from nephoscope.parsers.sockperf import SockperfLatency, parse_sockperf
from nephoscope.parsers.sysbench_oltp import parse_sysbench_oltp
from tests.support.latency_outputs import OPERATION, cockroach, fio, go_tpc, netperf, sockperf, sysbench, ycsb

Told = Mapping[float, Bounded]


def _of(parse: Callable[[str], list[Parsed]], text: str, operation: str = OPERATION) -> Told:
    """The percentiles of one operation; 100 is the maximum."""
    values = {value.metric.name: value.value for value in parse(text)[0].values}
    names = {50.0: "p50", 95.0: "p95", 99.0: "p99", 100.0: "maximum"}
    return {percent: values[f"latency_{word}_{operation}"] for percent, word in names.items()}


def _fio(text: str) -> Told:
    (job,) = parse_fio(text).jobs
    assert job.read is not None
    assert job.read.total is not None
    return {**job.read.total.percentiles_s, 100.0: job.read.total.maximum_s}


def _netperf(text: str) -> Told:
    test = parse_netperf(text)
    told = {50.0: test.latency_p50_s, 99.0: test.latency_p99_s, 100.0: test.latency_maximum_s}
    return {percent: value for percent, value in told.items() if value is not None}


def _sysbench(text: str) -> Told:
    test = parse_sysbench_oltp(text)
    assert test.latency_percentile_s is not None
    return {95.0: test.latency_percentile_s, 100.0: test.latency_maximum_s}


TOOLS: Mapping[str, tuple[Histogram, Callable[..., str], Callable[[str], Told]]] = {
    "cockroach workload": (COCKROACH, cockroach, lambda text: _of(parse_cockroach_workload, text)),
    "go-tpc": (GO_TPC, go_tpc, lambda text: _of(parse_go_tpc, text)),
    "YCSB": (EXACT, ycsb, lambda text: _of(parse_ycsb, text, "new-order")),
    "fio": (FIO, fio, _fio),
    "netperf": (NETPERF, netperf, _netperf),
    "sysbench": (SYSBENCH, sysbench, _sysbench),
}
CAPPED = [name for name, (histogram, _, _) in TOOLS.items() if histogram.ends_s]


@pytest.mark.parametrize("tool", TOOLS)
def test_latencies_below_the_end_of_a_histogram_are_values(tool: str) -> None:
    _, write, read = TOOLS[tool]
    told = read(write(p50=0.01, p95=0.02, p99=0.04, maximum=0.09, mean=0.011))
    written = {50.0: 0.01, 95.0: 0.02, 99.0: 0.04, 100.0: 0.09}
    assert told == {percent: pytest.approx(written[percent]) for percent in told}


def test_what_is_in_the_last_bucket_of_a_tool_is_a_lower_bound(subtests: pytest.Subtests) -> None:
    for tool in CAPPED:
        for first in [50.0, 95.0, 99.0]:
            with subtests.test(tool=tool, first=first):
                histogram, write, read = TOOLS[tool]
                (end_s, *_) = histogram.ends_s
                values = {percent: end_s if percent >= first else 1.0 for percent in (50.0, 95.0, 99.0)}
                mean_s = 0.9 * end_s if first == 50 else 2.0
                told = read(write(p50=values[50.0], p95=values[95.0], p99=values[99.0], maximum=end_s, mean=mean_s))
                for percent in told.keys() & values.keys():
                    value = told[percent]
                    assert isinstance(value, LowerBound) == (percent >= first), percent
                    assert not isinstance(value, LowerBound) or value.above == pytest.approx(end_s, rel=1e-5)


@given(
    p50_s=st.floats(1e-3, 1),
    tail=st.floats(1, 50),
    end_s=st.floats(0.5, 100),
    beyond=st.floats(1.5, 10),
)
def test_an_unknown_end_shows_in_a_mean_that_nothing_explains(
    p50_s: float, tail: float, end_s: float, beyond: float
) -> None:
    true_s = {50.0: p50_s, 95.0: p50_s * tail, 99.0: p50_s * tail * 2}
    honest = latencies("x", EXACT, true_s, mean_s=p50_s, maximum_s=p50_s * tail * 3)
    assert honest.percentiles_s == true_s, "nothing is a bound that need not be one"
    capped_s = {percent: min(value, end_s) for percent, value in true_s.items()}
    told = latencies("x", EXACT, capped_s, mean_s=end_s * beyond, maximum_s=end_s)
    assert told.maximum_s == LowerBound(above=end_s), "the mean is above the maximum"
    for value in told.percentiles_s.values():
        assert isinstance(value, LowerBound) or value < max(capped_s.values())


def test_a_mean_above_the_highest_percentile_is_explained_by_a_long_maximum() -> None:
    slow = {50.0: 0.001, 95.0: 0.002}
    assert latencies("x", EXACT, slow, mean_s=0.05, maximum_s=2.0).percentiles_s == slow
    told = latencies("x", EXACT, slow, mean_s=0.5, maximum_s=2.0).percentiles_s
    assert told == {50.0: 0.001, 95.0: LowerBound(above=0.002)}


@pytest.mark.parametrize("percentiles_s", [{50.0: 2.0, 99.0: 1.0}, {50.0: 1.0, 99.0: 30.0}], ids=["falls", "too long"])
def test_a_set_that_cannot_be_is_refused(percentiles_s: dict[float, float]) -> None:
    with pytest.raises(OutputUnreadable, match=r"do not rise|above the maximum of 20 s"):
        latencies("x", EXACT, percentiles_s, mean_s=1.0, maximum_s=20.0)


@pytest.mark.parametrize(
    ("relation", "limit", "met"),
    [
        ("below", 10, False),
        ("at most", 103, False),
        ("below", 200, None),
        ("at least", 100, True),
        ("above", 200, None),
    ],
)
def test_a_lower_bound_decides_only_what_it_can(relation: Relation, limit: float, met: bool | None) -> None:
    asked = Requirement(what="p95", observed=103, relation=relation, limit=limit, unit="s", source="x", bound="lower")
    assert asked.met is met


def test_a_round_trip_of_sockperf_is_told_as_twice_what_it_is_without_the_flag() -> None:
    half, full = (parse_sockperf(sockperf(full=full)) for full in (False, True))
    assert isinstance(half, SockperfLatency)
    assert isinstance(full, SockperfLatency)
    told: list[dict[str, Any]] = [json.loads(one.model_dump_json()) for one in (half, full)]
    assert told[0] == told[1], "one definition, whichever was printed"
