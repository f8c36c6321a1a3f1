"""How often each level of a search passed: the share with its interval, for rates and for warehouses."""

from typing import Any

import altair as alt

from nephoscope.model import numbers as people
from nephoscope.model.rows import BenchmarkRow, PassRow
from nephoscope.model.words import counted
from nephoscope.report.figures import theme
from nephoscope.report.figures.spec import Rows, Spec, by_counting, data, finished, tip, upwards
from nephoscope.report.parts import Book, Cell, Column, Figure, Link, Row, Table, trial_cell, validity_key
from nephoscope.report.wording import unit_text

_HEIGHT = 170


def pass_figures(book: Book, row: BenchmarkRow) -> list[Figure]:
    """One figure; empty for a benchmark without a search."""
    mine = [one for one in book.lookup[PassRow] if one.benchmark == row.benchmark]
    if not mine:
        return []
    by_name = {name: [one for one in mine if one.configuration == name] for name in book.lookup.configurations}
    scale = people.scale_for(mine[0].unit, [one.level for one in mine])
    drawn = []
    for name, many in by_name.items():
        if many:
            colour = theme.colour(book.lookup.configurations.index(name), len(book.lookup.configurations))
            spoken = f"Pass probability of {counted(len(many), 'level')} of {name}."
            drawn.append((name, spoken, _chart(many, colour, scale)))
    figure = book.figure(
        f"{row.benchmark}: pass probability of each level",
        "share of measurements at a level that passed, %",
        "Each sign is one level of one search; the line through it is the 95 % Clopper\N{EN DASH}Pearson interval, "
        "which assumes that the measurements at a level are independent, although the search chose its levels by "
        "earlier results. Measurements with the larger client, and those set aside because of stolen CPU time, are "
        "left out.",
        drawn,
        key=validity_key((one.counts for one in mine), "a valid trial"),
        table=_table(book, row, by_name, scale),
        columns=min(2, len(drawn)),
    )
    return [figure]


def _chart(many: list[PassRow], colour: str, scale: people.Scale) -> Spec:
    rows: list[dict[str, Any]] = [
        {
            "level": scale.value(one.level),
            "share": 100 * one.share,
            "low": 100 * one.low,
            "high": 100 * one.high,
            "text": _passed(one),
            "counts": one.counts,
            "trial": one.trial,
        }
        for one in many
    ]
    return finished(alt.layer(*_layers(rows, colour, unit_text(scale))), _HEIGHT, levels=rows)


def _layers(rows: Rows, colour: str, unit: str) -> list[alt.Chart]:
    base = alt.Chart(data("levels")).encode(
        x=alt.X("level:Q", title=f"level, {unit}", scale=alt.Scale(zero=True), axis=alt.Axis(grid=False)),
        tooltip=tip("level:Q", "text", "trial"),
    )
    share = base.encode(y=upwards("share", "%", alt.Scale(domain=[0, 100])))
    signs = [share.mark_point(filled=filled, size=55, color=colour) for filled in (True, False)]
    low = alt.Y("low:Q", title="%", axis=alt.Axis(**theme.TITLE_ABOVE))
    interval = base.mark_rule(color="var(--band-edge)").encode(y=low, y2="high:Q")
    return [interval, *by_counting(rows, *signs)]


def _table(book: Book, row: BenchmarkRow, by_name: dict[str, list[PassRow]], scale: people.Scale) -> Table:
    columns = (
        Column("Trial"),
        Column(f"Level, {unit_text(scale)}", numeric=True),
        Column("Passed", numeric=True, hint="Of the measurements at this level."),
        Column("Confirmations", numeric=True, hint="Measurements whose purpose was to confirm the level."),
        Column("Pass probability", numeric=True),
        Column("95 % interval", numeric=True, hint="Clopper\N{EN DASH}Pearson: its coverage is at least 95 %."),
    )
    body: list[Row] = []
    for name, many in by_name.items():
        if many:
            body.append(Row(group=Link(name, "")))
            body += [_row(book, one, scale) for one in many]
    return Table(f"{row.benchmark}: levels", columns, tuple(body), compact=True)


def _row(book: Book, one: PassRow, scale: people.Scale) -> Row:
    return Row(
        (
            trial_cell(one.trial, book),
            Cell(scale.number(one.level)),
            Cell(_passed(one)),
            Cell(people.integer(one.confirmations)),
            Cell(people.share(one.share)),
            Cell(_interval(one)),
        )
    )


def _passed(one: PassRow) -> str:
    return f"{one.passed} of {one.points}"


def _interval(row: PassRow) -> str:
    passed = people.Between(row.share, row.low, row.high)
    return people.ends(passed, people.share_form(passed))
