"""Forms of the same tools that no recording here has: other systems, other versions, other languages.

Written after the tools' sources and manual pages; each was once read wrongly, or refused though it is whole.
"""

import json
from typing import Any

import pytest

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.units import GIB, KIB, MIB
from nephoscope.parsers.cpuinfo import parse_cpu_lines, parse_cpuinfo
from nephoscope.parsers.dmidecode import parse_dmidecode
from nephoscope.parsers.fio import parse_fio
from nephoscope.parsers.identify import identify
from nephoscope.parsers.iperf2 import parse_iperf_csv
from nephoscope.parsers.iperf3 import parse_iperf3, parse_iperf3_text
from nephoscope.parsers.lscpu import parse_lscpu
from nephoscope.parsers.netperf import parse_netperf
from nephoscope.parsers.ping import parse_ping
from nephoscope.parsers.stress_ng import parse_stress_ng_log
from nephoscope.parsers.sysbench_fileio import parse_fileio_run
from nephoscope.parsers.sysbench_oltp import parse_sysbench_oltp
from tests.support.logs_of_2019 import cpu_log, recorded

LOOPBACK = "--- x ping statistics ---\n1 packets transmitted, 1 packets received, 0.0% packet loss\n"


def ping(head: str, reply: str, times: str = "rtt min/avg/max/mdev = 0.500/0.500/0.500/0.000 ms") -> str:
    return f"{head}\n{reply}\n\n{LOOPBACK}{times}\n"


V4 = "64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=0.500 ms"


@pytest.mark.parametrize(
    ("head", "reply", "host"),
    [
        ("PING fe80::1%eth0(fe80::1%eth0) 56 data bytes", V4.replace("10.0.0.1", "fe80::1%eth0"), "fe80::1%eth0"),
        ("PING 2001:db8::1(2001:db8::1) from 2001:db8::2 eth0: 56 data bytes", V4, "2001:db8::1"),
        ("PING ipv6.test(node.test (2001:db8::1)) 56 data bytes", V4, "ipv6.test"),
        ("PING6(56=40+8+8 bytes) 2001:db8::2 --> 2001:db8::1", V4.replace("ttl", "hlim"), "2001:db8::1"),
        ("PING(56=40+8+8 bytes) ::1 --> ::1", "16 bytes from ::1, icmp_seq=0 hlim=64 time=0.500 ms", "::1"),
        ("PING 10.0.0.1 (10.0.0.1) from 10.0.0.2 eth0: 56(84) bytes of data.", V4, "10.0.0.1"),
        ("PING node.test (10.0.0.1): 56 data bytes", V4, "node.test"),
        ("PING node.test: 56 data bytes", V4, "node.test"),
        ("PING 10.0.0.1 (10.0.0.1) 56(84) bytes of data.", V4.replace(" ttl", " ident=14071 ttl"), "10.0.0.1"),
    ],
)
def test_ping_of_other_systems(head: str, reply: str, host: str) -> None:
    found = parse_ping(ping(head, reply))
    assert (found.host, found.replies_s) == (host, (0.0005,))


def test_ping_with_the_decimal_point_of_the_language() -> None:
    head, times = "PING x (127.0.0.1): 56 data bytes", "round-trip min/avg/max/stddev = 0,500/0,500/0,500/0,000 ms"
    found = parse_ping(ping(head, V4.replace("0.500", "0,500"), times))
    assert found.times
    assert (found.times.mean_s, found.replies_s) == (0.0005, (0.0005,))


def test_the_numbers_of_requests_go_on_after_16_bits() -> None:
    arrived = [1, 60_000, 65_534, 65_537, 65_536, 65_600, 130_000]  # of which one is late
    replies = "\n".join(V4.replace("icmp_seq=1 ", f"icmp_seq={number % 2**16} ") for number in arrived)
    counts = f"130000 packets transmitted, {len(arrived)} packets received, 99.9% packet loss"
    text = ping("PING x (127.0.0.1): 56 data bytes", replies).replace(LOOPBACK.splitlines()[1], counts)
    assert parse_ping(text).sequence == tuple(arrived)


def test_a_reply_whose_time_is_not_understood_is_refused() -> None:
    with pytest.raises(OutputUnreadable, match="0 complete replies of 1"):
        parse_ping(ping("PING x (127.0.0.1): 56 data bytes", V4.replace("0.500 ms", "500 us")))


