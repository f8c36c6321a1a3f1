"""One machine type of the catalogue: its facts, and its prices as rows of a price book."""

from pydantic import Field

from nephoscope.model.frozen import Frozen
from nephoscope.prices.catalogue.tables import prices_of_type
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


def prices_of(provider: str, name: str, region: str | None = None) -> tuple[Price, ...]:
    """Every price of a type, in one region or in all, as rows of a price book; empty if the catalogue has none.

    Not validated again: a type has up to 200 rows, and a plan asks for one. A test validates some of each provider.
    """
    return tuple(
        Price.model_construct(
            provider=provider,
            region=row["region"],
            kind=Kind.MACHINE,
            item=name,
            unit=Unit.HOUR,
            above=0.0,
            up_to=None,
            basis=Basis(row["basis"]),
            terms=row["terms"],
            usd=row["usd"],
            source=row["source"],
            licence=row["licence"],
            date=row["date"],
            disputed=row["wrong"],
            note=f"{DISPUTED}{row['disputed']}" if row["disputed"] else "",
        )
        for row in prices_of_type(provider, name, region).iter_rows(named=True)
    )
