"""Writes the gallery of the site: `python website/gallery.py FILE FOLDER...`, one list of what many reports measured.

A FOLDER is docs/gallery, with a folder for each contributed study (`bundle.zip` and `entry.toml`), or a report that
`website/examples.py` wrote.
Nothing is taken whose answers do not follow from its own measurements, and nothing that was simulated. Numbers stand in
one table only where one definition gave them: benchmark, version, parameters, metric, unit and what the clock measured.
"""

import json
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from urllib.parse import quote

from pydantic import Field

from nephoscope.analysis import published
from nephoscope.app.stages.verifying import verify_bundle
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.frozen import Frozen
from nephoscope.model.numbers import Between, Number, dashed, interval, money, quantity, quantity_form
from nephoscope.model.price_rows import CostRow
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow, ConfigurationRow, Statistic
from nephoscope.model.subjects import Subject
from nephoscope.model.text import line
from nephoscope.parsers.text import validate

ENTRY = "entry.toml"
_HINT = 'it needs `by = "who measured"`, and may have a `title`'
_WITHOUT_DATABASE = "none"
_CHOICES = ("workload", "database", "study")


@dataclass(frozen=True)
class Entry:
    """One study: what it is called, who measured it, and where on the site its report or its data are."""

    title: str
    by: str
    address: str
    date: str


@dataclass(frozen=True)
class Definition:
    """What two numbers must have in common to stand in one table."""

    title: str
    parameters: str
    metric: str
    unit: str
    direction: Direction
    clock: str
    uses: str
    version: int


@dataclass(frozen=True)
class Row:
    """One configuration's level of one metric, and what it cost on the day of its price."""

    entry: Entry
    machine: str
    configuration: str
    database: str
    value: float
    shown: str
    between: str
    """The ends of its interval; empty if it has none."""
    n: int
    month: str
    price_date: str


def main(file: Path, *studies: Path) -> None:
    """Writes the gallery, or ends with what is wrong with an entry.

    Raises:
        SystemExit: the numbers of an entry do not follow from its measurements.
        NephoscopeError: a bundle cannot be read.
    """
    tables: dict[Definition, list[Row]] = defaultdict(list)
    entries = []
    for folder in studies:
        bundle = published.bundle_at(folder)
        if bundle is None:
            raise SystemExit(f"{folder} has no {published.BUNDLE}")
        found = verify_bundle(bundle)
        if found.differences:
            raise SystemExit("\n".join([f"{bundle} is not taken:", *found.differences]))
        study = published.read(bundle)
        if study.plan.simulated:
            raise SystemExit(f"{bundle} is not taken: its numbers are simulated")
        entry = entry_of(folder, study)
        entries.append(entry)
        for definition, row in rows_of(study, entry):
            tables[definition].append(row)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page(entries, tables), encoding="utf-8")


def studies_in(folder: Path) -> list[Path]:
    """The contributed studies in it, or itself. Their names are strangers' texts, which no shell is to read."""
    return sorted(file.parent for file in folder.glob(f"*/{ENTRY}")) or [folder]


def entry_of(folder: Path, study: AnalysedStudy) -> Entry:
    """Of a contributed study, what its `entry.toml` says; of an example of this site, what its report does."""
    title = study.title or study.study
    if (folder / ENTRY).exists():
        said = _said(folder / ENTRY)
        address = f"gallery/{quote(folder.name)}/{published.BUNDLE}"
        return Entry(line(said.title or title), line(said.by), address, _day(study))
    by = study.source.source if study.source else "nephoscope"
    return Entry(title, by, f"reports/{folder.name}/index.html", _day(study))


class Said(Frozen):
    """An `entry.toml`: who measured, and what the study is called if not as it says itself."""

    by: str = Field(min_length=1, max_length=200)
    title: str | None = Field(default=None, min_length=1, max_length=200)


