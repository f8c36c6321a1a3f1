"""When Python looks for garbage: a matter of the whole process, so the command line decides it and no library."""

import atexit
import gc
import sys

ONE_PASS = frozenset({"import", "status", "analyze", "report", "compare"})
"""Commands that read a whole folder and end soon afterwards."""
OBJECTS_BETWEEN_LOOKS, OBJECTS_OF_ONE_PASS = 200_000, 2_000_000
"""By default Python looks for cycles after every 700 new objects. A study has hundreds of thousands of rows, none of
them in a cycle, and the search took a sixth of an analysis."""


def tune_gc(command: str) -> None:
    """Searches seldom; during a command of `ONE_PASS` hardly ever, and not at its end."""
    if command not in ONE_PASS:
        gc.set_threshold(OBJECTS_BETWEEN_LOOKS, 50, 50)
        return
    gc.set_threshold(OBJECTS_OF_ONE_PASS, 50, 50)
    atexit.register(_freeze)


def _freeze() -> None:
    """Exempts all objects from the last search, which took another tenth: the system takes all memory back anyway.

    What is in a cycle is not finalized then. A module that DuckDB's extension defines would be reported as leaked.
    """
    if "duckdb" not in sys.modules:
        gc.freeze()
