"""Programs that must be installed where they run: what each is called, and how to get it.

A benchmark's module lists its own; listed here are those that machines need, and the load generator.
"""

import platform
from dataclasses import dataclass
from pathlib import Path

from nephoscope.model.errors import EnvironmentProblem


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
