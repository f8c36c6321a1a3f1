"""The small curve of a card: the configurations of its bars over every load of the workload. SVG, drawn at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from nephoscope.analysis.answers import Question
from nephoscope.model.numbers import Scale
from nephoscope.report.figures.series import Series
from nephoscope.report.main.palette import Palette

_LEAST_POINTS = 2


@dataclass(frozen=True)
class Line:
    """One configuration; its points in percent of the width and of the height, from the top left."""

    name: str
    colour: str
    points: str


@dataclass(frozen=True)
class Curve:
    """Rates over loads, both axes from zero."""

    lines: tuple[Line, ...]
    about: str
    """What the axes are: '50 to 150 active warehouses per vCPU, up to 4,120/min'."""


def curve(
    question: Question, scale: Scale, names: Sequence[str], palette: Palette, series: Sequence[Series]
) -> Curve | None:
    """Args: `names`: of the configurations with a bar. None where the benchmark is no step, or no line has two."""
    benchmark = question.benchmark.benchmark
    steps = next((one for one in series if any(row.benchmark == benchmark for _, row in one.rows)), None)
    if steps is None:
        return None
    lookup, per_cpu = question.lookup, question.view == "per CPU"
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for at, row in steps.rows:
        for one in lookup.statistics_of(row.benchmark, question.metric.name, per_cpu=per_cpu):
            if one.configuration in found:
                found[one.configuration].append((at, one.compared.value))
    drawn = {name: points for name, points in found.items() if len(points) >= _LEAST_POINTS}
    highest = max((value for points in drawn.values() for _, value in points), default=0.0)
    if highest <= 0:
        return None
    loads = [at for points in drawn.values() for at, _ in points]
    lines = tuple(
        Line(palette.called[name], palette.colour(name), _points(points, max(loads), highest))
        for name, points in drawn.items()
    )
    ends = f"{min(loads):,.15g} to {max(loads):,.15g} {steps.axis}"
    return Curve(lines, f"{ends}, up to {scale.text(highest)}")


def _points(points: Sequence[tuple[float, float]], most: float, highest: float) -> str:
    return " ".join(f"{100 * at / most:.1f},{30 - 30 * value / highest:.1f}" for at, value in sorted(points))
