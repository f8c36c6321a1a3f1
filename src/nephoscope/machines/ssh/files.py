"""Transfers over SSH: files by SFTP, lines as they arrive, and how both are stored here."""

import hashlib
import shlex
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from nephoscope.machines.ssh.link import MOST_BYTES, Link
from nephoscope.model.errors import NoSpaceOnMachine, OutputUnreadable, StorageFailed

if TYPE_CHECKING:
    import asyncssh

_COPY_TIMEOUT_S = 3600.0
_LOOK_TIMEOUT_S = 30.0
LONGEST_LINE_BYTES = 1 << 20


async def copied(link: Link, name: str, copy: Callable[..., object], local: Path, remote: str) -> bool:
    """Copies a file over SFTP by `copy`; False if the link broke before it finished.

    Raises:
        OutputUnreadable: the host has no such file or folder, or denies access.
        NoSpaceOnMachine: the host's disk is full.
        StorageFailed: the local file cannot be read or written.
    """
    import asyncssh

    try:
        return await link.copy(copy, timeout_s=_COPY_TIMEOUT_S)
    except (asyncssh.SFTPNoSuchFile, asyncssh.SFTPNoSuchPath) as error:
        raise OutputUnreadable(f"{remote} does not exist on {name}, or its folder does not") from error
    except asyncssh.SFTPError as error:
        full = isinstance(error, asyncssh.SFTPNoSpaceOnFilesystem) or await _is_full(link, remote)
        kind = NoSpaceOnMachine if full else OutputUnreadable
        raise kind(f"{remote} on {name} cannot be copied: {error.reason}") from error
    except OSError as error:
        raise StorageFailed.of(local, error) from error


async def fetched(remote: str, local: Path, client: "asyncssh.SFTPClient") -> None:
    """Copies a file from the host, unless it is larger than any tool's output: a host may have one without an end.

    Raises:
        OutputUnreadable: it is larger; nothing of it is kept.
    """

    def stop_at_bound(_source: bytes, _target: bytes, copied_bytes: int, whole_bytes: int) -> None:
        if max(copied_bytes, whole_bytes) > MOST_BYTES:
            raise OutputUnreadable(f"{remote} has more than {MOST_BYTES:,} bytes; it was not copied")

    try:
        await client.get(remote, str(local), follow_symlinks=True, progress_handler=stop_at_bound)
    except OutputUnreadable:
        local.unlink(missing_ok=True)
        raise


async def _is_full(link: Link, remote: str) -> bool:
    """SFTP version 3 has no error code for a full disk."""
    folder = shlex.quote(str(PurePosixPath(remote).parent))
    answer = await link.ask(f"df -Pk {folder} | tail -n 1", timeout_s=_LOOK_TIMEOUT_S)
    words = answer[1].split() if answer else []
    return len(words) > 3 and words[3] == b"0"


class Lines:
    """Cuts a stream into lines for a listener; each line once, no matter how it arrived. A very long one is cut."""

    def __init__(self, on_line: Callable[[str], None] | None) -> None:
        self._on_line = on_line
        self._partial = bytearray()
        self.seen_bytes = 0
        """Position in the stream where the next piece starts."""

    def feed(self, chunk: bytes) -> None:
        """The next piece of the stream."""
        self.seen_bytes += len(chunk)
        if self._on_line is None:
            return
        first, *others = chunk.split(b"\n")
        self._partial += first  # in place: a host may send byte by byte
        for other in others:
            self._hand_on(self._on_line)
            self._partial += other
        if len(self._partial) > LONGEST_LINE_BYTES:
            self._hand_on(self._on_line)

    def _hand_on(self, on_line: Callable[[str], None]) -> None:
        on_line(self._partial.decode(errors="replace"))
        self._partial.clear()

    def rest(self, whole: bytes) -> None:
        """The part of the whole output that was not passed on yet."""
        self.feed(whole[self.seen_bytes :])


def store(path: Path, content: bytes, *, append: bool = False) -> None:
    """Writes a local file.

    Raises:
        StorageFailed: it cannot be written.
    """
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("ab" if append else "wb") as file:
            file.write(content)
    except OSError as error:
        raise StorageFailed.of(path, error) from error


def sha256_of(file: Path) -> str:
    """Digest of a local file, in hexadecimal.

    Raises:
        StorageFailed: it cannot be read.
    """
    try:
        with file.open("rb") as content:
            return hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise StorageFailed.of(file, error) from error


def text(said: bytes) -> str:
    """The end of a tool's output, for a message."""
    return said.decode(errors="replace").strip()[-300:]