def test_iperf_csv_of_udp_ends_with_the_server_s_report() -> None:
    sent = "20240101100000,10.0.0.1,41868,10.0.0.2,5001,3,0.0-10.0,1312710,1050168\n"
    said = "20240101100000,10.0.0.2,5001,10.0.0.1,41868,3,0.0-10.0,1305360,1044288,0.011,5,893,0.560,0\n"
    found = parse_iperf_csv(sent + said)
    assert (found.server, found.whole.bits_per_s, len(found.streams)) == ("10.0.0.2", 1050168, 1)
    assert found.received
    assert (found.received.bits_per_s, found.received.lost, found.received.datagrams) == (1044288, 5, 893)
    assert found.received.jitter_s == pytest.approx(11e-6)


def sums(bits_per_s: float, **more: Any) -> dict[str, Any]:
    return {
        "start": 0,
        "end": 10,
        "seconds": 10,
        "bytes": round(bits_per_s * 10 / 8),
        "bits_per_second": bits_per_s,
        **more,
    }


def iperf3(version: str, protocol: str, **end: Any) -> str:
    start = {"version": f"iperf {version}", "test_start": {"protocol": protocol, "num_streams": 1, "reverse": 0}}
    return json.dumps({"start": start, "intervals": [], "end": end}, indent=1)


def test_iperf3_of_old_versions_counts_lost_datagrams_as_sent() -> None:
    found = parse_iperf3(iperf3("3.1.3", "UDP", sum=sums(1e9, lost_packets=250, packets=1000, jitter_ms=0.01)))
    assert (found.sent_bits_per_s, found.received_bits_per_s) == (1e9, 0.75e9)


def test_datagrams_that_came_late_may_make_the_loss_negative() -> None:
    found = parse_iperf3(iperf3("3.16", "UDP", sum=sums(1e9, lost_packets=-1, packets=1000, jitter_ms=0.01)))
    assert (found.lost, found.received_bits_per_s) == (-1, 1e9)
    text = recorded("iperf3-text-udp-3.12.txt").replace(" 0/", " -1/")
    assert parse_iperf3_text(text).lost == -1


def test_iperf3_in_both_directions() -> None:
    back = {"sum_sent_bidir_reverse": sums(6e9), "sum_received_bidir_reverse": sums(5e9)}
    found = parse_iperf3(iperf3("3.16", "TCP", sum_sent=sums(4e9), sum_received=sums(3e9), **back))
    assert (found.sent_bits_per_s, found.received_bits_per_s) == (4e9, 3e9)
    assert (found.back_sent_bits_per_s, found.back_received_bits_per_s) == (6e9, 5e9)


@pytest.mark.parametrize("forward_first", [True, False])
@pytest.mark.parametrize("where", ["connecting_to", "accepted_connection"], ids=["client", "server"])
def test_iperf3_3_7_gives_both_directions_the_same_keys(where: str, forward_first: bool) -> None:
    here_sent = where == "connecting_to"
    rates = [(4e9, 3e9, here_sent), (6e9, 5e9, not here_sent)]
    ends = [
        {"sum_sent": sums(sent, sender=sender), "sum_received": sums(received, sender=sender)}
        for sent, received, sender in (rates if forward_first else rates[::-1])
    ]
    first, second = (json.dumps(end)[1:-1] for end in ends)
    text = iperf3("3.7", "TCP").replace('"end": {}', f'"end": {{{first}, {second}}}')
    found = parse_iperf3(text.replace('"version"', f'"{where}": {{}}, "version"'))
    assert (found.sent_bits_per_s, found.received_bits_per_s) == (4e9, 3e9)
    assert (found.back_sent_bits_per_s, found.back_received_bits_per_s) == (6e9, 5e9)
    with pytest.raises(OutputUnreadable, match="stands twice"):
        parse_iperf3(text.replace('"sender": false', '"sender": true'))


def test_iperf3_3_7_counts_lost_datagrams_of_both_directions() -> None:
    ways = [
        sums(rate, lost_packets=250, packets=1000, jitter_ms=0.01, sender=sender)
        for rate, sender in ((1e9, True), (2e9, False))
    ]
    doubled = ", ".join(f'"sum": {json.dumps(way)}' for way in ways)
    found = parse_iperf3(iperf3("3.7", "UDP").replace('"end": {}', f'"end": {{{doubled}}}'))
    assert (found.received_bits_per_s, found.back_received_bits_per_s) == (0.75e9, 1.5e9)


