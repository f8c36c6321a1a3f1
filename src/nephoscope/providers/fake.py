"""A fake cloud: machines made of answers, with failures on demand. It ships, for rehearsals and tests."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat

from typing_extensions import override

from nephoscope.machines.facts import AGAIN
from nephoscope.machines.fake import Answer, AnswerTo, Elapses, FakeRemote, idle_line
from nephoscope.machines.remote import MachineHandle
from nephoscope.model.errors import NephoscopeError
from nephoscope.providers.base import Cluster, ClusterRequest, Provider, cluster_of, study_of

CPUS_OF_ALL = 8
_TICKS_BETWEEN_LOOKS = 1000


@dataclass
class FakeProvider(Provider):
    """`programs` are what is installed on its machines; `failures` yields an error to raise, or None, per `create`."""

    programs: Mapping[str, AnswerTo]
    clock: Elapses
    failures: Iterator[NephoscopeError | None] = field(default_factory=lambda: repeat(None))
    name: str = "fake"
    existing: dict[str, Cluster] = field(default_factory=dict)

    @override
    async def create(self, request: ClusterRequest) -> Cluster:
        failure = next(self.failures)
        if failure is not None:
            raise failure
        configuration = request.configuration
        key = request.key
        if key not in self.existing:
            asked = configuration.database_machine
            machines = [self._machine(f"fake-{number}", request, asked.cpus) for number in range(1, asked.count + 1)]
            load = configuration.load_machine
            machines += [self._machine(name, request, load.cpus) for name in load_names(load.count)] if load else []
            self.existing[key] = cluster_of(key, machines, asked.count)
        return self.existing[key]

    @override
    async def list(self, study: str) -> list[str]:
        return [key for key in self.existing if study_of(key) == study]

    @override
    async def delete(self, key: str) -> None:
        self.existing.pop(key, None)

    def _machine(self, name: str, request: ClusterRequest, cpus: int | str) -> MachineHandle:
        count = CPUS_OF_ALL if isinstance(cpus, str) else cpus
        remote = FakeRemote({**idle_answers(count), **self.programs}, self.clock)
        return MachineHandle(name, remote, "192.0.2.1", tuple(range(count)), f"/fake/{request.configuration.name}")


def load_names(count: int) -> list[str]:
    """Names of so many load machines."""
    return ["fake-load"] if count == 1 else [f"fake-load-{number}" for number in range(1, count + 1)]


def idle_answers(cpus: int) -> dict[str, Callable[[Sequence[str], bytes], Answer]]:
    """The machine's answers about itself: eight idle CPUs, `cpus` of them in the affinity mask."""
    lscpu = {
        "CPU(s)": str(CPUS_OF_ALL),
        "On-line CPU(s) list": f"0-{CPUS_OF_ALL - 1}",
        "Model name": "Fake CPU",
        "Socket(s)": "1",
        "NUMA node(s)": "1",
        "Architecture": "fake",
    }

    def head(_argv: Sequence[str], _stdin: bytes) -> Answer:
        files = {
            "/proc/self/cgroup": "",
            "/proc/self/status": f"Cpus_allowed_list:\t0-{cpus - 1}\n",
            "/proc/sys/kernel/osrelease": "0.0-fake\n",
        }
        return Answer("\n".join(f"==> {name} <==\n{content}" for name, content in files.items()).encode())

    def watch(_argv: Sequence[str], _stdin: bytes) -> Answer:
        names = ["cpu", *(f"cpu{number}" for number in range(CPUS_OF_ALL))]
        first, second = (
            "==> /proc/stat <==\n" + "".join(f"{name} 0 0 0 {ticks} 0 0 0 0 0 0\n" for name in names)
            for ticks in (0, _TICKS_BETWEEN_LOOKS)
        )
        return Answer(f"{first}\n{AGAIN}\n{second}".encode())

    def telemetry(_argv: Sequence[str], _stdin: bytes) -> Answer:
        return Answer(b"".join(idle_line(float(second), CPUS_OF_ALL) for second in range(3)))

    fields = [{"field": f"{name}:", "data": value} for name, value in lscpu.items()]
    return {
        "lscpu": lambda _argv, _stdin: Answer(json.dumps({"lscpu": fields}).encode()),
        "head": head,
        "sh": watch,
        "nephoscope-load": telemetry,
    }
