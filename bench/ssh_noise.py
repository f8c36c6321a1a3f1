"""What our SSH connection costs a measured host: `python -m bench.ssh_noise [--quick] [--out FILE]`.

A job sleeps on a host while its controller waits for it, as during a trial. Meanwhile the CPU time of every process
that is there because of us is read: sshd's for this connection, and the shells of the job. It is what the kernel
counts in nanoseconds (/proc/PID/schedstat, its first field), of the processes that exist at both ends of the interval.

The limit that this project sets itself is 0.05 % of a core.
"""

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nephoscope.machines.remote import Command
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.run.clock import SystemClock
from tests.support.sshd import Server, sshd

BAR = 0.0005
MIN_PROCESSES = 3
"""sshd's for the connection, the job's shell, and what it runs."""
_SETTLE_S = 2.0
"""From the job's start: connecting and starting are not idling."""


def parents() -> dict[int, int]:
    """Process -> the one that started it."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended
            found[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    return found


def below(ancestor: int, tree: dict[int, int]) -> Iterator[int]:
    """Every process below one."""
    for child in (process for process, parent in tree.items() if parent == ancestor):
        yield child
        yield from below(child, tree)


def cpu_ns(processes: set[int]) -> dict[int, int]:
    """CPU time of each that is there."""
    found = {}
    for process in processes:
        with suppress(OSError):
            found[process] = int(Path(f"/proc/{process}/schedstat").read_text().split()[0])
    return found


def ours(server: Server, marker: str) -> set[int]:
    """sshd's processes for our connection, and those of the job, which left sshd's tree for a session of its own."""
    tree = parents()
    found = set(below(server.process, tree))
    for process in tree.keys() - {os.getpid()}:
        with suppress(OSError):
            if marker.encode() in Path(f"/proc/{process}/cmdline").read_bytes():
                found |= {process, *below(process, tree)}
    return found


async def share_of_a_core(server: Server, folder: Path, watched_s: float) -> tuple[float, int]:
    """CPU time per second while a job runs and is waited for, and of how many processes."""
    remote = SshRemote("host", server.address, SystemClock(), folder=str(folder / "there"), session="noise-1")
    length_s = watched_s + 2 * _SETTLE_S
    job = asyncio.create_task(
        remote.execute(Command(["sleep", f"{length_s:g}"], timeout_s=2 * length_s), save_as=folder / "job")
    )
    await asyncio.sleep(_SETTLE_S)
    processes = ours(server, str(folder / "there"))
    before, begun_s = cpu_ns(processes), time.monotonic()
    await asyncio.sleep(watched_s)
    after, lasted_s = cpu_ns(processes), time.monotonic() - begun_s
    await job
    await remote.close()
    spent_ns = sum(after[process] - before[process] for process in before.keys() & after.keys())
    counted = len(before.keys() & after.keys())
    if counted < MIN_PROCESSES:
        raise SystemExit(f"only {counted} processes of the connection and the job were found: nothing was measured")
    return spent_ns / 1e9 / lasted_s, counted


def page(share: float, processes: int, watched_s: float) -> str:
    """What is written."""
    held = "kept" if share <= BAR else "missed"
    return f"""# What the SSH connection costs a measured host

`python -m bench.ssh_noise` wrote this: a job that sleeps, waited for by its controller, over {watched_s:.0f} s.

| what | share of a core | limit | |
|---|---|---|---|
| sshd and the shells of the job ({processes} processes) | {share:.5%} | {BAR:.2%} | {held} |

Machine: {os.cpu_count()} CPUs, Linux {os.uname().release}. A keepalive crosses the wire every 4 s; nothing else does.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes; 1 when the limit was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="10 s instead of 60 s")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("SSH_NOISE.md"))
    given = parser.parse_args(arguments)
    watched_s = 10.0 if given.quick else 60.0
    with tempfile.TemporaryDirectory(prefix="nephoscope-noise-") as name, sshd(Path(name) / "sshd") as server:
        share, processes = asyncio.run(share_of_a_core(server, Path(name), watched_s))
    given.out.write_text(page(share, processes, watched_s), encoding="utf-8")
    sys.stdout.write(f"{share:.5%} of a core by {processes} processes, limit {BAR:.2%}\n")
    return 0 if share <= BAR else 1


if __name__ == "__main__":
    sys.exit(main())