def test_iperf3_in_its_text() -> None:
    tcp = parse_iperf3_text(recorded("iperf3-text-3.12.txt"))
    assert (tcp.protocol, tcp.streams, tcp.reverse, tcp.sent_bits_per_s, tcp.received_bits_per_s) == (
        "TCP",
        1,
        False,
        2e8,
        2e8,
    )
    assert [one.bits_per_s for one in tcp.intervals] == [2e8, 2e8]
    streams = parse_iperf3_text(recorded("iperf3-text-streams-3.12.txt"))
    assert (streams.streams, streams.received_bits_per_s, streams.retransmits) == (2, 2e8, 0)
    assert [(one.bits_per_s, one.omitted) for one in streams.intervals] == [
        (2.01e8, True),
        (1.99e8, False),
        (2.01e8, False),
    ]
    udp = parse_iperf3_text(recorded("iperf3-text-udp-3.12.txt"))
    assert (udp.protocol, udp.lost, udp.datagrams, udp.retransmits) == ("UDP", 0, 153, None)
    assert udp.jitter_s == pytest.approx(18e-6)
    both = parse_iperf3_text(recorded("iperf3-text-both-ways-3.12.txt"))
    assert (both.sent_bits_per_s, both.received_bits_per_s) == (1e8, 98.5e6)
    assert (both.back_sent_bits_per_s, both.back_received_bits_per_s) == (1.02e8, 1e8)
    server = parse_iperf3_text(recorded("iperf3-text-server-3.12.txt"))
    assert (server.reverse, server.sent_bits_per_s, server.received_bits_per_s) == (True, 1e8, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("sender", ""), None),
        (("iperf Done.\n", ""), "cut off"),
        (("200 Mbits/sec                  receiver", "900 Mbits/sec                  receiver"), "contradicts itself"),
        (("Mbits/sec                  receiver", "Xbits/sec                  receiver"), "unreadable line"),
        (("iperf Done.", "iperf3: error - control socket closed"), "control socket"),
        (("Connecting", "Talking"), "0 lines|no lines"),
    ],
)
def test_iperf3_text_that_is_not_whole(change: tuple[str, str], said: str | None) -> None:
    text = recorded("iperf3-text-3.12.txt").replace(*change)
    if said is None:
        assert parse_iperf3_text(text).sent_bits_per_s is None
    else:
        with pytest.raises(OutputUnreadable, match=said):
            parse_iperf3_text(text)


OLD_NETPERF = """TCP STREAM TEST to 10.0.0.2
Recv   Send    Send
Socket Socket  Message  Elapsed
Size   Size    Size     Time     Throughput
bytes  bytes   bytes    secs.    10^6bits/sec

 87380  16384  16384    10.00     941.35
"""


def test_netperf_before_it_named_its_own_address() -> None:
    found = parse_netperf(OLD_NETPERF)
    assert (found.host, found.bits_per_s, identify(OLD_NETPERF).tool) == ("10.0.0.2", 941.35e6, "netperf")


@pytest.mark.parametrize(
    "row", [" 87380  16384  16384    10.00    9412.35   \n", "20,35.12,40,60,900,5.12,28123.451\n"]
)
def test_netperf_without_any_name_is_refused(row: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse_netperf(row)


def lscpu(*lines: str, vendor: str = "GenuineIntel", sockets: str = "1") -> str:
    head = ("Architecture:  x86_64", "CPU(s):        16", f"Socket(s):     {sockets}", f"Vendor ID:     {vendor}")
    return "".join(f"{line}\n" for line in (*head, *lines))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("L3 cache:      25344K", (25344 * KIB, True, None)),
        ("L3 cache:      71.5 MiB", (73216 * KIB, False, None)),
        ("  L3:          71.5 MiB (2 instances)", (73216 * KIB, False, 2)),
        ("L3 cache:      1,5 MiB", (1536 * KIB, False, None)),
    ],
)
def test_lscpu_prints_one_cache_or_the_sum_of_all(line: str, expected: tuple[int, bool, int | None]) -> None:
    cache = parse_lscpu(lscpu(line)).caches["L3"]
    assert (cache.size_bytes, cache.of_one, cache.instances) == expected


