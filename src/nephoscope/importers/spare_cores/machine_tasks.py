"""Spare Cores' tasks that measure a machine without a database server: memory by working set, and a web server.

Bandwidth and latency of "memory" are those of the largest working set that was measured, 128 MiB to 2 GiB by the type's
caches; rates of the web server are the highest over its numbers of threads and connections, client and server on the
same machine.
"""

import csv
import re
from collections.abc import Callable, Mapping, Sequence

from nephoscope.importers.files import metric
from nephoscope.importers.identity import BenchmarkIdentity
from nephoscope.importers.spare_cores.words import Output, positive
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Measurement, Metric
from nephoscope.model.subjects import Subject
from nephoscope.model.units import NANOSECONDS_PER_SECOND
from nephoscope.parsers.text import whole_lines

_BYTES_PER_MB = 1e6
"""Of membench and of lmbench's bw_mem."""
_CACHE_KIB = 1024
"""The largest working set of the headline about caches: about what a core has for itself. Some types were measured at
512 KiB and 2 MiB instead."""
_MEMBENCH_COLUMNS = (
    "size_kb,operation,bandwidth_mb_s,latency_ns,latency_stddev_ns,latency_samples,threads,iterations,elapsed_s"
)
_WEB_COLUMNS = "size,threads,connections,rps,latency,failed,server_usr,server_sys,client_usr,client_sys"
_BW_MEM = re.compile(r"(rd|wr|rdwr) ([0-9]{1,4}\.[0-9]{2,6}) ([0-9.]{1,20})")
_WEB_SIZE = re.compile(r"[1-9][0-9]{0,3}k")


def read_membench(text: str, version: str) -> Output:
    """Bandwidth of all CPUs and latency of one, by working set.

    Raises:
        OutputUnreadable: other columns, a row twice, or a number that is not above 0.
    """
    found: dict[tuple[str, int], float] = {}
    for row in _rows(text, "membench CSV", _MEMBENCH_COLUMNS):
        what, size = row["operation"], row["size_kb"]
        value = positive(row["latency_ns" if what == "latency" else "bandwidth_mb_s"])
        alien = what not in {"read", "write", "copy", "latency"} or not re.fullmatch("[1-9][0-9]{0,8}", size)
        if alien or value is None or (what, int(size)) in found:
            raise OutputUnreadable(f"membench CSV: a row is {str(row)[:80]}")
        found[what, int(size)] = value / NANOSECONDS_PER_SECOND if what == "latency" else value * _BYTES_PER_MB
    largest = {what: max(size for one, size in found if one == what) for what, _ in found}
    if largest.keys() != {"read", "write", "copy", "latency"}:
        raise OutputUnreadable("membench CSV: it lacks an operation")
    values = [(_bandwidth(what), found[what, largest[what]]) for what in ("read", "write", "copy")]
    memory = _latency("latency_memory", "Memory latency, largest working set", headline=True)
    values.append((memory, found["latency", largest["latency"]]))
    in_cache = max((kib for what, kib in found if what == "latency" and kib <= _CACHE_KIB), default=None)
    if in_cache is not None:
        cache = _latency("latency_cache", "Cache latency, largest working set up to 1 MiB", headline=True)
        values.append((cache, found["latency", in_cache]))
    for (what, kib), number in sorted(found.items()):
        title = f"{what.capitalize()}, working set of {kib:,} KiB"
        if what == "latency":
            values.append((_latency(f"latency_{kib}_kib", title), number))
        else:
            values.append((metric(f"{what}_bytes_per_s_{kib}_kib", "B/s", title), number))
    identity = BenchmarkIdentity(tool="membench", version=version)
    return _machine(identity, Subject.MEMORY, "Memory by working set", values)


