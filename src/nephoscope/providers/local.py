"""This machine as a cluster of one: database, load generator and microbenchmarks share it, within a CPU affinity."""

import os

from typing_extensions import override

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import EnvironmentProblem, InputError, StorageFailed
from nephoscope.providers.base import Cluster, ClusterRequest, Provider

LOOPBACK = "127.0.0.1"


class LocalProvider(Provider):
    """Nothing is created and nothing is deleted but folders of ours."""

    name = "local"
    at_once = 1

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        """This machine, for both roles.

        Raises:
            InputError: more than one machine is asked for.
            EnvironmentProblem: more CPUs are asked for than this process may use.
            StorageFailed: the folder for its data cannot be made.
        """
        configuration = request.configuration
        asked = configuration.database_machine
        if asked.count != 1 or configuration.load_machine is not None:
            raise InputError(
                f"configuration {configuration.name!r} asks for several machines, and provider 'local' has one",
                hint="leave out load_machine and count, or use another provider",
            )
        allowed = sorted(os.sched_getaffinity(0))
        wanted = len(allowed) if asked.cpus == "all" else asked.cpus
        if wanted > len(allowed):
            raise EnvironmentProblem(
                f"configuration {configuration.name!r} asks for {wanted} CPUs, and this machine lets us use "
                f"{len(allowed)}",
                hint="lower database_machine.cpus",
            )
        folder = request.scratch / configuration.name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed.of(folder, error) from error
        cpus = tuple(allowed[:wanted])
        machine = MachineHandle("local", LocalRemote(cpus), LOOPBACK, cpus, str(folder.resolve()))
        return Cluster(request.key, (machine,), machine)

    @override
    async def list(self, study: str) -> list[str]:
        """Always empty."""
        return []

    @override
    async def delete(self, key: str) -> None:
        """Data folders stay until the study ends, as fixtures live there."""
