"""Processes and what they cost."""

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.harness.sources import ROOT

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_KIB = 1024
_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class Ran:
    """A process that has ended."""

    stdout: str
    stderr: str
    exit_code: int
    elapsed_s: float
    cpu_s: float
    """User and system, with all descendants that were waited for."""
    peak_bytes: int
    """Of all its processes together, as often as somebody looked."""
    lost: float | None = None
    """Share of the machine's CPU time that went to others meanwhile; None: the kernel does not tell."""


class Lost:
    """What others take from now on: other machines by the hypervisor, and programs that are not of this comparison."""

    def __init__(self, stat: Path = Path("/proc/stat"), own_cpu_s: Callable[[], float] | None = None) -> None:
        self._stat = stat
        self._own_cpu_s = own_cpu_s or partial(tree_cpu_s, os.getpid())
        self._before = self._ticks()

    def share(self) -> float | None:
        """Of the machine's CPU time since then; None: the kernel does not tell."""
        now = self._ticks()
        if self._before is None or now is None:
            return None
        stolen, used, own, all_ = (after - before for before, after in zip(self._before, now, strict=True))
        return (max(0, stolen) + max(0, used - own)) / all_ if all_ > 0 else None

    def _ticks(self) -> tuple[float, float, float, float] | None:
        """Stolen, used by all programs, used by this one with its servers and clients, all."""
        try:
            words = self._stat.read_text(encoding="ascii").split("\n", 1)[0].split()
        except OSError:
            return None
        ticks = [int(word) for word in words[1:9]]  # user, nice, system, idle, iowait, irq, softirq, steal
        return (ticks[7], sum(ticks[:3]), self._own_cpu_s() * _TICKS_PER_S, sum(ticks)) if len(ticks) == 8 else None


def additions_s() -> float:
    """CPU seconds of ten million additions: how fast this machine is now."""
    begun, total = time.process_time(), 0
    for number in range(10**7):
        total += number
    return time.process_time() - begun


def run(argv: Sequence[str], *, stdin: str = "", environment: Mapping[str, str] | None = None) -> Ran:
    """Runs a command to its end."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err, tempfile.TemporaryFile("w+") as into:
        into.write(stdin)
        into.seek(0)
        began, lost = time.monotonic(), Lost()
        environment = {**os.environ, **(environment or {})}
        process = subprocess.Popen(list(argv), stdin=into, stdout=out, stderr=err, text=True, env=environment)
        peak_bytes, ended = 0, 0
        while not ended:
            # The kernel's own peak begins with that of the process that forked: with Python's.
            peak_bytes = max(peak_bytes, sum(_peak_bytes(one) for one in _family(process.pid)))
            time.sleep(_LOOK_EVERY_S)
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        elapsed_s, lost_share = time.monotonic() - began, lost.share()
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Ran(
            stdout=out.read(),
            stderr=err.read(),
            exit_code=process.returncode,
            elapsed_s=elapsed_s,
            cpu_s=usage.ru_utime + usage.ru_stime,
            peak_bytes=peak_bytes,
            lost=lost_share,
        )


def _family(process: int) -> list[int]:
    """The process and its living descendants."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text(encoding="ascii").split()
    except OSError:
        return []
    return [process, *(one for child in children for one in _family(int(child)))]


def _peak_bytes(process: int) -> int:
    try:
        found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process}/status").read_text(encoding="utf-8"))
    except OSError:
        return 0
    return int(found[1]) * _KIB if found else 0


def checked(ran: Ran, what: str) -> Ran:
    """The same, if it ended well.

    Raises:
        RuntimeError: it did not; its last words are in the message.
    """
    if ran.exit_code != 0:
        raise RuntimeError(f"{what} ended with exit code {ran.exit_code}: {(ran.stderr or ran.stdout)[-2000:]}")
    return ran


def tree_cpu_s(root: int) -> float:
    """CPU time of a process, its living descendants, and the dead ones it waited for."""
    parents: dict[int, int] = {}
    own: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            fields = _stat_fields(entry)
            if fields is not None:
                parents[int(entry.name)] = int(fields[1])
                own[int(entry.name)] = sum(map(int, fields[11:15])) / _TICKS_PER_S
    return sum(cpu_s for process, cpu_s in own.items() if _descends(process, root, parents))


def _stat_fields(process: Path) -> list[str] | None:
    """Of /proc/N/stat, behind the name (which may hold anything): state, parent and so on."""
    try:
        return (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None


def _descends(process: int, root: int, parents: Mapping[int, int]) -> bool:
    while process and process != root:
        process = parents.get(process, 0)
    return process == root


def command_line(program: str, words: Sequence[str]) -> str:
    """The line of a page that says what wrote it: the command, and the commit of this checkout."""
    commit = run(["git", "-C", str(ROOT), "describe", "--always", "--dirty"]).stdout.strip() or "unknown"
    return f"- Command: `{' '.join([f'python -m bench.{program}', *words])}`; commit {commit}."


def machine() -> str:
    """One line about where this ran."""
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*:\s*(.+)", text)
    memory = re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text(encoding="utf-8"))
    mhz = [float(one) for one in re.findall(r"cpu MHz\s*:\s*([\d.]+)", text)]
    clock = f" at {max(mhz):,.0f} MHz" if mhz else ""
    gib = int(memory[1]) / _KIB**2 if memory else 0.0
    release = os.uname()
    cpus = len(os.sched_getaffinity(0))
    name = f"{model[1] if model else release.machine}{clock}"
    governor = _GOVERNOR.read_text(encoding="ascii").strip() if _GOVERNOR.exists() else "not shown"
    return f"{name}, governor {governor}, {cpus} CPUs, {gib:.1f} GiB, {release.sysname} {release.release}"
