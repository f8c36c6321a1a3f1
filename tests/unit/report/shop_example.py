"""An analysed study of single machines for sale, with what a buyer filters by: size, memory, architecture, price."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Direction, Metric
from nephoscope.model.units import GIB
from nephoscope.study.machine_names import machine_name
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import inputs, observed, rows

PLACES = {"aws": "us-east-1", "gcp": "us-east4", "azure": "eastus"}
TYPES = {
    "aws": """
        c5.2xlarge c5.4xlarge c5.9xlarge c5a.2xlarge c5a.8xlarge c5n.2xlarge m5.2xlarge m5.4xlarge m5.8xlarge
        m5a.2xlarge m5a.4xlarge m5a.8xlarge m6i.2xlarge m6i.8xlarge r5.2xlarge r5.8xlarge r5a.2xlarge r5a.4xlarge
    """,
    "gcp": """
        c2-standard-8 n2-highcpu-8 n2-highmem-8 n2-standard-8 n2-standard-32 n2d-highcpu-8 n2d-standard-8 t2d-standard-8
    """,
    "azure": """
        Standard_D8as_v5 Standard_D8s_v5 Standard_D32s_v5 Standard_E8as_v5 Standard_E8s_v5 Standard_F8s_v2
        Standard_D128s_v5
    """,
}
"""Machine types that the shipped price book has in `PLACES`, and one that it does not have."""
UNPRICED = "d128s-v5"
MEMORY = {"c": 2, "F": 2, "highcpu": 1, "r": 8, "E": 8, "highmem": 8}
"""Beginning or end of a family -> GiB per vCPU, where it is not 4."""
VISIBLE = 0.965
"""Share of the memory that is sold that a system shows."""
SETS = Metric(name="sets_per_s", unit="SET/s", direction=Direction.HIGHER, title="Sets", headline=True, per_cpu=True)
WAIT = Metric(name="wait", unit="s", direction=Direction.LOWER, title="Wait", headline=True)

Machine = tuple[str, str, str, int, float, float]
"""Provider, region, machine type, vCPUs, GiB, speed."""


def machines() -> dict[str, Machine]:
    """Thirty-three of three clouds, by name; the speed grows by less than the vCPUs."""
    found: dict[str, Machine] = {}
    for provider, types in TYPES.items():
        for place, machine_type in enumerate(types.split()):
            said = machine_name(provider, machine_type)
            cpus, family = said.vcpus or 0, said.family or ""
            per_vcpu = next((gib for part, gib in MEMORY.items() if re.match(part, family) or family.endswith(part)), 4)
            speed = cpus**0.9 * (1 + 0.013 * place) * (0.9 if said.vendor == "AMD" else 1.0)
            found[_name(machine_type)] = (provider, PLACES[provider], machine_type, cpus, cpus * per_vcpu, speed)
    return found


def shop(found: Mapping[str, Machine] | None = None, replicates: int = 5, boards: int = 1) -> AnalysedStudy:
    """Values within one percent.

    Args:
        found: by configuration; default: `machines`.
        replicates: of each benchmark on each configuration.
        boards: benchmarks with sets, besides one with waits.
    """
    found = found or machines()
    generator = np.random.default_rng(3)
    metrics: dict[str, list[Metric]] = {"waits": [WAIT], **{f"sets{n or ''}": [SETS] for n in range(boards)}}
    trials, measurements = [], []
    cpus = {name: machine[3] for name, machine in found.items()}
    for benchmark, (metric,) in metrics.items():
        level, power = (0.002, -0.2) if metric is WAIT else (80_000.0, 1.0)
        values = {
            name: [float(level * machine[5] ** power * x) for x in generator.lognormal(0, 0.008, replicates)]
            for name, machine in found.items()
        }
        more = rows(values, benchmark=benchmark, metric=metric, cpus=cpus)
        trials += more[0]
        measurements += more[1]
    seen = [
        observed(
            row,
            cpus_allowed=cpus[row.configuration],
            cpus_online=cpus[row.configuration],
            memory_bytes=int(VISIBLE * GIB * found[row.configuration][4]),
            **_cpu(found[row.configuration]),
        )
        for row in trials
    ]
    configurations = [
        {
            "name": name,
            "priced_as": {
                "provider": provider,
                "region": region,
                "type": machine_type,
                "volumes": [{"kind": "gp3", "size": 100}] if provider == "aws" else [],
            },
        }
        for name, (provider, region, machine_type, *_) in found.items()
    ]
    study = Study(
        name="shop",
        title="Machines for sale",
        seed=7,
        configurations=configurations,
        benchmarks=[{"uses": name} for name in metrics],
        costs={"date": "2026-11-21"},
    )
    made = inputs((trials, measurements), metrics=metrics, machines=seen)
    return analyse(replace(made, study=study))


def _name(machine_type: str) -> str:
    return re.sub("[._]", "-", machine_type.removeprefix("Standard_").lower())


def _cpu(machine: Machine) -> dict[str, Any]:
    vendor = {"AMD": "AuthenticAMD", "Intel": "GenuineIntel"}[machine_name(machine[0], machine[2]).vendor or "Intel"]
    return {"architecture": "x86_64", "cpu_vendor": vendor}