def test_a_numa_node_of_memory_alone() -> None:
    nodes = ("NUMA node(s):  2", "NUMA node0 CPU(s):  0-15", "NUMA node1 CPU(s):")
    assert parse_lscpu(lscpu(*nodes)).node_cpus == {0: tuple(range(16)), 1: ()}
    with pytest.raises(OutputUnreadable, match="2 NUMA nodes, but the CPUs of 1"):
        parse_lscpu(lscpu(*nodes[:2]))


@pytest.mark.parametrize(
    ("text", "kib"),
    [
        (lscpu("L3 cache:      25344K"), 25344),
        (lscpu("L3 cache:      71.5 MiB", sockets="2"), 36608),
        (lscpu("L3 cache:      16 MiB", vendor="AuthenticAMD"), None),
        (lscpu("L3 cache:      16 MiB", sockets="-"), None),
        (lscpu("  L3:          16 MiB (2 instances)", vendor="AuthenticAMD"), 8192),
    ],
)
def test_the_cache_of_one_cpu_is_read_where_it_is_certain(text: str, kib: int | None) -> None:
    assert parse_cpu_lines(text).l3_kib == kib


def test_cpuinfo_printed_before_and_after_is_of_one_machine() -> None:
    block = "".join(f"processor\t: {at}\nmodel name\t: Xeon\n\n" for at in range(4))
    assert parse_cpu_lines(block + block).vcpus == 4
    with pytest.raises(OutputUnreadable, match="listed twice, but others are not"):
        parse_cpu_lines(block + "processor\t: 1\n")


def test_cpuinfo_that_does_not_know_and_one_that_begins_later() -> None:
    unknown = "processor\t: 2\nvendor_id\t: AuthenticAMD\ncpu MHz\t\t: unknown\ncache size\t: unknown\n\n"
    found = parse_cpuinfo(unknown)
    assert (found.cpus, found.mhz, found.cache_bytes) == (1, (), None)
    assert identify(unknown).tool == "cpuinfo"


@pytest.mark.parametrize(("size", "bytes_"), [("16384 MiB", 16 * GIB), ("32 GiB", 32 * GIB), ("64 kB", 64 * KIB)])
def test_dmidecode_by_either_name_of_a_unit(size: str, bytes_: int) -> None:
    text = f"Handle 0x1100, DMI type 17, 34 bytes\nMemory Device\n\tSize: {size}\n\n"
    assert parse_dmidecode(text).memory_bytes == bytes_


def test_fio_with_numbers_that_are_none_and_with_directions_together() -> None:
    text = recorded("fio-write-logs-3.33.json")
    nan = text.replace('"bw_dev" : 0.000000', '"bw_dev" : -nan')
    whole = json.loads(text[text.index("{") : text.rindex("}") + 1])
    job = whole["jobs"][0]
    side = next(name for name in ("write", "read") if job[name]["io_bytes"])
    assert nan.count("-nan") > 0
    assert parse_fio(nan) == parse_fio(text)
    job["mixed"] = job.pop(side)
    found = parse_fio(json.dumps({**whole, "jobs": [job]}, indent=1)).jobs[0]
    assert found.mixed == getattr(parse_fio(text).jobs[0], side)
    assert found.read is found.write is None


def test_stress_ng_tells_its_cache_among_debug_lines() -> None:
    text = cpu_log().replace("info:  [4155] cache", "debug: [4155] cache")
    assert parse_stress_ng_log(text).cache_kib == 25344


FILEIO_0_4 = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 16

Extra file open flags: 0
128 files, 640Mb each
80Gb total file size
Block size 32Kb
Doing random write test
Threads started!
Done.

Operations performed:  0 Read, 10000 Write, 12800 Other = 22800 Total
Read 0b  Written 312.5Mb  Total transferred 312.5Mb  (31.25Mb/sec)
 1000.00 Requests/sec executed

Test execution summary:
    total time:                          10.0000s
    total number of events:              10000
    total time taken by event execution: 150.0000
    per-request statistics:
         min:                                  0.01ms
         avg:                                 15.00ms
         max:                                 90.12ms
         approx.  95 percentile:              40.20ms

Threads fairness:
    events (avg/stddev):           625.0000/10.00
    execution time (avg/stddev):   9.3750/0.10
