"""Every recording with its parser, and damage to it."""

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nephoscope.model.errors import OutputUnreadable
from nephoscope.parsers.coremark import parse_coremark
from nephoscope.parsers.cpuinfo import parse_cpu_lines, parse_cpuinfo
from nephoscope.parsers.dmidecode import parse_dmidecode
from nephoscope.parsers.fio import parse_fio, parse_fio_log
from nephoscope.parsers.identify import PARSERS, identify
from nephoscope.parsers.iperf2 import parse_iperf_client, parse_iperf_csv, parse_iperf_server
from nephoscope.parsers.iperf3 import parse_iperf3, parse_iperf3_text
from nephoscope.parsers.lsblk import parse_lsblk
from nephoscope.parsers.lscpu import parse_lscpu
from nephoscope.parsers.netperf import parse_netperf
from nephoscope.parsers.ping import parse_ping
from nephoscope.parsers.sockperf import parse_sockperf
from nephoscope.parsers.stress_ng import parse_stress_ng_log, parse_stress_ng_runs, parse_stress_ng_yaml
from nephoscope.parsers.sysbench_fileio import parse_fileio_intervals, parse_fileio_load, parse_fileio_run
from nephoscope.parsers.sysbench_oltp import parse_sysbench_oltp
from tests.support.logs_of_2019 import DATA, cpu_log

Parser = Callable[[str], object]
_NAMES: dict[Parser, str] = {
    parse_stress_ng_log: "stress-ng-cpu-0.15.06.txt stress-ng-matrix-0.15.06.txt",
    parse_stress_ng_runs: "stress-ng-cpu-0.15.06.txt",
    parse_stress_ng_yaml: "stress-ng-matrix-0.15.06.yaml",
    parse_cpu_lines: "lscpu-2.38.1.txt cpuinfo.txt",
    parse_cpuinfo: "cpuinfo.txt",
    parse_lscpu: "lscpu-2.38.1.txt lscpu-2.38.1.json lscpu-bytes-2.38.1.json",
    parse_lsblk: "lsblk-2.38.1.json lsblk-all-2.38.1.json",
    parse_dmidecode: "dmidecode-3.4.txt",
    parse_coremark: "coremark-1.0.txt coremark-two-threads-1.0.txt",
    parse_ping: "ping-20221126.txt ping-quiet-20221126.txt ping-v6-20221126.txt ping-timestamps-20221126.txt "
    "ping-lost-20221126.txt ping-small-20221126.txt",
    parse_iperf_client: "iperf-2.1.8.txt iperf-two-streams-2.1.8.txt iperf-udp-2.1.8.txt iperf-enhanced-2.1.8.txt "
    "iperf-udp-server-2.1.8.txt",
    parse_iperf_server: "iperf-server-2.1.8.txt iperf-udp-server-2.1.8.txt",
    parse_iperf_csv: "iperf-csv-2.1.8.txt",
    parse_iperf3: "iperf3-tcp-3.12.json iperf3-streams-3.12.json iperf3-server-3.12.json iperf3-udp-3.12.json",
    parse_iperf3_text: "iperf3-text-3.12.txt iperf3-text-streams-3.12.txt iperf3-text-udp-3.12.txt "
    "iperf3-text-both-ways-3.12.txt iperf3-text-server-3.12.txt",
    parse_netperf: " ".join(sorted(path.name for path in DATA.glob("netperf-*-hand-made.txt"))),
    parse_sockperf: "sockperf-ping-pong-3.7.txt sockperf-under-load-3.7.txt sockperf-throughput-3.7.txt",
    parse_fio: "fio-write-logs-3.33.json fio-mixed-3.33.txt",
    parse_fio_log: "fio-bandwidth-3.33.log fio-latency-3.33.log",
    parse_fileio_load: "sysbench-load-1.0.20.txt sysbench-load-again-1.0.20.txt",
    parse_fileio_run: "sysbench-write-1.0.20.txt sysbench-read-1.0.20.txt sysbench-mixed-1.0.20.txt",
    parse_fileio_intervals: "sysbench-intervals-1.0.20.txt",
    parse_sysbench_oltp: "sysbench-oltp-1.0.20.txt",
}
SAMPLES = [(parse, name, (DATA / name).read_text()) for parse, names in _NAMES.items() for name in names.split()]
SAMPLES.append((parse_stress_ng_log, "of 2019", cpu_log()))
FAMILIES: dict[str, list[tuple[Parser, str]]] = {}
for _parse, _, _text in SAMPLES:
    FAMILIES.setdefault(_parse.__module__.rpartition(".")[2], []).append((_parse, _text))
"""Module -> its parsers with their recordings."""
IDENTIFIED = [
    (tool, name, text)
    for tool, of_tool in PARSERS.items()
    for parse, name, text in SAMPLES
    if parse is of_tool and not (parse is parse_iperf_client and "server" in name)
]
"""Tool -> a recording that is its alone: a server's log of one client is read by the client's parser, too."""

_SPLICES = [
    *("", "\n", "0", "9", "-", ".", ",", "nan", "1e9", "1e999", "null", "٣", "\x00", "\x1b[31m", ":", "  ", "\ufeff"),
    *("\r\n", '"', "{", "[", "9" * 400, "[" * 300, "stderr: noise\n"),
]
LONGEST_S = 10.0


def parse_any(text: str) -> Any:
    """What the parser of the tool that wrote it makes of a text."""
    return PARSERS[identify(text).tool](text)


def mutated(text: str, chance: random.Random) -> str:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text) + 1)
        end = min(len(text), at + chance.choice([0, 1, 1, 1, 5, 80, 800]))
        piece = chance.choice(_SPLICES) if chance.random() < 0.7 else text[at:end] * 2
        text = text[:at] + piece + text[end:]
    return text


def hold_against_mutations(parse: Parser, text: str, *, seed: int, rounds: int) -> None:
    """Every damaged text gives a value or a refusal, within a second of CPU time."""
    chance = random.Random(seed)
    for _ in range(rounds):
        damaged = mutated(text, chance)
        began_s = time.process_time()
        try:
            parse(damaged)
        except OutputUnreadable:
            pass
        except Exception as error:
            raise AssertionError(repr(damaged)) from error
        assert time.process_time() - began_s < LONGEST_S, repr(damaged)


def path_of(name: str) -> Path:
    return DATA / name
