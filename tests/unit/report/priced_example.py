"""An analysed study of machines that are for sale, made of drawn values, with everything that costs can show."""

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from nephoscope.analysis.inputs import StudyInputs
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Direction, Metric, VerdictKind
from nephoscope.model.rows import MeasurementRow, TrialRow
from nephoscope.study.claims import Claims
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import TPMC, inputs, observed, rows, traffic

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
    """Values within half a percent, so that twins are a tie and the others differ; of the usual machines, made once."""
    return _usual(replicates) if machines is MACHINES else analyse(priced_inputs(replicates, machines))


@cache
def _usual(replicates: int) -> AnalysedStudy:
    return analyse(priced_inputs(replicates, MACHINES))


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


TYPES = {
    "m6i.2xlarge": (8, 1.0, "Ice Lake"),
    "m6i.8xlarge": (32, 3.2, "Ice Lake"),
    "c6i.2xlarge": (8, 1.1, "Ice Lake"),
    "r6i.2xlarge": (8, 1.05, "Ice Lake"),
    "m6id.2xlarge": (8, 1.02, "Ice Lake"),
    "m5.2xlarge": (8, 0.8, "Cascade Lake"),
    "m5.8xlarge": (32, 3.2, "Cascade Lake"),
    "c5.2xlarge": (8, 0.8005, "Cascade Lake"),
    "r5.2xlarge": (8, 0.799, "Cascade Lake"),
    "m5d.2xlarge": (8, 0.8002, "Cascade Lake"),
}
"""Machine type in us-east-1 -> vCPUs, speed, design."""
CPUID: dict[str, dict[str, Any]] = {
    "Ice Lake": {"cpu_vendor": "GenuineIntel", "cpu_family": 6, "cpu_model_number": 106, "cpu_stepping": 6},
    "Cascade Lake": {"cpu_vendor": "GenuineIntel", "cpu_family": 6, "cpu_model_number": 85, "cpu_stepping": 7},
}
CLAIMS = {
    "claims": [
        {"id": identity, "text": "so it is", "source": "page 1", "kind": kind, "benchmark": "*", **more}
        for identity, kind, more in (
            ("faster", "better", {"left": {"family": "m6i"}, "right": {"family": "m5"}, "matched_by": ["vcpus"]}),
            ("single", "better", {"left": {"machine_type": "m6i.2xlarge"}, "right": {"machine_type": "m5.2xlarge"}}),
            ("pair", "better", {"left": {"machine_type": "c5.2xlarge"}, "right": {"machine_type": "r5.2xlarge"}}),
            ("large", "tie", {"left": {"machine_type": "m5.2xlarge"}, "right": {"machine_type": "m6i.2xlarge"}}),
            ("slow", "not-worse", {"left": {"machine_type": "m5.2xlarge"}, "right": {"machine_type": "m6i.2xlarge"}}),
            ("fine", "not-worse", {"left": {"machine_type": "m6i.2xlarge"}, "right": {"machine_type": "m5.2xlarge"}}),
            ("cheap", "first", {"left": {"machine_type": "m6i.8xlarge"}, "per": "dollar", "matched_by": ["provider"]}),
            ("cpu", "last", {"left": {"machine_type": "r5.2xlarge"}, "per": "cpu", "matched_by": ["provider"]}),
            ("nobody", "better", {"left": {"family": "x1"}, "right": {"family": "m5"}}),
        )
    ]
}


@cache
def everything() -> AnalysedStudy:
    """Families, claims, refused trials, transfer within and between regions, and a front with all three kinds."""
    generator = np.random.default_rng(11)
    trials: list[TrialRow] = []
    measurements: list[MeasurementRow] = []
    for benchmark, level, metric in (("tpcc", 9000.0, TPMC), ("waits", 0.004, WAIT)):
        for machine, (vcpus, speed, _) in TYPES.items():
            values = [float(level * speed * x) for x in generator.lognormal(0, 0.004, 10)]
            one, many = rows({machine: values}, benchmark=benchmark, metric=metric, cpus={machine: vcpus})
            refused = {"verdict": VerdictKind.INVALID, "reasons": ["quiet: 12 % busy"], "rejected_by": ["quiet"]}
            one[9] = one[9].model_copy(update=refused)
            trials += one
            measurements += [row._replace(valid=row.trial != one[9].trial) for row in many]
    ends = {"database-1": "database", "load-1": "load"}
    network = [
        traffic(
            row,
            machine,
            role,
            received=float(generator.uniform(1e9, 2e9)),
            sent=float(generator.uniform(1e9, 2e9)),
            sampled_s=9.9,
        )
        for row in trials
        for machine, role in ends.items()
    ]
    seen = [
        observed(
            row,
            cpus_online=TYPES[row.configuration][0],
            threads_per_core=2,
            numa_nodes=1,
            **CPUID[TYPES[row.configuration][2]],
        )
        for row in trials
    ]
    both = [one.model_copy(update={"machine": name, "role": role}) for one in seen for name, role in ends.items()]
    configurations = [
        {
            "name": machine,
            "provider": "aws",
            "region": "us-east-1",
            "zone": "us-east-1a",
            "database_machine": {"type": machine},
            "load_machine": {"type": machine, **({"region": "us-west-2"} if machine.startswith("r5") else {})},
        }
        for machine in TYPES
    ]
    metrics = {"tpcc": [TPMC], "waits": [WAIT]}
    study = Study(
        name="everything",
        seed=7,
        configurations=configurations,
        benchmarks=[{"uses": name} for name in metrics],
        costs={"date": "2026-11-21"},
    )
    made = inputs((trials, measurements), metrics=metrics, machines=both)
    return analyse(replace(made, study=study, network=network, claims=Claims.model_validate(CLAIMS)))
