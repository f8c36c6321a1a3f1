"""Short sentences and labels that several sections use."""

import re
from collections.abc import Sequence
from typing import Literal

from nephoscope.insights.names import metric_title, type_name
from nephoscope.model.numbers import SECONDS, TIMES, Between, Scale, coverage, dashed, ratio_form, significant
from nephoscope.model.price_rows import CostRow
from nephoscope.model.quantities import LowerBound
from nephoscope.model.questions import View
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import Estimate, Statistic
from nephoscope.model.subjects import Extent
from nephoscope.model.words import counted

ENOUGH = 0.95
Line = Literal["interval", "range", "none"]
"""What is drawn around a level: an interval of 95 % or more, the range of too few values for one, nothing."""
_UNITS_IN_WORDS = {"": "no unit", "1/s": "per second", "1/min": "per minute"}
_PERCENTILE = re.compile(r"(?:^|(?<=[^A-Za-z0-9]))p(\d{2,3}(?:[._]\d+)?)(?=$|[^A-Za-z0-9])", re.IGNORECASE)
_SEPARATORS = re.compile(r"[\s,:;._-]+")


def direction_text(direction: Direction) -> str:
    """Which way is better, in words."""
    return "higher is better" if direction is Direction.HIGHER else "lower is better"


def unit_text(scale: Scale, *, per_cpu: bool = False) -> str:
    """The unit in words, or 'no unit'; optionally per CPU."""
    unit = _UNITS_IN_WORDS.get(scale.unit, scale.unit)
    return f"{unit} per CPU" if per_cpu else unit


def view_text(view: View, basis: str | None) -> str:
    """What is added to a metric's title: '', ', per CPU' or ', $ per unit (on-demand)'."""
    if view == "plain":
        return ""
    return f", {'$ per unit' if view == 'per dollar' else view}" + (f" ({basis_text(basis)})" if basis else "")


def paid_for(cost: CostRow, extent: Extent) -> str:
    """The machines whose month a result is divided by: 'one c5d.4xlarge', '3 × m6i.2xlarge', 'the cluster'."""
    if cost.machine_type is None or not cost.is_divisible:
        return "the cluster"
    count = cost.machines_of(extent)
    called = type_name(cost.configuration, cost.machine_type)
    machines = f"one {called}" if count == 1 else f"{count} {TIMES} {called}"
    return f"{machines} without volumes" if cost.share_left_out(extent) else machines


def axis_title(metric: Metric, scale: Scale, *, per_cpu: bool = False) -> str:
    """Unit and direction."""
    return f"{unit_text(scale, per_cpu=per_cpu)}, {direction_text(metric.direction)}"


def title_with_unit(metric: Metric, scale: Scale) -> str:
    """For captions and columns: 'CoreMark, one thread, per second', but 'Point selects per second'."""
    title, unit = metric_title(metric), unit_text(scale)
    return title if unit in title else f"{title}, {unit}"


_BASES = {
    "reserved-1y": "one-year commitment",
    "reserved-3y": "three-year commitment",
    "savings-plan-1y": "one-year savings plan",
    "savings-plan-3y": "three-year savings plan",
    "sustained-use": "sustained-use",
}


def basis_text(basis: str) -> str:
    """'one-year commitment' of 'reserved-1y'; to stand before 'prices' or alone."""
    return _BASES.get(basis, basis)


def tie_text(margin_percent: float) -> str:
    """The least and the largest ratio that is a tie: '0.985' and '1.015×' for a margin of 1.5 %."""
    most = 1 + margin_percent / 100
    margin = Between(1.0, 1 / most, most)
    return dashed(margin, ratio_form(margin))


def text_of_bound(bound: LowerBound, scale: Scale) -> str:
    """'> 103', without the unit; the bound is rounded down, because one that is rounded up may be none."""
    return f"{bound.sign} {significant(bound.written / scale.divisor, 3)}"


