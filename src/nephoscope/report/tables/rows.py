"""`table_of`: rows of one model as a table. Its columns are the model's fields.

A field's title and description are those of its declaration, its format follows from the unit that ends its name. What
is equal in all rows stands once below the table; rows of one metric stand below its title and unit.
"""

import inspect
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from nephoscope.analysis.lookup import grouped
from nephoscope.insights.names import metric_title
from nephoscope.model import numbers as people
from nephoscope.model.frozen import Frozen
from nephoscope.model.quantities import LowerBound
from nephoscope.model.records import Direction
from nephoscope.model.rows import Comparison, ComparisonVerdict, LowerBoundRow, Statistic, TrialRow
from nephoscope.model.words import NOT_DECIDED, counted, scope_name
from nephoscope.model.written import Scope
from nephoscope.report.parts import (
    Book,
    Cell,
    Column,
    Link,
    Row,
    Table,
    evidence_cell,
    rank_cell,
    state_badge,
    trial_cell,
    trial_links,
    verdict_badge,
)
from nephoscope.report.wording import ENOUGH, direction_text, text_of_bound, unit_text, view_text

CAPTIONS: Mapping[str, str] = {
    "BenchmarkRow": "Benchmarks",
    "BestRow": "The best, or those that may be",
    "BoundRow": "What limited the database machines",
    "CheckRow": "Checks, and what each rejected",
    "ClaimRow": "Claims",
    "CommandRow": "Commands",
    "Comparison": "Pairs",
    "ContrastRow": "Effects of a single difference",
    "CostRow": "Costs of a month",
    "DeliveredRow": "Medians with disturbed trials and without them",
    "ErrorRow": "Errors",
    "FaultRow": "Faults",
    "FamilyComparison": "Families of machine types",
    "GateRow": "Medians that the checks changed",
    "GrowthRow": "Growth with the number of machines",
    "Insight": "Sentences and their trials",
    "LowerBoundRow": "Values that are known only to be larger",
    "Metric": "Metrics",
    "PassRow": "Levels of each search",
    "PlanWarning": "Warnings before the start",
    "RankRow": "Ranks, as far as they are certain",
    "Statistic": "Levels and medians",
    "StealRow": "CPU time that the hypervisor withheld",
    "TransferRow": "Transfer between machines",
    "TrialRow": "Trials",
    "WithinRow": "Values within trials",
}
"""Model -> what its table is called; others by the first sentence of their docstring."""
MAX_ROWS = 600
"""The most rows of one table; the others are in its CSV file."""
OF_A_METRIC = ("benchmark", "metric", "per_cpu", "view", "basis")
"""Fields that say together which numbers stand on one scale."""
FORMS: Mapping[str, Callable[[people.Number], people.Form]] = {
    "ratio": people.ratio_form,
    "usd_per_unit": people.money_form,
    "share": people.share_form,
    "exponent": lambda number: people.quantity_form(number, ""),
}
ESTIMATES = (*FORMS, "median")
"""What `low` and `high` are the ends of: the first of these that a model has."""
IN_ITS_UNIT = frozenset({"level", "median", "low", "high", "minimum", "maximum", "mad", "level_low", "level_high"}) | {
    *("median_before", "median_after", "quiet_median", "quiet_low", "quiet_high", "median_with_rejected", "medians"),
    *("mean", "deviation"),
}
"""Numbers in the unit that the row names."""
SCALED = IN_ITS_UNIT - {"low", "high", "mad", "level_low", "level_high", "deviation"}
FORMATS: tuple[tuple[str, Callable[[Any], str]], ...] = (
    ("bytes_per_s", lambda value: f"{people.byte_size(value)}/s"),
    ("bytes", people.byte_size),
    ("unix_ms", people.moment),
    ("_s", people.duration),
    ("percent", people.percent),
    ("share", people.share),
    ("alpha", people.share),
    ("coverage", people.coverage),
    ("p_value", people.probability),
    ("p_adjusted", people.probability),
    ("ratio", people.ratio),
    ("rate_usd", people.list_price),
    ("usd", people.money),
    ("usd_per_hour", people.list_price),
    ("usd_per_unit", people.money),
)
"""Ending of a field's name -> how its numbers are written."""
WORDS: Mapping[str, str] = {
    **{word: word for word in ("n", "p")},
    "cpu": "CPU",
    "cpus": "CPUs",
    "vcpus": "vCPUs",
    "cv": "CV",
    "mad": "MAD",
    "sqlstate": "SQLSTATE",
    "usd": "$",
}
NAMES = frozenset({"configuration", "left", "right", "benchmark"})
"""Fields of short names, which no line break tears."""
UNITS = ("_bytes_per_s", "_bytes", "_unix_ms", "_s", "_percent", "_share")
"""Endings that a title leaves out, as the numbers have their unit."""
_NUMBER = re.compile(r"\b(?:int|float)\b")
"""In the type of a field whose values are numbers."""
DRAWN = ("configuration", "n", "level", "median", "low", "coverage", "margin_percent", "minimum", "maximum", "trials")
"""What the table below a figure has of the statistics that it draws."""
Make = Callable[[Any, people.Scale], Cell]


