"""`dmidecode`: the structures of the firmware's tables, and the few facts that the gate knows of.

'Not Specified', 'Unknown', 'None' and the like are what firmware writes for nothing: they are None, never values.
"""

import re
from collections.abc import Sequence

from pydantic import Field

from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.units import KIB
from nephoscope.parsers.text import INTEGER, build, shown, whole_lines

_WHAT = "dmidecode output"
_HANDLE = re.compile(rf"Handle (0x[0-9A-F]{{4,8}}), DMI type ({INTEGER}), {INTEGER} bytes\.?")
_FIELD = re.compile(r"\t([^\t:][^:]{0,60}):(?: (.*))?")
_ITEM = re.compile(r"\t\t(.+)")
_NOTHING = {"not specified", "not provided", "unknown", "none", "not present", "no module installed", "n/a"}
_SIZE = re.compile(rf"({INTEGER}) (bytes|[kKMGT]i?B)")
_POWER = "bkMGT"
"""By the unit's first letter, powers of 1024, whatever their name."""
_SYSTEM, _PROCESSOR, _MEMORY_DEVICE = 1, 4, 17


class DmiStructure(Frozen):
    """One structure. A field that says nothing is left out; a list is one text, its items divided by '; '."""

    handle: str
    kind: int = Field(ge=0, le=255)
    title: str
    fields: dict[str, str]


class Dmi(Frozen):
    """All structures, and what is read out of them."""

    structures: tuple[DmiStructure, ...] = Field(min_length=1)
    manufacturer: str | None
    product: str | None
    processors: tuple[str, ...] = Field(description="versions of the sockets that hold one")
    memory_bytes: int | None = Field(gt=0, description="total of all modules; None: no module reports its size")
    memory_modules: int = Field(ge=0, description="slots that hold one")
    memory_mt_per_s: tuple[int, ...] = Field(description="millions of transfers, as configured; empty: unknown")
    memory_rated_mt_per_s: tuple[int, ...]


def parse_dmidecode(text: str) -> Dmi:
    """Reads all structures.

    Raises:
        OutputUnreadable: nothing, cut off, no tables (as in most containers), or a size that is none.
    """
    lines = whole_lines(text, _WHAT)
    blocks: list[list[str]] = []
    for line in lines:
        if _HANDLE.fullmatch(line):
            blocks.append([line])
        elif blocks and line.strip():
            blocks[-1].append(line)
    structures = tuple(_structure(block) for block in blocks)
    if not structures:
        raise OutputUnreadable(f"{_WHAT}: no structure in it: {shown(lines[-1])}")
    if len({one.handle for one in structures}) < len(structures):
        raise OutputUnreadable(f"{_WHAT}: a handle appears twice")
    system = next((one.fields for one in structures if one.kind == _SYSTEM), {})
    slots = [one.fields for one in structures if one.kind == _MEMORY_DEVICE and "Size" in one.fields]
    modules = [fields for fields in slots if _bytes(fields["Size"])]
    return build(
        Dmi,
        _WHAT,
        structures=structures,
        manufacturer=system.get("Manufacturer"),
        product=system.get("Product Name"),
        processors=tuple(
            one.fields["Version"] for one in structures if one.kind == _PROCESSOR and "Version" in one.fields
        ),
        memory_bytes=sum(_bytes(fields["Size"]) for fields in modules) or None,
        memory_modules=len(modules),
        memory_mt_per_s=_speeds(modules, "Configured Memory Speed", "Configured Clock Speed"),
        memory_rated_mt_per_s=_speeds(modules, "Speed"),
    )


def _speeds(modules: Sequence[dict[str, str]], *names: str) -> tuple[int, ...]:
    """Versions before 3.3 write MHz for MT/s."""
    texts = (fields.get(name, "") for fields in modules for name in names)
    matches = (re.fullmatch(rf"({INTEGER}) (?:MT/s|MHz)", text) for text in texts)
    return tuple(sorted({int(match[1]) for match in matches if match and int(match[1])}))


def _structure(lines: Sequence[str]) -> DmiStructure:
    head = _HANDLE.fullmatch(lines[0])
    if head is None or len(lines) < 2 or lines[1].startswith("\t"):
        raise OutputUnreadable(f"{_WHAT}: {shown(lines[0])} has no title below it")
    fields: dict[str, str] = {}
    name = ""
    for line in lines[2:]:
        if item := _ITEM.fullmatch(line):
            fields[name] = "; ".join(filter(None, (fields.get(name, ""), item[1].strip())))
        elif field := _FIELD.fullmatch(line):
            name = field[1]
            fields[name] = (field[2] or "").strip()
    known = {name: value for name, value in fields.items() if name and value and value.casefold() not in _NOTHING}
    return build(DmiStructure, _WHAT, handle=head[1], kind=int(head[2]), title=lines[1].strip(), fields=known)


def _bytes(text: str) -> int:
    match = _SIZE.fullmatch(text)
    if not match:
        raise OutputUnreadable(f"{_WHAT}: Size: {shown(text)} is not a size")
    return int(int(match[1]) * KIB ** _POWER.index(match[2][0].replace("K", "k")))
