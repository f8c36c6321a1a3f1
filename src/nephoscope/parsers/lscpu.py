"""`lscpu`: its JSON (`-J`, flat or nested, with or without `-B`) and its text, in English.

Before 2.34 it prints the size of one instance of a cache ('1024K'), from then on the sum of all ('1 MiB'), from 2.37 on
with their number ('1 MiB (4 instances)'). Fields that are missing, empty, '-' or impossible are None: on ARM a virtual
machine reports no sockets. A CPU with several kinds of cores has a section for each.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import counted
from nephoscope.parsers.documents import json_in
from nephoscope.parsers.text import INTEGER, build, clean, shown, size_of, whole_lines

_WHAT = "lscpu output"
_CACHE = re.compile(r"(L[1-4][di]?)(?: cache)?")
_NODE = re.compile(rf"NUMA node({INTEGER}) CPU\(s\)")
_LINE = re.compile(r"(?P<field> *[A-Z][^:]{0,60}):(?: +(?P<value>.*))?")
_OF_ONE = re.compile(r"[0-9.,]+[KMG]")
_MAX_CPUS = 65_536
_MAX_MHZ = 20_000
_MAX_CACHE_BYTES = 2**40
_ONCE = {"Architecture", "CPU(s)", "On-line CPU(s) list", "NUMA node(s)", "Hypervisor vendor"}
_OF_A_KIND = {
    "Model name", "Model", "CPU family", "Stepping", "Thread(s) per core", "Core(s) per socket", "Socket(s)", "CPU MHz",
    "CPU max MHz",
}  # fmt: skip
"""What is printed for each kind of cores where a CPU has several (Arm)."""


class LscpuCache(Frozen):
    """One level."""

    size_bytes: int = Field(gt=0)
    of_one: bool = Field(description="True: the size is that of one instance; False: of all together")
    instances: int | None = Field(ge=1, description="None: not printed (before 2.37)")


class LscpuKind(Frozen):
    """One of several kinds of cores."""

    model_name: str
    cores: int | None = Field(ge=1)
    threads_per_core: int | None = Field(ge=1)
    max_mhz: float | None = Field(gt=0)


class Lscpu(Frozen):
    """What it reports about the machine."""

    architecture: str
    vcpus: int = Field(ge=1)
    online: tuple[int, ...] = Field(description="CPU numbers; empty: not printed")
    threads_per_core: int | None = Field(ge=1)
    cores_per_socket: int | None = Field(ge=1, description="of all kinds")
    sockets: int | None = Field(ge=1)
    kinds: tuple[LscpuKind, ...] = Field(description="of cores; empty: one kind, or not printed")
    numa_nodes: int | None = Field(ge=1)
    node_cpus: dict[int, tuple[int, ...]] = Field(description="NUMA node -> its CPUs")
    vendor: str | None
    model_name: str | None = Field(description="of several kinds all names: 'Cortex-X925 + Cortex-A725'")
    family: str | None
    model: str | None
    stepping: str | None
    mhz: float | None = Field(gt=0, description="at the time of reading")
    max_mhz: float | None = Field(gt=0)
    hypervisor_vendor: str | None
    flags: tuple[str, ...]
    caches: dict[str, LscpuCache] = Field(description="'L1d', 'L1i', 'L2', 'L3'")


def parse_lscpu(text: str) -> Lscpu:
    """Reads either form.

    Raises:
        OutputUnreadable: nothing, another tool's, damaged, cut off, several, or CPUs that contradict each other.
    """
    rows = _rows(text)
    fields: dict[str, str] = {}
    for name, value in rows:
        if fields.setdefault(name, value) != value and (name in _ONCE or _NODE.fullmatch(name)):
            raise OutputUnreadable(f"{_WHAT}: {name!r} stands twice, with different values")
    vcpus, architecture = _count(fields, "CPU(s)"), fields.get("Architecture")
    if vcpus is None or architecture is None:
        raise OutputUnreadable(f"{_WHAT}: no {'CPU(s)' if architecture else 'Architecture'} in it")
    nodes = {int(match[1]): cpus_of(value) for name, value in fields.items() if (match := _NODE.fullmatch(name))}
    numa_nodes, online = _count(fields, "NUMA node(s)"), cpus_of(fields.get("On-line CPU(s) list", ""))
    if nodes and numa_nodes is not None and len(nodes) != numa_nodes:
        raise OutputUnreadable(f"{_WHAT}: {counted(numa_nodes, 'NUMA node')}, but the CPUs of {len(nodes)}")
    if len(online) > vcpus:
        raise OutputUnreadable(f"{_WHAT}: {counted(vcpus, 'CPU')}, but {len(online)} online")
    sections = _sections(rows)
    of_all = {name: value for name, value in fields.items() if all(one.get(name, value) == value for one in sections)}
    kinds = tuple(_kind(one) for one in sections) if len(sections) > 1 else ()
    return build(
        Lscpu,
        _WHAT,
        architecture=architecture,
        vcpus=vcpus,
        online=online,
        **_topology(of_all, kinds, {vcpus, len(online) or vcpus}),
        kinds=kinds,
        numa_nodes=numa_nodes,
        node_cpus=nodes,
        vendor=fields.get("Vendor ID"),
        model_name=" + ".join(dict.fromkeys(kind.model_name for kind in kinds)) or fields.get("Model name"),
        family=of_all.get("CPU family"),
        model=of_all.get("Model"),
        stepping=of_all.get("Stepping"),
        mhz=_mhz(of_all, "CPU MHz"),
        max_mhz=_mhz(of_all, "CPU max MHz"),
        hypervisor_vendor=fields.get("Hypervisor vendor"),
        flags=tuple(fields.get("Flags", "").split()),
        caches=_caches(fields),
    )


def _sections(rows: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    """The fields of each kind of cores: from its model's name to the next one."""
    sections: list[dict[str, str]] = []
    for name, value in rows:
        if name == "Model name":
            sections.append({})
        if sections and name in _OF_A_KIND:
            sections[-1].setdefault(name, value)
    return sections


