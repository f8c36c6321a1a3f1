"""How the values within trials spread: the seconds of a throughput, the replies of a ping.

The Cloud Report of 2018 shows its network like this: a histogram of all seconds of four runs, and their deviation.
"""

from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, stdev

from nephoscope.analysis.renamed import measurements
from nephoscope.analysis.table import Table
from nephoscope.model.rows import MeasurementRow, WithinRow
from nephoscope.model.subjects import Subject


def within_of(measurements: Sequence[MeasurementRow]) -> list[WithinRow]:
    """A row for each configuration, network benchmark and metric with values within valid trials, sorted."""
    found: dict[tuple[str, str, str], list[MeasurementRow]] = defaultdict(list)
    for row in measurements:
        if row.valid and row.at_s is not None and row.subject is Subject.NETWORK:
            found[row.configuration, row.benchmark, row.metric].append(row)
    return [_row(*key, many) for key, many in sorted(found.items())]


def _row(configuration: str, benchmark: str, metric: str, many: Sequence[MeasurementRow]) -> WithinRow:
    values = [row.value for row in many]
    return WithinRow(
        configuration=configuration,
        benchmark=benchmark,
        metric=metric,
        unit=many[0].unit,
        trials=len({row.trial for row in many}),
        values=len(values),
        mean=fmean(values),
        deviation=stdev(values) if len(values) > 1 else None,
        minimum=min(values),
        maximum=max(values),
    )


WITHIN = Table("within", WithinRow, lambda of: within_of(of(measurements)), has_columns=False)
