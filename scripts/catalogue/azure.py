"""Azure: types from the Kubernetes autoscaler's generated list, and prices of two sources.

They are Karpenter's generated table, and of five regions what azure-pricing-radar keeps of Microsoft's own list.
"""

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from scripts.catalogue.rows import PriceRow, Snapshot, TypeRow

_TYPES = "cluster-autoscaler/cloudprovider/azure/azure_instance_types.go"
_PRICES = "pkg/providers/pricing/zz_generated.pricing.go"
_RADAR = "data/latest/"
_RADAR_LICENCE = "MIT"
_PLAIN = re.compile(r"Virtual Machines \S+ [Ss]eries(?: Linux)?")
"""Products without Windows; 'Cloud Services' use the same meters, with its price."""
_ONE_TYPE = re.compile(
    r'InstanceType: "([^"]+)",\s+SkuFamily:\s+"[^"]*",\s+VCPU:\s+(\d+),\s+MemoryMb:\s+(\d+),\s+GPU:\s+(\d+),\s+'
    r'Architecture: "([^"]+)"'
)
_NAME = re.compile(r"Standard_(D|B|F|FX|E|M|L)(\d+)([a-z]*)_v(\d+)")
"""Without the types of constrained vCPUs (E8-2s_v5), confidential ones (DC, EC) and those before the second version."""
_CATEGORIES = {
    **dict.fromkeys(("D", "B"), "general"),
    **dict.fromkeys(("F", "FX"), "compute"),
    **dict.fromkeys(("E", "M"), "memory"),
    "L": "storage",
}
_OLDEST = {"D": 3, "E": 3}
_WINDOWS_PER_VCPU = 0.046
_ROUNDING = 0.0008
"""Of a price per vCPU: the table has three digits, and the smallest sizes two vCPUs."""
_SECOND = "PyPI apache-libcloud 3.9.1 azure_linux"
_SECOND_DAY = "2025-03-02"
"""Its `updated`."""
_ARM = {2: "Ampere Altra", 5: "Ampere Altra", 6: "Microsoft Cobalt 100"}
_AMD = {4: "AMD EPYC Rome", 5: "AMD EPYC Milan", 6: "AMD EPYC Genoa", 7: "AMD EPYC Turin"}
_AMD_OF_OTHER_NUMBERS = {"B": {2: _AMD[5]}, "L": {3: _AMD[5], 4: _AMD[6]}}
_INTEL = {5: "Intel Xeon Ice Lake", 6: "Intel Xeon Emerald Rapids", 7: "Intel Xeon Granite Rapids"}
_INTEL_OF_OTHER_NUMBERS = {"L": {3: "Intel Xeon Ice Lake", 4: "Intel Xeon Emerald Rapids"}}


def types(autoscaler: Snapshot) -> Iterator[TypeRow]:
    """General, compute, memory and storage series."""
    source, day = autoscaler.cite("azure_instance_types.go"), autoscaler.day(_TYPES)
    for name, vcpus, memory_mb, gpus, architecture in _ONE_TYPE.findall(autoscaler.text(_TYPES)):
        found = _NAME.fullmatch(name)
        if found is None or int(gpus):
            continue
        letters, features, version = found[1], found[3], int(found[4])
        if version < _OLDEST.get(letters, 2):
            continue
        arm, amd = architecture == "arm64", "a" in features
        model = _model(letters, version, arm=arm, amd=amd)
        yield TypeRow(
            provider="azure",
            type=name,
            family=f"{letters}{features}v{version}",
            generation=version,
            category=_CATEGORIES[letters],
            burstable=letters == "B",
            vcpus=int(vcpus),
            threads_per_core=1 if arm else None,
            architecture=architecture,
            cpu_vendor=model.split()[0] if model else ("AMD" if amd else "Intel"),
            cpu_model=model,
            memory_gib=int(memory_mb) / 1024,
            local_ssd_gb=None if "d" in features or letters == "L" else 0,
            network_gbps=None,
            volume_gbps=None,
            source=source,
            licence="Apache-2.0",
            date=day,
        )


