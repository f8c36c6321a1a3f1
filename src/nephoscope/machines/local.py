"""This machine as a `Remote`: child processes with CPU affinity that cannot outlive the controller.

Every child gets its own session (so that a kill reaches all it started) and a parent-death signal through `setpriv`
(so that a controller killed with -9 leaves nothing running). The kernel sends that signal only for a parent that dies
later, so a child whose parent is dead already ends itself.
"""

import asyncio
import os
import shutil
import signal as signals
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from nephoscope.machines.remote import Background, Command, Completed, install_hint
from nephoscope.model.errors import OutputUnreadable, StorageFailed, ToolMissing, ToolTimedOut

_KILL_WAIT_S = 5.0
_READ_BYTES = 1 << 16
_UNLESS_ORPHAN = ("sh", "-c", '[ "$PPID" = "$1" ] || exit 137; shift; exec "$@"', "sh")
"""Then the id of the controller's process, and a program with its arguments."""


def dying_with_us() -> tuple[str, ...]:
    """What to write before a program and its arguments, so that it ends when this process does, however it ends."""
    return ("setpriv", "--pdeathsig", "KILL", "--", *_UNLESS_ORPHAN, str(os.getpid()))


class LocalRemote:
    """Runs commands here, pinned to `cpus` on request."""

    def __init__(self, cpus: Sequence[int], inside: Sequence[str] = ()) -> None:
        """It.

        Args:
            cpus: ids of the CPUs that commands may use.
            inside: a program that runs another one, with its arguments, as `ip netns exec NAME`.
        """
        self._cpus = tuple(cpus)
        self._inside = tuple(inside)

    async def execute(self, command: Command, *, save_as: Path | None = None) -> Completed:
        """See `Remote.execute`."""
        started = time.monotonic()
        argv, timeout_s = command.argv, command.timeout_s
        process = await self._spawn(argv, command.environment, pinned=command.pinned, stdout=asyncio.subprocess.PIPE)
        out = _Sink(save_as and save_as.with_name(save_as.name + ".stdout"), command.on_line)
        err = _Sink(save_as and save_as.with_name(save_as.name + ".stderr"), None)
        try:
            async with asyncio.timeout(timeout_s):
                await asyncio.gather(
                    _feed(process.stdin, command.stdin), _drain(process.stdout, out), _drain(process.stderr, err)
                )
                exit_code = await process.wait()
        except TimeoutError as error:
            said = err.content().decode(errors="replace").strip()[-300:]
            raise ToolTimedOut(
                f"{argv[0]} did not finish within {timeout_s:.0f} s and was "
                f"killed{f'; it said: {said}' if said else ''}",
                hint="check its raw output; if the machine is just slow, give it more time in the study",
            ) from error
        finally:
            await _end(process, signals.SIGKILL, 0)
            with suppress(TimeoutError):  # the output of a killed tool is kept, and its pipes are read to the end
                async with asyncio.timeout(_KILL_WAIT_S):
                    await asyncio.gather(_drain(process.stdout, out), _drain(process.stderr, err))
            out.close()
            err.close()
        return Completed(tuple(argv), exit_code, out.content(), err.content(), time.monotonic() - started)

    async def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        errors: Path | None = None,
        environment: Mapping[str, str] | None = None,
        pinned: bool = True,
    ) -> Background:
        """See `Remote.start`."""
        with _opened(log) as out, _opened(errors or log) as err:
            process = await self._spawn(argv, environment, pinned=pinned, stdout=out, stderr=err)
        return _LocalBackground(process)

    async def own_processes(self) -> str:
        """See `KnowsItsProcesses`: every command is a child of this process, and so is the sampler."""
        return "parent"

    async def upload(self, local: Path, remote: str) -> None:
        """See `Remote.upload`."""
        try:
            await asyncio.to_thread(shutil.copyfile, local, remote)
        except OSError as error:
            raise StorageFailed.of(Path(remote), error) from error

    async def download(self, remote: str, local: Path) -> None:
        """See `Remote.download`."""
        try:
            await asyncio.to_thread(shutil.copyfile, remote, local)
        except FileNotFoundError as error:
            raise OutputUnreadable(f"{remote} is missing: the tool that should have written it did not") from error
        except OSError as error:
            if error.filename == remote:
                raise OutputUnreadable(f"{remote} cannot be read: {error.strerror}") from error
            raise StorageFailed.of(local, error) from error

    async def _spawn(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str] | None,
        *,
        pinned: bool,
        stdout: int | IO[bytes],
        stderr: int | IO[bytes] = asyncio.subprocess.PIPE,
    ) -> asyncio.subprocess.Process:
        if shutil.which(argv[0]) is None:
            raise ToolMissing(f"{argv[0]} is not installed", hint=install_hint(argv[0]))
        pin = ("taskset", "--cpu-list", ",".join(map(str, self._cpus))) if pinned else ()
        return await asyncio.create_subprocess_exec(
            *dying_with_us(),
            *pin,
            *self._inside,
            *argv,
            stdin=asyncio.subprocess.PIPE if stdout is asyncio.subprocess.PIPE else asyncio.subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env={**_inherited(), "LC_ALL": "C", **(environment or {})},
            start_new_session=True,
        )


