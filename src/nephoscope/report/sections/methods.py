"""How the numbers were obtained: benchmarks, clocks, versions, settings, statistics, and how to repeat the study."""

import json
from dataclasses import dataclass
from typing import Any

from nephoscope.report.lookup import headlines, unique
from nephoscope.report.parts import Book, Cell, Column, Link, Row, Table
from nephoscope.report.sections.trials import commands_table
from nephoscope.report.wording import tie_text

NO_CLOCK = "not stated"


@dataclass(frozen=True)
class MethodsSection:
    """What the template prints about methods."""

    commands: Table | None
    benchmarks: Table | None
    clocks: Table | None
    versions: Table | None
    settings: Table | None
    tie: str
    """The ratios that count as a tie."""
    reproduce: str


def methods_section(book: Book) -> MethodsSection:
    """All tables of the methods."""
    study = book.lookup.study
    return MethodsSection(
        commands=commands_table(book),
        benchmarks=_benchmarks(book),
        clocks=_clocks(book),
        versions=_versions(book),
        settings=_settings(book),
        tie=tie_text(study.equivalence_margin_percent),
        reproduce="\n".join(
            (
                f"nephoscope --version             # this report: {study.nephoscope_version}",
                "nephoscope plan study.toml      # the same order, from the same seed",
                "nephoscope run study.toml",
                f"nephoscope report results/{study.study}",
            )
        ),
    )


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _benchmarks(book: Book) -> Table | None:
    rows = []
    for row in book.lookup.study.benchmarks:
        uses = f"{row.uses}, version {row.version}"
        rows.append(Row(group=Link(row.benchmark, ""), group_note=f"{row.title} · {uses}"))
        rows += [Row((Cell(name, code=True), Cell(_plain(value), code=True))) for name, value in row.parameters.items()]
    columns = (Column("Parameter"), Column("Value"))
    return Table("Benchmarks and their parameters", columns, tuple(rows), compact=True) if rows else None


def _clocks(book: Book) -> Table | None:
    rows = []
    for row in book.lookup.study.benchmarks:
        leading = headlines(row)
        rows.append(Row(group=Link(row.benchmark, "")))
        rows += [
            Row(
                (
                    Cell(metric.title or metric.name, note="headline" if metric in leading else ""),
                    Cell(metric.name, code=True),
                    Cell(metric.unit),
                    Cell(metric.direction.value),
                    Cell(metric.clock or NO_CLOCK, tone="" if metric.clock else "quiet"),
                )
            )
            for metric in row.metrics
        ]
    columns = (
        Column("Metric"),
        Column("Name in the files"),
        Column("Unit"),
        Column("Better"),
        Column("What the clock measures"),
    )
    return Table("Metrics and their clocks", columns, tuple(rows), compact=True) if rows else None


def _versions(book: Book) -> Table | None:
    versions = {"nephoscope": book.lookup.study.nephoscope_version, **book.lookup.study.tool_versions}
    rows = tuple(Row((Cell(name), Cell(version, code=True))) for name, version in sorted(versions.items()))
    return Table("Versions", (Column("Tool"), Column("Version")), rows, compact=True)


def _settings(book: Book) -> Table | None:
    """One column per configuration, settings that differ first; configurations with equal settings share a column."""
    settings = book.lookup.study.database_settings
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, found in settings.items():
        alike.setdefault(tuple(sorted(found.items())), []).append(name)
    names = sorted(unique(name for found in settings.values() for name in found))
    if not names:
        return None
    columns = (Column("Setting"), *(Column(", ".join(group)) for group in alike.values()))
    held = [dict(found) for found in alike]
    rows = []
    for name in sorted(names, key=lambda name: len({found.get(name) for found in held}) == 1):
        values = [found.get(name) for found in held]
        tone = "warn" if len(set(values)) > 1 else ""
        cells = [Cell("not set" if value is None else value, code=value is not None, tone=tone) for value in values]
        rows.append(Row((Cell(name, code=True), *cells)))
    return Table("Database settings in force", columns, tuple(rows), compact=True)