"""


def test_sysbench_0_4_prints_no_bytes_as_0b() -> None:
    (found,) = parse_fileio_run(FILEIO_0_4)
    assert (found.writes_per_s, found.reads_per_s, found.files_bytes) == (1000.0, None, 80 * GIB)
    assert found.written_bytes_per_s == 31.25 * MIB


@pytest.mark.parametrize(
    "line", ["         approx.  99 percentile:              40.20ms", "         percentile stats:  disabled"]
)
def test_sysbench_with_another_percentile_has_none_of_95(line: str) -> None:
    asked = "         approx.  95 percentile:              40.20ms"
    assert parse_fileio_run(FILEIO_0_4)[0].latency_p95_s == pytest.approx(0.0402)
    assert parse_fileio_run(FILEIO_0_4.replace(asked, line))[0].latency_p95_s is None


FILEIO_1_1 = """sysbench 1.1.0-df89d34 (using bundled LuaJIT 2.1.0-beta3)

Running the test with following options:
Number of threads: 4

Extra file open flags: directio
2GiB total file size
Block size 16KiB
Doing random r/w test
Threads started!

Throughput:
         read:  IOPS=3000.00 46.88 MiB/s (49.15 MB/s)
         write: IOPS=2000.00 31.25 MiB/s (32.77 MB/s)
         fsync: IOPS=6400.00

Latency (ms):
         min:                                    0.00
         avg:                                    0.35
         max:                                   12.52
         95th percentile:                        0.95
         sum:                                39900.26

"""


def test_sysbench_1_1_prints_no_time_and_no_events() -> None:
    (found,) = parse_fileio_run(FILEIO_1_1)
    assert (found.reads_per_s, found.writes_per_s, found.fsyncs_per_s) == (3000.0, 2000.0, 6400.0)
    assert found.read_bytes_per_s == 46.88 * MIB
    assert (found.duration_s, found.latency_mean_s, found.latency_p95_s) == (None, 0.00035, 0.00095)
    assert parse_fileio_run(FILEIO_1_1.replace(" 0.35", " 0.00"))[0].latency_mean_s is None


@pytest.mark.parametrize(
    ("before", "after"),
    [("49.15 MB/s", "46.88 MB/s"), ("avg:                                    0.35", "avg:  35.00"), ("sum:", "sun:")],
)
def test_sysbench_1_1_that_contradicts_itself_is_refused(before: str, after: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse_fileio_run(FILEIO_1_1.replace(before, after))


OLTP_0_5 = """sysbench 0.5:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 8
Report intermediate results every 1 second(s)

Threads started!

[   1s] threads: 8, tps: 1001.00, reads: 14000.00, writes: 4000.00, response time: 12.34ms (95%)@
[   2s] threads: 8, tps: 999.00, reads/s: 14000.00, writes/s: 4000.00, response time: 12.34ms (95%)
OLTP test statistics:
    queries performed:
        read:                            140000
        write:                           40000
        other:                           20000
        total:                           200000
    transactions:                        10000  (1000.00 per sec.)
    read/write requests:                 180000 (18000.00 per sec.)
    other operations:                    20000  (2000.00 per sec.)
    ignored errors:                      0      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          10.0000s
    total number of events:              10000
    total time taken by event execution: 79.9000s
    response time:
         min:                                  3.01ms
         avg:                                  7.99ms
         max:                                 90.12ms
         approx.  95 percentile:              12.34ms

Threads fairness:
    events (avg/stddev):           1250.0000/10.00
    execution time (avg/stddev):   9.9875/0.00
"""


def test_intermediate_lines_of_sysbench_0_5() -> None:
    text = OLTP_0_5.replace("@", ", errors: 2.00, reconnects:  0.00")
    overflown = (
        "[   3s] threads: 8, tps: 18446842801212211200.00, reads: 1.00, writes: 1.00, response time: 1.00ms (95%)"
    )
    assert parse_sysbench_oltp(text.replace("OLTP test", f"{overflown}\nOLTP test")).left_out == (overflown,)
    first, second = parse_sysbench_oltp(text).intervals
    assert (first.at_s, first.transactions_per_s, first.errors_per_s, first.latency_s) == (1, 1001, 2, 0.01234)
    assert (second.at_s, second.transactions_per_s, second.errors_per_s, second.queries_per_s) == (2, 999, None, None)