def _kind(fields: Mapping[str, str]) -> LscpuKind:
    cores, sockets = _count(fields, "Core(s) per socket"), _count(fields, "Socket(s)")
    return build(
        LscpuKind,
        _WHAT,
        model_name=fields["Model name"],
        cores=cores * sockets if cores and sockets else None,
        threads_per_core=_count(fields, "Thread(s) per core"),
        max_mhz=_mhz(fields, "CPU max MHz"),
    )


def _topology(of_all: Mapping[str, str], kinds: Sequence[LscpuKind], cpus: set[int]) -> dict[str, int | None]:
    """Threads, cores and sockets of the machine; of a product that is no number of its CPUs, what remains possible.

    Args:
        of_all: fields in which all kinds of cores agree.
        kinds: of the cores; empty: one.
        cpus: all, and those that are online.
    """
    threads, sockets = _count(of_all, "Thread(s) per core"), _count(of_all, "Socket(s)")
    cores = _count(of_all, "Core(s) per socket")
    if kinds:
        numbers = [kind.cores for kind in kinds]
        total = sum(number for number in numbers if number)
        cores = total // sockets if sockets and all(numbers) and total % sockets == 0 else None
    if sockets and cores and sockets * cores > max(cpus):
        cores = None
    if sockets and sockets > max(cpus):
        sockets = None
    product = (threads or 0) * (cores or 0) * (sockets or 0)
    if product and product not in cpus:
        # Too many: x86 has cores of one and of two threads. Too few: lscpu rounds cores over sockets down.
        threads, cores = None, cores if product > max(cpus) else None
    return {"threads_per_core": threads, "cores_per_socket": cores, "sockets": sockets}


