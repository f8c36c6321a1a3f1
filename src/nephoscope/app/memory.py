"""When Python looks for garbage: a matter of the whole process, so the command line decides it and no library."""

import gc

OBJECTS_BETWEEN_LOOKS = 200_000
"""By default Python looks for cycles after every 700 new objects. A study has hundreds of thousands of rows, none of
them in a cycle, and the search took a sixth of an analysis."""


def tune_gc() -> None:
    """Searches seldom, as fits a process that does one thing and ends."""
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS, 50, 50)
