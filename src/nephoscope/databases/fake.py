"""A fake database: a set of names, with failures on demand. It ships, for rehearsals and tests."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat
from pathlib import Path

from nephoscope.databases.base import Endpoint
from nephoscope.model.errors import NephoscopeError
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings


@dataclass
class FakeDatabase:
    """`failures` yields an error to raise, or None, for each `start`."""

    failures: Iterator[NephoscopeError | None] = field(default_factory=lambda: repeat(None))
    name: str = "fake"
    running: set[str] = field(default_factory=set)
    fixtures: set[str] = field(default_factory=set)

    async def start(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        """See `Database.start`."""
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("fake database starting\n", encoding="utf-8")
        failure = next(self.failures)
        if failure is not None:
            raise failure
        self.running.add(cluster.key)
        return Endpoint("fake://database", {}, settings.version or "1", "fake")

    async def attach(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:  # noqa: ARG002
        """See `CanAttach.attach`."""
        self.running.add(cluster.key)
        return Endpoint("fake://database", {}, settings.version or "1", "fake")

    async def stop(self, cluster: Cluster) -> None:
        """See `Database.stop`."""
        self.running.discard(cluster.key)

    async def has_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> bool:  # noqa: ARG002
        """See `HasFixtures.has_fixture`."""
        return fixture in self.fixtures

    async def create_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:  # noqa: ARG002
        """See `HasFixtures.create_fixture`."""
        return replace(endpoint, dsn=f"fake://{fixture}")

    async def seal_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> None:  # noqa: ARG002
        """See `HasFixtures.seal_fixture`."""
        self.fixtures.add(fixture)

    async def clone_fixture(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> Endpoint:  # noqa: ARG002
        """See `HasFixtures.clone_fixture`."""
        return replace(endpoint, dsn=f"fake://trial-of-{fixture}")

    async def settings(self, cluster: Cluster, endpoint: Endpoint) -> dict[str, str]:  # noqa: ARG002
        """See `HasSettings.settings`."""
        return {"fsync": "fake"}
