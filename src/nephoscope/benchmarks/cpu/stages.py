"""What CPU benchmarks share: one worker, then one on each CPU of the affinity mask, with the frequency beside them."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, RawOutput, Site
from nephoscope.benchmarks.cpu.frequency import FREQUENCIES, frequencies, frequency_watched
from nephoscope.model.extents import ONE_MACHINE
from nephoscope.model.records import Measurement, Metric, measured
from nephoscope.model.subjects import Subject

Kind = Literal["single", "multi"]
KINDS: tuple[Kind, ...] = ("single", "multi")
"""One worker; one on each CPU of the affinity mask."""


@dataclass(frozen=True)
class Stage:
    """One part of a trial: a program measured with one worker or with one on each CPU."""

    kind: Kind
    program: str = ""
    """What is measured, if a benchmark measures several things."""


class StagedCpuBenchmark(Benchmark):
    """Measures stage after stage on the first database machine. A subclass says what a stage runs and prints."""

    subject = Subject.CPU
    extent = ONE_MACHINE

    def stages(self, parameters: Any) -> Sequence[Stage]:  # noqa: ARG002 - for subclasses
        """The stages in the order in which they run."""
        return [Stage(kind) for kind in KINDS]

    @abstractmethod
    def stage_metrics(self, stage: Stage, parameters: Any) -> Sequence[Metric]:
        """What a stage measures."""

    @abstractmethod
    async def run_stage(self, site: Site, stage: Stage, workers: int, parameters: Any) -> None:
        """Runs a stage with so many workers.

        Raises:
            ToolFailed: the program ended with an error.
        """

    @abstractmethod
    def stage_values(self, raw: RawOutput, stage: Stage, parameters: Any) -> Mapping[str, float]:
        """Metric -> value of a stage; pure.

        Raises:
            OutputUnreadable: as `parse`.
        """

    @override
    def metrics(self, parameters: Any) -> tuple[Metric, ...]:
        """Those of all stages, and the CPU's frequency."""
        stages = self.stages(parameters)
        return (*(metric for stage in stages for metric in self.stage_metrics(stage, parameters)), *FREQUENCIES)

    @override
    async def run(self, site: Site, parameters: Any) -> None:
        """Runs one stage after the other while the frequency is watched.

        Raises:
            ToolFailed: a program ended with an error.
        """
        cpus = site.cluster.database[0].cpus
        async with frequency_watched(site):
            for stage in self.stages(parameters):
                site.progress(" ".join(filter(None, (self.name, stage.program, stage.kind))))
                await self.run_stage(site, stage, 1 if stage.kind == "single" else len(cpus), parameters)

    @override
    def parse(self, raw: RawOutput, parameters: Any) -> list[Measurement]:
        """The values of all stages, and the frequencies.

        Raises:
            OutputUnreadable: the output of a stage is missing or damaged, or it is of something else.
        """
        found: list[Measurement] = []
        for stage in self.stages(parameters):
            found += measured(self.stage_metrics(stage, parameters), self.stage_values(raw, stage, parameters))
        return found + frequencies(raw)
