"""A plan whose data cannot fit on its disks is refused, with what they take and what there is."""

import pytest

from nephoscope.app.stages.planning import load, plan
from nephoscope.model.errors import InputError

STUDY = """
name = "s"
replicates = 2

[[machine_types]]
name = "node"
vcpus = 1
disk_gib = {disk_gib}

[[configurations]]
name = "quorum"
provider = "emulated"
database_machine = {{ type = "node", count = {count} }}
load_machine = {{ type = "node" }}
database = {{ {database} }}

[[benchmarks]]
uses = "{uses}"
parameters = {{ {parameters} }}
"""


def planned(
    disk_gib: float, count: int = 3, database: str = "", uses: str = "tpcc", parameters: str = "warehouses = 1"
) -> int:
    text = STUDY.format(disk_gib=disk_gib, count=count, database=database, uses=uses, parameters=parameters)
    return len(plan(load(text, "s.toml")).trials)


def test_the_log_of_postgresql_does_not_fit_on_one_gib() -> None:
    with pytest.raises(InputError) as caught:
        planned(1)
    assert caught.value.exit_code == 2
    assert caught.value.message == (
        "tpcc needs 5.25 GiB on each database machine of quorum (as postgres stores it, with its log), but its disk "
        "has "
        "1 GiB"
    )
    assert "`max_wal_size`" in caught.value.hint


def test_one_server_keeps_no_log_for_others() -> None:
    assert planned(5, count=1) == 2
    with pytest.raises(InputError):
        planned(5, count=3)
    assert planned(6, count=3) == 2
    assert planned(0.5, count=1, database='settings = { max_wal_size = "100MB" }') == 2


def test_data_alone_may_be_too_large() -> None:
    with pytest.raises(InputError, match=r"fio needs 2.00 GiB on each database machine of quorum, but its disk has 1 "):
        planned(1, uses="fio", parameters="file_size_mib = 2048")
    assert planned(2, uses="fio", parameters="file_size_mib = 2048") == 2


def test_volumes_of_a_cloud_count_together_and_what_nobody_knows_is_not_refused() -> None:
    text = """
name = "s"
[[configurations]]
name = "a"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
cloud = {{ image = "ami-1", ingress = "203.0.113.7/32" }}
database_machine = {{ type = "m6i.large"{volumes} }}
[[benchmarks]]
uses = "tpcc"
parameters.warehouses = 100
"""
    volumes = ', volumes = [{{ kind = "gp3", size = {size}, count = 2 }}]'
    assert plan(load(text.format(volumes=""), "s.toml")).trials
    assert plan(load(text.format(volumes=volumes.format(size=15)), "s.toml")).trials
    with pytest.raises(InputError, match=r"tpcc needs 29.39 GiB .* its disk has 28 GiB"):
        plan(load(text.format(volumes=volumes.format(size=14)), "s.toml"))
