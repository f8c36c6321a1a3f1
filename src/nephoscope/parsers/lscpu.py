"""`lscpu`: its JSON (`-J`, flat or nested, with or without `-B`) and its text, in English.

Before 2.34 it prints the size of one instance of a cache ('1024K'), from then on the sum of all ('1 MiB'), from 2.37 on
with their number ('1 MiB (4 instances)'). Fields that are missing, empty or '-' are None: on ARM a virtual machine
reports no sockets.
"""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.words import counted
from nephoscope.parsers.documents import json_in
from nephoscope.parsers.sizes import size_of
from nephoscope.parsers.text import INTEGER, build, clean, shown, whole_lines

_WHAT = "lscpu output"
_CACHE = re.compile(r"(L[1-4][di]?)(?: cache)?")
_NODE = re.compile(rf"NUMA node({INTEGER}) CPU\(s\)")
_LINE = re.compile(r"(?P<field> *[A-Z][^:]{0,60}):(?: +(?P<value>.*))?")
_OF_ONE = re.compile(r"[0-9.,]+[KMG]")
_MAX_CPUS = 65_536


class LscpuCache(Frozen):
    """One level."""

    size_bytes: int = Field(gt=0)
    of_one: bool = Field(description="True: the size is that of one instance; False: of all together")
    instances: int | None = Field(ge=1, description="None: not printed (before 2.37)")


class Lscpu(Frozen):
    """What it reports about the machine."""

    architecture: str
    vcpus: int = Field(ge=1)
    online: tuple[int, ...] = Field(description="CPU numbers; empty: not printed")
    threads_per_core: int | None = Field(ge=1)
    cores_per_socket: int | None = Field(ge=1)
    sockets: int | None = Field(ge=1)
    numa_nodes: int | None = Field(ge=1)
    node_cpus: dict[int, tuple[int, ...]] = Field(description="NUMA node -> its CPUs")
    vendor: str | None
    model_name: str | None
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
        OutputUnreadable: nothing, another tool's, damaged, cut off, or counts that contradict each other.
    """
    fields = lscpu_fields(text)
    vcpus, architecture = _count(fields, "CPU(s)"), fields.get("Architecture")
    if vcpus is None or architecture is None:
        raise OutputUnreadable(f"{_WHAT}: no {'CPU(s)' if architecture else 'Architecture'} in it")
    nodes = {int(match[1]): cpus_of(value) for name, value in fields.items() if (match := _NODE.fullmatch(name))}
    numa_nodes, online = _count(fields, "NUMA node(s)"), cpus_of(fields.get("On-line CPU(s) list", ""))
    if nodes and numa_nodes is not None and len(nodes) != numa_nodes:
        raise OutputUnreadable(f"{_WHAT}: {counted(numa_nodes, 'NUMA node')}, but the CPUs of {len(nodes)}")
    if len(online) > vcpus:
        raise OutputUnreadable(f"{_WHAT}: {counted(vcpus, 'CPU')}, but {len(online)} online")
    return build(
        Lscpu,
        _WHAT,
        architecture=architecture,
        vcpus=vcpus,
        online=online,
        threads_per_core=_count(fields, "Thread(s) per core"),
        cores_per_socket=_count(fields, "Core(s) per socket"),
        sockets=_count(fields, "Socket(s)"),
        numa_nodes=numa_nodes,
        node_cpus=nodes,
        vendor=fields.get("Vendor ID"),
        model_name=fields.get("Model name"),
        family=fields.get("CPU family"),
        model=fields.get("Model"),
        stepping=fields.get("Stepping"),
        mhz=_mhz(fields, "CPU MHz"),
        max_mhz=_mhz(fields, "CPU max MHz"),
        hypervisor_vendor=fields.get("Hypervisor vendor"),
        flags=tuple(fields.get("Flags", "").split()),
        caches=_caches(fields),
    )


def lscpu_fields(text: str) -> dict[str, str]:
    """Field -> value of either form, nested fields included; those that are empty or '-' are left out.

    Raises:
        OutputUnreadable: neither form.
    """
    start = clean(text).lstrip()
    return _json_fields(text) if re.match(r"[\[{]", start) or '"lscpu"' in start else _text_fields(text)


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


def _json_fields(text: str) -> dict[str, str]:
    document = json_in(text, _WHAT)
    rows = document.get("lscpu") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise OutputUnreadable(f"{_WHAT}: no 'lscpu' in the JSON")
    found: dict[str, str] = {}
    waiting: list[Any] = list(reversed(rows))
    while waiting:
        row = waiting.pop()
        if not isinstance(row, dict) or not isinstance(row.get("field"), str):
            raise OutputUnreadable(f"{_WHAT}: a row without a field: {shown(str(row)[:80])}")
        data, children = row.get("data"), row.get("children") or []
        if not isinstance(data, str | int | None) or not isinstance(children, list):
            raise OutputUnreadable(f"{_WHAT}: {row['field']!r} contains neither text nor rows")
        _put(found, row["field"].strip().removesuffix(":"), "" if data is None else str(data))
        waiting.extend(reversed(children))
    return found


def _text_fields(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    lines = whole_lines(text, _WHAT)
    outputs = sum(line.startswith("Architecture:") for line in lines)
    if outputs > 1:
        raise OutputUnreadable(f"{_WHAT}: {outputs} documents in one text; expected one: split it")
    for line in lines:
        if match := _LINE.fullmatch(line.rstrip()):
            _put(found, match["field"].strip(), match["value"] or "")
    return found


def _put(found: dict[str, str], name: str, value: str) -> None:
    """The first of a name counts: hybrid CPUs and BIOS lines repeat some below it. A NUMA node may have no CPUs."""
    if value.strip() not in {"", "-"} or _NODE.fullmatch(name):
        found.setdefault(name, value.strip())


def _count(fields: Mapping[str, str], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if not re.fullmatch(INTEGER, value) or int(value) > _MAX_CPUS:
        raise OutputUnreadable(f"{_WHAT}: {name}: {shown(value)} is not a count")
    return int(value)


def _mhz(fields: Mapping[str, str], name: str) -> float | None:
    value = fields.get(name)
    if value is None:
        return None
    if not re.fullmatch(r"[0-9]{1,6}(?:[.,][0-9]{1,9})?", value):
        raise OutputUnreadable(f"{_WHAT}: {name}: {shown(value)} is not a frequency")
    return float(value.replace(",", ".")) or None


def _caches(fields: Mapping[str, str]) -> dict[str, LscpuCache]:
    found: dict[str, LscpuCache] = {}
    for name, value in fields.items():
        if match := _CACHE.fullmatch(name):
            size_bytes, instances = size_of(value, f"{_WHAT}: {name}")
            told = instances if "instance" in value else None
            of_one = _OF_ONE.fullmatch(value) is not None
            found[match[1]] = build(
                LscpuCache, f"{_WHAT}: {name}", size_bytes=size_bytes, of_one=of_one, instances=told
            )
    return found
