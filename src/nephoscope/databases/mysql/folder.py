"""The folder of nephoscope's MariaDB or MySQL server: the files it works on, and data sets as copies of them.

Each start begins with a copy, of a data set or of a new server, so that nothing of an earlier trial is left. A copy
shares no blocks with what it was made from: else each first write of a trial would find itself a new block.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from nephoscope.databases.mysql.galera import OF_A_CLUSTER
from nephoscope.databases.mysql.programs import NAMES, Programs
from nephoscope.databases.programs import execute
from nephoscope.machines.remote import Command, MachineHandle
from nephoscope.model.errors import DatabaseFailed

_MAKE_TIMEOUT_S = 300.0
_LOOK_TIMEOUT_S = 30.0
_COPY = """
set -eu
rm -rf "$2" "$2.part"
mkdir -p "$(dirname "$2")"
cp -a --reflink=never -- "$1" "$2.part"
sync -f "$2.part"
mv -- "$2.part" "$2"
"""
"""The rename commits; nothing of it is left to be written when it ends."""
_SHAPES_FILES = re.compile(
    r"innodb_(page_size|log_file.*|redo_log.*|undo.*|checksum.*|encrypt.*|compression.*|default_row_format"
    r"|file_per_table)|lower_case_table_names|character_set_server|collation_server|.*_encrypt.*"
)
"""Settings that a server's files depend on, so that others need files of their own."""


@dataclass(frozen=True)
class DataFolder:
    """Of one server."""

    machine: MachineHandle
    programs: Programs
    settings: Mapping[str, str]
    servers: int = 1
    """Of the cluster that it is in: keys that the servers of one give differ from those of one alone."""

    @property
    def root(self) -> str:
        """Where everything is."""
        return f"{self.machine.data_dir}/{self.programs.product}"

    @property
    def data(self) -> str:
        """What the server works on."""
        return f"{self.root}/data"

    async def has(self, name: str) -> bool:
        """Whether a data set is kept."""
        there = ["test", "-d", self._kept(name)]
        command = Command(there, timeout_s=_LOOK_TIMEOUT_S, pinned=False)
        return (await self.machine.remote.execute(command)).exit_code == 0

    async def forget(self, name: str) -> None:
        """Deletes a data set, if it is kept."""
        await execute(self.machine, "rm", "-rf", self._kept(name))

    async def keep(self, name: str) -> None:
        """Copies what the stopped server worked on, without what it knew of its cluster."""
        await execute(self.machine, "rm", "-f", *(f"{self.data}/{file}" for file in OF_A_CLUSTER))
        await execute(self.machine, "sh", "-c", _COPY, "copy", self.data, self._kept(name))

    async def use(self, name: str) -> None:
        """Replaces what the stopped server worked on by a copy."""
        await execute(self.machine, "sh", "-c", _COPY, "copy", self._kept(name), self.data)

    async def use_new(self) -> None:
        """Replaces it by that of a new server, which is made once.

        Raises:
            DatabaseFailed: it cannot be made.
        """
        name = "new"
        if not await self.has(name):
            await execute(self.machine, "rm", "-rf", self.data)
            await execute(self.machine, "mkdir", "-p", "-m", "700", self.root)
            await self._make()
            await self.keep(name)
        await self.use(name)

    async def _make(self) -> None:
        options = [f"--{name}={value}" for name, value in self._shaping().items()]
        argv = self.programs.make(self.data, options)
        completed = await self.machine.remote.execute(Command(argv, timeout_s=_MAKE_TIMEOUT_S, pinned=False))
        if completed.exit_code != 0:
            said = (completed.stderr + completed.stdout).decode(errors="replace").strip()[-600:]
            raise DatabaseFailed(
                f"the data folder of a new {NAMES[self.programs.product]} server cannot be made on "
                f"{self.machine.name}: {said}",
                hint="run as an ordinary user, or allow user namespaces (sysctl user.max_user_namespaces)",
            )

    def _shaping(self) -> Mapping[str, str]:
        return {name: self.settings[name] for name in sorted(self.settings) if _SHAPES_FILES.fullmatch(name)}

    def _kept(self, name: str) -> str:
        shape = hashlib.sha256(repr(self._shaping()).encode()).hexdigest()[:8]
        of = f"-of-{self.servers}" if self.servers > 1 else ""
        return f"{self.root}/sets/{name}-{self.programs.version}-{shape}{of}"
