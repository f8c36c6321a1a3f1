"""The data of the explorer: levels with intervals, stored ranks, and the intervals of all pairs behind these.

The page tests nothing: it ranks any part of the configurations, at any price, by the stored intervals of pairs. These
are right for all pairs at once, so they are right for the pairs that remain after a filter, and dividing by a price
moves each by a known amount. Half-widths are packed as exponents and rounded up, so a rank of the page never claims
more than a stored one.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nephoscope.analysis.lookup import Lookup, headlines, unique
from nephoscope.insights.names import metric_title, names_benchmark, names_of, title_within
from nephoscope.model.price_rows import CostLineRow, CostRow, least_quantity
from nephoscope.model.questions import BestRow, RankIntervals
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, ConfigurationRow, MachineRow, Statistic
from nephoscope.model.words import PROVIDERS
from nephoscope.report.main.boards import in_order
from nephoscope.report.parts import Book, section_anchor
from nephoscope.report.wording import basis_text

STEP = 1.01
"""Half-widths are written as powers of this: rounded up by at most one percent."""


_VIEWS: Mapping[str, str] = {"plain": "plain", "per CPU": "cpu"}
"""The view of a study's headline, with which its reader begins."""


def explorer_data(book: Book) -> dict[str, Any] | None:
    """None when no trial is valid: then there is nothing to rank."""
    lookup = book.lookup
    boards = [board for row in in_order(lookup) for m in headlines(row) if (board := _board(book, row, m))]
    if not boards:
        return None
    ranked = unique(name for board in boards for name in board["plain"])
    machines = machines_of(lookup)
    return {
        "margin": math.log1p(lookup.study.equivalence_margin_percent / 100),
        "step": STEP,
        "bases": lookup.bases,
        "basis_texts": {basis: basis_text(basis) for basis in lookup.bases},
        "view": _VIEWS[lookup.study.headline.view] if lookup.study.headline else "plain",
        "providers": PROVIDERS,
        "costs": book.href("costs"),
        "scopes": lookup.study.scopes,
        "labels": lookup.labels,
        "configurations": [machines[name] for name in lookup.configurations if name in ranked],
        "boards": boards,
    }


def _board(book: Book, row: BenchmarkRow, metric: Metric) -> dict[str, Any] | None:
    lookup = book.lookup
    plain = lookup.statistics.get((row.benchmark, metric.name, False), {})
    if not plain:
        return None
    per_cpu = lookup.statistics.get((row.benchmark, metric.name, True), {})
    scale, of_cpu = lookup.scale(row.benchmark, metric), lookup.scale(row.benchmark, metric, per_cpu=True)
    return {
        "name": f"{row.benchmark}/{metric.name}",
        "benchmark": row.benchmark,
        "evidence": book.href(section_anchor(row.benchmark)),
        "of": "" if names_benchmark(metric, row.benchmark) else f"{row.benchmark}: ",
        "title": metric_title(metric),
        "stored_unit": metric.unit,
        "unit": scale.unit,
        "counted": _counted(metric, scale.unit),
        "least": least_quantity(metric),
        "divisor": scale.divisor,
        "per_cpu": {"unit": of_cpu.unit, "divisor": of_cpu.divisor},
        "higher": metric.direction is Direction.HIGHER,
        "measures": row.extent.model_dump(),
        "plain": {name: [*_level(one), scale.value_and_ends(one.compared)] for name, one in plain.items()},
        "cpu": {name: [*_level(one), one.cpus, of_cpu.value_and_ends(one.compared)] for name, one in per_cpu.items()}
        if metric.per_cpu
        else {},
        "ranks": _ranks(lookup, row.benchmark, metric.name),
        "best": _best(lookup, row.benchmark, metric.name),
        "unknown": _unknown(lookup, row.benchmark, metric.name),
        "intervals": _intervals(lookup[RankIntervals], row.benchmark, metric.name),
    }


def _counted(metric: Metric, unit: str) -> str:
    """The unit as it follows a number: ' point selects/s', '/s', ' Gbit/s'; of plain numbers what they are."""
    if metric.counted or not unit:
        return f" {metric.counted or title_within(metric)}"
    return unit.removeprefix("1") if unit.startswith("1/") else f" {unit}"


def _level(row: Statistic) -> list[float]:
    level = row.compared
    return [level.value, level.low, level.high, row.n, level.coverage]


def _ranks(lookup: Lookup, benchmark: str, metric: str) -> dict[str, Mapping[str, list[int]]]:
    """View, or view and price basis -> configuration -> first and last rank."""
    found: dict[str, Mapping[str, list[int]]] = {}
    for (of, name, view, basis), rows in lookup.ranks.items():
        if (of, name) == (benchmark, metric):
            found[_view(view, basis)] = {configuration: [row.first, row.last] for configuration, row in rows.items()}
    return found


def _best(lookup: Lookup, benchmark: str, metric: str) -> dict[str, dict[str, Any]]:
    """View -> scope -> how many compete, and those of them that may be the best."""
    found: dict[str, dict[str, Any]] = {}
    for row in lookup[BestRow]:
        if (row.benchmark, row.metric) == (benchmark, metric):
            found.setdefault(_view(row.view, row.basis), {})[str(row.scope)] = [row.of, row.best]
    return found


