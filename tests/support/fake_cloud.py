"""A cloud that is a folder: clusters and commands outlive the controller. It ships, for rehearsals and tests.

`clusters/<key>/` is a cluster that exists, `gone/<key>/` one that was given back; `jobs/<name>/` below it is a command
that was begun. Each is made or moved by one atomic call of the file system, so a controller may die at any moment.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from nephoscope.machines.fake import AnswerTo, FakeRemote
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import NephoscopeError
from nephoscope.providers.base import Cluster, ClusterRequest, cluster_of
from nephoscope.providers.fake import CPUS_OF_ALL, idle_answers, load_names

Refuse = Callable[[ClusterRequest], NephoscopeError | None]
"""The error that a request for a cluster ends in; `None`: it is made."""


class FakeCloud:
    """`programs` are what is installed on its machines."""

    name = "fake"
    detached = True

    def __init__(self, folder: Path, programs: Mapping[str, AnswerTo], refuse: Refuse) -> None:
        self._programs = programs
        self._refuse = refuse
        self._clusters, self._gone = folder / "clusters", folder / "gone"
        self._clusters.mkdir(parents=True, exist_ok=True)
        self._gone.mkdir(exist_ok=True)

    async def create(self, request: ClusterRequest) -> Cluster:
        """See `Provider.create`."""
        home = self._clusters / quote(request.key, safe="")
        if not home.exists():
            failure = self._refuse(request)
            if failure is not None:
                raise failure
            (home / "jobs").mkdir(parents=True)
        configuration = request.configuration
        asked, load = configuration.database_machine, configuration.load_machine
        cpus = CPUS_OF_ALL if isinstance(asked.cpus, str) else asked.cpus
        machines = [
            machine_of_answers(f"fake-{number}", home, self._programs, cpus) for number in range(1, asked.count + 1)
        ]
        names = load_names(load.count) if load else []
        machines += [machine_of_answers(name, home, self._programs, CPUS_OF_ALL) for name in names]
        return cluster_of(request.key, machines, asked.count)

    async def list(self, study: str) -> list[str]:
        """See `Provider.list`."""
        keys = sorted(unquote(home.name) for home in self._clusters.iterdir())
        return [key for key in keys if key.startswith(f"{study}/")]

    async def delete(self, key: str) -> None:
        """See `Provider.delete`."""
        name = quote(key, safe="")
        with suppress(FileNotFoundError):
            (self._clusters / name).rename(self._gone / f"{name}.{time.time_ns()}")

    def created(self) -> int:
        """Clusters ever made."""
        return len(list(self._clusters.iterdir())) + self.terminated()

    def terminated(self) -> int:
        """Clusters given back."""
        return len(list(self._gone.iterdir()))

    def begun(self, name: str) -> dict[str, int]:
        """Cluster's key -> how often a command of that name was begun on it, on all clusters there ever were."""
        homes = [*self._clusters.iterdir(), *self._gone.iterdir()]
        return {
            unquote(home.name.rpartition(".")[0] if home.parent == self._gone else home.name): len(
                list((home / "jobs").glob(f"{name}@*"))
            )
            for home in homes
        }


def machine_of_answers(name: str, home: Path, programs: Mapping[str, AnswerTo], cpus: int) -> MachineHandle:
    """A machine whose commands are kept below `home`: each is begun once, whoever asks for it."""
    remote = _CloudRemote({**idle_answers(cpus), **programs}, home / "jobs", name)
    return MachineHandle(name, remote, "192.0.2.1", tuple(range(cpus)), f"/fake/{home.name}")


class _NoTime:
    """Looks take no time; commands take real time."""

    def elapse(self, seconds: float) -> None:
        """Nothing."""


class _CloudRemote(FakeRemote):
    """A command that is kept is a job: begun once, and waited for by whoever asks for it."""

    def __init__(self, answers: Mapping[str, AnswerTo], jobs: Path, machine: str) -> None:
        super().__init__(answers, _NoTime())
        self._jobs = jobs
        self._machine = machine

    async def _work(self, seconds: float, save_as: Path | None) -> None:
        if save_as is not None:
            job = self._jobs / f"{save_as.name}@{self._machine}"
            with suppress(FileExistsError):
                job.mkdir()
            await asyncio.sleep(max(0.0, job.stat().st_mtime + seconds - time.time()))
