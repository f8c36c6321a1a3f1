"""One attempt at a trial: its folder, written during the attempt and committed by `status.json`."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from nephoscope.model.control import Lease, Resumption
from nephoscope.model.errors import DamagedFile, StorageFailed
from nephoscope.model.kinds import MachineKind
from nephoscope.model.records import (
    CommandRecord,
    FactsRecord,
    Measurement,
    NetworkBytes,
    OperationErrors,
    ResourceUse,
    StartedRecord,
    Status,
    Verdict,
    VerdictKind,
)
from nephoscope.store import atomic, files

When = Literal["before", "after"]
_VERDICTS = TypeAdapter(list[Verdict])
_SAFE_NAME = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*$")


class Attempt:
    """`trials/<trial id>/attempts/<n>/`. Raw output is only ever added."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

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
        """When a file of its folder was last created or replaced: the newest attempt changed last."""
        return self.folder.stat().st_mtime_ns

    # written while the trial runs

    def write_lease(self, lease: Lease) -> None:
        """The machines it holds; written again when they were released."""
        files.write(self.folder / "lease.json", lease)

    def write_resumption(self, resumption: Resumption) -> None:
        """From here on another controller can continue it."""
        files.write(self.folder / "resume.json", resumption)

    def write_started(self, record: StartedRecord) -> None:
        """What was actually started; creates the folders."""
        try:
            self.log_dir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed.of(self.log_dir, error) from error
        files.write(self.folder / "started.json", record)

    def write_facts(self, record: FactsRecord) -> None:
        """Facts of one machine, before and (if known) after."""
        files.write(self.folder / "facts" / f"{_safe(record.machine)}.json", record)

    def add_command(self, record: CommandRecord) -> None:
        """Appends one executed command."""
        files.append_line(self.folder / "commands.jsonl", record)

    def write_settings(self, settings: dict[str, str]) -> None:
        """The database's settings in force."""
        self._write_pairs("database-settings.tsv", settings)

    def write_replication(self, when: When, states: dict[str, str]) -> None:
        """Copies of the data and their states, before or after the measurement."""
        self._write_pairs(f"replication-{when}.tsv", states)

    def write_measurements(self, measurements: Sequence[Measurement]) -> None:
        """Derived data: `parse` may write this again."""
        atomic.write_text(self.folder / "measurements.jsonl", "".join(map(files.dump_line, measurements)))

    def write_errors(self, errors: Sequence[OperationErrors]) -> None:
        """Derived data: `parse` may write this again."""
        atomic.write_text(self.folder / "errors.jsonl", "".join(map(files.dump_line, errors)))

    def write_network(self, machines: Sequence[NetworkBytes]) -> None:
        """Derived data: `parse` may write this again."""
        atomic.write_text(self.folder / "network.jsonl", "".join(map(files.dump_line, machines)))

    def write_resources(self, machines: Sequence[ResourceUse]) -> None:
        """Derived data: `parse` may write this again."""
        atomic.write_text(self.folder / "resources.jsonl", "".join(map(files.dump_line, machines)))

    def write_verdicts(self, verdicts: Sequence[Verdict]) -> None:
        """Derived data: `parse` may write this again."""
        text = "[\n" + ",\n".join(verdict.model_dump_json() for verdict in verdicts) + "\n]\n"
        atomic.write_text(self.folder / "verdict.json", text)

    def write_usual_kind(self, kind: MachineKind) -> None:
        """What most machines of its configuration are; written again when that changes."""
        files.write(self.folder / "kind.json", kind)

    def sync_raw(self) -> None:
        """Makes everything appended durable: raw output, and the list of commands."""
        for path in (self.folder / "commands.jsonl", *self.raw_dir.rglob("*")):
            if path.is_file():
                atomic.sync_file(path)

    def write_status(self, status: Status) -> None:
        """The commit mark, written after everything else of the attempt is durable."""
        self.sync_raw()
        files.write(self.folder / "status.json", status)

    # read afterwards

    def lease(self) -> Lease | None:
        """None: it was killed before it had one, or an earlier nephoscope ran it."""
        return _or_none(self.folder / "lease.json", Lease)

    def resumption(self) -> Resumption | None:
        """None: its measurement did not start."""
        return _or_none(self.folder / "resume.json", Resumption)

    def started(self) -> StartedRecord | None:
        """None: it was killed before anything started."""
        return _or_none(self.folder / "started.json", StartedRecord)

    def status(self) -> Status | None:
        """None: it was killed or is still running."""
        return _or_none(self.folder / "status.json", Status)

    def collected(self) -> bool:
        """True if all measured data are here: the facts taken afterwards are written last."""
        facts = self.facts()
        return bool(facts) and all(record.after is not None for record in facts)

    def facts(self) -> list[FactsRecord]:
        """Of all machines, by name."""
        return [files.read(path, FactsRecord) for path in sorted((self.folder / "facts").glob("*.json"))]

    def commands(self) -> list[CommandRecord]:
        """In the order they ended."""
        return files.read_lines(self.folder / "commands.jsonl", CommandRecord)

    def settings(self) -> dict[str, str]:
        """The database's settings in force; empty when there was none."""
        return self._pairs("database-settings.tsv") or {}

    def replication(self, when: When) -> dict[str, str] | None:
        """None: not queried, or there was only one copy."""
        return self._pairs(f"replication-{when}.tsv")

    def usual_kind(self) -> MachineKind | None:
        """None: equal machines are not demanded, or no kind was usual yet."""
        return _or_none(self.folder / "kind.json", MachineKind)

    def measurements(self) -> list[Measurement]:
        """As last parsed."""
        return files.read_lines(self.folder / "measurements.jsonl", Measurement)

    def errors(self) -> list[OperationErrors]:
        """As last parsed; empty if there were none, or nothing counted them."""
        return files.read_lines(self.folder / "errors.jsonl", OperationErrors)

    def network(self) -> list[NetworkBytes]:
        """As last parsed, by machine, without machines whose counters were not read."""
        return files.read_lines(self.folder / "network.jsonl", NetworkBytes)

    def resources(self) -> list[ResourceUse]:
        """As last parsed, by machine, without machines that were not sampled."""
        return files.read_lines(self.folder / "resources.jsonl", ResourceUse)

    def verdicts(self) -> list[Verdict]:
        """As last checked; empty if it was never checked."""
        path = self.folder / "verdict.json"
        if not path.exists():
            return []
        try:
            return _VERDICTS.validate_json(path.read_bytes())
        except ValueError as error:
            raise DamagedFile(
                f"{path} is damaged: {error}", hint="run `nephoscope parse`, which writes it again"
            ) from error

    def finished(self) -> bool:
        """True if it was measured to its end, whatever the checks say."""
        status = self.status()
        return status is not None and status.state == "finished"

    def valid(self) -> bool:
        """True if it finished and every check found it valid."""
        verdicts = self.verdicts() if self.finished() else []
        return bool(verdicts) and all(row.verdict is VerdictKind.VALID for row in verdicts)

    def analysed_bytes(self) -> list[bytes]:
        """The verbatim input of an analysis: everything except raw output, plus the names of its files."""
        found = (path for path in self.folder.rglob("[!.]*") if self.raw_dir not in path.parents and path.is_file())
        return [part for path in sorted(found) for part in (path.name.encode(), path.read_bytes())]

    def raw(self) -> dict[str, bytes]:
        """Every raw file by its name; logs are not among them."""
        if not self.raw_dir.is_dir():
            return {}
        return {path.name: path.read_bytes() for path in sorted(self.raw_dir.iterdir()) if path.is_file()}

    def raw_digests(self) -> list[tuple[str, int, str]]:
        """Every raw file and log: path below `raw`, bytes, SHA-256."""
        found = sorted(path for path in self.raw_dir.rglob("*") if path.is_file())
        return [(path.relative_to(self.raw_dir).as_posix(), path.stat().st_size, _sha256(path)) for path in found]

    def _write_pairs(self, name: str, pairs: dict[str, str]) -> None:
        text = "".join(f"{key}\t{_escaped(pairs[key])}\n" for key in sorted(pairs))
        atomic.write_text(self.folder / name, text)

    def _pairs(self, name: str) -> dict[str, str] | None:
        path = self.folder / name
        if not path.exists():
            return None
        rows = (line.partition("\t") for line in path.read_text(encoding="utf-8").split("\n") if line)
        return {key: _unescaped(value) for key, _, value in rows}


def _or_none(path: Path, model: type[files.Value]) -> files.Value | None:
    return files.read(path, model) if path.exists() else None


_ESCAPES = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNESCAPES = {escape: character for character, escape in _ESCAPES.items()}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _escaped(value: str) -> str:
    """One field of a tab-separated line, with a server's text escaped."""
    return "".join(_ESCAPES.get(character, character) for character in value)


def _unescaped(field: str) -> str:
    return re.sub(r"\\[\\nrt]", lambda found: _UNESCAPES[found[0]], field)


def _safe(name: str) -> str:
    """A machine's name as a file name."""
    if not _SAFE_NAME.match(name):
        raise AssertionError(f"{name!r} cannot be a file name")
    return name
