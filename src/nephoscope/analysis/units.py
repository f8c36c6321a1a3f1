"""What counts as one value of a cell: a trial, or a machine with the median of its trials.

Every comparison, interval and rank starts from `counted_cells`. A verdict can be about types of machines only if
several machines of each side were measured; trials that share a machine are not independent of each other in that
question. See docs/concepts/statistics.md, "What counts as one value".
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from nephoscope.analysis.cells import Cell, Metrics, cells_of
from nephoscope.model.rows import MeasurementRow, Scope, TrialRow
from nephoscope.stats.decide import ALPHA
from nephoscope.stats.median import median_interval
from nephoscope.stats.rank_sum import least_n_each

MIN_MACHINES = least_n_each(ALPHA)
"""With fewer machines on each side than this, no rank test can tell two types apart."""


def counted_cells(trials: Sequence[TrialRow], measurements: Sequence[MeasurementRow], metrics: Metrics) -> list[Cell]:
    """The cells of `cells_of` with the values that count, in the same order: what every comparison starts from.

    Raises:
        ValueError: as `cells_of`.
    """
    machines = {row.trial: row.machine for row in trials}
    return [units_of_cell(cell, machines) for cell in cells_of(trials, measurements, metrics)]


def units_of_cell(cell: Cell, machines: Mapping[str, str | None]) -> Cell:
    """The cell with the values that a statement may count.

    - A machine for each trial: the trials stay the values.
    - At least `MIN_MACHINES` machines, some with several trials: machines are the values, each with the median of its
      trials, and n is the number of machines.
    - Fewer machines: the trials stay the values, but speak only for these machines.
    - The machine of some trial is not known: the trials stay the values.

    Args:
        cell: one value per trial.
        machines: trial -> its machine, see `machine_keys`; None or missing: not known.
    """
    seen = [machines.get(trial) for trial in cell.trials]
    known = frozenset(machine for machine in seen if machine is not None)
    if None in seen:
        return cell
    if len(known) == len(cell.trials) or len(known) < MIN_MACHINES:
        return replace(cell, machines=known)
    nested: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for machine, value, trial in zip(seen, cell.values, cell.trials, strict=True):
        nested[str(machine)].append((value, trial))
    medians = sorted(
        (median_interval([value for value, _ in many]).median, tuple(trial for _, trial in many))
        for many in nested.values()
    )
    return replace(
        cell,
        values=tuple(value for value, _ in medians),
        members=tuple(trials for _, trials in medians),
        blocks=(),
        counted="machines",
        machines=known,
    )


def scope_of_cells(cells: Sequence[Cell]) -> Scope:
    """What a statement about these cells together speaks for: the narrowest of theirs.

    Types, if each cell has several machines and no two of its values share one. Cells on one and the same machine
    compare settings there.
    """
    known = [cell for cell in cells if cell.machines is not None]
    if len(known) == len(cells) and len({machine for cell in known for machine in cell.machines or ()}) == 1:
        return "this machine"
    if not all(1 < len(cell.machines or ()) == len(cell.values) for cell in known):
        return "these machines"
    return "types" if len(known) == len(cells) else "not known"
