"""CPU: how fast OpenSSL encrypts with AES-256-GCM and hashes with SHA-256, by one process and by one on each CPU.

A database that speaks TLS, or encrypts what it stores, spends CPU time on both. All rates count real time: without
`-elapsed`, one process would count its CPU time and several processes would not.
"""

import math
import re
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import override

from nephoscope.benchmarks.base import RawOutput, Site
from nephoscope.benchmarks.cpu.stages import KINDS, Kind, Stage, StagedCpuBenchmark
from nephoscope.benchmarks.presets import AS_TUPLE, Scaled
from nephoscope.machines.remote import Command, Tool
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Metric
from nephoscope.parsers.text import DECIMAL, INTEGER, whole_lines

_OPENSSL = Tool("openssl", "openssl", version_argv=("version",))
_GRACE_S = 30.0
_BLOCKS_BYTES = (16, 64, 256, 1024, 8192, 16384)
"""Those of `openssl speed`. 16 KiB is the largest record of TLS, and what bulk data travels in."""
_HEADLINE_BYTES = 16384
_ROUNDING = 0.01
"""Rates are printed with two decimals."""

_RATES = rf"\+F:{INTEGER}:(?P<algorithm>[^:\s]+):(?P<rates>{DECIMAL}(?::{DECIMAL})*)"
_FORKED = re.compile(rf"Forked child (?P<child>{INTEGER})")
_BLOCKS = re.compile(rf"Got: \+H:(?P<blocks>{INTEGER}(?::{INTEGER})*) from (?P<child>{INTEGER})")
_CHILD = re.compile(rf"Got: {_RATES} from (?P<child>{INTEGER})")
_ALL = re.compile(_RATES)
_FORMS = (_FORKED, _BLOCKS, _CHILD, _ALL)

Algorithm = Literal["aes-256-gcm", "sha256"]


class OpensslSpeedParameters(Scaled):
    """What runs, and how long."""

    algorithms: Annotated[tuple[Algorithm, ...], Field(min_length=1), AS_TUPLE] = Field(
        default=("aes-256-gcm", "sha256"), description="encryption, and a hash"
    )
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1), AS_TUPLE] = Field(
        default=KINDS, description="one process; one for each CPU of the affinity mask"
    )
    duration_s: int = Field(default=3, ge=1, le=3600, description="of each block size, of each algorithm and kind")

    @property
    def run_s(self) -> int:
        """Seconds of one block size, scaled."""
        return self.scaled(self.duration_s, minimum=1)


class OpensslSpeed(StagedCpuBenchmark):
    """AES-256-GCM and SHA-256, by one process and by one for each CPU."""

    name = "openssl-speed"
    version = 1
    title = "CPU throughput of encryption (openssl speed)"
    parameters = OpensslSpeedParameters
    tools = (_OPENSSL,)

    @override
    def stages(self, parameters: OpensslSpeedParameters) -> list[Stage]:
        """Each is one call of `openssl speed`."""
        return [Stage(kind, algorithm) for algorithm in parameters.algorithms for kind in parameters.kinds]

    @override
    def stage_metrics(self, stage: Stage, parameters: OpensslSpeedParameters) -> list[Metric]:
        """A rate for each block size; blocks of 16 KiB are the headline."""
        workers = "one process" if stage.kind == "single" else "one process per CPU"
        return [
            Metric.higher(
                _metric(stage, block),
                "B/s",
                f"OpenSSL {stage.program}, blocks of {block} bytes, {workers}",
                "bytes that each process worked on / its real time, summed over the processes",
                headline=block == _HEADLINE_BYTES,
                per_cpu=stage.kind == "multi",
            )
            for block in _BLOCKS_BYTES
        ]

    @override
    def expected_duration_s(self, parameters: OpensslSpeedParameters) -> float:
        return len(self.stages(parameters)) * (len(_BLOCKS_BYTES) * parameters.run_s + 0.5)

    @override
    async def run_stage(self, site: Site, stage: Stage, workers: int, parameters: OpensslSpeedParameters) -> None:
        """A single process is one child, too, so that all outputs have one form.

        Raises:
            ToolFailed: OpenSSL does not know an algorithm.
        """
        argv = ["openssl", "speed", "-elapsed", "-mr", "-seconds", str(parameters.run_s)]
        argv += ["-multi", str(workers), "-evp", stage.program]
        command = Command(argv, timeout_s=len(_BLOCKS_BYTES) * parameters.run_s + _GRACE_S)
        (await site.execute(site.cluster.database[0], _raw(stage), command)).require()

    @override
    def stage_values(self, raw: RawOutput, stage: Stage, parameters: OpensslSpeedParameters) -> dict[str, float]:
        """The rates of all processes together.

        Raises:
            OutputUnreadable: an output is missing or damaged, or has an unexpected algorithm or number of processes.
        """
        return {_metric(stage, block): rate for block, rate in zip(_BLOCKS_BYTES, _rates(raw, stage), strict=True)}

    @override
    def notes(self, parameters: OpensslSpeedParameters) -> list[str]:
        return ["Compare rates of the same version of OpenSSL only.", *parameters.notes()]


