"""What the tools really printed, as values; and variants that other versions print."""

import json

import pytest

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.units import GIB, KIB, MIB
from nephoscope.parsers.coremark import parse_coremark
from nephoscope.parsers.cpuinfo import parse_cpuinfo
from nephoscope.parsers.dmidecode import parse_dmidecode
from nephoscope.parsers.fio import parse_fio, parse_fio_log
from nephoscope.parsers.identify import PARSERS, identify
from nephoscope.parsers.iperf2 import parse_iperf_client, parse_iperf_csv, parse_iperf_server
from nephoscope.parsers.iperf3 import parse_iperf3
from nephoscope.parsers.lsblk import parse_lsblk
from nephoscope.parsers.lscpu import cpus_of, parse_lscpu
from nephoscope.parsers.netperf import parse_netperf
from nephoscope.parsers.sockperf import SockperfLatency, SockperfThroughput, parse_sockperf
from nephoscope.parsers.stress_ng import parse_stress_ng_yaml
from nephoscope.parsers.sysbench_fileio import parse_fileio_run
from nephoscope.parsers.sysbench_oltp import parse_sysbench_oltp
from nephoscope.parsers.text import size_of
from tests.support.logs_of_2019 import recorded
from tests.support.parser_samples import IDENTIFIED, parse_any

FIO_2 = """{
  "fio version" : "fio-2.1.4",
  "jobs" : [ { "jobname" : "old", "error" : 0,
    "read" : { "io_bytes" : 4096, "bw" : 2048, "iops" : 512, "runtime" : 2000,
      "clat" : { "min" : 100, "max" : 900, "mean" : 250.5, "stddev" : 9.1,
        "percentile" : { "50.000000" : 240, "99.000000" : 800, "0.00" : 0, "0.00" : 0 } } },
    "write" : { "io_bytes" : 0, "bw" : 0, "iops" : 0, "runtime" : 0 } } ]
}
"""
SYSBENCH_0_4 = """sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 16

Extra file open flags: 0
128 files, 16Mb each
2Gb total file size
Block size 16Kb
Number of random requests for random IO: 10000
Read/Write ratio for combined random IO test: 1.50
Doing random r/w test
Threads started!
Done.

Operations performed:  6000 Read, 4000 Write, 12800 Other = 22800 Total
Read 93.75Mb  Written 62.5Mb  Total transferred 156.25Mb  (9.2421Mb/sec)
  591.49 Requests/sec executed

Test execution summary:
    total time:                          16.9064s
    total number of events:              10000
    total time taken by event execution: 102.6000
    per-request statistics:
         min:                                  0.01ms
         avg:                                 10.26ms
         max:                                365.27ms
         approx.  95 percentile:              50.10ms

Threads fairness:
    events (avg/stddev):           625.0000/50.12
    execution time (avg/stddev):   6.4125/0.10

"""
BUSYBOX = """PING 127.0.0.1 (127.0.0.1): 56 data bytes
64 bytes from 127.0.0.1: seq=0 ttl=64 time=0.060 ms
64 bytes from 127.0.0.1: seq=1 ttl=64 time=0.080 ms

--- 127.0.0.1 ping statistics ---
3 packets transmitted, 2 packets received, 33% packet loss
round-trip min/avg/max = 0.060/0.070/0.080 ms
"""
TWICE = """PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.
64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=1.00 ms
64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=3.00 ms (DUP!)
From 192.0.2.254 icmp_seq=2 Destination Host Unreachable

--- 192.0.2.1 ping statistics ---
2 packets transmitted, 1 received, +1 duplicates, +1 errors, 50% packet loss, time 1001ms
rtt min/avg/max/mdev = 1.000/2.000/3.000/1.000 ms, pipe 2
"""


def test_every_recording_is_identified_and_read_by_its_own_parser() -> None:
    assert {tool for tool, _, _ in IDENTIFIED} == set(PARSERS)
    for tool, name, text in IDENTIFIED:
        found = identify(text)
        assert (found.tool, found.reason[:5]) == (tool, "line "), name


