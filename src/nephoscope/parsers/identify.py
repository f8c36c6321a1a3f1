"""Which tool printed this? By marks that no other tool prints; the reason names the mark."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.parsers.coremark import parse_coremark
from nephoscope.parsers.cpuinfo import parse_cpuinfo
from nephoscope.parsers.dmidecode import parse_dmidecode
from nephoscope.parsers.fio import parse_fio, parse_fio_log
from nephoscope.parsers.iperf2 import parse_iperf_client, parse_iperf_csv, parse_iperf_server
from nephoscope.parsers.iperf3 import parse_iperf3, parse_iperf3_text
from nephoscope.parsers.lsblk import parse_lsblk
from nephoscope.parsers.lscpu import parse_lscpu
from nephoscope.parsers.netperf import parse_netperf
from nephoscope.parsers.ping import parse_ping
from nephoscope.parsers.sockperf import parse_sockperf
from nephoscope.parsers.stress_ng import parse_stress_ng_log, parse_stress_ng_yaml
from nephoscope.parsers.sysbench_fileio import parse_fileio_load, parse_fileio_run
from nephoscope.parsers.sysbench_oltp import parse_sysbench_oltp
from nephoscope.parsers.text import clean, require_readable

PARSERS: Mapping[str, Callable[[str], Any]] = MappingProxyType(
    {
        "fio": parse_fio,
        "iperf3": parse_iperf3,
        "iperf3-text": parse_iperf3_text,
        "lscpu": parse_lscpu,
        "lsblk": parse_lsblk,
        "stress-ng-yaml": parse_stress_ng_yaml,
        "stress-ng": parse_stress_ng_log,
        "coremark": parse_coremark,
        "sockperf": parse_sockperf,
        "netperf": parse_netperf,
        "ping": parse_ping,
        "iperf2-server": parse_iperf_server,
        "iperf2": parse_iperf_client,
        "iperf2-csv": parse_iperf_csv,
        "sysbench-oltp": parse_sysbench_oltp,
        "sysbench-fileio": parse_fileio_run,
        "sysbench-fileio-prepare": parse_fileio_load,
        "dmidecode": parse_dmidecode,
        "cpuinfo": parse_cpuinfo,
        "fio-log": parse_fio_log,
    }
)
"""Name -> parser, in the order in which markers are searched: tools that quote others come first."""

_MARKS: Mapping[str, str] = MappingProxyType(
    {
        "fio": r'"fio version"',
        "iperf3": r'"version":\s*"iperf 3|"event":\s*"(?:start|interval|end|error)"',
        "iperf3-text": r"^(?:Connecting to host \S+, port [0-9]|Server listening on [0-9]|iperf3: (?:error|interrupt))",
        "lscpu": r'"lscpu":|^Architecture: +\S',
        "lsblk": r'"blockdevices":',
        "stress-ng-yaml": r"stress-ng-version:|bogo-ops-per-second-real-time:",
        "stress-ng": r"^stress-ng: ",
        "coremark": r"^CoreMark Size|^CoreMark 1\.0 :|performance run parameters for coremark",
        "sockperf": r"^sockperf(?::|\[)",
        "netperf": r"(?:TEST|Test) (?:from \S+ (?:(?!TEST |Test ).)*AF_INET|to \S+$)|^THROUGHPUT=|^Interim result:"
        r"|^[0-9.]+,10\^[369]bits/s",
        "ping": r"^(?:PING6?[ (]|--- \S+ ping statistics ---)",
        "iperf2-server": r"^Server listening on (?:TCP|UDP) port",
        "iperf2": r"^Client connecting to",
        "iperf2-csv": r"^[0-9]{14}(?:\.[0-9]+)?(?:[+-][0-9]{4})?,[0-9a-f.:]+,[0-9]+,",
        "sysbench-oltp": r"^(?:SQL|OLTP test) statistics:",
        "sysbench-fileio": r"^Extra file open flags: (?:.*\n(?!Extra file))*?Doing ",
        "sysbench-fileio-prepare": r"^(?:No bytes written\.|[0-9]+ bytes written in )",
        "dmidecode": r"^# dmidecode |^Handle 0x[0-9A-F]{4}, DMI type",
        "cpuinfo": r"^processor\t+: [0-9]+$",
        "fio-log": r"\A[0-9]+, [0-9]+, [0-2](?:, [0-9]+){0,3}$",
    }
)


class Identified(Frozen):
    """A tool by its name in `PARSERS`."""

    tool: str
    reason: str


def identify(text: str) -> Identified:
    """The tool whose mark `text` contains.

    Raises:
        OutputUnreadable: no mark, or no text.
    """
    cleaned = clean(text)
    for tool, mark in _MARKS.items():
        if match := re.search(mark, cleaned, re.MULTILINE):
            line = cleaned.count("\n", 0, match.start()) + 1
            return Identified(tool=tool, reason=f"line {line} holds {match[0][:60]!r}")
    if cleaned.lstrip().startswith("Pinging "):
        raise OutputUnreadable("ping of Windows: it prints whole milliseconds, and '<1ms' is a bound, not a time")
    require_readable(cleaned, "output of an unknown tool")
    what = f"it starts with {cleaned.strip()[:40]!r}" if cleaned.strip() else "it is empty"
    raise OutputUnreadable(f"no known tool printed this: {what}")
