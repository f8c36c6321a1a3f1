"""CPU: EEMBC's CoreMark in one context and in one per CPU, built on the machine from the user's checkout or a clone.

A run is valid only with "Correct operation validated" and the seeds of the performance run; both are EEMBC's rules. The
core files must be unmodified: an altered copy must not be called CoreMark, whatever its own list of checksums says.
Compiler, flags and checksums of every run are in its raw output, the commit in `raw/coremark-commit.stdout`.
"""

import math
import re
from collections.abc import Sequence
from statistics import fmean, pstdev
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints
from typing_extensions import override

from nephoscope.benchmarks.base import Needs, RawOutput, Site
from nephoscope.benchmarks.cpu.stages import KINDS, Kind, Stage, StagedCpuBenchmark
from nephoscope.benchmarks.presets import AS_TUPLE, EDITION, EditionParameters, Presets, published
from nephoscope.databases.base import Endpoint
from nephoscope.machines.remote import Command, MachineHandle, Tool
from nephoscope.model.errors import EnvironmentProblem, OutputUnreadable, ToolFailed
from nephoscope.model.records import Metric
from nephoscope.model.words import counted
from nephoscope.parsers.coremark import CoreMark as CoreMarkRun
from nephoscope.parsers.coremark import parse_coremark

_MAKE = Tool("make", "make")
_CC = Tool("cc", "build-essential")
_GIT = Tool("git", "git")
_GRACE_S = 60.0
_CLONE_S = 300.0
_RUN_S = 120.0
"""CoreMark chooses a number of iterations that takes 10 to 20 s; slow CPUs take longer."""
_USUAL_RUN_S = 16.0
_PERFORMANCE = ("0x0", "0x0", "0x66", "0", "7", "1", "2000")
"""EEMBC's parameters of the performance run, iterations by itself."""
_CONTEXTS = re.compile(r"-DMULTITHREAD=([0-9]{1,5})\b")
_COPY = 'rm -rf "$2" "$2.part" && mkdir "$2.part" && cp -R "$1/." "$2.part" && mv "$2.part" "$2"'
_CLONE = 'rm -rf "$2.part" && git clone --quiet "$1" "$2.part" && mv "$2.part" "$2"'
_PUBLISHED = frozenset(
    {
        "9007fe7861b60ee6f210d156b62974c8  core_list_join.c",
        "4a9e6dadce1ac3866381021fbe843fc9  core_main.c",
        "fb49e7605c125306575a83f14f5798ac  core_state.c",
        "8d082dc4a9676c02731a8cf209339072  core_list_join.c",
        "c984863b84b59185d8b5fb81c1ca7535  core_main.c",
        "5fa21a0f7c3964167c9691db531ca652  core_matrix.c",
        "edcfc7a0b146a50028014f06e6826aa3  core_state.c",
        "45540ba2145adea1ec7ea2c72a1fbbcb  core_util.c",
        "8ca974c013b380dc7f0d6d1afb76eb2d  coremark.h",
        "f837f8c5c5c6c0f5ef33bb1badc5ebef  core_list_join.c",
        "3c7e2aeca881577ae02d628ad56a584a  core_main.c",
        "6fef286af62d28486aa6e6c61fb11841  core_matrix.c",
        "640f7d70fab3ce61da49d0f9eef04f7f  core_state.c",
        "85a5a29a1c55be49787bc1e1e7082f80  core_util.c",
        "9233fff3d437a831187153be4da64d23  coremark.h",
        "30d72446fe6d2cb8d58e2a3276ea478c  coremark.h",
    }
)
"""EEMBC's core files as md5sum prints them, in each state that it published with such a list: 2022, 2020, 2019."""
_CORE_FILES = sorted({line.partition("  ")[2] for line in _PUBLISHED})
_SUMS = 'cd "$1" && shift && md5sum "$@"'


