"""How Python looks after the objects of one command, which is the process's own affair and no library's."""

import gc

OBJECTS_BETWEEN_LOOKS = 200_000
"""By default Python looks for cycles after every 700 new objects: a study's rows are hundreds of thousands, and none of
them is in a cycle. A sixth of an analysis was spent on looking."""


def tune_gc() -> None:
    """For a process that does one thing and ends."""
    gc.set_threshold(OBJECTS_BETWEEN_LOOKS, 50, 50)
