"""CPU: bogo operations per second of one stress-ng stressor on every CPU of the machine.

`matrix` (matrix algebra in cache) is the stressor that the Cloud Reports and Spare Cores compare CPUs by; `cpu` cycles
through many methods. Bogo operations compare machines that ran the same version of stress-ng, and nothing else.
"""

from typing import Annotated, Literal

from pydantic import Field

from nephoscope.benchmarks.base import Needs, RawOutput, Site
from nephoscope.databases.base import Endpoint
from nephoscope.errors import OutputUnreadable
from nephoscope.frozen import Frozen
from nephoscope.observations import CpuPhase, Observations
from nephoscope.parsers.stress_ng_yaml import StressNgMetrics, parse_stress_ng_yaml
from nephoscope.records import Direction, Measurement, Metric

_RAW = "stress-ng"
_YAML = f"{_RAW}.yaml"
_GRACE_S = 30.0
_LEAST_SHARE_OF_DURATION = 0.9


class StressNgParameters(Frozen):
    """What stress-ng runs."""

    stressor: Literal["matrix", "cpu"] = "matrix"
    duration_s: int = Field(default=3, ge=1, le=86_400)
    workers: Annotated[int, Field(ge=1, le=4096)] | Literal["cpus"] = Field(
        default="cpus", description="'cpus': one on each CPU of the affinity mask"
    )


class StressNg:
    """One stressor, once."""

    name = "stress-ng"
    version = 1
    title = "CPU throughput (stress-ng)"
    parameters = StressNgParameters

    def metrics(self, parameters: StressNgParameters) -> tuple[Metric, ...]:
        """Both rates: where they part, something else had the CPUs."""
        higher, unit = Direction.HIGHER, "bogo-ops/s"
        return (
            Metric(
                name="bogo_ops_per_s",
                unit=unit,
                direction=higher,
                title=f"Bogo operations ({parameters.stressor})",
                clock="real time, all workers together",
                headline=True,
                per_cpu=True,
            ),
            Metric(
                name="bogo_ops_per_s_cpu_time",
                unit=unit,
                direction=higher,
                title="Bogo operations by CPU time",
                clock="user + system time of all workers",
            ),
            Metric(
                name="cpu_usage_per_instance",
                unit="1",
                direction=higher,
                title="CPU time a worker got, of real time",
                clock="user + system time / real time / workers",
            ),
            Metric(
                name="cpus_effective",
                unit="CPUs",
                direction=higher,
                title="CPUs really used",
                clock="user + system time of all workers / real time",
            ),
        )

    def needs(self, parameters: StressNgParameters) -> Needs:
        """The program alone."""
        del parameters
        return Needs(tools=("stress-ng",))

    def expected_duration_s(self, parameters: StressNgParameters) -> float:
        """The stressor's time and a start."""
        return parameters.duration_s + 0.5

    async def prepare(self, site: Site, parameters: StressNgParameters) -> Endpoint | None:
        """Nothing: a stressor starts from nothing."""
        del site, parameters
        return None

    async def run(self, site: Site, parameters: StressNgParameters) -> None:
        """Runs the stressor on the first database machine; leaves its YAML file in the raw folder.

        Raises:
            ToolMissing: stress-ng is not there.
            ToolFailed: it ended with an error.
        """
        machine = site.cluster.database[0]
        # stress-ng's own 0 counts every CPU that is online, also those outside the affinity mask.
        workers = len(machine.cpus) if parameters.workers == "cpus" else parameters.workers
        remote_yaml = f"{machine.data_dir}/nephoscope-{_YAML}"
        argv = ["stress-ng", f"--{parameters.stressor}", str(workers), "--timeout", f"{parameters.duration_s}s"]
        # It refuses to start where it cannot write, although these stressors write nothing.
        argv += ["--metrics-brief", "--yaml", remote_yaml, "--temp-path", machine.data_dir]
        await machine.remote.execute(["rm", "-f", remote_yaml], timeout_s=_GRACE_S, pinned=False)
        done = await site.execute(machine, _RAW, argv, timeout_s=parameters.duration_s + _GRACE_S)
        done.require()
        await machine.remote.download(remote_yaml, site.raw_dir / _YAML)

    def parse(self, raw: RawOutput, parameters: StressNgParameters) -> list[Measurement]:
        """Reads the metrics of the YAML file.

        Raises:
            OutputUnreadable: no file, no YAML, another stressor, another version's fields, or an early end.
        """
        row = _row(raw)
        if row.cpu_share is None:
            raise OutputUnreadable(f"{_YAML}: no cpu-usage-per-instance; stress-ng 0.13 or later writes it")
        if row.stressor != parameters.stressor:
            raise OutputUnreadable(f"{_YAML}: measured {row.stressor!r}, not {parameters.stressor!r}")
        if row.real_s < parameters.duration_s * _LEAST_SHARE_OF_DURATION:
            raise OutputUnreadable(f"{_YAML}: ended after {row.real_s} s of {parameters.duration_s} s")
        values = {
            "bogo_ops_per_s": row.per_second,
            "bogo_ops_per_s_cpu_time": row.per_cpu_second,
            "cpu_usage_per_instance": row.cpu_share,
            "cpus_effective": (row.user_s + row.system_s) / row.real_s,
        }
        return [
            Measurement(metric=metric.name, unit=metric.unit, value=values[metric.name], role="database")
            for metric in self.metrics(parameters)
        ]

    def observations(self, raw: RawOutput, parameters: StressNgParameters) -> Observations:
        """The CPU time that the workers got; both stressors only compute.

        Raises:
            OutputUnreadable: as `parse`.
        """
        row = _row(raw)
        cpu_s = row.user_s + row.system_s
        # The file does not name the workers; the time that each got does.
        workers = round(cpu_s / row.real_s / row.cpu_share) if row.cpu_share else 0
        if parameters.workers != "cpus":
            workers = parameters.workers
        return Observations(cpu_phases=[CpuPhase(workers=workers, cpu_s=cpu_s, real_s=row.real_s)] if workers else [])


def _row(raw: RawOutput) -> StressNgMetrics:
    text = raw.get(_YAML, b"").decode(errors="replace")
    if not text.strip():
        raise OutputUnreadable(f"{_YAML} is empty or not there")
    rows = parse_stress_ng_yaml(text).stressors
    if len(rows) != 1:
        raise OutputUnreadable(f"{_YAML}: metrics of {len(rows)} stressors; one was started")
    return rows[0]
