"""What CPU benchmarks share: one worker, then one on each CPU of the affinity mask, with the frequency beside them."""

import asyncio
import json
import re
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from statistics import fmean
from typing import Any, Literal

from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, RawOutput, Site
from nephoscope.machines.remote import Command
from nephoscope.machines.shielded import meanwhile
from nephoscope.model.bounded_json import load_json
from nephoscope.model.errors import OutputUnreadable, TrialFailure
from nephoscope.model.records import Measurement, Metric, measured
from nephoscope.model.subjects import ONE_MACHINE, Subject

_RAW = "cpu-frequency.jsonl"
_FIRST_S = 0.5
_EVERY_S = 30.0
_TIMEOUT_S = 10.0
_LOOK = (
    "grep -H . /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq 2>/dev/null "
    "|| grep -E '^(processor|cpu MHz)' /proc/cpuinfo"
)
_CPUFREQ = re.compile(r"/cpu([0-9]{1,5})/cpufreq/scaling_cur_freq:([0-9]{1,9})$", re.MULTILINE)
_CPUINFO = re.compile(r"^processor\s*:\s*([0-9]{1,5})\ncpu MHz\s*:\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)$", re.MULTILINE)
FREQUENCIES = tuple(
    Metric.higher(name, "Hz", title, "cpufreq, or else /proc/cpuinfo, for the CPUs of the affinity mask, every 30 s")
    for name, title in (("cpu_frequency", "CPU frequency, mean"), ("cpu_frequency_min", "CPU frequency, lowest"))
)


@asynccontextmanager
async def frequency_watched(site: Site) -> AsyncIterator[None]:
    """Looks at the first database machine now and then for the time of the block; leaves `cpu-frequency.jsonl`."""
    rows: list[str] = []
    try:
        async with meanwhile(_watch(site, rows)):
            yield
    finally:
        (site.raw_dir / _RAW).write_text("".join(rows), encoding="utf-8")


async def _watch(site: Site, rows: list[str]) -> None:
    """A failed reading is skipped: a missing frequency must not fail a trial."""
    machine, begin_s = site.cluster.database[0], time.monotonic()
    await asyncio.sleep(_FIRST_S)
    while True:
        with suppress(TrialFailure):
            said = await machine.remote.execute(Command(["sh", "-c", _LOOK], timeout_s=_TIMEOUT_S, pinned=False))
            text = said.stdout.decode(errors="replace")
            at_s = round(time.monotonic() - begin_s, 3)
            rows.append(json.dumps({"at_s": at_s, "cpus": list(machine.cpus), "said": text}) + "\n")
        await asyncio.sleep(_EVERY_S)


def frequencies(raw: RawOutput) -> list[Measurement]:
    """Mean and lowest frequency (Hz) of all looks, and the mean of each; empty where the machine shows none. Pure.

    Raises:
        OutputUnreadable: the file is damaged.
    """
    found: list[tuple[float, list[float]]] = []
    for line in raw.get(_RAW, b"").decode(errors="replace").splitlines():
        try:
            row = load_json(line)
            by_cpu = _hertz(str(row["said"]))
            found.append((float(row["at_s"]), [by_cpu[cpu] for cpu in row["cpus"] if cpu in by_cpu]))
        except (ValueError, KeyError, TypeError) as error:
            raise OutputUnreadable(f"{_RAW}: {error!r} in {line[:80]!r}") from error
    seen = [(at_s, hertz) for at_s, hertz in found if hertz]
    if not seen:
        return []
    mean, lowest = FREQUENCIES
    every = [one for _, hertz in seen for one in hertz]
    return [
        mean.measured(fmean(every)),
        lowest.measured(min(every)),
        *(mean.measured(fmean(hertz), at_s) for at_s, hertz in seen),
    ]


def _hertz(said: str) -> dict[int, float]:
    """CPU -> Hz: cpufreq counts in kHz, /proc/cpuinfo in MHz."""
    khz = {int(cpu): int(value) * 1e3 for cpu, value in _CPUFREQ.findall(said)}
    return khz or {int(cpu): float(value) * 1e6 for cpu, value in _CPUINFO.findall(said)}


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
