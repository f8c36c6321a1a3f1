"""Which values of a trial are drawn over time: those of whole seconds, if there are enough of them."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median

from nephoscope.model.rows import MeasurementRow

MIN_POINTS = 10
MIN_LENGTH_S = 2.0
_WHOLE = 0.95
"""An interval that is shorter than this part of the trial's usual one had not ended."""


def courses(rows: Iterable[MeasurementRow]) -> dict[str, list[MeasurementRow]]:
    """Trial -> its values by time, without an unfinished last one; only trials that are long enough to draw.

    A time axis over a handful of points shows nothing that a table does not show better.
    """
    by_trial: dict[str, list[MeasurementRow]] = {}
    for row in sorted(rows, key=lambda row: (row.position, row.at_s or 0.0)):
        if row.at_s is not None:
            by_trial.setdefault(row.trial, []).append(row)
    whole = {trial: finished(many) for trial, many in by_trial.items()}
    return {trial: many for trial, many in whole.items() if _is_long_enough(many)}


def finished(rows: Sequence[MeasurementRow]) -> list[MeasurementRow]:
    """The values of one trial by time, without a last one whose interval had not ended.

    It is shorter than the others. Or it is exactly zero after values that are not: a thread that ended with the trial
    has no CPU time left to report, and what a client counts in its last moment belongs to the interval before.
    """
    times = [row.at_s or 0.0 for row in rows]
    steps = [later - earlier for earlier, later in pairwise(times)]
    if not steps:
        return list(rows)
    is_short = steps[-1] < _WHOLE * median(steps)
    is_empty = rows[-1].value == 0 and all(row.value != 0 for row in rows[:-1])
    return list(rows[:-1] if is_short or is_empty else rows)


def _is_long_enough(rows: Sequence[MeasurementRow]) -> bool:
    return len(rows) >= MIN_POINTS and (rows[-1].at_s or 0.0) - (rows[0].at_s or 0.0) >= MIN_LENGTH_S
