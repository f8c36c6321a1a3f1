"""One attempt at a trial: its folder, written during the attempt and committed by `status.json`."""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ValidationError
from typing_extensions import override

from nephoscope.model.control import Lease, Resumption
from nephoscope.model.errors import DamagedFile, StorageFailed
from nephoscope.model.records import (
    CommandRecord,
    Derived,
    FactsRecord,
    MachineKind,
    Measurement,
    NetworkBytes,
    OperationErrors,
    ResourceUse,
    StartedRecord,
    Status,
    Verdict,
    VerdictKind,
)
from nephoscope.model.text import visible
from nephoscope.store import atomic, digests, files, plain
from nephoscope.store.digests import DERIVED, STATUS, Difference
from nephoscope.store.lock import Place

When = Literal["before", "after"]
CLEANUP_LOG = "teardown.txt"
MEASUREMENTS, VERDICTS, FACTS = "measurements.jsonl", "verdict.json", "facts"
_NETWORK, _RESOURCES, _ERRORS, _KIND = "network.jsonl", "resources.jsonl", "errors.jsonl", "kind.json"
_SETTINGS: Mapping[When, str] = {"before": "database-settings.tsv", "after": "database-settings-after.tsv"}
_DERIVED_FILES = frozenset({MEASUREMENTS, VERDICTS, _NETWORK, _RESOURCES, _ERRORS, _KIND})
_DERIVE = "run `nephoscope parse`, which derives it again"
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


