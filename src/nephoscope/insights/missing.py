"""What is in no answer: trials that did not run, do not count or were changed, and values that cannot be compared."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.words import Draft, keyed, plural, say
from nephoscope.model.records import Metric, VerdictKind
from nephoscope.model.rows import LowerBoundRow, TrialRow
from nephoscope.model.usable import UsableCell
from nephoscope.model.words import enumeration, named_or_counted

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
            "gaps",
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
        "gaps",
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
            "gaps",
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


def exclusions(lookup: Lookup) -> list[Draft]:
    """One sentence about all trials that ran; each excluded trial is counted under one reason."""
    excluded: dict[str, list[str]] = defaultdict(list)
    ran = [row for row in lookup.study.trials if row.state not in LEFT_OUT]
    for row in ran:
        if not row.counts:
            excluded[_reason(row)].append(row.trial)
    total = len(ran)
    if not total:
        return []
    if not excluded:
        those = "trials" if total == len(lookup.study.trials) else "trials that ran"
        ending = "The only trial that ran is valid." if total == 1 else f"All {{total:count}} {those} are valid."
        trials = [row.trial for row in ran]
        return [say("exclusions", "note", ending, numbers={"total": total}, trials=trials)]
    ids = [trial for many in excluded.values() for trial in many]
    numbers: dict[str, float] = {"total": total, "excluded": len(ids)}
    words: dict[str, str] = {}
    parts: list[str] = []
    by_number = sorted(excluded.items(), key=lambda item: (-len(item[1]), item[0]))
    for key, (reason, trials) in keyed(by_number):
        numbers[f"count_{key}"], words[f"reason_{key}"] = len(trials), reason
        parts.append(f"{{count_{key}:count}} {{reason_{key}}}")
    template = (
        "{excluded:count} of {total:count} "
        + plural(total, "trial")
        + plural(len(ids), " is", " are")
        + " not valid and excluded from all statistics: "
    )
    return [say("exclusions", "warning", template + enumeration(parts) + ".", numbers=numbers, trials=ids, **words)]


def _reason(row: TrialRow) -> str:
    if row.state != "finished":
        return row.state
    checks = sorted({*row.rejected_by})
    if row.verdict is VerdictKind.INVALID:
        return f"rejected by {enumeration(checks)}" if checks else "rejected"
    return f"with an unknown verdict from {enumeration(checks)}" if checks else "without a verdict"


MAX_NAMED_ALTERED = 3
"""Trials whose files a sentence names; `status` and the table of excluded trials name all."""


def altered(lookup: Lookup) -> list[Draft]:
    """A warning about all altered trials with their files, and a note about trials without digests."""
    return [*_changed(lookup), *_unchecked(lookup)]


def _changed(lookup: Lookup) -> list[Draft]:
    found = [row for row in lookup.study.trials if row.state == "altered"]
    if not found:
        return []
    named, more = [_named(row) for row in found[:MAX_NAMED_ALTERED]], len(found) - MAX_NAMED_ALTERED
    return [
        say(
            "altered",
            "warning",
            "{altered:count} "
            + plural(len(found), "trial")
            + plural(len(found), " is", " are")
            + " left out because stored files changed after the measurement: {named}"
            + (" and {more:count} more" if more > 0 else "")
            + ". Restore the files from a copy; `nephoscope verify` lists them all.",
            numbers={"altered": len(found), **({"more": more} if more > 0 else {})},
            trials=[row.trial for row in found],
            named=enumeration(named) if more <= 0 else ", ".join(named),
        )
    ]


def _named(row: TrialRow) -> str:
    return f"{row.trial} ({'; '.join(map(str, row.reasons))})"


def _unchecked(lookup: Lookup) -> list[Draft]:
    ended = [row for row in lookup.study.trials if row.has_digests is not None]
    without = [row.trial for row in ended if not row.has_digests]
    if not without:
        return []
    return [
        say(
            "altered",
            "note",
            "{without:count} of {ended:count} "
            + plural(len(ended), "trial")
            + plural(len(without), " was", " were")
            + " stored without digests: later changes of "
            + plural(len(without), "its", "their")
            + " files would go unnoticed.",
            numbers={"without": len(without), "ended": len(ended)},
            trials=without,
        )
    ]


MAX_CELLS = 5
"""With more cells than this, only those that lost most are named."""


def usable(lookup: Lookup) -> list[Draft]:
    """One sentence about the study and one about each cell with trials that cannot be used, the worst first.

    Silent where all can be used, and for imports, which nobody here can repeat.
    """
    lost = lookup.study.lost
    if not lost:
        return []
    numbers = {
        "usable": sum(row.counts for row in lookup.study.trials),
        "planned": sum(row.state != "not needed" for row in lookup.study.trials),
        "cells": len(lost),
        "more": len(lost) - MAX_CELLS,
    }
    template = "Usable: {usable:count} of {planned:count} " + plural(numbers["planned"], "trial") + "."
    if len(lost) > MAX_CELLS:
        template += " {cells:count} cells lost some; the worst follow, and `nephoscope status DIR` names all."
    trials = [trial for cell in lost for group in cell.unusable for trial in group.trials]
    return [
        say("usable", "warning", template, numbers=numbers, trials=trials),
        *(_cell(cell) for cell in lost[:MAX_CELLS]),
    ]


def _cell(cell: UsableCell) -> Draft:
    """As `sentence` of the command line, with its numbers by name."""
    numbers: dict[str, float] = {"usable": cell.usable, "planned": cell.planned}
    words: dict[str, str] = {}
    parts: list[str] = []
    for key, group in keyed(cell.unusable):
        numbers[f"count_{key}"], words[f"why_{key}"] = len(group.trials), str(group.why)
        parts.append(f"{{count_{key}:count}} {{why_{key}}}")
    return say(
        "usable",
        "warning",
        "{benchmark_name} on {name}: {usable:count} of {planned:count} usable (" + ", ".join(parts) + "). {repair}",
        numbers=numbers,
        trials=[trial for group in cell.unusable for trial in group.trials],
        benchmark=cell.benchmark,
        name=cell.configuration,
        repair=" ".join(dict.fromkeys(group.repair for group in cell.unusable)),
        **words,
    )


MAX_NAMED_LOWER_BOUNDS = 4
"""Of those of a benchmark; the others are counted."""


def lower_bounds(lookup: Lookup) -> list[Draft]:
    """One warning for each benchmark that has some."""
    rows = sorted(lookup.study.lower_bounds, key=attrgetter("benchmark", "metric", "configuration"))
    return [_warning(lookup, list(many)) for _, many in groupby(rows, key=attrgetter("benchmark"))]


def _warning(lookup: Lookup, rows: list[LowerBoundRow]) -> Draft:
    numbers: dict[str, float] = {"more": len(rows) - MAX_NAMED_LOWER_BOUNDS}
    words: dict[str, str] = {}
    parts = []
    for key, row in keyed(rows[:MAX_NAMED_LOWER_BOUNDS]):
        numbers[f"above_{key}"] = row.value.written
        words |= {f"title_{key}": lookup.title(row.benchmark, row.metric), f"unit_{key}": row.unit}
        words |= {f"name_{key}": row.configuration}
        parts.append(f"{{title_{key}}} on {{name_{key}}} {row.value.sign} {{above_{key}:limit}} {{unit_{key}}}")
    if len(rows) > MAX_NAMED_LOWER_BOUNDS:
        parts.append("{more:count} more")
    return say(
        "lower_bounds",
        "warning",
        "{benchmark_name}: "
        + enumeration(parts)
        + ". The tool's histogram ends there: how much longer it took is not known, and no mean, ratio or rank has it.",
        numbers=numbers,
        trials=[trial for row in rows for trial in row.trials],
        benchmark=rows[0].benchmark,
        **words,
    )


def claims(lookup: Lookup) -> list[Draft]:
    """One sentence for all metrics; a warning if it is about a headline metric, which then has no answer."""
    names: dict[str, list[str]] = {}
    trials: list[str] = []
    headlines = {(benchmark, metric.name) for benchmark, metric in lookup.headlines()}
    leading = False
    for row in lookup.study.statistics:
        several = len(lookup.statistics_of(row.benchmark, row.metric)) > 1
        if several and not row.per_cpu and row.minimum <= 0:
            title = f"{lookup.title(row.benchmark, row.metric)} in {row.benchmark}"
            names.setdefault(title, []).append(row.configuration)
            trials += row.trials
            leading |= (row.benchmark, row.metric) in headlines
    if not names:
        return []
    return [
        say(
            "claims",
            "warning" if leading else "note",
            "{count:count} "
            + plural(len(names), "metric has", "metrics have")
            + " zero or negative values, whose ratios mean nothing, and "
            + plural(len(names), "is", "are")
            + " not compared there: {metrics}.",
            numbers={"count": len(names)},
            trials=trials,
            metrics="; ".join(
                f"{title} on {named_or_counted(sorted(many), MAX_NAMED)}" for title, many in sorted(names.items())
            ),
        )
    ]


def looks(lookup: Lookup) -> list[Draft]:
    """How many configurations were measured after each look, how many trials that saved, and why questions closed."""
    left_out = [row.trial for row in lookup.study.trials if row.state == "not needed"]
    if not (lookup.study.looks and left_out):
        return []
    last = lookup.study.looks[-1]
    numbers: dict[str, float] = {
        "left_out": len(left_out),
        "total": len(lookup.study.trials),
        "planned": last.configurations,
    }
    stages, reasons = [], []
    for key, look in keyed(one for one in lookup.study.looks if one.block < one.last):
        numbers |= {f"block_{key}": look.block, f"still_{key}": len(look.still)}
        stages.append(f"{{still_{key}:count}} after block {{block_{key}:count}}")
    words = {}
    for key, (reason, count) in keyed(last.outcomes().items()):
        numbers[f"closed_{key}"], words[f"reason_{key}"] = count, reason
        reasons.append(f"{{closed_{key}:count}} {{reason_{key}}}")
    questions = len(last.questions)
    numbers["questions"] = questions
    template = "Blocks after the third measured only configurations that an open question needed"
    template += f": of {{planned:count}}, {enumeration(stages)} were left. " if stages else ". "
    template += "Questions: {questions:count}" + (f", of which {enumeration(reasons)}. " if reasons else ". ")
    template += "Trials left out: {left_out:count} of {total:count}."
    found = [say("looks", "note", template, numbers=numbers, trials=left_out, case="left out", **words)]
    if lookup.study.not_repeatable:
        changed = {
            "changed": len(lookup.study.not_repeatable),
            "looks": len(lookup.study.looks),
            "first": lookup.study.not_repeatable[0],
        }
        text = (
            "From the stored trials, {changed:count} of {looks:count} "
            + plural(len(lookup.study.looks), "look")
            + " would come out differently, first the one after block {first:count}: a trial that they used was "
            "repeated or replaced since. The stored looks are kept."
        )
        found.append(say("looks", "warning", text, numbers=changed, trials=[row.trial for row in lookup.study.trials]))
    return found
