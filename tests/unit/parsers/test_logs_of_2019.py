"""Parsers of logs: what the tools print is read, what is damaged is refused, nothing else is ever raised."""

import re
from collections.abc import Callable

import pytest

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.units import MIB
from nephoscope.parsers.cpuinfo import parse_cpu_lines
from nephoscope.parsers.iperf2 import parse_iperf_client
from nephoscope.parsers.ping import parse_ping
from nephoscope.parsers.stress_ng import parse_stress_ng_log
from nephoscope.parsers.sysbench_fileio import parse_fileio_load, parse_fileio_run
from tests.support.logs_of_2019 import cpu_log, recorded

CPU, MATRIX = recorded("stress-ng-cpu-0.15.06.txt"), recorded("stress-ng-matrix-0.15.06.txt")
PING, IPERF, STREAMS = (
    recorded("ping-20221126.txt"),
    recorded("iperf-2.1.8.txt"),
    recorded("iperf-two-streams-2.1.8.txt"),
)
LOAD, WRITE, READ = (recorded(f"sysbench-{name}-1.0.20.txt") for name in ("load", "write", "read"))
LSCPU, CPUINFO = recorded("lscpu-2.38.1.txt"), recorded("cpuinfo.txt")

Parser = Callable[[str], object]


def test_stress_ng_recorded() -> None:
    (row,) = parse_stress_ng_log(CPU).rows
    assert (row.stressor, row.workers, row.bogo_ops, row.user_s) == ("cpu", 2, 5422, 3.12)
    assert parse_stress_ng_log(CPU).cache_kib is None
    (row,) = parse_stress_ng_log(MATRIX).rows
    assert (row.stressor, row.per_second) == ("matrix", 4699.41)


def test_stress_ng_of_2019() -> None:
    log = parse_stress_ng_log(cpu_log(effective=3.76, cache_kib=46080))
    assert log.cache_kib == 46080
    assert log.rows[0].user_s / log.rows[0].real_s == pytest.approx(3.76, abs=0.001)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("successful", "unsuccessful", "not successful"),
        ("200000", "210000", "contradicts itself"),
        ("16 cpu", "16 vm", "of other stressors"),
        ("16 cpu", "0 cpu", "workers"),
        ("25344K", "0K", "cache sizes"),
        ("60.02", "0.00", "greater than 0"),
        ("stress-ng", "other", "no lines"),
    ],
)
def test_stress_ng_refuses(old: str, new: str, said: str) -> None:
    text = cpu_log().replace(old, new)
    assert text != cpu_log()
    with pytest.raises(OutputUnreadable, match=said):
        parse_stress_ng_log(text)


def test_a_log_may_come_with_a_mark_colours_and_carriage_returns() -> None:
    text = "\ufeff" + cpu_log().replace("info:", "\x1b[32minfo:\x1b[0m").replace("\n", "\r\n")
    assert parse_stress_ng_log(text) == parse_stress_ng_log(cpu_log())


def test_lscpu_and_cpuinfo_recorded() -> None:
    said = parse_cpu_lines(LSCPU)
    assert (said.models, said.vcpus, said.sockets, said.l3_kib) == (("AMD EPYC",), 2, 1, 32 * 1024)
    said = parse_cpu_lines(CPUINFO)
    assert (said.models, said.vcpus, said.sockets) == (("AMD EPYC",), 2, 1)
    assert said.l3_kib is None, "an AMD's cache size in /proc/cpuinfo is its second level"
    assert parse_cpu_lines(CPUINFO.replace("AuthenticAMD", "GenuineIntel")).l3_kib == 1024


@pytest.mark.parametrize(
    ("size", "kib"),
    [
        ("46080K", 46080),
        ("36 MiB (1 instance)", 36864),
        ("16 MiB (2 instances)", 8192),
        ("47185920 (1 instance)", 46080),
    ],
)
def test_sizes_of_caches_are_of_one_instance(size: str, kib: int) -> None:
    assert parse_cpu_lines(f"L3 cache:   {size}\n").l3_kib == kib


