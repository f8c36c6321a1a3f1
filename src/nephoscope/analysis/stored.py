"""What `analyze` writes to a results folder and `report` reads: tables and one document. All can be rebuilt."""

import hashlib
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import ValidationError

from nephoscope.analysis.table import Table, in_columns, tables
from nephoscope.analysis.tables import frame_of, from_parquet, to_parquet
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import DamagedFile, InputError
from nephoscope.store import files
from nephoscope.store.folder import ResultsFolder


def write(folder: ResultsFolder, study: AnalysedStudy) -> None:
    """Stores an analysis. Deletes the document first and writes it last, so that it never describes mixed tables."""
    folder.forget_analysis()
    nested = {name: study[table.row] for name, table in tables().items() if not table.has_columns}
    rest = files.dump(study.model_copy(update={"tables": nested})).encode()
    digests = {folder.analysis_path.name: hashlib.sha256(rest).hexdigest()}
    for name, table in in_columns().items():
        content = to_parquet(study[table.row], table.row)
        digests[folder.write_derived(f"{name}.parquet", content).name] = hashlib.sha256(content).hexdigest()
    folder.write_analysis_digests(digests)
    folder.write_derived(folder.analysis_path.name, rest)


def document(folder: ResultsFolder) -> AnalysedStudy:
    """Reads it back, but for the tables that are files of their own: whoever made a folder may have put anything there.

    Raises:
        InputError: the folder was not analysed yet.
        DamagedFile, NewerSchema: the document cannot be read, or is not what was written.
    """
    path, mend = folder.analysis_path, _mend(folder)
    if not path.exists():
        raise InputError(f"{folder.path} has not been analysed yet", hint=f"nephoscope analyze {folder.path}")
    _written(folder, path)
    return files.read(path, AnalysedStudy, mend=mend)


def read(folder: ResultsFolder, document: AnalysedStudy) -> AnalysedStudy:
    """The analysis with all its tables. A few bytes of Parquet can stand for a billion values: of folders made here.

    Args:
        folder: where `write` wrote it, on this machine.
        document: see `document`.

    Raises:
        DamagedFile: a file cannot be read, or is not what was written.
    """

    def rows(table: Table[Any]) -> list[Any]:
        if not table.has_columns:
            return _validated(table, document.tables.get(table.name), folder.analysis_path, _mend(folder))
        file = folder.path / f"{table.name}.parquet"
        if not file.exists():
            raise DamagedFile(f"{file} is missing", hint=_mend(folder))
        return from_parquet(_written(folder, file), table.row)

    return document.model_copy(update={"tables": {table.row: rows(table) for table in tables().values()}})


def _written(folder: ResultsFolder, file: Path) -> bytes:
    """The bytes of a file.

    Raises:
        DamagedFile: they are not those that were written.
    """
    content = files.read_bytes(file, mend=_mend(folder))
    if folder.analysis_digests().get(file.name) != hashlib.sha256(content).hexdigest():
        raise DamagedFile(f"{file} is not what `nephoscope analyze` wrote", hint=_mend(folder))
    return content


def parquet_of(folder: ResultsFolder) -> dict[str, bytes]:
    """The tables of a stored analysis as they are, by name.

    Raises:
        DamagedFile: one is missing or cannot be read.
    """
    return {name: files.read_bytes(folder.path / f"{name}.parquet", mend=_mend(folder)) for name in in_columns()}


def frames(folder: ResultsFolder) -> dict[str, pl.DataFrame]:
    """As `parquet_of`, as polars has them.

    Raises:
        DamagedFile: one cannot be read.
    """
    return {name: frame_of(content, tables()[name].row) for name, content in parquet_of(folder).items()}


def _mend(folder: ResultsFolder) -> str:
    return f"nephoscope analyze {folder.path} writes it again"


def _validated(table: Table[Any], rows: object, path: Path, mend: str) -> list[Any]:
    try:
        valid: list[Any] = files.reader(list[table.row]).validate_python(rows)  # type: ignore[name-defined]  # known when it runs
    except ValidationError as error:
        raise DamagedFile(f"{path} has other rows of {table.name} than this version: {error}", hint=mend) from error
    return valid
