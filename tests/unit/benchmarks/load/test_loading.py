import asyncio
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.load import counting
from nephoscope.databases.base import Endpoint
from nephoscope.databases.fake import FakeDatabase
from nephoscope.model.errors import ToolFailed
from nephoscope.providers.base import Cluster
from tests.support.local_remote import this_machine


class Growing(FakeDatabase):
    """A database whose data set grows; it does not answer once."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes = iter([10, None, 50, 500])

    async def loaded_bytes(self, cluster: Cluster, endpoint: Endpoint, fixture: str) -> int:
        size = next(self.sizes, 600)
        if size is None:
            raise ToolFailed("busy")
        return size


def told(database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[float | str | None]:
    monkeypatch.setattr(counting, "LOOK_EVERY_S", 0.001)
    heard: list[float | str | None] = []
    machine = this_machine(tmp_path)
    site = Site(
        cluster=Cluster("c", (machine,), machine), execute=None, raw_dir=tmp_path, seed=1, data_seed=1, connections=1,  # type: ignore[arg-type]
        load_program="", database=database, endpoint=Endpoint("", {}, "", "fake"),
        loading=heard.append, loaded=lambda: heard.append("loaded"),
    )  # fmt: skip

    async def load() -> None:
        async with counting.telling_loads(site, "data", 100):
            await asyncio.sleep(0.05)

    asyncio.run(load())
    return heard


def test_a_load_tells_how_far_it_is_and_that_it_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard = told(Growing(), tmp_path, monkeypatch)
    assert heard[:4] == [None, 0.1, 0.5, 0.99]
    assert heard[-1] == "loaded"


def test_a_database_that_reports_no_size_still_says_that_it_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(FakeDatabase(), tmp_path, monkeypatch) == [None, "loaded"]