def table_of(
    book: Book,
    rows: Sequence[Frozen],
    *,
    columns: Sequence[str] = (),
    by: Sequence[str] = (),
    of: str = "",
    anchor: str | None = None,
    row_anchor: Callable[[Any], str] | None = None,
    file: str = "",
    most: int = MAX_ROWS,
    more: int = 0,
) -> Table | None:
    """A table of these rows, which are of one model; None without rows.

    Args:
        book: of the page.
        rows: in the order of their table; those of a metric are moved together.
        columns: fields and properties to show; empty: all fields of the model.
        by: fields whose values head a group of rows; empty: the question or metric, where the model has one.
        of: what the table is about, before its heading.
        anchor: of the table.
        row_anchor: of each row.
        file: the CSV file that has what is left out here.
        most: rows to show.
        more: rows that were left out before.
    """
    if not rows:
        return None
    model = type(rows[0])
    by = by or _grouping(model)
    makes = _makes(book, model, [name for name in columns or model.model_fields if name not in by])
    groups = grouped(rows, lambda row: tuple(getattr(row, name) for name in by))
    order = sorted(groups, key=lambda key: _place(book, groups[key][0])) if "metric" in by else list(groups)
    body: list[Row] = []
    left = most
    for key in order:
        members, scale = groups[key], _scale(groups[key])
        if by and left:
            body.append(_heading(book, members[0], by, scale))
        for row in members[:left]:
            cells = tuple(make(row, scale) for _, make in makes)
            body.append(Row(cells, anchor=row_anchor(row) if row_anchor else None))
        left -= min(left, len(members))
    more += len(rows) - sum(row.group is None for row in body)
    rest = f"{counted(more, 'more row')}: {file}" if more else ""
    heading = CAPTIONS.get(model.__name__) or (inspect.getdoc(model) or model.__name__).partition(".")[0]
    caption = f"{of}: {heading[:1].lower()}{heading[1:]}" if of else heading
    return _without_constants(
        Table(
            caption,
            tuple(c for c, _ in makes),
            tuple(body),
            anchor,
            rest,
            compact=True,
        )
    )


def data_of_figure(book: Book, rows: Sequence[Statistic], of: str) -> Table | None:
    """The statistics that a figure draws."""
    return table_of(book, rows, columns=DRAWN, of=of, file="statistics.csv")


def _grouping(model: type[Frozen]) -> tuple[str, ...]:
    """The question, or what has a scale of its own."""
    fields = model.model_fields.keys()
    if "question" in fields:
        return ("question",)
    scaled = fields & SCALED or issubclass(model, LowerBoundRow)
    return tuple(name for name in OF_A_METRIC if name in fields) if scaled else ()


def _without_constants(table: Table) -> Table:
    """Columns of text that is equal in all rows move to the note; those without any text go."""
    bodies = [row for row in table.rows if row.group is None]
    dropped: dict[int, str] = {}
    for place, column in list(enumerate(table.columns))[1:]:
        first, *others = (row.cells[place] for row in bodies)
        plain = first == Cell(first.text, note=first.note, tone=first.tone, title=first.title, code=first.code)
        empty = first.text in {"", people.MISSING} and plain
        if all(cell == first for cell in others) and plain and (others or empty):
            dropped[place] = "" if empty else f"{column.title}: {first.text}"
    rows = tuple(
        Row(
            tuple(cell for place, cell in enumerate(row.cells) if place not in dropped),
            row.anchor,
            row.group,
            row.group_note,
        )
        for row in table.rows
    )
    columns = tuple(column for place, column in enumerate(table.columns) if place not in dropped)
    note = " · ".join(filter(None, (*dropped.values(), table.note)))
    return Table(table.caption, columns, rows, table.anchor, note, compact=True)