@pytest.mark.parametrize(
    "text",
    ["CPU(s): 16\nCPU(s): 8\n", "CPU(s): many\n", "L3 cache: big\n", "L3 cache: 1 MiB (0 instances)\n", "CPU(s): 0\n"],
)
def test_lines_that_contradict_or_are_no_numbers_are_refused(text: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse_cpu_lines(text)


def test_where_both_are_printed_lscpu_counts() -> None:
    part = "processor : 0\nvendor_id : GenuineIntel\ncache size : 36608 KB\nphysical id : 0\n"
    said = parse_cpu_lines("CPU(s): 16\nSocket(s): 1\nL3 cache: 35.8 MiB (1 instance)\n" + part)
    assert (said.vcpus, said.sockets, said.l3_kib) == (16, 1, 36659)


def test_a_text_without_such_lines_says_nothing() -> None:
    said = parse_cpu_lines("something: else\n")
    assert (said.models, said.vcpus, said.sockets, said.l3_kib) == ((), None, None, None)


def test_ping_recorded() -> None:
    ping = parse_ping(PING)
    assert (ping.sent, ping.received) == (5, 5)
    assert ping.times
    assert ping.times.mean_s == pytest.approx(0.000166)


def test_a_ping_without_replies_has_no_times() -> None:
    ping = parse_ping(
        "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.\n\n--- 192.0.2.1 ping statistics ---\n"
        "3 packets transmitted, 0 received, 100% packet loss, time 2040ms\n\n"
    )
    assert (ping.sent, ping.received, ping.times) == (3, 0, None)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("5 received", "4 received", "contradicts itself|complete replies"),
        ("icmp_seq=3 ttl=64", "icmp_seq=3 ttl=", "complete replies"),
        ("time=0.672", "time=0.972", "longest time"),
        ("0.034/0.166", "0.034/0.366", "mean time"),
        ("0.034/0.166", "0.934/0.166", "mean"),
        ("PING", "PONG", "no lines"),
    ],
)
def test_ping_refuses_statistics_that_do_not_follow(old: str, new: str, said: str) -> None:
    with pytest.raises(OutputUnreadable, match=said):
        parse_ping(PING.replace(old, new))


def test_iperf_recorded() -> None:
    iperf = parse_iperf_client(IPERF)
    assert iperf.whole.bits_per_s == pytest.approx(32.3e9)
    assert [row.bits_per_s / 1e9 for row in iperf.intervals] == pytest.approx([33.9, 30.2, 33.1])
    assert parse_iperf_client(STREAMS).whole.bits_per_s == pytest.approx(47.4e9)


def test_iperf_may_leave_out_its_last_interval() -> None:
    lines = IPERF.splitlines(keepends=True)
    without = "".join([*lines[:-2], lines[-1]])
    assert len(parse_iperf_client(without).intervals) == 2


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("32.3 Gbits", "32.3 Mbits"),
        ("[  1] 1.0000-2.0000 sec  3.52 GBytes  30.2 Gbits/sec\n", ""),
        ("1.0000-2.0000", "1.0000-0.5000"),
        ("30.2 Gbits", "30,2 Gbits"),
        ("connecting", "disconnecting"),
    ],
)
def test_iperf_refuses_gaps_and_contradictions(old: str, new: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse_iperf_client(IPERF.replace(old, new))


def test_several_streams_need_their_sum() -> None:
    with pytest.raises(OutputUnreadable, match="no sum"):
        parse_iperf_client("".join(line for line in STREAMS.splitlines(keepends=True) if "SUM" not in line))


def test_sysbench_recorded() -> None:
    one, four = parse_fileio_run(WRITE)
    assert (one.threads, four.threads, one.reading) == (1, 4, False)
    assert one.operations_per_s == 6475.39
    assert one.files_bytes == 16 * MIB
    assert one.latency_mean_s == pytest.approx(0.00099199 * 1000 / 6481)
    reads = parse_fileio_run(READ)
    assert all(section.reading for section in reads)
    assert reads[0].latency_mean_s == pytest.approx(943.05e-3 / 236805), "its avg is printed as 0.00"


def test_a_percentile_below_what_is_printed_is_not_known() -> None:
    text = re.sub(r"(95th percentile: +)0\.01", r"\g<1>0.00", READ)
    assert parse_fileio_run(text)[0].latency_p95_s is None


def test_files_that_were_there_give_no_rate() -> None:
    assert parse_fileio_load(LOAD).written_bytes == 16 * MIB
    again = parse_fileio_load(recorded("sysbench-load-again-1.0.20.txt"))
    assert (again.written_bytes, again.bytes_per_s) == (None, None)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("writes/s:                     6475.39", "writes/s:                     0.00"),
        ("written, MiB/s:               202.36", "written, MiB/s:               302.36"),
        ("reads/s:                      0.00", "reads/s:                      4.00"),
        ("total number of events:              6481", "total number of events:              0"),
        ("execution time", "executed time"),
        ("Block size 32KiB", "Block size 0KiB"),
    ],
)
def test_sysbench_refuses_contradictions(old: str, new: str) -> None:
    assert old in WRITE
    with pytest.raises(OutputUnreadable):
        parse_fileio_run(WRITE.replace(old, new))


@pytest.mark.parametrize(
    ("parse", "name"),
    [
        (parse_stress_ng_log, "damaged-stress-ng.txt"),
        (parse_ping, "damaged-ping.txt"),
        (parse_iperf_client, "damaged-iperf.txt"),
        (parse_fileio_run, "damaged-sysbench.txt"),
    ],
)
def test_damaged_files_are_refused(parse: Parser, name: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse(recorded(name))


def test_a_cut_sysbench_log_loses_whole_sections_or_is_refused() -> None:
    whole = parse_fileio_run(WRITE)
    for length in range(len(WRITE)):
        try:
            sections = parse_fileio_run(WRITE[:length])
        except OutputUnreadable:
            continue
        assert sections == whole[: len(sections)]
