"""What a benchmark is: metrics, needs, prepare, run, and a pure parser of what it left behind."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from nephoscope.benchmarks.calibrations import OwnCalibrations
from nephoscope.benchmarks.presets import Scaled
from nephoscope.databases.base import Database, Endpoint
from nephoscope.machines.remote import Command, Completed, MachineHandle, Tool
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Facts, Measurement, Metric, Observations, OperationEvidence
from nephoscope.model.subjects import DatabaseLoad, Extent, Subject
from nephoscope.providers.base import Cluster

RawOutput = Mapping[str, bytes]
"""Name of a raw file (`fio-random-read.stdout`) -> its bytes, verbatim."""

_GAP_MS = 100.0
"""Measured intervals that are further apart do not belong together."""

VOLUME = "volume"
"""What a benchmark or a database calls the first raw disk that nephoscope created with the machine."""


@dataclass(frozen=True)
class Needs:
    """What a benchmark requires before it can run."""

    tools: tuple[Tool, ...] = ()
    users: Callable[[Cluster], Sequence[MachineHandle]] = lambda cluster: cluster.database[:1]
    """The machines of a cluster on which the tools must be installed."""
    disk_bytes: int = 0
    raw_device: str | None = None
    """A device without a filesystem: 'volume' for the one that nephoscope created with the machine, or its path."""
    machines: int = 1
    """Minimum number of machines in a cluster; a plan leaves out configurations with fewer."""


class Execute(Protocol):
    """Runs a command on a machine and records argv, exit code and output as `raw/<name>.stdout|.stderr`."""

    async def __call__(self, machine: MachineHandle, name: str, command: Command) -> Completed:
        """As `Remote.execute`."""


@dataclass(frozen=True)
class Site:
    """Where a trial happens, as a benchmark sees it."""

    cluster: Cluster
    execute: Execute
    raw_dir: Path
    seed: int
    """Seed for this replicate's random draws: equal for all configurations, so that all get the same operations."""
    data_seed: int
    """Seed for data sets: equal for the whole study."""
    connections: int
    """Of the load generator, from the configuration."""
    load_program: str
    """Path of nephoscope-load on the load machine."""
    database: Database | None = None
    endpoint: Endpoint | None = None
    database_facts: Sequence[Facts] = ()
    """What was observed of the database's machines before the trial; empty: they are elsewhere."""
    calibrations: OwnCalibrations = field(default_factory=OwnCalibrations)
    """Of the load generator, by earlier trials of this run; by default there are none, and none is kept."""
    resumed: bool = False
    """Whether a controller that died had already started `run`; see `Benchmark.resumable`."""
    progress: Callable[[str], None] = field(default=lambda _: None)
    """Takes a short text: the last value seen ('12,345 New-Orders/min')."""
    loading: Callable[[float | None], None] = field(default=lambda _: None)
    """Takes the share of the data set that is loaded; None: not known."""
    loaded: Callable[[], None] = field(default=lambda: None)
    """Called once the data set is loaded."""


STEP_S = 0.1
"""In which the load generator counts operations that end."""


@dataclass(frozen=True)
class Ended:
    """The operations that ended in a part of the measurement, by the load machine's wall clock."""

    from_unix_ms: float
    to_unix_ms: float
    operations: int
    per_100_ms: Sequence[int] = ()
    """The same operations in each 100 ms of it, of which the last may be shorter; empty: not recorded."""


def stretches(ended: Sequence[Ended]) -> Iterator[Sequence[Ended]]:
    """What was measured without a break: a search measures several times."""
    start = 0
    for place in range(1, len(ended) + 1):
        if place == len(ended) or ended[place].from_unix_ms - ended[place - 1].to_unix_ms > _GAP_MS:
            if place > start:
                yield ended[start:place]
            start = place


