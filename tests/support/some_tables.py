"""The tables of an analysis where a test makes a few of them, and leaves the others empty."""

from collections.abc import Mapping, Sequence
from typing import Any

from nephoscope.analysis.table import tables
from nephoscope.model.analysed import AnalysedStudy


def some_tables(rows: Mapping[type[Any], Sequence[Any]]) -> dict[type[Any], list[Any]]:
    """Row model -> its rows, of every table that is declared."""
    empty: dict[type[Any], list[Any]] = {table.row: [] for table in tables().values()}
    return empty | {row: list(many) for row, many in rows.items()}


def with_tables(study: AnalysedStudy, rows: Mapping[type[Any], Sequence[Any]]) -> AnalysedStudy:
    """The study with other rows in some of its tables."""
    return study.model_copy(update={"tables": {**study.tables, **rows}})
