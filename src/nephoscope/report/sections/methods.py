"""How the numbers were obtained: benchmarks, commands, versions, settings, and how to repeat the study."""

from shlex import quote

from nephoscope.analysis.lookup import unique
from nephoscope.analysis.published import BUNDLE
from nephoscope.report.parts import Book, Cell, Column, Row, Table
from nephoscope.report.sections.tables import ran


def methods(book: Book) -> list[Table]:
    """What ran, with which versions and settings."""
    return [table for table in (*ran(book), _versions(book), _settings(book)) if table is not None]


def reproduce(book: Book) -> str:
    """The commands that repeat the study, or one row of it; none repeats what others measured."""
    study, first = book.lookup.study, next(iter(book.lookup.configurations), None)
    if study.source is not None or first is None:
        return f"nephoscope --version             # this report: {study.nephoscope_version}"
    return "\n".join(
        (
            f"nephoscope --version             # this report: {study.nephoscope_version}",
            "nephoscope plan study.toml      # the same order, from the same seed",
            "nephoscope run study.toml",
            f"nephoscope report results/{study.study}",
            "",
            f"nephoscope init --reproduce {BUNDLE} {quote(first)} again.toml   # one row, here the first",
            "nephoscope run again.toml --out results/again",
            f"nephoscope compare {BUNDLE} results/again",
        )
    )


def _versions(book: Book) -> Table:
    versions = {"nephoscope": [book.lookup.study.nephoscope_version], **book.lookup.study.tool_versions}
    rows = tuple(Row((Cell(name), Cell(" | ".join(used), code=True))) for name, used in sorted(versions.items()))
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
