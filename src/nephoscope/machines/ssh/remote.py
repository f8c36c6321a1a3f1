"""A machine over SSH as a `Remote`: agentless, with jobs that live on the host and not in the connection.

Every command is a job (see `ssh_jobs`): a folder made by an atomic `mkdir`, a session of its own, a deadline on the
host. A broken connection does not disturb it: the controller reconnects and waits. In a session (a trial's attempt) a
command saved under a name starts only once; the next controller finds it by that name. `end_all` ends whatever is left
when a host is released.
"""

import asyncio
import math
import secrets
import signal as signals
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePosixPath

from nephoscope.machines.remote import Background, Command, Completed, build_for, install_hint
from nephoscope.machines.ssh import jobs
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.files import Lines, copied, fetched, sha256_of, store, text
from nephoscope.machines.ssh.link import PATIENCE_S, Link
from nephoscope.machines.waiting import Clock, Tries
from nephoscope.model.errors import (
    EnvironmentProblem,
    MachineLost,
    NephoscopeError,
    NoSpaceOnMachine,
    OutputUnreadable,
    ToolMissing,
    ToolTimedOut,
)
from nephoscope.model.words import counted

SERVER_DEADLINE_S = 24 * 3600.0
"""A server on the host ends so long after its controller was there for the last time."""
_KEPT_PER_DEADLINE = 24
"""A controller that is there says so this often; each time costs the host some 10 ms of one CPU."""
_ASK_TIMEOUT_S = 30.0
_WORDS_BYTES = 1 << 16
"""Of the answer to a question of ours, which is a few words."""
_KILL_WAIT_S = 10.0
_COPY_TIMEOUT_S = 3600.0
_COPIES = 3
"""Tries of an upload, which begins anew each time."""
_NOT_EXECUTABLE = 126
"""A shell's exit code for a program that is there, but that the system does not start."""
_NO_SPACE = "No space left on device"


