"""CPU: bogo operations per second of one stress-ng stressor on every CPU of the machine.

`matrix` (matrix algebra in cache) is the stressor that the Cloud Reports and Spare Cores use to compare CPUs; `cpu`
cycles through many methods. Bogo operations are comparable only between machines with the same version of stress-ng.
"""

from collections.abc import Mapping
from statistics import fmean
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from typing_extensions import override

from nephoscope.benchmarks.base import Benchmark, RawOutput, Site
from nephoscope.benchmarks.cpu.stages import FREQUENCIES, frequencies, frequency_watched
from nephoscope.benchmarks.presets import EDITION, EditionParameters, Presets, published
from nephoscope.machines.remote import Command, MachineHandle, Tool
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import CpuPhase, Measurement, Metric, Observations, measured
from nephoscope.model.subjects import ONE_MACHINE, Subject
from nephoscope.parsers.stress_ng import StressNgMetrics, parse_stress_ng_yaml

_STRESS_NG = Tool("stress-ng", "stress-ng")
_GRACE_S = 30.0
_MIN_SHARE_OF_DURATION = 0.9


class StressNgParameters(EditionParameters):
    """What stress-ng runs. An edition fills in what is not given."""

    presets: ClassVar[Presets] = published("stress-ng")

    edition: Literal["cr2018", "cr2020"] | None = EDITION
    stressor: Literal["matrix", "cpu"] = "matrix"
    method: str | None = Field(
        default=None,
        exclude_if=lambda method: method is None,  # so that trials without a method keep the ids that they always had
        pattern=r"^[a-z][a-z0-9]{0,30}$",
        description="of the stressor, as 'div16'; default: stress-ng's own",
    )
    duration_s: int = Field(default=3, ge=1, le=86_400, description="of one run")
    repeats: int = Field(default=1, ge=1, le=100, description="consecutive runs in a trial; the result is their mean")
    workers: Annotated[int, Field(ge=1, le=4096)] | Literal["cpus"] = Field(
        default="cpus", description="'cpus': one on each CPU of the affinity mask"
    )

    @property
    def run_s(self) -> int:
        """Seconds of one run, scaled."""
        return self.scaled(self.duration_s, minimum=1)


_OPERATIONS: Mapping[tuple[str, str | None], str] = {("cpu", "div16"): "integer divisions"}


def _title(stressor: str, method: str | None) -> str:
    """'stress-ng integer divisions (cpu div16)', 'stress-ng matrix': always with what stress-ng calls it."""
    called = " ".join(filter(None, (stressor, method)))
    words = _OPERATIONS.get((stressor, method))
    return f"stress-ng {words} ({called})" if words else f"stress-ng {called}"


