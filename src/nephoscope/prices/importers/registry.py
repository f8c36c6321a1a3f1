"""Every importer by the name that the command line uses. Its module loads when it reads: `--help` lists all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nephoscope.prices.importers.base import Imported, Origin


@dataclass(frozen=True)
class Importer:
    """How to read one kind of price list."""

    what: str
    reader: str
    """Its function."""
    licence: str = "not stated"
    takes: frozenset[str] = frozenset({"source", "licence", "date"})
    """Options that replace it."""
    states_its_day: bool = False
    """Its lists state their publication date; others state since when a price is valid, which may be long ago."""

    def read(self, path: Path, origin: "Origin") -> "Imported":
        """The rows of a file.

        Raises:
            InputError: it is damaged or of another shape.
        """
        imported: Imported = resolve_name(f"nephoscope.prices.importers.{self.reader}")(path, origin)
        return imported


IMPORTERS: Mapping[str, Importer] = {
    "csv": Importer("our own CSV", "base:own", takes=frozenset()),
    "aws": Importer("AWS Price List JSON: GetProducts, bulk file, savings plans", "aws:read", states_its_day=True),
    "azure": Importer("Azure Retail Prices JSON", "azure:read"),
    "gcp-skus": Importer("GCP SKU JSON of the Cloud Billing Catalog", "gcp_skus:read"),
    "cyclenerd": Importer("pricing.yml of google-cloud-pricing-cost-calculator", "cyclenerd:read", "Apache-2.0"),
}
