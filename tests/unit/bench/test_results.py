"""What the comparison reads out of its programs, and what it concludes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

from bench import aerospike_client, mysql_client
from bench.harness import contenders, key_value, measure, results, solo, writers
from bench.harness.bars import Verdict
from bench.harness.contenders import Done, Setting
from bench.harness.measure import Ran
from bench.harness.recording import Recording
from bench.load_generator import arguments


def ran(stdout: str) -> Ran:
    return Ran(stdout, "", 0, elapsed_s=10.0, cpu_s=2.0, peak_bytes=1 << 20)


def done(cpu_s: float, transactions: int = 1_000, elapsed_s: float = 10.0, lost: float | None = None) -> Done:
    return Done(transactions, elapsed_s, cpu_s, 1 << 20, 1.0, round_trips=2 * transactions, lost=lost)


def test_pgbench() -> None:
    text = "number of transactions actually processed: 20000\ntps = 2000.5 (without initial connection time)\n"
    found = contenders.read_pgbench(ran(text), 3.0, 20)
    assert (found.transactions, found.round_trips, found.server_cpu_s) == (20_000, 400_000, 3.0)
    assert results.rate(found) == pytest.approx(2000.5)
    with pytest.raises(ValueError, match="no rate"):
        contenders.read_pgbench(ran("pgbench: error"), 0.0, 1)


def test_sysbench() -> None:
    text = "    transactions:                        770000 (77000.1 per sec.)\n  total time:    10.0012s\n"
    found = contenders.read_sysbench(ran(text), 3.0, 20)
    assert (found.transactions, found.elapsed_s, found.round_trips) == (770_000, 10.0012, 15_400_000)
    with pytest.raises(ValueError, match="no count"):
        contenders.read_sysbench(ran("FATAL"), 3.0, 1)


def test_redis_benchmark() -> None:
    text = '"test","rps","avg_latency_ms"\n"GET","112359.55","0.061"\n'
    found = key_value.read_peer(ran(text), 3.0, 500_000)
    assert (found.transactions, found.round_trips) == (500_000, 500_000)
    assert results.rate(found) == pytest.approx(112_359.55)
    with pytest.raises(ValueError, match="no rate"):
        key_value.read_peer(ran("Could not connect"), 0.0, 1)


def test_rivals_are_known_by_their_names() -> None:
    """A bar that asks for a name which nobody has would never be measured."""
    store = key_value.Store(port=1, process=1, peer="redis-benchmark")
    there = [*writers.own(), *writers.of_sysbench(), *key_value.contenders(store)]
    rounds = {contender.name: [done(1.0)] for contender in there}
    bars = [bar for bar in results.bars_of_clients(rounds) if bar.verdict != Verdict.NOT_MEASURED]
    assert len(bars) == 11


def test_our_own_failures_are_not_transactions() -> None:
    line = {
        "operations": [{"outcome": "committed", "all": 90}, {"outcome": "failed", "all": 10}],
        "measured_s": 5.0,
        "round_trips": 180,
    }
    found = contenders.read_ours(ran("{}\n" + json.dumps(line) + "\n"), 3.0)
    assert (found.transactions, found.elapsed_s, found.remark) == (90, 5.0, "10 failed")


def test_transactions_are_dealt_out_to_the_floors_connections() -> None:
    recorded = Recording(b"", [b"p"], [[bytes([number])] for number in range(5)])
    work = contenders.floor_work(1, recorded, Setting(1, 1, 2, 1.0, Path(), Path()))
    assert work["connections"] == [[["AA=="], ["Ag=="], ["BA=="]], [["AQ=="], ["Aw=="]]]


def test_the_floor_is_not_charged_for_its_first_pass() -> None:
    said = {"errors": [], "failed": 0, "transactions": 9, "round_trips": 18, "elapsed_s": 3.0, "rehearsal_cpu_s": 0.5}
    assert contenders.read_floor(ran(json.dumps(said)), 1.0).cpu_s == 1.5


def test_ratios_are_taken_within_a_round() -> None:
    rounds: results.Rounds = {"a": [done(1.0), done(9.0), done(4.0)], "b": [done(2.0), None, done(4.0)]}
    found = results.ratio(rounds, "a", "b", "client")
    assert [ratio.value for ratio in found.equal] == [0.5, 1.0], "what failed in a round leaves the others in place"
    assert results.ratio(rounds, "a", "nobody", "client").equal == ()


def test_the_page_answers_every_bar_of_clients() -> None:
    rounds: results.Rounds = {"a": [done(1.0, lost=0.02), None], "failed": [None]}
    page = results.page(["head"], results.bars_of_clients({}), {"t": results.table(rounds)})
    assert page.count("not measured") == 22
    assert (
        "| a | 2.00 | 100 (100..100) | 1,000.0 (1,000.0..1,000.0) | 1,000 (1,000..1,000) | 1 | 2.0 (2.0..2.0) |" in page
    )
    assert "failed" not in page


def test_set_with_requests_under_way_must_be_cheaper_in_every_round() -> None:
    rounds = {
        key_value.name(key_value.OURS, "set", 16): [done(0.9), done(1.01)],
        key_value.name(key_value.PEER, "set", 16): [done(1.0), done(1.0)],
    }
    rows = [bar.row() for bar in results.bars_of_clients(rounds)]
    assert (
        "| client CPU per SET, 16 under way / redis-benchmark | ≤ 1 × in every round | 0.96 (0.90..1.01) | **missed** |"
        in rows
    )
    assert "| peak memory, SET, 16 under way | ≤ 20 MB | 1.0 (1.0..1.0) | met |" in rows


def test_the_floor_beside_pgbenchs_script_shows_what_no_client_can_reach() -> None:
    rounds = {"floor pipelined, New-Order only": [done(0.6)], "pgbench New-Order pipelined": [done(1.0)]}
    rows = [bar.row() for bar in results.bars_of_clients(rounds)]
    what = "client CPU per New-Order, the floor of `pipelined` / pgbench's pipelined script"
    assert f"| {what} |  | 0.60 (0.60..0.60) | no bar, for comparison |" in rows


def test_a_goal_is_a_multiple_of_the_floor_of_the_same_round() -> None:
    costs = {"nephoscope-load pipelined": [1.24, 2.52], "floor pipelined": [1.0, 2.0]}
    costs |= {"nephoscope-load point-select": [1.2, 1.2], "floor point-select": [1.0, 1.0]}
    rows = [bar.row() for bar in results.bars_of_clients({name: [*map(done, each)] for name, each in costs.items()})]
    what = "client CPU per transaction, `pipelined` / its floor"
    assert f"| {what} | ≤ 1.25 × | 1.25 (1.24..1.26) | met |" in rows
    assert "| client CPU per point select / its floor | ≤ 1.15 × | 1.20 (1.20..1.20) | **missed** |" in rows


def test_the_highest_rate_is_the_last_one_before_the_first_that_is_not_kept() -> None:
    assert results.highest_kept(lambda rate: rate not in {3, 5}, [1, 2, 3, 4]) == 2
    assert results.highest_kept(lambda rate: rate < 9, [1, 2]) == 2
    assert results.highest_kept(lambda rate: rate > 1, [1, 2]) is None


def test_a_peer_is_shown_beside_ours() -> None:
    rounds = {"nephoscope-load chatty": [done(1.0)], "go-tpc": [done(2.0)]}
    (bar,) = results.bars_of_peers(rounds, {"go-tpc": "nephoscope-load chatty"})
    assert "nephoscope-load chatty / go-tpc | ≤ 1 × | 0.50 (0.50..0.50) | met |" in bar.row()


def test_a_get_on_aerospike_is_held_against_the_floor_and_the_official_client() -> None:
    costs = {aerospike_client.OURS: 1.2, aerospike_client.NULL: 1.0, aerospike_client.OFFICIAL: 1.1}
    seen = {aerospike_client.name(what, count): [done(cpu_s)] for what, cpu_s in costs.items() for count in (1, 16)}
    rows = [bar.row() for bar in aerospike_client.bars_of_gets(seen)]
    assert ["16 connections" in row for row in rows] == [True, True, False, False]
    assert rows[0].endswith("| ≤ 1.3 × | 1.20 (1.20..1.20) | met |")
    assert rows[1].endswith("| ≤ 1 × | 1.09 (1.09..1.09) | **missed** |")
    assert all("not measured" in row for row in rows[2:])


def test_statements_of_a_dump() -> None:
    dump = "-- x\nSET a = 1;\nALTER TABLE ONLY public.item\n    ADD CONSTRAINT p PRIMARY KEY (i_id);\n\n"
    dump += "CREATE INDEX i ON t (a);\n"
    found = ["ALTER TABLE ONLY public.item ADD CONSTRAINT p PRIMARY KEY (i_id)", "CREATE INDEX i ON t (a)"]
    assert solo.statements_of(dump) == found


@pytest.mark.parametrize(
    ("p99_us", "not_sent", "quiet", "row"),
    [
        (99.0, 10, 3, "99.0; 3 of 8 seconds without steal | met |"),
        (101.0, 10, 3, "101.0; 3 of 8 seconds without steal | **missed** |"),
        (99.0, 11, 3, "99.0; 3 of 8 seconds without steal, 11 of 1,000 never sent | **missed** |"),
        (None, 700, 3, "–; 3 of 8 seconds without steal, 700 of 1,000 never sent | **missed** |"),
        (None, 10, 0, "–; 0 of 8 seconds without steal | undecided |"),
        (None, 700, 0, "–; 0 of 8 seconds without steal, 700 of 1,000 never sent | undecided |"),
    ],
)
def test_pacing_is_judged_by_the_seconds_without_steal(
    p99_us: float | None, not_sent: int, quiet: int, row: str
) -> None:
    found = solo.Pacing(50_000, p99_us, 1_000, not_sent, seconds=8, seconds_without_steal=quiet)
    assert results.of_pacing("x", found, 100).row() == f"| x | ≤ 100 µs | {row}"
    assert "not measured" in results.of_pacing("x", None, 100).row()


def test_a_rate_that_no_closed_loop_reaches_is_beyond_the_machine_and_no_miss() -> None:
    found = solo.Pacing(50_000, None, 1_000, 700, seconds=8, seconds_without_steal=8)
    assert results.of_pacing("x", found, 100, most_per_s=50_000).verdict is Verdict.MISSED
    beyond = results.of_pacing("x", found, 100, most_per_s=49_999)
    assert beyond.verdict is Verdict.BEYOND
    assert "a closed loop does 49,999/s" in beyond.row()


def interval(steal_s: float | None, error_us: int | None) -> dict[str, Any]:
    histogram = HdrHistogram(1, 3_600_000_000_000, 3)
    if error_us is not None:
        histogram.record_value(error_us * 1_000, 100)
    encoded = None if error_us is None else histogram.encode().decode()
    return {"event": "interval", "phase": "measure", "client": {"steal_s": steal_s, "pacing_error": encoded}}


def test_seconds_in_which_something_was_stolen_do_not_judge_pacing() -> None:
    last = {"event": "finished", "offered": 9, "not_sent": 0}
    lines = [interval(0.0, 40), interval(0.01, 900), interval(None, 50), last]
    found = solo.read_pacing(50_000, [(lines, ""), (lines, "")])
    assert (found.seconds, found.seconds_without_steal, found.offered) == (6, 4, 18)
    assert found.p99_us == pytest.approx(50, rel=0.01)


def test_an_output_without_a_rate_has_no_pacing() -> None:
    found = solo.read_pacing(50_000, [([interval(0.0, None), {"event": "finished", "offered": 9, "not_sent": 8}], "")])
    assert (found.p99_us, found.is_kept) == (None, False)
    with pytest.raises(ValueError, match="no rate was measured: no such server"):
        solo.read_pacing(50_000, [([], "no such server")])
    with pytest.raises(ValueError, match="no rate was measured"):
        solo.read_pacing(50_000, [([interval(0.0, None), {"event": "finished", "offered": None}], "")])


def test_a_process_costs_what_it_used() -> None:
    words = ["python3", "-c", "b = bytearray(50_000_000)\nfor _ in range(10**7): pass"]
    found = measure.run(words)
    assert found.exit_code == 0
    assert 0.05 < found.cpu_s < found.elapsed_s + 0.5
    assert 50_000_000 < found.peak_bytes < 90_000_000


def test_what_others_take_is_a_share_of_the_machines_time(tmp_path: Path) -> None:
    """30 ticks are stolen; of 70 used ones, 60 are of the comparison itself."""
    stat, own_s = tmp_path / "stat", iter((1.0, 1.0, 1.6, 2.0))
    stat.write_text("cpu  100 0 50 800 10 0 5 35 7 0\ncpu0 1\n")
    lost = measure.Lost(stat, lambda: next(own_s))
    assert lost.share() is None, "no time has passed"
    stat.write_text("cpu  150 0 70 900 10 0 5 65 9 0\ncpu0 1\n")
    assert lost.share() == pytest.approx((30 + 10) / 200)
    assert lost.share() == pytest.approx(30 / 200), "not below what was stolen, if clocks disagree"
    stat.write_text("cpu  150 0 70 900\n")
    assert lost.share() is None
    stat.unlink()
    assert lost.share() is None


def test_a_program_beside_the_comparison_counts_as_loss() -> None:
    """As a child of nobody here: detached by a shell that has ended."""
    busy = "import os, time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass"
    measure.run(["sh", "-c", f"setsid python3 -c '{busy}' >/dev/null 2>&1 &"])
    beside = measure.run(["sleep", "1"]).lost
    assert beside is not None
    assert beside > 0.3 / (os.cpu_count() or 1)


def test_quick_is_one_short_round() -> None:
    chosen = arguments(["--quick"])
    assert (chosen.rounds, chosen.seconds, chosen.warehouses) == (1, 3.0, 1)


def test_the_bars_of_mysql_are_of_cost_of_throughput_and_of_loading() -> None:
    names = [mysql_client.POINTS, mysql_client.NULL, mysql_client.SYSBENCH, mysql_client.LOADING]
    rounds = {name: [done(1.0)] for name in (*names, mysql_client.CHATTY)}
    rounds[mysql_client.LOAD_DATA] = [done(0.0, 2_000)]
    rounds[mysql_client.SYSBENCH_TPCC] = [done(3.0, 1_001)]
    bars = {bar.what: bar.verdict for bar in mysql_client.bars_of(rounds)}
    assert len(bars) == 6
    assert {what for what, verdict in bars.items() if verdict is not Verdict.MET} == {
        "throughput of nephoscope-load tpcc chatty / sysbench-tpcc",
        "time of nephoscope-load tpcc load / LOAD DATA of the same rows",
    }


def test_a_load_counts_its_rows() -> None:
    """Done once, it would be 0 transactions a second."""
    said = (
        '{"event": "progress"}\n{"event": "finished", "tables": [{"rows": 3, "bytes": 9}, {"rows": 4, "bytes": 9}]}\n'
    )
    assert mysql_client.rows_of(said) == 7
