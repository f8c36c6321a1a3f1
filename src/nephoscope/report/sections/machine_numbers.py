"""The section on the machines' own performance: CPU, network, storage, and small compared with large machines.

It selects statistics from the analysis; it computes nothing but counts of replies in the bins of a histogram.
"""

from collections.abc import Iterator

from nephoscope.analysis.lookup import headlines
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.model.subjects import Subject
from nephoscope.report.figures.network import network_figures
from nephoscope.report.figures.results import Results, all_steps, of_databases, results_of
from nephoscope.report.figures.steps import best_over_warehouses, over_memory, over_warehouses
from nephoscope.report.figures.storage import by_storage, storage_figures
from nephoscope.report.figures.tops import best_of_clouds, consistency, small_and_large, tops
from nephoscope.report.parts import Book, Figure

Part = tuple[str, str, list[Figure]]
"""Anchor, heading and figures of a part of a section; one without figures gets no heading."""


def machine_numbers(book: Book) -> list[Part]:
    """Everything that the study's microbenchmarks measured."""
    rows = book.lookup.study.benchmarks
    others = [row for row in rows if row.subject is not Subject.DATABASE]
    each = [results_of(book.lookup, row, metric) for row in others for metric in _per_cpu(row)]
    cpu = [figure for row in rows if row.subject is Subject.CPU for figure in _cpus(book, row)]
    network = [figure for row in rows if row.subject is Subject.NETWORK for figure in _compared(book, row)]
    network += [figure for row in rows for figure in network_figures(book, row)]
    storage = [figure for row in rows for figure in storage_figures(book, row)]
    compared = [*each, *of_databases(book.lookup)]
    sizes = [figure for results in compared for figure in book.figures(small_and_large, results)]
    parts = [
        ("numbers-cpu", "CPU", cpu),
        ("numbers-network", "Network", network),
        ("numbers-storage", "Storage", storage),
        ("numbers-sizes", "Small and large machines", sizes),
    ]
    return [part for part in parts if part[2]]


def _cpus(book: Book, row: BenchmarkRow) -> list[Figure]:
    """What all CPUs of a machine do together, and what one of them does."""
    found = [results_of(book.lookup, row, metric) for metric in _per_cpu(row)]
    each = [figure for results in found for figure in book.figures(tops, results, per_cpu=True)]
    return [*_compared(book, row), *each]


def _compared(book: Book, row: BenchmarkRow) -> list[Figure]:
    """The best machine of each cloud, and the best ones overall and of each cloud."""
    found = [results_of(book.lookup, row, metric) for metric in headlines(row)]
    draws = (best_of_clouds, tops)
    return [figure for results in found for draw in draws for figure in book.figures(draw, results)]


def _per_cpu(row: BenchmarkRow) -> list[Metric]:
    return [metric for metric in headlines(row) if metric.per_cpu]


def database_numbers(book: Book) -> list[Part]:
    """Figures that compare many machines; a study of one cloud, size and storage has few of them or none."""
    found, steps = of_databases(book.lookup), list(all_steps(book.lookup))
    best = [figure for results in found for figure in _best(book, results)]
    storage = [
        figure for results in found for figure in book.figures(by_storage, results, per_cpu=bool(results.per_cpu))
    ]
    over = (over_warehouses, best_over_warehouses)
    warehouses = [figure for one in steps for draw in over for figure in book.figures(draw, one)]
    memory = [figure for one in found for figure in book.figures(consistency, one)]
    memory += [figure for one in steps for figure in book.figures(over_memory, one)]
    parts = [
        ("databases-best", "The best machines", best),
        ("databases-storage", "Kinds of storage", storage),
        ("databases-warehouses", "More warehouses", warehouses),
        ("databases-memory", "Memory", memory),
    ]
    return [part for part in parts if part[2]]


def _best(book: Book, results: Results) -> Iterator[Figure]:
    yield from book.figures(best_of_clouds, results)
    yield from book.figures(tops, results)
    if results.per_cpu:
        yield from book.figures(tops, results, per_cpu=True)
