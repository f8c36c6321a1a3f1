"""The figure of the way from core to core: which CPUs of a machine are near each other."""

import re
from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.analysis.lookup import headlines
from nephoscope.model import numbers as people
from nephoscope.model.rows import BenchmarkRow, Statistic
from nephoscope.report.figures.spec import Spec, data, finished, tip
from nephoscope.report.main.palette import Palette
from nephoscope.report.parts import Book, Figure

PAIR = re.compile(r"core-to-core\.pair_(?P<here>\d+)_(?P<there>\d+)")
MAX_PANELS = 2
ROW, AXIS_HEIGHT = 24, 46
"""Pixels."""


Pair = tuple[int, int, Statistic]
"""Both CPUs, and how long it takes from one to the other."""


def core_pairs(book: Book, row: BenchmarkRow, palette: Palette) -> Figure | None:
    """A square for each pair of CPUs, of the best machines that have more than one pair; None without any."""
    known = {name: pairs for name, pairs in _pairs(book, row).items() if len(pairs) > 1}
    if not known:
        return None
    ranked = [name for metric in headlines(row)[:1] for name in book.lookup.ranked(row.benchmark, metric)]
    shown = [name for name in ranked if name in known][:MAX_PANELS]
    if not shown:
        return None
    ways = {name: sorted((one.compared for _, _, one in known[name]), key=lambda way: way.value) for name in shown}
    times = people.scale_for("s", [way.value for many in ways.values() for way in many])
    longest = max(many[-1].value for many in ways.values())
    cpus = max(there for name in shown for _, there, _ in known[name])
    panels = [
        (
            palette.called[name],
            f"{palette.called[name]}: {times.text(many[0])} to {times.text(many[-1])} from CPU to CPU",
            _chart(known[name], times, longest),
        )
        for name, many in ways.items()
    ]
    return book.figure(
        "From core to core",
        f"{times.unit} of one way between two CPUs, lower is better",
        f"Up to {cpus} CPUs that lie evenly apart in the kernel's order. Darker: farther.",
        panels,
        columns=len(panels),
    )


def _pairs(book: Book, row: BenchmarkRow) -> dict[str, list[Pair]]:
    """Configuration -> its pairs."""
    found: dict[str, list[Pair]] = {}
    for metric in row.metrics:
        if cpus := PAIR.fullmatch(metric.name):
            for one in book.lookup.statistics_of(row.benchmark, metric.name):
                found.setdefault(one.configuration, []).append((int(cpus["here"]), int(cpus["there"]), one))
    return found


def _chart(pairs: Sequence[Pair], times: people.Scale, longest: float) -> Spec:
    rows: list[dict[str, Any]] = [
        {
            "here": str(left),
            "there": str(right),
            "value": one.compared.value / longest,
            "value_text": f"{times.value(one.compared.value):.3g}",
            "range_text": f"CPU {left} to CPU {right}: {times.text(one.compared)} ({times.ends(one.compared)})",
        }
        for here, there, one in pairs
        for left, right in ((here, there), (there, here))
    ]
    order = [str(cpu) for cpu in sorted({cpu for here, there, _ in pairs for cpu in (here, there)})]
    axis: dict[str, Any] = {"scale": alt.Scale(domain=tuple(order), padding=0.04)}
    base = alt.Chart(data("rows")).encode(
        x=alt.X("here:N", title="CPU", axis=alt.Axis(labelAngle=0, grid=False), **axis),
        y=alt.Y("there:N", title=None, axis=alt.Axis(grid=False), **axis),
        tooltip=tip("range_text"),
    )
    shade = alt.Opacity("value:Q", legend=None, scale=alt.Scale(domain=[0, 1], range=[0.05, 0.6]))
    layers = [
        base.mark_rect(color="var(--c1)").encode(opacity=shade),
        base.mark_text(color="var(--ink)").encode(text="value_text:N"),
    ]
    return finished(layers, ROW * len(order) + AXIS_HEIGHT, rows=rows)
