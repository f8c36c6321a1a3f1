"""AWS: types from the table that Karpenter's documentation generates, and prices of three sources.

They are Karpenter's generated tables, AWS's website as ec2.shop keeps it, and the savings that AWS's Spot Instance
Advisor shows, as spotinfo keeps them.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from scripts.catalogue.rows import PriceRow, Snapshot, TypeRow

_DOCS = "website/content/en/docs/reference/instance-types.md"
_PRICES = (
    "pkg/providers/pricing/zz_generated.pricing_aws.go",
    "pkg/providers/pricing/zz_generated.pricing_aws_us_gov.go",
)
_WEBSITE = "data/ec2/"
_ON_DEMAND = re.compile(r"data/ec2/([a-z]+(?:-gov)?-[a-z]+-\d)-ondemand\.json")
"""Of a region: local zones have longer names."""
_COMMITMENTS = {"reserved-1y": "reservedinstance-1y", "reserved-3y": "reservedinstance-3y"}
_NO_UPFRONT = "no upfront, standard"
_ADVISOR = "internal/spot/data/spot-advisor-data.json"
_ADVISED = "mean of 30 days: on demand less the saving that AWS shows, in whole percent"
_LABEL = re.compile(
    r"^ \|(?:karpenter\.k8s\.aws/|kubernetes\.io/|node\.kubernetes\.io/)([\w-]+)\|(.*)\|$", re.MULTILINE
)
_CATEGORIES = {
    **dict.fromkeys(("m", "t"), "general"),
    "c": "compute",
    **dict.fromkeys(("r", "x", "z"), "memory"),
    **dict.fromkeys(("i", "im", "is", "d"), "storage"),
}
_OLDEST = {"general": 5, "compute": 5, "memory": 5, "storage": 3}
_NEW = re.compile("t3|t4|x2|z1")
"""Families of today with a lower number."""
_GRAVITON = {1: "AWS Graviton", 6: "AWS Graviton2", 7: "AWS Graviton3", 8: "AWS Graviton4", 9: "AWS Graviton5"}
_GRAVITON_OF_OTHER_NUMBERS = {"t4g": 6, "x2gd": 6, "i4g": 6, "im4gn": 6, "is4gen": 6}
_AMD = {5: "AMD EPYC Naples", 6: "AMD EPYC Milan", 7: "AMD EPYC Genoa", 8: "AMD EPYC Turin"}
_INTEL = {
    5: "Intel Xeon Skylake or Cascade Lake",
    6: "Intel Xeon Ice Lake",
    7: "Intel Xeon Sapphire Rapids",
    8: "Intel Xeon Granite Rapids",
}
_INTEL_OF_OTHER_NUMBERS = {
    "i3": "Intel Xeon Broadwell",
    "i3en": _INTEL[5],
    "d3": "Intel Xeon Cascade Lake",
    "d3en": "Intel Xeon Cascade Lake",
    "i4i": _INTEL[6],
    "i7i": "Intel Xeon Emerald Rapids",
    "i7ie": "Intel Xeon Emerald Rapids",
    "m5zn": "Intel Xeon Cascade Lake",
    "t3": _INTEL[5],
    "x2idn": _INTEL[6],
    "x2iedn": _INTEL[6],
    "x2iezn": "Intel Xeon Cascade Lake",
    "z1d": "Intel Xeon Skylake",
}
_AMD_OF_OTHER_NUMBERS = {"t3a": _AMD[5]}
_ONE_THREAD_AMD = frozenset("mcr")
"""From the seventh generation on, a vCPU of these AMD families is a core."""


def types(karpenter: Snapshot) -> Iterator[TypeRow]:
    """General, compute, memory and storage families that are not of an earlier time; no GPUs, no HPC, no u-* types."""
    text = karpenter.text(_DOCS)
    day = karpenter.day(_DOCS)
    for section in text.split("\n### `")[1:]:
        labels = dict(_LABEL.findall(section))
        family = labels["instance-family"]
        category = _CATEGORIES.get(labels["instance-category"])
        generation = int(labels["instance-generation"])
        unwanted = "instance-gpu-count" in labels or "instance-accelerator-count" in labels
        if category is None or unwanted or (generation < _OLDEST[category] and not _NEW.match(family)):
            continue
        vendor = {"aws": "AWS", "intel": "Intel", "amd": "AMD"}[labels["instance-cpu-manufacturer"]]
        yield TypeRow(
            provider="aws",
            type=labels["instance-type"],
            family=family,
            generation=generation,
            category=category,
            burstable=family.startswith("t"),
            vcpus=int(labels["instance-cpu"]),
            threads_per_core=_threads(vendor, family, generation),
            architecture=labels["arch"],
            cpu_vendor=vendor,
            cpu_model=_model(vendor, family, generation),
            memory_gib=int(labels["instance-memory"]) / 1024,
            local_ssd_gb=int(labels.get("instance-local-nvme", 0)),
            network_gbps=_gbps(labels.get("instance-network-bandwidth")),
            volume_gbps=_gbps(labels.get("instance-ebs-bandwidth")),
            source=karpenter.cite("instance-types.md"),
            licence="Apache-2.0",
            date=day,
        )


def prices(karpenter: Snapshot) -> Iterator[PriceRow]:
    """On demand, Linux, shared tenancy."""
    for path in _PRICES:
        text = karpenter.text(path)
        day = re.search(r"generated at (\d{4}-\d{2}-\d{2})", text)
        if day is None:
            raise ValueError(f"{path} does not say when it was generated")
        for region, table in re.findall(r'^\t"([\w-]+)": \{\n(.*?)^\t\}', text, re.MULTILINE | re.DOTALL):
            for name, usd in re.findall(r'"([\w.-]+)": ([\d.]+)', table):
                source = karpenter.cite(path.rsplit("/", 1)[-1])
                yield PriceRow("aws", region, name, "on-demand", float(usd), source, "Apache-2.0", day.group(1))


def website(shop: Snapshot) -> Iterator[PriceRow]:
    """On demand, and reserved for one and three years without a payment at the start, in every region."""
    for path in shop.files(_WEBSITE):
        region = _ON_DEMAND.fullmatch(path)
        if region is None:
            continue
        yield from _of_website(shop, region[1], "on-demand", path)
        for basis, file in _COMMITMENTS.items():
            yield from _of_website(shop, region[1], basis, f"{_WEBSITE}{region[1]}-{file}.json")


def _of_website(shop: Snapshot, region: str, basis: str, path: str) -> Iterator[PriceRow]:
    tables: dict[str, Any] = json.loads(shop.text(path))
    day = tables["manifest"].get("hawkFilePublicationDate", shop.day(path))[:10]
    source = shop.cite(path.rsplit("/", 1)[-1])
    for row in (row for table in tables["regions"].values() for row in table.values()):
        if row["Operating System"] != "Linux" or row["Pre Installed S/W"] != "NA":
            raise ValueError(f"{path}: not plain Linux: {row}")
        terms = ""
        if basis != "on-demand":
            if (row["PurchaseOption"], row["Tenancy"]) != ("No Upfront", "Shared"):
                raise ValueError(f"{path}: other terms: {row}")
            terms = _NO_UPFRONT
        yield PriceRow("aws", region, row["Instance Type"], basis, float(row["price"]), source, "MIT", day, terms)


def spot(spotinfo: Snapshot, on_demand: Iterable[PriceRow]) -> Iterator[PriceRow]:
    """What spot machines cost in the mean of a month, from prices on demand of about the same time."""
    advisor: dict[str, Any] = json.loads(spotinfo.text(_ADVISOR))["spot_advisor"]
    source, day = spotinfo.cite("spot-advisor-data.json"), spotinfo.day(_ADVISOR)
    for row in on_demand:
        advice = advisor.get(row.region, {}).get("Linux", {}).get(row.type)
        if row.basis == "on-demand" and advice is not None:
            usd = round(row.usd * (100 - advice["s"]) / 100, 6)
            said = f"{source}: {advice['s']} % below {row.source}"
            yield PriceRow("aws", row.region, row.type, "spot", usd, said, "Apache-2.0 and MIT", day, _ADVISED)


def _model(vendor: str, family: str, generation: int) -> str | None:
    if vendor == "AWS":
        return _GRAVITON.get(_GRAVITON_OF_OTHER_NUMBERS.get(family, generation))
    if vendor == "AMD":
        return _AMD_OF_OTHER_NUMBERS.get(family) or _AMD.get(generation)
    return _INTEL_OF_OTHER_NUMBERS.get(family) or (_INTEL.get(generation) if generation >= min(_INTEL) else None)


def _threads(vendor: str, family: str, generation: int) -> int | None:
    if vendor == "AWS":
        return 1
    if vendor == "Intel":
        return 2
    if generation <= min(_AMD) + 1:
        return 2
    return 1 if re.fullmatch(r"[mcr]\da", family) else None


def _gbps(mbps: str | None) -> float | None:
    return None if mbps is None else int(mbps) / 1000
