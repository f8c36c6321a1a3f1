"""One machine type of the catalogue: its facts, its prices as rows of a price book, and types with similar names."""

import difflib

import polars as pl
from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.prices.catalogue.tables import prices, types
from nephoscope.prices.rows import Basis, Kind, Price, Unit

ARCHITECTURES = ("amd64", "arm64")
"""As Debian and the clouds call them: x86 with 64 bits, and 64-bit Arm."""

DISPUTED = "disputed: "
"""How the note of a price begins that another source contradicts."""


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


def machine(provider: str, name: str) -> CloudType | None:
    """The facts of a type; None: the catalogue does not have it."""
    found = types().filter(_is(provider, name)).to_dicts()
    return CloudType.model_validate(found[0]) if found else None


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
            usd=row["usd"],
            source=row["source"],
            licence=row["licence"],
            date=row["date"],
            note=f"{DISPUTED}{row['disputed']}" if row["disputed"] else "",
        )
        for row in prices().filter(_is(provider, name)).iter_rows(named=True)
    )


def nearest(provider: str, name: str) -> list[str]:
    """At most three types of the provider with similar names, the most similar one first."""
    known = types().filter(pl.col("provider") == provider)["type"].to_list()
    by_folded = {one.casefold(): one for one in known}
    return [by_folded[one] for one in difflib.get_close_matches(name.casefold(), by_folded, n=3, cutoff=0.7)]


def _is(provider: str, name: str) -> pl.Expr:
    return (pl.col("provider") == provider) & (pl.col("type") == name)
