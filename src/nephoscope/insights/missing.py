"""What is in no answer: trials that did not run, do not count or were changed, and values that cannot be compared."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from nephoscope.analysis.lookup import Lookup, grouped, unique
from nephoscope.analysis.usable import UsableCell
from nephoscope.insights.names import in_reading_order, names_of
from nephoscope.insights.words import Draft, keyed, note, plural, say, warning
from nephoscope.model.numbers import Number
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import LowerBoundRow, Statistic, TrialRow
from nephoscope.model.words import NOT_DECIDED, enumeration, named_or_counted

MAX_NAMED = 8
"""With more configurations than this, a sentence counts them instead of naming them."""
WAITING = frozenset({"planned", "running"})
LEFT_OUT = WAITING | {"not needed"}
"""States of trials that may still get a value."""


def gaps(lookup: Lookup) -> Iterator[Draft]:
    """A warning about trials that have not run, one about values that are missing; a note about blocks."""
    waiting = [row for row in lookup[TrialRow] if row.state in WAITING]
    if waiting:
        yield warning(
            "{waiting:count} of {total:counted:planned trial} {waiting:goes:has not run, so no answer includes it|have "
            "not run, so no answer includes them}. `nephoscope run` continues the study where it stopped.",
            numbers={"waiting": len(waiting), "total": len(lookup[TrialRow])},
            trials=[row.trial for row in waiting],
        )
    yield from _no_values(lookup)
    yield from _holes(lookup)


Cells = dict[tuple[str, str], list[TrialRow]]
"""Benchmark and configuration -> trials."""


def _no_values(lookup: Lookup) -> Iterator[Draft]:
    """One warning about all cells without a value of a headline metric, or with one from only some valid trials.

    A cell of which trials still may run is not in it, unless some have failed and none is valid.
    """
    cells = grouped(
        sorted(lookup[TrialRow], key=attrgetter("benchmark", "configuration")),
        lambda row: (row.benchmark, row.configuration),
    )
    valid = {key: [row for row in rows if row.counts] for key, rows in cells.items()}
    without = {
        key: rows for key, rows in cells.items() if not valid[key] and any(row.state not in LEFT_OUT for row in rows)
    }
    some: Cells = {}
    for benchmark, metric in lookup.headlines():
        reported = {row.configuration: row.trials for row in lookup.statistics_of(benchmark, metric.name)}
        for key, rows in valid.items() if reported else ():
            silent = [row for row in rows if key[0] == benchmark and row.trial not in reported.get(key[1], ())]
            if silent:
                (some if key[1] in reported else without).setdefault(key, []).extend(silent)
    numbers: dict[str, Number] = {}
    words: dict[str, Any] = {}
    parts = []
    if without:
        so = plural(len({name for _, name in without}), "it is", "they are")
        parts.append(
            _where(lookup, without, "none", "no valid value", numbers, words) + f", so {so} in no answer there"
        )
    if some:
        parts.append(_where(lookup, some, "some", "a value from only some valid trials", numbers, words))
    trials = [row.trial for rows in (*without.values(), *some.values()) for row in rows]
    if parts:
        yield warning(". ".join(parts) + ".", numbers=numbers, trials=trials, **words)


def _where(lookup: Lookup, cells: Cells, key: str, what: str, numbers: dict[str, Number], words: dict[str, Any]) -> str:
    words[f"of_{key}"] = names = in_reading_order(lookup, {name for _, name in cells})
    words[f"in_{key}"] = unique(benchmark for benchmark, _ in cells)
    numbers[f"trials_{key}"] = len({row.trial for rows in cells.values() for row in rows})
    has = plural(len(names), "has", "have")
    return f"{{of_{key}}} {has} {what} in {{in_{key}}} ({{trials_{key}:counted:trial}})"


def _holes(lookup: Lookup) -> Iterator[Draft]:
    """One note if blocks that ran lack valid trials that others have: then values of one block are not all there."""
    ran = [row for row in lookup[TrialRow] if row.state not in LEFT_OUT]
    cells = {(row.benchmark, row.configuration) for row in ran}
    has_valid = {(row.benchmark, row.configuration) for row in ran if row.counts}
    if lookup.study.source is not None or len(cells) < 2 or not has_valid:  # a source's runs are in no blocks
        return
    blocks = sorted({row.block for row in ran})
    there = Counter(row.block for row in _once(ran) if row.counts and (row.benchmark, row.configuration) in has_valid)
    holes = [block for block in blocks if there[block] < len(has_valid)]
    if holes:
        yield note(
            "{holes:count} of {blocks:counted:block} {holes:goes:lacks|lack} a valid trial of some configuration, so "
            "configurations have values from different blocks.",
            numbers={"holes": len(holes), "blocks": len(blocks)},
            trials=[row.trial for row in ran if row.block in holes],
        )


def _once(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """At most one row for each configuration, benchmark and block: a valid one if there is one."""
    found: dict[tuple[str, str, int], TrialRow] = {}
    for row in sorted(rows, key=lambda row: not row.counts):
        found.setdefault((row.benchmark, row.configuration, row.block), row)
    return list(found.values())


def exclusions(lookup: Lookup) -> Iterator[Draft]:
    """One sentence about all trials that ran; each excluded trial is counted under one reason."""
    ran = [row for row in lookup[TrialRow] if row.state not in LEFT_OUT]
    excluded = grouped((row for row in ran if not row.counts), _reason)
    total, ids = len(ran), [row.trial for rows in excluded.values() for row in rows]
    if ran and not excluded:
        those = "trials" if total == len(lookup[TrialRow]) else "trials that ran"
        ending = "The only trial that ran is valid." if total == 1 else f"All {{total:count}} {those} are valid."
        yield note(ending, numbers={"total": total}, trials=[row.trial for row in ran])
    elif ran:
        numbers: dict[str, float] = {"total": total, "excluded": len(ids)}
        words: dict[str, str] = {}
        by_number = sorted(excluded.items(), key=lambda item: (-len(item[1]), item[0]))
        for key, (reason, rows) in keyed(by_number):
            numbers[f"count_{key}"], words[f"reason_{key}"] = len(rows), reason
        parts = [f"{{count_{key}:count}} {{reason_{key}}}" for key, _ in keyed(by_number)]
        yield warning(
            "{excluded:count} of {total:counted:trial} {excluded:goes:is|are} not valid and excluded from all "
            f"statistics: {enumeration(parts)}.",
            numbers=numbers,
            trials=ids,
            **words,
        )


def _reason(row: TrialRow) -> str:
    if row.state != "finished":
        return row.state
    checks = sorted({*row.rejected_by})
    if row.verdict is VerdictKind.INVALID:
        return f"rejected by {enumeration(checks)}" if checks else "rejected"
    return f"with an unknown verdict from {enumeration(checks)}" if checks else "without a verdict"


MAX_NAMED_ALTERED = 3
"""Trials whose files a sentence names; `status` and the table of excluded trials name all."""


def altered(lookup: Lookup) -> Iterator[Draft]:
    """A warning about all altered trials with their files, and a note about trials without digests."""
    found = [row for row in lookup[TrialRow] if row.state == "altered"]
    if found:
        named = [f"{row.trial} ({'; '.join(map(str, row.reasons))})" for row in found[:MAX_NAMED_ALTERED]]
        more = len(found) - MAX_NAMED_ALTERED
        yield warning(
            "{altered:counted:trial} {altered:goes:is|are} left out because stored files changed after the "
            f"measurement: {{named}}{' and {more:count} more' if more > 0 else ''}. Restore the files from a copy; "
            "`nephoscope verify` lists them all.",
            numbers={"altered": len(found), "more": more},
            trials=[row.trial for row in found],
            named=enumeration(named) if more <= 0 else ", ".join(named),
        )
    ended = [row for row in lookup[TrialRow] if row.has_digests is not None]
    without = [row.trial for row in ended if not row.has_digests]
    if without:
        yield note(
            "{without:count} of {ended:counted:trial} {without:goes:was|were} stored without digests: later changes of "
            "{without:goes:its|their} files would go unnoticed.",
            numbers={"without": len(without), "ended": len(ended)},
            trials=without,
        )


MAX_CELLS = 5
"""With more cells than this, only those that lost most are named."""


def usable(lookup: Lookup) -> Iterator[Draft]:
    """One sentence about the study and one about each cell with trials that cannot be used, the worst first.

    Silent where all can be used, and for imports, which nobody here can repeat.
    """
    lost = lookup[UsableCell]
    if not lost:
        return
    yield warning(
        "Usable: {usable:count} of {planned:counted:trial}."
        + (
            " {cells:count} cells lost some; the worst follow, and `nephoscope status DIR` names all."
            if len(lost) > MAX_CELLS
            else ""
        ),
        numbers={
            "usable": sum(row.counts for row in lookup[TrialRow]),
            "planned": sum(row.state != "not needed" for row in lookup[TrialRow]),
            "cells": len(lost),
        },
        trials=[trial for cell in lost for group in cell.unusable for trial in group.trials],
    )
    yield from map(_cell, lost[:MAX_CELLS])


def _cell(cell: UsableCell) -> Draft:
    """As `sentence` of the command line, with its numbers by name."""
    numbers: dict[str, float] = {"usable": cell.usable, "planned": cell.planned}
    words: dict[str, str] = {}
    for key, group in keyed(cell.unusable):
        numbers[f"count_{key}"], words[f"why_{key}"] = len(group.trials), str(group.why)
    parts = [f"{{count_{key}:count}} {{why_{key}}}" for key, _ in keyed(cell.unusable)]
    return warning(
        "{benchmark_name} on {name}: {usable:count} of {planned:count} usable "
        f"({', '.join(parts)}). {{repair}}",
        numbers=numbers,
        trials=[trial for group in cell.unusable for trial in group.trials],
        benchmark=cell.benchmark,
        name=cell.configuration,
        repair=" ".join(dict.fromkeys(group.repair() for group in cell.unusable)),
        **words,
    )


def lower_bounds(lookup: Lookup) -> Iterator[Draft]:
    """A warning that counts them and names the first."""
    rows = sorted(lookup[LowerBoundRow], key=attrgetter("benchmark", "metric", "configuration"))
    if rows:
        first = rows[0]
        yield warning(
            "{count:counted:value is|values are} only known to be above what the tool can tell, and in no mean, ratio "
            "or rank: {title} in {of} on {name} {sign} {above:limit} {unit}"
            + (" and {more:count} more." if len(rows) > 1 else "."),
            numbers={"count": len(rows), "above": first.value.written, "more": len(rows) - 1},
            trials=[trial for row in rows for trial in row.trials],
            title=lookup.title(first.benchmark, first.metric),
            of=first.benchmark,
            name=names_of(lookup)[first.configuration],
            sign=first.value.sign,
            unit=first.unit,
        )


def claims(lookup: Lookup) -> Iterator[Draft]:
    """One sentence for all metrics; a warning if it is about a headline metric, which then has no answer."""
    headlines = {(benchmark, metric.name) for benchmark, metric in lookup.headlines()}
    rows = [
        row
        for row in lookup[Statistic]
        if not row.per_cpu and row.minimum <= 0 and len(lookup.statistics_of(row.benchmark, row.metric)) > 1
    ]
    titled = grouped(rows, lambda row: f"{lookup.title(row.benchmark, row.metric)} in {row.benchmark}")
    if rows:
        yield say(
            "warning" if any((row.benchmark, row.metric) in headlines for row in rows) else "note",
            "{count:counted:metric has|metrics have} zero or negative values, whose ratios mean nothing, and "
            "{count:goes:is|are} not compared there: {metrics}.",
            numbers={"count": len(titled)},
            trials=[trial for row in rows for trial in row.trials],
            metrics="; ".join(
                f"{title} on {named_or_counted(sorted(row.configuration for row in many), MAX_NAMED)}"
                for title, many in sorted(titled.items())
            ),
        )


def looks(lookup: Lookup) -> Iterator[Draft]:
    """How many trials the looks saved and how their questions ended, and whether they would end so again."""
    skipped = [row.trial for row in lookup[TrialRow] if row.state == "not needed"]
    if not (lookup.study.looks and skipped):
        return
    questions, changed = lookup.study.looks[-1].questions, lookup.study.not_repeatable
    of = Counter(row.state for row in questions)
    numbers: dict[str, Number] = {"skipped": len(skipped), "all": len(lookup[TrialRow])}
    numbers |= {"questions": len(questions), "decided": of["decided"], "tie": of["tie"]}
    numbers |= {"left": of.total() - of["decided"] - of["tie"], "beyond": of["out of reach"]}
    parts = ["{decided:counted:was decided|were decided}"] if of["decided"] else []
    parts += ["{tie:count} ended in a tie"] if of["tie"] else []
    parts += [_not_decided(numbers)] if numbers["left"] else []
    template = (
        "{skipped:count} of {all:count} trials {skipped:goes:was|were} skipped. Of {questions:counted:question}, "
    )
    template += f"{enumeration(parts)}."
    if changed:
        numbers |= {"changed": len(changed), "looks": len(lookup.study.looks), "first": changed[0]}
        template += (
            " From the stored trials, {changed:count} of {looks:counted:look} would come out differently, first the "
            "one after block {first:count}: a trial that they used was repeated or replaced since. The stored looks "
            "are kept."
        )
    yield warning(template, numbers=numbers, trials=[row.trial for row in lookup[TrialRow]] if changed else skipped)


def _not_decided(numbers: Mapping[str, Number]) -> str:
    left, beyond = numbers["left"], numbers["beyond"]
    template = f"{{left:count}} {{left:goes:is|are}} {NOT_DECIDED}"
    if not beyond:
        return template
    some = "" if beyond == left else " ({beyond:count} of them"
    because = " because the remaining replicates could not have decided {beyond:goes:it|them}"
    return template + some + because + (")" if some else "")
