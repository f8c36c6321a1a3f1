"""What the checks changed: the median of every headline metric with and without the excluded trials."""

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np

from nephoscope.analysis.cells import Metrics, declared
from nephoscope.analysis.renamed import measurements, metrics, trials
from nephoscope.analysis.table import Table
from nephoscope.model.rows import GateRow, MeasurementRow, TrialRow


def gate_of(trials: Sequence[TrialRow], measurements: Sequence[MeasurementRow], metrics: Metrics) -> list[GateRow]:
    """A row for each configuration and headline metric for which the checks rejected a measured trial.

    Returns:
        Sorted by configuration, benchmark and metric; empty when nothing was rejected.
    """
    by_id = {row.trial: row for row in trials}
    headlines = {key for key, metric in declared(metrics).items() if metric.headline}
    groups: dict[tuple[str, str, str], list[MeasurementRow]] = defaultdict(list)
    for row in measurements:
        if row.at_s is None and (row.benchmark, row.metric) in headlines and by_id[row.trial].state == "finished":
            groups[row.configuration, row.benchmark, row.metric].append(row)
    return [_row(many, by_id) for _, many in sorted(groups.items()) if not all(by_id[row.trial].counts for row in many)]


def _row(rows: Sequence[MeasurementRow], by_id: dict[str, TrialRow]) -> GateRow:
    kept = [row.value for row in rows if by_id[row.trial].counts]
    before = float(np.median([row.value for row in rows]))
    after = float(np.median(kept)) if kept else None
    refused = [row.trial for row in rows if not by_id[row.trial].counts]
    checks = Counter(check for trial in refused for check in by_id[trial].rejected_by)
    return GateRow(
        configuration=rows[0].configuration,
        benchmark=rows[0].benchmark,
        subject=rows[0].subject,
        metric=rows[0].metric,
        unit=rows[0].unit,
        direction=rows[0].direction,
        n_before=len(rows),
        n_after=len(kept),
        median_before=before,
        median_after=after,
        change_percent=None if after is None or before == 0 else 100 * (after / before - 1),
        reasons=[f"{check} {count}" for check, count in checks.most_common()],
        trials=sorted(refused),
    )


GATE = Table("gate", GateRow, lambda of: gate_of(of(trials), of(measurements), of(metrics)))
