"""Files with passwords of servers, on machines that others use too."""

import asyncio
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from nephoscope.databases.programs import write_secret
from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Command, Completed
from tests.support.local_remote import this_machine


class Watched(LocalRemote):
    """Looks at who may read a file, whenever a command starts and when it has ended."""

    def __init__(self, file: Path) -> None:
        super().__init__((0,))
        self.file = file
        self.modes: list[int] = []

    def look(self) -> None:
        if self.file.exists():
            self.modes.append(self.file.stat().st_mode & 0o777)

    @override
    async def execute(self, command: Command, *, save_as: Path | None = None) -> Completed:
        self.look()
        completed = await super().execute(command, save_as=save_as)
        self.look()
        return completed


def test_a_secret_is_nobody_elses_at_any_moment(tmp_path: Path) -> None:
    remote = Watched(tmp_path / "secret")
    machine = replace(this_machine(tmp_path), remote=remote)
    for text in ("first", "second"):
        asyncio.run(write_secret(machine, str(remote.file), text))
        assert remote.file.read_text() == text
    assert set(remote.modes) == {0o600}


def test_a_file_that_everybody_could_read_is_replaced(tmp_path: Path) -> None:
    remote = Watched(tmp_path / "secret")
    remote.file.write_text("old")
    with remote.file.open() as reader:
        asyncio.run(write_secret(replace(this_machine(tmp_path), remote=remote), str(remote.file), "new"))
        assert reader.read() == "old", "who has opened it reads nothing of the new one"
    assert remote.modes[-1] == 0o600
