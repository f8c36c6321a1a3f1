"""What `status` says of each trial, and that the stored analysis is of them, for as long as no file of theirs changes.

`index.json` in the results folder remembers both, with what the files looked like. It can be deleted at any time.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from nephoscope.model.errors import InputError, StorageFailed
from nephoscope.model.frozen import Frozen
from nephoscope.model.rows import TrialRow
from nephoscope.store import atomic, files

NAME = "index.json"
_STATES = "states.jsonl"
"""Of a trial, and no part of its row: it grows while the row stays the same."""
_OF_STUDY = ("plan.json", "study.toml", "source.json")
_OF_USER = ("prices.csv", "claims.toml")
"""What an analysis reads besides."""
_Seen = tuple[str, int, int, int, int] | tuple[str]


class Known(Frozen):
    """What was found of one trial, and what its files looked like then."""

    stamp: str
    row: TrialRow
    spent_usd: float | None
    """By its attempts; None: one of them is still open."""


class Analysed(Frozen):
    """Which analysis is stored, and what everything that it was made from looked like before it was read."""

    stamp: str
    """See `stamp_of_inputs`."""
    sha256: str
    """Of analysis.json."""


class _Index(Frozen):
    schema_: Literal["nephoscope/index/1"] = Field(default="nephoscope/index/1", alias="schema")
    about: str = ""
    priced: bool = False
    trials: dict[str, Known | None] = {}
    analysed: Analysed | None = None


@dataclass(frozen=True)
class Remembered:
    """The trials of a plan, with those of which nothing has changed."""

    about: str
    """Differs if the plan, the study, its looks or the version of nephoscope does."""
    priced: bool
    """True if a trial of the plan has a price."""
    trials: Mapping[str, Known | None]
    """Every trial in the plan's order. None: it must be read again."""


def about(results: Path, version: str, also: Iterable[str] = ()) -> str:
    """What all rows depend on, without reading the plan, which takes a second for a large study.

    `also`: names of further files of the folder.
    """
    seen: list[_Seen] = [one for name in (*_OF_STUDY, *also) if (one := _look(results / name))]
    _walk(str(results / "looks"), "looks/", seen)
    return _digest([*seen, (version,)])


def remembered(results: Path, now: str) -> Remembered | None:
    """What is still so; None: nothing is remembered, or it is about something else than `now` (see `about`)."""
    found = _read(results)
    return Remembered(found.about, found.priced, found.trials) if found.about == now else None


def save(results: Path, found: Remembered) -> None:
    """Remembers it. A folder that cannot be written to is read again the next time."""
    update = {"about": found.about, "priced": found.priced, "trials": dict(found.trials)}
    _write(results, _read(results).model_copy(update=update))


def analysed(results: Path) -> Analysed | None:
    """What the stored analysis was made from; None: not known."""
    return _read(results).analysed


def save_analysed(results: Path, found: Analysed) -> None:
    """Remembers it. In a folder that cannot be written to, everything is read again the next time."""
    _write(results, _read(results).model_copy(update={"analysed": found}))


def _read(results: Path) -> _Index:
    try:
        return files.read(results / NAME, _Index)
    except (OSError, InputError):
        return _Index()


def _write(results: Path, index: _Index) -> None:
    with suppress(StorageFailed):
        atomic.write_text(results / NAME, index.model_dump_json(by_alias=True) + "\n")


def forget(results: Path) -> None:
    """Deletes it, because files differ that look as they did."""
    (results / NAME).unlink(missing_ok=True)


def stamps(results: Path, trials: Iterable[str]) -> dict[str, str]:
    """Trial -> a text that differs if size, times, inode or name of one of its files does; '' cannot be read."""
    return {trial: _stamp(f"{results}/trials/{trial}") for trial in trials}


def stamp_of_inputs(results: Path, version: str, trials: Iterable[str]) -> str:
    """Differs if one of the files does that an analysis of these trials reads; reads none. '' one cannot be read.

    `version`: of nephoscope and its tables.
    """
    found = stamps(results, trials)
    seen: list[_Seen] = [(f"{trial} {stamp}",) for trial, stamp in found.items()]
    return _digest([*seen, (about(results, version, also=_OF_USER),)]) if all(found.values()) else ""


def _stamp(folder: str) -> str:
    seen: list[_Seen] = []
    try:
        _walk(folder, "", seen)
    except OSError:
        return ""
    return _digest(seen)


def _digest(seen: list[_Seen]) -> str:
    seen.sort()
    return hashlib.blake2b(repr(seen).encode(), digest_size=16).hexdigest()


def _walk(folder: str, below: str, seen: list[_Seen]) -> None:
    """Adds everything that is not hidden, and follows no link; a folder that is not there has nothing."""
    try:
        found = os.scandir(folder)
    except FileNotFoundError:
        return
    with found:
        for entry in found:
            name = entry.name
            if name[0] == "." or name == _STATES:
                continue
            if entry.is_dir(follow_symlinks=False):
                seen.append((f"{below}{name}/",))
                _walk(entry.path, f"{below}{name}/", seen)
            else:
                of = entry.stat(follow_symlinks=False)
                seen.append((below + name, of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino))


def _look(path: Path) -> _Seen | None:
    try:
        of = path.stat()
    except OSError:
        return None
    return path.name, of.st_size, of.st_mtime_ns, of.st_ctime_ns, of.st_ino
