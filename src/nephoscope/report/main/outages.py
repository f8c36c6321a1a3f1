"""The chapter on faults: what clients saw, second by second around them, and a row for each kind and configuration."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import floor
from typing import Any

import altair as alt

from nephoscope.analysis.fault_courses import FaultCourseRow
from nephoscope.analysis.faults import FaultQuantityRow, FaultRow
from nephoscope.analysis.outage_costs import OutageCostRow
from nephoscope.model import numbers as people
from nephoscope.model.records import ERROR_CLASSES, ERRORS
from nephoscope.model.rows import BenchmarkRow
from nephoscope.report.figures.row_charts import FEW_TICKS
from nephoscope.report.figures.spec import Rows, Spec, by_shape, data, finished, tip, upwards
from nephoscope.report.main import charts
from nephoscope.report.main.palette import Palette
from nephoscope.report.parts import Book, Cell, Column, Figure, KeyEntry, Row, Table, evidence_cell, filled

MAX_KINDS = 4
"""In the figure; a reader finds the others in the file."""
MAX_LINES = 5
SIGNS = 6
"""Of a line: colour alone tells nobody which one it is."""
ERRORS_SHORT: Mapping[str, str] = {"lost": "lost", "away": "away", "not_primary": "moved", "conflict": "conflict"}


def inflicts(row: BenchmarkRow) -> bool:
    """Whether the benchmark inflicts faults."""
    return "fault" in row.parameters


def courses(book: Book, rows: Sequence[BenchmarkRow], palette: Palette) -> Figure | None:
    """Throughput and response time around the faults of each kind; None without any."""
    drawn: list[tuple[str, str, Spec]] = []
    names: list[str] = []
    kinds = [row for row in rows if any(one.benchmark == row.benchmark for one in book.lookup[FaultCourseRow])]
    for row in kinds[:MAX_KINDS]:
        shown = _chosen(book, row)
        names += [name for name in shown if name not in names]
        drawn += _panels(book, row, shown, palette)
    if not drawn:
        return None
    more = f" {len(kinds) - MAX_KINDS} more kinds are in fault_courses.csv." if len(kinds) > MAX_KINDS else ""
    signs = zip(names, palette.signs(names), strict=True)
    return book.figure(
        "What clients saw around a fault",
        "Seconds of all faults laid over each other, from the moment before each was applied; shaded: until undone.",
        "Lines: medians over the faults; bands: the lowest and highest of them. A response time is that of what ended "
        f"in the second, from when it was due.{more}",
        drawn,
        key=[KeyEntry(glyph, palette.colour(name), palette.called[name]) for name, (_, glyph) in signs],
        columns=2,
        apart=True,
    )


def _chosen(book: Book, row: BenchmarkRow) -> list[str]:
    """Those with the shortest and the longest outages, in this order, where they are too many for lines."""
    found = sorted(
        (one for one in book.lookup[FaultRow] if one.benchmark == row.benchmark),
        key=lambda one: one.longest_outage_s or one.longest_outage_low_s,
    )
    names = [one.configuration for one in found]
    return names if len(names) <= MAX_LINES else [*names[: MAX_LINES - 1], names[-1]]


def _panels(book: Book, row: BenchmarkRow, names: Sequence[str], palette: Palette) -> list[tuple[str, str, Spec]]:
    """Throughput, and response time where it is known."""
    steps = [
        one for one in book.lookup[FaultCourseRow] if one.benchmark == row.benchmark and one.configuration in names
    ]
    lasted = [
        one.lasted_s
        for one in book.lookup[FaultRow]
        if one.benchmark == row.benchmark and one.configuration in names and one.lasted_s is not None
    ]
    shaded: Rows = [{"s": 0.0, "end": max(lasted)}] if lasted else []
    rates = people.scale_for("1/s", [one.operations_per_s for one in steps])
    known = [one.response_p95_s for one in steps if one.response_p95_s is not None]
    signs = {palette.called[name]: shape for name, (shape, _) in zip(names, palette.signs(names), strict=True)}
    found = [
        (
            f"{row.benchmark}: throughput",
            _spoken(book, row, names, palette),
            _chart(
                _points(
                    palette,
                    [(one, one.operations_per_s, one.lowest_per_s, one.highest_per_s) for one in steps],
                    rates,
                    "1/s",
                ),
                shaded,
                f"operations, {rates.unit}",
                palette,
                signs,
                log=False,
            ),
        )
    ]
    if known:
        times = people.scale_for("s", known)
        values = [
            (one, one.response_p95_s, one.response_p95_s, one.slowest_p95_s or one.response_p95_s)
            for one in steps
            if one.response_p95_s is not None
        ]
        spec = _chart(
            _points(palette, values, times, "s"), shaded, f"{times.unit}, logarithmic", palette, signs, log=True
        )
        found.append((f"{row.benchmark}: response time, p95", f"p95 of the response time in {row.benchmark}.", spec))
    return found


def _spoken(book: Book, row: BenchmarkRow, names: Sequence[str], palette: Palette) -> str:
    longest = {
        one.configuration: one.longest_outage_s for one in book.lookup[FaultRow] if one.benchmark == row.benchmark
    }
    said = "; ".join(f"{palette.called[name]} {people.quantity(longest[name], 's')}" for name in names)
    return f"Operations per second around a fault of {row.benchmark}. Longest outages: {said}."


def _points(
    palette: Palette,
    values: Sequence[tuple[FaultCourseRow, float, float, float]],
    scale: people.Scale,
    unit: str,
) -> Rows:
    """A line ends where a step has no value, and another begins behind it."""
    found, piece = list[dict[str, Any]](), 0
    before: FaultCourseRow | None = None
    for one, value, low, high in values:
        follows = before is not None and before.configuration == one.configuration
        piece += not (follows and before is not None and one.at_s - before.at_s < 1.5 * one.step_s)
        before = one
        found.append(
            {
                "configuration": palette.called[one.configuration],
                "shade": palette.of[one.configuration],
                "at": round(one.at_s, 3),
                "value": float(f"{scale.value(value):.5g}"),
                "low": float(f"{scale.value(low):.5g}"),
                "high": float(f"{scale.value(high):.5g}"),
                "piece": piece,
                "at_text": f"{one.at_s:+.3g} s",
                "text": people.quantity(value, unit),
            }
        )
    return found


def _chart(rows: Rows, shaded: Rows, title: str, palette: Palette, signs: Mapping[str, str], *, log: bool) -> Spec:
    scale = alt.Scale(type="log", nice=False) if log else alt.Scale(zero=True, nice=True)
    x = alt.X("at:Q", title="seconds since the fault began", axis=alt.Axis(grid=False, tickCount=FEW_TICKS))
    base = alt.Chart(data("rows")).encode(x=x, color=palette.encoding, detail="piece:N")
    marked = [
        row
        for place, name in enumerate(signs)
        for row in _some([one for one in rows if one["configuration"] == name], place, len(signs))
    ]
    layers = [
        *(
            [
                alt.Chart(data("shaded"))
                .mark_rect(color="var(--band)", opacity=0.5)
                .encode(x=alt.X("s:Q"), x2=alt.X2("end:Q"))
            ]
            if shaded
            else []
        ),
        base.mark_area(opacity=0.15).encode(y=alt.Y("low:Q", scale=scale), y2=alt.Y2("high:Q")),
        base.mark_line(strokeWidth=1.6).encode(
            y=upwards("value", title, scale), tooltip=tip("configuration", "at_text", "text")
        ),
        alt.Chart(data("marked"))
        .encode(
            x=alt.X("at:Q"),
            y=alt.Y("value:Q", scale=scale),
            color=palette.encoding,
            shape=by_shape("configuration", list(signs), list(signs.values())),
            tooltip=tip("configuration", "at_text", "text"),
        )
        .mark_point(filled=True, size=40, opacity=1),
    ]
    return finished(layers, charts.LINES_HEIGHT, rows=rows, marked=marked, shaded=shaded)


def _some(rows: Rows, place: int, of: int) -> Rows:
    """A few, at other places of the axis for each line."""
    every = max(1, len(rows) // SIGNS)
    return list(rows[(place * every) // of :: every])


def faults_tables(book: Book, rows: Sequence[BenchmarkRow], palette: Palette) -> tuple[Table, Table]:
    """How long clients waited; what was done less, failed and was lost. Rows are kinds of faults and configurations."""
    names = [row.benchmark for row in rows]
    found = sorted(
        (one for one in book.lookup[FaultRow] if one.benchmark in names),
        key=lambda one: (names.index(one.benchmark), one.longest_outage_s or one.longest_outage_low_s),
    )
    quantities = {(one.benchmark, one.configuration, one.metric): one for one in book.lookup[FaultQuantityRow]}

    def made(caption: str, shown: _Columns, last: Mapping[Column, Callable[[FaultRow], Cell]]) -> Table:
        body, known = [], list[FaultQuantityRow]()
        for one in found:
            of = [quantities.get((one.benchmark, one.configuration, metric)) for metric in shown]
            known += [quantity for quantity in of if quantity is not None]
            about = f"faults of {one.benchmark} on {one.configuration}"
            cells = (
                Cell(one.benchmark, note=_what(one), tone="name"),
                Cell(palette.called[one.configuration], tone="name"),
                evidence_cell(book, f"{one.faults:,}", one.trials, about),
                *(_cell(quantity, write) for quantity, (_, _, write) in zip(of, shown.values(), strict=True)),
                *(write(one) for write in last.values()),
            )
            body.append(Row(cells))
        columns = (
            Column("Fault"),
            Column("Configuration"),
            Column("n", numeric=True, hint="Faults of valid trials."),
            *(
                Column(title, numeric=True, hint=hint, is_aside=metric in _ASIDE)
                for metric, (title, hint, _) in shown.items()
            ),
            *last,
        )
        return Table(caption, columns, tuple(body), note=_note(found, known), compact=True)

    errors = Column("Errors", hint="Retried or failed operations of a fault by class: " + _classes())
    lost = Column("Writes lost", numeric=True, hint="Acknowledged, and gone at the end of the trial.")
    ends: Mapping[Column, Callable[[FaultRow], Cell]] = {
        errors: lambda one: Cell(_errors(one, quantities)),
        lost: lambda one: Cell(f"{one.writes_lost:,}", note=_loss(one)),
    }
    return made("How long clients waited", _WAITED, {}), made("What was done less, failed and was lost", _DONE, ends)


def _note(found: Sequence[FaultRow], known: Sequence[FaultQuantityRow]) -> str:
    """What the numbers of a table are."""
    kinds = {one.interval_of for one in found}
    least = f"{floor(100 * min((one.coverage for one in known), default=0))} %"
    said = {
        "medians": f"Medians over the faults, with intervals of order statistics below them, of {least} or more.",
        "runs": "Runs with their faults are the replicates.",
        "machines": "Sets of machines with their runs are the replicates.",
        "outages": "Of fewer than six runs, the interval is that of their faults: it holds for these runs alone.",
    }
    return " ".join(text for of, text in said.items() if of in kinds or (of == "medians" and known))


def _seconds(number: people.Number) -> people.Form:
    """In seconds, however few: they are compared with those above and below."""
    return replace(people.quantity_form(number, "1"), after=" s")


Write = Callable[[people.Number], people.Form]
_Columns = Mapping[str, tuple[str, str, Write]]
"""Metric -> its column: title, explanation, and how it is written."""
_WAITED: _Columns = {
    "longest_outage": ("Longest outage", "The longest time without success of any client that had work.", _seconds),
    "clients_hit_share": ("Clients", "Without success for over `outage_limit_s`, 1 s by default.", people.share_form),
    "time_at_zero": ("At zero", "Time in which nothing was completed.", _seconds),
    "time_slow": ("Below 80 %", "Seconds with less than 80 % of the usual rate.", _seconds),
    "time_to_usual_rate": ("95 % again", "Until a second had 95 % of the usual rate.", _seconds),
    "time_to_complete_copies": ("Copies complete", "Until all servers were up with all data.", _seconds),
}
_DONE: _Columns = {
    "throughput_during_share": ("During", "Throughput while the fault lasted, to the usual one.", people.share_form),
    "throughput_after_share": ("After", "Throughput after it, with what had to wait.", people.share_form),
    "response_p99_ratio": ("p99", "Response time until the rate was usual again, to before.", people.ratio_form),
}
_ASIDE = frozenset({"clients_hit_share", "time_at_zero", "time_slow", *_DONE})
"""Left out on a telephone."""


def _cell(row: FaultQuantityRow | None, write: Write) -> Cell:
    """The median, and its interval below it."""
    if row is None:
        return Cell("not known", tone="quiet")
    if row.median is None:
        return Cell(f"over {write(row.low).text(row.low)}", note="mostly not while it was watched")
    between = people.Between(row.median, row.low, row.median if row.high is None else row.high)
    form = write(between)
    ends = f"over {form.text(row.low)}" if row.high is None else people.dashed(between, form)
    return Cell(form.text(row.median), note=ends if row.low != row.high else "")


def _what(row: FaultRow) -> str:
    """'kill of a primary'; without the kind, where that is the benchmark's name."""
    victim = "any server" if row.victim == "any" else f"a {row.victim}"
    return f"of {victim}" if row.fault == row.benchmark else f"{row.fault} of {victim}"


