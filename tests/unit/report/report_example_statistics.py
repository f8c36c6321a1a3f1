"""Statistics and comparisons of the example study, simple enough for a fixture."""

import statistics as st
from collections import defaultdict
from itertools import combinations

from nephoscope.model.records import Metric
from nephoscope.model.rows import Comparison, ComparisonVerdict, MeasurementRow, Statistic
from tests.unit.report.report_example_trials import CATALOGUE, UP, Sketch, cpus_of


def statistics_of(sketch: Sketch) -> list[Statistic]:
    groups: dict[tuple[str, str, str], list[MeasurementRow]] = defaultdict(list)
    for x in sketch.measurements:
        if x.at_s is None and x.valid:
            groups[x.benchmark, x.metric, x.configuration].append(x)
    rows: list[Statistic] = []
    for benchmark, metrics in CATALOGUE.items():
        for m in metrics:
            for configuration in sketch.configurations:
                found = groups[benchmark, m.name, configuration]
                choices = (False, True) if m.per_cpu and found else (False,) if found else ()
                rows.extend(statistic(sketch, m, found, per_cpu=per_cpu) for per_cpu in choices)
    return rows


def statistic(sketch: Sketch, m: Metric, found: list[MeasurementRow], *, per_cpu: bool) -> Statistic:
    cpus = cpus_of(found[0].configuration)
    ordered = sorted(found, key=lambda x: x.value)
    values = [x.value / cpus if per_cpu else x.value for x in ordered]
    n, median = len(values), st.median(values)
    return Statistic(
        configuration=found[0].configuration,
        benchmark=found[0].benchmark,
        subject=found[0].subject,
        metric=m.name,
        unit=m.unit,
        direction=m.direction,
        per_cpu=per_cpu,
        cpus=cpus,
        n=n,
        n_excluded=sketch.replicates - n,
        median=median,
        low=values[0],
        high=values[-1],
        coverage=1 - 2 * 0.5**n,
        margin_percent=50 * (values[-1] - values[0]) / median,
        cv_percent=100 * st.stdev(values) / st.mean(values) if n > 1 else None,
        range_percent=100 * (values[-1] - values[0]) / median,
        mad=st.median([abs(v - median) for v in values]),
        minimum=values[0],
        maximum=values[-1],
        more_replicates_needed=max(0, 6 - n),
        outliers=[ordered[0].trial] if n > 4 and values[0] < 0.97 * median else [],
        trials=[x.trial for x in ordered],
    )


def comparisons_of(statistics: list[Statistic]) -> list[Comparison]:
    groups: dict[tuple[str, str, bool], list[Statistic]] = defaultdict(list)
    for row in statistics:
        groups[row.benchmark, row.metric, row.per_cpu].append(row)
    return [comparison(left, right) for board in groups.values() for left, right in combinations(board, 2)]


def comparison(left: Statistic, right: Statistic) -> Comparison:
    low, high = left.low / right.high, left.high / right.low
    enough = left.n > 3 and right.n > 3
    if enough and low > 1:
        verdict = ComparisonVerdict.BETTER if left.direction is UP else ComparisonVerdict.WORSE
    elif enough and high < 1:
        verdict = ComparisonVerdict.WORSE if left.direction is UP else ComparisonVerdict.BETTER
    elif enough and low > 0.985 and high < 1.015:
        verdict = ComparisonVerdict.TIE
    else:
        verdict = ComparisonVerdict.UNRESOLVED
    return Comparison(
        benchmark=left.benchmark,
        subject=left.subject,
        metric=left.metric,
        unit=left.unit,
        direction=left.direction,
        per_cpu=left.per_cpu,
        left=left.configuration,
        right=right.configuration,
        n_left=left.n,
        n_right=right.n,
        ratio=left.median / right.median,
        low=low if enough else None,
        high=high if enough else None,
        coverage=0.9589 if enough else None,
        p_value=0.0021645,
        p_adjusted=0.017316,
        verdict=verdict,
        margin_percent=1.5,
        minimum_detectable_percent=3.4 if verdict is ComparisonVerdict.UNRESOLVED else None,
        more_replicates_needed=8 if verdict is ComparisonVerdict.UNRESOLVED else None,
    )
