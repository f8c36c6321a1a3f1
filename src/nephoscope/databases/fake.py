"""A fake database: a set of names, with failures on demand. It ships, for rehearsals and tests."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path

from typing_extensions import override

from nephoscope.databases.base import CanAttach, Database, Endpoint, HasFixtures, HasSettings
from nephoscope.model.errors import NephoscopeError
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings


@dataclass
class FakeDatabase(Database, HasFixtures, CanAttach, HasSettings):
    """`failures` yields an error to raise, or None, for each `start`."""

    failures: Iterator[NephoscopeError | None] = field(default_factory=lambda: repeat(None))
    name: str = "fake"
    running: set[str] = field(default_factory=set)
    fixtures: set[str] = field(default_factory=set)

    @override
    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        log.parent.mkdir(exist_ok=True)
        log.write_text("fake database starting\n", encoding="utf-8")
        failure = next(self.failures)
        if failure is not None:
            raise failure
        self.running.add(cluster.key)
        return Endpoint("fake://database", {}, settings.version or "1", "fake")

    @override
    async def attach(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        self.running.add(cluster.key)
        return Endpoint("fake://database", {}, settings.version or "1", "fake")

    @override
    async def stop(self, cluster: Cluster) -> None:
        self.running.discard(cluster.key)

    @override
    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:
        return fixture in self.fixtures

    @override
    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        return replace(endpoint, dsn=f"fake://{fixture}")

    @override
    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:
        self.fixtures.add(fixture)

    @override
    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:
        return replace(endpoint, dsn=f"fake://trial-of-{fixture}")

    @override
    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        return {"fsync": "fake"}

    @override
    async def identity(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:
        return {"start": cluster.key, "role": "primary", "version": endpoint.version}