def _metric(stage: Stage, block_bytes: int) -> str:
    return f"{stage.program}-{stage.kind}.bytes_per_s_at_{block_bytes}_bytes"


def _raw(stage: Stage) -> str:
    return f"openssl-speed-{stage.program}-{stage.kind}"


def _rates(raw: RawOutput, stage: Stage) -> list[float]:
    """Bytes per second at each block size, of all processes together.

    The program prints what each child measured, and then their sum: both must agree, so that no cut number passes.
    """
    what = _raw(stage)
    lines = whole_lines(raw.get(f"{what}.stdout", b"").decode(errors="replace"), what)
    forked, blocks, children, total = ([form.fullmatch(line) for line in lines] for form in _FORMS)
    if not all(any(matches) for matches in zip(forked, blocks, children, total, strict=True)):
        raise OutputUnreadable(f"{what}: a line is not output of `openssl speed -mr -multi`")
    processes = [match["child"] for match in forked if match]
    for named in (blocks, children):
        if [match["child"] for match in named if match] != processes:
            raise OutputUnreadable(f"{what}: the output of a process is missing")
    if {match["blocks"] for match in blocks if match} != {":".join(map(str, _BLOCKS_BYTES))}:
        raise OutputUnreadable(f"{what}: block sizes other than {_BLOCKS_BYTES} bytes")
    if stage.kind == "single" and len(processes) != 1:
        raise OutputUnreadable(f"{what}: {len(processes)} processes instead of one")
    (*_, last) = total
    if last is None or sum(map(bool, total)) != 1:
        raise OutputUnreadable(f"{what} does not end with exactly one sum of all processes")
    return _checked(what, stage.program, [match for match in children if match], last)


def _checked(what: str, algorithm: str, children: list[re.Match[str]], total: re.Match[str]) -> list[float]:
    """The numbers of the last line, which must follow from those of the children."""
    if {match["algorithm"].lower() for match in (*children, total)} != {algorithm}:
        raise OutputUnreadable(f"{what}: contains algorithms other than {algorithm}")
    by_child = [_numbers(match) for match in children]
    rates = _numbers(total)
    if any(len(numbers) != len(_BLOCKS_BYTES) or min(numbers) <= 0 for numbers in (*by_child, rates)):
        raise OutputUnreadable(f"{what}: expected one rate above 0 for each block size")
    for block, rate, parts in zip(_BLOCKS_BYTES, rates, zip(*by_child, strict=True), strict=True):
        if not math.isclose(rate, math.fsum(parts), rel_tol=0, abs_tol=_ROUNDING * (len(parts) + 1)):
            raise OutputUnreadable(f"{what}: {rate} B/s at {block} bytes is not the sum of its processes")
    return rates


def _numbers(match: re.Match[str]) -> list[float]:
    return [float(number) for number in match["rates"].split(":")]
