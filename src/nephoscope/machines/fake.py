"""A machine made of a table of answers. It ships, so that a whole study can be rehearsed without machine or clock."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nephoscope.machines.remote import Background, Command, Completed
from nephoscope.model.errors import NephoscopeError, OutputUnreadable, ToolMissing, ToolTimedOut


@dataclass(frozen=True)
class Answer:
    """What a program prints, how long it takes (in the fake clock's time), or the error that it raises."""

    stdout: bytes = b""
    stderr: bytes = b""
    exit_code: int = 0
    takes_s: float = 0.0
    error: NephoscopeError | None = None


AnswerTo = Callable[[Sequence[str], bytes], Answer]
"""argv and stdin -> answer."""


class Elapses(Protocol):
    """A clock that somebody else can advance."""

    def elapse(self, seconds: float) -> None:
        """Lets time pass."""


class FakeRemote:
    """Answers by the program's name; a program that is not in the table is not installed."""

    def __init__(self, answers: Mapping[str, AnswerTo], clock: Elapses) -> None:
        self._answers = answers
        self._clock = clock
        self.executed: list[str] = []
        """Every command line so far, for tests to look at."""

    async def execute(self, command: Command, *, save_as: Path | None = None) -> Completed:
        """See `Remote.execute`."""
        argv, timeout_s = command.argv, command.timeout_s
        answer = self._answer(argv, command.stdin)
        await self._work(min(answer.takes_s, timeout_s), save_as)
        if answer.error is not None:
            raise answer.error
        if answer.takes_s > timeout_s:
            raise ToolTimedOut(f"{argv[0]} did not finish within {timeout_s:.0f} s and was killed")
        if save_as is not None:
            save_as.parent.mkdir(exist_ok=True)
            save_as.with_name(f"{save_as.name}.stdout").write_bytes(answer.stdout)
            save_as.with_name(f"{save_as.name}.stderr").write_bytes(answer.stderr)
        if command.on_line:
            for line in answer.stdout.decode(errors="replace").splitlines():
                command.on_line(line)
        return Completed(tuple(argv), answer.exit_code, answer.stdout, answer.stderr, answer.takes_s)

    async def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        errors: Path | None = None,  # noqa: ARG002 - a fake has no errors to write
        environment: Mapping[str, str] | None = None,  # noqa: ARG002 - answers do not depend on it
        pinned: bool = True,  # noqa: ARG002 - nor on this
    ) -> Background:
        """See `Remote.start`."""
        answer = self._answer(argv, b"")
        log.parent.mkdir(exist_ok=True)
        log.write_bytes(answer.stdout)
        return _FakeBackground()

    async def upload(self, local: Path, remote: str) -> None:
        """See `Remote.upload`: nothing is kept."""

    async def download(self, remote: str, local: Path) -> None:
        """See `Remote.download`: there is nothing."""
        raise OutputUnreadable(f"{remote} is not on this fake machine, so {local} was not written")

    async def _work(self, seconds: float, save_as: Path | None) -> None:  # noqa: ARG002 - saving takes no time
        self._clock.elapse(seconds)

    def _answer(self, argv: Sequence[str], stdin: bytes) -> Answer:
        self.executed.append(shlex.join(argv))
        program = Path(argv[0]).name
        if program not in self._answers:
            raise ToolMissing(f"{program} is not installed", hint="add it to the fake machine's answers")
        return self._answers[program](argv, stdin)


class _FakeBackground:
    """A process that runs until it is stopped."""

    def __init__(self) -> None:
        self._running = True

    def running(self) -> bool:
        return self._running

    async def stop(self, *, signal: int, timeout_s: float) -> int | None:  # noqa: ARG002 - it stops at once
        self._running = False
        return 0


_TICKS_PER_S = 100


def idle_line(elapsed_s: float, cpus: int, network: Sequence[Mapping[str, object]] = ()) -> bytes:
    """A line of `nephoscope-load telemetry` on a machine whose CPUs do nothing."""
    busy = dict.fromkeys(("user", "nice", "system", "iowait", "irq", "softirq", "steal"), 0)
    idle = round(_TICKS_PER_S * elapsed_s)
    line = {
        "at_unix_ms": round(1000 * elapsed_s),
        "elapsed_s": elapsed_s,
        "cpu": [
            {"cpu": "cpu", **busy, "idle": idle * cpus},
            *({"cpu": f"cpu{cpu}", **busy, "idle": idle} for cpu in range(cpus)),
        ],
        "jiffies_per_s": _TICKS_PER_S,
        "disks": [],
        "network": list(network),
        "load_1m": 0.0,
        "procs_running": 1,
        "psi_cpu_some_us": None,
        "own_cpu_us": round(100 * elapsed_s),
    }
    return json.dumps(line).encode() + b"\n"