def prices(karpenter: Snapshot) -> Iterator[PriceRow]:
    """On demand, Linux."""
    text = karpenter.text(_PRICES)
    day = re.search(r"generated at (\d{4}-\d{2}-\d{2})", text)
    if day is None:
        raise ValueError(f"{_PRICES} does not say when it was generated")
    source = karpenter.cite("zz_generated.pricing.go")
    for region, table in re.findall(
        r'initialOnDemandPrices\["(\w+)"\] = map\[string\]float64\{\n(.*?)^\t\}', text, re.MULTILINE | re.DOTALL
    ):
        for name, usd in re.findall(r'"([\w-]+)":\s+([\d.]+)', table):
            yield PriceRow("azure", region, name, "on-demand", float(usd), source, "Apache-2.0", day.group(1))


def radar(radar: Snapshot, known: Collection[str]) -> Iterator[PriceRow]:
    """On demand, spot and the savings plan of one year: Linux, of known types."""
    for path in radar.files(_RADAR):
        if not path.startswith(f"{_RADAR}vm-"):
            continue
        source, day = radar.cite(path.rsplit("/", 1)[-1]), radar.day(path)
        meters: dict[str, dict[str, Any]] = json.loads(radar.text(path))
        for meter in meters.values():
            if not _PLAIN.fullmatch(meter["productName"]) or meter["meterName"].endswith(" Low Priority"):
                continue
            basis = "spot" if meter["meterName"].endswith(" Spot") else "on-demand"
            for name in _names(meter["meterName"].removesuffix(" Spot")):
                if name not in known:
                    continue
                facts = ("azure", meter["armRegionName"], name)
                yield PriceRow(*facts, basis, meter["retailPrice"], source, _RADAR_LICENCE, day)
                if meter.get("savingsPlanPrice"):
                    yield PriceRow(*facts, "savings-plan-1y", meter["savingsPlanPrice"], source, _RADAR_LICENCE, day)


def _names(meter: str) -> list[str]:
    """'D2 v3/D2s v3' is Standard_D2_v3 and Standard_D2s_v3. A meter of low priority has no such name."""
    return [f"Standard_{name.strip().replace(' ', '_')}" for name in meter.split("/")]


def second(libcloud: Path) -> Iterator[PriceRow]:
    """What apache-libcloud's price list says of the same machines; it writes 'standardd8asv5'."""
    lists = json.loads(libcloud.read_text(encoding="utf-8"))
    for name, regions in lists["compute"]["azure_linux"].items():
        for region, usd in regions.items():
            if usd:
                yield PriceRow(
                    "azure",
                    region,
                    name,
                    "on-demand",
                    usd,
                    "PyPI apache-libcloud 3.9.1 azure_linux",
                    "Apache-2.0",
                    "2025-03-02",
                )


def windows_prices(types: Iterable[TypeRow], prices: Iterable[PriceRow]) -> dict[PriceRow, str]:
    """The prices that contain a Windows licence, each with the reason: Karpenter's table has some among those of Linux.

    Azure sells a series by the vCPU, and Windows for $0.046 more per vCPU in every region. So a size that costs this
    much more than the cheapest one of its series, in the same region, has the price of Windows. Not the M series, whose
    sizes differ in memory, nor burstable types, which have their own steps. Microsoft's own list has no such rows.
    """
    facts = {row.type: row for row in types if row.provider == "azure"}
    series: dict[tuple[str, str], list[tuple[PriceRow, float]]] = defaultdict(list)
    for price in prices:
        one = facts.get(price.type)
        if one is None or price.basis != "on-demand" or price.licence == _RADAR_LICENCE:
            continue
        if not one.burstable and not one.family.startswith("M"):
            series[one.family, price.region].append((price, price.usd / one.vcpus))
    found: dict[PriceRow, str] = {}
    for sizes in series.values():
        least = min(each for _, each in sizes)
        for price, each in sizes:
            if abs(each - least - _WINDOWS_PER_VCPU) < _ROUNDING:
                found[price] = (
                    f"the price with a Windows licence: ${_WINDOWS_PER_VCPU:g} per vCPU more than other sizes"
                )
    return found


def plain(name: str) -> str:
    """'Standard_D8as_v5' as libcloud writes it."""
    return name.lower().replace("_", "")


def _model(letters: str, version: int, *, arm: bool, amd: bool) -> str | None:
    if arm:
        return _ARM.get(version)
    own, usual = (_AMD_OF_OTHER_NUMBERS, _AMD) if amd else (_INTEL_OF_OTHER_NUMBERS, _INTEL)
    if letters in own:
        return own[letters].get(version)
    return usual.get(version) if letters in {"D", "E"} or amd else None
