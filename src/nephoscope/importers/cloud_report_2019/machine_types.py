"""The table of machine types that labels are checked against: `types.csv` next to this file.

Of a type that is not in the table its name tells the vCPUs, by the rule of its provider, and nothing else is known.
"""

import csv
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from nephoscope.checks.logs import MachineType

_FILE = "types.csv"
_NAMED = {
    "aws": re.compile(r"[a-z][a-z0-9]*\.(?:(?P<times>[0-9]{0,3})x)?large"),
    "gcp": re.compile(
        r"(?:[a-z][a-z0-9]*-(?:standard|highcpu|highmem|ultramem|megamem)|(?:[a-z][a-z0-9]*-)?custom)"
        r"-(?P<vcpus>[0-9]{1,3})"
    ),
    "azure": re.compile(r"standard_(?:[def](?P<vcpus>[0-9]{1,3})[a-z]*_v[3-9]|[fl](?P<more>[0-9]{1,3})s_v2)"),
}
"""Documented rules of names. Azure's first two versions follow none, but for F and L."""
_OFF_THE_RULE = {"c1.xlarge": 8, "c4.8xlarge": 36, "d2.8xlarge": 36, "m2.xlarge": 2, "m2.2xlarge": 4, "m2.4xlarge": 8}
_VCPUS_OF_A_LARGE, _VCPUS_OF_AN_XLARGE = 2, 4
_PROVIDERS = {"amazon": "aws", "ec2": "aws", "gce": "gcp", "google": "gcp", "az": "azure", "microsoft": "azure"}
"""Other names of the three -> ours."""
_ENDS = re.compile(r"[-_ ]|$")
"""After a type's name, a label may describe disks."""


@cache
def machine_types() -> Mapping[tuple[str, str], MachineType]:
    """(provider, machine type) in lower case -> its entry in the table."""
    text = (files("nephoscope.importers.cloud_report_2019") / _FILE).read_text(encoding="utf-8")
    rows = csv.DictReader(line for line in text.splitlines() if not line.startswith("#"))
    return {(row["provider"], row["machine_type"].casefold()): _type(row) for row in rows}


def provider_of(name: str) -> str:
    """The provider that a name means, as we call it: 'gcp' for 'GCE'."""
    return _PROVIDERS.get(name.casefold(), name.casefold())


def machine_type_of(provider: str, label: str) -> MachineType | None:
    """The type that a label names, alone or before a dash: 'c5.4xlarge-ebs' is a c5.4xlarge on other disks."""
    ours = provider_of(provider)
    whole = label.casefold().strip()
    if ours == "azure" and not whole.startswith("standard"):
        whole = f"standard_{whole}"
    names = [whole[: match.start()] for match in reversed(list(_ENDS.finditer(whole)))]
    found = next((known for name in names if (known := machine_types().get((ours, name)))), None)
    if found is None:
        return next((known for name in names if (known := _named(ours, name))), None)
    of_size = _vcpus_by_name(ours, found.name.casefold())
    return found.model_copy(update={"vcpus_of_size": of_size}) if of_size != found.vcpus else found


def _named(provider: str, name: str) -> MachineType | None:
    """What the name alone says."""
    vcpus = _vcpus_by_name(provider, name)
    row = dict.fromkeys(("memory_gib", "cpu_words", "l3_kib", "l3_basis", "sockets_seen"), "")
    return _type({**row, "machine_type": name, "vcpus": str(vcpus)}) if vcpus else None


def _vcpus_by_name(provider: str, name: str) -> int | None:
    """By the provider's rule; None: it has none for this name."""
    match = _NAMED[provider].fullmatch(name) if provider in _NAMED else None
    if match is None:
        return None
    said = match.groupdict()
    if provider != "aws":
        return int(said.get("vcpus") or said["more"]) or None
    if said["times"] is None:
        return _VCPUS_OF_A_LARGE
    return _OFF_THE_RULE.get(name, int(said["times"] or 1) * _VCPUS_OF_AN_XLARGE) or None


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
