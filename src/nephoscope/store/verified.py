"""Which attempts were compared with their digests already: files that have not been touched since are not read again.

`verified.json` in the results folder remembers what was found. It can be deleted at any time.
"""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from nephoscope.model.errors import InputError, StorageFailed, not_read
from nephoscope.model.frozen import Frozen
from nephoscope.store import atomic, digests
from nephoscope.store.attempt import Attempt
from nephoscope.store.digests import RAW, STATUS, Difference, How
from nephoscope.store.files import MEND, read


@dataclass(frozen=True)
class Seen:
    """The files of an attempt as they look."""

    files: Mapping[str, os.stat_result]
    """By their paths below its folder."""
    stamp: str
    """Differs if one of them does."""

    @property
    def committed(self) -> bool:
        """Whether its trial ended: then it has all of its files."""
        return STATUS in self.files


@dataclass(frozen=True)
class Checked:
    """What a comparison of one attempt with its digests found."""

    has_digests: bool
    """False: most changes of the attempt cannot be noticed."""
    differences: tuple[Difference, ...] = ()
    bytes_of: Mapping[str, int] = field(default_factory=dict)
    """Size of each of its files, by the path below its folder."""

    @property
    def raw_bytes(self) -> Mapping[str, int]:
        """Size of each raw file and log, by its path below `raw`."""
        return {name.removeprefix(RAW): size for name, size in self.bytes_of.items() if name.startswith(RAW)}

    @property
    def altered(self) -> tuple[Difference, ...]:
        """Those of files that are used: the attempt must not count."""
        return tuple(one for one in self.differences if one.used)


class _Difference(Frozen):
    file: str
    how: How
    used: bool


class _Known(Frozen):
    """What was found, and what the attempt's files looked like then."""

    stamp: str
    has_digests: bool
    differences: list[_Difference]

    def checked(self, files: Mapping[str, os.stat_result]) -> Checked:
        return Checked(
            self.has_digests,
            tuple(Difference(one.file, one.how, one.used) for one in self.differences),
            {name: of.st_size for name, of in files.items()},
        )


class _Memory(Frozen):
    schema_: Literal["nephoscope/verified/1"] = Field(default="nephoscope/verified/1", alias="schema")
    attempts: dict[str, _Known]


class Verifier:
    """Compares attempts with their digests, and remembers what it found.

    An attempt is compared again if size, times or inode of one of its files has changed. Whoever sets all of them back
    goes unnoticed until the next `nephoscope verify`, which reads every file.
    """

    def __init__(self, results: Path, *, afresh: bool = False) -> None:
        """`afresh`: nothing that was remembered is believed."""
        self._prefix = f"{results}/"  # for 10,000 attempts, Path.relative_to takes 0.1 s
        self._path = results / "verified.json"
        self._before = {} if afresh else _remembered(self._path)
        self._now: dict[str, _Known] = {}

    def check(self, attempt: Attempt, seen: Seen | None = None) -> Checked | None:
        """None: it is not committed. `seen`: its files, if somebody has looked at them already.

        Raises:
            DamagedFile: its folder or its `status.json` cannot be read.
            EnvironmentProblem: this process may open no more files.
        """
        seen = look(attempt) if seen is None else seen
        if not seen.committed:
            return None
        name = str(attempt.folder).removeprefix(self._prefix)
        known = self._before.get(name)
        if known is None or known.stamp != seen.stamp:
            try:
                known = _compared(attempt, seen)
            except OSError as error:
                path = error.filename or attempt.folder
                raise not_read(path, error, hint=MEND) from error
        self._now[name] = known
        return known.checked(seen.files)

    def save(self) -> None:
        """Remembers everything that was checked. A folder that cannot be written to is read again the next time."""
        new = {**self._before, **self._now}
        if new == self._before:
            return
        try:
            atomic.write_text(self._path, _Memory(attempts=new).model_dump_json(by_alias=True) + "\n")
        except StorageFailed:
            return


def _remembered(path: Path) -> dict[str, _Known]:
    try:
        return read(path, _Memory).attempts
    except (OSError, InputError):
        return {}


def _compared(attempt: Attempt, seen: Seen) -> _Known:
    committed, found = attempt.committed(), attempt.differences(seen.files)
    return _Known(
        stamp=seen.stamp,
        has_digests=committed is not None and committed.files is not None,
        differences=[_Difference(file=one.file, how=one.how, used=one.used) for one in found],
    )


def look(attempt: Attempt) -> Seen:
    """Every file of the attempt, with the definition of its trial.

    Raises:
        DamagedFile: its folder cannot be read.
    """
    try:
        files = digests.seen(attempt.folder)
    except OSError as error:
        raise not_read(attempt.folder, error, hint=MEND) from error
    lines = sorted((name, of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino) for name, of in files.items())
    return Seen(files, hashlib.blake2b(repr(lines).encode(), digest_size=16).hexdigest())