class CoreMarkParameters(EditionParameters):
    """Where CoreMark comes from, and how often it runs. An edition fills in what is not given."""

    presets: ClassVar[Presets] = published("coremark")
    free: ClassVar[frozenset[str]] = frozenset({"checkout", "repository"})

    edition: Literal["cr2021", "cr2022"] | None = EDITION
    checkout: Annotated[str, StringConstraints(pattern=r"^/")] | None = Field(
        default=None,
        description="folder on the machine with a complete checkout of EEMBC's CoreMark; default: clone the repository",
    )
    repository: Annotated[str, StringConstraints(pattern=r"^(https://github\.com/eembc/coremark\.git|/.*)$")] = Field(
        default="https://github.com/eembc/coremark.git",
        description="is cloned once per data folder: EEMBC's, or a folder on the machine",
    )
    kinds: Annotated[tuple[Kind, ...], Field(min_length=1), AS_TUPLE] = Field(
        default=KINDS, description="single: one context; multi: one on each CPU of the affinity mask"
    )
    repeats: int = Field(default=1, ge=1, le=100, description="runs of each kind; the result is their mean")

    @property
    def runs(self) -> range:
        """Numbers of the runs of each kind, scaled: EEMBC requires ten seconds for each."""
        return range(1, self.scaled(self.repeats, minimum=1) + 1)


class CoreMark(StagedCpuBenchmark):
    """See the module's text."""

    name = "coremark"
    version = 1
    title = "CPU throughput (EEMBC CoreMark)"
    parameters = CoreMarkParameters

    @override
    def stages(self, parameters: CoreMarkParameters) -> list[Stage]:
        return [Stage(kind) for kind in parameters.kinds]

    @override
    def metrics(self, parameters: CoreMarkParameters) -> tuple[Metric, ...]:
        """Of all stages; ranked as the edition's publication ranks."""
        return parameters.as_reported(super().metrics(parameters))

    @override
    def stage_metrics(self, stage: Stage, parameters: CoreMarkParameters) -> list[Metric]:
        """Iterations a second (headline), and with several runs how far they lie apart."""
        rate = Metric.higher(
            _rate_metric(stage.kind),
            "1/s",
            f"CoreMark on {'one thread' if stage.kind == 'single' else 'all CPUs'}",
            "iterations of all contexts / running time measured by CoreMark; mean of the runs",
            headline=True,
            per_cpu=stage.kind == "multi",
            counted="iterations/s",
        )
        spread = Metric.lower(
            _spread_metric(stage.kind), "1", f"CoreMark, {stage.kind}: standard deviation / mean of the runs of a trial"
        )
        return [rate, spread] if len(parameters.runs) > 1 else [rate]

    @override
    def needs(self, parameters: CoreMarkParameters) -> Needs:
        """What builds it, and git for a clone."""
        return Needs(tools=(_MAKE, _CC) if parameters.checkout else (_MAKE, _CC, _GIT))

    @override
    def expected_duration_s(self, parameters: CoreMarkParameters) -> float:
        return len(parameters.kinds) * (3.0 + len(parameters.runs) * _USUAL_RUN_S)

    @override
    async def prepare(self, site: Site, parameters: CoreMarkParameters) -> Endpoint | None:
        """A copy of the checkout (the user's own stays as it is), or a clone, whose core files are EEMBC's.

        Raises:
            EnvironmentProblem: there is no checkout, or nothing can be cloned.
            ToolFailed: a core file was altered.
        """
        machine, source = site.cluster.database[0], _source(site.cluster.database[0], parameters)
        there = await machine.remote.execute(Command(["test", "-d", source], timeout_s=_GRACE_S, pinned=False))
        if parameters.checkout or there.exit_code != 0:
            script, origin = (_COPY, parameters.checkout) if parameters.checkout else (_CLONE, parameters.repository)
            argv = ["sh", "-c", script, "sh", origin, source]
            got = await machine.remote.execute(Command(argv, timeout_s=_CLONE_S, pinned=False))
            if got.exit_code != 0:
                said = got.stderr.decode(errors="replace").strip()[-200:]
                raise EnvironmentProblem(
                    f"cannot get CoreMark from {origin}: {said}",
                    hint="clone EEMBC's repository and set `checkout` to the folder; or use the benchmark cpu-kernel, "
                    "which is not CoreMark",
                )
        checked = await site.execute(
            machine, "coremark-check", Command(["sh", "-c", _SUMS, "sh", source, *_CORE_FILES], timeout_s=_GRACE_S)
        )
        if altered := _altered(checked.stdout.decode(errors="replace")):
            raise ToolFailed(
                f"{parameters.checkout or parameters.repository} is not EEMBC's CoreMark: "
                f"{', '.join(altered)} differ from what it published",
                hint="a copy with altered core files must not be called CoreMark; use an unmodified checkout",
            )
        return None

    @override
    async def run(self, site: Site, parameters: CoreMarkParameters) -> None:
        """Notes the commit of a clone, then builds each kind as the editions did, and runs it.

        Raises:
            ToolFailed: it does not build, or a run ended with an error.
        """
        machine = site.cluster.database[0]
        if parameters.checkout is None:
            git = ["git", "-C", _source(machine, parameters), "rev-parse", "HEAD"]
            (await site.execute(machine, "coremark-commit", Command(git, timeout_s=_GRACE_S))).require()
        await super().run(site, parameters)

    @override
    async def run_stage(self, site: Site, stage: Stage, workers: int, parameters: CoreMarkParameters) -> None:
        machine, kind = site.cluster.database[0], stage.kind
        source = _source(machine, parameters)
        build = ["make", "-C", source, "REBUILD=1", *_flags(kind, workers), "link"]
        (await site.execute(machine, f"coremark-build-{kind}", Command(build, timeout_s=_GRACE_S))).require()
        for number in parameters.runs:
            site.progress(f"CoreMark, {kind}, {number} of {len(parameters.runs)}")
            argv = [f"{source}/coremark.exe", *_PERFORMANCE]
            (await site.execute(machine, _raw(kind, number), Command(argv, timeout_s=_RUN_S))).require()

    @override
    def stage_values(self, raw: RawOutput, stage: Stage, parameters: CoreMarkParameters) -> dict[str, float]:
        """The mean of the runs, and their spread.

        Raises:
            OutputUnreadable: a run is missing, not validated, not a performance run, or not built like the others.
        """
        rates = [_rate(raw, stage.kind, number) for number in parameters.runs]
        return {
            _rate_metric(stage.kind): fmean(rates),
            _spread_metric(stage.kind): pstdev(rates) / fmean(rates) * _unbiased(rates),
        }

    @override
    def notes(self, parameters: CoreMarkParameters) -> list[str]:
        return [
            *parameters.notes(),
            "Built with the machine's own cc and EEMBC's flags (-O2); for versions, see Methods.",
        ]


