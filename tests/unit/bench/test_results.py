"""What the comparison reads out of its programs, and what it concludes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench import aerospike_client
from bench.harness import contenders, key_value, measure, results, solo, writers
from bench.harness.contenders import Done, Setting
from bench.harness.measure import Ran
from bench.harness.recording import Recording
from bench.load_generator import arguments


def ran(stdout: str) -> Ran:
    return Ran(stdout, "", 0, elapsed_s=10.0, cpu_s=2.0, peak_bytes=1 << 20)


def done(cpu_s: float, transactions: int = 1_000, elapsed_s: float = 10.0) -> Done:
    return Done(transactions, elapsed_s, cpu_s, 1 << 20, server_cpu_s=1.0, round_trips=2 * transactions)


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
    measured = [bar.what for bar in results.bars_of_clients(rounds) if bar.met is not None]
    assert len(measured) == 7


def test_our_own_failures_are_not_transactions() -> None:
    line = {
        "operations": [{"outcome": "committed", "all": 90}, {"outcome": "failed", "all": 10}],
        "measured_s": 5.0,
        "round_trips": 180,
    }
    found = contenders.read_ours(ran("{}\n" + json.dumps(line) + "\n"), 3.0)
    assert (found.transactions, found.elapsed_s, found.remark) == (90, 5.0, "10 failed")


@pytest.mark.parametrize("file", sorted(Path("bench/peers").glob("*.toml")), ids=lambda file: file.stem)
def test_the_command_lines_of_peers_know_their_placeholders(file: Path) -> None:
    commands = tomllib.loads(file.read_text(encoding="utf-8"))
    names = ["path", "folder", "host", "port", "user", "database", "warehouses", "connections", "seconds"]
    for argv in [*commands["prepare"], commands["run"]]:
        assert all("{" not in word.format(**dict.fromkeys(names, "x")) for word in argv)


def test_a_peers_counts_are_summed() -> None:
    text = (
        "[Summary] NEW_ORDER - Takes(s): 9.9, Count: 60, TPM: 1\n[Summary] PAYMENT - Takes(s): 9.9, Count: 40, TPM: 1\n"
    )
    pattern = r"^\[Summary\] (?:NEW_ORDER|PAYMENT) - .*?Count: (\d+)"
    assert contenders.read_peer(ran(text), 1.0, pattern, 10.0).transactions == 100


def test_transactions_are_dealt_out_to_the_floors_connections() -> None:
    recorded = Recording(b"", [b"p"], [[bytes([number])] for number in range(5)])
    work = contenders.floor_work(1, recorded, Setting(1, 1, 2, 1.0, Path(), Path()))
    assert work["connections"] == [[["AA=="], ["Ag=="], ["BA=="]], [["AQ=="], ["Aw=="]]]


def test_ratios_are_taken_within_a_round() -> None:
    rounds = {"a": [done(1.0), done(4.0)], "b": [done(2.0), done(4.0)]}
    assert results.ratio(rounds, "a", "b", "client") == results.Spread(0.75, 0.5, 1.0)
    assert results.ratio(rounds, "a", "nobody", "client") is None


def test_a_bar_is_met_missed_or_not_measured() -> None:
    spread = results.Spread(1.2, 1.0, 1.5)
    assert results.at_most("x", spread, 1.3).met is True
    assert results.at_most("x", spread, 1.1).met is False
    assert results.at_least("x", spread, 1.3).met is False
    assert "not measured" in results.at_most("x", None, 1.3).row()


def test_the_page_answers_every_bar_of_clients() -> None:
    page = results.page(["head"], results.bars_of_clients({}), {"t": results.table({"a": [done(1.0)]})})
    assert page.count("not measured") == 16
    assert "| a | 2.00 | 100 (100..100) | 1,000.0 (1,000.0..1,000.0) |" in page


def test_a_get_on_aerospike_is_held_against_the_floor_and_the_official_client() -> None:
    costs = {aerospike_client.OURS: 1.2, aerospike_client.NULL: 1.0, aerospike_client.OFFICIAL: 1.1}
    seen = {aerospike_client.name(what, count): [done(cpu_s)] for what, cpu_s in costs.items() for count in (1, 16)}
    rows = [bar.row() for bar in aerospike_client.bars(seen)]
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
    ("p99_us", "not_sent", "row"),
    [
        (99.0, 10, "| x | ≤ 100 µs | 99.0 | met |"),
        (101.0, 10, "| x | ≤ 100 µs | 101.0 | **missed** |"),
        (99.0, 11, "| x | ≤ 100 µs | 99.0, 11 of 1,000 never sent | **missed** |"),
        (None, 700, "| x | ≤ 100 µs | –, 700 of 1,000 never sent | **missed** |"),
    ],
)
def test_a_rate_that_was_not_kept_misses_the_bar(p99_us: float | None, not_sent: int, row: str) -> None:
    assert results.of_pacing("x", solo.Pacing(p99_us, 1_000, not_sent), 100).row() == row
    assert "not measured" in results.of_pacing("x", None, 100).row()


def test_an_output_without_a_rate_has_no_pacing() -> None:
    interval: dict[str, Any] = {"event": "interval", "phase": "measure", "client": {"pacing_error": None}}
    found = solo.read_pacing([interval, {"event": "finished", "offered": 9, "not_sent": 8}], "")
    assert (found.p99_us, found.is_kept) == (None, False)
    with pytest.raises(ValueError, match="no rate was measured: no such server"):
        solo.read_pacing([], "no such server")
    with pytest.raises(ValueError, match="no rate was measured"):
        solo.read_pacing([interval, {"event": "finished", "offered": None}], "")


def test_a_process_costs_what_it_used() -> None:
    words = ["python3", "-c", "b = bytearray(50_000_000)\nfor _ in range(10**7): pass"]
    found = measure.run(words)
    assert found.exit_code == 0
    assert 0.05 < found.cpu_s < found.elapsed_s + 0.5
    assert 50_000_000 < found.peak_bytes < 90_000_000


def test_quick_is_one_short_round() -> None:
    chosen = arguments(["--quick"])
    assert (chosen.rounds, chosen.seconds, chosen.warehouses) == (1, 3.0, 1)
