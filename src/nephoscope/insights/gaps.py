"""What is missing from the answers: trials that have not run, configurations or metrics without a value, holes."""

from collections import Counter, defaultdict
from collections.abc import Sequence

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, plural, say
from nephoscope.model.records import Metric
from nephoscope.model.rows import TrialRow
from nephoscope.model.words import enumeration

NAME = "gaps"
MAX_NAMED = 8
"""With more configurations than this, a sentence counts them instead of naming them."""
WAITING = frozenset({"planned", "running"})
LEFT_OUT = WAITING | {"not needed"}
"""States of trials that may still get a value."""


def gaps(lookup: Lookup) -> list[Draft]:
    """Warnings about the study as a whole, then about each benchmark; a note about blocks."""
    return [*_unfinished(lookup), *_nothing(lookup), *_without_metric(lookup), *_holes(lookup)]


def _unfinished(lookup: Lookup) -> list[Draft]:
    waiting = [row for row in lookup.study.trials if row.state in WAITING]
    if not waiting:
        return []
    return [
        say(
            NAME,
            "warning",
            "{waiting:count} of {total:count} planned "
            + plural(len(lookup.study.trials), "trial")
            + plural(
                len(waiting), " has not run, so no answer includes it. ", " have not run, so no answer includes them. "
            )
            + "`nephoscope run` continues the study where it stopped.",
            numbers={"waiting": len(waiting), "total": len(lookup.study.trials)},
            trials=[row.trial for row in waiting],
            case="not run",
        )
    ]


def _nothing(lookup: Lookup) -> list[Draft]:
    """One warning per benchmark whose trials are all in, on some configuration, and none of them valid."""
    cells: dict[str, dict[str, list[TrialRow]]] = defaultdict(lambda: defaultdict(list))
    for row in lookup.study.trials:
        cells[row.benchmark][row.configuration].append(row)
    found = []
    for benchmark, by_configuration in sorted(cells.items()):
        empty = {
            name: rows
            for name, rows in sorted(by_configuration.items())
            if not any(row.counts for row in rows) and any(row.state not in LEFT_OUT for row in rows)
        }
        if empty:
            found.append(_no_value(benchmark, "no valid trial", empty))
    return found


def _without_metric(lookup: Lookup) -> list[Draft]:
    """One warning per headline metric that valid trials of some configuration did not report, and others did."""
    valid: dict[tuple[str, str], list[TrialRow]] = defaultdict(list)
    for row in lookup.study.trials:
        if row.counts:
            valid[row.benchmark, row.configuration].append(row)
    found = []
    for benchmark, metric in lookup.headlines():
        rows = lookup.statistics_of(benchmark, metric.name)
        reported = {row.configuration for row in rows}
        without = {name: rows for (of, name), rows in sorted(valid.items()) if of == benchmark and name not in reported}
        if without and reported:
            found.append(_no_value(benchmark, "no value of {title}, although trials are valid", without, metric))
        found += _fewer(benchmark, metric, {row.configuration: len(row.trials) for row in rows}, valid)
    return found


def _fewer(
    benchmark: str, metric: Metric, reported: dict[str, int], valid: dict[tuple[str, str], list[TrialRow]]
) -> list[Draft]:
    """Where only some of the valid trials of a configuration reported the metric."""
    some = {name: valid[benchmark, name] for name, n in sorted(reported.items()) if n < len(valid[benchmark, name])}
    what = "a value of {title} from only some of the valid trials"
    return [_no_value(benchmark, what, some, metric, missing=False)] if some else []


def _no_value(
    benchmark: str,
    what: str,
    cells: dict[str, list[TrialRow]],
    metric: Metric | None = None,
    *,
    missing: bool = True,
) -> Draft:
    named = len(cells) <= MAX_NAMED
    return say(
        NAME,
        "warning",
        "{benchmark_name}: "
        + ("{names}" if named else "{count:count} configurations")
        + plural(len(cells), " has ", " have ")
        + what
        + (", so " + plural(len(cells), "it is", "they are") + " in no answer" if missing else "")
        + " ({trials:count} "
        + plural(sum(map(len, cells.values())), "trial")
        + ").",
        numbers={"count": len(cells), "trials": sum(map(len, cells.values()))},
        trials=[row.trial for rows in cells.values() for row in rows],
        benchmark=benchmark,
        case="no value",
        benchmark_name=benchmark,
        **({"names": enumeration(list(cells))} if named else {}),
        **({"title": metric.title} if metric else {}),
    )


def _holes(lookup: Lookup) -> list[Draft]:
    """One note if blocks that ran lack valid trials that others have: then values of one block are not all there."""
    ran = [row for row in lookup.study.trials if row.state not in LEFT_OUT]
    cells = {(row.benchmark, row.configuration) for row in ran}
    has_valid = {(row.benchmark, row.configuration) for row in ran if row.counts}
    if lookup.study.source is not None or len(cells) < 2 or not has_valid:  # a source's runs are in no blocks
        return []
    blocks = sorted({row.block for row in ran})
    there = Counter(row.block for row in _once(ran) if row.counts and (row.benchmark, row.configuration) in has_valid)
    holes = [block for block in blocks if there[block] < len(has_valid)]
    if not holes:
        return []
    return [
        say(
            NAME,
            "note",
            "{holes:count} of {blocks:count} "
            + plural(len(blocks), "block")
            + plural(len(holes), " lacks", " lack")
            + " a valid trial of some configuration, so configurations have values from different blocks.",
            numbers={"holes": len(holes), "blocks": len(blocks)},
            trials=[row.trial for row in ran if row.block in holes],
        )
    ]


def _once(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """At most one row for each configuration, benchmark and block: a valid one if there is one."""
    found: dict[tuple[str, str, int], TrialRow] = {}
    for row in sorted(rows, key=lambda row: not row.counts):
        found.setdefault((row.benchmark, row.configuration, row.block), row)
    return list(found.values())
