"""What of a configuration is known only once its cluster is there, or only of its database."""

from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.base import Needs
from nephoscope.databases.cockroachdb import CockroachDatabase
from nephoscope.databases.fake import FakeDatabase
from nephoscope.providers.base import Cluster
from nephoscope.run.trial import _as_kept, _at_this_size
from nephoscope.study.model import Configuration
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
    needs = Needs(database=True, disk_bytes=1000)
    assert _as_kept(needs, CockroachDatabase()).disk_bytes == 350
    assert _as_kept(needs, FakeDatabase()) is needs
