"""Computes everything a report shows from stored trials. Pure: equal input gives equal bytes."""

from datetime import date

from nephoscope.analysis.costs import costs
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.looks import not_repeatable
from nephoscope.analysis.renamed import names, requested, started_unix_ms, trials
from nephoscope.analysis.standing import standing
from nephoscope.analysis.table import Workings, tables
from nephoscope.model.analysed import AnalysedStudy, Levels, OnlyDifference
from nephoscope.model.publication import Publication
from nephoscope.model.rows import BenchmarkRow, TrialRow
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.rank_sum import EXACT_PAIRS
from nephoscope.study.contrasts import only_difference, scopes_of
from nephoscope.study.differences import on_equal_hosts, what_differs
from nephoscope.study.model import Study


def tables_of(inputs: StudyInputs) -> AnalysedStudy:
    """A study with every table that this package declares, without sentences.

    Raises:
        ValueError: the rows contradict each other; see `cells_of`.
    """
    of = Workings(inputs)
    study, ends = inputs.study, [end for row in of(trials) if (end := _ended_unix_ms(row)) is not None]
    differing = what_differs(study.configurations, study.contrasts, imported=inputs.source is not None)
    price_day = of(costs).day
    return AnalysedStudy(
        study=study.name,
        title=_title(study),
        description=study.description,
        publication=Publication.model_validate(study.report.model_dump(exclude={"headline"})),
        headline=study.report.headline,
        seed=study.seed,
        replicates=study.replicates,
        equivalence_margin_percent=study.equivalence_margin_percent,
        study_toml=inputs.study_toml,
        nephoscope_version=inputs.nephoscope_version,
        tool_versions=inputs.tool_versions,
        started_unix_ms=of(started_unix_ms),
        ended_unix_ms=max(ends, default=None),
        plan=inputs.plan,
        benchmarks=_as_in_study(inputs),
        insights=[],
        database_settings=_settings(of),
        levels=Levels(alpha=ALPHA, confidence=CONFIDENCE, exact_pairs=EXACT_PAIRS),
        scopes={str(scope): list(members) for scope, members in scopes_of(of(requested)).items()},
        bases=list(study.costs.bases or ()),
        price_date=None if price_day == date.max else price_day.isoformat(),
        named=[configuration.name for configuration in study.configurations],
        only_difference=_only_difference(of),
        looks=list(inputs.looks),
        not_repeatable=not_repeatable(inputs),
        judged_again=inputs.judged_again,
        standing=of(standing),
        equal_hosts=on_equal_hosts(study.configurations),
        differences=differing.clause,
        several_differences=differing.several,
        source=inputs.source,
        part=inputs.part,
        tables={table.row: table.rows(of) for table in tables().values()},
    )


def _only_difference(of: Workings) -> OnlyDifference | None:
    difference = only_difference(of(requested))
    return None if difference is None else OnlyDifference(what=difference[0], values=difference[1])


def _as_in_study(inputs: StudyInputs) -> list[BenchmarkRow]:
    """The benchmarks in the order of the study file; the plan's is random."""
    places = {entry.label: place for place, entry in enumerate(inputs.study.benchmarks)}
    return sorted(inputs.benchmarks, key=lambda row: (places.get(row.benchmark, len(places)), row.benchmark))


def _title(study: Study) -> str:
    """Marks the title, so that numbers from emulated machines are not mistaken for those of real ones."""
    emulated = any(one.provider == "emulated" for one in study.configurations)
    return f"{study.title or study.name} (emulated)" if emulated else study.title


def _ended_unix_ms(row: TrialRow) -> int | None:
    if row.started_unix_ms is None or row.duration_s is None:
        return None
    return row.started_unix_ms + round(row.duration_s * 1000)


def _settings(of: Workings) -> dict[str, dict[str, str]]:
    """Settings by configuration; a split configuration has those of the one it was split from."""
    settings = {name: dict(sorted(values.items())) for name, values in of.inputs.database_settings.items()}
    for name, original in of(names).items():
        if name != original and original in settings:
            settings[name] = settings[original]
    return dict(sorted(settings.items()))
