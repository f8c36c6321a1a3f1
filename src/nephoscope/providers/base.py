"""Where machines come from. A provider knows no benchmark and no price."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from nephoscope.machines.remote import MachineHandle
from nephoscope.study.model import Configuration


@dataclass(frozen=True)
class ClusterRequest:
    """What a trial needs. The key makes `create` idempotent: equal keys are the same cluster."""

    study: str
    configuration: Configuration
    scratch: Path
    """A local folder for what must outlive a trial but not the study (fixtures, data of local machines)."""


@dataclass(frozen=True)
class Cluster:
    """Machines by role. Co-located: the load machine is the database machine."""

    key: str
    database: tuple[MachineHandle, ...]
    load: MachineHandle

    @property
    def co_located(self) -> bool:
        """True when client and server share a machine."""
        return self.load.name in {machine.name for machine in self.database}

    @property
    def machines(self) -> tuple[MachineHandle, ...]:
        """Every machine once."""
        return self.database if self.co_located else (*self.database, self.load)


class Provider(Protocol):
    """Makes, lists and deletes clusters; every call may be repeated."""

    name: str

    async def create(self, request: ClusterRequest) -> Cluster:
        """The cluster of this request: the one that exists, or a new one."""
        ...

    async def list(self, study: str) -> list[str]:
        """Keys of the clusters of a study that exist."""
        ...

    async def delete(self, cluster: Cluster) -> None:
        """Gives the machines back; no error when they are gone already."""
        ...
