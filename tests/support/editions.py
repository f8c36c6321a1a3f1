"""The Cloud Reports of 2018, 2020 and 2022 as simulated studies; see `edition_tables`."""

from functools import cache, partial
from typing import Any

import numpy as np

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Metric
from nephoscope.study.model import Study
from tests.support.edition_tables import Machine, Simulation, machines_of_study, study_of
from tests.support.rehearsed import rehearsed

_FAR = ("c5n.9xlarge", "m5.2xlarge", "n2-standard-8", "n2-standard-32", "Standard_D8s_v5", "Standard_D32s_v5")
"""Of the pairs of regions, those that are simulated: sixty make every figure longer and show nothing more."""


@cache
def cr2018() -> AnalysedStudy:
    """Two machines with local SSD, with and without barriers, and AWS machines with EBS; its search is by steps."""
    study = study_of("cloud-report-2018")
    simulation = _simulation(study, 2018)
    _search(simulation, (400, 600, 800, 1000))
    simulation.add("stress-ng", "stress-ng", {"edition": "cr2018"}, _cpu)
    simulation.add(
        "throughput", "throughput", {"edition": "cr2018"}, _throughput, seconds={"throughput": 0.02}, spread=0.004
    )
    simulation.add("ping", "ping", {"edition": "cr2018"}, _round_trip, seconds={"round_trip": 0.2})
    simulation.add("sysbench-fileio", "sysbench-fileio", {"edition": "cr2018"}, _fileio)
    return simulation.analysed("Cloud Report 2018, simulated", study)


@cache
def cr2020() -> AnalysedStudy:
    """26 machine types of 16 vCPU on three clouds, and network disks for the storage chapter."""
    study = study_of("cloud-report-2020")
    simulation = _simulation(study, 2020)
    simulation.add("most-tpmc", "max-warehouses", {"rule": "cloud-report-2020", "warehouses": 3000}, _most)
    simulation.add("stress-ng", "stress-ng", {"edition": "cr2020"}, _cpu)
    simulation.add("throughput", "throughput", {"edition": "cr2020"}, _throughput)
    simulation.add("ping", "ping", {"edition": "cr2020"}, _round_trip)
    simulation.add("sysbench-fileio", "sysbench-fileio", {"edition": "cr2020"}, _fileio)
    return simulation.analysed("Cloud Report 2020, simulated", study)


@cache
def cr2022() -> AnalysedStudy:
    """What figures read of two blocks of a rehearsal."""
    study = study_2022()
    return rehearsed(study, 2).analysed("Cloud Report 2022, simulated", study)


def study_2022() -> Study:
    """The shipped study, with two machine types of each cloud across regions."""
    whole = study_of("cloud-report-2022")
    far = {
        one.name: one.database_machine.type
        for one in whole.configurations
        if one.load_machine and one.load_machine.region
    }
    left_out = {name for name, kind in far.items() if kind not in _FAR or "icelake" in name}
    kept = [one for one in whole.configurations if one.name not in left_out]
    return whole.model_copy(update={"configurations": kept})


@cache
def small_against_large() -> AnalysedStudy:
    """Appendix II of 2022: 16 small machines against 4 large ones."""
    study = study_of("small-against-large")
    simulation = _simulation(study, 16)
    simulation.add("tpcc-1200", "tpcc", {"edition": "cr2022", "active_warehouses": 1200}, _clusters)
    return simulation.analysed("Small against large, simulated", study)


def _simulation(study: Any, seed: int) -> Simulation:
    draw = np.random.default_rng(seed)
    return Simulation(machines_of_study(study, draw), draw)


def _search(simulation: Simulation, steps: tuple[int, ...]) -> None:
    """Steps of more warehouses with wait times: what is driven is done, until the machine cannot."""

    def level(step: int, machine: Machine, metric: Metric) -> float | None:
        if not metric.headline or step > 900 * machine.speed or _chapters(machine) not in {"all", "database"}:
            return None
        return step * 12.7

    for step in steps:
        parameters: dict[str, Any] = {"edition": "cr2018", "active_warehouses": step}
        simulation.add(f"tpcc-{step}", "tpcc", parameters, partial(level, step))


def _most(machine: Machine, metric: Metric) -> float | None:
    return 1700 * 12.6 * machine.speed if metric.headline and _chapters(machine) == "all" else None


def _chapters(machine: Machine) -> str | None:
    return machine.asked.labels.get("chapters")


def _cpu(machine: Machine, metric: Metric) -> float | None:
    here = not _second(machine) or _chapters(machine) == "cpu"
    return 180.0 * machine.vcpus * machine.speed if metric.headline and here else None


def _throughput(machine: Machine, metric: Metric) -> float | None:
    factors = {"throughput": 1.0, "throughput_min_1s": 0.7, "throughput_median_1s": 1.01, "throughput_max_1s": 1.2}
    if metric.name not in factors or _second(machine):
        return None
    level = 9.6e9 * machine.speed * (1 + max(0, machine.vcpus - 16) / 20)
    return level * factors[metric.name] * (0.5 if machine.far else 1.0)


def _round_trip(machine: Machine, metric: Metric) -> float | None:
    factors = {"": 1.0, "_min": 0.93, "_p99": 1.25, "_max": 1.4, "_deviation": 0.05}
    name = metric.name.removeprefix("tcp_").removeprefix("round_trip")
    if name not in factors or _second(machine):
        return None
    if machine.far:
        return 0.06 * (1.02 if name == "_p99" else 0.99 if name == "_min" else 1.0) / machine.speed
    return 7e-5 * factors[name] / machine.speed


def _fileio(machine: Machine, metric: Metric) -> float | None:
    head, _, quantity = metric.name.partition(".")
    kind, _, threads = head.partition("-")
    if quantity == "latency_max" or machine.far:
        return None
    slow = 0.4 if machine.asked.database_machine.volumes else 0.3 if "-barrier" in machine.name else 1.0
    rate = 900.0 * slow * machine.speed * float(min(int(threads), 12) ** 0.8) * (1.3 if kind == "read" else 1.0)
    waited = int(threads) / rate * (2.2 if "p95" in quantity else 1.0)
    return {"iops": rate, "bandwidth": rate * 32_768}.get(quantity, waited)


def _clusters(machine: Machine, metric: Metric) -> float | None:
    return 440.0 * 128 * machine.speed * (1.0 if machine.vcpus <= 8 else 0.78) if metric.headline else None


def _second(machine: Machine) -> bool:
    """Another configuration of the same machine, which network and CPU were measured on once."""
    of_another_chapter = _chapters(machine) in {"storage", "database", "cpu"}
    kinds = {volume.kind for volume in machine.asked.database_machine.volumes or ()}
    return of_another_chapter or not kinds.isdisjoint({"io2", "pd-extreme", "Ultra Disk"})
