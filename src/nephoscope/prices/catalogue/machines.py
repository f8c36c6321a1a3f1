"""One machine type of the catalogue: its facts, and its prices as rows of a price book."""

import polars as pl
from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.prices.catalogue.tables import prices
from nephoscope.prices.rows import DISPUTED, Basis, Kind, Price, Unit


class CloudType(Frozen):
    """What sources say of a machine type. None: they do not say."""

    provider: str
    type: str
    family: str
    generation: int | None
    category: str = Field(description="general, compute, memory or storage")
    burstable: bool
    vcpus: int
    threads_per_core: int | None
    architecture: str = Field(description="amd64 or arm64")
    cpu_vendor: str | None
    cpu_model: str | None
    memory_gib: float
    local_ssd_gb: int | None = Field(description="all local SSDs that come with it")
    network_gbps: float | None = Field(description="baseline, not burst")
    volume_gbps: float | None = Field(description="most to all volumes")
    regions: list[str] = Field(description="where the catalogue has an on-demand price of it")
    source: str
    licence: str
    date: str


def prices_of(provider: str, name: str) -> tuple[Price, ...]:
    """Every price of a type, in all regions, as rows of a price book; empty for what the catalogue does not have."""
    return tuple(
        Price(
            provider=provider,
            region=row["region"],
            kind=Kind.MACHINE,
            item=name,
            unit=Unit.HOUR,
            basis=Basis(row["basis"]),
            terms=row["terms"],
            usd=row["usd"],
            source=row["source"],
            licence=row["licence"],
            date=row["date"],
            disputed=row["wrong"],
            note=f"{DISPUTED}{row['disputed']}" if row["disputed"] else "",
        )
        for row in prices().filter(_is(provider, name)).iter_rows(named=True)
    )


def _is(provider: str, name: str) -> pl.Expr:
    return (pl.col("provider") == provider) & (pl.col("type") == name)