def test_a_text_of_no_tool_is_refused_with_what_it_begins_with() -> None:
    with pytest.raises(OutputUnreadable, match="starts with 'hello'"):
        identify("hello\n")


def test_coremark() -> None:
    one, two = (parse_coremark(recorded(name)) for name in ("coremark-1.0.txt", "coremark-two-threads-1.0.txt"))
    assert (one.iterations_per_s, one.contexts, one.parallel, one.seed_crc) == (11801.49879, 1, None, "0xe9f5")
    assert (two.contexts, two.parallel, two.compiler) == (2, "PThreads", "GCC12.2.0")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Correct operation validated", "Errors detected", "it says 'Errors detected"),
        ("Correct operation validated. See README.md for run and reporting rules.\n", "", "Correct operation"),
        ("200000", "210000", "contradicts itself"),
        ("16.947000", "6.947000", "contradicts itself"),
        ("[0]crcfinal      : 0x4983\n", "", "0 final checksums"),
        ("CoreMark 1.0 : 11801", "CoreMark 1.0 : 12801", "the score"),
    ],
)
def test_coremark_that_did_not_validate_or_contradicts_itself_is_refused(old: str, new: str, said: str) -> None:
    text = recorded("coremark-1.0.txt")
    assert old in text
    with pytest.raises(OutputUnreadable, match=said):
        parse_coremark(text.replace(old, new))


def test_coremark_below_ten_seconds_is_refused() -> None:
    with pytest.raises(OutputUnreadable, match="at least 10 secs"):
        parse_coremark(recorded("coremark-too-short-1.0.txt"))


def test_ping_of_busybox_has_no_deviation() -> None:
    ping = parse_any(BUSYBOX)
    assert (ping.sent, ping.received, ping.times.deviation_s) == (3, 2, None)
    assert ping.replies_s == pytest.approx((60e-6, 80e-6))
    assert ping.sequence == (0, 1)


def test_a_reply_that_came_twice_counts_in_the_statistics_alone() -> None:
    ping = parse_any(TWICE)
    assert (ping.sent, ping.received, ping.duplicates, ping.errors) == (2, 1, 1, 1)
    assert ping.times.mean_s == pytest.approx(0.002)
    assert (ping.sequence, len(ping.replies_s)) == ((1,), 1)


def test_packets_too_small_for_a_time_have_none() -> None:
    ping = parse_any(recorded("ping-small-20221126.txt"))
    assert (ping.received, ping.times, ping.replies_s) == (2, None, ())


def test_ping_of_other_kinds() -> None:
    assert parse_any(recorded("ping-v6-20221126.txt")).host == "::1"
    assert parse_any(recorded("ping-quiet-20221126.txt")).replies_s == ()
    assert len(parse_any(recorded("ping-timestamps-20221126.txt")).replies_s) == 2
    assert parse_any(recorded("ping-lost-20221126.txt")).times is None
    assert parse_any(BUSYBOX.replace("33%", "33,3333%")).received == 2


def test_iperf2_of_udp_tells_loss_where_it_was_seen() -> None:
    client = parse_iperf_client(recorded("iperf-udp-2.1.8.txt"))
    assert client.whole.lost is None
    assert client.received
    assert (client.received.lost, client.received.datagrams, client.received.jitter_s) == (0, 3570, 0.0)
    server = parse_iperf_client(recorded("iperf-udp-server-2.1.8.txt"))
    assert server.server is None
    assert server.whole.jitter_s == pytest.approx(1e-6)


def test_iperf2_bytes_are_not_bits() -> None:
    text = recorded("iperf-enhanced-2.1.8.txt").replace("16.2 Gbits/sec", "1.89 GBytes/sec")
    assert parse_iperf_client(text).whole.bits_per_s == pytest.approx(1.89 * GIB * 8)
    with pytest.raises(OutputUnreadable, match="contradicts itself"):
        parse_iperf_client(text.replace("GBytes/sec", "Gbits/sec"))


