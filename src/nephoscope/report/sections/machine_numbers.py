"""The section of what the machines themselves give: CPU, network, storage, and small against large ones.

It selects statistics that the analysis made; the only numbers made here are counts of replies in a histogram's bins.
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
"""Configurations of a ranking; the leaderboard holds all."""
_SIZE_SIGNS = tuple(zip(theme.PERCENTILE_COLOURS[::2], ("circle", "square", "triangle-up"), strict=True))
_SIZE_GLYPHS = ("●", "■", "▲")


@dataclass(frozen=True)
class MachineNumbers:
    """Figures by what they are about; an empty list has no heading."""

    cpu: list[Figure]
    network: list[Figure]
    storage: list[Figure]
    sizes: list[Figure]

    @property
    def parts(self) -> list[tuple[str, str, list[Figure]]]:
        """Anchor, heading and figures of each part that has some."""
        named = [
            ("numbers-cpu", "CPU", self.cpu),
            ("numbers-network", "Network", self.network),
            ("numbers-storage", "Storage", self.storage),
            ("numbers-sizes", "Small and large machines", self.sizes),
        ]
        return [one for one in named if one[2]]


def machine_numbers(book: Book) -> MachineNumbers:
    """Everything that the study's microbenchmarks have for it."""
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
    more = f" The best {MAX_RANKED} of {len(best)} are drawn." if len(best) > MAX_RANKED else ""
    return book.figure(
        f"{row.benchmark}: {title}, ranked",
        axis,
        "Each trial was divided by the CPUs it had before the median was taken; the line is the median's interval. "
        f"Bars start at zero.{more}",
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
    """The smallest and the largest machine of each family, per CPU; None where no family has two sizes."""
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
        f"{row.benchmark}: {title}, small against large",
        axis,
        "Machines of one family side by side: what one CPU gives on the smallest and on the largest. Machines without "
        "a family are of one when they have one CPU model. The axis starts at zero.",
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
    """Machines without a family (this one, emulated ones) are of one when they have one CPU model."""
    if family:
        return f"{provider} {family}"
    return cpu_model


def _size(lookup: Lookup, one: Statistic) -> int:
    """CPUs of a machine, not of the cluster of a database; what was imported says only what a trial had."""
    return lookup.cpus.get(one.configuration) or one.cpus or 0
