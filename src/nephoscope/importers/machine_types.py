"""The table of machine types that labels are held against: `cloud_report_2019_types.csv` beside this file."""

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from nephoscope.checks.logs import MachineType

_FILE = "cloud_report_2019_types.csv"


@cache
def machine_types() -> Mapping[tuple[str, str], MachineType]:
    """(provider, machine type) in lower case -> what is known of it."""
    text = (files("nephoscope.importers") / _FILE).read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {(row["provider"], row["machine_type"].casefold()): _type(row) for row in rows}


def machine_type_of(provider: str, label: str) -> MachineType | None:
    """The type that a label names, alone or before a dash: 'c5.4xlarge-ebs' is a c5.4xlarge on other disks."""
    known, words = machine_types(), label.casefold().split("-")
    for length in range(len(words), 0, -1):
        if found := known.get((provider.casefold(), "-".join(words[:length]))):
            return found
    return None


def _type(row: Mapping[str, str]) -> MachineType:
    return MachineType(
        name=row["machine_type"],
        vcpus=int(row["vcpus"]) if row["vcpus"] else None,
        memory_gib=float(row["memory_gib"]) if row["memory_gib"] else None,
        cpu_words=_many(row["cpu_words"]),
        l3_kib=tuple(int(size) for size in _many(row["l3_kib"])),
        l3_documented=row["l3_basis"] == "documented",
        sockets_seen=int(row["sockets_seen"]) if row["sockets_seen"] else None,
    )


def _many(cell: str) -> tuple[str, ...]:
    return tuple(cell.split("|")) if cell else ()