class Attempt:
    """`trials/<trial id>/attempts/<n>/`. Raw output is only ever added."""

    def __init__(self, folder: Path, place: Place | None = None, *, sync: bool = True) -> None:
        """Without `sync`, whoever writes it calls `atomic.sync_all` before `write_status`, and after it."""
        self.folder = folder
        self._place = place
        self._sync = sync
        self._names: Collection[str] | None = None
        """Of all its files, by their paths below its folder; None: not known."""

    @property
    def number(self) -> int:
        """1 for the first attempt."""
        return int(self.folder.name)

    @property
    def raw_dir(self) -> Path:
        """Where tools' verbatim output goes."""
        return self.folder / "raw"

    @property
    def log_dir(self) -> Path:
        """Where logs of databases go."""
        return self.raw_dir / "logs"

    @property
    def touched_ns(self) -> int:
        """When a file of its folder was last created or replaced."""
        return self.folder.stat().st_mtime_ns

    # written while the trial runs

    def write_lease(self, lease: Lease) -> None:
        """The machines it holds; written again when they were released."""
        self._write("lease.json", lease)

    def write_resumption(self, resumption: Resumption) -> None:
        """From here on another controller can continue it."""
        self._write("resume.json", resumption)

    def write_started(self, record: StartedRecord) -> None:
        """What was actually started; creates the folders."""
        self.make_log_dir()
        self._write("started.json", record)

    def write_raw(self, name: str, content: bytes) -> None:
        """Verbatim output that somebody else's tool wrote."""
        self._write_bytes(f"{self.raw_dir.name}/{name}", content)

    def make_log_dir(self) -> None:
        """The folder of raw output, and that of logs.

        Raises:
            StorageFailed: they cannot be made.
        """
        self.require_place()
        try:
            for folder in (self.raw_dir, self.log_dir):
                folder.mkdir(exist_ok=True)
        except OSError as error:
            raise StorageFailed.of(self.log_dir, error) from error

    def require_place(self) -> None:
        """See `Place.require`."""
        if self._place is not None:
            self._place.require()

    def require_plain(self) -> None:
        """Call this before an attempt that somebody else began is continued: its files are written to.

        Raises:
            DamagedFile: it holds a link or another special file.
        """
        for name, _ in digests.walk(self.folder):
            plain.require(self._path(name))

    def write_facts(self, record: FactsRecord) -> None:
        """Facts of one machine, before and (if known) after."""
        self._write(f"{FACTS}/{_safe(record.machine)}.json", record)

    def add_command(self, record: CommandRecord) -> None:
        """Appends one executed command."""
        self.require_place()
        files.append_line(self.folder / "commands.jsonl", record)

    def write_settings(self, settings: dict[str, str], when: When = "before") -> None:
        """The database's settings in force."""
        self._write_pairs(_SETTINGS[when], settings)

    def write_identity(self, when: When, identity: dict[str, str]) -> None:
        """Which servers the database consists of: starts, roles, versions."""
        self._write_pairs(f"database-identity-{when}.tsv", identity)

    def write_replication(self, when: When, states: dict[str, str]) -> None:
        """Copies of the data and their states, before or after the measurement."""
        self._write_pairs(f"replication-{when}.tsv", states)

    def write_measurements(self, measurements: Sequence[Measurement]) -> None:
        """Derived data."""
        self._write_bytes(MEASUREMENTS, _lines(measurements))

    def write_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Derived data."""
        self._write_bytes(VERDICTS, _verdict_bytes(verdicts))

    def write_derived(self, derived: Derived) -> None:
        """All derived data of an attempt that is not committed yet."""
        for name, content in _contents(derived).items():
            self._write_bytes(name, content)

    def sync_raw(self) -> None:
        """Makes everything appended durable: raw output, and the list of commands."""
        for path in (self.folder / "commands.jsonl", *self.raw_dir.rglob("*")):
            if path.is_file():
                atomic.sync_file(path)

    def write_status(self, status: Status) -> None:
        """The commit mark with a digest of every file, written after everything else of the attempt is durable."""
        self.require_place()
        if self._sync:
            self.sync_raw()
        self._write(STATUS, status.model_copy(update={"files": digests.digests_of(self.folder)}))

    # derived again once it is committed: what the trial wrote stays as it is

    def derive_again(self, derived: Derived, status: Status) -> list[str]:
        """Stores what was derived once more, if it differs from what is stored or the status does.

        Returns:
            The names of the files that differ.

        Raises:
            StorageFailed: it could not be stored; what was stored before is still used.
        """
        contents = _contents(derived)
        differ = [name for name, content in contents.items() if _bytes_or_none(self._used(name)) != content]
        if differ:
            self._store_again(contents, status)
        else:
            self.write_status_again(status)
        return differ

    def write_status_again(self, status: Status) -> None:
        """How it ended, judged once more; written only if that is another state or message."""
        before = self.status()
        if before is None or (before.state, before.message) != (status.state, status.message):
            self._store_again({}, status)

    def judge_again(self, verdicts: Sequence[Verdict], kind: MachineKind) -> None:
        """Verdicts that compare its machine with what most machines of its configuration are."""
        status = self.status()
        if status is None:
            raise AssertionError(f"{self.folder} is not committed")
        kind_text = files.dump(kind).encode()
        self._store_again({VERDICTS: _verdict_bytes(verdicts), _KIND: kind_text}, status)

    def _store_again(self, contents: Mapping[str, bytes], status: Status) -> None:
        """Replaces the folder of later derivations as a whole; files that `contents` does not name are kept in it.

        The attempt may come from anybody: only names that we write are kept, and nothing is read or written behind a
        link.
        """
        derived, new, old = (self.folder / name for name in (DERIVED, f".{DERIVED}.new", f".{DERIVED}.old"))
        plain.require(derived)
        earlier = self._derived_status()
        listed = (earlier.files if earlier else None) or {}
        kept = sorted(name for name in _DERIVED_FILES & (listed.keys() - contents.keys()) if (derived / name).exists())
        self.require_place()
        try:
            for folder in (new, old):
                plain.remove(folder)
            new.mkdir()
            for name, content in (*((name, plain.read(derived / name)) for name in kept), *contents.items()):
                atomic.write_bytes(new / name, content)
            digest_of = {
                **{name: listed[name] for name in kept},
                **{name: digests.sha256(new / name) for name in contents},
            }
            files.write(new / STATUS, status.model_copy(update={"files": digest_of}))
            if derived.exists():
                derived.rename(old)
            new.rename(derived)
            atomic.sync_folder(self.folder)
            plain.remove(old)
        except OSError as error:
            raise StorageFailed.of(derived, error) from error

    def _derived_status(self) -> Status | None:
        """None: nothing was derived since it was committed."""
        return self._read(f"{DERIVED}/{STATUS}", Status)

    def _used_name(self, name: str) -> str:
        """The path below its folder of the file that counts: as derived last."""
        later = self._derived_status()
        return f"{DERIVED}/{name}" if later and name in (later.files or {}) else name

    def _used(self, name: str) -> Path:
        return self.folder / self._used_name(name)

    # read afterwards

    def _has(self, name: str) -> bool:
        """False: this file is certainly not in its folder, so that nobody needs to look for it."""
        return self._names is None or name in self._names

    def _path(self, name: str) -> str:
        """For ten thousand attempts, joining a Path for each file takes a third of a second."""
        return f"{self.folder}/{name}"

    def _read(self, name: str, model: type[files.Value]) -> files.Value | None:
        """None: there is no such file."""
        try:
            return files.read(self._path(name), model) if self._has(name) else None
        except FileNotFoundError:
            return None

    def _read_lines(self, name: str, model: type[files.Value]) -> list[files.Value]:
        used = self._used_name(name)
        return files.read_lines(self._path(used), model) if self._has(used) else []

    def lease(self) -> Lease | None:
        """None: it was killed before it had one, or it is imported."""
        return self._read("lease.json", Lease)

    def resumption(self) -> Resumption | None:
        """None: its measurement did not start."""
        return self._read("resume.json", Resumption)

    def started(self) -> StartedRecord | None:
        """None: it was killed before anything started."""
        return self._read("started.json", StartedRecord)

    def status(self) -> Status | None:
        """As judged last. None: it was killed or is still running."""
        return self._derived_status() or self.committed()

    def committed(self) -> Status | None:
        """The commit mark, as the trial wrote it. None: it was killed or is still running."""
        return self._read(STATUS, Status)

    def differences(self, seen: Mapping[str, os.stat_result]) -> list[Difference]:
        """Files that are not what they were when their digests were stored; reads all of them. `seen`: its files."""
        committed, later = self.committed(), self._derived_status()
        last = not (self.folder.parent / str(self.number + 1)).exists()
        derived = (later.files if later else None) or {}
        stored = committed.files if committed else None
        return digests.differences(self.folder, seen, stored, derived, last=last)

    def collected(self) -> bool:
        """True if all measured data are here: the facts taken afterwards are written last."""
        facts = self.facts()
        return bool(facts) and all(record.after is not None for record in facts)

    def facts(self) -> list[FactsRecord]:
        """Of all machines, by name."""
        return [files.read(self._path(name), FactsRecord) for name in self._fact_names()]

    def _fact_names(self) -> list[str]:
        """Paths of the files of facts below its folder."""
        if self._names is not None:
            return sorted(name for name in self._names if name.startswith(f"{FACTS}/") and name.endswith(".json"))
        return sorted(f"{FACTS}/{path.name}" for path in (self.folder / FACTS).glob("[!.]*.json"))

    def commands(self) -> list[CommandRecord]:
        """In the order they ended."""
        return self._read_lines("commands.jsonl", CommandRecord)

    def settings(self) -> dict[str, str]:
        """The database's settings in force when the measurement began; empty when there was none."""
        return self._pairs(_SETTINGS["before"]) or {}

    def database(self, when: When) -> dict[str, str] | None:
        """The database's settings, and which servers it consists of; None: not queried."""
        identity, settings = self._pairs(f"database-identity-{when}.tsv"), self._pairs(_SETTINGS[when])
        return None if identity is None or settings is None else settings | identity

    def replication(self, when: When) -> dict[str, str] | None:
        """None: not queried, or there was only one copy."""
        return self._pairs(f"replication-{when}.tsv")

    def cleanup_failures(self) -> list[str]:
        """What failed while it was cleaned up after, one line each, for people."""
        try:
            return plain.read(self.log_dir / CLEANUP_LOG).decode(errors="replace").splitlines()
        except FileNotFoundError:
            return []

    def usual_kind(self) -> MachineKind | None:
        """None: equal machines are not demanded, or no kind was usual yet."""
        return self._read(self._used_name(_KIND), MachineKind)

    def measurements(self) -> list[Measurement]:
        """As last parsed."""
        return self._read_lines(MEASUREMENTS, Measurement)

    def errors(self) -> list[OperationErrors]:
        """As last parsed; empty if there were none, or nothing counted them."""
        return self._read_lines(_ERRORS, OperationErrors)

    def network(self) -> list[NetworkBytes]:
        """As last parsed, by machine, without machines whose counters were not read."""
        return self._read_lines(_NETWORK, NetworkBytes)

    def resources(self) -> list[ResourceUse]:
        """As last parsed, by machine, without machines that were not sampled."""
        return self._read_lines(_RESOURCES, ResourceUse)

    def verdicts(self) -> list[Verdict]:
        """As last checked; empty if it was never checked."""
        name = self._used_name(VERDICTS)
        path = self._path(name)
        if not self._has(name):
            return []
        try:
            content = files.made_plain(files.read_bytes(path, mend=_DERIVE))
            found: list[Verdict] = files.reader(list[Verdict]).validate_json(content)
        except FileNotFoundError:
            return []
        except ValidationError as error:
            raise DamagedFile(f"{path} is damaged: {error.errors()[0]['msg']}", hint=_DERIVE) from error
        return found

    def finished(self) -> bool:
        """True if it was measured to its end, whatever the checks say."""
        status = self.status()
        return status is not None and status.state == "finished"

    def valid(self) -> bool:
        """True if it finished and every check found it valid."""
        verdicts = self.verdicts() if self.finished() else []
        return bool(verdicts) and all(row.verdict is VerdictKind.VALID for row in verdicts)

    def raw(self) -> dict[str, bytes]:
        """Every raw file by its name; logs are not among them."""
        return {name: plain.read(self.raw_dir / name) for name in _plain_below(self.raw_dir) if "/" not in name}

    def raw_digests(self) -> list[tuple[str, int, str]]:
        """Every raw file and log: path below `raw`, bytes, SHA-256."""
        found = [(name, self.raw_dir / name) for name in _plain_below(self.raw_dir)]
        return [(visible(name), path.stat().st_size, digests.sha256(path)) for name, path in found]

    def _write_pairs(self, name: str, pairs: dict[str, str]) -> None:
        text = "".join(f"{key}\t{_escaped(pairs[key])}\n" for key in sorted(pairs))
        self._write_bytes(name, text.encode())

    def _write(self, name: str, value: BaseModel) -> None:
        self._write_bytes(name, files.dump(value).encode())

    def _write_bytes(self, name: str, content: bytes) -> None:
        self.require_place()
        atomic.write_bytes(self.folder / name, content, sync=self._sync)

    def _pairs(self, name: str) -> dict[str, str] | None:
        path = self.folder / name
        if not self._has(name) or not path.exists():
            return None
        text = visible(files.read_text(path, mend=files.MEND))
        rows = (line.partition("\t") for line in text.split("\n") if line)
        return {key: visible(_unescaped(value)) for key, _, value in rows}


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}


