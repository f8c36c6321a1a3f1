"""Writes the catalogue of machine types from public lists that were fetched before: `python -m scripts.catalogue`.

The lists are git directories of these projects, and one file:

    aws/karpenter-provider-aws, Azure/karpenter-provider-azure, cloudpilot-ai/karpenter-provider-gcp,
    Cyclenerd/google-cloud-pricing-cost-calculator, kubernetes/autoscaler; pricing.json of apache-libcloud

and `noted.csv`, prices that somebody looked up one by one. Nothing of the lists is kept but the facts.
"""

import argparse
import csv
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import polars as pl
from scripts.catalogue import aws, azure, gcp
from scripts.catalogue.rows import PriceRow, Snapshot, TypeRow

OUT = Path(__file__).resolve().parents[2] / "src/nephoscope/prices/catalogue"
NOTED = Path(__file__).with_name("noted.csv")
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
    for name in ("karpenter-aws", "karpenter-azure", "karpenter-gcp", "cyclenerd", "autoscaler", "libcloud"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    given = parser.parse_args()
    karpenter_aws = Snapshot("karpenter-provider-aws", given.karpenter_aws)
    karpenter_azure = Snapshot("karpenter-provider-azure", given.karpenter_azure)
    karpenter_gcp = Snapshot("karpenter-provider-gcp", given.karpenter_gcp)
    cyclenerd = Snapshot("Cyclenerd google-cloud-pricing-cost-calculator", given.cyclenerd)
    autoscaler = Snapshot("kubernetes autoscaler", given.autoscaler)
    noted = _noted()
    types = [*aws.types(karpenter_aws), *azure.types(autoscaler), *gcp.types(cyclenerd)]
    prices = [*aws.prices(karpenter_aws), *azure.prices(karpenter_azure), *gcp.prices(karpenter_gcp)]
    plain = {azure.plain(row.type): row.type for row in types if row.provider == "azure"}
    seconds = [
        *gcp.second(autoscaler),
        *(
            PriceRow("azure", row.region, plain[row.type], *(row.basis, row.usd, row.source, row.licence, row.date))
            for row in azure.second(given.libcloud)
            if row.type in plain
        ),
        *noted,
    ]
    _write(types, _new(prices, noted), seconds)


def _noted() -> list[PriceRow]:
    with NOTED.open(encoding="utf-8", newline="") as file:
        return [
            PriceRow(
                *(row["provider"], row["region"], row["type"], row["basis"], float(row["usd"])),
                *(row["source"], row["licence"], row["date"]),
            )
            for row in csv.DictReader(file)
        ]


def _new(prices: Sequence[PriceRow], noted: Iterable[PriceRow]) -> list[PriceRow]:
    """The prices, and of the noted ones those that no list has."""
    known = {(row.provider, row.region, row.type, row.basis) for row in prices}
    return [*prices, *(row for row in noted if (row.provider, row.region, row.type, row.basis) not in known)]


def _write(types: Sequence[TypeRow], prices: Iterable[PriceRow], seconds: Iterable[PriceRow]) -> None:
    wanted = {(row.provider, row.type) for row in types}
    other = {(row.provider, row.region, row.type, row.basis): row for row in seconds}
    kept = [row for row in prices if (row.provider, row.type) in wanted and row.usd > 0]
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
                "disputed": _dispute(row, other.get((row.provider, row.region, row.type, row.basis))),
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


def _dispute(row: PriceRow, other: PriceRow | None) -> str:
    """Spot prices change from day to day, so those of two days cannot contradict each other."""
    if other is None or other.source == row.source or row.basis == "spot":
        return ""
    if abs(row.usd - other.usd) <= MAX_DIFFERENCE * min(row.usd, other.usd):
        return ""
    return f"${other.usd:g} in {other.source}, {other.date}"


if __name__ == "__main__":
    main()
