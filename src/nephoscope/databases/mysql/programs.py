"""Where a machine has MariaDB or MySQL, and how each makes the folder of a new server."""

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from nephoscope.databases.programs import as_server_user
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed

Product = Literal["mariadb", "mysql"]
PRODUCTS: tuple[Product, ...] = ("mariadb", "mysql")
NAMES = {"mariadb": "MariaDB", "mysql": "MySQL"}

_LOOK_TIMEOUT_S = 30.0
_PACKAGES = {"mariadb": "apt-get install mariadb-server-core mariadb-client-core", "mysql": "install Oracle's packages"}
_LOOK = """
PATH="$PATH:/usr/sbin:/usr/local/sbin:/usr/libexec:/usr/local/mysql/bin"
id -u
for name in mariadbd mysqld; do
    program=$(command -v $name) && "$program" --version | head -n 1 && echo "$program"
done
exit 0
"""
_VERSION = re.compile(r"(?<!\d)(\d++)\.(\d++)\.(\d++)")


@dataclass(frozen=True)
class Programs:
    """A server as a machine has it."""

    product: Product
    server: str
    version: str
    """'10.11.19'."""
    by_root: bool

    def as_user(self, *argv: str) -> list[str]:
        """A command that the server accepts, whoever we are there."""
        return as_server_user(argv, by_root=self.by_root)

    def make(self, data: str, options: Sequence[str]) -> list[str]:
        """The command that makes the folder of a new server, with options that its files depend on."""
        if self.product == "mysql":
            return self.as_user(self.server, "--no-defaults", f"--datadir={data}", *options, "--initialize-insecure")
        # Of MariaDB's root account only the system's root may use it, and over a socket alone.
        quiet = ("--skip-test-db", "--skip-name-resolve", "--auth-root-authentication-method=socket")
        return self.as_user("mariadb-install-db", "--no-defaults", *quiet, f"--datadir={data}", *options)


def version_in(text: str) -> str:
    """'10.11.19' of what a server or its program says; empty: it says none."""
    found = _VERSION.search(text)
    return found[0] if found else ""


def product_in(text: str) -> Product:
    """Whose server says this of its version: MariaDB's has its name in it."""
    return "mariadb" if "mariadb" in text.lower() else "mysql"


def server_of_this_machine(product: Product) -> Programs:
    """What this machine has.

    Raises:
        DatabaseFailed: it has no such server.
    """
    said = subprocess.run(["sh", "-c", _LOOK], capture_output=True, text=True, check=False).stdout
    return _first(said, product, "this machine")


async def programs_on(machine: MachineHandle, product: Product) -> Programs:
    """What a machine has.

    Raises:
        DatabaseFailed: it has no such server.
    """
    looked = await machine.remote.execute(Command(["sh", "-c", _LOOK], timeout_s=_LOOK_TIMEOUT_S, pinned=False))
    return _first(looked.require().stdout.decode(errors="replace"), product, machine.name)


def _first(said: str, product: Product, machine: str) -> Programs:
    user, *lines = said.splitlines()
    for version, program in zip(lines[::2], lines[1::2], strict=False):
        if product_in(version) == product:
            return Programs(product, program, version_in(version), by_root=user == "0")
    raise DatabaseFailed(f"no {NAMES[product]} server was found on {machine}", hint=_PACKAGES[product])
