"""A parser's value as rows of metric, value and unit."""

import pytest

from nephoscope.parsers.flat import FlatMetric, flat_metrics
from nephoscope.parsers.ping import parse_ping
from nephoscope.parsers.sockperf import parse_sockperf
from nephoscope.parsers.sysbench_oltp import parse_sysbench_oltp
from tests.support.logs_of_2019 import recorded
from tests.support.parser_samples import IDENTIFIED, parse_any

NOTHING_DONE = "sysbench-load-again-1.0.20.txt"
"""Its files were there already: it wrote nothing, and printed no rate."""
OLTP = parse_sysbench_oltp(recorded("sysbench-oltp-1.0.20.txt"))


def test_the_last_words_of_a_name_are_its_unit() -> None:
    rows = {row.metric: row for row in flat_metrics(OLTP)}
    assert rows["transactions"] == FlatMetric("transactions", 440, "")
    assert rows["transactions_per_s"].unit == "1/s"
    assert rows["latency_mean_s"] == FlatMetric("latency_mean_s", pytest.approx(0.01366), "s")


def test_rows_of_rows_are_numbered_and_mappings_keep_their_keys_and_their_unit() -> None:
    rows = {row.metric: row for row in flat_metrics(OLTP)}
    assert rows["intervals.2.at_s"] == FlatMetric("intervals.2.at_s", 3, "s")
    tails = {row.metric: row.unit for row in flat_metrics(parse_sockperf(recorded("sockperf-ping-pong-3.7.txt")))}
    assert (tails["percentiles_s.99"], tails["percentiles_s.99.9"]) == ("s", "s")


def test_what_a_tool_did_not_print_has_no_row() -> None:
    lost = parse_ping(recorded("ping-lost-20221126.txt"))
    assert lost.times is None
    assert not [row for row in flat_metrics(lost) if row.metric.startswith(("times", "replies"))]


def test_a_long_list_becomes_its_length_where_a_limit_is_set() -> None:
    rows = {row.metric: row.value for row in flat_metrics(OLTP, max_items=2)}
    assert rows["intervals"] == "3 items"
    assert not [name for name in rows if name.startswith("intervals.")]
    assert len(flat_metrics(OLTP, max_items=3)) == len(flat_metrics(OLTP))


def test_every_recording_becomes_rows_with_names_of_their_own(subtests: pytest.Subtests) -> None:
    for tool, name, text in IDENTIFIED:
        with subtests.test(tool=tool):
            rows = flat_metrics(parse_any(text))
            names = [row.metric for row in rows]
            assert names or name == NOTHING_DONE, (tool, name)
            assert len(set(names)) == len(names)
            assert all(isinstance(row.value, (int, float, str, tuple)) for row in rows)
