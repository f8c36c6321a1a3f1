"""What docs/how-to/recompute-a-number.md computes agrees with a stored study's report, and notices one that differs.

tests/docs/test_commands.py runs its commands and compares what they print.
"""

import re
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import polars as pl
import pytest

from tests.docs import pages

PAGE = (pages.ROOT / "docs" / "how-to" / "recompute-a-number.md").read_text(encoding="utf-8")
PREPARED, *SQL = pages.sessions(PAGE)
OPENED, *SCIPY = pages.blocks(PAGE, "python")
ANSWERS = {
    "statistics": ["median", "low", "high", "coverage"],
    "comparisons": ["ratio", "low", "high", "p_value"],
    "best": ["best", "cv_percent"],
    "steal": ["share", "high"],
}
"""Table -> columns that the page computes again."""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder after the page's first commands: the bundle is in `laptop`, the results in `results`."""
    folder = tmp_path_factory.mktemp("page")
    place, variables = pages.place(PREPARED, PAGE, folder), pages.environment(folder / "programs")
    for command in PREPARED.commands:
        done = pages.run(command, place, variables)
        assert done.returncode == 0, done.stdout
    with chdir(place):
        yield place


def test_every_block_agrees_with_the_report(unpacked: Path) -> None:
    names: dict[str, object] = {}
    for block in (OPENED, *SCIPY):
        exec(block, names)  # noqa: S102 -- the page's own code
    assert len(SCIPY) == 5


@pytest.mark.parametrize(("table", "column"), [(table, column) for table, of in ANSWERS.items() for column in of])
def test_a_report_that_differs_in_one_column_fails_a_block(unpacked: Path, table: str, column: str) -> None:
    names: dict[str, object] = {}
    exec(OPENED, names)  # noqa: S102
    tables = names["tables"]
    assert isinstance(tables, dict)
    other = pl.lit("other") if column == "best" else pl.col(column) * 1.001 + 1e-6
    tables[table] = tables[table].with_columns(other.alias(column))
    with pytest.raises(AssertionError):
        exec("\n".join(SCIPY), names)  # noqa: S102


def test_sql_gives_what_the_report_says() -> None:
    """The pairs of columns on the page are equal; that the page shows what the commands print is another test."""
    shown = [command.output for session in SQL for command in session.commands]
    numbers = [re.findall(r"(\d\S*)  +(\d+\.\d+)(?:  +True)?$", output, re.MULTILINE) for output in shown]
    assert [len(pairs) for pairs in numbers] == [2, 2]
    assert all(recomputed == reported for pairs in numbers for recomputed, reported in pairs)