class SshRemote:
    """One host. `cpus` are those of the affinity mask; empty until `look` if the host offers all of its CPUs."""

    def __init__(
        self,
        name: str,
        address: SshAddress,
        clock: Clock,
        *,
        cpus: Sequence[int] = (),
        folder: str | None = None,
        carried: Collection[str] = (),
        session: str = "",
        patience_s: float = PATIENCE_S,
    ) -> None:
        """Connects to nothing yet.

        Args:
            name: of the machine, for messages.
            address: where it is.
            clock: of this machine.
            cpus: ids of the CPUs of the affinity mask; none: no mask.
            folder: nephoscope's folder on the host, for jobs and programs; default: ~/.nephoscope.
            carried: programs of this machine, by path, that are copied to the host when they first run there.
            session: of a trial's attempt; in it a command saved under a name starts only once.
            patience_s: how long the host may be unreachable during a job.
        """
        self.name = name
        self.cpus = tuple(cpus)
        self._clock = clock
        self._link = Link(address, clock, patience_s=patience_s)
        self._folder = folder
        self._carried = frozenset(carried)
        self._carrying = asyncio.Lock()
        self._there: dict[str, str] = {}
        self._starts: Counter[str] = Counter()
        self._look: jobs.HostLook | None = None
        self._session = session.replace("/", ".")
        self._patience_s = patience_s
        self._running: set[str] = set()
        """Folders of jobs that were begun here and not seen to end."""
        self._withdrawn: NephoscopeError | None = None

    # Remote

    async def execute(self, command: Command, *, save_as: Path | None = None) -> Completed:
        """See `Remote.execute`. In a session, a command saved under a name starts once; later calls wait for it.

        Raises:
            MachineUnreachable, AccessDenied, HostKeyRefused: the host cannot be reached or entered.
            MachineLost: it went away and did not come back.
            NoSpaceOnMachine: its disk is full.
        """
        started_s = time.monotonic()
        name = save_as.name if save_as else None
        spec = await self._spec(command, name)
        lines = Lines(command.on_line)
        self._running.add(spec.folder)
        live: asyncio.Task[None] | None = None
        try:
            end = await self._begin(spec, wait=command.on_line is None)
            if end is None:
                live = asyncio.create_task(self._live(spec.folder, lines)) if command.on_line else None
                end = await self._end_of(spec.folder, command.timeout_s)
        except (asyncio.CancelledError, MachineLost):
            with suppress(NephoscopeError):
                await self._kill(spec.folder)
            raise
        finally:
            self._running.discard(spec.folder)
            if live is not None:
                live.cancel()
                await asyncio.wait([live])
        lines.rest(end.stdout)
        if save_as is not None:
            store(save_as.with_name(f"{save_as.name}.stdout"), end.stdout)
            store(save_as.with_name(f"{save_as.name}.stderr"), end.stderr)
        duration_s = time.monotonic() - started_s
        exit_code = self._exit_code(command, end)
        return Completed(tuple(command.argv), exit_code, end.stdout, end.stderr, duration_s)

    async def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        errors: Path | None = None,
        environment: Mapping[str, str] | None = None,
        pinned: bool = True,
    ) -> Background:
        """See `Remote.start`. Its output comes here when it has ended: nothing crosses the wire while it runs.

        In a session the n-th start with a log also starts once: the next controller repeats the call and finds it.
        """
        number = self._starts[log.name]
        self._starts[log.name] += 1
        name = f"{log.name}.{number}"
        command = Command(argv, timeout_s=SERVER_DEADLINE_S, environment=environment or {}, pinned=pinned)
        spec = await self._spec(command, name)
        self._running.add(spec.folder)
        await self._begin(spec, wait=False)
        return _SshBackground(self, spec.folder, log, errors or log, append=number > 0)

    async def upload(self, local: Path, remote: str) -> None:
        """See `Remote.upload`: to a temporary name, compared by SHA-256, then renamed.

        Raises:
            MachineLost: it did not arrive whole in three tries.
        """
        wanted = await asyncio.to_thread(sha256_of, local)
        part = f"{remote}.{secrets.token_hex(4)}.part"
        async for _ in Tries(self._clock, _COPY_TIMEOUT_S, most=_COPIES):
            if not await copied(self._link, self.name, lambda client: client.put(str(local), part), local, remote):
                continue
            if await self._sha256_there(part) == wanted:
                await self._require(["mv", "-f", part, remote])
                return
        raise MachineLost(f"{local.name} was not copied completely to {self.name} in {_COPIES} tries")

    async def download(self, remote: str, local: Path) -> None:
        """See `Remote.download`. Of a symbolic link, as servers keep to their newest log, its file is copied.

        Raises:
            MachineLost: it did not come in the time of a copy, over as many connections as it took.
            OutputUnreadable: it does not exist, or is larger than any tool's output.
        """
        local.parent.mkdir(exist_ok=True)
        tries = Tries(self._clock, _COPY_TIMEOUT_S)
        async for _ in tries:
            if await copied(self._link, self.name, partial(fetched, remote, local), local, remote):
                return
        raise MachineLost(
            f"{remote} was not copied completely from {self.name} in {counted(tries.in_vain, 'try', 'tries')}"
        )

    # beyond the port `Remote`

    async def own_processes(self) -> str:
        """See `KnowsItsProcesses`: every command is a job with a session of its own."""
        return f"jobs:{await self._root()}/jobs"

    async def look(self) -> jobs.HostLook:
        """What the host reports about itself; queried once.

        Raises:
            ToolMissing: it lacks a tool that every job needs.
            OutputUnreadable: its login shell prints something else.
        """
        if self._look is None:
            _, answer, complaint = await self._words(jobs.probe_command())
            look = jobs.parse_look(answer, complaint)
            if look.missing:
                raise ToolMissing(
                    f"{look.missing[0]} is not installed on {self.name}", hint=install_hint(look.missing[0])
                )
            self._look = look
        return self._look

    async def ask(self, script: str, *arguments: str) -> str:
        """What a short shell script prints; it is not a job and leaves nothing there, so it may run twice."""
        return (await self._words(jobs.question(script, *arguments)))[1].decode(errors="replace")

    async def withdraw(self, why: NephoscopeError) -> None:
        """The host is no longer ours: ends our running jobs, and no others; they and all later ones fail with `why`."""
        self._withdrawn = why
        for folder in sorted(self._running):
            await self._kill(folder)

    async def end_all(self, *, keep: str = "") -> int:
        """Ends and removes our jobs on the host except those of the session `keep`; returns how many still ran."""
        return jobs.parse_ended((await self._words(jobs.end_all_command(f"{await self._root()}/jobs", keep)))[1])

    async def carry(self, program: Path) -> str:
        """Path of a program on the host; it is copied unless the host has the same bytes.

        Raises:
            EnvironmentProblem: it was copied but does not run.
        """
        digest = await asyncio.to_thread(sha256_of, program)
        there = f"{await self._root()}/programs/{digest[:16]}/{program.name}"
        if await self._sha256_there(there) != digest:
            await self._require(["mkdir", "-p", str(PurePosixPath(there).parent)])
            await self.upload(program, there)
            await self._require(["chmod", "755", there])
        try:
            said = await self.execute(Command([there, "--version"], timeout_s=_ASK_TIMEOUT_S, pinned=False))
        except ToolMissing:  # bash finds no program there where nothing may be executed; dash tries to start it
            said = None
        if said is None or said.exit_code == _NOT_EXECUTABLE:
            why = f": {text(said.stderr)}" if said is not None else ""
            raise EnvironmentProblem(
                f"{program.name} may not be executed in {await self._root()} on {self.name}{why}",
                hint="if that file system is mounted noexec, set `ssh.folder` in the study to a folder on another one",
            )
        if said.exit_code != 0:
            raise EnvironmentProblem(
                f"{program.name} does not run on {self.name}: {said.stderr.decode(errors='replace').strip()[-300:]}",
                hint="`make static` builds one that needs no libraries of the host",
            )
        return there

    async def close(self) -> None:
        """Ends the connections; jobs go on."""
        await self._link.close()

    # how

    async def _root(self) -> str:
        return self._folder or f"{(await self.look()).home}/.nephoscope"

    async def _spec(self, command: Command, name: str | None) -> jobs.JobSpec:
        if self._withdrawn is not None:
            raise self._withdrawn
        await self.look()
        program = await self._program(command.argv[0])
        pin = ("taskset", "--cpu-list", ",".join(map(str, self.cpus))) if command.pinned and self.cpus else ()
        root = f"{await self._root()}/jobs"
        own = name if name and self._session else secrets.token_hex(8)
        return jobs.JobSpec(
            root=root,
            folder=f"{root}/{self._session or 'job'}.{own}",
            tool=program,
            argv=(*pin, program, *command.argv[1:]),
            deadline_s=command.timeout_s,
            stdin=command.stdin,
            environment={"LC_ALL": "C", **command.environment},
        )

    async def _program(self, name: str) -> str:
        """Its name on the host: a copied program has another name, and is copied when first needed."""
        if name in self._carried:
            async with self._carrying:
                if name not in self._there:
                    self._there[name] = await self.carry(build_for(Path(name), (await self.look()).machine))
        return self._there.get(name, name)

    async def _begin(self, spec: jobs.JobSpec, *, wait: bool) -> jobs.JobEnd | None:
        """Starts a job, or finds the one with its name; returns how it ended, if it was awaited and the link held.

        A retry after a cut finds the job that the first call started.
        """
        timeout_s = _ASK_TIMEOUT_S + (spec.deadline_s if wait else 0)
        answer = await self._asked(spec.command(wait=wait), spec.input(), timeout_s=timeout_s)
        said = jobs.parse_start(answer[1])
        if said is None:
            if answer[1].startswith(jobs.ENDED):
                return jobs.parse_end(answer[1])
            raise MachineLost(f"{self.name} did not start {spec.tool}: {text(answer[2] or answer[1])}")
        word, why = said
        if word is jobs.Start.MISSING:
            raise ToolMissing(f"{spec.tool} is not installed on {self.name}", hint=install_hint(spec.tool))
        if word is jobs.Start.UNWRITABLE and _NO_SPACE in why:
            raise NoSpaceOnMachine(f"the disk of {self.name} is full: {why}", hint=f"free some space below {spec.root}")
        if word is jobs.Start.UNWRITABLE:
            raise EnvironmentProblem(
                f"{self.name} cannot store a job: {why}", hint=f"make {spec.root} writable for the user"
            )
        return None

    async def _end_of(self, folder: str, timeout_s: float) -> jobs.JobEnd:
        """Waits for a job over as many connections as it takes; `timeout_s` is infinite for a job that is kept.

        Raises:
            MachineLost: the job is gone, or the host does not answer long after the job's deadline.
        """
        tries = Tries(self._clock, timeout_s + self._patience_s)
        async for left_s in tries:
            answer = await self._link.ask(jobs.wait_command(folder), timeout_s=left_s)
            if answer is None:
                continue
            try:
                end = jobs.parse_end(answer[1])
            except OutputUnreadable as error:
                raise self._withdrawn or MachineLost(
                    f"{self.name}: {error.message}", hint="check the host's uptime: it may have restarted"
                ) from error
            if end is not None:
                return end
        raise MachineLost(self._in_vain(tries, "did not report the end of a job that should have ended"))

    async def _live(self, folder: str, lines: "Lines") -> None:
        """Lines as they are printed, as far as the link allows; missed ones come at the end."""
        with suppress(NephoscopeError):
            tries = Tries(self._clock, math.inf)
            async for _ in tries:
                before = lines.seen_bytes
                await self._link.follow(jobs.tail_command(folder, before), lines.feed)
                if lines.seen_bytes > before:
                    tries.progress()

    def _exit_code(self, command: Command, end: jobs.JobEnd) -> int:
        tool, timeout_s = command.argv[0], command.timeout_s
        if end.exit_code is not None:
            return end.exit_code
        if end.late:
            said = text(end.stderr)
            raise ToolTimedOut(
                f"{tool} did not finish within {timeout_s:.0f} s and was killed{f'; it said: {said}' if said else ''}",
                hint="check its raw output; if the machine is just slow, give it more time in the study",
            )
        if end.free_bytes == 0:
            raise NoSpaceOnMachine(f"the disk of {self.name} is full", hint="free some space there")
        raise self._withdrawn or MachineLost(
            f"{tool} on {self.name} was killed by another process",
            hint="check dmesg: did the machine run out of memory?",
        )

    async def _kill(self, folder: str) -> None:
        await self._link.ask(jobs.kill_command(folder), timeout_s=_KILL_WAIT_S)

    async def _words(self, command: str) -> tuple[int, bytes, bytes]:
        """See `_asked`, of a question of ours."""
        return await self._asked(command, timeout_s=_ASK_TIMEOUT_S, most_bytes=_WORDS_BYTES)

    async def _asked(
        self, command: str, stdin: bytes = b"", *, timeout_s: float, most_bytes: int | None = None
    ) -> tuple[int, bytes, bytes]:
        """Exit code, stdout and stderr of a command that may run twice, over as many connections as it takes.

        Raises:
            MachineLost: the host accepts the connection but does not answer within that time and our patience.
        """
        tries = Tries(self._clock, timeout_s + self._patience_s)
        async for left_s in tries:
            answer = await self._link.ask(command, stdin, timeout_s=min(timeout_s, left_s), most_bytes=most_bytes)
            if answer is not None:
                return answer
        raise MachineLost(
            self._in_vain(tries, "connected, but commands hang"),
            hint="check dmesg on the host: its disk or its memory may be failing",
        )

    def _in_vain(self, tries: Tries, otherwise: str) -> str:
        """What to say of tries without an answer; `otherwise`, if their time ended them."""
        why = f"connected, but cut off {tries.in_vain} answers in a row" if tries.too_many else otherwise
        return f"{self.name}: {why}"

    async def _require(self, argv: Sequence[str]) -> None:
        (await self.execute(Command(argv, timeout_s=_ASK_TIMEOUT_S, pinned=False))).require()

    async def _sha256_there(self, path: str) -> str:
        said = await self.execute(Command(["sha256sum", "--", path], timeout_s=_COPY_TIMEOUT_S, pinned=False))
        return said.stdout.decode(errors="replace").partition(" ")[0].lstrip("\\")


