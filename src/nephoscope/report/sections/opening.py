"""The key facts that open evidence.html."""

from collections import Counter
from shlex import quote

from nephoscope.analysis.lookup import unique
from nephoscope.analysis.published import BUNDLE
from nephoscope.insights.names import names_of
from nephoscope.model import numbers as people
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import ConfigurationRow, MachineRow, TrialRow
from nephoscope.model.words import counted
from nephoscope.report.main.measured import part_words
from nephoscope.report.parts import Book, Cell, Column, Row, Table
from nephoscope.report.sections.tables import ran
from nephoscope.report.sections.trials import outcomes

MAX_MODELS = 3


def key_facts(book: Book) -> list[tuple[str, str]]:
    """What was measured, where and when."""
    study, lookup = book.lookup.study, book.lookup
    when = people.moment(study.started_unix_ms)
    if study.ended_unix_ms is not None:
        when += f" to {people.moment(study.ended_unix_ms)}"
    conditions = unique(name for row in study[TrialRow] for name in row.conditions)
    names, called = lookup.configurations, names_of(lookup)

    def both(name: str) -> str:
        return name if called[name] == name else f"{called[name]} ({name})"

    facts = [
        ("A part of the study", part_words(study.part)),
        ("Configurations", ", ".join(map(both, names)) if len(names) <= 4 else f"{len(names)}"),
        ("Machines", _machines(study)),
        ("Benchmarks", ", ".join(row.benchmark for row in study.benchmarks) or "none"),
        ("Trials", outcomes(study[TrialRow])),
        ("Replicates", _replicates(study)),
        *_origin(study),
        ("Simulated clock" if study.plan.simulated else "Measured", when),
        ("Conditions", ", ".join(conditions)),
        ("Price", f"no prices: {'; '.join(map(str, study.plan.unpriced[:3]))}" if study.plan.unpriced else ""),
        ("Seed", str(study.seed)),
        ("Version", f"nephoscope {study.nephoscope_version}"),
    ]
    return [(name, text) for name, text in facts if text]


def _machines(study: AnalysedStudy) -> str:
    """Types as sold, each a cluster of its own; hosts with their CPUs where nobody sells a type."""
    types = unique(row.machine_type for row in study[ConfigurationRow] if row.machine_type)
    if types:
        roles = {(row.configuration, row.machine) for row in study[MachineRow]}
        most = max(Counter(configuration for configuration, _ in roles).values(), default=1)
        return counted(len(types), "machine type") + (f", up to {most} machines per cluster" if most > 1 else "")
    models = unique(row.facts.cpu_model or "CPU model unknown" for row in study[MachineRow])
    hosts = unique(row.facts.hostname or row.machine for row in study[MachineRow])
    if not hosts:
        return "none observed"
    more = f" and {counted(len(models) - MAX_MODELS, 'more CPU model')}" if len(models) > MAX_MODELS else ""
    return f"{counted(len(hosts), 'machine')}: {'; '.join(models[:MAX_MODELS])}{more}"


def _replicates(study: AnalysedStudy) -> str:
    if study.source is not None:
        return f"imported: all that the source has, in the order it gives; {study.source.rule}".removesuffix("; ")
    return f"{study.replicates} planned per benchmark and configuration, in randomised blocks"


def _origin(study: AnalysedStudy) -> list[tuple[str, str]]:
    """For an import: who measured it, and what was found but not read. The description says what is not known."""
    source = study.source
    if source is None:
        return []
    return [
        ("Measured by others", f"{source.source}; licence: {source.licence}"),
        ("Not imported", "; ".join(map(str, source.left_out[:5])) + (" and more" if len(source.left_out) > 5 else "")),
    ]


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