class StressNg(Benchmark):
    """One stressor, once or some times."""

    name = "stress-ng"
    version = 1
    subject = Subject.CPU
    extent = ONE_MACHINE
    resumable = True
    title = "CPU throughput (stress-ng)"
    parameters = StressNgParameters
    tools = (_STRESS_NG,)

    @override
    def metrics(self, parameters: StressNgParameters) -> tuple[Metric, ...]:
        """Both rates: where they part, something else had the CPUs."""
        return (
            Metric.higher(
                "bogo_ops_per_s",
                "bogo-ops/s",
                _title(parameters.stressor, parameters.method),
                "operations of all workers / real time",
                headline=True,
                per_cpu=True,
            ),
            Metric.higher(
                "bogo_ops_per_s_cpu_time",
                "bogo-ops/s",
                "Bogo operations by CPU time",
                "operations of all workers / their user + system time",
            ),
            Metric.higher(
                "cpu_usage_per_instance",
                "1",
                "CPU time per worker as a share of real time",
                "user + system time / real time / workers",
            ),
            Metric.higher("cpus_effective", "CPUs", "CPUs in use", "user + system time of all workers / real time"),
            *FREQUENCIES,
        )

    @override
    def expected_duration_s(self, parameters: StressNgParameters) -> float:
        return parameters.repeats * (parameters.run_s + 0.5)

    @override
    async def run(self, site: Site, parameters: StressNgParameters) -> None:
        """Runs the stressor on the first database machine; leaves a YAML file of each run in the raw folder.

        Raises:
            ToolMissing: stress-ng is not there.
            ToolFailed: it ended with an error.
        """
        machine = site.cluster.database[0]
        # stress-ng's own 0 counts every CPU that is online, also those outside the affinity mask.
        workers = len(machine.cpus) if parameters.workers == "cpus" else parameters.workers
        async with frequency_watched(site):
            await self._run(site, machine, workers, parameters)

    async def _run(self, site: Site, machine: MachineHandle, workers: int, parameters: StressNgParameters) -> None:
        for name in _runs(parameters):
            remote_yaml = f"{machine.data_dir}/nephoscope-{name}.yaml"
            argv = ["stress-ng", f"--{parameters.stressor}", str(workers), "--timeout", f"{parameters.run_s}s"]
            argv += [f"--{parameters.stressor}-method", parameters.method] if parameters.method else []
            # It refuses to start where it cannot write, although these stressors write nothing.
            argv += ["--metrics-brief", "--yaml", remote_yaml, "--temp-path", machine.data_dir]
            if not site.resumed:
                await machine.remote.execute(Command(["rm", "-f", remote_yaml], timeout_s=_GRACE_S, pinned=False))
            done = await site.execute(machine, name, Command(argv, timeout_s=parameters.run_s + _GRACE_S))
            done.require()
            await machine.remote.download(remote_yaml, site.raw_dir / f"{name}.yaml")

    @override
    def parse(self, raw: RawOutput, parameters: StressNgParameters) -> list[Measurement]:
        """Reads the metrics of each run's YAML file; with several runs, their means.

        Raises:
            OutputUnreadable: no file, no YAML, another stressor, another version's fields, or an early end.
        """
        runs = [_values(raw, name, parameters) for name in _runs(parameters)]
        means = {name: fmean(values[name] for values in runs) for name in runs[0]}
        return measured(self.metrics(parameters), means) + frequencies(raw)

    @override
    def observations(self, raw: RawOutput, parameters: StressNgParameters) -> Observations:
        """The CPU time that the workers of each run got; both stressors only compute."""
        phases = [_phase(_row(raw, name), parameters) for name in _runs(parameters)]
        return Observations(cpu_phases=[phase for phase in phases if phase is not None])


def _runs(parameters: StressNgParameters) -> list[str]:
    """Names of the raw output of each run; the first one's has no number."""
    return ["stress-ng", *(f"stress-ng-{number}" for number in range(2, parameters.repeats + 1))]


def _values(raw: RawOutput, name: str, parameters: StressNgParameters) -> dict[str, float]:
    """Metrics of one run."""
    row = _row(raw, name)
    if row.cpu_share is None:
        raise OutputUnreadable(f"{name}.yaml: cpu-usage-per-instance is missing; use stress-ng 0.13 or later")
    if row.stressor != parameters.stressor:
        raise OutputUnreadable(f"{name}.yaml: measured {row.stressor!r}, not {parameters.stressor!r}")
    if row.real_s < parameters.run_s * _MIN_SHARE_OF_DURATION:
        raise OutputUnreadable(f"{name}.yaml: ended after {row.real_s} s instead of {parameters.run_s} s")
    return {
        "bogo_ops_per_s": row.per_second,
        "bogo_ops_per_s_cpu_time": row.per_cpu_second,
        "cpu_usage_per_instance": row.cpu_share,
        "cpus_effective": (row.user_s + row.system_s) / row.real_s,
    }


def _phase(row: StressNgMetrics, parameters: StressNgParameters) -> CpuPhase | None:
    cpu_s = row.user_s + row.system_s
    # The file does not name the workers; the time that each got does.
    workers = round(cpu_s / row.real_s / row.cpu_share) if row.cpu_share else 0
    if parameters.workers != "cpus":
        workers = parameters.workers
    return CpuPhase(workers=workers, cpu_s=cpu_s, real_s=row.real_s) if workers else None


def _row(raw: RawOutput, name: str) -> StressNgMetrics:
    text = raw.get(f"{name}.yaml", b"").decode(errors="replace")
    if not text.strip():
        raise OutputUnreadable(f"{name}.yaml is empty or missing")
    rows = parse_stress_ng_yaml(text).stressors
    if len(rows) != 1:
        raise OutputUnreadable(f"{name}.yaml: metrics of {len(rows)} stressors, but only one was started")
    return rows[0]