def test_iperf2_servers_and_csv() -> None:
    streams = parse_iperf_server(recorded("iperf-server-2.1.8.txt"))
    assert [round(one.whole.bits_per_s / 1e9, 2) for one in streams] == [16.3, 13.5, 13.9, 7.24]
    csv = parse_iperf_csv(recorded("iperf-csv-2.1.8.txt"))
    assert len(csv.streams) == 2
    assert csv.whole.bits_per_s == 13424908034 + 13781326491
    later = "20261121173350,127.0.0.1,47799,127.0.0.1,5322,9,0.0-9.0,9000000000,8000000000\n"
    with pytest.raises(OutputUnreadable, match="different times"):
        parse_iperf_csv(recorded("iperf-csv-2.1.8.txt") + later)


def test_iperf3() -> None:
    tcp = parse_iperf3(recorded("iperf3-tcp-3.12.json"))
    assert (tcp.received_bits_per_s, tcp.retransmits, tcp.congestion_control) == (5120322682.9371166, 30, "bbr")
    assert [one.retransmits for one in tcp.intervals][-1] == 20
    streams = parse_iperf3(recorded("iperf3-streams-3.12.json"))
    assert (streams.streams, [one.omitted for one in streams.intervals]) == (2, [True, False, False])
    udp = parse_iperf3(recorded("iperf3-udp-3.12.json"))
    assert (udp.protocol, udp.lost, udp.datagrams, udp.retransmits) == ("UDP", 0, 191, None)


def test_what_an_iperf3_server_does_not_know_is_not_0() -> None:
    server = parse_iperf3(recorded("iperf3-server-3.12.json"))
    assert (server.sent_bits_per_s, server.retransmits) == (None, None)
    assert server.received_bits_per_s == pytest.approx(5.67e9, rel=0.01)


def test_iperf3_s_own_error_is_told() -> None:
    with pytest.raises(OutputUnreadable, match="Connection refused"):
        parse_iperf3(recorded("iperf3-refused-3.12.json"))


def test_iperf3_of_a_stream_of_events() -> None:
    events = (
        '{"event":"start","data":{"version":"iperf 3.17","test_start":{"protocol":"TCP","num_streams":1}}}\n'
        '{"event":"interval","data":{"sum":{"start":0,"end":1,"seconds":1,"bytes":125,"bits_per_second":1000}}}\n'
        '{"event":"end","data":{"sum_sent":{"start":0,"end":1,"seconds":1,"bytes":125,"bits_per_second":1000},'
        '"sum_received":{"start":0,"end":1,"seconds":1,"bytes":125,"bits_per_second":1000}}}\n'
    )
    assert parse_iperf3(events).received_bits_per_s == 1000
    assert len(parse_iperf3(events).intervals) == 1


def test_netperf_in_all_its_forms() -> None:
    def of(name: str) -> object:
        found = parse_netperf(recorded(f"netperf-{name}-hand-made.txt"))
        return found.throughput, found.unit, found.bits_per_s

    assert of("tcp-stream") == (9415.27, "10^6bits/s", 9415.27e6)
    assert of("udp-stream") == (6183.56, "10^6bits/sec", 6183.56e6)
    assert of("tcp-rr") == (10481.21, "Trans/s", None)
    assert of("omni") == (23456.78, "Trans/s", None)
    assert of("csv") == (9.41, "10^9bits/s", 9.41e9)
    assert of("bare") == (9.41, "10^9bits/s", 9.41e9)


