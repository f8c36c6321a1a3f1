"""A real PostgreSQL for tests that need one for a while."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from nephoscope.app.wiring import load_program
from nephoscope.databases.base import Endpoint
from nephoscope.databases.postgres.binaries import server_of_this_machine
from nephoscope.databases.postgres.database import PostgresDatabase, _with_database
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import this_machine


def postgres(environment: Mapping[str, str]) -> PostgresDatabase:
    """The port to PostgreSQL as a command line has it, with these variables for a user's own server."""
    return PostgresDatabase(server_of_this_machine, environment, load_program())


@dataclass(frozen=True)
class Server:
    """One that is up."""

    endpoint: Endpoint
    folder: Path
    loop: asyncio.AbstractEventLoop
    database: PostgresDatabase
    cluster: Cluster

    def sql(self, statement: str, database: str = "postgres") -> str:
        endpoint = replace(self.endpoint, dsn=_with_database(self.endpoint, database).dsn)
        return self.loop.run_until_complete(self.database._sql(self.cluster, endpoint, statement))

    def dsn(self, database: str) -> str:
        return _with_database(self.endpoint, database).dsn

    @property
    def pid(self) -> int:
        return int((self.folder / "postgres" / "data" / "postmaster.pid").read_text().split()[0])


@contextmanager
def server(folder: Path) -> Iterator[Server]:
    machine = this_machine(folder, cpus=(0, 1))
    cluster = Cluster("tests", (machine,), machine)
    database = postgres({})
    loop = asyncio.new_event_loop()
    settings = DatabaseSettings(connections=16, settings={"shared_buffers": "128MB"})
    try:
        endpoint = loop.run_until_complete(database.start(cluster, settings, folder / "log"))
        yield Server(endpoint, folder, loop, database, cluster)
    finally:
        loop.run_until_complete(database.stop(cluster))
        loop.close()
