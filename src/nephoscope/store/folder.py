"""A results folder: the only truth about what was measured. Folders of two machines merge by copying.

study.toml  plan.json  source.json (only of an import)
trials/<trial id>/trial.json  states.jsonl
trials/<trial id>/attempts/<n>/...          see attempt.py
*.parquet analysis.json  report/            rebuildable; analysis.sha256 has the digests of the first two
prices.csv  claims.toml                     written by the user, if there are any
looks/<NN>.json                             what was known after a block, if the study stops when all is decided
fleet-id                                    marks the machines that belong to this folder
rehearsal.log                               simulated clusters that a rehearsal created and deleted; only there
verified.json                               what was compared with its digests; may be deleted
index.json                                  what `status` says of trials that have not changed, and of which files the
                                            analysis was made; may be deleted
scratch/                                    data of databases and files under test; deleted when the study is done
"""

import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from nephoscope.model.control import StateRecord
from nephoscope.model.errors import DamagedFile, InputError, StorageFailed, not_read
from nephoscope.model.looks import Look, not_needed
from nephoscope.model.records import Plan, PlannedTrial, SourceRecord, TrialIntent
from nephoscope.model.words import listed
from nephoscope.store import atomic, digests, files, lock, plain, scratch
from nephoscope.store.attempt import Attempt
from nephoscope.store.lock import Place

_TRIAL_ID = re.compile(r"[0-9a-f]{12}")
_FLEET_ID = re.compile(r"[0-9a-f]{8}")
_STUDY_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{0,62}")
"""As `study.names.Name`: it becomes part of tags, by which machines are found and deleted."""
_ATTEMPT = re.compile(r"[1-9][0-9]*")
_OURS = re.compile(
    r"study\.toml|source\.json|trials|looks|scratch|prices\.csv|claims\.toml|fleet-id|lock|(?:verified|index)\.json|queue\.sqlite.*|lost\+found"
)
"""What a folder without a plan may hold: what an interrupted `run` or the user wrote, and a new file system."""
_MEND_STUDY = "restore it from a copy: it is the study file from which `nephoscope run` created this folder"
_MEND_PLAN = (
    "restore it from a copy, or delete it and run `nephoscope run` with study.toml and --out again: the same study "
    "gives the same plan, and finished trials are kept"
)
_MEND_FLEET = (
    "restore it from a copy: it is in the tags of the study's machines, and a new one would not find them; if the "
    "study has none, delete it"
)
_MEND_FOLDER = "rename it or delete it, or restore the folder from a copy"
_MEND_ANALYSIS = "delete it: `nephoscope analyze` writes it again"
_ANALYSIS_DIGESTS = "analysis.sha256"
_UNFINISHED = re.compile(r"\..+\.[0-9]+\.tmp")
"""What a kill leaves of an atomic write."""
_ANALYSIS_FILE = re.compile(r"analysis\.json|[a-z_]+\.parquet")
_LOOK_MEND = "restore the file from a copy, or delete it and all later looks: `nephoscope run` takes them again"


