"""An analysed study of machines that are for sale, made of drawn values, with everything that costs can show."""

from dataclasses import replace

import numpy as np

from nephoscope.analysis.analyse import analyse
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.records import Direction, Metric
from nephoscope.results import AnalysedStudy
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import TPMC, inputs, rows

MACHINES = {
    "aws-m6i": ("aws", "us-east-1", "m6i.2xlarge", 8, 1.00),
    "aws-c5a": ("aws", "us-east-1", "c5a.8xlarge", 32, 2.60),
    "gcp-n2": ("gcp", "us-east4", "n2-standard-8", 8, 1.05),
    "gcp-n2-twin": ("gcp", "us-east4", "n2-standard-8", 8, 1.05),
    "azure-d8s": ("azure", "eastus", "Standard_D8s_v5", 8, 0.98),
    "unsold": ("aws", "us-east-1", "m99.2xlarge", 8, 1.20),
}
"""Configuration -> provider, region, machine type, CPUs, and its speed against the first."""

RATE = Metric(
    name="rate", unit="operation/s", direction=Direction.HIGHER, title="Operations", headline=True, per_cpu=True
)
WAIT = Metric(name="wait", unit="s", direction=Direction.LOWER, title="Wait", headline=True)
METRICS = {"reads": [RATE], "tpcc": [TPMC], "waits": [WAIT]}


Machines = dict[str, tuple[str, str, str, int, float]]


def priced(replicates: int = 8, machines: Machines = MACHINES) -> AnalysedStudy:
    """Values within half a percent, so that twins are a tie and the others differ."""
    return analyse(priced_inputs(replicates, machines))


def priced_inputs(replicates: int = 8, machines: Machines = MACHINES) -> StudyInputs:
    """The same before it is analysed."""
    generator = np.random.default_rng(5)
    found = ([], [])  # type: ignore[var-annotated]
    for benchmark, level, metric in (("tpcc", 9000.0, TPMC), ("reads", 15_000.0, RATE), ("waits", 0.004, WAIT)):
        values = {
            name: [float(level * speed * x) for x in generator.lognormal(0, 0.003, replicates)]
            for name, (*_, speed) in machines.items()
        }
        cpus = {name: vcpus for name, (_, _, _, vcpus, _) in machines.items()}
        trials, measurements = rows(values, benchmark=benchmark, metric=metric, cpus=cpus)
        found[0].extend(trials)
        found[1].extend(measurements)
    configurations = [
        {
            "name": name,
            "priced_as": {
                "provider": provider,
                "region": region,
                "type": machine,
                "volumes": [{"kind": "gp3", "size": 500, "iops": 6000}] if provider == "aws" else [],
            },
            "database_machine": {"count": 3},
        }
        for name, (provider, region, machine, _, _) in machines.items()
    ]
    study = Study(
        name="clouds",
        title="Machines of three clouds",
        seed=7,
        configurations=configurations,
        benchmarks=[{"uses": name} for name in METRICS],
        costs={"date": "2026-11-21"},
    )
    return replace(inputs(found, metrics=METRICS), study=study)


def hundred() -> AnalysedStudy:
    """A hundred configurations, six replicates each."""
    names = list(MACHINES.values())
    machines = {f"c{i:03d}": (*names[i % 5][:4], 1 + i / 50) for i in range(100)}
    return priced(6, machines)