class _SshBackground:
    """A background job. It is watched through its lock, and its output arrives at its end."""

    def __init__(self, remote: SshRemote, folder: str, log: Path, errors: Path, *, append: bool) -> None:
        self._append = append
        self._remote = remote
        self._folder = folder
        self._log = log
        self._errors = errors
        self._end = asyncio.create_task(self._watch())
        # reported by `stop`, if called
        self._end.add_done_callback(lambda ended: ended.cancelled() or ended.exception())

    def running(self) -> bool:
        return not self._end.done()

    async def stop(self, *, signal: int, timeout_s: float) -> int | None:
        """See `Background.stop`.

        Raises:
            MachineLost: the host went away; the state of the job is unknown.
        """
        remote, folder = self._remote, self._folder
        if self.running():
            await remote._link.ask(  # noqa: SLF001 - it is a part of `SshRemote`
                jobs.signal_command(folder, signals.Signals(signal).name.removeprefix("SIG")), timeout_s=_ASK_TIMEOUT_S
            )
            await asyncio.wait([self._end], timeout=timeout_s)
        if self.running():
            await remote._kill(folder)  # noqa: SLF001
            await asyncio.wait([self._end], timeout=_KILL_WAIT_S)
        if self.running():
            self._end.cancel()
            raise MachineLost(f"{remote.name} did not confirm that a killed job has ended")
        return self._end.result().exit_code

    async def _keep(self) -> None:
        """Puts the job's deadline off as long as we are here."""
        while True:
            with suppress(NephoscopeError):  # the next time will do
                await self._remote._link.ask(jobs.keep_command(self._folder), timeout_s=_ASK_TIMEOUT_S)  # noqa: SLF001
            await asyncio.sleep(SERVER_DEADLINE_S / _KEPT_PER_DEADLINE)

    async def _watch(self) -> jobs.JobEnd:
        keeping = asyncio.create_task(self._keep())
        try:
            end = await self._remote._end_of(self._folder, math.inf)  # noqa: SLF001
        finally:
            keeping.cancel()
        self._remote._running.discard(self._folder)  # noqa: SLF001
        store(self._log, end.stdout, append=self._append)
        store(self._errors, end.stderr, append=self._append or self._errors == self._log)
        return end