def interval_text(row: Statistic | Estimate, scale: Scale) -> str:
    """Both ends of the interval of a median, or of a level."""
    return scale.ends(row.middle if isinstance(row, Statistic) else row)


def interval_row(row: Statistic, scale: Scale) -> dict[str, object]:
    """A level with its interval as a part of a row of chart data: numbers for the marks, texts for the tooltip."""
    level = row.compared
    return {
        "level": scale.value(level.value),
        "low": scale.value(level.low),
        "high": scale.value(level.high),
        "level_text": scale.text(level),
        "interval_text": interval_text(level, scale),
    }


def line_of(row: Statistic) -> Line:
    """Which line stands for how well a level is known."""
    return "none" if row.n == 1 else "interval" if row.compared.coverage >= ENOUGH else "range"


def lines_text(rows: Sequence[Statistic]) -> str:
    """'lines: 95 % intervals; dashed: the range of 3 to 5 replicates (75 to 93.7 %)', as far as these are drawn."""
    kinds = {line_of(row) for row in rows}
    if kinds <= {"none"}:
        return "one value each"
    parts = ["lines: 95 % intervals"] if "interval" in kinds else []
    parts += [f"dashed{'' if parts else ' lines'}: {range_text(rows)}"] if "range" in kinds else []
    return "; ".join([*parts, *(["no line: one value"] if "none" in kinds else [])])


def range_text(rows: Sequence[Statistic]) -> str:
    """'the range of 3 to 5 replicates (75 to 93.7 %)': how often ranges of so few values contain the true value."""
    ranges = [row for row in rows if line_of(row) == "range"]
    few, most = min(row.n for row in ranges), max(row.n for row in ranges)
    shares = [coverage(end(row.compared.coverage for row in ranges)) for end in (min, max)]
    if few == most:
        return f"the range of {counted(few, 'replicate')} ({shares[0]})"
    return f"the range of {few} to {counted(most, 'replicate')} ({shares[0].removesuffix(' %')} to {shares[1]})"


def statistic_row(row: Statistic, scale: Scale) -> dict[str, object]:
    """A statistic as a row of chart data: numbers in the scale's unit for the marks, texts for the tooltip."""
    found = {
        **interval_row(row, scale),
        "configuration": row.configuration,
        "minimum": scale.value(row.minimum),
        "maximum": scale.value(row.maximum),
        "coverage_text": coverage(row.compared.coverage),
        "line": line_of(row),
        "n": str(row.n),
    }
    return found if row.n > 1 else {**found, "interval_text": "none: one value"}


def candidates_text(names: Sequence[str], most: int) -> str:
    """Which may be the best: their names if they are few, else 'one of 17'."""
    return ", ".join(names) if len(names) <= most else f"one of {len(names)}"


def percentile_of(metric: Metric) -> tuple[str, str] | None:
    """('new_order_response', 'p99.9') of a latency such as new_order_response_p999; None for every other metric."""
    found = list(_PERCENTILE.finditer(metric.name))
    if metric.unit not in SECONDS or len(found) != 1:
        return None
    rest = metric.name[: found[0].start()] + metric.name[found[0].end() :]
    return _SEPARATORS.sub("_", rest).strip("_"), f"p{percentile_number(f'p{found[0].group(1)}'.replace('_', '.')):g}"


def operation_title(metric: Metric, operation: str) -> str:
    """The metric's title without the percentile, or else its name in words."""
    if _PERCENTILE.search(metric.title):
        return _PERCENTILE.sub("", metric.title).strip(" ,:;()\N{EN DASH}-")
    return operation.replace("_", " ").capitalize() or metric.name


def percentile_number(name: str) -> float:
    """99.9 for 'p99.9' and for 'p999'; percentiles are sorted by it."""
    digits = name.removeprefix("p")
    return float(digits) if "." in digits or len(digits) < 3 or digits == "100" else float(f"{digits[:2]}.{digits[2:]}")