class Trial:
    """`trials/<trial id>/`."""

    def __init__(self, folder: Path, place: Place | None = None, *, sync: bool = True) -> None:
        self.folder = folder
        self._place = place
        self._sync = sync

    def attempts(self) -> list[Attempt]:
        """In order, including killed ones."""
        path = self.folder / "attempts"
        plain.require(self.folder)
        plain.require(path)
        try:
            with os.scandir(path) as found:
                entries = [entry for entry in found if _ATTEMPT.fullmatch(entry.name)]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise not_read(path, error, hint=_MEND_FOLDER) from error
        for entry in entries:
            if not entry.is_dir(follow_symlinks=False):
                plain.require(Path(entry))
        numbers = sorted(int(entry.name) for entry in entries)
        return [Attempt(path / str(number), self._place, sync=self._sync) for number in numbers]

    def new_attempt(self, intent: TrialIntent) -> Attempt:
        """The folder of the next attempt; the intent is written to disk before it."""
        self._make_folder()
        files.write(self.folder / "trial.json", intent, sync=self._sync)
        earlier = self.attempts()
        number = earlier[-1].number + 1 if earlier else 1
        folder = self.folder / "attempts" / str(number)
        try:
            folder.parent.mkdir(exist_ok=True)
            folder.mkdir()
        except OSError as error:
            raise StorageFailed.of(folder, error) from error
        return Attempt(folder, self._place, sync=self._sync)

    def _make_folder(self) -> None:
        """The trial's folder, in a results folder that is still where it was."""
        if self._place is not None:
            self._place.require()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed.of(self.folder, error) from error

    def intent(self) -> TrialIntent | None:
        """As it was started; None: it never was."""
        path = self.folder / "trial.json"
        try:
            return files.read(path, TrialIntent)
        except FileNotFoundError:
            return None

    def started_as(self, planned: TrialIntent) -> TrialIntent:
        """As it was started; as it is planned if it never was.

        Raises:
            DamagedFile: what is stored is the definition of another trial.
        """
        stored = self.intent()
        if stored is None:
            return planned
        if (stored.id, stored.benchmark.name) != (planned.id, planned.benchmark.name):
            raise DamagedFile(
                f"{self.folder / 'trial.json'} belongs to trial {stored.id} with benchmark {stored.benchmark.name!r}, "
                f"but the plan has {planned.id} with {planned.benchmark.name!r}",
                hint="restore the file from a copy, or remove the trial's folder to measure it again",
            )
        return stored

    def decisive_attempt(self) -> Attempt | None:
        """The attempt that is used; see `decisive`."""
        return decisive(self.attempts())

    def finished_attempts(self) -> list[Attempt]:
        """Those that were measured to their end, in order: more than one if a rejected trial was repeated."""
        return [attempt for attempt in self.attempts() if attempt.finished()]

    def open_attempt(self) -> Attempt | None:
        """The last attempt, if it has no commit mark: it is running, or its controller died."""
        attempts = self.attempts()
        return attempts[-1] if attempts and attempts[-1].status() is None else None

    def add_state(self, record: StateRecord) -> None:
        """Appends a state."""
        self._make_folder()
        files.append_line(self.folder / "states.jsonl", record)

    def states(self) -> list[StateRecord]:
        """Every state it entered, in order; empty: it never started, or it is imported."""
        return files.read_lines(self.folder / "states.jsonl", StateRecord)

    def touched_ns(self, attempt: Attempt) -> int:
        """When it last entered a state, or a file in the folder of this attempt was created or replaced."""
        try:
            entered_ns = os.lstat(self.folder / "states.jsonl").st_mtime_ns
        except OSError:
            entered_ns = 0
        return max(entered_ns, attempt.touched_ns)

    def finished(self) -> bool:
        """True if it was measured to its end: only a repeat of a rejected trial measures it again."""
        return bool(self.finished_attempts())


def decisive(attempts: Sequence[Attempt]) -> Attempt | None:
    """Of all attempts at a trial, that which is used: the first valid one, else the last finished one, else the last.

    A rejected trial may be repeated, so several attempts may have finished; a valid one is never repeated.
    """
    if len(attempts) == 1:
        return attempts[0]
    finished = [attempt for attempt in attempts if attempt.finished()]
    if len(finished) > 1:
        return next((attempt for attempt in finished if attempt.valid()), finished[-1])
    found = finished or attempts
    return found[-1] if found else None


