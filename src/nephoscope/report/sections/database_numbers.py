"""The section on databases over all machines: the best of each cloud, storage, memory, and more and more warehouses."""

from collections.abc import Iterable, Iterator
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
        storage=_drawn(by_storage(book, results, per_cpu=bool(results.per_cpu)) for results in found),
        warehouses=_drawn(draw(book, one) for one in steps for draw in (over_warehouses, best_over_warehouses)),
        memory=_drawn([*(consistency(book, results) for results in found), *(over_memory(book, one) for one in steps)]),
    )


def _best(book: Book, results: Results) -> Iterator[Figure]:
    yield from _drawn([best_of_clouds(book, results), tops(book, results)])
    if results.per_cpu:
        yield from _drawn([tops(book, results, per_cpu=True)])


def _drawn(figures: Iterable[Figure | None]) -> list[Figure]:
    return [figure for figure in figures if figure is not None]
