"""Each arrow of the flow as one function from files to files; `cli` calls them, and so may a notebook.

What needs SciPy, polars or Altair is imported where it is called: `run` and `status` must not wait a second for it.
"""

import os
import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nephoscope
from nephoscope.analysis.collect import collect, digest, stored_trials, subjects_of, trial_row
from nephoscope.app.wiring import LOAD_PROGRAM, load_program, real_databases
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.checks.registry import CHECKS
from nephoscope.databases.base import HasFootprint
from nephoscope.importers import folder as import_folder
from nephoscope.importers.cloud_report_2019.logs import ImportRecord, import_tree
from nephoscope.importers.cloud_report_2019.study import study_of
from nephoscope.importers.registry import IMPORTERS
from nephoscope.machines.doctor import Finding, examine
from nephoscope.machines.facts import gather_facts
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.machines.tools import DEBIAN_PACKAGES
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import DamagedFile, InputError, NephoscopeError, OutputUnreadable, StorageFailed
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Plan, SourceRecord, Status, TrialIntent
from nephoscope.model.rows import ClaimRow, EditionOverall, EditionRow, ImportedRow, TrialRow
from nephoscope.plan.budget import check_budget
from nephoscope.plan.expand import expand
from nephoscope.plan.space import check_space
from nephoscope.providers.cloud.check import require_possible
from nephoscope.providers.local import LOOPBACK
from nephoscope.run.clock import Clock
from nephoscope.run.derive import derive
from nephoscope.run.preflight import preflight
from nephoscope.run.study import RunOptions, StudyOutcome, adopt_plan, run_study
from nephoscope.run.world import World
from nephoscope.store.atomic import write_bytes, write_text
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.claims import load_claims
from nephoscope.study.known import Stated
from nephoscope.study.load import load_study
from nephoscope.study.model import Study


def read_text(file: Path) -> str:
    """A study file's text.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {file}: {error}", hint="`nephoscope init` writes a starter study") from error


def load(text: str, name: str) -> Study:
    """A study from its text; see `load_study`."""
    return load_study(text, name, BENCHMARKS)


def read_study(file: Path) -> Study:
    """A study from its file."""
    return load(read_text(file), str(file))


class _NoParameters(Frozen):
    """Parameters of a benchmark that somebody else ran: a study file states none, `source.json` does."""


def stored_study(folder: ResultsFolder) -> Study:
    """The study of a results folder; that of an import may use the benchmarks that its source names."""
    source = folder.source()
    imported = {one.name: Stated(_NoParameters, one.subject) for one in source.benchmarks} if source else {}
    return load_study(folder.study_text(), str(folder.path / "study.toml"), {**BENCHMARKS, **imported})


def plan(study: Study, *, scale: float | None = None) -> Plan:
    """study -> plan; `scale` of sizes and run times, see `expand`.

    Raises:
        InputError: no plan can be made, a cloud could not be asked for the machines of a configuration, or data do not
            fit on its disks.
    """
    for configuration in study.configurations:
        require_possible(configuration)
    planned = expand(study, BENCHMARKS, scale=scale)
    kept = {name: one.disk_bytes for name, one in real_databases().items() if isinstance(one, HasFootprint)}
    check_space(planned, BENCHMARKS, kept)
    return planned


def adopt(folder: ResultsFolder, text: str, study: Study, planned: Plan, *, replan: bool) -> None:
    """Checks the budget and puts study and plan into the folder; what was analysed before no longer fits."""
    check_budget(planned, study.budget)
    adopt_plan(folder, text, planned, replan=replan)
    folder.forget_analysis()


def expected_left_s(folder: ResultsFolder) -> float:
    """What the plan expects of the trials that are not finished."""
    return sum(planned.expected_duration_s for planned, trial in folder.planned() if not trial.finished())


async def run(folder: ResultsFolder, study: Study, world: World, conduct: RunOptions | None = None) -> StudyOutcome:
    """plan -> stored trials."""
    await preflight(folder, study, world)
    return await run_study(folder, world, conduct)


@dataclass(frozen=True)
class Parsed:
    """What `parse` did."""

    parsed: int
    unreadable: list[str]


def parse(folder: ResultsFolder, clock: Clock) -> Parsed:
    """Raw output -> measurements and verdicts, of every attempt that counts.

    A trial that failed because its output could not be read is finished when it now can; one that can no longer be
    read becomes failed, whatever its parser died of. Nothing else of an attempt changes, and raw output never. A trial
    of another version of its benchmark is refused and stays as it is.

    Raises:
        InputError: the folder is an import, whose raw files our parsers do not know.
        FolderInUse: somebody works on the folder.
        StorageFailed: results could not be stored.
    """
    parsed, unreadable = 0, []
    if folder.source() is not None:
        raise InputError(f"{folder.path} holds imported results", hint="`nephoscope import` reads them again")
    with folder.lock():
        folder.forget_analysis()
        for row in stored_trials(folder):
            status = row.attempt.status() if row.attempt else None
            if row.attempt is None or status is None:
                continue
            if status.state != "finished" and status.failure_class != OutputUnreadable.failure_class:
                continue
            refused = _other_version(row.intent)
            if refused:
                unreadable.append(f"trial {row.intent.id}: {refused}")
                continue
            problem = _derived(row.attempt, row.intent)
            new = _unreadable(status, problem, clock) if problem else _finished(status, clock)
            if problem:
                unreadable.append(f"trial {row.intent.id}: {problem}")
            else:
                parsed += 1
            if (new.state, new.message) != (status.state, status.message):
                row.attempt.write_status(new)
    return Parsed(parsed, unreadable)


def _other_version(intent: TrialIntent) -> str:
    """Why this nephoscope must not read a trial's output; empty when it may. Numbers of two versions do not compare."""
    use = intent.benchmark
    benchmark = BENCHMARKS.get(use.uses)
    if benchmark is None:
        return f"the benchmark {use.uses!r} is not known to this nephoscope"
    if benchmark.version != use.version:
        return (
            f"it was run with version {use.version} of the benchmark {use.uses!r}, and this nephoscope has version "
            f"{benchmark.version}; hint: parse it with the nephoscope that ran it (started.json names it)"
        )
    return ""


