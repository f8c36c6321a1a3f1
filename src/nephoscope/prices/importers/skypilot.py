"""`vms.csv` of a SkyPilot catalog. It names neither its provider nor its day: the origin does.

On-demand prices stand once for each zone there, and are taken once; spot prices differ by zone and keep it.
"""

import csv
import io
from pathlib import Path

from nephoscope.model.errors import InputError
from nephoscope.prices.importers.base import Imported, Origin, day_of, read_bytes
from nephoscope.prices.rows import Basis, Kind, Unit

_NEEDED = {"InstanceType", "Price", "SpotPrice", "Region"}


def read(path: Path, origin: Origin) -> Imported:
    """The rows of a file.

    Raises:
        InputError: provider or date is not given, columns are missing, or a line is damaged.
    """
    if origin.provider is None:
        raise InputError(f"{path}: a SkyPilot catalog does not name its provider", hint="give it with --provider")
    day = day_of(origin, None)
    try:
        reader = csv.DictReader(io.StringIO(read_bytes(path).decode("utf-8-sig"), newline=""), strict=True)
        missing = _NEEDED - set(reader.fieldnames or ())
        if missing:
            raise InputError(f"{path}:1: no column {', '.join(sorted(missing))}", hint="expected a catalog's vms.csv")
        found = Imported()
        for row in reader:
            _row(found, origin, row, day, f"{path}:{reader.line_num}")
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: not CSV: {error}") from error
    return found


def _row(found: Imported, origin: Origin, row: dict[str, str | None], day: str, place: str) -> None:
    zone = row.get("AvailabilityZone") or ""
    for column, basis in (("Price", Basis.ON_DEMAND), ("SpotPrice", Basis.SPOT)):
        cell = row[column]
        if cell is None:
            raise InputError(
                f"{place}: fewer cells than columns", hint="the download may be incomplete: download it again"
            )
        if not cell:
            found.skip(f"no {basis} price")
            continue
        try:
            found.add(
                origin,
                provider=origin.provider,
                region=row["Region"],
                kind=Kind.MACHINE,
                item=row["InstanceType"],
                unit=Unit.HOUR,
                basis=basis,
                terms=f"zone {zone}" if zone and basis is Basis.SPOT else "",
                usd=cell,
                date=day,
            )
        except ValueError:
            raise InputError(f"{place}: {column}: not a price row: {cell!r}") from None