def _opened(log: Path) -> IO[bytes]:
    try:
        log.parent.mkdir(exist_ok=True)
        return log.open("ab")
    except OSError as error:
        raise StorageFailed.of(log, error) from error


def _inherited() -> dict[str, str]:
    """Our environment without libpq's variables: the shell's PGOPTIONS or PGHOSTADDR would reach only some tools."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PG")}


class _LocalBackground:
    """A child that keeps running."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    def running(self) -> bool:
        return self._process.returncode is None

    async def stop(self, *, signal: int, timeout_s: float) -> int | None:
        return await _end(self._process, signal, timeout_s)


class _Sink:
    """Copies a stream: into memory, into a file as it arrives, and line by line to a listener."""

    def __init__(self, path: Path | None, on_line: Callable[[str], None] | None) -> None:
        self._path = path
        self._file = None
        self._on_line = on_line
        self._chunks: list[bytes] = []
        self._partial = b""
        if path is not None:
            try:
                path.parent.mkdir(exist_ok=True)
                self._file = path.open("wb", buffering=0)
            except OSError as error:
                raise StorageFailed.of(path, error) from error

    def write(self, chunk: bytes) -> None:
        self._chunks.append(chunk)
        if self._file is not None and self._path is not None:
            try:
                self._file.write(chunk)
            except OSError as error:
                raise StorageFailed.of(self._path, error) from error
        if self._on_line is not None:
            *lines, self._partial = (self._partial + chunk).split(b"\n")
            for line in lines:
                self._on_line(line.decode(errors="replace"))

    def content(self) -> bytes:
        return b"".join(self._chunks)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


async def _feed(stream: asyncio.StreamWriter | None, content: bytes) -> None:
    if stream is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):  # a tool need not read its input
        stream.write(content)
        await stream.drain()
    stream.close()
    with suppress(BrokenPipeError, ConnectionResetError):
        await stream.wait_closed()


async def _drain(stream: asyncio.StreamReader | None, sink: _Sink) -> None:
    while stream is not None and (chunk := await stream.read(_READ_BYTES)):
        sink.write(chunk)


async def _end(process: asyncio.subprocess.Process, signal: int, timeout_s: float) -> int | None:
    """Ends a process, then whatever is left of its session; None if it had to be killed."""
    killed = False
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.send_signal(signal)
        try:
            async with asyncio.timeout(timeout_s or _KILL_WAIT_S):
                await process.wait()
        except TimeoutError:
            killed = True
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signals.SIGKILL)
    await process.wait()
    return None if killed else process.returncode
