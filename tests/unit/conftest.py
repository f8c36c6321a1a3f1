"""Unit tests write to memory: what is stored is synced many times a trial, and none of them has to wait for a disk."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")
"""A file system in memory, where there is one."""


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory; on disk where memory cannot hold files."""
    if not os.access(_MEMORY, os.W_OK):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="nephoscope-test-", dir=_MEMORY))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
