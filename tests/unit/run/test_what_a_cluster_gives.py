"""What of a configuration is known only once its cluster is there, or only of its database."""

from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.base import Needs
from nephoscope.benchmarks.raw_device import require_unused
from nephoscope.databases.aerospike import AerospikeDatabase
from nephoscope.databases.cockroachdb import CockroachDatabase
from nephoscope.databases.fake import FakeDatabase
from nephoscope.providers.base import Cluster
from nephoscope.run.trial import _as_kept, _at_this_size
from nephoscope.study.aerospike import Aerospike
from nephoscope.study.model import Configuration, Database
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
    needs, settings = Needs(database=True, disk_bytes=1000), Database()
    assert _as_kept(needs, CockroachDatabase(), settings).disk_bytes == 350
    assert _as_kept(needs, FakeDatabase(), settings) is needs


def test_a_raw_device_takes_nothing_of_the_data_folders_disk() -> None:
    needs, device = Needs(database=True, disk_bytes=1000), Aerospike(device="/dev/sdb", destroys_data_on="/dev/sdb")
    for own, disk_bytes in ((None, 1000), (device, 0)):
        settings = Database(system="aerospike", aerospike=own)
        assert _as_kept(needs, AerospikeDatabase(require_unused), settings).disk_bytes == disk_bytes
