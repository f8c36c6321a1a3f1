"""This machine as a cluster of one: database, load generator and microbenchmarks share it, within a CPU affinity."""

import os

from typing_extensions import override

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.loopback import loopback
from nephoscope.machines.remote import FINDMNT, LSCPU, SETPRIV, TASKSET, UNSHARE, MachineHandle
from nephoscope.model.errors import EnvironmentProblem, InputError, StorageFailed
from nephoscope.providers.base import Cluster, ClusterRequest, Provider


class LocalProvider(Provider):
    """Creates and deletes nothing except nephoscope's folders."""

    name = "local"
    at_once = 1
    tools = (TASKSET, SETPRIV, UNSHARE, LSCPU, FINDMNT)
    needs_root = False

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        """This machine, for both roles.

        Raises:
            InputError: more than one machine is requested.
            EnvironmentProblem: more CPUs are requested than this process may use.
            StorageFailed: the folder for its data cannot be made.
        """
        configuration = request.configuration
        asked = configuration.database_machine
        if asked.count != 1 or configuration.load_machine is not None:
            raise InputError(
                f"configuration {configuration.name!r} requests several machines, but provider 'local' has only one",
                hint="remove load_machine and count, or use another provider",
            )
        allowed = sorted(os.sched_getaffinity(0))
        wanted = len(allowed) if asked.cpus == "all" else asked.cpus
        if wanted > len(allowed):
            raise EnvironmentProblem(
                f"configuration {configuration.name!r} requests {wanted} CPUs, but only {len(allowed)} may be used on "
                "this machine",
                hint="lower database_machine.cpus",
            )
        folder = request.scratch / configuration.name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed.of(folder, error) from error
        cpus = tuple(allowed[:wanted])
        machine = MachineHandle("local", LocalRemote(cpus), loopback(), cpus, str(folder.resolve()))
        return Cluster(request.key, (machine,), machine)

    @override
    async def list(self, study: str) -> list[str]:
        return []

    @override
    async def delete(self, key: str) -> None:
        """Data folders stay until the study ends, as fixtures live there."""