def _derived(attempt: Attempt, intent: TrialIntent) -> OutputUnreadable | None:
    """Reads one trial again; what kept it from being read, when something did. One trial's failure is not the next's.

    Raises:
        StorageFailed: results could not be stored.
    """
    try:
        derive(attempt, intent, BENCHMARKS[intent.benchmark.uses])
    except OutputUnreadable as error:
        return error
    except StorageFailed:
        raise
    except Exception as error:
        return OutputUnreadable(
            f"its parser crashed: {type(error).__name__}: {error}", hint="please report it with the trial's raw output"
        )
    return None


def _finished(status: Status, clock: Clock) -> Status:
    return Status(state="finished", at_unix_ms=clock.unix_ms(), duration_s=status.duration_s)


def _unreadable(status: Status, error: NephoscopeError, clock: Clock) -> Status:
    return Status(
        state="failed",
        failure_class=error.failure_class,
        message=error.message,
        hint=error.hint or None,
        at_unix_ms=clock.unix_ms(),
        duration_s=status.duration_s,
    )


def status(folder: ResultsFolder) -> list[TrialRow]:
    """Every planned trial as it stands."""
    subjects = subjects_of(folder.plan(), folder.source(), BENCHMARKS)
    return [trial_row(folder, row, subjects[row.intent.benchmark.name]) for row in stored_trials(folder)]


def analyze(folder: ResultsFolder) -> AnalysedStudy:
    """Measurements -> statistics and sentences."""
    study = stored_study(folder)
    from nephoscope.analysis import stored
    from nephoscope.analysis.analyse import analyse

    analysed = analyse(collect(folder, study, BENCHMARKS, CHECKS, nephoscope.__version__))
    stored.write(folder, analysed)
    return analysed


def claims(folder: ResultsFolder, file: Path | None) -> list[ClaimRow]:
    """What the folder's numbers say of the claims in a file, or in its own claims.toml. Stores nothing.

    Raises:
        InputError: there is no such file, or it is wrong.
    """
    path = file or folder.claims_path
    if not path.exists():
        raise InputError(f"there is no {path}", hint="docs/how-to/claims.md says what a claims file holds")
    read = load_claims(read_text(path), str(path))
    from nephoscope.analysis.analyse import analyse

    study = stored_study(folder)
    inputs = collect(folder, study, BENCHMARKS, CHECKS, nephoscope.__version__)
    return analyse(replace(inputs, claims=read)).claims


def analysed(folder: ResultsFolder) -> AnalysedStudy:
    """The stored analysis; analyses first when it is of other trials, of an earlier version, damaged, or not there."""
    from nephoscope.analysis import stored

    try:
        found = stored.read(folder) if folder.analysis_path.exists() else None
    except DamagedFile:
        found = None
    if found is None or found.inputs_digest != digest(folder):
        analyze(folder)
        found = stored.read(folder)
    return found


@dataclass(frozen=True)
class Compared:
    """Two studies like for like."""

    rows: list[EditionRow]
    overall: list[EditionOverall]
    left_out: list[str]


