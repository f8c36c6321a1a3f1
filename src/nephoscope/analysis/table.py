"""What a table of the analysis is: one declaration in the module that makes its rows, and nothing anywhere else.

A module of this package that holds a `Table` adds it to the analysis, to the files of the results folder and of the
report, and to `nephoscope query`. Insights, reports and commands read its rows by their model: `study[CostRow]`.
"""

import inspect
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Any, Generic, TypeVar, cast

import nephoscope.analysis
from nephoscope.analysis.inputs import StudyInputs

Row = TypeVar("Row")
Value = TypeVar("Value")


class Workings:
    """The inputs of an analysis, and what is made of them: each value when it is first needed, and only once.

    What several tables need is a function of the workings, in the module of its subject; so what a table needs is what
    its function asks for: `growth_of(of.inputs.study, of(names), of(cells))`.
    """

    def __init__(
        self, inputs: StudyInputs, known: Mapping[Callable[["Workings"], object], object] = MappingProxyType({})
    ) -> None:
        """Computes nothing yet; `known` are values that somebody else has made, such as those of a published report."""
        self.inputs = inputs
        self._values = dict(known)

    def __call__(self, make: Callable[["Workings"], Value]) -> Value:
        """What the function makes of these workings.

        Raises:
            ValueError: the inputs contradict each other; see `cells_of`.
        """
        if make not in self._values:
            self._values[make] = make(self)
        return cast(Value, self._values[make])


@dataclass(frozen=True, eq=False)
class Table(Generic[Row]):
    """One table. Row models are its key: no two tables have the same."""

    name: str
    """Of its file, and in SQL."""
    row: type[Row]
    make: Callable[[Workings], Iterable[Row]]
    order: Callable[[Row], Any] | None = None
    """Key by which rows are sorted; None: as they are made."""
    has_columns: bool = True
    """Each field fits a column: it is a Parquet file in the results folder, and in the report. Else a part of
    `analysis.json`."""

    def rows(self, of: Workings) -> list[Row]:
        """Its rows in their order."""
        rows = of(self.make)
        return list(rows) if self.order is None else sorted(rows, key=self.order)


@cache
def tables() -> Mapping[str, Table[Any]]:
    """Every table that a module of this package declares, by name.

    Raises:
        TypeError: two tables have one name or one row model.
    """
    names = (
        f"{nephoscope.analysis.__name__}.{found.name}" for found in pkgutil.iter_modules(nephoscope.analysis.__path__)
    )
    declared = {table for name in names for _, table in inspect.getmembers(import_module(name), _is_table)}
    by_name = {table.name: table for table in sorted(declared, key=lambda table: table.name)}
    if not len(declared) == len(by_name) == len({table.row for table in declared}):
        raise TypeError(f"two of these tables have one name or one row model: {sorted(t.name for t in declared)}")
    return MappingProxyType(by_name)


def in_columns() -> Mapping[str, Table[Any]]:
    """Those that are files of their own."""
    return {name: table for name, table in tables().items() if table.has_columns}


def _is_table(value: object) -> bool:
    return isinstance(value, Table)
