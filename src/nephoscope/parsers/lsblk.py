"""`lsblk -J`, with and without `-b` and `-O`: block devices and what lies on them.

Old versions write numbers and truth values as text. Without `-b` a size is rounded ('465.8G'), and the value says so.
"""

import re
from collections.abc import Iterator
from typing import Any

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.parsers.documents import json_in
from nephoscope.parsers.text import build, shown, size_of

_WHAT = "lsblk JSON"
_OF_MEMORY = re.compile(r"(?:/dev/)?z?ram[0-9]+")
_TRUTH = {"1": True, "0": False, "true": True, "false": False}


class BlockDevice(Frozen):
    """One row. None: not requested, or not known."""

    name: str = Field(min_length=1)
    kind: str | None = Field(description="disk, part, lvm, crypt, loop ...")
    parents: tuple[str, ...] = Field(description="names of the devices that it is a part of, or is made of")
    is_disk: bool = Field(description="of the machine: with a size, and not of memory (zram, ram)")
    size_bytes: int | None = Field(ge=0)
    size_is_rounded: bool
    rotational: bool | None
    read_only: bool | None
    model: str | None
    transport: str | None
    filesystem: str | None
    mountpoints: tuple[str, ...]


def parse_lsblk(text: str) -> tuple[BlockDevice, ...]:
    """Every device once, behind its first parent: lsblk repeats a RAID below each of its members.

    Raises:
        OutputUnreadable: nothing, another tool's, damaged, cut off, or no device.
    """
    document = json_in(text, _WHAT)
    rows = document.get("blockdevices") if isinstance(document, dict) else None
    if not isinstance(rows, list):
        raise OutputUnreadable(f"{_WHAT}: no 'blockdevices' in it")
    devices: dict[str, BlockDevice] = {}
    for device in _devices(rows):
        parents = (*devices.get(device.name, device).parents, *device.parents)
        first = devices.setdefault(device.name, device)
        devices[device.name] = first.model_copy(update={"parents": tuple(dict.fromkeys(parents))})
    if not devices:
        raise OutputUnreadable(f"{_WHAT}: no device in it")
    return tuple(devices.values())


def _devices(rows: list[Any]) -> Iterator[BlockDevice]:
    waiting: list[tuple[Any, str | None]] = [(row, None) for row in reversed(rows)]
    while waiting:
        row, parent = waiting.pop()
        if not isinstance(row, dict):
            raise OutputUnreadable(f"{_WHAT}: {shown(str(row)[:80])} is not a device")
        device = _device(row, parent)
        yield device
        children = row.get("children") or []
        if not isinstance(children, list):
            raise OutputUnreadable(f"{_WHAT}: children of {device.name!r} are not a list")
        waiting.extend((child, device.name) for child in reversed(children))


def _device(row: dict[str, Any], parent: str | None) -> BlockDevice:
    where = f"{_WHAT}: {shown(str(row.get('name')))}"
    size, rounded = _size(row.get("size"), where)
    name, kind = _text(row.get("name"), where) or "", _text(row.get("type"), where)
    above = parent or _text(row.get("pkname"), where)
    return build(
        BlockDevice,
        where,
        name=name,
        kind=kind,
        parents=(above,) if above else (),
        is_disk=kind == "disk" and bool(size) and not _OF_MEMORY.fullmatch(name),
        size_bytes=size,
        size_is_rounded=rounded,
        rotational=_truth(row.get("rota"), where),
        read_only=_truth(row.get("ro"), where),
        model=_text(row.get("model"), where),
        transport=_text(row.get("tran"), where),
        filesystem=_text(row.get("fstype"), where),
        mountpoints=_mountpoints(row, where),
    )


def _size(size: Any, where: str) -> tuple[int | None, bool]:
    if size is None:
        return None, False
    if isinstance(size, int) and not isinstance(size, bool):
        return size, False
    if not isinstance(size, str):
        raise OutputUnreadable(f"{where}: size: {shown(str(size))}")
    return size_of(size, f"{where}: size")[0], not size.strip().isdecimal()


def _truth(value: Any, where: str) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if str(value).strip() not in _TRUTH:
        raise OutputUnreadable(f"{where}: {shown(str(value))} is neither true nor false")
    return _TRUTH[str(value).strip()]


def _text(value: Any, where: str) -> str | None:
    if not isinstance(value, str | None):
        raise OutputUnreadable(f"{where}: {shown(str(value)[:80])} is not text")
    return (value or "").strip() or None


def _mountpoints(row: dict[str, Any], where: str) -> tuple[str, ...]:
    many = row.get("mountpoints")
    if many is not None and not isinstance(many, list):
        raise OutputUnreadable(f"{where}: mountpoints are not a list")
    return tuple(text for one in [*(many or []), row.get("mountpoint")] if (text := _text(one, where)))