def _altered(sums: str) -> list[str]:
    """Core files that are missing or not EEMBC's, by what md5sum prints."""
    intact = {line.partition("  ")[2] for line in sums.splitlines() if line in _PUBLISHED}
    return [name for name in _CORE_FILES if name not in intact]


def _rate_metric(kind: Kind) -> str:
    return f"{kind}.iterations_per_s"


def _spread_metric(kind: Kind) -> str:
    return f"{kind}.spread"


def _unbiased(rates: Sequence[float]) -> float:
    """From the deviation of a population to that of a sample."""
    return math.sqrt(len(rates) / (len(rates) - 1)) if len(rates) > 1 else 1.0


def _source(machine: MachineHandle, parameters: CoreMarkParameters) -> str:
    return f"{machine.data_dir}/nephoscope-coremark-{'copy' if parameters.checkout else 'clone'}"


def _flags(kind: str, cpus: int) -> list[str]:
    if kind == "single":
        return []
    return ["LFLAGS_END=-lpthread", f"XCFLAGS=-DMULTITHREAD={cpus} -DUSE_PTHREAD"]


def _raw(kind: str, number: int) -> str:
    return f"coremark-{kind}-{number}"


def _rate(raw: RawOutput, kind: str, number: int) -> float:
    """Iterations a second of one run, which must be what it was built for."""
    output = raw.get(f"{_raw(kind, number)}.stdout")
    if output is None:
        raise OutputUnreadable(f"{_raw(kind, number)}: its output is missing")
    run = parse_coremark(output.decode(errors="replace"))
    if run.contexts != _built_for(run, kind):
        raise OutputUnreadable(f"{_raw(kind, number)}: {counted(run.contexts, 'context')}, built with {run.flags!r}")
    return run.iterations_per_s


def _built_for(run: CoreMarkRun, kind: str) -> int | None:
    """Contexts requested by its flags; None when the flags belong to the other kind."""
    asked = _CONTEXTS.search(run.flags)
    if kind == "single":
        return None if asked else 1
    return int(asked[1]) if asked else None
