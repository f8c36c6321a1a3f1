"""What of a configuration is known only once its cluster is there, or only of its database."""

from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.base import Needs
from nephoscope.benchmarks.storage.raw_device import raw_device_of
from nephoscope.databases.aerospike.database import AerospikeDatabase
from nephoscope.databases.cockroachdb.database import CockroachDatabase
from nephoscope.databases.fake import FakeDatabase
from nephoscope.databases.postgres.database import PostgresDatabase
from nephoscope.model.errors import InputError
from nephoscope.model.units import GIB, MIB
from nephoscope.providers.base import Cluster
from nephoscope.run.trial import _as_kept, _at_this_size
from nephoscope.study.aerospike import Aerospike
from nephoscope.study.model import Configuration, Database, Machine
from tests.support.local_remote import this_machine


@pytest.mark.parametrize(("per_cpu", "connections"), [(None, 8), (4.0, 24), (0.01, 1)])
def test_connections_grow_with_the_cpus_of_all_database_machines(
    tmp_path: Path, per_cpu: float | None, connections: int
) -> None:
    machine = this_machine(tmp_path, cpus=(0, 1))
    cluster = Cluster("s", (machine, replace(machine, name="b"), replace(machine, name="c")), machine)
    configuration = Configuration.model_validate({"name": "a", "database": {"connections_per_cpu": per_cpu}})
    assert _at_this_size(configuration, cluster).database.connections == connections


def test_a_database_may_take_less_disk_than_is_reckoned_with() -> None:
    needs, configuration = Needs(disk_bytes=1000), Configuration(name="a")
    assert _as_kept(needs, CockroachDatabase(), configuration).disk_bytes == 350
    sixteen = Configuration(name="a", database_machine=Machine(count=16))
    assert _as_kept(needs, CockroachDatabase(), sixteen).disk_bytes == 65  # three copies on all of them together
    assert _as_kept(needs, FakeDatabase(), configuration) is needs


def test_a_raw_device_takes_nothing_of_the_data_folders_disk() -> None:
    needs, device = Needs(disk_bytes=1000), Aerospike(device="/dev/sdb", destroys_data_on="/dev/sdb")
    for own, disk_bytes in ((None, 1000), (device, 0)):
        configuration = Configuration(name="a", database=Database(system="aerospike", aerospike=own))
        assert _as_kept(needs, AerospikeDatabase(raw_device_of), configuration).disk_bytes == disk_bytes


@pytest.mark.parametrize(
    ("machines", "database", "log_bytes"),
    [
        (1, Database(), 4 * GIB),
        (3, Database(), 5 * GIB),  # the second is kept for standbys, and a standby becomes a primary
        (1, Database(settings={"max_wal_size": "512MB"}), 512 * MIB),
        (3, Database(settings={"max_wal_size": "1024", "wal_keep_size": "64 MB"}), 1088 * MIB),
        (3, Database(dsn="postgresql://me@db.example/postgres"), 0),
    ],
)
def test_postgresql_keeps_its_log_beside_the_data(machines: int, database: Database, log_bytes: int) -> None:
    needs = Needs(disk_bytes=1000)
    configuration = Configuration(name="a", database_machine=Machine(count=machines), database=database)
    postgres = PostgresDatabase(lambda _: pytest.fail("no server is needed"), {}, "")
    assert _as_kept(needs, postgres, configuration).disk_bytes == 1000 + log_bytes


def test_a_size_of_the_log_that_is_none_is_refused() -> None:
    postgres = PostgresDatabase(lambda _: pytest.fail("no server is needed"), {}, "")
    with pytest.raises(InputError, match="max_wal_size = 'much' is not a size"):
        postgres.disk_bytes(Database(settings={"max_wal_size": "much"}), 0, 1)
