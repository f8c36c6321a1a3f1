"""What a reader of a tool's numbers should know of the text around them: what nobody expects there is shown."""

import re
from collections.abc import Mapping
from contextlib import suppress

from nephoscope.model.errors import OutputUnreadable
from nephoscope.parsers.documents import json_documents, require_no_error, yaml_in
from nephoscope.parsers.text import clean

_SYSBENCH = r"sysbench [0-9]|WARNING: |\s+\S[^:]*:|\[ *[0-9]+s|(?:[0-9]+|No) bytes written|Extra file open flags:"
_IPERF = (
    r"\[|-{20,}|Client connecting|Server listening|TCP window|UDP buffer|(?:Sending|Receiving) [0-9]+ byte|Accepted"
)
_OWN: Mapping[str, re.Pattern[str]] = {
    tool: re.compile(mark)
    for tool, mark in {
        "stress-ng": r"stress-ng: ",
        "sockperf": r"sockperf(?::|\[)",
        "coremark": r"2K |CoreMark |Total t|Iterations|Compiler |Memory location|Parallel |seedcrc|\[[0-9]+\]"
        r"|Correct operation|Errors? detected|Cannot validate",
        "ping": r"PING|--- |\[?[0-9.]+\]? ?.*(?:bytes from|packets transmitted)|rtt |round-trip|From "
        r"|Request timeout|no answer yet|pipe [0-9]|\^C",
        "netperf": r".*\bTEST\b|[A-Z][A-Z0-9_]+=|Interim result|\s*-?[0-9][0-9.]*(?:[\s,]|$)|>100_SECS|HIST_TOTAL"
        r"|[A-Z_]{4,14} *:|[^,]*(?:,[^,]*){2}|[0-9.]+,10\^",
        "iperf2": _IPERF,
        "iperf2-server": _IPERF,
        "iperf2-csv": r"[0-9]{14}",
        "iperf3-text": rf"{_IPERF}|iperf |Connecting to host|Reverse mode|Test |Starting Test|Time:|\s+\S|CPU "
        r"|(?:snd|rcv)_tcp|Control connection|Linux ",
        "sysbench-oltp": _SYSBENCH,
        "sysbench-fileio": _SYSBENCH,
        "sysbench-fileio-prepare": _SYSBENCH,
        "lscpu": r"\s+\S|(?:Architecture|CPU|Byte Order|Address sizes|O(?:n|ff)-line|Thread|Core|Socket|Cluster"
        r"|NUMA|Vendor|Model|Stepping|BogoMIPS|Hypervisor|Virtualization|L[1-4]|Flags|Vulnerab|BIOS|Frequency|Caches"
        r"|Machine|Dispatching|Physical|Drawer|Book|Die)\b.*:",
        "cpuinfo": r"[A-Za-z][A-Za-z0-9 _/()-]*\t+ ?:|power management:|[A-Z][A-Za-z]+\s*: ",
        "dmidecode": r"# |Handle 0x|\s+\S|SMBIOS |Getting SMBIOS|Table at|[0-9]+ structures|End Of Table",
        "fio-log": r"[0-9]+, ",
        "cockroach-workload": r"_elapsed|\s*[0-9hms.]+\s+[0-9]|[IWEF][0-9]{6} |Audit check|Initializing",
        "go-tpc": r"\[|tpmC|[0-9]{4}/[0-9]{2}/[0-9]{2} ",
        "hammerdb": r"HammerDB|Copyright|Vuser |ALL VIRTUAL|vudestroy|TEST SEQUENCE",
        "ycsb": r"\[[A-Z0-9-]+\],|YCSB Client|Command line:|\S*java |[0-9]{4}-[0-9]{2}-[0-9]{2} ",
    }.items()
}
"""Tool -> how its lines begin, or at least its first and its last one. Of JSON and YAML the document itself tells."""
_LOGS = frozenset({"cockroach-workload", "go-tpc", "hammerdb", "ycsb"})
"""They count what failed themselves; before their first line libraries complain of what does not matter."""


def remarks_on(tool: str, text: str) -> tuple[str, ...]:
    """Lines around a tool's output, and keys of it without a number.

    Raises:
        OutputUnreadable: a line around it says that the run failed.
    """
    left_out: tuple[str, ...] = ()
    if own := _own(tool, text):
        before, behind = _outside(own, text)
        around = (*before, *behind)
        require_no_error(behind if tool in _LOGS else around, f"{tool} output")
    else:
        around = ()
        try:
            found = json_documents(text, "")
            around, left_out = found.around, found.left_out
        except OutputUnreadable:
            with suppress(OutputUnreadable):
                around = yaml_in(text, "")[1]
    shown_lines = (f"around the document: {line.strip()[:200]}" for line in around)
    return (*shown_lines, *(f"left out, no number: {name}" for name in left_out))


def _own(tool: str, text: str) -> re.Pattern[str] | None:
    """None: a document, which lscpu may print, too."""
    return None if tool == "lscpu" and '"lscpu":' in text else _OWN.get(tool)


def _outside(own: re.Pattern[str], text: str) -> tuple[list[str], list[str]]:
    """Lines before the first and behind the last line of the tool."""
    lines = [line for line in clean(text).split("\n") if line.strip()]
    places = [place for place, line in enumerate(lines) if own.match(line)]
    return (lines[: places[0]], lines[places[-1] + 1 :]) if places else ([], [])
