"""What `analyze` writes to a results folder and `report` reads: tables and one document. All can be rebuilt."""

import hashlib
from pathlib import Path

import polars as pl

from nephoscope.analysis import tables
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import DamagedFile, InputError
from nephoscope.store import files
from nephoscope.store.folder import ResultsFolder


def write(folder: ResultsFolder, study: AnalysedStudy) -> None:
    """Stores an analysis. Deletes the document first and writes it last, so that it never describes mixed tables."""
    folder.forget_analysis()
    rest = files.dump(study.model_copy(update={name: [] for name in tables.TABLES})).encode()
    digests = {folder.analysis_path.name: hashlib.sha256(rest).hexdigest()}
    for name, kind in tables.TABLES.items():
        content = tables.to_parquet(getattr(study, name), kind)
        digests[folder.write_derived(f"{name}.parquet", content).name] = hashlib.sha256(content).hexdigest()
    folder.write_analysis_digests(digests)
    folder.write_derived(folder.analysis_path.name, rest)


def read(folder: ResultsFolder) -> AnalysedStudy:
    """Reads it back.

    Raises:
        InputError: the folder was not analysed yet.
        DamagedFile, NewerSchema: a file cannot be read, or is not what was written.
    """
    path = folder.analysis_path
    if not path.exists():
        raise InputError(f"{folder.path} has not been analysed yet", hint=f"nephoscope analyze {folder.path}")
    mend = f"nephoscope analyze {folder.path} writes it again"
    digests = folder.analysis_digests()

    def written(file: Path) -> bytes:
        content = files.read_bytes(file, mend=mend)
        if digests.get(file.name) != hashlib.sha256(content).hexdigest():
            raise DamagedFile(f"{file} is not what `nephoscope analyze` wrote", hint=mend)
        return content

    written(path)
    rest = files.read(path, AnalysedStudy, mend=mend)
    found = {}
    for name, kind in tables.TABLES.items():
        table = folder.path / f"{name}.parquet"
        if not table.exists():
            raise DamagedFile(f"{table} is missing", hint=mend)
        found[name] = tables.from_parquet(written(table), kind)
    return rest.model_copy(update=found)


def parquet_of(folder: ResultsFolder) -> dict[str, bytes]:
    """The tables of a stored analysis as they are, by name.

    Raises:
        DamagedFile: one is missing or cannot be read.
    """
    mend = f"nephoscope analyze {folder.path} writes it again"
    return {name: files.read_bytes(folder.path / f"{name}.parquet", mend=mend) for name in tables.TABLES}


def frames(folder: ResultsFolder) -> dict[str, pl.DataFrame]:
    """As `parquet_of`, as polars has them.

    Raises:
        DamagedFile: one cannot be read.
    """
    return {name: tables.frame_of(content, tables.TABLES[name]) for name, content in parquet_of(folder).items()}
