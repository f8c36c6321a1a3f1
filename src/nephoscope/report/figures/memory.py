"""Memory per vCPU against consistency: do machines with more memory repeat their numbers better?"""

from collections.abc import Sequence
from typing import Any

import altair as alt

from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.rows import Statistic
from nephoscope.model.words import counted
from nephoscope.report.figures.machine_charts import PLOT_HEIGHT
from nephoscope.report.figures.results import Results
from nephoscope.report.figures.spec import Rows, Spec, coloured, data, finished, shaped, tip, upwards
from nephoscope.report.parts import Book, Figure
from nephoscope.report.tables.statistics import figure_table

MIN_REPLICATES = 3
"""With fewer, a coefficient of variation means next to nothing."""


def consistency(book: Book, results: Results) -> Figure | None:
    """A sign for each configuration: memory per vCPU, and the spread of its replicates; None for one size of memory."""
    known, metric = book.lookup.described, results.metric
    found = [
        one
        for one in results.plain
        if one.cv_percent is not None
        and one.n >= MIN_REPLICATES
        and one.configuration in known
        and known[one.configuration].memory_gib_per_vcpu is not None
    ]
    rows = [_point(book, one) for one in found]
    if len({round(point["memory"], 1) for point in rows}) < 2:
        return None
    title = metric_title(metric)
    scale = people.scale_for(metric.unit, [one.compared.value for one in found])
    return book.figure(
        f"{results.about}: spread of {title} and memory per vCPU",
        "coefficient of variation in %, lower is more repeatable",
        "Each sign is one configuration: the standard deviation of its valid replicates as a percentage of their mean. "
        "The vertical axis starts at zero. The answers state, with an interval, whether the two are related.",
        [("", f"{title}: spread of {counted(len(rows), 'configuration')} over memory per vCPU",
          _chart(rows, book.lookup.configurations))],
        key=book.configuration_key({one.configuration for one in found}),
        table=figure_table(book, f"{results.about}: {title}", found, scale),
    )  # fmt: skip


def _point(book: Book, one: Statistic) -> dict[str, Any]:
    memory = book.lookup.described[one.configuration].memory_gib_per_vcpu or 0.0
    return {
        "configuration": one.configuration,
        "memory": memory,
        "cv": one.cv_percent,
        "memory_text": f"{memory:.2g} GiB per vCPU",
        "cv_text": people.percent(one.cv_percent),
        "n": one.n,
    }


def _chart(rows: Rows, palette: Sequence[str]) -> Spec:
    ends = [row["memory"] for row in rows]
    marks = [mark for mark in (0.5, 1, 2, 4, 8, 16, 32) if min(ends) * 0.7 <= mark <= max(ends) * 1.4]
    x = alt.X(
        "memory:Q",
        title="GiB of memory per vCPU, logarithmic axis",
        scale=alt.Scale(type="log", domain=[min(ends) * 0.8, max(ends) * 1.25], nice=False),
        axis=alt.Axis(values=marks, format="~g", grid=True),
    )
    base = alt.Chart(data("rows")).encode(
        x=x,
        y=upwards("cv", "coefficient of variation, %", alt.Scale(zero=True, nice=True)),
        color=coloured(palette),
        shape=shaped(palette),
        tooltip=tip("configuration", "memory_text", "cv_text", "n"),
    )
    return finished(alt.layer(base.mark_point(filled=True, size=60, opacity=0.6)), PLOT_HEIGHT + 60, rows=rows)
