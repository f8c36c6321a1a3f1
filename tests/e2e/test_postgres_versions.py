"""Every PostgreSQL that is here: TPC-C is loaded, run in each profile on a copy, and checked.

Servers: the embedded one, the system's, and those in the folders that NEPHOSCOPE_PG_BINS lists, divided by colons.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.databases.base import Endpoint
from nephoscope.databases.postgres.binaries import Binaries, embedded_folder, installed
from nephoscope.databases.postgres.database import OLDEST_VERSION, PostgresDatabase
from nephoscope.providers.base import Cluster
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.local_remote import this_machine
from tests.support.real_parts import needs

NAMED = [Binaries(Path(folder), "system") for folder in os.environ.get("NEPHOSCOPE_PG_BINS", "").split(":") if folder]
SERVERS = [*installed(embedded_folder()), *NAMED]
PROFILES = ("batched", "chatty", "pipelined", "proc")

pytestmark = [pytest.mark.slow, needs("postgres", "nephoscope-load")]


@pytest.mark.parametrize("binaries", SERVERS, ids=[str(one.folder) for one in SERVERS])
def test_tpcc_holds_on_this_version_in_each_profile(binaries: Binaries, tmp_path: Path) -> None:
    major = binaries.major()
    assert major is not None, f"{binaries.path('postgres')} does not run"
    if int(major) < OLDEST_VERSION:
        pytest.skip(f"PostgreSQL {major} is too old")
    machine = this_machine(tmp_path)
    cluster = Cluster("versions", (machine,), machine)
    database = PostgresDatabase(lambda _: binaries, {}, load_program())
    settings = DatabaseSettings(connections=8, settings={"shared_buffers": "128MB", "fsync": "off"})

    async def scenario() -> None:
        try:
            endpoint = await database.start(cluster, settings, tmp_path / "log")
            assert endpoint.version.startswith(f"{major}.")
            fixture = await database.create_fixture(cluster, endpoint, "nephoscope_tpcc")
            await _load_program("load", fixture)
            await database.seal_fixture(cluster, endpoint, "nephoscope_tpcc")
            for profile in PROFILES:
                copy = await database.clone_fixture(cluster, endpoint, "nephoscope_tpcc")
                ended = await _load_program("run", copy, f"--profile={profile}", "--duration-s=3", "--connections=8")
                assert {counter["agrees"] for counter in ended["counters"]} == {True}
                assert len(ended["conditions"]) == 15
                assert {condition["holds"] for condition in ended["conditions"]} == {True}
            found = await database.settings(cluster, endpoint)
            assert (found["synchronous_commit"], found["server_version"]) == ("on", endpoint.version)
            await database.upkeep(cluster, copy)
        finally:
            await database.stop(cluster)

    asyncio.run(scenario())


async def _load_program(action: str, endpoint: Endpoint, *options: str) -> Mapping[str, Any]:
    """The last line of an action on one warehouse that ended well."""
    argv = [load_program(), "tpcc", action, f"--dsn={endpoint.dsn}", "--warehouses=1", *options]
    environment = {**os.environ, **endpoint.environment}
    ended = await asyncio.to_thread(subprocess.run, argv, capture_output=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    line: Mapping[str, Any] = json.loads(ended.stdout.splitlines()[-1])
    return line
