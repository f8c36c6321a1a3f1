"""Writes the example reports of the site: `python website/examples.py FOLDER NAME...`.

Nothing is measured: the laptop study and extracts of two public data sets are stored in docs/examples, the public data
of three clouds are read where they are, and the 2022 edition is rehearsed, which its report says. That takes some
minutes of one CPU the first time; the trials stay in build/rehearsals, where an interrupted rehearsal goes on.
"""

import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from nephoscope.app.stages import evaluation, imports
from nephoscope.report.author import require_complete
from nephoscope.report.files import report_files
from nephoscope.store.folder import ResultsFolder

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs" / "examples"
LAPTOP = DOCS / "laptop" / "results.tar.xz"
REHEARSALS = ROOT / "build" / "rehearsals"
THREE_CLOUDS = ROOT.parent / "shared" / "data" / "inspector"
Files = Mapping[str, bytes]


def laptop() -> Files:
    """The report of the stored study."""
    with tempfile.TemporaryDirectory() as temporary:
        with tarfile.open(LAPTOP) as archive:
            archive.extractall(temporary, filter="data")
        return report_files(evaluation.analysed(ResultsFolder(Path(temporary)))).files


def three_clouds() -> Files | None:
    """The report of Spare Cores' data; None where they are not."""
    if not THREE_CLOUDS.exists():
        return None
    with tempfile.TemporaryDirectory() as temporary:
        folder = ResultsFolder(Path(temporary) / "results")
        imports.import_results("spare-cores", THREE_CLOUDS, folder)
        return report_files(evaluation.analysed(folder)).files


def published(name: str, form: str) -> Files:
    """The report of a public data set as its page says: import of the stored extract, its text, its claims."""
    stored = DOCS / name
    with tempfile.TemporaryDirectory() as temporary:
        return report_files(evaluation.analysed(published_folder(stored, form, Path(temporary)))).files


def published_folder(stored: Path, form: str, temporary: Path) -> ResultsFolder:
    """The results folder of a stored extract, in an empty folder."""
    folder, data = ResultsFolder(temporary / "results"), stored / "data"
    if not data.is_dir():
        data = temporary / "data"
        with tarfile.open(stored / "data.tar.xz") as archive:
            archive.extractall(data, filter="data")
    imports.import_results(form, data, folder)
    with (folder.path / "study.toml").open("a", encoding="utf-8") as study:
        study.write((stored / "report.toml").read_text(encoding="utf-8"))
    shutil.copy(stored / "claims.toml", folder.path)
    return folder


def cloud_report_2022() -> Files:
    """The report of the whole 2022 edition, rehearsed by a controller, with its author's text and claims.

    Raises:
        CalledProcessError: the rehearsal did not end well; it has said why.
        InputError: the text refers to what is not there, or a claim that it rests on does not hold.
    """
    name = "cloud-report-2022"
    folder, file = REHEARSALS / name, REHEARSALS / f"{name}.toml"
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(with_author(name, (ROOT / "studies" / file.name).read_text(encoding="utf-8")), encoding="utf-8")
    shutil.copy(DOCS / name / "claims.toml", folder)
    command = [sys.executable, "-m", "nephoscope", "run", str(file), "--rehearse", "--replan"]
    subprocess.run([*command, "--out", str(folder)], cwd=ROOT, check=True)
    study = evaluation.analysed(ResultsFolder(folder))
    require_complete(study)
    return report_files(study).files


def with_author(name: str, study: str) -> str:
    """The text of a study with the `[report]` of its published example in the place of its own."""
    author = (DOCS / name / "report.toml").read_text(encoding="utf-8")
    without, tables = re.subn(r"(?ms)^\[report\]\n.*?(?=^\[)", "", study)
    if tables != 1:
        raise ValueError(f"the study {name} has {tables} tables [report]")
    return f"{without}\n{author}"


EXAMPLES: Mapping[str, Callable[[], Files | None]] = {
    "laptop": laptop,
    "postgres-gcp-2026": partial(published, "postgres-gcp-2026", "spare-cores"),
    "postgresbench-2026": partial(published, "postgresbench-2026", "postgresbench"),
    "three-clouds-cpu": three_clouds,
    "cloud-report-2022": cloud_report_2022,
}


def main(folder: Path, *names: str) -> None:
    """Writes `folder`/<name>/report for each name, or says why not."""
    for name in names:
        files = EXAMPLES[name]()
        if files is None:
            sys.stdout.write(f"{name}: left out, its data is not in {THREE_CLOUDS.relative_to(ROOT.parent)}\n")
            continue
        report = folder / name / "report"
        report.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (report / file).write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
