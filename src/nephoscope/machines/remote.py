"""A machine: one port to run commands and move files, and the tools that are installed there."""

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from nephoscope.model.errors import EnvironmentProblem, tool_failed


@dataclass(frozen=True)
class Command:
    """A command to run to its end."""

    argv: Sequence[str]
    """Program and arguments; never a shell line."""
    timeout_s: float
    """After this it is killed with everything it started."""
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Added to the machine's environment, without its variables that start with PG."""
    on_line: Callable[[str], None] | None = None
    """Called with every line of its stdout."""
    pinned: bool = True
    """With the machine's CPU affinity; False for commands that only observe."""
    allowed: Sequence[int] = ()
    """Exit codes besides 0 that are results and not failures."""


@dataclass(frozen=True)
class Completed:
    """A command that ended."""

    argv: tuple[str, ...]
    exit_code: int
    stdout: bytes
    stderr: bytes
    duration_s: float

    def require(self, *allowed: int) -> "Completed":
        """Returns itself if the exit code was 0 or one of `allowed`.

        Raises:
            ToolFailed: otherwise, with the end of the tool's output.
            NoSpaceOnMachine: the tool reported that the disk is full.
        """
        if self.exit_code == 0 or self.exit_code in allowed:
            return self
        said = (self.stderr or self.stdout).decode(errors="replace").strip()[-600:]
        raise tool_failed(f"{self.argv[0]} failed with exit code {self.exit_code}: {said or 'no output'}")


class Background(Protocol):
    """A process that runs in the background."""

    def running(self) -> bool:
        """True while it is running."""

    async def stop(self, *, signal: int, timeout_s: float) -> int | None:
        """Sends `signal`, waits, kills its session after `timeout_s`; its exit code, None if it had to be killed."""


class Remote(Protocol):
    """One machine. Commands run with the machine's CPU affinity and die with the controller's connection."""

    async def execute(self, command: Command, *, save_as: Path | None = None) -> Completed:
        """Runs a command to its end.

        Args:
            command: what to run.
            save_as: local path without suffix: its output goes to `.stdout` and `.stderr` there, as it arrives.

        Raises:
            ToolMissing: the program is not installed.
            ToolTimedOut: it did not finish in time.
        """

    async def start(
        self,
        argv: Sequence[str],
        *,
        log: Path,
        errors: Path | None = None,
        environment: Mapping[str, str] | None = None,
        pinned: bool = True,
    ) -> Background:
        """Starts a background command; its output goes to `log` (a local path), its stderr to `errors` if given.

        Raises:
            ToolMissing: the program is not installed.
        """

    async def upload(self, local: Path, remote: str) -> None:
        """Copies a file to the machine."""

    async def download(self, remote: str, local: Path) -> None:
        """Copies a file from the machine.

        Raises:
            OutputUnreadable: the file does not exist.
        """


@runtime_checkable
class KnowsItsProcesses(Protocol):
    """A machine on which the processes of a trial can be told from those of others."""

    async def own_processes(self) -> str:
        """Which ones are the trial's, as `nephoscope-load telemetry --trial` takes it."""


@dataclass(frozen=True)
class MachineHandle:
    """An existing machine of a cluster: its name, its port and the folders for measured data."""

    name: str
    remote: Remote
    address: str
    cpus: tuple[int, ...] = field(metadata={"help": "ids of the CPUs in the affinity mask of whatever is measured"})
    data_dir: str
    """A folder of the machine, on the disk to measure."""
    more_data_dirs: tuple[str, ...] = ()
    """With several separate disks: one folder on each of the others."""
    raw_devices: tuple[str, ...] = ()
    """Disks without a filesystem that were created with the machine, so that nobody's data are on them."""
    group: str = ""
    """If it is a part of a machine: the folder of the control group of all parts."""
    region: str = ""
    zone: str = ""
    """Where it is, if that is known; databases place their copies by it."""


@dataclass(frozen=True)
class Tool:
    """A program that a benchmark or a provider runs."""

    name: str
    package: str = ""
    """The Debian package that contains it; empty if none does."""
    version_argv: tuple[str, ...] = ("--version",)
    """Arguments with which it prints its version."""
    version_exit_code: int = 0
    """Its exit code after that; anything else means that the version is unknown."""
    hint: str = ""
    """How to get it if installing the package is not the way."""

    @property
    def install_hint(self) -> str:
        """What to try if it is not installed."""
        if self.hint or not self.package:
            return self.hint or f"install {self.name} or put it on your PATH"
        return f"apt-get install {self.package}, or {self.name} from your system's package manager"


LOAD = Tool(
    "nephoscope-load",
    hint="it is part of nephoscope's wheel: reinstall nephoscope, or put nephoscope-load on your PATH",
)
FINDMNT = Tool("findmnt", "util-linux")
FLOCK = Tool("flock", "util-linux")
LSBLK = Tool("lsblk", "util-linux")
LSCPU = Tool("lscpu", "util-linux")
PKILL = Tool("pkill", "procps")
SETPRIV = Tool("setpriv", "util-linux")
SETSID = Tool("setsid", "util-linux")
TASKSET = Tool("taskset", "util-linux")
UNSHARE = Tool("unshare", "util-linux")

_KNOWN = {tool.name: tool for tool in (LOAD, FINDMNT, FLOCK, LSBLK, LSCPU, PKILL, SETPRIV, SETSID, TASKSET, UNSHARE)}


def install_hint(program: str) -> str:
    """What to try if a program that machines need is not installed; empty for any other program."""
    return _KNOWN[program].install_hint if program in _KNOWN else ""


def build_for(program: Path, machine: str) -> Path:
    """The build for a machine whose `uname -m` is `machine`: one without libraries, if there is one.

    `make static` puts `nephoscope-load-static` beside the program, and `make static ARCH=aarch64`
    `nephoscope-load-static-aarch64`.

    Raises:
        EnvironmentProblem: there is none for that architecture.
    """
    own = platform.machine()
    static = program.with_name(f"{program.name}-static" if machine == own else f"{program.name}-static-{machine}")
    if static.exists():
        return static
    if machine == own:
        return program
    raise EnvironmentProblem(
        f"there is no build of {program.name} for {machine}, only for {own}",
        hint=f"run `make static ARCH={machine}` in the checkout: it writes {static}",
    )