def test_what_netperf_says_besides() -> None:
    stream = parse_netperf(recorded("netperf-tcp-stream-hand-made.txt"))
    assert (stream.test, stream.host, stream.duration_s) == ("TCP STREAM", "192.0.2.7", 10)
    assert [one.rate for one in stream.interims] == [9412.21, 9418.9]
    assert (stream.local_cpu_share, stream.remote_cpu_share) == pytest.approx((0.1234, 0.2001))
    omni = parse_netperf(recorded("netperf-omni-hand-made.txt"))
    assert omni.latency_mean_s == pytest.approx(42.51e-6)
    assert omni.latency_p99_s == pytest.approx(71e-6)
    assert omni.confidence_reached is False
    keywords = parse_netperf(recorded("netperf-keywords-hand-made.txt"))
    assert (keywords.local_cpu_share, keywords.retransmissions) == (None, 3)
    assert keywords.histogram[-1] == (100.0, 2)
    assert sum(count for _, count in keywords.histogram) == 133026
    assert parse_netperf(recorded("netperf-csv-hand-made.txt")).retransmissions is None, "-1 is not known"


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("csv", ",-1", ",-1,7", "5 names and 6 values"),
        ("csv", "9.41", "0.00", "or 0"),
        ("keywords", "133026", "133027", "do not add up to its total"),
        ("keywords", "THROUGHPUT=2217.06\n", "", "no result"),
        ("keywords", "P99_LATENCY=589", "P99_LATENCY=many", "not a number"),
        ("tcp-rr", "10481.21", "fast", "not a number"),
    ],
)
def test_netperf_that_says_no_result_is_refused(name: str, old: str, new: str, said: str) -> None:
    text = recorded(f"netperf-{name}-hand-made.txt")
    assert old in text
    with pytest.raises(OutputUnreadable, match=said):
        parse_netperf(text.replace(old, new))


def test_sockperf() -> None:
    latency = parse_sockperf(recorded("sockperf-ping-pong-3.7.txt"))
    assert isinstance(latency, SockperfLatency)
    assert (latency.observations, latency.dropped) == (16211, 0)
    assert latency.mean_s == pytest.approx(16.8e-6)
    assert latency.percentiles_s[99.0] == pytest.approx(100.133e-6)
    sent = parse_sockperf(recorded("sockperf-throughput-3.7.txt"))
    assert isinstance(sent, SockperfThroughput)
    assert sent.bits_per_s == pytest.approx(66463 * 1400 * 8, rel=0.001)


def test_fio_3() -> None:
    (job,) = parse_fio(recorded("fio-mixed-3.33.txt")).jobs
    assert job.read
    assert job.write
    assert job.sync
    assert job.direct is None
    assert (job.read.bytes_done, job.trim) == (job.read.ios and job.read.ios * 4096, None)
    (writes,) = parse_fio(recorded("fio-write-logs-3.33.json")).jobs
    assert (writes.read, writes.direct) == (None, True)
    assert writes.write
    assert writes.write.total
    in_flight = writes.write.ios_per_s * writes.write.total.mean_s
    assert in_flight == pytest.approx(4, rel=0.1), "Little's law: the queue depth"


def test_fio_2_writes_microseconds_and_kib() -> None:
    (job,) = parse_fio("noise\n" + FIO_2 + "more noise\n").jobs
    assert job.write is None
    assert job.read
    assert (job.read.bytes_done, job.read.bytes_per_s, job.read.ios) == (4096 * KIB, 2048 * KIB, None)
    assert job.read.completion
    assert job.read.completion.mean_s == pytest.approx(250.5e-6)
    assert job.read.completion.percentiles_s == pytest.approx({50.0: 240e-6, 99.0: 800e-6})


def test_fio_survives_another_stream_between_its_lines() -> None:
    text = recorded("fio-write-logs-3.33.json")
    noisy = text.replace('      "error" : 0,\n', '      "error" : 0,\nfio: a warning on stderr\n')
    assert noisy != text
    assert parse_fio(noisy) == parse_fio(text)


def test_fio_logs() -> None:
    rows = parse_fio_log(recorded("fio-latency-3.33.log"))
    assert [(row.at_s, row.value, row.direction) for row in rows] == [
        (1.003, 138925, "write"),
        (2.0, 151877, "write"),
        (2.0, 281938, "write"),
    ]
    with pytest.raises(OutputUnreadable, match="line 2"):
        parse_fio_log("1000, 5, 0, 4096\n2000, x, 0, 4096\n")


