"""A study as its published report has it: what `bundle.zip` holds, read again, to compare, to repeat and to check it.

Whether the answers of a report follow from the measurements beside them can be computed again. Trials, measurements and
prices are taken as they are published: who measured them, and whether they are true, no file can say.
"""

import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from nephoscope.analysis.best import BEST
from nephoscope.analysis.comparisons import COMPARISONS, PRICE_COMPARISONS
from nephoscope.analysis.contrasts import CONTRASTS
from nephoscope.analysis.costs import Costs, costs
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.ranks import RANKS
from nephoscope.analysis.renamed import names_of_trials
from nephoscope.analysis.statistics import STATISTICS
from nephoscope.analysis.table import Table, Workings, tables
from nephoscope.analysis.tables import fields_of, from_csv, to_csv
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import DamagedFile, InputError
from nephoscope.model.price_rows import CostLineRow, CostRow
from nephoscope.model.records import Plan
from nephoscope.model.rows import ConfigurationRow, MeasurementRow, TrialRow
from nephoscope.model.units import MIB
from nephoscope.store import files
from nephoscope.study.model import Study

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


ANSWERS: tuple[Table[Any], ...] = (STATISTICS, COMPARISONS, PRICE_COMPARISONS, CONTRASTS, BEST, RANKS)
"""What is computed again: whatever says which configuration is better, and by how much."""
_RELATIVE = 1e-9
"""Another processor or library may round the last digits of a sum otherwise."""


def differing_answers(study: AnalysedStudy, asked: Study) -> list[str]:
    """What a report states otherwise than its own measurements give, a line for each table: the first such row.

    Args:
        study: as published, see `published.read`.
        asked: the study of its study file.
    """
    of = _workings(study, asked)
    return [said for table in ANSWERS if (said := _difference(table, study[table.row], table.rows(of)))]


def _workings(study: AnalysedStudy, asked: Study) -> Workings:
    """What an analysis would start from; trials have the names of the study file, as those of stored ones do."""
    in_plan = {row.intent.id: row.intent.configuration_name for row in study.plan.trials}
    asked_as = {row.configuration: in_plan[row.trial] for row in study[TrialRow] if row.trial in in_plan}
    trials = [
        row.model_copy(update={"configuration": asked_as.get(row.configuration, row.configuration)})
        for row in study[TrialRow]
    ]
    inputs = StudyInputs(
        study=asked,
        study_toml=study.study_toml,
        plan=study.plan,
        nephoscope_version=study.nephoscope_version,
        benchmarks=study.benchmarks,
        trials=trials,
        measurements=study[MeasurementRow],
        looks=study.looks,
        source=study.source,
        part=study.part,
    )
    prices = Costs(study[CostRow], study[CostLineRow], date.max)
    return Workings(inputs, {costs: prices, names_of_trials: {row.trial: row.configuration for row in study[TrialRow]}})


def _difference(table: Table[Any], stated: list[Any], computed: list[Any]) -> str | None:
    given = from_csv(to_csv(computed, table.row), table.row)
    if len(stated) != len(given):
        return f"{table.name} has {len(stated):,} rows, and its measurements give {len(given):,}"
    for number, (left, right) in enumerate(zip(stated, given, strict=True), 1):
        for name in _unequal(left, right):
            values = f"{getattr(left, name)!r}, and its measurements give {getattr(right, name)!r}"
            return f"{table.name}, row {number:,}: {name} is {values}"
    return None


def _unequal(left: Any, right: Any) -> Iterator[str]:
    for name in fields_of(type(left)):
        mine, other = getattr(left, name), getattr(right, name)
        close = isinstance(mine, float) and isinstance(other, float) and math.isclose(mine, other, rel_tol=_RELATIVE)
        if not close and mine != other:
            yield name
