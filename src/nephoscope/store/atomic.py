"""Atomic writes: a reader sees either the old bytes or the new ones, even after a power cut."""

import ctypes
import os
from pathlib import Path

from nephoscope.model.errors import StorageFailed


def write_bytes(path: Path, content: bytes, *, sync: bool = True) -> None:
    """Replaces `path` by `content`: temporary file, fsync, rename, fsync of the folder, which is made if it is new.

    The folder above that must exist: a results folder that was moved away must not come back by itself. Without `sync`
    a power cut may lose the new bytes until `sync_all` returns; a kill loses nothing.

    Raises:
        StorageFailed: the disk is full, read-only or broken; the old file is untouched.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(exist_ok=True)
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:  # never a file behind a link of that name
            file.write(content)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if sync:
            sync_folder(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageFailed.of(path, error) from error


def write_text(path: Path, content: str, *, sync: bool = True) -> None:
    """As `write_bytes`, in UTF-8."""
    write_bytes(path, content.encode(), sync=sync)


def sync_file(path: Path) -> None:
    """Makes what was appended to `path` durable.

    Raises:
        StorageFailed: the disk reports an error.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageFailed.of(path, error) from error


def sync_folder(folder: Path) -> None:
    """Makes renames and new names in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(folder: Path) -> None:
    """Makes everything durable that was written to the file system of a folder: once, instead of file by file.

    Raises:
        StorageFailed: the disk reports an error.
    """
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:  # not Linux
        os.sync()
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if syncfs(descriptor) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StorageFailed.of(folder, error) from error