def compare(before: ResultsFolder, after: ResultsFolder, basis: str) -> Compared:
    """Two studies like for like; see `editions_of` and `overall_of`."""
    from nephoscope.analysis.editions import editions_of, overall_of

    old, new = analysed(before), analysed(after)
    rows, left_out = editions_of(old, new, basis=basis)
    return Compared(rows, overall_of(old, new, rows), left_out)


def write_comparison(file: Path, found: Compared, names: tuple[str, str]) -> None:
    """A comparison as a page."""
    from nephoscope.report.edition_page import render_editions

    write_text(file, render_editions(found.rows, found.overall, found.left_out, names))


def query(folder: ResultsFolder, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """What SQL says of the folder's tables; see `analysis.query`."""
    from nephoscope.analysis import query as asking

    analysed(folder)
    return asking.query(folder.path, sql)


def csv_of(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Rows as CSV."""
    from nephoscope.analysis.query import csv_of as written

    return written(columns, rows)


def report(folder: ResultsFolder, *, pdf: bool = False) -> Path:
    """Statistics and sentences -> report; with `pdf` on paper, too, whose path it then returns.

    Raises:
        ToolMissing: what makes PDF is not installed.
    """
    from nephoscope.report.files import PAGE, report_files
    from nephoscope.report.pdf import PDF, render_pdf

    study = analysed(folder)
    for name, content in report_files(study).items():
        folder.write_derived(f"{folder.report_dir.name}/{name}", content)
    if pdf:
        return folder.write_derived(f"{folder.report_dir.name}/{PDF}", render_pdf(study))
    return folder.report_dir / PAGE


async def doctor(folder: Path) -> list[Finding]:
    """Looks at this machine."""
    place = folder.resolve()
    while not place.exists():
        place = place.parent
    cpus = tuple(sorted(os.sched_getaffinity(0)))
    facts, _ = await gather_facts(MachineHandle("local", LocalRemote(cpus), LOOPBACK, cpus, str(place)), observe_s=1.0)
    tools = {tool: shutil.which(tool) is not None for tool in DEBIAN_PACKAGES}
    return examine(facts, {**tools, LOAD_PROGRAM: shutil.which(load_program()) is not None}, _needed_tools())


def _needed_tools() -> set[str]:
    """What the shell around every trial needs, and every benchmark with its default parameters."""
    shell = {"taskset", "setpriv", "unshare", "lscpu", "findmnt", LOAD_PROGRAM}
    return shell.union(*(benchmark.needs(benchmark.parameters()).tools for benchmark in BENCHMARKS.values()))


@dataclass(frozen=True)
class ImportedFolder:
    """What an import left."""

    source: SourceRecord
    trials: list[TrialRow]


def import_results(name: str, path: Path, folder: ResultsFolder) -> ImportedFolder:
    """Other people's files -> a results folder.

    Args:
        name: of the importer, a key of `IMPORTERS`.
        path: what it reads.
        folder: new, or of an earlier import.

    Raises:
        InputError: nothing of that kind is there, or the folder holds a study that was measured here.
        StorageFailed: results could not be stored.
    """
    _refuse_inside(folder.path, path)
    found = IMPORTERS[name].read(path)
    source = import_folder.write(found, folder, nephoscope.__version__)
    return ImportedFolder(source, status(folder))


def import_cloud_report_2019(tree: Path, out: Path | None) -> ImportRecord:
    """Logs of 2019 -> verdicts, and with `out` a results folder with every number and import.json there.

    Raises:
        InputError: no such logs, or `out` holds a study that was measured here.
        FolderInUse: somebody works on `out`.
        StorageFailed: a file cannot be written.
    """
    if out is None:
        return import_tree(tree)[0]
    from nephoscope.analysis.tables import to_csv, to_parquet

    _refuse_inside(out, tree)
    record, study = study_of(tree)
    import_folder.write(study, ResultsFolder(out), nephoscope.__version__)
    rows = import_tree(tree)[1]
    write_bytes(out / "import.csv", to_csv(rows, ImportedRow))
    write_bytes(out / "import.parquet", to_parquet(rows, ImportedRow))
    write_text(out / "import.json", record.model_dump_json(by_alias=True, indent=1) + "\n")
    return record


def _refuse_inside(out: Path, path: Path) -> None:
    """The next import would read the copies of raw files as further runs."""
    if out.resolve().is_relative_to(path.resolve()):
        raise InputError(f"{out} lies within {path}, which is read", hint="choose an --out beside it")


def write_new(file: Path, content: str) -> None:
    """Writes a file that must not exist yet.

    Raises:
        InputError: it exists.
        StorageFailed: it cannot be written.
    """
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(content)
    except FileExistsError as error:
        raise InputError(f"{file} exists already", hint="name another file; nothing was changed") from error
    except OSError as error:
        raise StorageFailed.of(file, error) from error