def _contents(derived: Derived) -> dict[str, bytes]:
    """Derived data as files, by name."""
    found = {
        MEASUREMENTS: _lines(derived.measurements),
        _NETWORK: _lines(derived.network),
        _RESOURCES: _lines(derived.resources),
        VERDICTS: _verdict_bytes(derived.verdicts),
    }
    return found if derived.errors is None else {**found, _ERRORS: _lines(derived.errors)}


def _lines(values: Sequence[BaseModel]) -> bytes:
    return "".join(map(files.dump_line, values)).encode()


def _verdict_bytes(verdicts: Sequence[Verdict]) -> bytes:
    return ("[\n" + ",\n".join(files.dump_line(verdict).rstrip("\n") for verdict in verdicts) + "\n]\n").encode()


def _bytes_or_none(path: Path) -> bytes | None:
    return plain.read(path) if path.is_file() else None


def _plain_below(folder: Path) -> list[str]:
    """Paths of all plain files below a folder, which may not exist; hidden ones are temporary."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    found = (name for name, about in digests.walk(folder) if plain.oddity(about) is None)
    return sorted(found, key=lambda name: name.split("/"))


def _escaped(value: str) -> str:
    """One field of a tab-separated line, with a server's text escaped."""
    return "".join(_ESCAPES.get(character, character) for character in value)


