"""A cloud in memory for what is the same in all clouds, with failures on demand."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nephoscope.machines.fake import FakeRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import NephoscopeError
from nephoscope.providers.base import ClusterRequest
from nephoscope.providers.cloud.order import ClusterOrder, Question, machine_name
from nephoscope.providers.cloud.provider import CloudMachine, Life
from nephoscope.providers.fake import idle_answers
from nephoscope.study.model import Configuration, Machine


def request_of(trial: str = "abc", attempt: int = 1, **more: Any) -> ClusterRequest:
    content = {
        "name": "m6i",
        "provider": "aws",
        "region": "us-east-1",
        "zone": "us-east-1a",
        "cloud": {"image": "ami-12c6146b", "ingress": "203.0.113.7/32"},
        "database_machine": {
            "type": "m6i.2xlarge",
            "count": 3,
            "volumes": [{"kind": "gp3", "size": 100, "iops": 8000, "throughput": 500}],
        },
        "load_machine": {"type": "c6i.2xlarge"},
    }
    configuration = Configuration.model_validate({**content, **more})
    return ClusterRequest("study-1", configuration, Path("/nowhere"), trial, attempt, expires_unix_ms=1_800_000_000_000)


@dataclass
class MadeCloud:
    """`told` changes what is told of the machines; `refuse` is raised by `make` after the roles before it are made."""

    name: str = "aws"
    there: dict[str, list[CloudMachine]] = field(default_factory=dict)
    made: int = 0
    refuse: Mapping[str, NephoscopeError] = field(default_factory=dict)
    told: Callable[[list[CloudMachine]], list[CloudMachine]] = lambda machines: machines

    async def account(self) -> str | None:
        return "made"

    async def clusters(self, study: str, regions: Collection[str] = ()) -> list[str]:
        return [key for key in self.there if key.startswith(f"{study}/")]

    async def machines(self, key: str, regions: Sequence[str]) -> list[CloudMachine]:
        return self.told(self.there.get(key, []))

    async def make(self, order: ClusterOrder) -> None:
        for role in order.roles:
            self.there.setdefault(order.key, [])
            if role.role in self.refuse:
                raise self.refuse[role.role]
            for index in range(role.machine.count):
                self.made += 1
                name = machine_name(role.role, index, role.machine.count)
                self.there[order.key].append(
                    CloudMachine(
                        name, role.role, f"i-{self.made}", Life.RUNNING, role.zone_of(name), "192.0.2.1", "10.0.0.1"
                    )
                )

    async def unmake(self, key: str, regions: Collection[str] = ()) -> None:
        self.there.pop(key, None)

    def questions(self, order: ClusterOrder) -> Sequence[Question]:
        return ()

    def end(self, key: str, name: str, why: NephoscopeError | None = None) -> None:
        self.there[key] = [
            replace(one, life=Life.ENDED, why=why) if one.name == name else one for one in self.there[key]
        ]


@dataclass
class AtOnce:
    """A connection that is there at once, or fails."""

    failure: NephoscopeError | None = None
    entered: list[str] = field(default_factory=list)

    async def key(self, scratch: Path) -> str:
        return "ssh-ed25519 AAAA test"

    async def __call__(self, machine: CloudMachine, asked: Machine, request: ClusterRequest) -> MachineHandle:
        if self.failure is not None:
            raise self.failure
        self.entered.append(machine.id)
        remote, region = FakeRemote(idle_answers(8), _NoTime()), asked.region or request.configuration.region or ""
        cpus = tuple(range(8))
        return MachineHandle(machine.name, remote, "10.0.0.1", cpus, "/fake", region=region, zone=machine.zone)


class _NoTime:
    def elapse(self, seconds: float) -> None:
        pass
