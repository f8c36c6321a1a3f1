"""Every importer by the name that the command line uses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nephoscope.prices.importers import aws, azure, cyclenerd, gcp_skus, skypilot, spare_cores
from nephoscope.prices.importers.base import Imported, Origin
from nephoscope.prices.rows import read_csv


@dataclass(frozen=True)
class Importer:
    """How to read one kind of price list."""

    what: str
    read: Callable[[Path, Origin], Imported]
    licence: str = "not stated"
    """Provider of the list, if it is always the same."""
    takes: frozenset[str] = frozenset({"source", "licence", "date"})
    """Options that replace it."""
    states_its_day: bool = False
    """Its lists state their publication date; others state since when a price is valid, which may be long ago."""


def _own(path: Path, _origin: Origin) -> Imported:
    """Our own CSV names source, licence and date in every row; the origin says nothing new."""
    return Imported(rows=read_csv(path))


IMPORTERS: Mapping[str, Importer] = {
    "csv": Importer("our own CSV", _own, takes=frozenset()),
    "aws": Importer("AWS Price List JSON: GetProducts, bulk file, savings plans", aws.read, states_its_day=True),
    "azure": Importer("Azure Retail Prices JSON", azure.read),
    "gcp-skus": Importer("GCP SKU JSON of the Cloud Billing Catalog", gcp_skus.read),
    "cyclenerd": Importer("pricing.yml of google-cloud-pricing-cost-calculator", cyclenerd.read, "Apache-2.0"),
    "spare-cores": Importer("SQLite of Spare Cores", spare_cores.read, "CC-BY-SA-4.0"),
    "skypilot": Importer(
        "vms.csv of a SkyPilot catalog; needs --provider and --date",
        skypilot.read,
        "Apache-2.0",
        takes=frozenset({"source", "licence", "date", "provider"}),
    ),
}