def _rows(text: str) -> list[tuple[str, str]]:
    """(field, value) of either form in their order, nested ones included; those that are empty or '-' are left out."""
    start = clean(text).lstrip()
    pairs = _json_rows(text) if re.match(r"[\[{]", start) or '"lscpu"' in start else _text_rows(text)
    stripped = [(name.strip(), value.strip()) for name, value in pairs]
    return [(name, value) for name, value in stripped if value not in {"", "-"} or _NODE.fullmatch(name)]


def cpus_of(text: str) -> tuple[int, ...]:
    """CPU numbers of a list such as '0-2,8'; empty when nothing is written.

    Raises:
        OutputUnreadable: no such list, or more CPUs than any kernel has.
    """
    numbers: list[int] = []
    for part in text.split(",") if text else ():
        span = re.fullmatch(r"([0-9]{1,6})(?:-([0-9]{1,6}))?", part.strip())
        first, last = (int(span[1]), int(span[2] or span[1])) if span else (0, -1)
        if not first <= last < _MAX_CPUS or len(numbers) > _MAX_CPUS:
            raise OutputUnreadable(f"{_WHAT}: {shown(text)} is not a list of CPUs")
        numbers.extend(range(first, last + 1))
    return tuple(numbers)


def _json_rows(text: str) -> Iterator[tuple[str, str]]:
    document = json_in(text, _WHAT)
    rows = document.get("lscpu")
    if not isinstance(rows, list):
        raise OutputUnreadable(f"{_WHAT}: no 'lscpu' in the JSON")
    waiting: list[Any] = list(reversed(rows))
    while waiting:
        row = waiting.pop()
        if not isinstance(row, dict) or not isinstance(row.get("field"), str):
            raise OutputUnreadable(f"{_WHAT}: a row without a field: {shown(str(row)[:80])}")
        data, children = row.get("data"), row.get("children") or []
        if not isinstance(data, str | int | None) or not isinstance(children, list):
            raise OutputUnreadable(f"{_WHAT}: {row['field']!r} contains neither text nor rows")
        yield row["field"].strip().removesuffix(":"), "" if data is None else str(data)
        waiting.extend(reversed(children))


def _text_rows(text: str) -> list[tuple[str, str]]:
    lines = whole_lines(text, _WHAT)
    outputs = sum(line.startswith("Architecture:") for line in lines)
    if outputs > 1:
        raise OutputUnreadable(f"{_WHAT}: {outputs} documents in one text; expected one: split it")
    return [(match["field"], match["value"] or "") for line in lines if (match := _LINE.fullmatch(line.rstrip()))]


def _count(fields: Mapping[str, str], name: str) -> int | None:
    """None: not printed, or impossible: firmware of virtual machines reports 0, and -1 as an unsigned number."""
    value = fields.get(name, "")
    return int(value) or None if re.fullmatch(INTEGER, value) and int(value) <= _MAX_CPUS else None


def _mhz(fields: Mapping[str, str], name: str) -> float | None:
    value = fields.get(name, "")
    mhz = float(value.replace(",", ".")) if re.fullmatch(r"[0-9]{1,6}(?:[.,][0-9]{1,9})?", value) else 0.0
    return mhz if 0 < mhz < _MAX_MHZ else None


def _caches(fields: Mapping[str, str]) -> dict[str, LscpuCache]:
    found: dict[str, LscpuCache] = {}
    for name, value in fields.items():
        if match := _CACHE.fullmatch(name):
            try:
                size_bytes, instances = size_of(value, f"{_WHAT}: {name}")
            except OutputUnreadable:
                continue
            told = instances if "instance" in value else None
            of_one = _OF_ONE.fullmatch(value) is not None
            if 0 < size_bytes < _MAX_CACHE_BYTES:
                found[match[1]] = LscpuCache(size_bytes=size_bytes, of_one=of_one, instances=told)
    return found
