"""The table of machine types that labels are held against: `cloud_report_2019_types.csv` beside this file.

Of a type that is not in the table its name tells the vCPUs, by the rule of its provider, and nothing else is known.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from nephoscope.checks.logs import MachineType

_FILE = "cloud_report_2019_types.csv"
_NAMED = {
    "aws": re.compile(r"[a-z][a-z0-9]*\.(?P<times>[0-9]{0,3})xlarge"),
    "gcp": re.compile(r"[a-z][a-z0-9]*-(?:standard|highcpu|highmem|ultramem|megamem)-(?P<vcpus>[0-9]{1,3})"),
    "azure": re.compile(r"standard_[def](?P<vcpus>[0-9]{1,3})[a-z]*_v[3-9]"),
}
"""Documented rules of names. Azure's first two versions follow none."""
_VCPUS_OF_AN_XLARGE = 4


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
    return _named(provider.casefold(), words)


def _named(provider: str, words: Sequence[str]) -> MachineType | None:
    """What the name alone tells, with the words behind it left out."""
    rule = _NAMED.get(provider)
    for length in range(len(words), 0, -1):
        name = "-".join(words[:length])
        if rule and (match := rule.fullmatch(name)):
            said = match.groupdict()
            vcpus = int(said["vcpus"]) if "vcpus" in said else int(said["times"] or 1) * _VCPUS_OF_AN_XLARGE
            row = dict.fromkeys(("memory_gib", "cpu_words", "l3_kib", "l3_basis", "sockets_seen"), "")
            return _type({**row, "machine_type": name, "vcpus": str(vcpus)}) if vcpus else None
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
