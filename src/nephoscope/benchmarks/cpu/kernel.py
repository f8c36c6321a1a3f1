"""CPU: a Rust port of CoreMark's kernel that ships with nephoscope, for machines without network or compiler.

It is not CoreMark: different code from a different compiler gives different numbers, and the name CoreMark is reserved
for EEMBC's own code. Its numbers are comparable only between machines that ran the same nephoscope-load.
"""

from typing import Literal

from pydantic import Field, ValidationError
from typing_extensions import override

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.cpu.stages import KINDS, Kind, Stage, StagedCpuBenchmark
from nephoscope.benchmarks.presets import Scaled
from nephoscope.machines.remote import LOAD, Command
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import CpuPhase, Metric, Observations

LABEL = "CoreMark-like kernel (Rust port), not an EEMBC score"
_GRACE_S = 60.0
_MIN_SHARE_OF_DURATION = 0.5
"""Time for finding out how many iterations fill the duration."""


class CpuKernelParameters(Scaled):
    """How long it runs."""

    duration_s: int = Field(default=10, ge=1, le=86_400, description="approximate duration of each kind")

    @property
    def run_s(self) -> int:
        """Seconds of each kind, scaled."""
        return self.scaled(self.duration_s, minimum=1)


class _Line(Frozen):
    """What the program prints."""

    kernel: Literal["CoreMark-like kernel (Rust port), not an EEMBC score"]
    threads: int = Field(ge=1)
    iterations: int = Field(ge=1)
    elapsed_s: float = Field(gt=0)
    cpu_s: float | None = Field(
        default=None, ge=0, description="of all threads; None: an earlier version of the program"
    )
    iterations_per_s: float = Field(gt=0)
    crc_final: str
    compiler: str
    flags: str


class CpuKernel(StagedCpuBenchmark):
    """See the module's text."""

    name = "cpu-kernel"
    version = 1
    title = LABEL
    parameters = CpuKernelParameters
    tools = (LOAD,)

    @override
    def stage_metrics(self, stage: Stage, parameters: CpuKernelParameters) -> list[Metric]:
        del parameters
        return [
            Metric.higher(
                _metric(stage.kind),
                "1/s",
                f"CoreMark-like kernel on {'one thread' if stage.kind == 'single' else 'all CPUs'}",
                "iterations of all threads / time from their common start until the last one ends",
                headline=True,
                per_cpu=stage.kind == "multi",
                counted="iterations/s",
            )
        ]

    @override
    def expected_duration_s(self, parameters: CpuKernelParameters) -> float:
        return len(KINDS) * (parameters.run_s + 0.5)

    @override
    async def run_stage(self, site: Site, stage: Stage, workers: int, parameters: CpuKernelParameters) -> None:
        """Raises `ToolFailed` if a checksum was wrong."""
        argv = [site.load_program, "kernel", "--threads", str(workers), "--duration-s", str(parameters.run_s)]
        command = Command(argv, timeout_s=parameters.run_s + _GRACE_S)
        (await site.execute(site.cluster.database[0], f"cpu-kernel-{stage.kind}", command)).require()

    @override
    def stage_values(self, raw: RawOutput, stage: Stage, parameters: CpuKernelParameters) -> dict[str, float]:
        """The rate.

        Raises:
            OutputUnreadable: a line is missing or damaged, or it ended early.
        """
        return {_metric(stage.kind): _rate(raw, stage.kind, parameters.run_s)}

    @override
    def observations(self, raw: RawOutput, parameters: CpuKernelParameters) -> Observations:
        """The CPU time that the threads of each kind got; they only compute."""
        lines = [_line(raw, kind) for kind in KINDS]
        return Observations(
            cpu_phases=[
                CpuPhase(workers=line.threads, cpu_s=line.cpu_s, real_s=line.elapsed_s)
                for line in lines
                if line.cpu_s is not None
            ]
        )

    @override
    def notes(self, parameters: CpuKernelParameters) -> list[str]:
        return [f"{LABEL}: compare it only with itself.", *parameters.notes()]


def _metric(kind: Kind) -> str:
    return f"{kind}.kernel_iterations_per_s"


def _line(raw: RawOutput, kind: Kind) -> _Line:
    text = raw.get(f"cpu-kernel-{kind}.stdout", b"").decode(errors="replace")
    try:
        return _Line.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise OutputUnreadable(f"cpu-kernel {kind}: {error.errors(include_url=False)[0]['msg']}") from error


def _rate(raw: RawOutput, kind: Kind, asked_s: int) -> float:
    line = _line(raw, kind)
    if kind == "single" and line.threads != 1:
        raise OutputUnreadable(f"cpu-kernel {kind}: ran on {line.threads} threads instead of one")
    if line.elapsed_s < asked_s * _MIN_SHARE_OF_DURATION:
        raise OutputUnreadable(f"cpu-kernel {kind}: ended after {line.elapsed_s} s instead of {asked_s} s")
    computed = line.iterations / line.elapsed_s
    if abs(computed - line.iterations_per_s) > 0.001 * computed:
        raise OutputUnreadable(
            f"cpu-kernel {kind} contradicts itself: {line.iterations_per_s:g}/s reported, {computed:g}/s computed"
        )
    return line.iterations_per_s