def _makes(book: Book, model: type[Frozen], names: Sequence[str]) -> list[tuple[Column, Make]]:
    """Each column with what makes its cells."""
    has_metric = "metric" in names
    elsewhere = {"subject", *(name.removesuffix("low") + "high" for name in names if name.endswith("low"))}
    elsewhere |= {"unit", "direction"} if "metric" in model.model_fields else set()
    made: list[tuple[Column, Make]] = []
    for name in names:
        if name in elsewhere:
            continue
        if has_metric and name in OF_A_METRIC and name != "metric":
            continue
        made.append(_column(book, model, name))
        if name == "configuration":
            made += [_label(book, label) for label in book.lookup.labels]
            made += [_rank(book)] if issubclass(model, Statistic) else []
    if issubclass(model, Comparison):
        made.append(
            (Column("Trials", numeric=True), lambda row, _: _trials(book, row, book.lookup.trials_of_pair(row)))
        )
    return made


def _column(book: Book, model: type[Frozen], name: str) -> tuple[Column, Make]:
    field = model.model_fields.get(name)
    described = field.description if field else inspect.getdoc(getattr(model, name))
    title = (field.title if field else None) or title_of(name)
    numeric = name == "trials" or (field is not None and _NUMBER.search(str(field.annotation)) is not None)
    if name.endswith("low") and name.removesuffix("low") + "high" in model.model_fields:
        title = title_of(name.removesuffix("low") + "interval")
        return Column(title, numeric=True, hint=described or ""), lambda row, scale: _interval(row, name, scale)
    return Column(title, numeric=numeric, hint=described or ""), lambda row, scale: _cell(book, row, name, scale)


def title_of(name: str) -> str:
    """'CPU busy' of cpu_busy_share, 'p adjusted' of p_adjusted."""
    bare = next((name.removesuffix(unit) for unit in UNITS if name.endswith(unit)), name)
    words = " ".join(WORDS.get(word, word) for word in bare.split("_"))
    return words if words.split(" ")[0] in WORDS.values() else words[:1].upper() + words[1:]


def _label(book: Book, label: str) -> tuple[Column, Make]:
    described = book.lookup.described

    def text(row: Any, _: people.Scale) -> Cell:
        configuration = described.get(row.configuration)
        return Cell((configuration.labels.get(label) if configuration else None) or people.MISSING)

    return Column(f"Label: {label}", hint="As the study gives it."), text


def _rank(book: Book) -> tuple[Column, Make]:
    def cell(row: Statistic, _: people.Scale) -> Cell:
        board = (row.benchmark, row.metric, "per CPU" if row.per_cpu else "plain", None)
        return rank_cell(book.lookup.ranks.get(board, {}).get(row.configuration))

    return Column("Rank", numeric=True, hint="As far as it is certain; see ranks.csv."), cell


def _about(book: Book, row: Any, names: Iterable[str]) -> str:
    """'tpcc: New-Orders committed, per CPU'; what the row has of it."""
    benchmark, name = getattr(row, "benchmark", "") or "", getattr(row, "metric", "")
    metric = book.lookup.metrics.get((benchmark, name))
    title = metric_title(metric) if metric else name
    title += ", per CPU" if "per_cpu" in names and getattr(row, "per_cpu", False) else ""
    title += view_text(row.view, row.basis) if hasattr(row, "view") else ""
    return ": ".join(filter(None, (benchmark, title)))


def _trials(book: Book, row: Any, trials: Sequence[str]) -> Cell:
    names = [getattr(row, name) for name in ("question", "configuration", "left", "right") if hasattr(row, name)]
    about = " · ".join(filter(None, (*names, _about(book, row, OF_A_METRIC))))
    return evidence_cell(book, people.integer(len(trials)), trials, about or title_of(type(row).__name__))


SPECIAL: Mapping[str, Callable[[Book, Any, Any], Cell]] = {
    "trials": _trials,
    "outliers": lambda book, _, value: Cell(links=trial_links(value, book)),
    "set_aside": lambda book, _, value: Cell(links=trial_links(value, book)),
    "trial": lambda book, _, value: trial_cell(value, book),
    "metric": lambda book, row, _: Cell(_about(book, row, OF_A_METRIC), tone="name"),
    "argv": lambda _book, _row, value: Cell(shlex.join(value), code=True),
    "name": lambda _book, _row, value: Cell(value, code=True),
    "formula": lambda _book, _row, value: Cell(folded=value or ""),
    "reasons": lambda _book, _row, value: Cell(lines=tuple(value)),
}
"""Fields whose cells are more than text."""


