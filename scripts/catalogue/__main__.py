"""Writes the catalogue of machine types from public lists that were fetched before: `python -m scripts.catalogue`.

The lists are git directories of these projects, and one file:

    aws/karpenter-provider-aws, Azure/karpenter-provider-azure, cloudpilot-ai/karpenter-provider-gcp,
    Cyclenerd/google-cloud-pricing-cost-calculator, kubernetes/autoscaler, yeo/ec2.shop, alexei-led/spotinfo,
    andy-diericks/azure-pricing-radar; pricing.json of apache-libcloud

and `noted.csv`, prices that somebody looked up one by one. Nothing of the lists is kept but the facts.
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
from scripts.catalogue import aws, azure, gcp
from scripts.catalogue.rows import PriceRow, Snapshot, TypeRow

OUT = Path(__file__).resolve().parents[2] / "src/nephoscope/prices/catalogue"
NOTED = Path(__file__).with_name("noted.csv")
_PROJECTS = {
    "karpenter-aws": "karpenter-provider-aws",
    "karpenter-azure": "karpenter-provider-azure",
    "karpenter-gcp": "karpenter-provider-gcp",
    "cyclenerd": "Cyclenerd google-cloud-pricing-cost-calculator",
    "autoscaler": "kubernetes autoscaler",
    "ec2-shop": "yeo ec2.shop",
    "spotinfo": "alexei-led spotinfo",
    "azure-radar": "andy-diericks azure-pricing-radar",
}
"""Options, and what a source is called."""
MAX_DIFFERENCE = 0.02
"""Two sources that differ by more than this share of the smaller price are disputed."""
HOME = {
    "aws": ("us-east-1",),
    "gcp": ("us-central1", "us-east4", "us-east1"),
    "azure": ("eastus", "eastus2", "westus2", "westus3", "southcentralus", "centralus"),
}
"""The region whose price the small table shows: the first one that sells the type."""


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in (*_PROJECTS, "libcloud"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = vars(parser.parse_args())
    lists = {name: Snapshot(title, given[name.replace("-", "_")]) for name, title in _PROJECTS.items()}
    types = [
        *aws.types(lists["karpenter-aws"]),
        *azure.types(lists["autoscaler"]),
        *gcp.types(lists["cyclenerd"]),
    ]
    plain = {azure.plain(row.type): row.type for row in types if row.provider == "azure"}
    website = [*aws.website(lists["ec2-shop"])]
    _write(
        types,
        [
            *aws.prices(lists["karpenter-aws"]),
            *website,
            *aws.spot(lists["spotinfo"], website),
            *azure.prices(lists["karpenter-azure"]),
            *azure.radar(lists["azure-radar"], set(plain.values())),
            *gcp.prices(lists["karpenter-gcp"]),
            *gcp.commitments(lists["cyclenerd"]),
            *_noted(),
        ],
        [
            *(replace(row, type=plain[row.type]) for row in azure.second(given["libcloud"]) if row.type in plain),
            *gcp.second(lists["autoscaler"]),
        ],
    )


def _noted() -> list[PriceRow]:
    with NOTED.open(encoding="utf-8", newline="") as file:
        return [
            PriceRow(
                *(row["provider"], row["region"], row["type"], row["basis"], float(row["usd"])),
                *(row["source"], row["licence"], row["date"]),
            )
            for row in csv.DictReader(file)
        ]


def _newest(prices: Iterable[PriceRow], seconds: Iterable[PriceRow]) -> Iterator[tuple[PriceRow, list[PriceRow]]]:
    """For each machine, region and basis the newest price, of the first source with it; and what others say."""
    second: dict[tuple[str, str, str, str], list[PriceRow]] = defaultdict(list)
    for row in seconds:
        second[row.provider, row.region, row.type, row.basis].append(row)
    of: dict[tuple[str, str, str, str], list[PriceRow]] = defaultdict(list)
    for row in prices:
        if row.usd > 0:
            of[row.provider, row.region, row.type, row.basis].append(row)
    for key, rows in of.items():
        newest = max(rows, key=lambda row: row.date)
        yield newest, [*(row for row in rows if row is not newest), *second[key]]


def _write(types: Sequence[TypeRow], prices: Iterable[PriceRow], seconds: Iterable[PriceRow]) -> None:
    wanted = {(row.provider, row.type) for row in types}
    others = {row: other for row, other in _newest(prices, seconds) if (row.provider, row.type) in wanted}
    kept = list(others)
    regions: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in kept:
        if row.basis == "on-demand":
            regions[row.provider, row.type].add(row.region)
    sold = sorted((row for row in types if regions[row.provider, row.type]), key=lambda row: (row.provider, row.type))
    type_table = pl.DataFrame(
        [{**vars(row), "regions": sorted(regions[row.provider, row.type])} for row in sold], infer_schema_length=None
    ).with_columns(pl.col("generation", "threads_per_core").cast(pl.Int8), pl.col("vcpus").cast(pl.Int16))
    wrong = azure.windows_prices(sold, kept)
    price_table = pl.DataFrame(
        [
            {
                **vars(row),
                "disputed": _dispute(row, others[row]),
                "wrong": wrong.get(row, ""),
            }
            for row in kept
        ]
    ).sort("provider", "type", "region", "basis")
    OUT.mkdir(exist_ok=True)
    type_table.write_parquet(OUT / "types.parquet", compression="zstd", compression_level=19)
    price_table.write_parquet(OUT / "prices.parquet", compression="zstd", compression_level=19)
    on_demand = {(row.provider, row.type, row.region): row for row in kept if row.basis == "on-demand"}
    with (OUT / "types.csv").open("w", encoding="utf-8", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(("provider", "type", "architecture", "vcpus", "memory_gib", "region", "usd_per_hour", "date"))
        for one in sold:
            there = regions[one.provider, one.type]
            there = {region for region in there if on_demand[one.provider, one.type, region] not in wrong} or there
            home = next((region for region in HOME[one.provider] if region in there), min(there))
            price = on_demand[one.provider, one.type, home]
            facts = (one.provider, one.type, one.architecture, one.vcpus, f"{one.memory_gib:g}")
            out.writerow((*facts, home, f"{price.usd:g}", price.date))
    lost = len(types) - len(sold)
    disputed = price_table.filter(pl.col("disputed") != "").height
    doubted = price_table.filter(pl.col("wrong") != "").height
    sys.stdout.write(f"{len(sold)} types ({lost} without a price left out), {len(kept)} prices: ")
    sys.stdout.write(f"{disputed} disputed, {doubted} held wrong\n")


def _dispute(row: PriceRow, others: Iterable[PriceRow]) -> str:
    """Spot prices change from day to day, so those of two days cannot contradict each other."""
    if row.basis == "spot":
        return ""
    for other in sorted(others, key=lambda one: one.date, reverse=True):
        if abs(row.usd - other.usd) > MAX_DIFFERENCE * min(row.usd, other.usd):
            return f"${other.usd:g} in {other.source}, {other.date}"
    return ""


if __name__ == "__main__":
    main()
