"""What the stored analysis was made from, as its files looked then: while they look the same, none is read again.

`made-from.json` in the results folder remembers it. It can be deleted at any time.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from pydantic import Field

from nephoscope.model.errors import InputError, StorageFailed
from nephoscope.model.frozen import Frozen
from nephoscope.store import atomic, files, index
from nephoscope.store.folder import ResultsFolder
from nephoscope.store.verified import look

NAME = "made-from.json"
_OF_USER = ("prices.csv", "claims.toml")


class _MadeFrom(Frozen):
    schema_: Literal["nephoscope/made-from/1"] = Field(default="nephoscope/made-from/1", alias="schema")
    stamp: str
    inputs_digest: str


class Looks:
    """Everything that an analysis reads, as it looks before it is read: what changes meanwhile must differ later."""

    def __init__(self, results: Path, version: str) -> None:
        """`version`: of nephoscope and its tables."""
        self._found = hashlib.blake2b(index.about(results, version, also=_OF_USER).encode(), digest_size=16)

    def add(self, attempts: Iterable[str]) -> None:
        """A planned trial, in the plan's order, by the stamps of its attempts."""
        self._found.update(f"{' '.join(attempts)}\n".encode())

    @property
    def stamp(self) -> str:
        """Differs if the size, times, inode or name of one of the files does."""
        return self._found.hexdigest()


def stamp_now(folder: ResultsFolder, trials: Iterable[str], version: str) -> str:
    """Of these trials as their files look now; reads none of them.

    Raises:
        DamagedFile: a folder cannot be read.
    """
    looks = Looks(folder.path, version)
    for name in trials:
        looks.add(look(attempt).stamp for attempt in folder.trial(name).attempts())
    return looks.stamp


def remembered(results: Path, stamp: str) -> str | None:
    """The digest of the inputs with this stamp; None: not known."""
    try:
        found = files.read(results / NAME, _MadeFrom)
    except (OSError, InputError):
        return None
    return found.inputs_digest if found.stamp == stamp else None


def remember(results: Path, stamp: str, inputs_digest: str) -> None:
    """For the next time. In a folder that cannot be written to, everything is read again then."""
    try:
        atomic.write_text(
            results / NAME, _MadeFrom(stamp=stamp, inputs_digest=inputs_digest).model_dump_json(by_alias=True) + "\n"
        )
    except StorageFailed:
        return


def forget(results: Path) -> None:
    """Deletes it, because files differ that look as they did."""
    (results / NAME).unlink(missing_ok=True)