class Benchmark(ABC):
    """One benchmark; stateless, registered in `benchmarks.registry`."""

    resumable: bool = False
    """`run` may be called again by another controller, with `site.resumed`.

    It then requests the same commands under the same names: nephoscope waits for those that are already running,
    and `run` must not undo their effects.
    """

    name: str
    """Its name in a study's `uses`."""
    version: int
    """Increase it when new numbers must not be compared with old ones; part of the trial's id."""
    title: str
    """For people."""
    subject: Subject
    """What it measures. Reports compare and rank by it; a database is started for each trial that drives one."""
    extent: Extent
    """The part of a configuration that it measures: results are paid for with it, and plans create no more."""
    parameters: type[Frozen]
    """Model of its parameters."""
    tools: tuple[Tool, ...] = ()
    """What must be installed on the first database machine, if that is all that it needs."""

    def as_run(self, parameters: Any, node_cpus: int) -> Any:  # noqa: ARG002 - for subclasses
        """The parameters with what the size of a machine decides written out; equal ones make one benchmark.

        Args:
            parameters: as in the study.
            node_cpus: CPUs of one machine under test.
        """
        return parameters

    def version_of(self, parameters: Mapping[str, Any]) -> int:  # noqa: ARG002 - for subclasses
        """Its version with these parameters, as a trial stores them: newer, too, when a benchmark that it drives is."""
        return self.version

    def subject_of(self, parameters: Any) -> Subject:  # noqa: ARG002 - for subclasses
        """Its subject with these parameters."""
        return self.subject

    def extent_of(self, parameters: Any) -> Extent:  # noqa: ARG002 - for subclasses
        """Its extent with these parameters."""
        return self.extent

    def database_load_of(self, parameters: Any) -> DatabaseLoad | None:
        """What it asks of a database with these parameters; None for other subjects. Reports have a chapter for each.

        A benchmark with a database asks for transactions unless it says otherwise.
        """
        return DatabaseLoad.OLTP if self.subject_of(parameters) is Subject.DATABASE else None

    @abstractmethod
    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        """Everything `parse` may return, with units and directions."""

    def needs(self, parameters: Any) -> Needs:  # noqa: ARG002 - for subclasses
        """Tools, disk and machines."""
        return Needs(tools=self.tools)

    @abstractmethod
    def expected_duration_s(self, parameters: Any) -> float:
        """Of one trial, with its set-up; for plan and progress only."""

    def connections(self, site: Site, parameters: Any) -> int:  # noqa: ARG002 - for subclasses
        """Of the load generator to the database; may be more than the configuration names."""
        return site.connections

    def measured_s(self, parameters: Any) -> float | None:  # noqa: ARG002 - for subclasses
        """How long it measures its headline, if a search comes before; only these bytes count as those of a run."""
        return None

    def is_watched(self, parameters: Any) -> bool:  # noqa: ARG002 - for subclasses
        """Whether the course of its rates is the result, so that one that falls does not spoil a trial."""
        return False

    async def prepare(self, site: Site, parameters: Any) -> Endpoint | None:  # noqa: ARG002 - for subclasses
        """Makes the state each trial starts from; returns the endpoint to use when it made a new one."""
        return None

    @abstractmethod
    async def run(self, site: Site, parameters: Any) -> None:
        """Measures; leaves raw output in `site.raw_dir`."""

    @abstractmethod
    def parse(self, raw: RawOutput, parameters: Any) -> list[Measurement]:
        """Reads the numbers out of raw output; pure.

        Raises:
            OutputUnreadable: the output is not what the tool writes; nothing ever becomes 0 silently.
        """

    def operations(self, raw: RawOutput, parameters: Any, client_cpus: int | None) -> OperationEvidence | None:  # noqa: ARG002
        """Evidence for the checks, of a benchmark that counts operations and errors itself; pure.

        Raises:
            OutputUnreadable: as `parse`.
        """
        return None

    def ended(self, raw: RawOutput, parameters: Any) -> Sequence[Ended]:  # noqa: ARG002 - for subclasses
        """The operations of a database benchmark, second by second of what it measured; pure.

        Raises:
            OutputUnreadable: as `parse`.
        """
        return ()

    def steps(self, raw: RawOutput, parameters: Any) -> Sequence[Sequence[Ended]]:  # noqa: ARG002 - for subclasses
        """The operations of each step of a search that led to those in `ended`, in order of time; pure.

        Raises:
            OutputUnreadable: as `parse`.
        """
        return ()

    def observations(self, raw: RawOutput, parameters: Any) -> Observations:  # noqa: ARG002 - for subclasses
        """What the output shows besides numbers, as evidence for the checks; pure.

        Raises:
            OutputUnreadable: as `parse`.
        """
        return Observations()

    def notes(self, parameters: Any) -> list[str]:
        """Sentences for the report about these parameters, of what no number shows."""
        return parameters.notes() if isinstance(parameters, Scaled) else []
