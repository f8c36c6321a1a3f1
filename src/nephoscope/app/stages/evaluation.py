"""Stored trials -> measurements, statistics, answers, a report.

What needs SciPy, polars or Altair is imported where it is called: `status` must not wait a second for it.
"""

import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nephoscope
from nephoscope.analysis.collect import collect, subjects_of, trial_row
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.stored_trials import MADE_BY, Stored, is_of_these_trials, stored_trials, verified_trials
from nephoscope.analysis.usable import DIR, UsableCell, usable_cells
from nephoscope.app.files import read_text
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.checks.registry import CHECKS
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.editions import Editions
from nephoscope.model.errors import (
    DamagedFile,
    InputError,
    NephoscopeError,
    NewerSchema,
    OutputUnreadable,
    StorageFailed,
)
from nephoscope.model.frozen import Frozen
from nephoscope.model.missing import MissingPart
from nephoscope.model.price_rows import ON_DEMAND, CostRow, bases_in_order
from nephoscope.model.records import Derived, Disturbance, SourceRecord, Status, TrialIntent
from nephoscope.model.rows import ClaimRow, TrialRow
from nephoscope.plan.cut import part_held
from nephoscope.run.clock import Clock
from nephoscope.run.derive import StealJudge, derive
from nephoscope.run.ledger import ended_usd, trial_usd
from nephoscope.store import files, index
from nephoscope.store.atomic import write_bytes, write_text
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from nephoscope.store.index import Known
from nephoscope.study.claims import load_claims
from nephoscope.study.load import load_study
from nephoscope.study.model import Stated, Study
from nephoscope.study.suggest import nearest


class _NoParameters(Frozen):
    """Parameters of a benchmark that somebody else ran: a study file states none, `source.json` does."""


def stored_study(folder: ResultsFolder) -> Study:
    """The study of a results folder."""
    return study_of(folder.study_text(), str(folder.path / "study.toml"), folder.source())


def study_of(text: str, name: str, source: SourceRecord | None) -> Study:
    """The study of a study file; that of an import may use the benchmarks that its source names.

    Raises:
        InputError: it is no study.
    """
    imported = {one.name: Stated(_NoParameters, one.subject) for one in source.benchmarks} if source else {}
    return load_study(text, name, {**BENCHMARKS, **imported})


@dataclass(frozen=True)
class Parsed:
    """What `parse` did."""

    parsed: int
    unreadable: list[str]
    differ: dict[str, list[str]]
    """File -> trials of which something else was derived than was stored."""


def parse(folder: ResultsFolder, clock: Clock) -> Parsed:
    """Raw output -> measurements and verdicts, of every attempt that counts or could: all that finished.

    A trial that failed because its output could not be read is finished when it now can; one that can no longer be
    read becomes failed, whatever its parser died of. What the trial wrote never changes: what is derived now is stored
    beside it, if it differs. A trial of another version of its benchmark is refused and stays as it is.

    Raises:
        InputError: the folder is an import, whose raw files our parsers do not know.
        FolderInUse: somebody works on the folder.
        StorageFailed: results could not be stored.
    """
    parsed, unreadable = 0, []
    differ: dict[str, list[str]] = defaultdict(list)
    if folder.source() is not None:
        raise InputError(f"{folder.path} holds imported results", hint="`nephoscope import` reads its raw files again")
    if folder.plan().simulated:
        raise InputError(
            f"{folder.path} holds a rehearsal, which has no tool output to parse",
            hint="`nephoscope report` shows its numbers",
        )
    with folder.lock():
        folder.forget_analysis()
        for row, attempt in _parseable(folder):
            status = attempt.status()
            if status is None:
                continue
            if status.state != "finished" and status.failure_class != OutputUnreadable.failure_class:
                continue
            refused = _other_version(row.intent)
            if refused:
                unreadable.append(f"trial {row.intent.id}: {refused}")
                continue
            derived = _derived(attempt, row.intent)
            if isinstance(derived, OutputUnreadable):
                unreadable.append(f"trial {row.intent.id}: {derived}")
                attempt.write_status_again(_unreadable(status, derived, clock))
                continue
            parsed += 1
            for file in attempt.derive_again(
                derived, Status(state="finished", at_unix_ms=clock.unix_ms(), duration_s=status.duration_s)
            ):
                differ[file].append(row.intent.id)
    return Parsed(parsed, unreadable, dict(sorted(differ.items())))


def _parseable(folder: ResultsFolder) -> list[tuple[Stored, Attempt]]:
    """The attempt of each trial that is used, and of a repeated one all that finished: new verdicts may prefer one."""
    found = []
    for row in stored_trials(folder):
        used = [row.attempt] if row.attempt is not None else []
        found += [(row, attempt) for attempt in folder.trial(row.intent.id).finished_attempts() or used]
    return found


