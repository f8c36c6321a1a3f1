"""How long four emulated hosts take to come and go (root): `python -m bench.emulated_hosts [--quick] [--out FILE]`.

Up is from the request to the moment when all four take commands over SSH, each with a disk of its own; down is until
their namespaces, loop devices, control groups and processes are gone. The limit that this project sets itself is 2 s
up.
"""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from nephoscope.machines.remote import Command
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.emulated.provider import EmulatedProvider
from nephoscope.run.clock import SystemClock
from nephoscope.study.model import Configuration

BAR_S = 2.0
HOSTS = 4


def configuration() -> Configuration:
    """Three database hosts and a load host, as in `studies/cluster.toml`."""
    machine = {"name": "node", "vcpus": 1, "memory_gib": 1, "disk_gib": 8}
    return Configuration.model_validate(
        {
            "name": "four",
            "provider": "emulated",
            "database_machine": {"count": HOSTS - 1, "emulated": machine},
            "load_machine": {"emulated": machine},
        }
    )


async def once(folder: Path, number: int) -> tuple[float, float]:
    """Seconds up and down, of hosts of which each was seen to take a command."""
    provider = EmulatedProvider("nephoscope-load", SystemClock())
    request = ClusterRequest(f"bench-{os.getpid()}-{number}", configuration(), folder)
    began_s = time.monotonic()
    try:
        cluster = await provider.create(request)
        said = [await machine.remote.execute(Command(["hostname"], timeout_s=30)) for machine in cluster.machines]
        up_s = time.monotonic() - began_s
        names = {one.require().stdout for one in said}
        if len(names) != HOSTS:
            raise SystemExit(f"{len(names)} hosts answered, not {HOSTS}: nothing was measured")
    finally:
        ended_s = time.monotonic()
        await provider.delete(request.key)
    return up_s, time.monotonic() - ended_s


def page(times_s: list[tuple[float, float]]) -> str:
    """What is written."""
    up, down = ([one[index] for one in times_s] for index in (0, 1))
    held = "kept" if statistics.median(up) <= BAR_S else "missed"
    rows = [
        f"| {what} | {statistics.median(some):.2f} s | {max(some):.2f} s | {limit} | {kept} |"
        for what, some, limit, kept in (("up", up, f"{BAR_S:g} s", held), ("down", down, "none", ""))
    ]
    return f"""# How long emulated hosts take to come and go

`python -m bench.emulated_hosts` wrote this: {HOSTS} hosts, each with a disk of 8 GiB, {len(times_s)} times.

| what | median | longest | limit | |
|---|---|---|---|---|
{rows[0]}
{rows[1]}

Machine: {os.cpu_count()} CPUs, Linux {os.uname().release}.
"""


def main(arguments: list[str] | None = None) -> int:
    """Measures and writes; 1 when the limit was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="3 times instead of 12")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("EMULATED_HOSTS.md"))
    given = parser.parse_args(arguments)
    if os.geteuid() != 0:
        sys.stdout.write("not measured: emulated hosts need root\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="nephoscope-hosts-") as name:
        folder = Path(name)
        times_s = [asyncio.run(once(folder, number)) for number in range(3 if given.quick else 12)]
    given.out.write_text(page(times_s), encoding="utf-8")
    median_s = statistics.median(up for up, _ in times_s)
    sys.stdout.write(f"{HOSTS} hosts up in {median_s:.2f} s (median), limit {BAR_S:g} s\n")
    return 0 if median_s <= BAR_S else 1


if __name__ == "__main__":
    sys.exit(main())
