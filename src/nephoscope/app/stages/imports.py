"""Other people's files -> a results folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

import nephoscope
from nephoscope.app.stages.evaluation import status
from nephoscope.importers import folder as import_folder
from nephoscope.importers.cloud_report_2019.logs import ImportRecord, measured_runs, record_of
from nephoscope.importers.cloud_report_2019.study import study_of
from nephoscope.importers.registry import IMPORTERS
from nephoscope.model.errors import InputError
from nephoscope.model.records import SourceRecord
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import counted, without_kind
from nephoscope.store.atomic import write_text
from nephoscope.store.folder import ResultsFolder


@dataclass(frozen=True)
class ImportedFolder:
    """What an import left."""

    source: SourceRecord
    trials: list[TrialRow]
    refused: list[str]
    """Files that could not be read, each with the reason; `source` has them among what was left out."""


def import_results(
    name: str, path: Path, folder: ResultsFolder, *, strict: bool = False, same: bool = False
) -> ImportedFolder:
    """Other people's files -> a results folder.

    Args:
        name: of the importer, a key of `IMPORTERS`.
        path: what it reads.
        folder: new, or of an earlier import.
        strict: whether a file that cannot be read ends the import; else it is skipped.
        same: whether files that do not say their parameters have the same ones; else each is a benchmark of its own.

    Raises:
        InputError: nothing of that kind is there, the folder holds a study that was measured here, or with `strict` a
            file cannot be read.
        StorageFailed: results could not be stored.
    """
    _refuse_inside(folder.path, path)
    with _possible_values(path):
        found = IMPORTERS[name].read(path)
    if strict and found.refused:
        raise InputError(
            f"{counted(len(found.refused), 'file')} cannot be read; the first: {found.refused[0]}",
            hint="nothing was imported; without --strict they are skipped",
        )
    found = found.all_same() if same else found
    source = import_folder.write(found, folder, nephoscope.__version__)
    return ImportedFolder(source, status(folder), found.refused)


def import_cloud_report_2019(tree: Path, out: Path | None) -> ImportRecord:
    """Logs of 2019 -> verdicts, and with `out` a results folder with every number, and the verdicts in import.json.

    Raises:
        InputError: no such logs, or `out` holds a study that was measured here.
        FolderInUse: somebody works on `out`.
        StorageFailed: a file cannot be written.
    """
    if out is None:
        with _possible_values(tree):
            return record_of([run for run, _ in measured_runs(tree)])
    _refuse_inside(out, tree)
    with _possible_values(tree):
        record, study = study_of(tree)
    import_folder.write(study, ResultsFolder(out), nephoscope.__version__)
    write_text(out / "import.json", record.model_dump_json(by_alias=True, indent=1) + "\n")
    return record


@contextmanager
def _possible_values(path: Path) -> Iterator[None]:
    """Names a value that no record of ours can hold, where an importer does not leave it out.

    Raises:
        InputError: there is one.
    """
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(
            f"{path} holds a value that cannot be: {where}: {without_kind(first['msg'])}",
            hint="correct it, or leave its file out",
        ) from error


def _refuse_inside(out: Path, path: Path) -> None:
    """Otherwise the next import would read its own copies of raw files as more runs."""
    if out.resolve().is_relative_to(path.resolve()):
        raise InputError(f"--out {out} is inside {path}, the folder to import", hint="choose a folder outside it")