def _unescaped(field: str) -> str:
    return re.sub(r"\\[\\nrt]", lambda found: _UNESCAPES[found[0]], field)


def _safe(name: str) -> str:
    """A machine's name as a file name."""
    if not _SAFE_NAME.fullmatch(name):
        raise AssertionError(f"{name!r} cannot be a file name")
    return name


Read = TypeVar("Read")


class ReadOnce(Attempt):
    """For readers only: it does not notice what is written after its first look."""

    def __init__(self, attempt: Attempt, names: Collection[str] | None = None) -> None:
        """`names`: of all its files, by their paths below its folder; None: not known."""
        super().__init__(attempt.folder)
        self._names = names
        self._known: dict[str, Any] = {}

    def _once(self, name: str, read: Callable[[], Read]) -> Read:
        if name not in self._known:
            self._known[name] = read()
        found: Read = self._known[name]
        return found

    @override
    def _derived_status(self) -> Status | None:
        return self._once("derived status", super()._derived_status)

    @override
    def committed(self) -> Status | None:
        return self._once("committed", super().committed)

    def forget(self) -> None:
        """Forgets everything that was read."""
        self._known.clear()

    @override
    def lease(self) -> Lease | None:
        return self._once("lease", super().lease)

    @override
    def started(self) -> StartedRecord | None:
        return self._once("started", super().started)

    @override
    def facts(self) -> list[FactsRecord]:
        return self._once("facts", super().facts)

    @override
    def commands(self) -> list[CommandRecord]:
        return self._once("commands", super().commands)

    @override
    def measurements(self) -> list[Measurement]:
        return self._once("measurements", super().measurements)

    @override
    def errors(self) -> list[OperationErrors]:
        return self._once("errors", super().errors)

    @override
    def network(self) -> list[NetworkBytes]:
        return self._once("network", super().network)

    @override
    def resources(self) -> list[ResourceUse]:
        return self._once("resources", super().resources)

    @override
    def verdicts(self) -> list[Verdict]:
        return self._once("verdicts", super().verdicts)
