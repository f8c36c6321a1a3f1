"""The figure of the way from core to core: which CPUs of a machine are near each other."""

import re
from collections.abc import Iterator, Sequence
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


def core_pairs(book: Book, row: BenchmarkRow, palette: Palette) -> Figure | None:
    """A square for each pair of CPUs, of the best machines that have more than one pair; None without any."""
    ranked = [name for metric in headlines(row)[:1] for name in book.lookup.ranked(row.benchmark, metric)]
    known = {name: list(_pairs(book, row, name)) for name in ranked}
    shown = [name for name in ranked if len(known[name]) > 1][:MAX_PANELS]
    if not shown:
        return None
    every = {name: [one.compared for _, _, one in known[name]] for name in shown}
    times = people.scale_for("s", [way.value for ways in every.values() for way in ways])
    longest = max(way.value for ways in every.values() for way in ways)
    cpus = max(there for name in shown for _, there, _ in known[name])
    panels = [
        (
            called,
            f"{called}: {times.text(near)} to {times.text(far)} from CPU to CPU",
            _chart(known[name], times, longest),
        )
        for name in shown
        for called, (near, *_, far) in [(palette.called[name], sorted(every[name], key=lambda way: way.value))]
    ]
    return book.figure(
        "From core to core",
        f"{times.unit} of one way between two CPUs, lower is better",
        f"Up to {cpus} CPUs that lie evenly apart in the kernel's order. Darker: farther.",
        panels,
        columns=len(panels),
    )


def _pairs(book: Book, row: BenchmarkRow, name: str) -> Iterator[tuple[int, int, Statistic]]:
    """Both CPUs, and how long it takes from one to the other."""
    for metric in row.metrics:
        found = PAIR.fullmatch(metric.name)
        for one in book.lookup.statistics_of(row.benchmark, metric.name) if found else ():
            if found and one.configuration == name:
                yield int(found["here"]), int(found["there"]), one


def _chart(pairs: Sequence[tuple[int, int, Statistic]], times: people.Scale, longest: float) -> Spec:
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
    return finished(alt.layer(*layers), ROW * len(order) + AXIS_HEIGHT, rows=rows)
