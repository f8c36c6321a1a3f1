"""The section on databases over all machines: the best of each cloud, storage, memory, and more and more warehouses."""

from collections.abc import Iterator
from dataclasses import dataclass

from nephoscope.report.figures.memory import consistency
from nephoscope.report.figures.results import Results, all_steps, of_databases
from nephoscope.report.figures.steps import best_over_warehouses, over_memory, over_warehouses
from nephoscope.report.figures.storage_kinds import by_storage
from nephoscope.report.figures.tops import best_of_clouds, tops
from nephoscope.report.parts import Book, Figure


@dataclass(frozen=True)
class DatabaseNumbers:
    """Figures by question; an empty list gets no heading."""

    best: list[Figure]
    storage: list[Figure]
    warehouses: list[Figure]
    memory: list[Figure]

    @property
    def parts(self) -> list[tuple[str, str, list[Figure]]]:
        """Anchor, heading and figures of each part that has figures."""
        named = [
            ("databases-best", "The best machines", self.best),
            ("databases-storage", "Kinds of storage", self.storage),
            ("databases-warehouses", "More warehouses", self.warehouses),
            ("databases-memory", "Memory", self.memory),
        ]
        return [one for one in named if one[2]]


def database_numbers(book: Book) -> DatabaseNumbers:
    """Figures that compare many machines; a study of one cloud, size and storage has few of them or none."""
    found, steps = of_databases(book.lookup), list(all_steps(book.lookup))
    return DatabaseNumbers(
        best=[figure for results in found for figure in _best(book, results)],
        storage=[
            figure for results in found for figure in book.figures(by_storage, results, per_cpu=bool(results.per_cpu))
        ],
        warehouses=[
            figure
            for one in steps
            for draw in (over_warehouses, best_over_warehouses)
            for figure in book.figures(draw, one)
        ],
        memory=[
            *(figure for one in found for figure in book.figures(consistency, one)),
            *(figure for one in steps for figure in book.figures(over_memory, one)),
        ],
    )


def _best(book: Book, results: Results) -> Iterator[Figure]:
    yield from book.figures(best_of_clouds, results)
    yield from book.figures(tops, results)
    if results.per_cpu:
        yield from book.figures(tops, results, per_cpu=True)
