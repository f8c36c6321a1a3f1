"""Real parts that a test may lack: says why it skips, and never skips silently in CI where they must be there."""

import os
import shutil
from functools import cache
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.databases.mysql.galera import LIBRARIES
from nephoscope.databases.postgres.binaries import embedded_folder


@cache
def _missing(what: str) -> bool:
    if what == "nephoscope-load":
        return shutil.which(load_program()) is None
    if what == "postgres":
        return embedded_folder() is None or _missing("nephoscope-load")  # which asks it
    if what == "galera":
        return not any(Path(library).exists() for library in LIBRARIES)
    return shutil.which(what) is None


SERVERS = frozenset({"postgres", "mariadbd", "redis-server"})
"""Tests that need one of these are tests of `make test-whole`."""


def needs(*parts: str) -> pytest.MarkDecorator:
    """Skips where a part is missing; in CI (environment variable CI) that is a failure of the set-up, so it runs."""
    return pytest.mark.needs(*parts)


def prepare(item: pytest.Item) -> None:
    """Does what the test's marks of `needs` say."""
    parts = {part for mark in item.iter_markers("needs") for part in mark.args}
    missing = sorted(part for part in parts if _missing(part))
    if missing and not os.environ.get("CI"):
        item.add_marker(pytest.mark.skip(f"{', '.join(missing)} not installed"))
    if parts & SERVERS:
        item.add_marker("whole")


def needs_server_in(variable: str) -> list[pytest.MarkDecorator]:
    """Marks of slow tests that drive a server no registry carries: skips if the variable does not name its program."""
    missing = pytest.mark.skipif(not os.environ.get(variable), reason=f"{variable} names no program")
    return [pytest.mark.slow, needs("nephoscope-load"), missing]
