"""Digests of an attempt's files: what they were when it was committed, and how they differ from that now."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from nephoscope.model.errors import StorageFailed
from nephoscope.store import plain

STATUS = "status.json"
DERIVED = "derived"
"""Folder of an attempt with what was derived after it was committed; it has a `status.json` of its own."""
RAW = "raw/"
"""How the path of a raw file or log begins."""
INTENT = "../../trial.json"
"""The definition of the trial, as seen from an attempt's folder: each attempt writes it before it begins."""

_BYTES_AT_ONCE = 1 << 16
"""Most files are smaller; a larger buffer takes longer to allocate than such a file to read."""

How = Literal["changed", "missing", "added", "odd"]
_WORDS: Mapping[How, str] = {
    "changed": "was changed",
    "missing": "is missing",
    "added": "was added",
    "odd": "is a link, a file of holes or another special file, and is not read",
}


@dataclass(frozen=True)
class Difference:
    """A file that is not what it was when its attempt was committed."""

    file: str
    """Its path below the attempt's folder."""
    how: How
    used: bool = True
    """False: `parse` derived it again, so nothing reads it."""

    def __str__(self) -> str:
        """'measurements.jsonl was changed'."""
        said = f"{self.file.removeprefix('../../')} {_WORDS[self.how]}"
        return said if self.used else f"{said} (no longer used: it was derived again)"


def sha256(path: Path | str) -> str:
    """Of the content of a plain file.

    Raises:
        OSError: it cannot be read.
    """
    found = hashlib.sha256()
    descriptor = plain.open_itself(str(path), os.O_RDONLY)
    try:
        while content := os.read(descriptor, _BYTES_AT_ONCE):
            found.update(content)
    finally:
        os.close(descriptor)
    return found.hexdigest()


def walk(folder: Path | str, below: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Everything but folders that is not hidden, by its path below `folder`; temporary files are hidden.

    Links are not followed: what `plain.oddity` names must not be read.
    """
    with os.scandir(folder) as found:
        for entry in found:
            if entry.name.startswith("."):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from walk(entry.path, f"{below}{entry.name}/")
            else:
                yield f"{below}{entry.name}", entry.stat(follow_symlinks=False)


def seen(attempt: Path | str) -> dict[str, os.stat_result]:
    """Every file of an attempt as it looks, with the definition of its trial.

    Raises:
        OSError: its folder cannot be read.
    """
    found = dict(walk(attempt))
    with suppress(OSError):
        found[INTENT] = os.lstat(f"{attempt}/{INTENT}")  # for 10,000 attempts a Path takes a second
    return found


def digests_of(attempt: Path) -> dict[str, str]:
    """SHA-256 of everything that an attempt wrote, with its trial's definition, by the path below its folder.

    Raises:
        StorageFailed: a file cannot be read back, or the folder is gone.
    """
    try:
        names = sorted(name for name, _ in walk(attempt) if _of_the_trial(name))
        if (attempt / INTENT).is_file():
            names.append(INTENT)
        return {name: sha256(attempt / name) for name in names}
    except OSError as error:
        raise StorageFailed.of(Path(error.filename or attempt), error) from error


def differences(
    attempt: Path,
    files: Mapping[str, os.stat_result],
    stored: Mapping[str, str] | None,
    derived: Mapping[str, str],
    *,
    last: bool,
) -> list[Difference]:
    """How an attempt's files differ from their digests; reads all of them.

    Args:
        attempt: its folder.
        files: all that it has; see `seen`.
        stored: digests in its `status.json`; None: it has none.
        derived: digests of what was derived since, by the name of the file.
        last: no later attempt has written the trial's definition since.
    """
    listed = {**(stored or {}), **{f"{DERIVED}/{name}": digest for name, digest in derived.items()}}
    if not last:
        files = {name: about for name, about in files.items() if name != INTENT}
        listed.pop(INTENT, None)
    if stored is not None:  # else nobody knows which files there were
        listed.update((name, "") for name in files.keys() - listed.keys() if _of_the_trial(name))
    odd = {name for name, about in files.items() if plain.oddity(about)}
    found = [Difference(name, "odd") for name in odd]
    for name in listed.keys() - odd:
        how = _how(f"{attempt}/{name}", listed[name]) if name in files else "missing"
        if how is not None:
            found.append(Difference(name, how, used=name not in derived))
    return sorted(found, key=lambda one: one.file)


def _how(path: str, digest: str) -> How | None:
    """How a plain file differs from its digest, which is empty if there was no such file; None: it does not."""
    if not digest:
        return "added"
    return None if sha256(path) == digest else "changed"


def _of_the_trial(name: str) -> bool:
    return name != STATUS and not name.startswith(f"{DERIVED}/")
