"""Every importer by the name that the command line uses. Its module loads when it reads: `--help` lists all of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nephoscope.prices.importers.base import Imported, Origin


@dataclass(frozen=True)
class Importer:
    """How to read one kind of price list."""

    what: str
    read: "Callable[[Path, Origin], Imported]"
    licence: str = "not stated"
    takes: frozenset[str] = frozenset({"source", "licence", "date"})
    """Options that replace it."""
    states_its_day: bool = False
    """Its lists state their publication date; others state since when a price is valid, which may be long ago."""


def _own(path: Path, _origin: "Origin") -> "Imported":
    """Our own CSV names source, licence and date in every row; the origin says nothing new."""
    from nephoscope.prices.importers.base import Imported
    from nephoscope.prices.rows import read_csv

    return Imported(rows=read_csv(path))


def _aws(path: Path, origin: "Origin") -> "Imported":
    from nephoscope.prices.importers.aws import read

    return read(path, origin)


def _azure(path: Path, origin: "Origin") -> "Imported":
    from nephoscope.prices.importers.azure import read

    return read(path, origin)


def _gcp_skus(path: Path, origin: "Origin") -> "Imported":
    from nephoscope.prices.importers.gcp_skus import read

    return read(path, origin)


def _cyclenerd(path: Path, origin: "Origin") -> "Imported":
    from nephoscope.prices.importers.cyclenerd import read

    return read(path, origin)


IMPORTERS: Mapping[str, Importer] = {
    "csv": Importer("our own CSV", _own, takes=frozenset()),
    "aws": Importer("AWS Price List JSON: GetProducts, bulk file, savings plans", _aws, states_its_day=True),
    "azure": Importer("Azure Retail Prices JSON", _azure),
    "gcp-skus": Importer("GCP SKU JSON of the Cloud Billing Catalog", _gcp_skus),
    "cyclenerd": Importer("pricing.yml of google-cloud-pricing-cost-calculator", _cyclenerd, "Apache-2.0"),
}
