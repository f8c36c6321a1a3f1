"""Simulated results in the shape of the Cloud Reports: their machines, prices and benchmarks, with drawn values.

The machines are those of the shipped studies. Tables are made by the functions of the analysis, without those that
figures do not need, because pairs of a hundred machines take a minute.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np

import nephoscope
from nephoscope.analysis.boards import boards_of, priced_boards
from nephoscope.analysis.configurations import configurations_of
from nephoscope.analysis.costs import costs_of
from nephoscope.analysis.durations import DurationRow, durations_of
from nephoscope.analysis.equal_benchmarks import under_test, with_equals
from nephoscope.analysis.inputs import ObservedMachine, StudyInputs
from nephoscope.analysis.machines import machines_of
from nephoscope.analysis.price_performance import price_performance_of
from nephoscope.analysis.statistics import statistics_of_cells
from nephoscope.analysis.transfers import transfers_of
from nephoscope.analysis.units import counted_cells
from nephoscope.analysis.wan_floor import wan_floors_of
from nephoscope.analysis.within import within_of
from nephoscope.app.stages.planning import load
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import CostRow, PricePerformance, TransferRow
from nephoscope.model.records import BenchmarkUse, Facts, Metric, Plan
from nephoscope.model.rows import (
    BenchmarkRow,
    ConfigurationRow,
    MachineRow,
    MeasurementRow,
    NetworkRow,
    Statistic,
    TrialRow,
    WanFloor,
    WithinRow,
)
from nephoscope.model.standing import Standing
from nephoscope.model.subjects import Subject
from nephoscope.model.units import GIB
from nephoscope.prices.book import shipped
from nephoscope.study.machine_names import machine_name
from nephoscope.study.model import Configuration, Study
from tests.support.some_tables import some_tables
from tests.unit.analysis.study_builder import measurement, traffic, trial

ROOT = Path(__file__).resolve().parents[2]
REPLICATES = 4
DAY = date(2026, 11, 21)
_MEMORY = {"c": 2, "m": 4, "r": 8, "n2-highcpu": 1, "n2-custom": 2, "n2-highmem": 8, "n2d-highcpu": 1, "n2d-highmem": 8}
_SPEED = {"t2d": 1.2, "m6i": 1.12, "n2": 1.05, "m5a": 0.7, "r5a": 0.7, "c5": 1.0, "n1": 0.85}
Level = Callable[["Machine", Metric], float | None]
"""The value of a metric on a machine; None: it was not measured there."""


@dataclass(frozen=True)
class Machine:
    """One configuration as the simulation sees it."""

    asked: Configuration
    vcpus: int
    memory_gib_per_vcpu: float
    speed: float

    @property
    def name(self) -> str:
        return self.asked.name

    @property
    def far(self) -> bool:
        load = self.asked.load_machine
        return bool(load and load.region and load.region != self.asked.region)


@dataclass
class Simulation:
    """Trials and measurements as they are drawn."""

    machines: Sequence[Machine]
    draw: np.random.Generator
    replicates: int = REPLICATES
    trials: list[TrialRow] = field(default_factory=list)
    measurements: list[MeasurementRow] = field(default_factory=list)
    benchmarks: list[BenchmarkRow] = field(default_factory=list)
    network: list[NetworkRow] = field(default_factory=list)

    def add(
        self,
        name: str,
        uses: str,
        parameters: Mapping[str, Any],
        level: Level,
        *,
        seconds: Mapping[str, float] | None = None,
        moved: bool = False,
        spread: float = 0.01,
    ) -> None:
        """Args: `seconds`: metric -> spread of its values within trials; `moved`: bytes are counted."""
        benchmark = BENCHMARKS[uses]
        declared = benchmark.metrics(benchmark.parameters.model_validate(parameters))
        metrics: dict[str, Metric] = {}
        for place, machine in enumerate(self.machines, 1):
            levels = {metric: found for metric in declared if (found := level(machine, metric)) is not None}
            metrics |= {metric.name: metric for metric in levels}
            for replicate in range(1, self.replicates + 1) if levels else ():
                row = trial(
                    f"{name}-{machine.name}-{replicate}",
                    machine.name,
                    replicate,
                    benchmark=name,
                    subject=benchmark.subject,
                    uses=uses,
                    position=len(self.trials) + 1,
                    position_in_block=place,
                    cpus=machine.vcpus * (3 if benchmark.subject is Subject.DATABASE else 1),
                )
                self.trials.append(row)
                self._measure(row, levels, seconds or {}, spread / machine.memory_gib_per_vcpu**0.5)
                if moved:
                    self._count(row, machine)
        kept = [metric for metric in declared if metric.name in metrics or metric.headline]
        self.benchmarks.append(
            BenchmarkRow(
                benchmark=name,
                uses=uses,
                version=benchmark.version,
                title=benchmark.title,
                parameters=dict(parameters),
                metrics=kept,
                subject=benchmark.subject,
            )
        )

    def _measure(
        self, row: TrialRow, levels: Mapping[Metric, float], seconds: Mapping[str, float], spread: float
    ) -> None:
        for metric, level in levels.items():
            value = level * float(self.draw.lognormal(0, spread))
            self.measurements.append(measurement(row, value, metric))
            if metric.name in seconds:
                within = value * self.draw.lognormal(0, seconds[metric.name], 30)
                self.measurements += [
                    measurement(row, float(one), metric, at_s=float(at)) for at, one in enumerate(within, 1)
                ]

    def _count(self, row: TrialRow, machine: Machine) -> None:
        sent = 1e9 * 720 * machine.speed * (1 + machine.vcpus / 16)
        for role, received, gone in (("database", sent, 1e8), ("load", 1e8, sent)):
            self.network.append(traffic(row, f"{role}-1", role, sent=gone, received=received, sampled_s=720.0))

    def inputs(self, title: str, description: str, study: Study) -> StudyInputs:
        """What a whole analysis reads, as if a trial had begun every ten minutes from `DAY` on."""
        begun = int(datetime.combine(DAY, time(), UTC).timestamp()) * 1000
        trials = [
            row.model_copy(update={"started_unix_ms": begun + 600_000 * row.position, "duration_s": 300.0})
            for row in self.trials
        ]
        facts = {machine.name: _seen(machine) for machine in self.machines}
        words = {"title": title, "description": description, "replicates": self.replicates}
        return StudyInputs(
            study=study.model_copy(update=words),
            study_toml="",
            plan=_plan(study),
            nephoscope_version=nephoscope.__version__,
            benchmarks=self.benchmarks,
            trials=trials,
            measurements=self.measurements,
            machines=[
                facts[row.configuration].model_copy(update={"trial": row.trial, "role": role, "machine": f"{role}-1"})
                for row in trials
                for role in ("database", "load")
            ],
            network=self.network,
        )

    def _with_equals(self, study: Study) -> list[TrialRow]:
        vcpus = {machine.name: machine.vcpus for machine in self.machines}
        uses = {
            row.benchmark: BenchmarkUse(
                name=row.benchmark, uses=row.uses, version=row.version, parameters=row.parameters
            )
            for row in self.benchmarks
        }
        asked = {one.name: one.model_dump(mode="json") for one in study.configurations}
        tested = {row.trial: under_test(asked[row.configuration], row.subject) for row in self.trials}
        return with_equals(
            self.trials, {row.trial: vcpus[row.configuration] for row in self.trials}, uses, BENCHMARKS, tested
        )

    def analysed(self, title: str, study: Study) -> AnalysedStudy:
        """The tables that figures read."""
        trials = self._with_equals(study)
        metrics = {row.benchmark: row.metrics for row in self.benchmarks}
        names = {one.name: one.name for one in study.configurations}
        machines = machines_of([_seen(machine) for machine in self.machines])
        cells = counted_cells(trials, self.measurements, metrics)
        book = shipped()
        costs = costs_of(study, names, book, DAY)
        sold = [cell for cell in cells if cell.headline and not cell.per_cpu and cell.subject is Subject.DATABASE]
        boards = boards_of(sold, blocked=True)
        statistics = statistics_of_cells(cells, boards)
        ends = Counter(row.trial for row in self.network)
        extents = {row.benchmark: row.extent for row in self.benchmarks}
        return AnalysedStudy(
            standing=Standing(source="", licence=""),
            study=study.name,
            title=title,
            description="",
            seed=study.seed,
            replicates=self.replicates,
            equivalence_margin_percent=1.5,
            study_toml="",
            nephoscope_version="0",
            tool_versions={},
            started_unix_ms=None,
            ended_unix_ms=None,
            plan=_plan(study),
            benchmarks=self.benchmarks,
            insights=[],
            database_settings={},
            tables=some_tables(
                {
                    TrialRow: trials,
                    DurationRow: durations_of(trials),
                    MeasurementRow: self.measurements,
                    Statistic: statistics,
                    MachineRow: machines,
                    CostRow: costs.rows,
                    TransferRow: transfers_of(study, names, self.network, ends, book, DAY),
                    PricePerformance: price_performance_of(
                        boards, priced_boards(boards, costs.rows, extents), statistics, costs.rows, extents, {}
                    ),
                    ConfigurationRow: configurations_of(study, names, machines),
                    WanFloor: wan_floors_of(study, names),
                    WithinRow: within_of(self.measurements),
                }
            ),
        )


def _plan(study: Study) -> Plan:
    return Plan(study=study.name, seed=7, trials=[], expected_duration_s=0, price_usd=None, unpriced=[], warnings=[])


def _seen(machine: Machine) -> ObservedMachine:
    known = machine_name(machine.asked.provider, machine.asked.database_machine.type or "")
    model = f"{known.family or machine.name}".partition("-")[0]
    facts = Facts(
        at_unix_ms=1,
        cpu_model=f"simulated {model}",
        cpus_online=machine.vcpus,
        cpus_allowed=machine.vcpus,
        memory_bytes=round(machine.memory_gib_per_vcpu * machine.vcpus * GIB),
    )
    return ObservedMachine(
        trial=f"seen-{machine.name}", configuration=machine.name, role="database", machine="database-1", facts=facts
    )


def machines_of_study(study: Study, draw: np.random.Generator) -> list[Machine]:
    """Every configuration with its size, memory and an invented speed."""
    found = []
    for asked in study.configurations:
        name = machine_name(asked.provider, asked.database_machine.type or "")
        family = (name.family or "").lower()
        machine = asked.database_machine
        vcpus = machine.cores * (machine.threads_per_core or 1) if machine.cores else name.vcpus or 16
        base = family.partition("-")[0]
        memory = next((gib for start, gib in _MEMORY.items() if family.startswith(start)), 4)
        speed = _SPEED.get(base, 0.95) * float(draw.lognormal(0, 0.02))
        found.append(Machine(asked, vcpus, memory, speed))
    return found


def study_of(name: str, more: Sequence[Mapping[str, Any]] = ()) -> Study:
    """A shipped study with further configurations."""
    path = ROOT / "studies" / f"{name}.toml"
    study = load(path.read_text(encoding="utf-8"), path.name)
    added = [Configuration.model_validate(one) for one in more]
    return study.model_copy(update={"configurations": [*study.configurations, *added]})