def _unknown(lookup: Lookup, benchmark: str, metric: str) -> list[str]:
    """Configurations with too few values for any claim: no candidates."""
    rows = (row for row in lookup[BestRow] if (row.benchmark, row.metric) == (benchmark, metric))
    return unique(name for row in rows for name in row.open)


def _view(view: str, basis: str | None) -> str:
    return {"plain": "plain", "per CPU": "cpu"}.get(view, f"dollar {basis}")


def _intervals(rows: Sequence[RankIntervals], benchmark: str, metric: str) -> dict[str, Any] | None:
    """The pairs' half-widths as powers of `STEP` times the smallest; None: the analysis stored no intervals."""
    row = next((row for row in rows if (row.benchmark, row.metric) == (benchmark, metric)), None)
    if row is None:
        return None
    least = min((half for half in row.half_widths if half), default=1.0)
    return {
        "configurations": row.configurations,
        "levels": row.levels,
        "least": least,
        "powers": [None if half is None else _power(half / least) for half in row.half_widths],
        "signs": row.signs_only,
    }


def _power(ratio: float) -> int:
    """The smallest power of `STEP` that is not below; 0 for 0, which only signs have."""
    return math.ceil(math.log(ratio, STEP) - 1e-9) if ratio > 1 else 0


ARCHITECTURES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "Arm", "arm64": "Arm"}
LABEL = "label-"
"""Start of the key under which the page finds a label."""


def machines_of(lookup: Lookup) -> dict[str, dict[str, Any]]:
    """By configuration; None is not known."""
    known = {row.configuration: row for row in lookup[ConfigurationRow]}
    ordered = lookup.asked
    architectures = {row.configuration: row.facts.architecture for row in reversed(lookup[MachineRow])}
    volumes, called = _priced_volumes(lookup), names_of(lookup)
    return {
        name: {
            "name": name,
            "called": called[name],
            **_machine(lookup, name, known.get(name), ordered.get(name, {}), architectures.get(name)),
            "storage": _storage(ordered.get(name, {}).get("database_machine") or {}) or volumes.get(name),
            **{f"{LABEL}{label}": value for label, value in (known[name].labels if name in known else {}).items()},
        }
        for name in lookup.configurations
    }


def _machine(
    lookup: Lookup,
    name: str,
    known: ConfigurationRow | None,
    ordered: Mapping[str, Any],
    architecture: str | None,
) -> dict[str, Any]:
    costs = lookup.costs.get(name, [])
    cost = costs[0] if costs else None
    per_vcpu, observed = (known.memory_gib_per_vcpu, known.vcpus) if known else (None, None)
    return {
        "provider": (cost and cost.provider) or ordered.get("provider"),
        "region": (cost and cost.region) or ordered.get("region"),
        "type": (cost and cost.machine_type) or (known and known.machine_type),
        "family": (cost and cost.family) or (known and known.family),
        "cpu": _cpu(known.cpu_vendor if known else None, architecture),
        "vcpus": lookup.cpus.get(name) or observed or (cost and cost.vcpus),
        "gib": round(per_vcpu * observed, 2) if per_vcpu and observed else None,
        "prices": {row.basis: _price(row) for row in costs},
    }


def _cpu(vendor: str | None, architecture: str | None) -> str | None:
    """'x86-64, Intel', 'Arm', or the part that is known."""
    shown = ARCHITECTURES.get(architecture or "", architecture)
    return ", ".join(dict.fromkeys(part for part in (shown, vendor) if part)) or None


def _storage(machine: Mapping[str, Any]) -> str | None:
    """'2 × gp3 500 GB', 'local SSD'; None: whatever disk the machine has."""
    if machine.get("local_ssds"):
        return f"{machine['local_ssds']} × local SSD" if machine["local_ssds"] > 1 else "local SSD"
    found = [
        (f"{volume['count']} × " if volume.get("count", 1) > 1 else "") + f"{volume['kind']} {volume['size']:g} GB"
        for volume in machine.get("volumes") or []
    ]
    return ", ".join(found) or None


def _priced_volumes(lookup: Lookup) -> dict[str, str]:
    """Configuration -> the volumes whose price its cost includes; for machines that the study did not order."""
    found: dict[str, dict[str, str]] = {}
    for line in lookup[CostLineRow]:
        if line.part == "size":
            found.setdefault(line.configuration, {})[line.item] = _volume(line.item, line)
    return {name: ", ".join(text for _, text in sorted(many.items())) for name, many in found.items()}


def _volume(kind: str, line: CostLineRow) -> str:
    """'gp3 500 GB', '500 GiB' where the provider counts so; disks of fixed size have it in their name."""
    if line.unit == "disk-month":
        return kind if line.amount == 1 else f"{line.amount:g} × {kind}"
    return f"{kind} {line.amount:g} {line.unit.partition('-')[0]}"


def _price(row: CostRow) -> dict[str, Any]:
    """`volumes` is the monthly cost of one machine's volumes; None when one of them has no price."""
    volumes: float | None = 0.0
    if row.machine_month_usd is not None and row.storage_share is not None:
        volumes = row.machine_month_usd * row.storage_share
    elif row.usd_per_hour is not None and row.machine_month_usd is None:
        volumes = None
    return {
        "rate": row.usd_per_hour,
        "volumes": volumes,
        "hours": row.hours,
        "machines": max(1, row.machines),
        "divisible": row.is_divisible,
        "missing": row.reason_missing,
    }
