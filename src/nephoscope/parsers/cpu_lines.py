"""Lines of `lscpu` (text) and of /proc/cpuinfo that appear in a log between other lines.

A machine prints what it wants to: each value is None, or empty, where no line says it. /proc/cpuinfo's `cache size` is
the last level on Intel's CPUs and the second one on AMD's, so it is read on Intel's alone. Where both are printed
`lscpu` counts: a part of /proc/cpuinfo lists a part of the CPUs. `lscpu` 2.34 to 2.36 prints the sum of all instances
and not their number, which follows for Intel's CPUs alone: one for each socket.
"""

import re
from collections import Counter
from collections.abc import Mapping

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.units import KIB
from nephoscope.parsers.text import INTEGER, size_of, whole_lines

_WHAT = "lines about the CPU"
_COUNTS = {"CPU(s)", "Socket(s)", "Thread(s) per core", "processor", "physical id"}


class CpuLines(Frozen):
    """What the lines say."""

    models: tuple[str, ...]
    vcpus: int | None
    sockets: int | None
    threads_per_core: int | None
    l3_kib: int | None
    """Of one instance."""


def parse_cpu_lines(text: str) -> CpuLines:
    """Reads the lines that are there; a text without any gives an empty value.

    Raises:
        OutputUnreadable: cut off; or two lines that contradict each other; or a number that is none.
    """
    seen: dict[str, list[str]] = {}
    for line in whole_lines(text, _WHAT):
        key, _, value = (part.strip() for part in line.partition(":"))
        if value not in {"", "-"}:
            seen.setdefault(key, []).append(value)
    for key in _COUNTS & seen.keys():
        if not all(re.fullmatch(INTEGER, value) for value in seen[key]):
            raise OutputUnreadable(f"{_WHAT}: {key!r} is not a number")
    processors = Counter(seen.get("processor", []))
    if len(set(processors.values())) > 1:
        raise OutputUnreadable(f"{_WHAT}: one processor is listed twice, but others are not")
    vcpus = {int(value) for value in seen.get("CPU(s)", [])} or ({len(processors)} if processors else set())
    sockets = {int(value) for value in seen.get("Socket(s)", [])}
    if not sockets and "physical id" in seen:
        sockets = {len(set(seen["physical id"]))}
    caches = _caches(seen, max(sockets, default=0))
    if not caches and set(seen.get("vendor_id", [])) == {"GenuineIntel"}:
        caches = {_kib(value) for value in seen.get("cache size", [])}
    return CpuLines(
        models=tuple(sorted(set(seen.get("Model name", []) + seen.get("model name", [])))),
        vcpus=_one(vcpus, "vCPUs"),
        sockets=_one(sockets, "sockets"),
        threads_per_core=_one({int(value) for value in seen.get("Thread(s) per core", [])}, "threads per core"),
        l3_kib=_one(caches, "KiB of cache"),
    )


def _one(values: set[int], what: str) -> int | None:
    if len(values) > 1 or 0 in values:
        raise OutputUnreadable(f"{_WHAT}: {' and '.join(map(str, sorted(values)))} {what}")
    return next(iter(values), None)


def _caches(seen: Mapping[str, list[str]], sockets: int) -> set[int]:
    """KiB of one instance, from lines of `lscpu`; empty when the number of instances is not known."""
    values = [*seen.get("L3 cache", []), *seen.get("L3", [])]
    intel = set(seen.get("Vendor ID", [])) == {"GenuineIntel"}
    sums = [value for value in values if "iB" in value and "instance" not in value]
    if not sums:
        return {_kib(value) for value in values}
    return {round(_kib(value) / sockets) for value in values} if intel and sockets else set()


def _kib(text: str) -> int:
    size_bytes, instances = size_of(text, _WHAT)
    return round(size_bytes / KIB / instances)
