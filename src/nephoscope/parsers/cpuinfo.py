"""/proc/cpuinfo of x86 and ARM: one block for each CPU.

`cache size` is what the kernel calls so: the last level on Intel's CPUs, the second one on AMD's.
"""

import re
from collections.abc import Sequence

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
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
