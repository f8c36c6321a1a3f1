"""What limited the database machines: CPUs, a disk, or neither; judged second by second in each phase. Pure."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from statistics import median
from typing import Literal

from nephoscope.analysis.inputs import ObservedMachine
from nephoscope.analysis.renamed import trials
from nephoscope.analysis.table import Table
from nephoscope.model.records import ResourceUse
from nephoscope.model.rows import BoundRow, TrialRow

BUSY = 0.9
"""From this share on, a resource limits the rate; the value is a judgement. If CPUs are 90 % busy in the median second,
work is waiting in many other seconds; so it is if a CPU quota is used up in 90 % of its periods. A disk that
has requests in flight 90 % of the time is hardly ever idle."""

Kind = Literal["cpu", "disk", "neither", "unknown"]


def bounds_of(
    trials: Sequence[TrialRow], resources: Mapping[str, Sequence[ResourceUse]], machines: Sequence[ObservedMachine]
) -> list[BoundRow]:
    """By configuration, benchmark and phase, over the trials that count and whose database machines were all sampled.

    A job that waits for the disk and one that waits for nothing have no median that says what limited either.

    Args:
        trials: of the study.
        resources: trial id -> what each of its machines did.
        machines: says which of them hold the database.
    """
    database: dict[str, set[str]] = defaultdict(set)
    for seen in machines:
        if seen.role == "database":
            database[seen.trial].add(seen.machine)
    groups: dict[tuple[str, str, str], list[tuple[TrialRow, list[ResourceUse]]]] = defaultdict(list)
    for row in trials:
        used = [use for use in resources.get(row.trial, ()) if use.machine in database[row.trial]]
        if row.counts and used and len(used) == len(database[row.trial]):
            for phase, of_phase in _by_phase(used).items():
                groups[row.configuration, row.benchmark, phase].append((row, of_phase))
    return [_row(phase, found) for (_, _, phase), found in sorted(groups.items(), key=itemgetter(0))]


def _by_phase(machines: Sequence[ResourceUse]) -> dict[str, list[ResourceUse]]:
    """What the machines did in each phase that all of them were sampled in; the whole where there is only one."""
    shared = set.intersection(*({*use.phases} for use in machines))
    return {phase: [use.phases[phase] for use in machines] for phase in shared} or {"": list(machines)}


def kind_of(machines: Sequence[ResourceUse]) -> Kind:
    """What limited one trial. CPUs come first: a disk may look busy although CPUs hardly wait for it."""
    quota = _most(machines, lambda use: use.cpu_quota_used_up_share)
    if max(use.cpu_busy_share for use in machines) >= BUSY or (quota is not None and quota >= BUSY):
        return "cpu"
    disk = _most(machines, lambda use: use.disk_busy_share)
    if disk is None:
        return "unknown"
    return "disk" if disk >= BUSY else "neither"


def _row(phase: str, trials: Sequence[tuple[TrialRow, Sequence[ResourceUse]]]) -> BoundRow:
    first = trials[0][0]
    kinds = [kind_of(machines) for _, machines in trials]

    def of_busiest(value_of: Callable[[ResourceUse], float | None]) -> float | None:
        known = [value for _, machines in trials if (value := _most(machines, value_of)) is not None]
        return median(known) if known else None

    return BoundRow(
        configuration=first.configuration,
        benchmark=first.benchmark,
        phase=phase,
        subject=first.subject,
        n=len(trials),
        cpu_bound=kinds.count("cpu"),
        disk_bound=kinds.count("disk"),
        neither=kinds.count("neither"),
        unknown=kinds.count("unknown"),
        cpu_busy_share=of_busiest(lambda use: use.cpu_busy_share) or 0.0,
        cpu_quota_used_up_share=of_busiest(lambda use: use.cpu_quota_used_up_share),
        disk_busy_share=of_busiest(lambda use: use.disk_busy_share),
        disk_read_bytes_per_s=of_busiest(lambda use: use.disk_read_bytes_per_s),
        disk_write_bytes_per_s=of_busiest(lambda use: use.disk_write_bytes_per_s),
        network_receive_bytes_per_s=of_busiest(lambda use: use.network_receive_bytes_per_s),
        network_send_bytes_per_s=of_busiest(lambda use: use.network_send_bytes_per_s),
        trials=[trial.trial for trial, _ in trials],
    )


def _most(machines: Sequence[ResourceUse], value_of: Callable[[ResourceUse], float | None]) -> float | None:
    """The greatest value of any machine; None when none was observed."""
    return max((value for value in map(value_of, machines) if value is not None), default=None)


BOUNDS = Table(
    "bounds",
    BoundRow,
    lambda of: bounds_of(of(trials), of.inputs.resources, of.inputs.machines),
    has_columns=False,
)
