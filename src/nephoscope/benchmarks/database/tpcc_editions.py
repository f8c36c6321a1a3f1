"""TPC-C as published methods ran it: the parameters of each edition, what follows from the cluster, and its pass rule.

Numbers and flags come from the public repositories and reports named in `source`; none of their code is used.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from nephoscope.benchmarks.database.tpcc_rules import CR2020, CR2021, SPEC, TPCCBENCH, PassRule
from nephoscope.benchmarks.declared import declared

EditionName = Literal["cr2018", "cr2020", "cr2021", "cr2022", "tpc-c"]
TERMINALS_PER_WAREHOUSE = 10
USUAL: Mapping[str, Any] = {"profile": "batched", "wait_factor": 1.0, "delivery": "inline"}
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


_RULES = {"tpccbench": TPCCBENCH, "cr2020": CR2020, "cr2021": CR2021, "tpc-c": SPEC}


def _edition(*, points: Mapping[str, Any] | None = None, pass_rule: str = "", **row: Any) -> Edition:
    """One of `editions.toml`, where a range is its first value, its last, and the step."""
    values = {key: value if isinstance(value, list) else _range(**value) for key, value in (points or {}).items()}
    return Edition(**row, points=values, pass_rule=_RULES.get(pass_rule))


def _range(first: int, last: int, step: int = 1) -> range:
    return range(first, last + 1, step)


EDITIONS: Mapping[str, Edition] = {row["name"]: _edition(**row) for row in declared("editions.toml")["tpcc"]}


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
