"""TPC-C as published methods ran it: the parameters of each edition, what follows from the cluster, and its pass rule.

Numbers and flags come from the public repositories and reports named in `source`; none of their code is used.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from nephoscope.benchmarks.database.tpcc_rules import CR2020, CR2021, SPEC, TPCCBENCH, PassRule

EditionName = Literal["cr2018", "cr2020", "cr2021", "cr2022", "tpc-c"]
TERMINALS_PER_WAREHOUSE = 10
USUAL: Mapping[str, Any] = MappingProxyType({"profile": "batched", "wait_factor": 1.0, "delivery": "inline"})
"""What every edition does that does not say otherwise."""


@dataclass(frozen=True)
class ClusterSize:
    """What an edition's rules require of a cluster."""

    node_cpus: int
    """Of one database machine: as many as what is measured there may use."""
    nodes: int
    """Database machines."""


@dataclass(frozen=True)
class Clients:
    """How many clients use how much of a data set. None: not specified, so the load generator decides."""

    active_warehouses: int | None = None
    active_warehouses_per_cpu: int | None = None
    workers: int | None = None
    connections: int | None = None


@dataclass(frozen=True)
class Edition:
    """One published method."""

    name: EditionName
    source: str
    preset: Mapping[str, Any]
    """Parameters of `tpcc` that it fixes."""
    points: Mapping[str, Collection[int]] = field(default_factory=dict)
    """Values that it varied, which are not deviations."""
    workers: Literal["10 x active warehouses", "active warehouses"] = "10 x active warehouses"
    connections: Literal["2 x active warehouses", "4 x vCPU of one node x nodes", "the configuration's"] = (
        "2 x active warehouses"
    )
    runs: int | None = None
    """How often it measured each point; None: it does not say."""
    pass_rule: PassRule | None = None
    published: bool = True
    """There are published numbers, all of CockroachDB."""


_ALL = (
    Edition(
        name="cr2018",
        source="Cloud Report 2018: the CockroachDB 2.1 recipe (`run tpcc --ramp=30s --warehouses=1000 "
        "--duration=300s`); its pass rule is that of roachtest `tpccbench` (an inference)",
        preset={"warehouses": 1000, "wait": "spec", "ramp_s": 30.0, "duration_s": 300.0},
        points={"active_warehouses": range(1, 1001)},
        pass_rule=TPCCBENCH,
    ),
    Edition(
        name="cr2020",
        source="Cloud Report 2020: the CockroachDB 19.2 recipe (`--ramp 1m --duration 30m`), on the 2,500 warehouses "
        "that roachtest `tpccbench` loads for 3 x 16 vCPU (an inference). It searched the maximum of active warehouses",
        preset={"warehouses": 2500, "wait": "spec", "ramp_s": 60.0, "duration_s": 1800.0},
        points={"active_warehouses": range(1, 2501)},
        pass_rule=CR2020,
    ),
    Edition(
        name="cr2021",
        source="cloud-report v2021.1.0: 3,500 warehouses loaded; 2,500 active, then 250 more a step until one fails. "
        "One trial is one step",
        preset={"warehouses": 3500, "active_warehouses": 2500, "wait": "spec", "ramp_s": 60.0, "duration_s": 1800.0},
        points={"active_warehouses": range(2500, 3501, 250)},
        runs=1,
        pass_rule=CR2021,
    ),
    Edition(
        name="cr2022",
        source="cloud-report HEAD, scripts/gen/tpcc.sh: `--active-warehouses=A --conns=4 x vCPU x servers --ramp=5m "
        "--duration=30m --wait=0 --workers=A`, A = 50, 75, 100, 125 or 150 x vCPU of one node, or 1,200",
        preset={
            "warehouses": 10_000,
            "active_warehouses_per_cpu": 125,
            "wait": "none",
            "ramp_s": 300.0,
            "duration_s": 1800.0,
        },
        points={"active_warehouses_per_cpu": (50, 75, 100, 125, 150), "active_warehouses": (1200,)},
        workers="active warehouses",
        connections="4 x vCPU of one node x nodes",
        runs=4,
    ),
    Edition(
        name="tpc-c",
        source="TPC-C 5.11: waits, two hours of measurement, limits of response times, Deliveries that are queued and "
        "deferred. Not a priced and audited system: its numbers are not TPC results",
        preset={"wait": "spec", "delivery": "deferred", "ramp_s": 300.0, "duration_s": 7200.0},
        connections="the configuration's",
        pass_rule=SPEC,
        published=False,
    ),
)

EDITIONS: Mapping[str, Edition] = MappingProxyType({edition.name: edition for edition in _ALL})


def with_preset(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as given, with those of their edition where nothing is given. An unknown edition adds nothing."""
    name = given.get("edition")
    edition = EDITIONS.get(name) if isinstance(name, str) else None
    return {**(edition.preset if edition else {}), **given}


def active_warehouses(given: Clients, warehouses: int, node_cpus: int) -> int | None:
    """The warehouses that are driven, at most those that are loaded; None: nobody said how many."""
    if given.active_warehouses is None and given.active_warehouses_per_cpu is not None:
        return min(warehouses, given.active_warehouses_per_cpu * node_cpus)
    return given.active_warehouses


def clients(
    edition: str | None, given: Clients, *, warehouses: int, size: ClusterSize, configured_connections: int
) -> Clients:
    """What drives the data set: what is given, else by the edition's rules, else by the configuration; pure.

    Args:
        edition: its name; None: no edition.
        given: what the study's parameters say, an edition's presets among them.
        warehouses: loaded; no rule asks for more of them than there are.
        size: of the cluster.
        configured_connections: of the configuration's database.
    """
    active = active_warehouses(given, warehouses, size.node_cpus)
    found = EDITIONS.get(edition or "")
    if found is None:
        return Clients(active, None, given.workers, given.connections or configured_connections)
    driven = active or warehouses
    workers = {"active warehouses": driven, "10 x active warehouses": TERMINALS_PER_WAREHOUSE * driven}
    connections = {
        "2 x active warehouses": 2 * driven,
        "4 x vCPU of one node x nodes": 4 * size.node_cpus * size.nodes,
        "the configuration's": configured_connections,
    }
    return Clients(
        active_warehouses=driven,
        workers=given.workers or workers[found.workers],
        connections=given.connections or connections[found.connections],
    )


def deviations(parameters: Mapping[str, Any]) -> list[str]:
    """What differs from the edition's method: 'duration_s 60 instead of 1800'. Empty when nothing does, or without one.

    Args:
        parameters: of `tpcc`, complete.
    """
    edition = EDITIONS.get(str(parameters["edition"]))
    if edition is None:
        return []
    wanted = {**USUAL, **edition.preset, **({"dialect": "cockroachdb"} if edition.published else {})}
    wanted |= {key: None for key in ("active_warehouses", "active_warehouses_per_cpu") if key not in wanted}
    per_cpu = edition.preset.get("active_warehouses_per_cpu")
    nothing = f"{per_cpu} x vCPU of one node" if per_cpu else "all"
    found = [
        f"{key} {_plain(parameters[key])} instead of {nothing if value is None else _plain(value)}"
        for key, value in wanted.items()
        if parameters[key] != value and parameters[key] not in edition.points.get(key, ())
    ]
    rules = {"workers": edition.workers, "connections": edition.connections}
    return found + [
        f"{key} {parameters[key]} instead of {rule}" for key, rule in rules.items() if parameters[key] is not None
    ]


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
