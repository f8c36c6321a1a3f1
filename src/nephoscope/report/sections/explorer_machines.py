"""What the explorer knows about each configuration's machine: what a reader filters by, and what it costs."""

from collections.abc import Mapping
from typing import Any

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.names import names_of
from nephoscope.model.price_rows import CostLineRow, CostRow
from nephoscope.model.rows import ConfigurationRow, MachineRow

ARCHITECTURES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "Arm", "arm64": "Arm"}
LABEL = "label-"
"""Start of the key under which the page finds a label."""
SIZE = " size"
"""End of the name of a cost line for a volume's capacity."""


def machines_of(lookup: Lookup) -> dict[str, dict[str, Any]]:
    """By configuration; None is not known."""
    known = {row.configuration: row for row in lookup[ConfigurationRow]}
    ordered = lookup.asked
    architectures = {row.configuration: row.facts.architecture for row in reversed(lookup[MachineRow])}
    volumes, called = _priced_volumes(lookup), names_of(lookup)
    return {
        name: {
            "name": name,
            "called": called[name],
            **_machine(lookup, name, known.get(name), ordered.get(name, {}), architectures.get(name)),
            "storage": _storage(ordered.get(name, {}).get("database_machine") or {}) or volumes.get(name),
            **{f"{LABEL}{label}": value for label, value in (known[name].labels if name in known else {}).items()},
        }
        for name in lookup.configurations
    }


def _machine(
    lookup: Lookup,
    name: str,
    known: ConfigurationRow | None,
    ordered: Mapping[str, Any],
    architecture: str | None,
) -> dict[str, Any]:
    costs = lookup.costs.get(name, [])
    cost = costs[0] if costs else None
    per_vcpu, observed = (known.memory_gib_per_vcpu, known.vcpus) if known else (None, None)
    return {
        "provider": (cost and cost.provider) or ordered.get("provider"),
        "region": (cost and cost.region) or ordered.get("region"),
        "type": (cost and cost.machine_type) or (known and known.machine_type),
        "family": (cost and cost.family) or (known and known.family),
        "cpu": _cpu(known.cpu_vendor if known else None, architecture),
        "vcpus": lookup.cpus.get(name) or observed or (cost and cost.vcpus),
        "gib": round(per_vcpu * observed, 2) if per_vcpu and observed else None,
        "prices": {row.basis: _price(row) for row in costs},
    }


def _cpu(vendor: str | None, architecture: str | None) -> str | None:
    """'x86-64, Intel', 'Arm', or the part that is known."""
    shown = ARCHITECTURES.get(architecture or "", architecture)
    return ", ".join(dict.fromkeys(part for part in (shown, vendor) if part)) or None


def _storage(machine: Mapping[str, Any]) -> str | None:
    """'2 × gp3 500 GB', 'local SSD'; None: whatever disk the machine has."""
    if machine.get("local_ssds"):
        return f"{machine['local_ssds']} × local SSD" if machine["local_ssds"] > 1 else "local SSD"
    found = [
        (f"{volume['count']} × " if volume.get("count", 1) > 1 else "") + f"{volume['kind']} {volume['size']:g} GB"
        for volume in machine.get("volumes") or []
    ]
    return ", ".join(found) or None


def _priced_volumes(lookup: Lookup) -> dict[str, str]:
    """Configuration -> the volumes whose price its cost includes; for machines that the study did not order."""
    found: dict[str, dict[str, str]] = {}
    for line in lookup[CostLineRow]:
        if line.what.endswith(SIZE):
            kind = line.what.removesuffix(SIZE)
            found.setdefault(line.configuration, {})[kind] = _volume(kind, line)
    return {name: ", ".join(text for _, text in sorted(many.items())) for name, many in found.items()}


def _volume(kind: str, line: CostLineRow) -> str:
    """'gp3 500 GB', '500 GiB' where the provider counts so; disks of fixed size have it in their name."""
    if line.unit == "disk-month":
        return kind if line.amount == 1 else f"{line.amount:g} × {kind}"
    return f"{kind} {line.amount:g} {line.unit.partition('-')[0]}"


def _price(row: CostRow) -> dict[str, Any]:
    """`volumes` is the monthly cost of one machine's volumes; None when one of them has no price."""
    volumes: float | None = 0.0
    if row.machine_month_usd is not None and row.storage_share is not None:
        volumes = row.machine_month_usd * row.storage_share
    elif row.usd_per_hour is not None and row.machine_month_usd is None:
        volumes = None
    return {
        "rate": row.usd_per_hour,
        "volumes": volumes,
        "hours": row.hours,
        "machines": max(1, row.machines),
        "divisible": row.is_divisible,
        "missing": row.reason_missing,
    }