def _errors(row: FaultRow, quantities: Mapping[tuple[str, str, str], FaultQuantityRow]) -> str:
    """'8 lost, 3 moved'; medians that are not 0."""
    said = []
    for name in ERROR_CLASSES:
        one = quantities.get((row.benchmark, row.configuration, f"{ERRORS}{name}"))
        if one is not None and one.median:
            said.append(f"{people.integer(one.median)} {ERRORS_SHORT.get(name, name)}")
    return ", ".join(said) or "none"


def _classes() -> str:
    return "; ".join(f"{ERRORS_SHORT.get(name, name)}: {what}" for name, what in ERROR_CLASSES.items()) + "."


def _loss(row: FaultRow) -> str:
    if row.losing_at_most_share is not None:
        return f"at most {people.share(row.losing_at_most_share)} of faults lose any"
    return f"of {row.writes_acknowledged:,}, in {row.trials_with_loss:,} of {len(row.trials):,} trials"


def costs_table(book: Book, rows: Sequence[BenchmarkRow], palette: Palette) -> Table | None:
    """What the dearer configurations cost more, and what their shorter outages save; None without prices."""
    names = [row.benchmark for row in rows]
    found = sorted(
        (one for one in book.lookup[OutageCostRow] if one.benchmark in names),
        key=lambda one: (names.index(one.benchmark), one.more_usd, one.configuration),
    )
    if not found:
        return None
    return filled(
        f"What shorter outages save, at {people.limit(found[0].faults_per_year)} faults a year of each kind",
        found,
        (Column("Fault"), lambda row: Cell(row.benchmark, tone="name")),
        (Column("Configuration"), lambda row: Cell(palette.called[row.configuration], tone="name")),
        (Column("Beside"), lambda row: Cell(palette.called[row.than], tone="name")),
        (Column("More a month", numeric=True), lambda row: people.money(row.more_usd)),
        (Column("Shorter by", numeric=True), _shorter),
        (Column("A year", numeric=True), lambda row: people.quantity(row.saved_s_per_year, "s")),
        (
            Column("Pays from", numeric=True, hint="What an hour of outage must cost; where it is surely shorter."),
            lambda row: people.money(row.pays_from_usd_per_hour),
        ),
        *(
            [(Column("Saves a month", numeric=True), lambda row: people.money(row.saved_usd))]
            if found[0].outage_usd_per_hour is not None
            else []
        ),
    )


def _shorter(row: OutageCostRow) -> Cell:
    high_s = row.saved_s if row.saved_high_s is None else row.saved_high_s
    between = people.Between(row.saved_s, row.saved_low_s, high_s)
    form = _seconds(between)
    return Cell(form.text(row.saved_s), note=people.dashed(between, form))
