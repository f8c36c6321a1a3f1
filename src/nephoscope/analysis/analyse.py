"""Computes everything a report shows from stored trials. Pure: equal input gives equal bytes."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from nephoscope.analysis.best import best_of
from nephoscope.analysis.boards import Board, boards_of
from nephoscope.analysis.bounds import bounds_of
from nephoscope.analysis.cells import Cell, Metrics
from nephoscope.analysis.claims import claims_of
from nephoscope.analysis.comparisons import comparisons_of, with_rows
from nephoscope.analysis.configurations import configurations_of
from nephoscope.analysis.contrasts import contrasts_as_delivered, contrasts_on
from nephoscope.analysis.costs import costs_of, day_of, months_by_basis
from nephoscope.analysis.delivered import (
    CellKey,
    claims_as_delivered,
    compared_as_delivered,
    delivered_rows,
    disturbed_trials,
    ranks_with_notes,
    rejection_notes,
    steal_rows,
    with_notes,
)
from nephoscope.analysis.families import families_of
from nephoscope.analysis.gate import gate_of
from nephoscope.analysis.growth import growth_of
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.analysis.looks import not_repeatable, settled
from nephoscope.analysis.lower_bounds import apart
from nephoscope.analysis.machines import machines_of, split_names
from nephoscope.analysis.one_question import one_question_each
from nephoscope.analysis.passes import passes_of
from nephoscope.analysis.price_performance import price_performance_of, priced_boards
from nephoscope.analysis.quiet_boards import QuietBoards, quiet_boards
from nephoscope.analysis.rank_intervals import rank_intervals_of
from nephoscope.analysis.ranks import ranks_as_delivered
from nephoscope.analysis.standing import standing_of
from nephoscope.analysis.statistics import statistics_of_cells
from nephoscope.analysis.tables import ordered
from nephoscope.analysis.transfers import measured_bytes_of, months_of, transfers_of
from nephoscope.analysis.units import counted_cells
from nephoscope.analysis.usable import usable_cells
from nephoscope.analysis.wan_floor import wan_floors_of
from nephoscope.analysis.within import within_of
from nephoscope.model.analysed import AnalysedStudy, Levels, OnlyDifference
from nephoscope.model.extents import Extent
from nephoscope.model.price_rows import CostRow, PriceComparison, PricePerformance
from nephoscope.model.publication import Publication
from nephoscope.model.questions import BestRow, ContrastRow
from nephoscope.model.records import CommandRecord, OperationErrors, Verdict, VerdictKind
from nephoscope.model.rows import (
    BenchmarkRow,
    CheckRow,
    ClaimRow,
    CommandRow,
    Comparison,
    ErrorRow,
    LowerBoundRow,
    MeasurementRow,
    NetworkRow,
    RankRow,
    RawFileRow,
    Statistic,
    TrialRow,
)
from nephoscope.model.scopes import Scope
from nephoscope.model.standing import Standing
from nephoscope.model.usable import UsableCell, worst_first
from nephoscope.prices.catalogue.measured import public_results
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.median import CONFIDENCE
from nephoscope.stats.rank_sum import EXACT_PAIRS
from nephoscope.study.contrasts import contrasts_of, only_difference, scopes_of
from nephoscope.study.differences import on_equal_hosts, what_differs
from nephoscope.study.model import Configuration, Study

Named = TypeVar("Named", TrialRow, MeasurementRow, NetworkRow)
"""Rows that name a trial and its configuration."""


def tables_of(inputs: StudyInputs) -> AnalysedStudy:
    """Statistics and comparisons of a study, without sentences.

    Replicates on machines whose observed facts differ are split into configurations of their own, by name, before
    anything is computed; rows of trials, measurements, commands, machines and statistics carry the split name, the plan
    keeps the one of the study.

    Raises:
        ValueError: the rows contradict each other; see `cells_of`.
    """
    names = split_names(inputs.machines)
    trials = ordered([_renamed(row, names) for row in inputs.trials], TrialRow)
    measurements, lower_bounds = _measured(inputs, trials, names)
    metrics: Metrics = {row.benchmark: row.metrics for row in inputs.benchmarks}
    margin_percent = inputs.study.equivalence_margin_percent
    asked = _asked_for(inputs, trials)
    usable = usable_cells(inputs.study, inputs.trials, inputs.verdicts)
    given = _beside_numbers(inputs, trials, asked, usable)
    day = day_of(inputs.study, given["started_unix_ms"])
    claimed = [one.basis for one in (inputs.claims.claims if inputs.claims else ()) if one.per == "dollar"]
    costs = costs_of(inputs.study, asked, inputs.book, day, claimed)
    cells = one_question_each(counted_cells(trials, measurements, metrics), metrics)
    same = {(cell.benchmark, cell.metric): cell.same_as for cell in cells if cell.same_as is not None}
    boards = boards_of(cells, blocked=inputs.source is None)
    statistics = statistics_of_cells(cells, boards)
    disturbed = disturbed_trials(trials)
    delivered = delivered_rows(trials, measurements, metrics, cells)
    notes = rejection_notes(delivered)
    network = ordered([_renamed(row, names) for row in inputs.network], NetworkRow)
    machines_of_trials = Counter(seen.trial for seen in inputs.machines)
    bytes_of_trials = measured_bytes_of(inputs.benchmarks, measurements)
    transfers = transfers_of(inputs.study, asked, network, machines_of_trials, inputs.book, day, bytes_of_trials)
    extents = {row.benchmark: row.extent for row in inputs.benchmarks}
    priced = priced_boards(boards, costs.rows, extents)
    by_dollars = partial(priced_boards, costs=costs.rows, extents=extents)
    quiet = quiet_boards(cells, disturbed, by_dollars, blocked=inputs.source is None)
    questions = _answers(inputs, asked, [*boards, *priced], quiet, notes)
    comparisons, price_comparisons = _pairs(boards, priced, cells, by_dollars, disturbed, notes, inputs)
    machines = machines_of(inputs.machines)
    configurations = configurations_of(inputs.study, asked, machines)

    def claims(of: Sequence[Cell]) -> list[ClaimRow]:
        on = boards if of is cells else boards_of(of, blocked=inputs.source is None)
        return claims_of(inputs.claims, configurations, of, on, costs.rows, extents, margin_percent=margin_percent)

    return AnalysedStudy(
        **given,
        trials=trials,
        measurements=measurements,
        lower_bounds=lower_bounds,
        statistics=statistics,
        comparisons=comparisons,
        machines=machines,
        ranks=_ranks([*boards, *priced], statistics, costs.rows, extents, margin_percent, quiet, notes),
        rank_intervals=rank_intervals_of(boards, quiet),
        costs=costs.rows,
        cost_lines=costs.lines,
        network=network,
        transfers=transfers,
        price_performance=ordered(
            price_performance_of(boards, priced, statistics, costs.rows, extents, months_of(transfers), quiet),
            PricePerformance,
        ),
        price_comparisons=price_comparisons,
        scopes=questions.scopes,
        best=questions.best,
        contrasts=questions.contrasts,
        claims=claims_as_delivered(claims(cells), claims, cells, disturbed),
        price_date=None if costs.day == date.max else costs.day.isoformat(),
        configurations=configurations,
        family_comparisons=families_of(configurations, statistics, metrics, margin_percent=margin_percent, same=same),
        gate=gate_of(trials, measurements, metrics),
        growth=list(growth_of(inputs.study, asked, cells)),
        passes=passes_of(measurements),
        within=within_of(measurements),
        steal=list(steal_rows(trials)),
        delivered=delivered,
        standing=_standing(inputs, trials, statistics, names),
    )


def _asked_for(inputs: StudyInputs, trials: Sequence[TrialRow]) -> dict[str, str]:
    """Configuration as analysed -> its name in the study."""
    original = {row.trial: row.configuration for row in inputs.trials}
    return {row.configuration: original[row.trial] for row in trials}


def _measured(
    inputs: StudyInputs, trials: Sequence[TrialRow], names: Mapping[str, str]
) -> tuple[list[MeasurementRow], list[LowerBoundRow]]:
    """What statistics may use, and what is only known to be above something."""
    values, bounds = ([_renamed(row, names) for row in rows] for rows in (inputs.measurements, inputs.bounds))
    known, lower_bounds = apart(trials, values, bounds)
    return ordered(known, MeasurementRow), lower_bounds


def _standing(
    inputs: StudyInputs, trials: Sequence[TrialRow], statistics: Sequence[Statistic], names: Mapping[str, str]
) -> Standing:
    online = _online(inputs, names)
    return standing_of(inputs.benchmarks, trials, statistics, inputs.versions_of_trials, public_results, online)


def _online(inputs: StudyInputs, names: Mapping[str, str]) -> dict[str, int | None]:
    """CPUs of the machine under test of each configuration as analysed; `names` maps trials to those that were split.

    None: not known, or not always as many.
    """
    seen: dict[str, set[int | None]] = defaultdict(set)
    for one in inputs.machines:
        if one.role == "database":
            seen[names.get(one.trial, one.configuration)].add(one.facts.cpus_online)
    return {name: next(iter(several)) if len(several) == 1 else None for name, several in seen.items()}


def _beside_numbers(
    inputs: StudyInputs, trials: Sequence[TrialRow], asked: Mapping[str, str], usable: Sequence[UsableCell]
) -> dict[str, Any]:
    """Fields of an `AnalysedStudy` that no measurement decides: the study, its plan, how trials went, what ran."""
    study = inputs.study
    differing = what_differs(study.configurations, study.contrasts, imported=inputs.source is not None)
    return {
        "study": study.name,
        "title": _title(study),
        "description": study.description,
        "publication": Publication.model_validate(study.report.model_dump(exclude={"headline"})),
        "headline": study.report.headline,
        "seed": study.seed,
        "replicates": study.replicates,
        "equivalence_margin_percent": study.equivalence_margin_percent,
        "study_toml": inputs.study_toml,
        "nephoscope_version": inputs.nephoscope_version,
        "tool_versions": inputs.tool_versions,
        "started_unix_ms": min(
            (row.started_unix_ms for row in trials if row.started_unix_ms is not None), default=None
        ),
        "ended_unix_ms": max((end for row in trials if (end := _ended_unix_ms(row)) is not None), default=None),
        "plan": inputs.plan,
        "insights": [],
        "levels": Levels(alpha=ALPHA, confidence=CONFIDENCE, exact_pairs=EXACT_PAIRS),
        "bases": list(study.costs.bases or ()),
        "named": [configuration.name for configuration in study.configurations],
        "raw_files": ordered(inputs.raw_files, RawFileRow),
        "judged_again": inputs.judged_again,
        "looks": list(inputs.looks),
        "not_repeatable": not_repeatable(inputs),
        "source": inputs.source,
        "part": inputs.part,
        "inputs_digest": inputs.inputs_digest,
        "differences": differing.clause,
        "several_differences": differing.several,
        "benchmarks": _as_in_study(inputs),
        "commands": commands_of(trials, inputs.commands),
        "errors": errors_of(trials, inputs.errors),
        "checks": checks_of(inputs.verdicts, inputs.check_texts),
        "database_settings": _settings(inputs, trials),
        "only_difference": _only_difference(study, asked),
        "wan_floors": wan_floors_of(study, asked),
        "lost": [] if inputs.source is not None else worst_first(usable),
        "bounds": bounds_of(trials, inputs.resources, inputs.machines),
        "equal_hosts": on_equal_hosts(study.configurations),
    }


def _asked(study: Study, names: Mapping[str, str]) -> dict[str, Configuration]:
    """Configuration as analysed -> what the study asked for. `names` maps it to its name in the study."""
    asked = {one.name: one for one in study.configurations}
    return {name: asked[original] for name, original in names.items() if original in asked}


def _only_difference(study: Study, names: Mapping[str, str]) -> OnlyDifference | None:
    found = only_difference(_asked(study, names))
    return None if found is None else OnlyDifference(what=found[0], values=found[1])


@dataclass(frozen=True)
class _Answers:
    """Everything that is asked of leaderboards, but ranks."""

    scopes: dict[str, list[str]]
    best: list[BestRow]
    contrasts: list[ContrastRow]


def _answers(
    inputs: StudyInputs,
    names: Mapping[str, str],
    boards: Sequence[Board],
    quiet: QuietBoards,
    notes: Mapping[CellKey, str],
) -> _Answers:
    """Args: `names` maps a configuration as analysed to its name in the study."""
    study, known = inputs.study, settled(inputs.looks)
    configurations = _asked(study, names)
    margin_percent = study.equivalence_margin_percent
    questions = contrasts_of(configurations, study.contrasts)

    def scopes(members: tuple[str, ...]) -> dict[Scope, tuple[str, ...]]:
        return scopes_of({name: configurations[name] for name in members if name in configurations})

    return _Answers(
        scopes={str(scope): list(members) for scope, members in scopes_of(configurations).items()},
        best=ordered(
            best_of(boards, scopes, margin_percent=margin_percent, settled=known, quiet=quiet, notes=notes), BestRow
        ),
        contrasts=ordered(
            contrasts_as_delivered(
                contrasts_on(boards, questions, margin_percent=margin_percent),
                questions,
                quiet,
                notes,
                margin_percent=margin_percent,
            ),
            ContrastRow,
        ),
    )


def _pairs(
    boards: Sequence[Board],
    priced: Sequence[Board],
    cells: Sequence[Cell],
    by_dollars: Callable[[Sequence[Board]], list[Board]],
    disturbed: AbstractSet[str],
    notes: Mapping[CellKey, str],
    inputs: StudyInputs,
) -> tuple[list[Comparison], list[PriceComparison]]:
    """All pairs, as measured and per dollar; a verdict about disturbed trials holds only if the quiet ones agree.

    `boards` and `priced` are the leaderboards of `cells`; only quiet trials need others, which `by_dollars` prices.
    """
    blocked, margin_percent = inputs.source is None, inputs.study.equivalence_margin_percent

    def measured(boards: Sequence[Board]) -> list[Comparison]:
        return comparisons_of(with_rows(boards), Comparison, margin_percent=margin_percent)

    def per_dollar(priced: Sequence[Board], basis: str) -> list[PriceComparison]:
        on_basis = [board for board in with_rows(priced) if board.basis == basis]
        return comparisons_of(on_basis, partial(PriceComparison, basis=basis), margin_percent=margin_percent)

    def refitted(of: Sequence[Cell]) -> list[Comparison]:
        return measured(boards_of(of, blocked=blocked))

    def repriced(basis: str, of: Sequence[Cell]) -> list[PriceComparison]:
        return per_dollar(by_dollars(boards_of(of, blocked=blocked)), basis)

    headline = [cell for cell in cells if cell.headline and not cell.per_cpu]
    dollars: list[PriceComparison] = []
    for basis in sorted({board.basis for board in priced if board.basis is not None}):
        dollars += compared_as_delivered(per_dollar(priced, basis), partial(repriced, basis), headline, disturbed)
    as_measured = compared_as_delivered(measured(boards), refitted, cells, disturbed)
    return with_notes(as_measured, notes), with_notes(ordered(dollars, PriceComparison), notes)


def _ranks(
    boards: Sequence[Board],
    statistics: Sequence[Statistic],
    costs: Sequence[CostRow],
    extents: Mapping[str, Extent],
    margin_percent: float,
    quiet: QuietBoards,
    notes: Mapping[CellKey, str],
) -> list[RankRow]:
    levels: dict[tuple[str, str, bool], dict[str, float]] = defaultdict(dict)
    for row in statistics:
        levels[row.benchmark, row.metric, row.per_cpu][row.configuration] = row.compared.value
    months = {extent: months_by_basis(costs, extent) for extent in {*extents.values()}}
    found: list[RankRow] = []
    for board in boards:
        if not board.headline:
            continue
        of_board = levels[board.benchmark, board.metric, board.view == "per CPU"]
        if board.basis is not None:
            usd = months[extents[board.benchmark]][board.basis]
            of_board = {name: of_board[name] / usd[name] for name in board.members}
        found += ranks_as_delivered(board, of_board, quiet, margin_percent=margin_percent)
    return ordered(ranks_with_notes(found, notes), RankRow)


def commands_of(trials: Sequence[TrialRow], commands: Mapping[str, Sequence[CommandRecord]]) -> list[CommandRow]:
    """What ran for each benchmark on each configuration: of the first trial that counts, else of the first that ran.

    Args:
        trials: in any order; the plan's position decides which is first.
        commands: trial id -> its commands, in the order of execution.

    Returns:
        Sorted by configuration and benchmark; commands of a trial stay in their order.
    """
    first: dict[tuple[str, str], TrialRow] = {}
    for row in sorted(trials, key=lambda row: (not row.counts, row.position, row.trial)):
        if commands.get(row.trial):
            first.setdefault((row.configuration, row.benchmark), row)
    return [
        CommandRow(
            configuration=row.configuration,
            benchmark=row.benchmark,
            subject=row.subject,
            argv=command.argv,
            machine=command.machine,
            trial=row.trial,
        )
        for _, row in sorted(first.items())
        for command in commands[row.trial]
    ]


def errors_of(trials: Sequence[TrialRow], errors: Mapping[str, Sequence[OperationErrors]]) -> list[ErrorRow]:
    """Retries and errors of every benchmark on every configuration.

    Trials that do not count are among them: often these are the reason.

    Returns:
        Sorted by benchmark, configuration, operation, kind and SQLSTATE.
    """
    groups: dict[tuple[str, str, str, str, str], list[tuple[TrialRow, OperationErrors]]] = defaultdict(list)
    for trial in sorted(trials, key=lambda row: (row.position, row.trial)):
        for row in errors.get(trial.trial, []):
            key = (trial.benchmark, trial.configuration, row.operation, row.kind, row.sqlstate)
            groups[key].append((trial, row))
    return [
        ErrorRow(
            benchmark=benchmark,
            subject=found[0][0].subject,
            configuration=configuration,
            operation=operation,
            sqlstate=sqlstate,
            kind=found[0][1].kind,
            count=sum(row.count for _, row in found),
            trials=[trial.trial for trial, _ in found],
        )
        for (benchmark, configuration, operation, _, sqlstate), found in sorted(groups.items(), key=itemgetter(0))
    ]


def checks_of(verdicts: Mapping[str, Sequence[Verdict]], texts: Mapping[str, str]) -> list[CheckRow]:
    """How often each check said what, sorted by name; a check that never applied has three zeros."""
    counts = Counter((verdict.check, verdict.verdict) for many in verdicts.values() for verdict in many)
    return [
        CheckRow(
            check=check,
            text=texts.get(check, ""),
            valid=counts[check, VerdictKind.VALID],
            invalid=counts[check, VerdictKind.INVALID],
            unknown=counts[check, VerdictKind.UNKNOWN],
        )
        for check in sorted({*texts, *(name for name, _ in counts)})
    ]


def _renamed(row: Named, names: Mapping[str, str]) -> Named:
    name = names.get(row.trial, row.configuration)
    if name == row.configuration:
        return row
    return (
        row._replace(configuration=name)
        if isinstance(row, MeasurementRow)
        else row.model_copy(update={"configuration": name})
    )


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


def _settings(inputs: StudyInputs, trials: Sequence[TrialRow]) -> dict[str, dict[str, str]]:
    """Settings by configuration; a split configuration has those of the one it was split from."""
    original = {row.trial: row.configuration for row in inputs.trials}
    settings = {name: dict(sorted(values.items())) for name, values in inputs.database_settings.items()}
    for row in trials:
        base = original[row.trial]
        if row.configuration != base and base in settings:
            settings[row.configuration] = settings[base]
    return dict(sorted(settings.items()))
