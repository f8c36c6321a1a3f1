"""What `run --rehearse` stores of a study, as tables: without a controller, so in seconds."""

from typing import Any

import numpy as np

from nephoscope.app.rehearsal.benchmark import measurements, sent_bytes_per_s
from nephoscope.app.rehearsal.machines import SimulatedMachine
from nephoscope.benchmarks.base import Benchmark
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.records import TrialIntent
from nephoscope.model.rows import BenchmarkRow, NetworkRow, TrialRow
from nephoscope.model.seeds import derive_seed
from nephoscope.model.subjects import Subject
from nephoscope.plan.expand import expand
from nephoscope.study.model import Study
from tests.support.edition_tables import Machine, Simulation
from tests.unit.analysis.study_builder import measurement, traffic, trial


def rehearsed(study: Study, replicates: int) -> Simulation:
    """The first `replicates` blocks of a rehearsal; trials, order and numbers are those of `run --rehearse`."""
    machines = {one.name: SimulatedMachine.of(one) for one in study.configurations}
    seen = [Machine(one.asked, one.vcpus, one.gib_per_vcpu, one.speed) for one in machines.values()]
    simulation = Simulation(seen, np.random.default_rng(study.seed), replicates=replicates)
    parameters: dict[str, Any] = {}
    for planned in expand(study, BENCHMARKS, simulated=True).trials:
        intent, use = planned.intent, planned.intent.benchmark
        if intent.replicate > replicates:
            continue
        benchmark = BENCHMARKS[use.uses]
        if use.name not in parameters:
            parameters[use.name] = benchmark.parameters.model_validate(use.parameters)
            simulation.benchmarks.append(_row(intent, benchmark, parameters[use.name]))
        _add(simulation, intent, machines[intent.configuration_name], parameters[use.name])
    return simulation


def _add(simulation: Simulation, intent: TrialIntent, machine: SimulatedMachine, parameters: Any) -> None:
    benchmark = BENCHMARKS[intent.benchmark.uses]
    subject = benchmark.subject_of(parameters)
    row = trial(
        intent.id,
        intent.configuration_name,
        intent.replicate,
        benchmark=intent.benchmark.name,
        subject=subject,
        uses=benchmark.name,
        position=intent.position,
        position_in_block=intent.position_in_block,
        cpus=machine.vcpus * (machine.asked.database_machine.count if subject is Subject.DATABASE else 1),
    )
    simulation.trials.append(row)
    units = {metric.name: metric for metric in benchmark.metrics(parameters)}
    seed = derive_seed(intent.seed, intent.benchmark.name, intent.replicate)
    simulation.measurements += [
        measurement(row, one.value, units[one.metric], one.at_s)
        for one in measurements(benchmark, parameters, machine, seed)
    ]
    seconds = benchmark.expected_duration_s(parameters)
    simulation.network += _traffic(row, machine, sent_bytes_per_s(benchmark, machine) * seconds, seconds)


def _traffic(row: TrialRow, machine: SimulatedMachine, sent: float, seconds: float) -> list[NetworkRow]:
    names = [f"database-{number}" for number in range(1, machine.asked.database_machine.count + 1)]
    roles = {**dict.fromkeys(names, "database"), **({"fake-load": "load"} if machine.asked.load_machine else {})}
    return [
        traffic(
            row,
            name,
            role,
            sent=sent if role == "load" else sent / 10,
            received=sent / 10 if role == "load" else sent,
            sampled_s=seconds,
        )
        for name, role in roles.items()
    ]


def _row(intent: TrialIntent, benchmark: Benchmark, parameters: Any) -> BenchmarkRow:
    use = intent.benchmark
    return BenchmarkRow(
        benchmark=use.name,
        uses=use.uses,
        version=use.version,
        title=benchmark.title,
        parameters=use.parameters,
        metrics=list(benchmark.metrics(parameters)),
        subject=benchmark.subject_of(parameters),
        database_load=benchmark.database_load_of(parameters),
    )
