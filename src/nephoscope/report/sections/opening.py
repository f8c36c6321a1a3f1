"""The key facts that open evidence.html."""

from collections import Counter

from nephoscope.analysis.lookup import unique
from nephoscope.insights.names import names_of
from nephoscope.model import numbers as people
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import ConfigurationRow, MachineRow, TrialRow
from nephoscope.model.words import counted
from nephoscope.report.main.part import part_words
from nephoscope.report.parts import Book
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