def _cell(book: Book, row: Any, name: str, scale: people.Scale) -> Cell:
    value = getattr(row, name)
    if make := SPECIAL.get(name):
        return make(book, row, value)
    if name == "state" and isinstance(row, TrialRow):
        return Cell(badges=(state_badge(row),))
    if isinstance(value, ComparisonVerdict):
        return Cell(badges=(verdict_badge(value),))
    if isinstance(value, Mapping):
        return Cell(lines=tuple(f"{key}: {text_of(name, part, scale)}" for key, part in value.items()))
    doubtful = name == "coverage" and value is not None and value < ENOUGH
    tone = "warn" if doubtful else "name" if name in NAMES else ""
    return Cell(text_of(name, _with_ends(row, name), scale), tone=tone)


def _parts(name: str, value: Sequence[Any] | Mapping[str, Any], scale: people.Scale) -> list[str]:
    if isinstance(value, Mapping):
        return [f"{key} {text_of(key, part, scale)}" for key, part in value.items() if part is not None]
    return [text_of(name, part, scale) for part in value]


def text_of(name: str, value: Any, scale: people.Scale) -> str:
    """A field's value for a reader; numbers in the row's own unit by `scale`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | people.Between | LowerBound):
        return _number(name, value, scale)
    if isinstance(value, list | tuple | Mapping):
        return ", ".join(_parts(name, value, scale)) or people.MISSING
    if isinstance(value, Scope):
        return scope_name(value)
    if value in ("unresolved", "undecided"):
        return NOT_DECIDED
    return people.MISSING if value is None or value == "" else str(value)


def _number(name: str, value: people.Number | LowerBound, scale: people.Scale) -> str:
    if isinstance(value, LowerBound):
        return text_of_bound(value, scale)
    if name in IN_ITS_UNIT:
        return scale.number(value)
    write = next((write for ending, write in FORMATS if name.endswith(ending)), None)
    if write:
        return write(value)
    return people.integer(value) if isinstance(value, int) else people.quantity(value, "")


def _interval(row: Any, name: str, scale: people.Scale) -> Cell:
    """From the end with this name to the other one, as the estimate between them is written."""
    low, high = getattr(row, name), getattr(row, name.removesuffix("low") + "high")
    if low is None or high is None:
        return Cell(people.MISSING)
    if getattr(row, "n", 0) == 1:
        return Cell("one value", tone="warn")
    name_of_value = _value_of(name, row)
    between = people.Between(getattr(row, name_of_value), low, high)
    if name_of_value in IN_ITS_UNIT:
        return Cell(scale.ends(between))
    return Cell(people.dashed(between, FORMS[name_of_value](between)))


def _with_ends(row: Any, name: str) -> Any:
    """The field's value, with its interval where the row has one."""
    value = getattr(row, name)
    if not isinstance(value, float):
        return value
    for low in ("low", f"{name}_low", "quiet_low"):
        if getattr(row, low, None) is not None and _value_of(low, row) == name:
            return people.Between(value, getattr(row, low), getattr(row, f"{low.removesuffix('low')}high"))
    return value


def _value_of(low: str, row: Any) -> str:
    """The field whose interval begins at the field `low`: 'level' of 'level_low', 'quiet_median' of 'quiet_low'."""
    prefix = low.removesuffix("low")
    named = (prefix.removesuffix("_"), *(f"{prefix}{field}" for field in ESTIMATES))
    return next(name for name in named if name and hasattr(row, name))


def _heading(book: Book, row: Any, by: Sequence[str], scale: people.Scale) -> Row:
    if "metric" not in by:
        return Row(group=Link(" · ".join(str(getattr(row, name)) for name in by) or people.MISSING, None))
    unit = unit_text(scale, per_cpu=getattr(row, "per_cpu", False)) if hasattr(row, "unit") else ""
    direction = getattr(row, "direction", None)
    better = direction_text(direction) if isinstance(direction, Direction) else ""
    return Row(group=Link(_about(book, row, by), None), group_note=", ".join(filter(None, (unit, better))))


def _place(book: Book, row: Any) -> tuple[int, bool, str, str]:
    """Benchmarks and metrics as declared, a benchmark's headline metrics first."""
    places = book.lookup.places_of_metrics
    return (
        places.get((row.benchmark, row.metric), len(places)),
        getattr(row, "per_cpu", False),
        getattr(row, "view", ""),
        getattr(row, "basis", None) or "",
    )


def _scale(rows: Sequence[Any]) -> people.Scale:
    """One scale for the rows of a metric."""
    unit = getattr(rows[0], "unit", None) or ""
    fields = type(rows[0]).model_fields
    values = [
        value
        for row in rows
        for name in fields
        if name in SCALED
        for found in [getattr(row, name)]
        for value in (found if isinstance(found, list) else [found])
        if isinstance(value, float | int)
    ] + [row.value.written for row in rows if isinstance(row, LowerBoundRow)]
    return people.scale_for(unit, values)
