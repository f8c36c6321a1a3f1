"""GCP: types and regions from Cyclenerd's lists, and prices of three sources.

They are Karpenter's list, Cyclenerd's, which also has those of commitments, and as a second price the autoscaler's.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import yaml
from scripts.catalogue.rows import PriceRow, Snapshot, TypeRow

_TYPES = "tools/machinetypes.csv"
_YAML = "build/gcp.yml"
_PRICES = "pkg/providers/pricing/initial-prices.json"
_CYCLENERD = "pricing.yml"
_SNAPSHOT_LIMIT = 4 * 1024 * 1024
_COMMITMENTS = {"reserved-1y": "month_1y", "reserved-3y": "month_3y"}
_COMMITTED = "resource-based commitment"
_HOURS_PER_MONTH = 730
"""As Cyclenerd reckons."""
_SECOND = "cluster-autoscaler/cloudprovider/gce/gce_price_info.go"
SECOND_REGION = "us-central1"
"""Whose prices the autoscaler's list has."""
_MAP = re.compile(
    r"^\t(instancePrices|preemptiblePrices) = map\[string\]float64\{\n(.*?)^\t\}", re.MULTILINE | re.DOTALL
)
_CATEGORIES = {
    **dict.fromkeys(("e2", "n1", "n2", "n2d", "n4", "n4a", "n4d", "t2a", "t2d"), "general"),
    **dict.fromkeys(("c3", "c3d", "c4", "c4a", "c4d", "c4n"), "general"),
    **dict.fromkeys(("c2", "c2d"), "compute"),
    **dict.fromkeys(("m1", "m2", "m3", "m4", "m4n"), "memory"),
    "z3": "storage",
}
"""Google's own names: C3 and C4 are general-purpose."""
_CPUS = {
    "c2": "Intel Xeon Cascade Lake",
    "c2d": "AMD EPYC Milan",
    "c3": "Intel Xeon Sapphire Rapids",
    "c3d": "AMD EPYC Genoa",
    "c4a": "Google Axion",
    "c4d": "AMD EPYC Turin",
    "n4": "Intel Xeon Emerald Rapids",
    "n4a": "Google Axion",
    "n4d": "AMD EPYC Turin",
    "t2a": "Ampere Altra",
    "t2d": "AMD EPYC Milan",
    "m3": "Intel Xeon Ice Lake",
    "z3": "Intel Xeon Sapphire Rapids",
}
_VENDORS = {"n2d": "AMD", "c4": "Intel", "n2": "Intel", "m1": "Intel", "m2": "Intel", "m4": "Intel"}
_ARM = frozenset({"c4a", "n4a", "t2a"})
_ONE_THREAD = _ARM | {"t2d"}
_BURSTABLE = frozenset({"e2-micro", "e2-small", "e2-medium"})


def types(cyclenerd: Snapshot) -> Iterator[TypeRow]:
    """General, compute, memory and storage series; no GPUs, no HPC, no SAP machines (x4)."""
    source, day = cyclenerd.cite("machinetypes.csv"), cyclenerd.day(_TYPES)
    ssds = {name: facts.get("local-ssd") for name, facts in _instances(cyclenerd).items()}
    for row in csv.DictReader(io.StringIO(cyclenerd.text(_TYPES)), delimiter=";"):
        name, series = row["NAME"], row["NAME"].split("-")[0]
        if series not in _CATEGORIES or row["DEPRECATED"]:
            continue
        model, generation = _CPUS.get(series), re.search(r"\d", series)
        bundled = "lssd" in name or series == "z3"
        yield TypeRow(
            provider="gcp",
            type=name,
            family=series,
            generation=int(generation.group()) if generation else None,
            category=_CATEGORIES[series],
            burstable=name in _BURSTABLE,
            vcpus=int(row["CPUS"]),
            threads_per_core=1 if series in _ONE_THREAD else None if name in _BURSTABLE else 2,
            architecture="arm64" if series in _ARM else "amd64",
            cpu_vendor=model.split()[0] if model else _VENDORS.get(series),
            cpu_model=model,
            memory_gib=float(row["MEMORY_GB"]),
            local_ssd_gb=ssds.get(name) if bundled else 0,
            network_gbps=None,
            volume_gbps=None,
            source=source,
            licence="Apache-2.0",
            date=day,
        )


def prices(karpenter: Snapshot) -> Iterator[PriceRow]:
    """On demand and spot, of all regions."""
    source, day = karpenter.cite("initial-prices.json"), karpenter.day(_PRICES)
    for region, tables in json.loads(karpenter.text(_PRICES))["prices"].items():
        for basis, key in (("on-demand", "on_demand"), ("spot", "spot")):
            for name, usd in tables.get(key, {}).items():
                if usd:
                    yield PriceRow("gcp", region, name, basis, usd, source, "Apache-2.0", day)


def commitments(cyclenerd: Snapshot) -> Iterator[PriceRow]:
    """On demand, spot, and committed for one and three years, of all regions.

    Of the newest list that a snapshot holds. Its machines with local SSDs are priced without them; those are skipped.
    """
    found = cyclenerd.last_with(_CYCLENERD, _SNAPSHOT_LIMIT)
    lists: dict[str, Any] = yaml.load(found.text(_CYCLENERD), Loader=yaml.CSafeLoader)
    day = datetime.fromtimestamp(lists["about"]["timestamp"], UTC).date().isoformat()
    source = found.cite(_CYCLENERD)
    for name, machine in lists["compute"]["instance"].items():
        if "lssd" in name or name.startswith("z3"):
            continue
        for region, cost in machine.get("cost", {}).items():
            facts = ("gcp", region, name)
            for basis, key in (("on-demand", "hour"), ("spot", "hour_spot")):
                if cost.get(key):
                    yield PriceRow(*facts, basis, cost[key], source, "Apache-2.0", day)
            for basis, key in _COMMITMENTS.items():
                if cost.get(key):
                    usd = round(cost[key] / _HOURS_PER_MONTH, 6)
                    yield PriceRow(*facts, basis, usd, source, "Apache-2.0", day, _COMMITTED)


def second(autoscaler: Snapshot) -> Iterator[PriceRow]:
    """The autoscaler's prices by machine type: a map of on-demand prices before one of spot prices."""
    text = autoscaler.text(_SECOND)
    for name, table in _MAP.findall(text):
        basis = "on-demand" if name == "instancePrices" else "spot"
        for kind, usd in re.findall(r'"([\w-]+)":\s+([\d.]+)', table):
            yield PriceRow(
                *("gcp", SECOND_REGION, kind, basis, float(usd)),
                *(autoscaler.cite("gce_price_info.go"), "Apache-2.0", autoscaler.day(_SECOND)),
            )


def _instances(cyclenerd: Snapshot) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = yaml.safe_load(cyclenerd.text(_YAML))["compute"]["instance"]
    return found