def test_sysbench_of_a_mixed_mode_has_both_sides() -> None:
    (section,) = parse_fileio_run(recorded("sysbench-mixed-1.0.20.txt"))
    assert (section.reads_per_s, section.writes_per_s, section.reading) == (12567.75, 8378.17, False)
    assert section.operations_per_s == pytest.approx(20945.92)


def test_sysbench_0_4() -> None:
    (section,) = parse_fileio_run(SYSBENCH_0_4)
    assert section.reads_per_s == pytest.approx(6000 / 16.9064)
    assert section.written_bytes_per_s == pytest.approx(62.5 * MIB / 16.9064)
    assert (section.files_bytes, section.latency_mean_s, section.latency_p95_s) == (2 * GIB, 0.01026, 0.0501)


def test_sysbench_oltp() -> None:
    test = parse_sysbench_oltp(recorded("sysbench-oltp-1.0.20.txt"))
    assert (test.transactions, test.queries, test.errors, test.threads) == (440, 8944, 8, 2)
    assert [one.transactions_per_s for one in test.intervals] == [146.86, 106.04, 184.3]
    assert test.latency_percent == 95
    assert test.latency_percentile_s == pytest.approx(0.03894)
    with pytest.raises(OutputUnreadable, match="0 sections"):
        parse_sysbench_oltp(recorded("sysbench-write-1.0.20.txt"))
    with pytest.raises(OutputUnreadable, match="are not 8945"):
        parse_sysbench_oltp(recorded("sysbench-oltp-1.0.20.txt").replace("8944", "8945"))


def test_lscpu_says_the_same_in_all_its_forms() -> None:
    text, plain, exact = (
        parse_lscpu(recorded(name)) for name in ("lscpu-2.38.1.txt", "lscpu-2.38.1.json", "lscpu-bytes-2.38.1.json")
    )
    for one in (text, plain, exact):
        assert (one.vcpus, one.sockets, one.numa_nodes, one.node_cpus) == (2, 1, 1, {0: (0, 1)})
        assert (one.caches["L3"].size_bytes, one.caches["L3"].instances) == (32 * MIB, 1)
    assert plain.caches == exact.caches


def test_an_lscpu_before_2_37_tells_of_one_instance() -> None:
    old = "Architecture: x86_64\nCPU(s): 32\nSocket(s): -\nCPU MHz: 2.00\nL3 cache:  56320K\n"
    found = parse_lscpu(old)
    assert (found.caches["L3"].size_bytes, found.caches["L3"].instances, found.sockets) == (56320 * KIB, None, None)
    assert parse_lscpu(old.replace("2.00", "2799,998")).mhz == 2799.998


@pytest.mark.parametrize(
    "text",
    [
        "Architecture: x86_64\nCPU(s): many\n",
        "Architecture: x86_64\nCPU(s): 0\n",
        "CPU(s): 4\n",
        "Architecture: x86_64\nCPU(s): 4\nNUMA node(s): 2\nNUMA node0 CPU(s): 0-3\n",
        "Architecture: x86_64\nCPU(s): 4\nOn-line CPU(s) list: 0-7\n",
        '{"lscpu": [{"field": "CPU(s):", "data": {}}]}',
    ],
)
def test_lscpu_that_contradicts_itself_is_refused(text: str) -> None:
    with pytest.raises(OutputUnreadable):
        parse_lscpu(text)


def test_lists_of_cpus_and_sizes() -> None:
    assert cpus_of("0-2,8") == (0, 1, 2, 8)
    for wrong in ("2-0", "0-999999", "x"):
        with pytest.raises(OutputUnreadable):
            cpus_of(wrong)
    assert size_of("35.8 MiB (1 instance)", "x") == (round(35.8 * MIB), 1)
    assert size_of("465,8G", "x") == (round(465.8 * GIB), 1)


