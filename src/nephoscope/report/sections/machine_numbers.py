"""The section on the machines' own performance: CPU, network, storage, and small compared with large machines.

It selects statistics from the analysis; it computes nothing but counts of replies in the bins of a histogram.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.model.subjects import Subject
from nephoscope.report import format as people
from nephoscope.report.figures import machine_charts, theme
from nephoscope.report.figures.network import network_figures
from nephoscope.report.figures.storage import storage_figures
from nephoscope.report.lookup import Lookup, headlines
from nephoscope.report.parts import Book, Figure, KeyEntry
from nephoscope.report.tables.statistics import figure_table
from nephoscope.report.wording import direction_text, metric_title, statistic_row, unit_text

MAX_RANKED = 40
"""Configurations in a ranking; the leaderboard has all of them."""
_SIZE_SIGNS = tuple(zip(theme.PERCENTILE_COLOURS[::2], ("circle", "square", "triangle-up"), strict=True))
_SIZE_GLYPHS = ("●", "■", "▲")


@dataclass(frozen=True)
class MachineNumbers:
    """Figures by subject; an empty list gets no heading."""

    cpu: list[Figure]
    network: list[Figure]
    storage: list[Figure]
    sizes: list[Figure]

    @property
    def parts(self) -> list[tuple[str, str, list[Figure]]]:
        """Anchor, heading and figures of each part that has figures."""
        named = [
            ("numbers-cpu", "CPU", self.cpu),
            ("numbers-network", "Network", self.network),
            ("numbers-storage", "Storage", self.storage),
            ("numbers-sizes", "Small and large machines", self.sizes),
        ]
        return [one for one in named if one[2]]


def machine_numbers(book: Book) -> MachineNumbers:
    """Everything that the study's microbenchmarks measured."""
    rows = book.lookup.study.benchmarks
    of_cpus = [row for row in rows if row.subject is Subject.CPU]
    known = book.lookup.study.configurations
    families = {one.configuration: _family(one.provider, one.family, one.cpu_model) for one in known}
    return MachineNumbers(
        cpu=_found(_ranking(book, row, metric) for row in of_cpus for metric in _per_cpu(row)),
        network=[figure for row in rows for figure in network_figures(book, row)],
        storage=[figure for row in rows for figure in storage_figures(book, row)],
        sizes=_found(_sizes(book, families, row, metric) for row in rows for metric in _per_cpu(row)),
    )


def _found(figures: Iterable[Figure | None]) -> list[Figure]:
    return [figure for figure in figures if figure is not None]


def _per_cpu(row: BenchmarkRow) -> list[Metric]:
    return [metric for metric in headlines(row) if metric.per_cpu]


def _ranking(book: Book, row: BenchmarkRow, metric: Metric) -> Figure | None:
    statistics = book.lookup.statistics_of(row.benchmark, metric.name, per_cpu=True)
    if not statistics:
        return None
    sign = -1 if metric.direction is Direction.HIGHER else 1
    best = sorted(statistics, key=lambda one: sign * one.median)
    shown, scale = best[:MAX_RANKED], book.lookup.scale(row.benchmark, metric, per_cpu=True)
    rows = [{**statistic_row(one, scale), "number": scale.number(one.median)} for one in shown]
    title = metric_title(metric, per_cpu=True)
    axis = f"{unit_text(scale, per_cpu=True)}, {direction_text(metric.direction)}"
    names = [one.configuration for one in shown]
    more = f" Only the best {MAX_RANKED} of {len(best)} are drawn." if len(best) > MAX_RANKED else ""
    return book.figure(
        f"{row.benchmark}: {title}, ranked",
        axis,
        "Each trial's value was divided by the CPUs of the trial before taking the median; the line is the interval of "
        f"the median. Bars start at zero.{more}",
        [
            (
                "",
                f"Bars of {title}, best first: "
                + ", ".join(f"{one.configuration} {scale.text(one.median)}" for one in shown[:6]),
                machine_charts.ranking(names, rows, axis, book.lookup.configurations),
            )
        ],
        key=(KeyEntry("─", "var(--ink)", "interval of the median"),),
        table=figure_table(book, f"{row.benchmark}: {title}, {unit_text(scale, per_cpu=True)}", shown, scale),
    )


def _sizes(book: Book, families: Mapping[str, str | None], row: BenchmarkRow, metric: Metric) -> Figure | None:
    """The smallest and the largest machine of each family, per CPU; None when no family has two sizes."""
    by_family: dict[str, list[Statistic]] = {}
    for one in book.lookup.statistics_of(row.benchmark, metric.name, per_cpu=True):
        family = families.get(one.configuration)
        if family and _size(book.lookup, one):
            by_family.setdefault(family, []).append(one)
    several = {name: many for name, many in by_family.items() if len({_size(book.lookup, one) for one in many}) > 1}
    if not several:
        return None
    scale = people.scale_for(metric.unit, [one.median for many in several.values() for one in many], metric=metric.name)
    rows, shown = [], []
    for family, many in several.items():
        of = {one.configuration: _size(book.lookup, one) for one in many}
        ends = {min(of.values()): "smallest", max(of.values()): "largest"}
        for one in many:
            size = ends.get(of[one.configuration], "between")
            rows.append({**statistic_row(one, scale), "family": family, "size": size})
            shown.append(one)
    names = ("smallest", "largest", "between")
    signs = dict(zip(names, _SIZE_SIGNS, strict=True))
    title = metric_title(metric, per_cpu=True)
    axis = f"{unit_text(scale, per_cpu=True)}, {direction_text(metric.direction)}"
    return book.figure(
        f"{row.benchmark}: {title}, small and large machines",
        axis,
        "Performance of one CPU on the smallest and on the largest machine of a family. Machines without a family name "
        "are grouped by CPU model. The axis starts at zero.",
        [
            (
                "",
                f"{title} of the smallest and the largest machine of {', '.join(several)}",
                machine_charts.sizes(list(several), rows, axis, signs),
            )
        ],
        key=[
            KeyEntry(_SIZE_GLYPHS[i], _SIZE_SIGNS[i][0], name)
            for i, name in enumerate(names)
            if any(one["size"] == name for one in rows)
        ],
        table=figure_table(book, f"{row.benchmark}: {title}, {unit_text(scale, per_cpu=True)}", shown, scale),
    )


def _family(provider: str, family: str | None, cpu_model: str | None) -> str | None:
    """The family; machines without one (local and emulated machines) are grouped by CPU model."""
    if family:
        return f"{provider} {family}"
    return cpu_model


def _size(lookup: Lookup, one: Statistic) -> int:
    """CPUs of one machine, not of a database cluster; imports give only the CPUs of a trial."""
    return lookup.cpus.get(one.configuration) or one.cpus or 0