class ResultsFolder:
    """`results/<study>/`. Nothing else in nephoscope knows a file name in it."""

    def __init__(self, path: Path, only: frozenset[str] | None = None, place: Place | None = None) -> None:
        self.path = path
        self._place = place or Place(path)
        self._only = only
        """Ids of the trials that `planned` yields; None: all of the plan."""
        self._read: tuple[tuple[int, int, int], Plan] | None = None
        """The plan, and what its file looked like when it was read."""

    def only(self, trials: Collection[str]) -> "ResultsFolder":
        """The same folder for somebody who works on these trials of its plan alone."""
        return ResultsFolder(self.path, frozenset(trials), self._place)

    def also(self, trials: Collection[str]) -> "ResultsFolder":
        """The same folder for somebody who works on these trials, too."""
        return self if self._only is None else self.only(self._only.union(trials))

    def whole_plan(self) -> Iterator[tuple[PlannedTrial, Trial]]:
        """Every trial of the plan with its folder, in the plan's order, whatever somebody works on."""
        for planned in self.plan().trials:
            yield planned, self.trial(planned.intent.id)

    @classmethod
    def existing(cls, path: Path) -> "ResultsFolder":
        """A folder that `run` created.

        Raises:
            InputError: there is no plan in it.
        """
        folder = cls(path)
        if not folder.plan_path.exists() and (path / "trials").exists():
            raise DamagedFile(f"{folder.plan_path} is missing", hint=_MEND_PLAN)
        if not folder.plan_path.exists():
            why = "it has no plan.json" if path.is_dir() else "there is no such folder"
            raise InputError(
                f"{path} is not a results folder: {why}",
                hint="name the folder that `nephoscope run STUDY --out DIR` wrote",
            )
        folder.require_folders()
        return folder

    def require_folders(self) -> None:
        """Everything that must be a folder is one, or is not there yet, and nothing is a link to somewhere else.

        Raises:
            DamagedFile: something else is in its place.
        """
        if self.path.exists():
            plain.require_entries(self.path)
        for path in (self.path / "trials", self.path / "looks", self.report_dir):
            if path.exists() and not path.is_dir():
                raise DamagedFile(f"{path} is a file, but must be a folder", hint=_MEND_FOLDER)

    @classmethod
    def for_results(cls, path: Path) -> "ResultsFolder":
        """A folder that `run` may write to: a new one, an empty one, or one of an earlier run. Writes nothing.

        Raises:
            InputError: it is a file, or holds something else.
            StorageFailed: it may not be written to.
        """
        there = next((place for place in (path, *path.absolute().parents) if place.exists()), path)
        if not there.is_dir():
            raise InputError(
                f"results cannot be stored in {path}: {there} is a file", hint="name a new folder with --out"
            )
        if there == path:
            others = sorted(found.name for found in path.iterdir() if not _OURS.fullmatch(found.name))
            if others and not (path / "plan.json").exists():
                raise InputError(
                    f"{path} is not a results folder, and it is not empty: it holds {listed(others, 3)}",
                    hint="name a new folder with --out; nothing was changed",
                )
        if os.statvfs(there).f_flag & os.ST_RDONLY:
            raise StorageFailed(
                f"cannot write to {there}: the file system is read-only",
                hint="name a folder elsewhere with --out, or mount it for writing",
            )
        if not os.access(there, os.W_OK | os.X_OK):
            raise StorageFailed(
                f"you have no permission to write to {there}", hint="with --out, choose a folder that you can write to"
            )
        found = cls(path)
        found.require_folders()
        return found

    @property
    def plan_path(self) -> Path:
        """plan.json."""
        return self.path / "plan.json"

    def fleet_id(self) -> str:
        """Eight hexadecimal digits, drawn once: two folders of one study must not take each other's machines.

        Raises:
            StorageFailed: it cannot be stored.
            DamagedFile: it is something else, which a cloud could take for the machines of others.
        """
        path = self.path / "fleet-id"
        if not path.exists():
            self._write_bytes(path, f"{secrets.token_hex(4)}\n".encode())
        text = files.read_text(path, mend=_MEND_FLEET).strip()
        if not _FLEET_ID.fullmatch(text):
            raise DamagedFile(f"{path} is damaged: it must hold eight hexadecimal digits", hint=_MEND_FLEET)
        return text

    def study_key(self) -> str:
        """The tag of the study's machines: its name and the folder's id.

        Raises:
            DamagedFile: a file of the folder gives the study another name, or none that a study can have.
            StorageFailed: the id cannot be stored.
        """
        plan = self.plan()
        if not _STUDY_NAME.fullmatch(plan.study):
            raise DamagedFile(f"{self.plan_path} is damaged: {plan.study!r} is no name of a study", hint=_MEND_PLAN)
        study_path = self.path / "study.toml"
        if study_path.exists() and (name := files.read_toml(study_path, mend=_MEND_STUDY).get("name")) != plan.study:
            raise DamagedFile(
                f"{self.plan_path} is the plan of a study {plan.study!r}, but {study_path} is {name!r}",
                hint=_MEND_PLAN,
            )
        return f"{plan.study}-{self.fleet_id()}"

    def unplanned(self) -> Iterator[TrialIntent]:
        """Every trial that was started and is not planned any more; its machines may still exist."""
        planned = {row.intent.id for row in self.plan().trials}
        for path in sorted((self.path / "trials").glob("*")):
            if _TRIAL_ID.fullmatch(path.name) and path.name not in planned:
                intent = Trial(path).intent()
                if intent is not None:
                    yield intent

    @property
    def scratch(self) -> Path:
        """For files that outlive a trial but not the study."""
        return self.path / "scratch"

    @property
    def rehearsal_path(self) -> Path:
        """rehearsal.log: the simulated clusters that a rehearsal created and deleted."""
        return self.path / "rehearsal.log"

    @property
    def analysis_path(self) -> Path:
        """analysis.json: written last by `analyze`, so that its presence means that all its tables exist."""
        return self.path / "analysis.json"

    @property
    def prices_path(self) -> Path:
        """prices.csv: the user's own prices, which take precedence over those that ship."""
        return self.path / "prices.csv"

    @property
    def claims_path(self) -> Path:
        """claims.toml: what a report claims, checked against the numbers."""
        return self.path / "claims.toml"

    def picture(self, name: str) -> bytes:
        """A picture of the author's, beside study.toml.

        Raises:
            DamagedFile: it is no plain file, or cannot be read.
            FileNotFoundError: it is not there.
        """
        return files.read_bytes(self.path / name, mend="put the picture there, or take it out of study.toml")

    @property
    def report_dir(self) -> Path:
        """report/."""
        return self.path / "report"

    @contextmanager
    def lock(self) -> Iterator[None]:
        """See `lock.exclusive`; until it is released, a folder that takes the place of this one is not written to."""
        with lock.exclusive(self.path / "lock"), self._place.held():
            yield

    def in_use(self) -> bool:
        """True while a process works on it."""
        return lock.held(self.path / "lock")

    def in_use_since_ns(self) -> int | None:
        """When the process that works on it began, as the times of files say it; None: no process does."""
        return lock.held_since_ns(self.path / "lock")

    def write_plan(self, study_text: str, plan: Plan) -> None:
        """Stores the study as its author wrote it, and its plan."""
        try:
            self._place.require()
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed.of(self.path, error) from error
        self._write_bytes(self.path / "study.toml", study_text.encode())
        self._write_bytes(self.plan_path, files.dump(plan).encode())

    def study_text(self) -> str:
        """study.toml."""
        return files.read_text(self.path / "study.toml", mend=_MEND_STUDY)

    def plan(self) -> Plan:
        """plan.json: read again only when the file was replaced, as that of a large study takes a second."""
        found = self.plan_path.stat()
        stamp = found.st_ino, found.st_mtime_ns, found.st_size
        if self._read is None or self._read[0] != stamp:
            self._read = stamp, files.read(self.plan_path, Plan, mend=_MEND_PLAN)
        return self._read[1]

    def write_source(self, source: SourceRecord) -> None:
        """Marks the folder as an import."""
        self._write_bytes(self.path / "source.json", files.dump(source).encode())

    def source(self) -> SourceRecord | None:
        """Where imported results come from; None: measured here."""
        path = self.path / "source.json"
        return files.read(path, SourceRecord) if path.exists() else None

    def trial(self, trial_id: str, *, sync: bool = True) -> Trial:
        """The folder of one trial, which may not exist yet; `sync` as in `Attempt`."""
        if not _TRIAL_ID.fullmatch(trial_id):
            raise InputError(f"{trial_id!r} is not a trial id (12 hexadecimal digits)")
        return Trial(self.path / "trials" / trial_id, self._place, sync=sync)

    def planned(self) -> Iterator[tuple[PlannedTrial, Trial]]:
        """Every planned trial with its folder, in the plan's order; see `only`."""
        return (row for row in self.whole_plan() if self.concerns(row[0].intent.id))

    def concerns(self, trial_id: str) -> bool:
        """Whether somebody works on this trial of the plan; see `only`."""
        return self._only is None or trial_id in self._only

    def every_attempt(self) -> Iterator[Attempt]:
        """Every attempt that is stored, also at trials that are not planned any more."""
        for path in sorted((self.path / "trials").glob("*")):
            if _TRIAL_ID.fullmatch(path.name):
                yield from Trial(path).attempts()

    def looks(self) -> list[Look]:
        """In the order of their blocks; empty: the study takes none, or has not come that far."""
        paths = sorted((self.path / "looks").glob("*.json"))
        return sorted((files.read(path, Look, mend=_LOOK_MEND) for path in paths), key=lambda look: look.block)

    def write_look(self, look: Look) -> None:
        """Stores what was known after a block."""
        self._write_bytes(self.path / "looks" / f"{look.block:02d}.json", files.dump(look).encode())

    def forget_looks(self) -> None:
        """Deletes them, because they are about trials that are no longer planned.

        Raises:
            StorageFailed: they cannot be deleted.
        """
        path = self.path / "looks"
        try:
            if path.exists():
                shutil.rmtree(path)
        except OSError as error:
            raise StorageFailed.of(path, error) from error

    def not_needed(self) -> dict[str, int]:
        """Planned trials that no open question needs -> the block after which that was known."""
        plan = self.plan()
        return not_needed(plan.trials, self.looks()) if plan.stop == "decided" else {}

    def claim_scratch(self) -> bool:
        """See `scratch.claim`; call it before anything in `scratch/` is used."""
        self._place.require()
        return scratch.claim(self.scratch)

    def remove_scratch(self) -> None:
        """Deletes it to free space; no error if it does not exist."""
        shutil.rmtree(self.scratch, ignore_errors=True)

    def write_derived(self, name: str, content: bytes) -> Path:
        """Stores a rebuildable file of the folder (`statistics.parquet`) and returns its path."""
        path = self.path / name
        self._write_bytes(path, content)
        return path

    def write_report(self, contents: Mapping[str, bytes], *, sometimes: Collection[str] = ()) -> list[Path]:
        """Stores a report's files by name, so that report/ holds these and nothing else.

        Anything else may be somebody's own or a stranger's: it is moved beside and neither published nor deleted.

        Args:
            contents: by name.
            sometimes: names of files that some reports have: those of an earlier one are deleted.

        Returns:
            Where it is now.

        Raises:
            StorageFailed: something cannot be stored or moved.
        """
        moved = self._set_aside(contents.keys(), sometimes)
        for name, content in contents.items():
            self._write_bytes(self.report_dir / name, content)
        return moved

    def _set_aside(self, names: Collection[str], sometimes: Collection[str]) -> list[Path]:
        """Moves what is in report/, but is no plain file of these names."""
        aside, moved = self.path / "report.set-aside", []
        self._place.require()
        try:
            with os.scandir(self.report_dir) as entries:
                plain_files = {one.name: one.is_file(follow_symlinks=False) for one in entries}
            for name, is_plain in sorted(plain_files.items()):
                if is_plain and name in names:
                    continue
                if is_plain and (name in sometimes or _UNFINISHED.fullmatch(name)):
                    plain.remove(self.report_dir / name)
                    continue
                aside.mkdir(exist_ok=True)
                free = next(one for one in _numbered(aside / name) if not os.path.lexists(one))
                moved.append((self.report_dir / name).rename(free))
        except FileNotFoundError:
            return moved  # there was no report yet
        except OSError as error:
            raise StorageFailed.of(Path(error.filename or self.report_dir), error) from error
        return moved

    def _write_bytes(self, path: Path, content: bytes) -> None:
        self._place.require()
        atomic.write_bytes(path, content)

    def write_analysis_digests(self, found: Mapping[str, str]) -> None:
        """Stores the SHA-256 of analysis.json and its tables, by name, in the format of `sha256sum`."""
        lines = (f"{digest}  {name}\n" for name, digest in sorted(found.items()))
        self._write_bytes(self.path / _ANALYSIS_DIGESTS, "".join(lines).encode())

    def analysis_digests(self) -> dict[str, str]:
        """What `write_analysis_digests` stored; empty: there is no analysis."""
        path = self.path / _ANALYSIS_DIGESTS
        text = files.read_text(path, mend=_MEND_ANALYSIS) if path.exists() else ""
        return {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())}

    def altered_analysis(self) -> list[str]:
        """Names of the files of a stored analysis that are not what was written; a missing table is none."""
        if not self.analysis_path.exists():
            return []
        stored = self.analysis_digests()
        there = [name for name in stored if _ANALYSIS_FILE.fullmatch(name) and (self.path / name).is_file()]
        for name in there:
            plain.require(self.path / name)
        return [name for name in there if digests.sha256(self.path / name) != stored[name]]

    def forget_analysis(self) -> None:
        """Makes `report` analyse again, because stored data have changed or are about to."""
        try:
            self.analysis_path.unlink(missing_ok=True)
        except OSError as error:
            raise StorageFailed.of(self.analysis_path, error) from error

    def relative(self, attempt: Attempt) -> str:
        """An attempt's folder as linked in the report."""
        return attempt.folder.relative_to(self.path).as_posix()


def _numbered(path: Path) -> Iterator[Path]:
    """The path, and then with a number after its name."""
    yield path
    yield from (path.with_name(f"{path.name}.{number}") for number in count(2))
