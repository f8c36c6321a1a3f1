"""Two views of a machine that shares its host: as delivered (all trials) and quiet (trials that lost little CPU time).

Rejecting the trials that lost CPU time selects on the outcome, so where they count both views are given, and a verdict
needs both. Where they were rejected, the median with them shows what the rejection changed.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from statistics import median
from typing import TypeVar

from nephoscope.analysis.agreement import agree
from nephoscope.analysis.cells import Cell, Metrics
from nephoscope.analysis.one_question import cells
from nephoscope.analysis.renamed import measurements, metrics, trials
from nephoscope.analysis.table import Table, Workings
from nephoscope.analysis.units import counted_cells
from nephoscope.checks.steal import Steal
from nephoscope.checks.thresholds import STEAL
from nephoscope.model.numbers import quantity
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import (
    ClaimRow,
    Comparison,
    ComparisonVerdict,
    DeliveredRow,
    MeasurementRow,
    RankRow,
    StealRow,
    TrialRow,
)
from nephoscope.model.words import counted
from nephoscope.stats.median import median_interval
from nephoscope.stats.proportion import proportion_interval

NOTABLE_REJECTED_SHARE = 0.10
"""Share of a configuration's trials: where steal rejected more, verdicts, ranks and answers say so."""
Row = TypeVar("Row", bound=Comparison)
CellKey = tuple[str, str, bool, str]
"""Benchmark, metric, per CPU, configuration."""


def disturbed_trials(trials: Sequence[TrialRow]) -> frozenset[str]:
    """Trials that count although they lost more CPU time than `STEAL` allows, and not because credits were spent."""
    return frozenset(
        row.trial for row in trials if row.counts and not row.at_baseline and (row.stolen_share or 0.0) > STEAL.value
    )


def rejected_trials(trials: Sequence[TrialRow]) -> frozenset[str]:
    """Trials that were rejected for steal and for nothing else."""
    return frozenset(
        row.trial
        for row in trials
        if row.state == "finished" and row.verdict is VerdictKind.INVALID and {*row.rejected_by} == {Steal.name}
    )


def quiet_of(cell: Cell, disturbed: AbstractSet[str]) -> Cell | None:
    """The cell without the values in which a disturbed trial takes part; None if none is left.

    The median of a machine is quiet if all its trials are.
    """
    kept = [place for place, many in enumerate(cell.members) if disturbed.isdisjoint(many)]
    if not kept:
        return None
    dropped = len(cell.values) - len(kept)
    return replace(
        cell,
        values=tuple(cell.values[place] for place in kept),
        members=tuple(cell.members[place] for place in kept),
        blocks=tuple(cell.blocks[place] for place in kept) if cell.blocks else (),
        n_excluded=cell.n_excluded + dropped,
    )


def quiet_cells(cells: Sequence[Cell], disturbed: AbstractSet[str]) -> list[Cell]:
    """The cells that have a quiet value, see `quiet_of`."""
    return [kept for cell in cells if (kept := quiet_of(cell, disturbed)) is not None]


def compared_as_delivered(
    rows: Sequence[Row],
    compare: Callable[[Sequence[Cell]], list[Row]],
    cells: Sequence[Cell],
    disturbed: AbstractSet[str],
) -> list[Row]:
    """The comparisons; a verdict about a side with disturbed trials must hold in quiet trials too: `agree`.

    Args:
        rows: over all trials that count.
        compare: cells -> comparisons; it is called, with the quiet cells, only if there are disturbed trials.
        cells: values of all trials that count.
        disturbed: ids, see `disturbed_trials`.
    """
    touched = {_key(cell) for cell in cells if not disturbed.isdisjoint(cell.trials)} if disturbed else set()
    if not touched:
        return list(rows)
    quiet_rows = {
        (row.benchmark, row.metric, row.per_cpu, row.left, row.right): row
        for row in compare(quiet_cells(cells, disturbed))
    }
    found: list[Row] = []
    for row in rows:
        board = (row.benchmark, row.metric, row.per_cpu)
        if (*board, row.left) not in touched and (*board, row.right) not in touched:
            found.append(row)
            continue
        quiet = quiet_rows.get((*board, row.left, row.right))
        verdict = quiet.verdict if quiet else ComparisonVerdict.UNRESOLVED
        agreed = agree(row.verdict, verdict)
        found.append(
            row.model_copy(
                update={
                    "verdict": agreed.verdict,
                    "delivered": row.verdict,
                    "quiet": verdict,
                    "quiet_ratio": quiet.ratio if quiet else None,
                    "reason": agreed.reason,
                }
            )
        )
    return found


def claims_as_delivered(
    delivered: Sequence[ClaimRow],
    judge: Callable[[Sequence[Cell]], list[ClaimRow]],
    cells: Sequence[Cell],
    disturbed: AbstractSet[str],
) -> list[ClaimRow]:
    """The claims; one about disturbed trials is decided only if `judge` says the same of the quiet cells."""
    if all(disturbed.isdisjoint(row.trials) for row in delivered):
        return list(delivered)
    quiet = {(row.claim, row.benchmark, row.metric): row.verdict for row in judge(quiet_cells(cells, disturbed))}
    found: list[ClaimRow] = []
    for row in delivered:
        other = quiet.get((row.claim, row.benchmark, row.metric), "not decided")
        if disturbed.isdisjoint(row.trials) or other == row.verdict:
            found.append(row)
            continue
        reason = f"{row.verdict} as delivered, but {other} in quiet trials"
        holds = row.expected in {None, "not decided"}
        found.append(row.model_copy(update={"verdict": "not decided", "holds": holds, "reason": reason}))
    return found


