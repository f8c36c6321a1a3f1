"""What confirmations cost a database: looked at in pairs, summed, and told by real servers."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.highest_load import HighestLoad
from nephoscope.benchmarks.search.sustained import UPKEEP, measured, sustained
from nephoscope.checks.sustained import Sustained
from nephoscope.databases.base import Endpoint, HasUpkeep, Upkeep
from nephoscope.databases.fake import FakeDatabase
from nephoscope.databases.postgres.database import PostgresDatabase
from nephoscope.databases.upkeep import free_bytes, of_postgres, of_valkey, together
from nephoscope.databases.valkey.binaries import find_valkey
from nephoscope.databases.valkey.database import ValkeyDatabase
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import VerdictKind
from nephoscope.model.units import MIB
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.evidence import evidence
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs
from tests.support.server import postgres, server
from tests.unit.benchmarks.search.test_highest_load import PARAMETERS, searched


class Telling(FakeDatabase):
    """Writes a MiB of log in each look, and loses as much space in each second one."""

    def __init__(self) -> None:
        super().__init__()
        self._looks = count()

    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        look = next(self._looks)
        return Upkeep(
            free_bytes=100 * MIB - MIB * ((look + 1) // 2),
            assured_bytes=50 * MIB + look,
            log_bytes=float(MIB * look),
            cache_hits=9.0 * look,
            cache_misses=1.0 * look,
        )


def test_every_confirmation_is_looked_at_before_and_after(tmp_path: Path) -> None:
    _, raw, load = searched(tmp_path, database=Telling())
    lines = [json.loads(line) for line in raw[UPKEEP].splitlines()]
    confirmed = [name for (name, spec) in load.specs if name.startswith("point") and "check" not in spec]
    assert [(line["point"], line["when"]) for line in lines] == [
        (name, when) for name in confirmed for when in ("before", "after")
    ]
    found = sustained(raw)
    assert found is not None
    assert found.free_bytes == 97 * MIB
    assert found.log_per_s == pytest.approx(3 * MIB / found.seconds)
    assert found.free_lost_per_s == pytest.approx(3 * MIB / found.seconds)
    assert found.assured_bytes == 50 * MIB + 5
    assert found.assured_lost_per_s == pytest.approx(-3 / found.seconds)
    assert found.cache_hit_share == pytest.approx(0.9)
    assert HighestLoad().operations(raw, PARAMETERS, client_cpus=1).sustained == found
    told = {row.metric: row.value for row in HighestLoad().parse(raw, PARAMETERS) if row.role == "database"}
    assert told == {row.metric: row.value for row in measured(found)}
    assert set(told) == {"log_written_per_s", "cache_hit_share", "free_space_lost_per_s"}


def test_a_database_that_tells_nothing_leaves_nothing(tmp_path: Path) -> None:
    _, raw, _ = searched(tmp_path)
    assert UPKEEP not in raw
    assert sustained(raw) is None
    assert list(measured(None)) == []


def lines(*changes: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for index, change in enumerate(changes):
        yield {"point": "p", "when": ("before", "after")[index % 2], "at_s": float(index), "upkeep": {}} | change


@pytest.mark.parametrize(
    "damaged",
    [
        b"{",
        b'{"point": "p"}',
        b"\n".join(json.dumps(line).encode() for line in lines({}, {"when": "before"})),
        b"\n".join(json.dumps(line).encode() for line in lines({}, {"point": "other"})),
        b"\n".join(json.dumps(line).encode() for line in lines({}, {"at_s": 0.0})),
        b"\n".join(json.dumps(line).encode() for line in lines({}, {}, {})),
    ],
)
def test_damaged_lines_are_refused(damaged: bytes) -> None:
    with pytest.raises(OutputUnreadable):
        sustained({UPKEEP: damaged})


def test_what_is_not_said_is_not_known() -> None:
    found = sustained({UPKEEP: b"\n".join(json.dumps(line).encode() for line in lines({}, {}))})
    assert found is not None
    assert found.model_dump(exclude={"seconds"}) == {
        **dict.fromkeys(("free_bytes", "free_lost_per_s", "log_per_s", "cache_hit_share", "debt_per_s")),
        **dict.fromkeys(("assured_bytes", "assured_lost_per_s")),
        "disk_unseen": False,
        "trouble": "",
    }
    assert list(measured(found)) == []


@pytest.mark.parametrize(("base", "log_per_s", "debt_per_s"), [(100, 50.0, 50.0), (250, None, None)])
def test_the_growth_of_a_log_that_was_rewritten_meanwhile_is_not_known(
    base: int, log_per_s: float | None, debt_per_s: float | None
) -> None:
    """Its length after the rewrite says nothing about what was written before."""
    said = [f"aof_current_size:{size}\r\naof_base_size:{from_}\r\n" for size, from_ in ((300, 100), (400, base))]
    looks = lines(*({"at_s": 2.0 * at, "upkeep": of_valkey(one, 7).model_dump()} for at, one in enumerate(said)))
    found = sustained({UPKEEP: b"\n".join(json.dumps(line).encode() for line in looks)})
    assert found is not None
    assert (found.log_per_s, found.debt_per_s) == (log_per_s, debt_per_s)


def test_trouble_at_any_look_is_kept() -> None:
    stopped = {"upkeep": {"trouble": "it takes no writes"}}
    found = sustained({UPKEEP: b"\n".join(json.dumps(line).encode() for line in lines({}, stopped))})
    assert found is not None
    assert str(found.trouble) == "it takes no writes"


def test_answers_of_servers_are_read() -> None:
    assert of_postgres([["1048576", "90", "10"]], 5) == Upkeep(
        free_bytes=5, log_bytes=1048576.0, cache_hits=90.0, cache_misses=10.0
    )
    assert of_postgres([["1048576", "90", "10"]], None).disk_unseen
    with pytest.raises(OutputUnreadable, match="what no such server does"):
        of_postgres([["1", "2"]], 5)
    said = "loading:0\r\naof_enabled:1\r\naof_current_size:300\r\naof_base_size:100\r\n"
    one = of_valkey(said, 7)
    assert one == Upkeep(free_bytes=7, log_bytes=300.0, debt_bytes=200.0, rewritten_bytes=(100.0,))
    assert of_valkey("aof_enabled:0\r\n", 7) == Upkeep(free_bytes=7)
    assert together([one, one.model_copy(update={"free_bytes": 3})]) == Upkeep(
        free_bytes=3, log_bytes=600.0, debt_bytes=400.0, rewritten_bytes=(100.0, 100.0)
    )
    assert together([one, Upkeep()]).log_bytes is None


def test_of_disks_that_are_apart_the_one_with_least_room_counts(tmp_path: Path) -> None:
    one = replace(this_machine(tmp_path), name="db")
    full = replace(one, more_data_dirs=("/proc",))  # a file system without room
    for machines, has_room in (((one,), True), ((full,), False), ((one, full), False)):
        assert bool(asyncio.run(free_bytes(Cluster("disks", machines, one)))) is has_room


@needs("redis-server")
def test_a_real_valkey_tells(tmp_path: Path) -> None:
    machine = replace(this_machine(tmp_path), name="db")
    cluster, database = Cluster("upkeep", (machine,), machine), ValkeyDatabase(find_valkey)

    async def tell() -> tuple[Upkeep, Upkeep]:
        endpoint = await database.start(cluster, DatabaseSettings(), tmp_path / "log")
        try:
            assert isinstance(database, HasUpkeep)
            before = await database.upkeep(cluster, endpoint)
            await database._command(cluster, endpoint, "SET", "key", "x" * 10_000)
            return before, await database.upkeep(cluster, endpoint)
        finally:
            await database.stop(cluster)

    before, after = asyncio.run(tell())
    assert (after.log_bytes or 0) - (before.log_bytes or 0) >= 10_000
    assert (after.free_bytes or 0) > 0


@needs("postgres")
def test_a_real_postgres_tells(tmp_path: Path) -> None:
    with server(tmp_path) as one:
        assert isinstance(one.database, HasUpkeep)
        before, after = (
            one.loop.run_until_complete(_upkeep(one.database, one.cluster, one.endpoint)) for _ in range(2)
        )
        one.sql("CREATE TABLE t AS SELECT generate_series(1, 10000) AS x")
        last = one.loop.run_until_complete(_upkeep(one.database, one.cluster, one.endpoint))
    assert (last.log_bytes or 0) - (after.log_bytes or 0) >= 300_000
    assert (before.cache_hits or 0) > 0
    assert (before.free_bytes or 0) > 0


class OfTheUser(FakeDatabase):
    """The user's server that a search is told to look at."""

    def __init__(self, reached: PostgresDatabase, endpoint: Endpoint) -> None:
        super().__init__()
        self._reached = reached
        self._endpoint = endpoint

    async def upkeep(self, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
        return await self._reached.upkeep(cluster, self._endpoint)


@needs("postgres")
def test_a_search_on_a_server_of_the_users_counts_and_says_that_its_disk_was_not_seen(tmp_path: Path) -> None:
    with server(tmp_path / "server") as ours:
        users = postgres(ours.endpoint.environment)
        settings = DatabaseSettings(dsn=ours.endpoint.dsn)
        reached = ours.loop.run_until_complete(users.start(ours.cluster, settings, tmp_path / "log"))
        _, raw, _ = searched(tmp_path, database=OfTheUser(users, reached))
    found = sustained(raw)
    assert found is not None
    assert (found.free_bytes, found.disk_unseen, found.log_per_s is None) == (None, True, False)
    verdict = Sustained()(evidence(operations=HighestLoad().operations(raw, PARAMETERS, client_cpus=1)))
    assert verdict is not None
    assert verdict.verdict is VerdictKind.VALID
    assert str(verdict.reason).startswith("free space was not observed: the server is the user's own; log ")


async def _upkeep(database: PostgresDatabase, cluster: Cluster, endpoint: Endpoint) -> Upkeep:
    return await database.upkeep(cluster, endpoint)
