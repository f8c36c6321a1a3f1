"""Tells how far the load of a data set is, by the size that the database reports."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from nephoscope.benchmarks.base import Site
from nephoscope.databases.base import HasLoadedBytes
from nephoscope.model.errors import NephoscopeError

LOOK_EVERY_S = 2.0
_MOST = 0.99
"""The size of a whole data set is an estimate: only the end of the load says that it is whole."""


@asynccontextmanager
async def telling_loads(site: Site, fixture: str, whole_bytes: int) -> AsyncIterator[None]:
    """Calls `site.loading` now and every two seconds while the block runs, and `site.loaded` at its end."""
    site.loading(None)
    watch = asyncio.create_task(_watch(site, fixture, whole_bytes))
    try:
        yield
    finally:
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
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
