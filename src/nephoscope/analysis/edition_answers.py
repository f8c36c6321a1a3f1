"""How two studies answer the same questions, and what differs between them that no study file declares."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from nephoscope.analysis.matching import Counterparts
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.editions import AnswerChange, BestChange, ContrastChange
from nephoscope.model.questions import BestRow, ContrastRow
from nephoscope.model.rows import ComparisonVerdict, ConfigurationRow
from nephoscope.model.words import counted, named_or_counted

MAX_DIFFERENCES = 30
"""Settings and CPUs beyond this number are counted, not listed."""
_OF_A_RUN = frozenset({"port", "cluster_name"})
"""Settings that differ from run to run, as paths do."""
_DECIDED = {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE, ComparisonVerdict.TIE}
_Asked = TypeVar("_Asked", BestRow, ContrastRow)
_Titles = Mapping[tuple[str, str], str]


def best_changes(
    before: AnalysedStudy, after: AnalysedStudy, benchmarks: Collection[str], titles: _Titles, basis: str
) -> list[BestChange]:
    """A row for each leaderboard, as measured and per dollar, of which both studies asked for the best.

    Args:
        before: the earlier study.
        after: the later one.
        benchmarks: those that are comparable.
        titles: of metrics.
        basis: of the prices.
    """
    return [
        BestChange(
            benchmark=row.benchmark,
            metric=row.metric,
            title=titles.get((row.benchmark, row.metric)) or row.metric,
            view=row.view,
            basis=row.basis,
            scope=row.scope,
            before=was.best,
            after=row.best,
            of_before=was.of - len(was.open),
            of_after=row.of - len(row.open),
            outcome=_best_outcome([*was.best, *was.open], [*row.best, *row.open]),
        )
        for was, row in _in_both(before[BestRow], after[BestRow], _board, benchmarks, basis)
    ]


def _board(row: BestRow) -> tuple[object, ...]:
    return row.benchmark, row.metric, row.view, row.basis, row.scope


def _in_both(
    before: Sequence[_Asked],
    after: Sequence[_Asked],
    key: Callable[[_Asked], tuple[object, ...]],
    benchmarks: Collection[str],
    basis: str,
) -> Iterator[tuple[_Asked, _Asked]]:
    """Answers of both studies to the same question, as measured or per dollar, in the order of the later study."""
    old = {key(row): row for row in before}
    for row in after:
        shown = row.view == "plain" or (row.view == "per dollar" and row.basis == basis)
        if shown and row.benchmark in benchmarks and key(row) in old:
            yield old[key(row)], row


def _best_outcome(before: Sequence[str], after: Sequence[str]) -> AnswerChange:
    if {*before}.isdisjoint(after):
        return "changed"
    return "same" if len(before) == 1 and [*before] == [*after] else "not decided"


def contrast_changes(
    before: AnalysedStudy, after: AnalysedStudy, benchmarks: Collection[str], titles: _Titles, basis: str
) -> list[ContrastChange]:
    """A row for each contrast, as measured and per dollar, that both studies answer; arguments of `best_changes`."""
    return [
        ContrastChange(
            question=row.question,
            left=row.left,
            right=row.right,
            benchmark=row.benchmark,
            metric=row.metric,
            title=titles.get((row.benchmark, row.metric)) or row.metric,
            view=row.view,
            basis=row.basis,
            ratio_before=was.ratio,
            low_before=was.low,
            high_before=was.high,
            verdict_before=was.verdict,
            ratio_after=row.ratio,
            low_after=row.low,
            high_after=row.high,
            verdict_after=row.verdict,
            outcome=_contrast_outcome(was.verdict, row.verdict),
        )
        for was, row in _in_both(before[ContrastRow], after[ContrastRow], _question, benchmarks, basis)
    ]


def _question(row: ContrastRow) -> tuple[str | None, ...]:
    return row.question, row.left, row.right, row.benchmark, row.metric, row.view, row.basis


def _contrast_outcome(before: ComparisonVerdict, after: ComparisonVerdict) -> AnswerChange:
    if before not in _DECIDED or after not in _DECIDED:
        return "not decided"
    return "same" if before is after else "changed"


def also_different(before: AnalysedStudy, after: AnalysedStudy, names: Iterable[Counterparts]) -> list[str]:
    """Versions of tools, settings in force and CPUs that differ although no study file says so, as sentences."""
    found = []
    if before.nephoscope_version != after.nephoscope_version:
        found.append(f"nephoscope: {before.nephoscope_version} → {after.nephoscope_version}")
    tools = before.tool_versions.keys() & after.tool_versions.keys()
    changed = sorted(tool for tool in tools if before.tool_versions[tool] != after.tool_versions[tool])
    used = {tool: [" | ".join(study.tool_versions[tool]) for study in (before, after)] for tool in changed}
    found += [f"{tool}: {' → '.join(versions)}" for tool, versions in used.items()]
    where: dict[str, set[str]] = {}
    for one in names:
        for said in (*_settings(before, after, one), *_cpus(before, after, one)):
            where.setdefault(said, set()).add(one.after)
    everywhere = [
        f"{said} ({named_or_counted(sorted(configurations), 3)})" for said, configurations in sorted(where.items())
    ]
    more = len(everywhere) - MAX_DIFFERENCES
    found += everywhere[:MAX_DIFFERENCES]
    return [*found, f"and {counted(more, 'more setting')}"] if more > 0 else found


def _settings(before: AnalysedStudy, after: AnalysedStudy, one: Counterparts) -> list[str]:
    old, new = before.database_settings.get(one.before), after.database_settings.get(one.after)
    if not old or not new:
        return []
    changed = [key for key in sorted(old.keys() & new.keys()) if old[key] != new[key] and key not in _OF_A_RUN]
    return [f"{key}: {old[key]} → {new[key]}" for key in changed if not old[key].startswith("/")]


def _cpus(before: AnalysedStudy, after: AnalysedStudy, one: Counterparts) -> list[str]:
    old, new = (
        next((row.cpu_model for row in study[ConfigurationRow] if row.configuration == name), None)
        for study, name in ((before, one.before), (after, one.after))
    )
    return [f"CPU: {old} → {new}"] if old and new and old != new else []