def test_cpuinfo() -> None:
    found = parse_cpuinfo(recorded("cpuinfo.txt"))
    assert (found.cpus, found.sockets, found.cores, found.models) == (2, 1, 2, ("AMD EPYC",))
    assert (found.cache_bytes, found.mhz) == (MIB, (2596.146, 2596.146))
    arm = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n"
    assert parse_cpuinfo(arm).arm_parts == ("0x41/0xd0c",)
    assert parse_cpuinfo(arm).models == ()


def test_lsblk() -> None:
    exact = {one.name: one for one in parse_lsblk(recorded("lsblk-all-2.38.1.json"))}
    rough = {one.name: one for one in parse_lsblk(recorded("lsblk-2.38.1.json"))}
    assert (exact["vda"].size_bytes, exact["vda"].size_is_rounded) == (256 * GIB, False)
    assert rough["vda"].size_is_rounded
    assert rough["vda"].rotational is None
    old = (
        '{"blockdevices": [{"name": "sda", "size": "100", "rota": "1", "ro": "0", "type": "disk",'
        ' "children": [{"name": "sda1", "mountpoint": "/"}]}]}'
    )
    disk, part = parse_lsblk(old)
    assert (disk.size_bytes, disk.rotational, disk.read_only) == (100, True, False)
    assert (part.parents, part.mountpoints, part.size_bytes) == (("sda",), ("/",), None)


def test_dmidecode() -> None:
    found = parse_dmidecode(recorded("dmidecode-3.4.txt"))
    assert (found.manufacturer, found.product, found.memory_bytes) == ("Example Cloud", "test.4xlarge", 32 * GIB)
    assert found.processors == ("Example CPU @ 2.00GHz",)
    assert all("Not Specified" not in one.fields.values() for one in found.structures)
    with pytest.raises(OutputUnreadable, match="no structure"):
        parse_dmidecode(recorded("dmidecode-none-3.4.txt"))


def test_stress_ng_yaml() -> None:
    report = parse_stress_ng_yaml(recorded("stress-ng-matrix-0.15.06.yaml"))
    (row,) = report.stressors
    assert (report.version, row.stressor) == ("0.15.06", "matrix")
    assert row.per_second == pytest.approx(row.bogo_ops / row.real_s, rel=1e-3)


def test_a_raid_below_two_disks_is_one_device_and_memory_is_no_disk() -> None:
    raid = {"name": "md0", "type": "raid0", "size": 20}
    disks = [{"name": name, "type": "disk", "size": 10, "children": [raid]} for name in ("sda", "sdb")]
    others = [{"name": "zram0", "type": "disk", "size": 8}, {"name": "nbd0", "type": "disk", "size": 0}]
    found = {one.name: one for one in parse_lsblk(json.dumps({"blockdevices": [*disks, *others]}))}
    assert list(found) == ["sda", "md0", "sdb", "zram0", "nbd0"]
    assert found["md0"].parents == ("sda", "sdb")
    assert [name for name, one in found.items() if one.is_disk] == ["sda", "sdb"]


def test_empty_slots_are_no_modules_and_what_is_configured_is_not_what_is_rated() -> None:
    def slot(handle: str, *fields: str) -> str:
        return "\n\t".join((f"Handle 0x{handle}, DMI type 17, 40 bytes\nMemory Device", *fields)) + "\n\n"

    text = slot("0001", "Size: 4096 MB", "Speed: 1600 MHz", "Configured Clock Speed: 1067 MHz")
    text += slot("0002", "Size: 4 GB", "Speed: 1600 MT/s", "Configured Memory Speed: 1067 MT/s")
    text += slot("0003", "Size: No Module Installed", "Speed: Unknown")
    found = parse_dmidecode(text)
    assert (found.memory_bytes, found.memory_modules) == (8 * GIB, 2)
    assert (found.memory_mt_per_s, found.memory_rated_mt_per_s) == ((1067,), (1600,))