def usable(folder: ResultsFolder, rows: Sequence[TrialRow]) -> list[UsableCell]:
    """How many trials of each cell can be used, and what repairs the others; `rows` are those of `status`."""
    rejected = [row.trial for row in rows if row.state == "finished" and not row.counts]
    attempts = {trial: folder.trial(trial).decisive_attempt() for trial in rejected}
    verdicts = {trial: attempt.verdicts() for trial, attempt in attempts.items() if attempt is not None}
    return usable_cells(stored_study(folder), rows, verdicts)


def _other_version(intent: TrialIntent) -> str:
    """Why this nephoscope must not read a trial's output; empty when it may. Numbers of two versions do not compare."""
    use = intent.benchmark
    benchmark = BENCHMARKS.get(use.uses)
    if benchmark is None:
        return f"this nephoscope does not know the benchmark {use.uses!r}"
    version = benchmark.version_of(use.parameters)
    if version != use.version:
        return (
            f"it was run with version {use.version} of the benchmark {use.uses!r}, and this nephoscope has version "
            f"{version}; hint: parse it with the version of nephoscope that ran it (see started.json)"
        )
    return ""


def _derived(attempt: Attempt, intent: TrialIntent) -> Derived | OutputUnreadable:
    """Reads one trial again; what kept it from being read, when something did: it must not end the others."""
    try:
        return derive(attempt, intent, BENCHMARKS[intent.benchmark.uses])
    except OutputUnreadable as error:
        return error
    except MemoryError:
        raise
    except Exception as error:
        return OutputUnreadable(
            f"its parser crashed: {type(error).__name__}: {error}", hint="please report it with the trial's raw output"
        )


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
    """Every planned trial as it stands; trials of which no file has changed are not read again."""
    return [known.row for known in _known(folder)[1] if folder.concerns(known.row.trial)]


def status_and_spent(folder: ResultsFolder, now_unix_ms: int) -> tuple[list[TrialRow], float | None]:
    """Every planned trial as it stands, and US dollars spent until now; None: the plan has no prices."""
    priced, found = _known(folder)
    rows = [known.row for known in found if folder.concerns(known.row.trial)]
    if not priced:
        return rows, None
    ended = [known.spent_usd for known in found if known.spent_usd is not None]
    going_on = [known.row.trial for known in found if known.spent_usd is None]
    return rows, math.fsum([*ended, *(trial_usd(folder.trial(name), now_unix_ms) for name in going_on)])


def _known(folder: ResultsFolder) -> tuple[bool, list[Known]]:
    """Whether the plan has prices, and every trial of it, whatever somebody works on.

    A stamp is empty if the trial may change without a new file.
    """
    about = index.about(folder.path, MADE_BY)
    before = index.remembered(folder.path, about)
    trials = before.trials if before else {row.intent.id: None for row in folder.plan().trials}
    stamps = index.stamps(folder.path, trials)  # before anything is read: what changes meanwhile is read again
    same = {name: known for name, known in trials.items() if known and known.stamp and known.stamp == stamps[name]}
    changed = [name for name in trials if name not in same]
    if before is not None and not changed:
        return before.priced, list(same.values())
    now = {**same, **dict(zip(changed, _read_again(folder, changed, stamps), strict=True))}
    priced = any(planned.price_usd is not None for planned in folder.plan().trials)
    now = {name: now[name] for name in trials}
    remembered = {name: known if known.stamp else None for name, known in now.items()}
    if before is None or remembered != before.trials:
        index.save(folder.path, index.Remembered(about, priced, remembered))
    return priced, list(now.values())


def _read_again(folder: ResultsFolder, trials: Sequence[str], stamps: Mapping[str, str]) -> Iterator[Known]:
    subjects = subjects_of(folder.plan(), folder.source(), BENCHMARKS)
    for stored in verified_trials(folder.only(trials)):
        row = trial_row(folder, stored, subjects[stored.intent.benchmark.name])
        stamp = "" if row.state in {"running", "interrupted"} else stamps[row.trial]
        stored.forget()
        yield Known(stamp=stamp, row=row, spent_usd=ended_usd(folder.trial(row.trial)))


def analyze(folder: ResultsFolder, disturbance: Disturbance | None = None) -> AnalysedStudy:
    """Measurements -> statistics and sentences; `disturbance` judges stored steal again, for this analysis alone."""
    study = stored_study(folder)
    from nephoscope.analysis import stored
    from nephoscope.insights.registry import analyse

    again = StealJudge(disturbance) if disturbance else None
    inputs = _inputs(folder, study, again)
    analysed = analyse(inputs)
    stored.write(folder, analysed)
    if inputs.stamp:
        sha256 = folder.analysis_digests()[folder.analysis_path.name]
        index.save_analysed(folder.path, index.Analysed(stamp=inputs.stamp, sha256=sha256))
    return analysed


