"""The search for the highest load on a real server that is slowed meanwhile: it never keeps the level it had."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.database.highest_load import HighestLoad, HighestLoadParameters, read_search
from nephoscope.benchmarks.search.levels import Outcome
from nephoscope.benchmarks.search.observe import Observed
from nephoscope.benchmarks.search.trail import Search
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.cpu_share import CpuShare, cpu_share
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs
from tests.support.site import raw_of, site_here

pytestmark = [pytest.mark.slow, needs("redis-server", "nephoscope-load")]

PARAMETERS = HighestLoadParameters(
    benchmark="kv",
    parameters={"rows": 20_000, "min_block_bytes": 100, "connections": 4},
    rule="p90(all) < 40 ms",  # a server with a quota stands still for a part of every 100 ms
    point_s=4,
    confirmation_s=6,
    ramp_s=0.5,
    settle_s=0,
    resolution_percent=10,
)
SHARE = 0.3
"""Of a CPU: the limit is the server's, whatever else this machine does."""
STALL_S = 2.0
HALF_AND_MORE = 0.6
"""Of the capacity: what a server with half of its CPU time cannot do, with room for noise."""
_POINT = re.compile(r"point \d+: (?P<level>[\d,]+)/s, (?P<purpose>[a-z]+(?: [a-z]+)?)")

Slow = Callable[[CpuShare, int], Awaitable[None]]
"""What befalls the server of this process id."""


async def stall(_: CpuShare, server: int) -> None:
    os.kill(server, signal.SIGSTOP)
    await asyncio.sleep(STALL_S)
    os.kill(server, signal.SIGCONT)


async def halve(share: CpuShare, _: int) -> None:
    share.limit(SHARE / 2)


@pytest.mark.parametrize("slow", [stall, halve], ids=["stopped for 2 s once", "half of its CPU time"])
def test_a_server_slowed_in_a_confirmation_does_not_keep_its_level(tmp_path: Path, slow: Slow) -> None:
    search, old = asyncio.run(_searched(tmp_path, slow))
    ended = search.ended
    told = [(one.ask.purpose.value, one.ask.level, one.reasons) for one in search.points]
    assert ended.outcome in (Outcome.FOUND, Outcome.UNSTABLE), told
    assert ended.level is None or ended.level < old, told
    if slow is halve and ended.level is not None:
        assert ended.level <= HALF_AND_MORE * _capacity(search), told


async def _searched(folder: Path, slow: Slow) -> tuple[Search[Observed], float]:
    """Slowed once, one second into the first confirmation near its capacity; and the level of that."""
    slowed: list[tuple[float, asyncio.Task[None]]] = []
    capacity = 0.0
    async with _site(folder) as (site, server):
        with cpu_share(server, SHARE) as share:

            def progress(said: str) -> None:
                nonlocal capacity
                found = _POINT.match(said)
                if found is None:
                    return
                level = float(found["level"].replace(",", ""))
                capacity = capacity or level * 100 / PARAMETERS.first_percent
                if found["purpose"] == "confirm" and level >= HALF_AND_MORE * capacity and not slowed:
                    slowed.append((level, asyncio.ensure_future(_after(1.0, slow(share, server)))))

            await HighestLoad().run(replace(site, progress=progress), PARAMETERS)
    search = read_search(raw_of(site), PARAMETERS)
    assert slowed, [(one.ask.purpose.value, one.ask.level, one.reasons) for one in search.points]
    level, task = slowed[0]
    await task
    return search, level


def _capacity(search: Search[Observed]) -> float:
    """Of the closed loop that placed the search."""
    return search.points[0].ask.level * 100 / PARAMETERS.first_percent


async def _after(seconds: float, what: Awaitable[None]) -> None:
    await asyncio.sleep(seconds)
    await what


@asynccontextmanager
async def _site(folder: Path) -> AsyncIterator[tuple[Site, int]]:
    """With a loaded server, and its process id."""
    site, _ = site_here(folder)
    machine = this_machine(folder / "data", (0, 1))  # shared with the load, whose waiting for a CPU is not judged then
    cluster, database = Cluster("slowed", (machine,), machine), ValkeyDatabase(find_valkey)
    try:
        endpoint = await database.start(cluster, DatabaseSettings(connections=4), folder / "log")
        site = replace(
            site, cluster=cluster, connections=4, load_program=load_program(), database=database, endpoint=endpoint
        )
        endpoint = await HighestLoad().prepare(site, PARAMETERS) or endpoint
        said = await database._command(cluster, endpoint, "INFO", "server")
        (pid,) = (int(line.split(":")[1]) for line in said.split() if line.startswith("process_id:"))
        yield replace(site, endpoint=endpoint), pid
    finally:
        await database.stop(cluster)
