"""Real parts that a test may lack: says why it skips, and never skips silently in CI where they must be there."""

import os
import shutil
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.databases.mysql.galera import LIBRARIES
from nephoscope.databases.postgres.binaries import embedded_folder


def _missing(what: str) -> bool:
    if what == "nephoscope-load":
        return shutil.which(load_program()) is None
    if what == "postgres":
        return embedded_folder() is None or _missing("nephoscope-load")  # which asks it
    if what == "galera":
        return not any(Path(library).exists() for library in LIBRARIES)
    return shutil.which(what) is None


def needs(*parts: str) -> pytest.MarkDecorator:
    """Skips where a part is missing; in CI (environment variable CI) that is a failure of the set-up, so it runs."""
    missing = [part for part in parts if _missing(part)]
    reason = f"{', '.join(missing)} not installed"
    return pytest.mark.skipif(bool(missing) and not os.environ.get("CI"), reason=reason)


def needs_server_in(variable: str) -> list[pytest.MarkDecorator]:
    """Marks of slow tests that drive a server no registry carries: skips if the variable does not name its program."""
    missing = pytest.mark.skipif(not os.environ.get(variable), reason=f"{variable} names no program")
    return [pytest.mark.slow, needs("nephoscope-load"), missing]
