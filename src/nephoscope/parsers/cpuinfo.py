"""/proc/cpuinfo of x86 and ARM, one block for each CPU; and its lines and those of `lscpu` that stand in a log.

`cache size` is what the kernel calls so: the last level on Intel's CPUs, the second one on AMD's.

In a log, between other lines, a machine prints what it wants to: each value is None, or empty, where no line says it.
There `cache size` is read on Intel's CPUs alone. Where both are printed `lscpu` counts: a part of /proc/cpuinfo lists a
part of the CPUs. `lscpu` 2.34 to 2.36 prints the sum of all instances and not their number, which follows for Intel's
CPUs alone: one for each socket.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.units import KIB
from nephoscope.parsers.text import INTEGER, build, shown, size_of, whole_lines

_WHAT = "/proc/cpuinfo"
_LINE = re.compile(r"(?P<key>[A-Za-z][A-Za-z0-9 _/()-]{0,40}?)[ \t]*:(?: ?(?P<value>.*))?")
_ARM = {"CPU implementer", "CPU part"}
_MHZ = re.compile(r"[0-9]{1,6}(?:[.,][0-9]{1,9})?(?:MHz)?")


class CpuInfo(Frozen):
    """What it says. None, or empty: not written."""

    cpus: int = Field(ge=1)
    sockets: int | None = Field(ge=1, description="different physical ids")
    cores: int | None = Field(ge=1, description="different pairs of physical id and core id")
    vendor: str | None
    models: tuple[str, ...]
    family: str | None
    model: str | None
    stepping: str | None
    cache_bytes: int | None = Field(gt=0)
    mhz: tuple[float, ...] = Field(description="frequency of each CPU at the time of reading")
    arm_parts: tuple[str, ...] = Field(description="'0x41/0xd0c' of each kind of ARM core: implementer, part")
    flags: tuple[str, ...]


def parse_cpuinfo(text: str) -> CpuInfo:
    """Reads all blocks.

    Raises:
        OutputUnreadable: nothing, cut off, no processor, a processor twice, or a number that is none.
    """
    blocks: list[dict[str, str]] = []
    for line in whole_lines(text, _WHAT):
        match = _LINE.fullmatch(line.rstrip())
        if match is None:
            continue
        key, value = match["key"].strip(), (match["value"] or "").strip()
        if key == "processor" and re.fullmatch(INTEGER, value):
            blocks.append({})
        if blocks and value not in {"", "unknown"}:
            blocks[-1].setdefault(key, value)
    numbers = [block["processor"] for block in blocks]
    if not blocks or len(set(numbers)) < len(numbers):
        raise OutputUnreadable(f"{_WHAT}: {'a processor appears twice' if blocks else 'no processor in it'}")
    places = {(block.get("physical id"), block["core id"]) for block in blocks if "core id" in block}
    caches = {size_of(size, f"{_WHAT}: cache size")[0] for size in _all(blocks, "cache size")}
    parts = {f"{one['CPU implementer']}/{one['CPU part']}" for one in blocks if one.keys() >= _ARM}
    return build(
        CpuInfo,
        _WHAT,
        cpus=len(blocks),
        sockets=len(set(_all(blocks, "physical id"))) or None,
        cores=len(places) or None,
        vendor=_first(blocks, "vendor_id"),
        models=tuple(sorted(set(_all(blocks, "model name")))),
        family=_first(blocks, "cpu family"),
        model=_first(blocks, "model"),
        stepping=_first(blocks, "stepping"),
        cache_bytes=max(caches, default=None),
        mhz=tuple(_mhz(value) for value in _all(blocks, "cpu MHz")),
        arm_parts=tuple(sorted(parts)),
        flags=tuple((_first(blocks, "flags") or _first(blocks, "Features") or "").split()),
    )


def _all(blocks: Sequence[dict[str, str]], key: str) -> list[str]:
    return [block[key] for block in blocks if key in block]


def _first(blocks: Sequence[dict[str, str]], key: str) -> str | None:
    return next(iter(_all(blocks, key)), None)


def _mhz(text: str) -> float:
    if not _MHZ.fullmatch(text):
        raise OutputUnreadable(f"{_WHAT}: cpu MHz: {shown(text)} is not a frequency")
    return float(text.removesuffix("MHz").replace(",", "."))


_LINES = "lines about the CPU"
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
    for line in whole_lines(text, _LINES):
        key, _, value = (part.strip() for part in line.partition(":"))
        if value not in {"", "-"}:
            seen.setdefault(key, []).append(value)
    for key in _COUNTS & seen.keys():
        if not all(re.fullmatch(INTEGER, value) for value in seen[key]):
            raise OutputUnreadable(f"{_LINES}: {key!r} is not a number")
    processors = Counter(seen.get("processor", []))
    if len(set(processors.values())) > 1:
        raise OutputUnreadable(f"{_LINES}: one processor is listed twice, but others are not")
    vcpus = {int(value) for value in seen.get("CPU(s)", [])} or ({len(processors)} if processors else set())
    sockets = {int(value) for value in seen.get("Socket(s)", [])}
    if not sockets and "physical id" in seen:
        sockets = {len(set(seen["physical id"]))}
    caches = _caches(seen, max(sockets, default=0))
    if not caches and set(seen.get("vendor_id", [])) == {"GenuineIntel"}:
        caches = {_kib(value) for value in seen.get("cache size", [])}
    return CpuLines(
        models=tuple(sorted(set(seen.get("Model name", []) + seen.get("model name", [])))),
        vcpus=_only(vcpus, "vCPUs"),
        sockets=_only(sockets, "sockets"),
        threads_per_core=_only({int(value) for value in seen.get("Thread(s) per core", [])}, "threads per core"),
        l3_kib=_only(caches, "KiB of cache"),
    )


def _only(values: set[int], what: str) -> int | None:
    if len(values) > 1 or 0 in values:
        raise OutputUnreadable(f"{_LINES}: {' and '.join(map(str, sorted(values)))} {what}")
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
    size_bytes, instances = size_of(text, _LINES)
    return round(size_bytes / KIB / instances)
