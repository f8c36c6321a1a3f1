"""When Python looks for garbage: a matter of the whole process, so the command line decides it and no library."""

import atexit
import gc
import sys

OBJECTS_BETWEEN_LOOKS = 2_000_000
"""By default Python looks for cycles after every 700 new objects. A study has hundreds of thousands of rows, none of
them in a cycle, and the search took a sixth of an analysis."""


def tune_gc() -> None:
    """Searches seldom, and not at the end, as fits a process that does one thing and ends."""
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS, 50, 50)
    atexit.register(_freeze)


def _freeze() -> None:
    """Exempts all objects from the last search, which took another sixth: the system takes all memory back anyway."""
    if "duckdb" not in sys.modules:  # it would report everything that was not freed as leaked
        gc.freeze()
