"""What is asked of a server beside a load: how far loading is, and its own counters at both ends of a measurement."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from pydantic import ValidationError

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.load.contract import Interval
from nephoscope.benchmarks.load.server_costs import Reading
from nephoscope.benchmarks.load.spec import LoadSpec
from nephoscope.databases.base import Endpoint, HasCounters, HasLoadedBytes
from nephoscope.machines.shielded import meanwhile
from nephoscope.model.errors import NephoscopeError, OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.units import MS_PER_SECOND

COUNTERS = "server-counters.jsonl"
"""Name of the raw file: a line for each look."""
_ROUNDING_S = 0.01


class Look(Frozen):
    """Counters of the server at one moment."""

    at_unix_ms: float
    counters: dict[str, float]


@asynccontextmanager
async def counting(site: Site, endpoint: Endpoint, spec: LoadSpec) -> AsyncIterator[Callable[[Interval], None]]:
    """Gives what takes the intervals of a load as they end. A look that fails leaves nothing: costs are extra.

    A server that is started again, or another one in its place, counts anew: with `failover` nothing is looked at.
    """
    counter = site.database
    if counter is None or spec.failover or not isinstance(counter, HasCounters):
        yield lambda _: None
        return
    looks: list[asyncio.Task[None]] = []
    end_s = spec.ramp_s + spec.duration_s - _ROUNDING_S

    async def look(ended_unix_ms: float, *, is_last: bool) -> None:
        before_s = time.monotonic()
        with suppress(NephoscopeError):
            counters = await counter.counters(site.cluster, endpoint)
            waited_s = 0.0 if is_last else time.monotonic() - before_s  # nothing is driven after the last
            at_unix_ms = ended_unix_ms + waited_s * MS_PER_SECOND
            line = Look(at_unix_ms=at_unix_ms, counters=dict(counters)).model_dump_json()
            with (site.raw_dir / COUNTERS).open("a", encoding="utf-8") as file:
                file.write(line + "\n")

    def take(interval: Interval) -> None:
        is_last = interval.end_s >= end_s
        if interval.phase == "measure" and (is_last or not looks):
            looks.append(asyncio.create_task(look(interval.ended_unix_ms, is_last=is_last)))

    try:
        yield take
    except BaseException:
        for one in looks:
            one.cancel()
        await asyncio.gather(*looks, return_exceptions=True)
        raise
    await asyncio.gather(*looks)


def readings(raw: RawOutput) -> list[Reading]:
    """All looks, in order of time.

    Raises:
        OutputUnreadable: a line is damaged.
    """
    try:
        looks = [Look.model_validate_json(line) for line in raw.get(COUNTERS, b"").splitlines()]
    except ValidationError as error:
        raise OutputUnreadable(f"{COUNTERS}: {error.errors()[0]['msg']}") from error
    return sorted(Reading(look.at_unix_ms, look.counters) for look in looks)


LOOK_EVERY_S = 2.0
_MOST = 0.99
"""The size of a whole data set is an estimate: only the end of the load says that it is whole."""


@asynccontextmanager
async def telling_loads(site: Site, fixture: str, whole_bytes: int) -> AsyncIterator[None]:
    """Calls `site.loading` now and every two seconds while the block runs, and `site.loaded` at its end."""
    site.loading(None)
    try:
        async with meanwhile(_watch(site, fixture, whole_bytes)):
            yield
    finally:
        site.loaded()


async def _watch(site: Site, fixture: str, whole_bytes: int) -> None:
    """Ignores a database that does not answer: the load itself fails then."""
    database = site.database
    if site.endpoint is None or database is None or not isinstance(database, HasLoadedBytes) or not whole_bytes:
        return
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        with suppress(NephoscopeError):
            there = await database.loaded_bytes(site.cluster, site.endpoint, fixture)
            site.loading(min(_MOST, there / whole_bytes))