def _inputs(
    folder: ResultsFolder, study: Study, again: StealJudge | None = None, *, remember: bool = True
) -> StudyInputs:
    """What an analysis starts from, see `collect`; results of others are the whole of what they are."""
    found = collect(folder, study, BENCHMARKS, CHECKS, nephoscope.__version__, again, remember=remember)
    return found if found.source else replace(found, part=part_held(study, found.plan, BENCHMARKS))


def claims(folder: ResultsFolder, file: Path | None) -> list[ClaimRow]:
    """What the folder's numbers say of the claims in a file, or in its own claims.toml. Stores nothing.

    Raises:
        InputError: there is no such file, or it is wrong.
    """
    path = file or folder.claims_path
    if not path.exists():
        raise InputError(
            f"there is no {path}", hint="write it, or name another with --file; docs/how-to/claims.md explains how"
        )
    read = load_claims(read_text(path), str(path))
    from nephoscope.analysis.claims import claim_rows
    from nephoscope.analysis.table import Workings

    return Workings(replace(_inputs(folder, stored_study(folder)), claims=read))(claim_rows)


def analysed(folder: ResultsFolder) -> AnalysedStudy:
    """The stored analysis; analyses first when it is of other trials, of an earlier version, damaged, or not there.

    Also when it was made elsewhere: whoever made the folder can have written any numbers into the tables of a copy.
    """
    try:
        return _stored_here(folder)
    except StorageFailed:  # a folder that cannot be written to is analysed each time
        return analysed_now(folder)


def _stored_here(folder: ResultsFolder) -> AnalysedStudy:
    """As `analysed`; its tables are those in the folder.

    Raises:
        StorageFailed: the analysis is not stored yet, and cannot be.
    """
    from nephoscope.analysis import stored

    found = _stored_analysis(folder)
    if found is None:
        analyze(folder)
        found = stored.read(folder, stored.document(folder))
    return found


def analysed_now(folder: ResultsFolder) -> AnalysedStudy:
    """As `analysed`, but stores nothing: a study may be running in the folder."""
    from nephoscope.insights.registry import analyse

    found = _stored_analysis(folder)
    if found is not None:
        return found
    study = stored_study(folder)
    return analyse(_inputs(folder, study, remember=False))


def _stored_analysis(folder: ResultsFolder) -> AnalysedStudy | None:
    """None: there is none of these trials that this version made here."""
    from nephoscope.analysis import stored

    if not folder.analysis_path.exists():
        return None
    try:
        found = stored.document(folder)
        if found.missing:  # a defect may have been mended meanwhile
            return None
        return stored.read(folder, found) if is_of_these_trials(folder, found.plan) else None
    except DamagedFile:
        return None


def answers(folder: ResultsFolder) -> list[str]:
    """What the study answers as it stands, in the sentences of its report; analyses it first where that is needed."""
    return _answers(analysed(folder))


def stored_answers(folder: ResultsFolder) -> list[str]:
    """The answers of the stored analysis, if it is of the trials as they are; reads none of them."""
    if not folder.analysis_path.exists():
        return []
    try:
        stored = files.read(
            folder.analysis_path, AnalysedStudy, mend=f"nephoscope analyze {folder.path} writes it again"
        )
        return _answers(stored) if is_of_these_trials(folder, stored.plan) else []
    except (DamagedFile, NewerSchema):
        return []


def _answers(study: AnalysedStudy) -> list[str]:
    return [str(row.text) for row in study.insights if row.rule == "answer"]


def study_at(path: Path) -> AnalysedStudy:
    """The study of a results folder, or of a published report: the folder of its pages, or its bundle.zip.

    Of a report it has only what `published.read` says.

    Raises:
        InputError: the path is none of these.
        DamagedFile: it cannot be read.
    """
    from nephoscope.analysis import published

    is_results = ResultsFolder(path).plan_path.exists()
    bundle = None if is_results else published.bundle_at(path)
    return published.read(bundle) if bundle else analysed(ResultsFolder.existing(path))


def compare(before: Path, after: ResultsFolder, basis: str | None, also: Collection[str] = ()) -> Editions:
    """What changed from one study to another; see `editions_of`.

    Args:
        before: results folder or published report of the earlier study.
        after: the later one.
        basis: of the prices of both; None: the first of the later one.
        also: metrics that are compared beside the headline ones.

    Raises:
        InputError: one of the two is a rehearsal, and the other is not; or no benchmark of the later has such a metric.
    """
    from nephoscope.analysis.editions import editions_of

    old, new = study_at(before), analysed(after)
    rehearsed = [path for path, study in ((before, old), (after.path, new)) if study.plan.simulated]
    if len(rehearsed) == 1:
        raise InputError(
            f"{rehearsed[0]} holds a rehearsal, whose simulated numbers cannot be compared with measurements",
            hint="compare two folders of measurements, or two rehearsals",
        )
    known = {metric.name for row in new.benchmarks for metric in row.metrics}
    if unknown := [name for name in also if name not in known]:
        near = nearest(unknown[0], known)
        raise InputError(f"{after.path} has no metric {unknown[0]!r}", hint=f"did you mean {near}?" if near else "")
    first = next(iter(bases_in_order(new[CostRow], new.bases)), ON_DEMAND)
    return editions_of(old, new, basis=basis or first, also=also)


