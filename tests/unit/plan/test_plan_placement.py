"""A plan that compares types by one machine each says so, and what to change."""

from typing import Any

import pytest

from nephoscope.plan.placement import one_machine_each
from tests.unit.plan.plan_example import study


def asked(placement: str, *configurations: dict[str, Any], replicates: int = 6) -> list[str]:
    return one_machine_each(study(placement=placement, configurations=list(configurations), replicates=replicates))


def cloud(name: str, machine_type: str) -> dict[str, Any]:
    machine = {"type": machine_type}
    return {"name": name, "provider": "aws", "region": "us-east-1", "zone": "us-east-1a", "database_machine": machine}


def host(name: str, *hosts: str) -> dict[str, Any]:
    return {"name": name, "provider": "ssh", "database_machine": {"hosts": list(hosts), "count": len(hosts)}}


def test_types_on_one_machine_each_are_a_warning_and_fresh_machines_are_none() -> None:
    types = (cloud("m6i", "m6i.large"), cloud("m6a", "m6a.large"))
    (warning,) = asked("per-configuration", *types)
    assert warning.startswith("m6i, m6a: all replicates of a configuration share one machine")
    assert 'use placement = "per-replicate"' in warning
    assert asked("fresh", *types) == asked("per-replicate", *types) == []
    assert asked("per-configuration", *types, replicates=1) == []


def test_hosts_are_a_warning_under_any_placement() -> None:
    (warning,) = asked("fresh", host("intel", "db1"), host("amd", "db2"))
    assert warning.startswith("intel, amd: all replicates of a configuration run on the same hosts")


@pytest.mark.parametrize(
    "configurations",
    [
        [cloud("one", "m6i.large"), cloud("other", "m6i.large")],
        [host("one", "db1"), host("other", "db1")],
        [{"name": "one", "database_machine": {"cpus": 1}}, {"name": "all"}],
        [cloud("alone", "m6i.large")],
    ],
    ids=["same type", "same hosts", "this machine", "alone"],
)
def test_settings_of_one_machine_are_no_warning(configurations: list[dict[str, Any]]) -> None:
    assert asked("per-configuration", *configurations) == []
