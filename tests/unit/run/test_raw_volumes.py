"""A trial that measures the volume itself gets machines whose volumes carry no filesystem; all others get one."""

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from nephoscope.model.records import Expected
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.providers.cloud.order import order_of
from nephoscope.providers.fake import FakeProvider
from nephoscope.run.conductor import Rules
from nephoscope.run.derive import _without_disk
from nephoscope.run.states import Patience
from nephoscope.run.study import RunOptions, run_study
from nephoscope.study.machines import disks_of
from nephoscope.study.model import Configuration
from tests.support.fake_world import Rehearsal, rehearsal
from tests.support.made_cloud import request_of

STUDY = """
name = "chapters"
replicates = 1

[[configurations]]
name = "gp3"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
cloud = { image = "ami-1", ingress = "203.0.113.7/32" }
database_machine = { type = "m6i.large", filesystem = "xfs", volumes = [{ kind = "gp3", size = 100 }] }

[[benchmarks]]
uses = "fio"
parameters = { raw_device = "volume" }

[[benchmarks]]
uses = "stress-ng"
"""


@dataclass
class Noting(FakeProvider):
    """Remembers what each request asks for; no program is installed, so every trial fails afterwards."""

    asked: dict[str, Configuration] = field(default_factory=dict)

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        self.asked[request.trial or request.shared] = request.configuration
        return await super().create(request)


def noted(path: Path) -> tuple[Rehearsal, dict[str, Configuration]]:
    study = rehearsal(path, text=STUDY)
    provider = Noting({}, study.clock, name="aws")
    asyncio.run(run_study(study.folder, replace(study.world, providers={"aws": provider})))
    uses = {planned.intent.id: planned.intent.benchmark.uses for planned, _ in study.folder.planned()}
    return study, {uses[trial]: asked for trial, asked in provider.asked.items()}


def test_the_benchmark_decides_whether_the_volumes_of_its_trial_are_raw(tmp_path: Path) -> None:
    study, asked = noted(tmp_path / "r")
    machines = {uses: configuration.database_machine for uses, configuration in asked.items()}
    assert [disks_of(machines["fio"], raw=raw) for raw in (True, False)] == [1, 0]
    assert [disks_of(machines["stress-ng"], raw=raw) for raw in (True, False)] == [0, 1]
    fio = next(planned.intent for planned, _ in study.folder.planned() if planned.intent.benchmark.uses == "fio")
    expected = Expected(filesystem="xfs", disk_kind="ssd", sockets=1)
    assert _without_disk(expected, fio) == Expected(sockets=1), "its data folder is on the image's disk"


def test_on_shared_machines_a_raw_volume_has_a_cluster_of_its_own(tmp_path: Path) -> None:
    study = rehearsal(tmp_path / "r", text=f'placement = "per-replicate"\n{STUDY}')
    provider = Noting({}, study.clock, name="aws")
    rules = Rules("per-replicate", Patience())
    world = replace(study.world, providers={"aws": provider})
    asyncio.run(run_study(study.folder, world, RunOptions(rules=rules)))
    disks = {name: disks_of(one.database_machine, raw=True) for name, one in provider.asked.items()}
    assert disks == {"gp3/replicate-1": 0, "gp3/replicate-1-raw": 1}


def test_the_machine_is_told_which_disks_to_leave_alone() -> None:
    def boots(*volumes: dict[str, Any]) -> list[str]:
        request = request_of(database_machine={"type": "m6i.large", "volumes": list(volumes)})
        return [role.boot for role in order_of(request, "me@here", "ssh-ed25519 AAAA test").roles]

    data, raw = {"kind": "gp3", "size": 100}, {"kind": "io2", "size": 1000, "use": "raw"}
    both, load = boots(data, raw)
    assert "found volume 2" in both
    assert "for gib in 1000; do" in both
    assert "mkfs" in both
    alone, _ = boots(raw)
    assert "for gib in 0; do" in alone
    assert "mkfs" not in alone
    assert "raw-" not in load
