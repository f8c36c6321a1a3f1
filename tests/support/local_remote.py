"""A tiny Remote on this machine, for tests of what speaks to the port; the one that ships is tested by itself."""

import asyncio
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from nephoscope.errors import ToolMissing, ToolTimedOut
from nephoscope.machines.remote import Background, Completed, MachineHandle


class TinyRemote:
    """Executes; neither pins nor starts anything."""

    async def execute(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        stdin: bytes = b"",
        environment: Mapping[str, str] | None = None,
        save_as: Path | None = None,
        on_line: Callable[[str], None] | None = None,
        pinned: bool = True,
    ) -> Completed:
        if shutil.which(argv[0]) is None:
            raise ToolMissing(f"{argv[0]} is not installed")
        started = time.monotonic()
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=None if environment is None else {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", **environment},
        )
        try:
            stdout, stderr = await asyncio.wait_for(process.communicate(stdin), timeout_s)
        except TimeoutError:
            process.kill()
            await process.wait()
            raise ToolTimedOut(f"{argv[0]} did not end in {timeout_s} s") from None
        assert process.returncode is not None
        if save_as is not None:
            save_as.with_name(save_as.name + ".stdout").write_bytes(stdout)
            save_as.with_name(save_as.name + ".stderr").write_bytes(stderr)
        return Completed(tuple(argv), process.returncode, stdout, stderr, time.monotonic() - started)

    async def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        errors: Path | None = None,
        environment: Mapping[str, str] | None = None,
        pinned: bool = True,
    ) -> Background:
        raise NotImplementedError

    async def upload(self, local: Path, remote: str) -> None:
        shutil.copyfile(local, remote)

    async def download(self, remote: str, local: Path) -> None:
        shutil.copyfile(remote, local)


def this_machine(data_dir: Path, cpus: tuple[int, ...] = (0,)) -> MachineHandle:
    return MachineHandle(name="here", remote=TinyRemote(), address="127.0.0.1", cpus=cpus, data_dir=str(data_dir))