def write_comparison(file: Path, found: Editions, names: tuple[str, str]) -> None:
    """A comparison as a page of its own."""
    from nephoscope.report.edition_page import render_editions

    write_text(file, render_editions(found, names))


def query(folder: ResultsFolder, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """What SQL says of the folder's tables; see `analysis.query`."""
    from nephoscope.analysis import query as asking
    from nephoscope.analysis import stored

    _stored_here(folder)
    return asking.query(stored.frames(folder), sql)


def csv_of(columns: list[str], rows: list[tuple[Any, ...]]) -> str:
    """Rows as CSV."""
    from nephoscope.analysis.query import csv_of as written

    return written(columns, rows)


@dataclass(frozen=True)
class Reported:
    """What `report` wrote."""

    path: Path
    """What to open."""
    missing: tuple[MissingPart, ...]
    """What raised and is not in it; `missing_path` has the tracebacks."""
    missing_path: Path
    set_aside: tuple[Path, ...]
    """Where that is now which was in the report's folder, but is no part of it."""


def report(
    folder: ResultsFolder,
    *,
    pdf: bool = False,
    figures: Path | None = None,
    against: Path | None = None,
    basis: str | None = None,
) -> Reported:
    """Statistics and sentences -> report; with `pdf` for paper, too, whose path it then returns.

    Args:
        folder: of the study.
        pdf: whether a browser prints it, too.
        figures: where every figure is written as SVG, PNG and CSV; None: nowhere.
        against: an earlier study or its report, with which the page `CHANGES` beside the report compares this one.
        basis: of the prices that are compared; None: the first of this study.

    Raises:
        ToolMissing: no browser is installed that prints.
        EnvironmentProblem: it did not print.
        InputError: the author's texts or logo refer to what is not there.
    """
    from nephoscope.analysis import stored
    from nephoscope.app.stages import paper
    from nephoscope.report.author import require_complete
    from nephoscope.report.edition_page import render_editions
    from nephoscope.report.figure_files import PREVIEW, figure_files
    from nephoscope.report.files import CHANGES, MISSING, report_files
    from nephoscope.report.parts import Page

    browser = paper.installed_browser() if pdf else None
    study = analysed(folder)
    require_complete(study)
    names = None if against is None else names_of(against, folder.path)
    made = report_files(
        study,
        earlier=names and names[0],
        logo=logo_of(folder, study),
        stored=stored.parquet_of(folder),
        folder=named(folder),
    )
    files = {**made.files, **(paper.printed(made.files, browser, folder.path) if browser else {})}
    if against is not None and names is not None:
        page = render_editions(compare(against, folder, basis), names, report=Page.MAIN)
        files[CHANGES] = page.encode()
    set_aside = folder.write_report(files, sometimes={CHANGES, MISSING, PREVIEW})
    if figures is not None:
        for name, content in figure_files(made.figures, study).items():
            write_bytes(figures / name, content)
    path = folder.report_dir / (paper.PDF if pdf else Page.MAIN)
    return Reported(path, made.missing, folder.report_dir / MISSING, tuple(set_aside))


def named(folder: ResultsFolder) -> str:
    """The folder as its owner types it; 'DIR' where that would tell a published report's readers of a machine."""
    path = folder.path
    return DIR if path.is_absolute() or ".." in path.parts else str(path)


def logo_of(folder: ResultsFolder, study: AnalysedStudy) -> str:
    """The `data:` address of the picture that the study names; empty if it names none.

    Raises:
        InputError: it is not in the results folder, or is no such picture.
    """
    from nephoscope.report.author import inlined

    name = study.publication.logo
    if name is None:
        return ""
    try:
        return inlined(name, folder.picture(name))
    except FileNotFoundError as error:
        raise InputError(
            f"the study names the logo {name}, which is not in {folder.path}",
            hint=f"copy it: cp {name} {folder.path}/",
        ) from error


def names_of(before: Path, after: Path) -> tuple[str, str]:
    """What two studies are called: the names of their folders, with those above where these are equal."""
    left, right = before.resolve(), after.resolve()
    if left.name != right.name:
        return left.name, right.name
    return f"{left.parent.name}/{left.name}", f"{right.parent.name}/{right.name}"
