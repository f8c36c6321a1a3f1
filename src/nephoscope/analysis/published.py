"""A study as its published report has it: what `bundle.zip` holds, read again, to compare with it and to repeat it."""

import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nephoscope.analysis.table import Table, tables
from nephoscope.analysis.tables import from_csv
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import DamagedFile, InputError
from nephoscope.model.records import Plan
from nephoscope.model.rows import ConfigurationRow, TrialRow
from nephoscope.model.units import MIB
from nephoscope.store import files

BUNDLE = "bundle.zip"
DOCUMENT = "analysis.json"
"""In the bundle: the study without its tables."""
_MOST_BYTES = 256 * MIB
"""Of what is read of a bundle: a stranger's archive may unpack to far more than it is."""
_HINT = "download the file again; if it stays so, ask its author to write the report with a current nephoscope"


def document(study: AnalysedStudy) -> bytes:
    """What the CSV files do not say of a study, as far as somebody else needs it to repeat and compare one.

    Of the plan it has one trial of each benchmark on each configuration, as the others differ only in their order.
    """
    lean = {"insights": [], "missing": [], "plan": _one_of_each(study)}
    return files.dump(study.model_copy(update={**lean, "tables": _nested(study)})).encode()


def _nested(study: AnalysedStudy) -> dict[str, list[Any]]:
    names = {table.row: name for name, table in tables().items()}
    return {names[ConfigurationRow]: study[ConfigurationRow]}


def _one_of_each(study: AnalysedStudy) -> Plan:
    first = {(row.configuration, row.benchmark): row.trial for row in reversed(study[TrialRow])}
    kept = set(first.values())
    return study.plan.model_copy(update={"trials": [row for row in study.plan.trials if row.intent.id in kept]})


def bundle_at(path: Path) -> Path | None:
    """The bundle of a published report: the file itself, or the one in the report's folder; None: there is none."""
    places = (path, path / BUNDLE, path / "report" / BUNDLE)
    return next((place for place in places if place.suffix == ".zip" and place.is_file()), None)


def read(bundle: Path, most_bytes: int = _MOST_BYTES) -> AnalysedStudy:
    """The study of a bundle, with the tables that editions are compared by; the others are empty.

    Args:
        bundle: the file.
        most_bytes: of what is read of it.

    Raises:
        InputError: this is no bundle, or one of a nephoscope that did not write what is needed.
        DamagedFile, NewerSchema: a file in it cannot be read, or is there twice.
    """
    try:
        with zipfile.ZipFile(bundle) as archive:
            needed = _needed(archive, bundle)
            if sum(entry.file_size for entry in needed.values()) > most_bytes:
                raise DamagedFile(f"{bundle} would unpack to more than {most_bytes:,} bytes", hint=_HINT)
            content = {name: _content(archive, entry) for name, entry in needed.items()}
    except (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise InputError(f"{bundle} is not the bundle.zip of a report: {error}", hint=_HINT) from error
    if DOCUMENT not in content:
        raise InputError(
            f"{bundle} has no {DOCUMENT}: an earlier nephoscope wrote it, or another program",
            hint="ask its author for the results folder, or for a report by a current nephoscope",
        )
    study = files.parsed(content[DOCUMENT], f"{bundle}: {DOCUMENT}", AnalysedStudy, mend=_HINT)
    return study.model_copy(update={"tables": {one.row: _rows(one, study, content) for one in tables().values()}})


def _needed(archive: zipfile.ZipFile, bundle: Path) -> dict[str, zipfile.ZipInfo]:
    """What is read of a bundle, by its name without its folder.

    Raises:
        DamagedFile: two files have one name. Whoever unpacks it may then look at another file than was checked.
    """
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        name = Path(entry.filename).name
        if not (name == DOCUMENT or name.removesuffix(".csv") in tables()):
            continue
        if name in found:
            raise DamagedFile(
                f"{bundle} has two files of one name: {found[name].filename}, {entry.filename}", hint=_HINT
            )
        found[name] = entry
    return found


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """As many bytes as the archive's list says, whatever the packed data would unpack to.

    Raises:
        zipfile.BadZipFile: it is not packed as `report` packs it: of other kinds, a whole file is unpacked at once.
    """
    if entry.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
        raise zipfile.BadZipFile(f"{entry.filename} is not packed by deflate")
    with archive.open(entry) as packed:
        return packed.read(entry.file_size)


def _rows(table: Table[Any], study: AnalysedStudy, content: Mapping[str, bytes]) -> list[Any]:
    try:
        if table.has_columns:
            csv = content.get(f"{table.name}.csv")
            return [] if csv is None else from_csv(csv, table.row)
        rows = study.tables.get(table.name, [])
        found: list[Any] = files.reader(list[table.row]).validate_python(rows)  # type: ignore[name-defined]  # known when it runs
    except (DamagedFile, ValidationError) as error:
        raise DamagedFile(
            f"the table {table.name} of this report is of another version: {error}", hint=_HINT
        ) from error
    return found