def read_bw_mem(text: str, version: str) -> Output:
    """Bandwidth of all CPUs by working set, as lmbench's bw_mem prints it.

    Raises:
        OutputUnreadable: another line, one twice, or a number that is not above 0.
    """
    found: dict[tuple[str, str], float] = {}
    for line in whole_lines(text, "bw_mem"):
        match = _BW_MEM.fullmatch(line)
        value = positive(match[3]) if match else None
        if match is None or value is None or (match[1], match[2]) in found:
            raise OutputUnreadable(f"bw_mem: a line is {line[:40]!r}")
        found[match[1], match[2]] = value * _BYTES_PER_MB
    words = {"rd": "read", "wr": "write", "rdwr": "read_and_write"}
    largest = {what: max((size for one, size in found if one == what), key=float) for what, _ in found}
    if largest.keys() != words.keys():
        raise OutputUnreadable("bw_mem: it lacks an operation")
    values = [(_bandwidth(words[what]), found[what, size]) for what, size in largest.items()]
    for (what, mb), value in found.items():
        name = f"{words[what]}_bytes_per_s_{mb.replace('.', '_')}_mb"
        title = f"{words[what].replace('_', ' ').capitalize()}, working set of {mb} MB"
        values.append((metric(name, "B/s", title), value))
    identity = BenchmarkIdentity(tool="bw-mem", version=version)
    return _machine(identity, Subject.MEMORY, "Memory bandwidth of lmbench", values)


def read_static_web(text: str, version: str) -> Output:
    """The highest rate of requests for each size of file.

    Raises:
        OutputUnreadable: other columns, a row twice, requests that failed, or a rate that is not above 0.
    """
    best: dict[str, float] = {}
    seen: set[tuple[str, str, str]] = set()
    for row in _rows(text, "static_web CSV", _WEB_COLUMNS):
        size, value = row["size"], positive(row["rps"])
        key = (size, row["threads"], row["connections"])
        if not _WEB_SIZE.fullmatch(size) or value is None or row["failed"] != "0" or key in seen:
            raise OutputUnreadable(f"static_web CSV: a row is {str(row)[:80]}")
        seen.add(key)
        best[size] = max(best.get(size, 0.0), value)
    least = min(best, key=lambda size: int(size[:-1]))
    values: list[tuple[Metric, float]] = []
    for size, rate in best.items():
        title = f"Requests for files of {size[:-1]} KiB"
        one = metric(f"requests_per_s_{size}", "1/s", title, headline=size == least, counted="requests/s")
        values.append((one.model_copy(update={"per_cpu": True}), rate))
    identity = BenchmarkIdentity(tool="static-web", version=version)
    return _machine(identity, Subject.CPU, "Static web server and its clients on one machine", values)


MACHINE_TASKS: Mapping[str, Callable[[str, str], Output]] = {
    "membench": read_membench,
    "bw_mem": read_bw_mem,
    "static_web": read_static_web,
}


def _rows(text: str, what: str, columns: str) -> list[dict[str, str]]:
    """Rows of a CSV with exactly these columns, every one of them whole; at least one."""
    lines = whole_lines(text, what)
    try:
        reader = csv.DictReader(lines)
        rows = list(reader)
    except csv.Error as error:
        raise OutputUnreadable(f"{what}: {error}") from error
    if ",".join(reader.fieldnames or ()) != columns or not rows:
        raise OutputUnreadable(f"{what}: no rows, or other columns")
    if any(None in row or None in row.values() for row in rows):
        raise OutputUnreadable(f"{what}: a row has another number of columns")
    return rows


def _bandwidth(what: str) -> Metric:
    title = f"Memory {what.replace('_', ' ')} bandwidth, largest working set"
    one = metric(f"{what}_bytes_per_s", "B/s", title, headline=what == "read")
    return one.model_copy(update={"per_cpu": True})


def _latency(name: str, title: str, *, headline: bool = False) -> Metric:
    clock = "one dependent load after another, on one CPU"
    return metric(name, "s", title, lower=True, headline=headline, clock=clock)


def _machine(
    identity: BenchmarkIdentity, subject: Subject, title: str, values: Sequence[tuple[Metric, float]]
) -> Output:
    return Output(
        identity=identity,
        subject=subject,
        title=f"{title} (Spare Cores)",
        metrics=[one for one, _ in values],
        measurements=[Measurement.of(one.name, one.unit, value) for one, value in values],
    )