def _said(file: Path) -> Said:
    try:
        return validate(Said, tomllib.loads(file.read_text(encoding="utf-8")), str(file))
    except OutputUnreadable as error:
        raise SystemExit(f"{error}; {_HINT}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SystemExit(f"{file}: {error}; {_HINT}") from error


def _day(study: AnalysedStudy) -> str:
    if study.started_unix_ms is None:
        return study.publication.date or ""
    return datetime.fromtimestamp(study.started_unix_ms / 1000, UTC).date().isoformat()


def rows_of(study: AnalysedStudy, entry: Entry) -> Iterator[tuple[Definition, Row]]:
    """Each headline of each configuration; what is divided by CPUs is left to the report."""
    benchmarks = {row.benchmark: row for row in study.benchmarks}
    machines = {row.configuration: row for row in study[ConfigurationRow]}
    headlines = {
        (row.benchmark, metric.name): metric for row in study.benchmarks for metric in row.metrics if metric.headline
    }
    costs = _first_costs(study)
    databases = {
        row.intent.configuration_name: str(row.intent.configuration.get("database", {}).get("system") or "")
        for row in study.plan.trials
    }
    for row in study[Statistic]:
        metric = headlines.get((row.benchmark, row.metric))
        if metric is None or row.per_cpu:
            continue
        benchmark, cost = benchmarks[row.benchmark], costs.get(row.configuration)
        level = row.compared
        number = interval(level.value, level.low, level.high)
        yield (
            definition_of(benchmark, metric),
            Row(
                entry=entry,
                machine=_machine(machines.get(row.configuration)) or row.configuration,
                configuration=row.configuration,
                database=databases.get(row.configuration, "") if benchmark.subject is Subject.DATABASE else "",
                value=level.value,
                shown=quantity(number, row.unit),
                between=_between(number, row.unit),
                n=row.n,
                month=money(cost.month_usd) if cost and cost.month_usd else "",
                price_date=(cost.date or "") if cost and cost.month_usd else "",
            ),
        )


def _between(number: Number, unit: str) -> str:
    """The ends of its interval; empty: it has none."""
    if not isinstance(number, Between) or number.low == number.high:
        return ""
    return dashed(number, quantity_form(number, unit))


def _machine(row: ConfigurationRow | None) -> str:
    """Its type, or what is known of its CPUs; empty: nothing."""
    if row is None or row.machine_type:
        return row.machine_type or "" if row else ""
    return f"{row.cpu_model}, {row.vcpus} vCPUs" if row.cpu_model and row.vcpus else row.cpu_model or ""


def _first_costs(study: AnalysedStudy) -> Mapping[str, CostRow]:
    """Of each configuration on the basis that orders the report's tables, else on demand."""
    wanted = next(iter(study.bases), "on-demand")
    return {row.configuration: row for row in study[CostRow] if row.basis in {wanted, "stated"}}


def definition_of(benchmark: BenchmarkRow, metric: Metric) -> Definition:
    """What was measured, without the name that a study gives it."""
    parameters = {name: value for name, value in sorted(benchmark.parameters.items()) if value is not None}
    return Definition(
        title=benchmark.title,
        parameters=json.dumps(parameters, sort_keys=True),
        metric=metric.title,
        unit=metric.unit,
        direction=metric.direction,
        clock=metric.clock,
        uses=benchmark.uses,
        version=benchmark.version,
    )


def page(entries: Sequence[Entry], tables: Mapping[Definition, Sequence[Row]]) -> str:
    """HTML: the list of studies, then one explorer over the tables of all."""
    listed = "".join(
        f'<li><a href="{escape(entry.address)}">{escape(entry.title)}</a>, {escape(entry.by)}, {entry.date}</li>'
        for entry in entries
    )
    in_order = sorted(tables, key=lambda one: (one.title, one.metric, one.parameters, one.version, one.clock))
    parts = [_table(one, tables[one]) for one in in_order]
    rows = [row for many in tables.values() for row in many]
    choices = {
        "workload": sorted({one.title for one in tables}),
        "database": sorted({row.database or _WITHOUT_DATABASE for row in rows}),
        "study": [entry.title for entry in entries],
    }
    selects = "".join(_select(name, choices[name]) for name in _CHOICES)
    machine = '<label>machine <input type="search" name="machine" placeholder="n2-standard"></label>'
    every = '<label><input type="checkbox" name="every"> every row, not only the first ten</label>'
    return (
        f'<ul>{listed}</ul>\n<form class="gallery" onsubmit="return false">{selects}{machine}{every}</form>\n'
        + "".join(parts)
        + f"<style>{_STYLE}</style><script>{_SCRIPT}</script>\n"
    )


def _select(name: str, choices: Sequence[str]) -> str:
    options = "".join(f"<option>{escape(choice)}</option>" for choice in choices)
    return f'<label>{name} <select name="{name}"><option value="">all</option>{options}</select></label>'


def _table(definition: Definition, rows: Sequence[Row]) -> str:
    """The rows of one definition, by value. Nothing says which is better: that takes blocks, which the reports have."""
    ordered = sorted(rows, key=lambda row: row.value, reverse=definition.direction is Direction.HIGHER)
    longest = max(abs(row.value) for row in ordered)
    body = "".join(_line(row, longest) for row in ordered)
    better = "more is better" if definition.direction is Direction.HIGHER else "less is better"
    return (
        f'<section class="gallery" data-workload="{escape(definition.title)}"><h3>{escape(definition.title)}: '
        f'{escape(definition.metric)}</h3><p>{better}; <span class="shown">{len(rows)} rows</span></p>'
        f"<details><summary>what was measured</summary><p><code>{escape(definition.uses)}</code>, version "
        f"{definition.version}; {escape(definition.clock)}</p>"
        f"<p><code>{escape(definition.parameters)}</code></p></details>"
        '<div class="wide"><table><thead><tr><th>machine</th><th>database</th><th>measured</th><th></th><th>n</th>'
        f"<th>the configuration, a month</th><th>study</th></tr></thead><tbody>{body}</tbody></table></div></section>\n"
    )


def _line(row: Row, longest: float) -> str:
    name = "" if row.configuration == row.machine else f"<br><small>{escape(row.configuration)}</small>"
    between = f"<br><small>{escape(row.between)}</small>" if row.between else ""
    priced = f"{row.month}<br><small>{row.price_date}</small>" if row.month else ""
    width = 100 * abs(row.value) / longest if longest else 0
    return (
        f'<tr data-database="{escape(row.database or _WITHOUT_DATABASE)}" data-study="{escape(row.entry.title)}">'
        f"<td>{escape(row.machine)}{name}</td><td>{escape(row.database)}</td><td>{escape(row.shown)}{between}</td>"
        f'<td class="bar"><span style="width:{width:.1f}%"></span></td><td>{row.n}</td><td>{priced}</td>'
        f'<td><a href="{escape(row.entry.address)}">{escape(row.entry.title)}</a></td></tr>'
    )


_STYLE = (
    "form.gallery{display:flex;flex-wrap:wrap;gap:.8rem;margin:1rem 0}form.gallery select{max-width:16rem}"
    "form.gallery select,form.gallery input{border:1px solid;border-radius:.2rem;padding:.1rem .3rem}"
    "section.gallery .wide{overflow-x:auto}section.gallery code{overflow-wrap:anywhere}"
    "section.gallery table :is(th,td){min-width:0!important;padding:.5em .6em!important}"
    "section.gallery .bar{min-width:5rem!important}"
    "section.gallery .bar span{display:block;height:.7rem;background:#4051b5}"
)
_SCRIPT = """
const form = document.querySelector("form.gallery"), FIRST = 10;
const shows = () => {
  const value = name => form.elements[name].value, machine = value("machine").toLowerCase();
  for (const section of document.querySelectorAll("section.gallery")) {
    let fitting = 0;
    for (const row of section.querySelectorAll("tbody tr")) {
      const fits = (!value("workload") || section.dataset.workload === value("workload")) &&
        ["database", "study"].every(name => !value(name) || row.dataset[name] === value(name)) &&
        row.cells[0].textContent.toLowerCase().includes(machine);
      fitting += fits;
      row.hidden = !fits || (fitting > FIRST && !form.elements.every.checked);
    }
    section.hidden = !fitting;
    const shown = form.elements.every.checked ? fitting : Math.min(fitting, FIRST);
    section.querySelector(".shown").textContent = `${shown} of ${section.querySelectorAll("tbody tr").length} rows`;
  }
};
form.addEventListener("input", shows);
shows();
"""

if __name__ == "__main__":
    main(Path(sys.argv[1]), *(study for folder in sys.argv[2:] for study in studies_in(Path(folder))))