def delivered_rows(
    trials: Sequence[TrialRow], measurements: Sequence[MeasurementRow], metrics: Metrics, cells: Sequence[Cell]
) -> list[DeliveredRow]:
    """Both medians of every cell in which steal made a difference; empty if no trial lost more than `STEAL` allows."""
    disturbed, rejected = disturbed_trials(trials), rejected_trials(trials)
    if not disturbed and not rejected:
        return []
    counting = [
        row.model_copy(update={"verdict": VerdictKind.VALID}) if row.trial in rejected else row for row in trials
    ]
    whole = counted_cells(counting, measurements, metrics) if rejected else cells
    by_key = {_key(cell): cell for cell in cells}
    return [
        _delivered(cell, by_key.get(_key(cell)), disturbed, rejected)
        for cell in whole
        if not disturbed.isdisjoint(cell.trials) or not rejected.isdisjoint(cell.trials)
    ]


def _delivered(
    whole: Cell, counted: Cell | None, disturbed: AbstractSet[str], rejected: AbstractSet[str]
) -> DeliveredRow:
    """Numbers are of trials, also where a machine with several of them is one value of the median."""
    quiet = quiet_of(counted, disturbed) if counted else None
    interval = median_interval(quiet.values) if quiet else None
    n_rejected = sum(name in rejected for name in whole.trials)
    return DeliveredRow(
        configuration=whole.configuration,
        benchmark=whole.benchmark,
        metric=whole.metric,
        unit=whole.unit,
        direction=whole.direction,
        per_cpu=whole.per_cpu,
        n=len(counted.trials) if counted else 0,
        median=median(counted.values) if counted else None,
        n_quiet=len(quiet.trials) if quiet else 0,
        quiet_median=interval.median if interval else None,
        quiet_low=interval.low if interval else None,
        quiet_high=interval.high if interval else None,
        quiet_coverage=interval.coverage if interval else None,
        n_rejected=n_rejected,
        rejected_share=n_rejected / len(whole.trials),
        median_with_rejected=median(whole.values) if n_rejected else None,
        trials=[name for name in whole.trials if name in disturbed or name in rejected],
        subject=whole.subject,
    )


def steal_rows(trials: Sequence[TrialRow]) -> list[StealRow]:
    """How often each configuration lost CPU time, over all finished trials whose loss is known, also rejected ones."""
    known: dict[str, list[TrialRow]] = {}
    for row in sorted(trials, key=lambda row: (row.configuration, row.position, row.trial)):
        if row.state == "finished" and row.stolen_share is not None:
            known.setdefault(row.configuration, []).append(row)
    rejected = rejected_trials(trials)
    found: list[StealRow] = []
    for configuration, rows in known.items():
        shares = [row.stolen_share or 0.0 for row in rows]
        over = [row.trial for row, share in zip(rows, shares, strict=True) if share > STEAL.value]
        low, high = proportion_interval(len(over), len(rows))
        found.append(
            StealRow(
                configuration=configuration,
                limit_share=STEAL.value,
                n=len(rows),
                over=len(over),
                share=len(over) / len(rows),
                low=low,
                high=high,
                rejected=sum(row.trial in rejected for row in rows),
                median_stolen_share=median(shares),
                highest_stolen_share=max(shares),
                trials=over,
            )
        )
    return found


def rejection_notes(rows: Sequence[DeliveredRow]) -> dict[CellKey, str]:
    """What to add where steal rejected over `NOTABLE_REJECTED_SHARE` of a configuration's trials."""
    return {
        (row.benchmark, row.metric, row.per_cpu, row.configuration): (
            f"steal rejected {row.n_rejected} of {counted(row.n + row.n_rejected, 'trial')} of {row.configuration}; "
            f"with {'it' if row.n_rejected == 1 else 'them'} its median is "
            f"{quantity(row.median_with_rejected, row.unit)}"
        )
        for row in rows
        if row.rejected_share > NOTABLE_REJECTED_SHARE and row.median_with_rejected is not None
    }


def with_notes(rows: Sequence[Row], notes: Mapping[CellKey, str]) -> list[Row]:
    """The comparisons with the notes of either side."""
    found: list[Row] = []
    for row in rows if notes else ():
        sides = [notes.get((row.benchmark, row.metric, row.per_cpu, name)) for name in (row.left, row.right)]
        note = "; ".join(filter(None, sides))
        found.append(row.model_copy(update={"note": note}) if note else row)
    return found if notes else list(rows)


def ranks_with_notes(rows: Sequence[RankRow], notes: Mapping[CellKey, str]) -> list[RankRow]:
    """The ranks with the notes of their configurations; a rank per dollar has that of the plain metric."""
    found: list[RankRow] = []
    for row in rows:
        note = notes.get((row.benchmark, row.metric, row.view == "per CPU", row.configuration))
        found.append(row.model_copy(update={"note": note}) if note else row)
    return found


def _key(cell: Cell) -> CellKey:
    return (cell.benchmark, cell.metric, cell.per_cpu, cell.configuration)


def disturbed(of: Workings) -> frozenset[str]:
    """Ids of trials that count although they lost CPU time."""
    return disturbed_trials(of(trials))


def delivered(of: Workings) -> list[DeliveredRow]:
    """Both medians where steal made a difference."""
    return delivered_rows(of(trials), of(measurements), of(metrics), of(cells))


def notes(of: Workings) -> dict[CellKey, str]:
    """What to add where steal rejected much."""
    return rejection_notes(of(delivered))


DELIVERED = Table(
    "delivered",
    DeliveredRow,
    delivered,
    order=lambda row: (row.benchmark, row.metric, row.per_cpu, row.configuration),
)
STOLEN = Table("steal", StealRow, lambda of: steal_rows(of(trials)), order=lambda row: row.configuration)
