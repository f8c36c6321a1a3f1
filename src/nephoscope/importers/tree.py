"""How importers look at other people's folders: regular files of that tree only, and never more of one than fits.

A tree may come from anybody. A link could lead to any file of this machine, a FIFO never ends, and a device may act
when it is opened.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from nephoscope.model.errors import PROCESS_HINTS, EnvironmentProblem, InputError, OutputUnreadable
from nephoscope.parsers.text import decoded

MAX_BYTES = 64 * 1024 * 1024
"""Size limit of a file: larger ones are raw series, not results."""
MAX_FILES = 1_000_000
MAX_TRIALS = 100_000
"""Of one import: two bytes may be a run, which costs kilobytes and a folder."""
DAMAGED = (OutputUnreadable, ValueError, ArithmeticError, LookupError, TypeError, RecursionError, OSError)
"""What reading one file of a stranger's may raise: it concerns that file only."""


def files_below(path: Path, *suffixes: str) -> Iterator[Path]:
    """Everything below a folder that is named like a file of results, sorted by path, or `path` itself if it is none.

    Links to folders are not followed. What is no regular file is not left out here: `content_of` says what it is.

    Args:
        path: a file or a folder.
        suffixes: in lower case, of the files wanted; none: all.

    Raises:
        InputError: there is nothing, or there are too many files.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist", hint="check the path")
    if not path.is_dir():
        yield path
        return
    found: list[Path] = []
    for folder, _, names in os.walk(path, onerror=_unreadable):
        found += [Path(folder, name) for name in names if not suffixes or Path(name).suffix.lower() in suffixes]
        if len(found) > MAX_FILES:
            raise InputError(f"{path} has more than {MAX_FILES:,} files", hint="import parts of it one by one")
    yield from sorted(found)


def require_importable(trials: int, path: Path) -> None:
    """Refuses more trials than an import may make, before they are made.

    Raises:
        InputError: there are more.
    """
    if trials > MAX_TRIALS:
        raise InputError(f"{path} has more than {MAX_TRIALS:,} runs", hint="import parts of it one by one")


def origin_of(file: Path, root: Path) -> str:
    """Where a file is in what was imported: its path below `root`, or its name if it is all that was imported."""
    return file.name if file == root else file.relative_to(root).as_posix()


def content_of(file: Path, root: Path, most_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file in the tree below `root`.

    Raises:
        OutputUnreadable: a folder, a FIFO, a device, a link out of the tree, too large, or not readable.
    """
    require_regular(file, root)
    try:
        # Without O_NONBLOCK, opening a FIFO waits for its writer, and one may have come since the check.
        descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        with os.fdopen(descriptor, "rb") as opened:
            about = os.fstat(descriptor)
            if about.st_size > most_bytes:
                raise OutputUnreadable(f"larger than {most_bytes // 1024**2} MiB")
            return opened.read(most_bytes)
    except OSError as error:
        _require_process(file, error)
        raise OutputUnreadable(f"cannot be read: {error.strerror or error}") from error


def is_regular(file: Path, root: Path) -> bool:
    """Whether `content_of` would read it, unless it is too large."""
    try:
        require_regular(file, root)
    except OutputUnreadable:
        return False
    return True


def text_of(file: Path, root: Path) -> str:
    """The same as text, as `decoded` reads it.

    Raises:
        OutputUnreadable: as `content_of`, or there are NUL characters in it.
    """
    text = decoded(content_of(file, root))
    if "\0" in text:
        raise OutputUnreadable("not text")
    return text


def why(error: Exception) -> str:
    """A sentence about a file that could not be imported, in one line and of bounded length."""
    said = error.message if isinstance(error, OutputUnreadable) else f"{type(error).__name__}: {error}"
    return " ".join(said.split())[:300]


def require_regular(file: Path, root: Path) -> None:
    """Checks a file before it is opened, as opening a device may act already.

    Raises:
        OutputUnreadable: it is no regular file, or leads out of the tree below `root`.
    """
    try:
        target = file.resolve(strict=True)
        kind = target.stat().st_mode
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        _require_process(file, error)
        raise OutputUnreadable("a broken link, or not readable") from error
    if file != root and not target.is_relative_to(root.resolve()):
        raise OutputUnreadable("a link to something outside the imported folder")
    if not stat.S_ISREG(kind):
        raise OutputUnreadable("not a regular file")


def _require_process(file: Path, error: Exception) -> None:
    """Ends the import when this process can read no file at all: it must not skip them one by one.

    Raises:
        EnvironmentProblem: it lacks memory, or may open no more files.
    """
    if isinstance(error, OSError) and error.errno in PROCESS_HINTS:
        raise EnvironmentProblem(f"{file} cannot be read: {error.strerror}", hint=PROCESS_HINTS[error.errno]) from error


def _unreadable(error: OSError) -> None:
    raise InputError(
        f"cannot read the folder {error.filename}: {error.strerror}", hint="make it readable, or move it away"
    ) from error
