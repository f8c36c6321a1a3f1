"""What a reader should doubt: at most ten points, worst first. Each sums up what evidence.html says one by one."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from nephoscope.analysis.lookup import Lookup, unique
from nephoscope.insights.names import enumerated, metric_title, names_of
from nephoscope.model import numbers as people
from nephoscope.model.looks import Look
from nephoscope.model.records import PlanWarning
from nephoscope.model.rows import Insight
from nephoscope.model.sentence import Sentence
from nephoscope.model.words import NOT_DECIDED, capitalised, counted
from nephoscope.report.parts import Book

MAX_DOUBTS = 10
MANY_PERCENT = 200.0
"""From here on people say 'times'."""
_OF_THE_PLAN_ALONE = frozenset({"prices", "placement"})
"""Warnings of prices from elsewhere and of placement: a line below the cards reports the last."""
MAX_WORDS = 45
"""A longer sentence of the analysis is not repeated here."""


@dataclass(frozen=True)
class Doubt:
    """One point, and where all that it sums up stands."""

    text: str
    href: str
    label: str


Say = Callable[[Lookup, Sequence[Insight]], str]
"""All insights of one rule -> one or two sentences; empty if they are nothing to doubt."""


def doubts(book: Book) -> list[Doubt]:
    """The points of all rules in the order of `SAID`, then what the plan warned of."""
    study = book.lookup.study
    by_rule: dict[str, list[Insight]] = defaultdict(list)
    for insight in study.insights:
        if insight.kind != "answer" or insight.rule in TOLD_AS_ANSWERS:
            by_rule[insight.rule].append(insight)
    found = []
    for rule, say in SAID.items():
        rows = by_rule.get(rule, [])
        text = say(book.lookup, rows) if rows else ""
        if text:
            found.append(_doubt(book, text, rows))
    found += _of_the_plan(book, study.plan.warnings)
    return found[:MAX_DOUBTS]


def plan_notes(every: Sequence[PlanWarning]) -> list[PlanWarning]:
    """What the plan warned of that concerns results or prices; readers of results need not know how long it took."""
    return [warning for warning in every if warning.kind != "hours"]


def _doubt(book: Book, text: str, rows: Sequence[Insight]) -> Doubt:
    if len(rows) == 1:
        evidence = book.evidence.cite(rows[0].trials, f"insight “{rows[0].rule}”")
        if evidence is not None:
            return Doubt(text, book.href(evidence.anchor), counted(len(evidence.trials), "trial"))
    anchor = {"warning": "warnings", "note": "notes", "answer": "answers"}[rows[0].kind]
    return Doubt(text, book.href(anchor), f"show all {len(rows):,} {rows[0].kind}s" if len(rows) > 1 else "details")


def _of_the_plan(book: Book, every: Sequence[PlanWarning]) -> list[Doubt]:
    """What the plan warned of that concerns results; those of prices and placement are on the page of evidence only."""
    warnings = [str(warning) for warning in plan_notes(every) if warning.kind not in _OF_THE_PLAN_ALONE]
    if not warnings:
        return []
    more = f" The plan had {counted(len(warnings) - 1, 'more warning')}." if len(warnings) > 1 else ""
    first = capitalised(warnings[0]).removesuffix(".")
    return [Doubt(f"{first}.{more}", book.href("warnings"), "details")] if _short(warnings[0]) else [
        Doubt(f"The plan had {counted(len(warnings), 'warning')}.", book.href("warnings"), "details")
    ]  # fmt: skip


def _short(text: Sentence | str) -> bool:
    return len(str(text).split()) <= MAX_WORDS


def _sum(rows: Sequence[Insight], name: str) -> int:
    return int(sum(row.numbers.get(name, 0) for row in rows))


def _most(counts: Mapping[str, float]) -> str:
    """Where most of them are: ', most in fio', ', in fio' or ', in 12 benchmarks'."""
    if not counts:
        return ""
    name, count = max(counts.items(), key=lambda pair: pair[1])
    if len(counts) == 1:
        return f", all in {name}"
    if 2 * count > sum(counts.values()):
        return f", most of them in {name}"
    return f", in {counted(len(counts), 'benchmark')}"


def _by_benchmark(rows: Sequence[Insight], name: str) -> Counter[str]:
    found: Counter[str] = Counter()
    for row in rows:
        found[row.benchmark or "the study"] += int(row.numbers.get(name, 1))
    return found


def _configurations(lookup: Lookup, rows: Sequence[Insight]) -> list[str]:
    found = {lookup.trials[trial].configuration for row in rows for trial in row.trials if trial in lookup.trials}
    names = names_of(lookup)
    return [names[name] for name in lookup.configurations if name in found]


def _benchmarks(rows: Sequence[Insight]) -> list[str]:
    return unique(row.benchmark for row in rows if row.benchmark)


def _lower_bounds(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    """How many there are, and the first: 'p95 of a > 103 s'."""
    bounds = lookup.study.lower_bounds
    if not bounds:
        return ""
    first, metric = bounds[0], lookup.metrics.get((bounds[0].benchmark, bounds[0].metric))
    title = metric_title(metric) if metric else first.metric
    more = f" and {len(bounds) - 1:,} more" if len(bounds) > 1 else ""
    return (
        f"{counted(len(bounds), 'value')} {'is' if len(bounds) == 1 else 'are'} only known to be above what the tool "
        f"can tell, and in no ratio or rank: {title} of {first.configuration} {first.value} {first.unit}{more}."
    )


def _as_it_is(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    """The sentence of the analysis, if there is one and it is short; the first and a count otherwise."""
    if not _short(rows[0].text):
        return f"{counted(len(rows), 'remark')} of the rule “{rows[0].rule}”."
    return str(rows[0].text) + (
        f" There {'is' if len(rows) == 2 else 'are'} {len(rows) - 1:,} more." if len(rows) > 1 else ""
    )


def _gaps(lookup: Lookup, rows: Sequence[Insight]) -> str:
    waiting = [str(row.text) for row in rows if row.case == "not run"]
    without = [row for row in rows if row.case == "no value"]
    if without:
        where = enumerated(_benchmarks(without))
        names = enumerated(_configurations(lookup, without))
        waiting.append(f"No valid value, or not all values, in {where}: {names}.")
    return " ".join(waiting)


def _altered(lookup: Lookup, rows: Sequence[Insight]) -> str:
    """That some trials could not be checked is nothing to doubt them for."""
    found = [row for row in rows if row.kind == "warning"]
    return _as_it_is(lookup, found) if found else ""


def _exclusions(lookup: Lookup, rows: Sequence[Insight]) -> str:
    (row,) = rows[:1]
    if row.kind != "warning":
        return ""
    excluded, total = int(row.numbers["excluded"]), int(row.numbers["total"])
    found = Counter(lookup.trials[trial].benchmark for trial in row.trials if trial in lookup.trials)
    where = _most(found)
    return (
        f"{excluded:,} of {counted(total, 'trial')} {'is' if excluded == 1 else 'are'} not valid{where}. "
        "No number uses them."
    )


def _order(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    serial = any(row.case == "serial" for row in rows)
    what = ["the values depend on when they were measured"] if len(rows) > serial else []
    what += ["replicates depend on the one before"] if serial else []
    end = "so intervals may be too narrow" if serial else "which makes intervals wider"
    text = f"{' and '.join(what)}, {end}."
    return text[0].upper() + text[1:]


def _shared(lookup: Lookup, rows: Sequence[Insight]) -> str:
    names = enumerated(_configurations(lookup, rows))
    if any(row.case == "few machines" for row in rows):
        return (
            f"{names} ran on few machines each. The answers compare these machines, not their types: another machine "
            "of the same type may be faster or slower."
        )
    return f"Some of {names} name different machines, but ran on the same one."


def _machines(lookup: Lookup, rows: Sequence[Insight]) -> str:
    trials = counted(_sum(rows, "count"), "trial")
    return (
        f"{trials} of {enumerated(_configurations(lookup, rows))} ran on machines that differ from those of the other "
        "replicates, and so count as configurations of their own."
    )


def _versions(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    return str(rows[0].text) if len(rows) == 1 and _short(rows[0].text) else (
        f"Trials ran with several versions of {counted(len(rows), 'tool')}: a difference may come from a version "
        "rather than from a machine."
    )  # fmt: skip


def _replicates(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    few = [row for row in lookup.headline_statistics if row.more_replicates_needed]
    if not few:
        return ""
    if all(row.n == 1 for row in lookup.headline_statistics):
        return "Every configuration was measured once, so no interval is known."
    least, needed = min(row.n for row in few), max(row.n + row.more_replicates_needed for row in few)
    return (
        f"{counted(len(few), 'median')} {'rests' if len(few) == 1 else 'rest'} on fewer than {needed:,} "
        f"replicates, at the least {least:,}: the interval is only the range of the values."
    )


def _steal(lookup: Lookup, rows: Sequence[Insight]) -> str:
    lost = sorted((row for row in lookup.study.steal if row.over), key=lambda row: -row.share)
    if not lost:
        return str(rows[0].text) if rows[0].kind == "warning" and _short(rows[0].text) else ""
    worst, names = lost[0], names_of(lookup)
    return (
        f"The hypervisor took CPU time from trials of {enumerated([names[row.configuration] for row in lost])}; "
        f"{'most often ' if len(lost) > 1 else ''}{people.share(worst.share)} of those of {names[worst.configuration]}."
    )


def _steadiness(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    restless = _sum(rows, "restless")
    where = _most(_by_benchmark(rows, "restless"))
    return (
        f"{restless:,} of {counted(_sum(rows, 'n'), 'long trial')} {'was' if restless == 1 else 'were'} not in a "
        f"steady state{where}. Use a longer warm-up or longer trials."
    )


def _noise(lookup: Lookup, rows: Sequence[Insight]) -> str:
    own = [row for row in lookup.headline_statistics if row.n > 1]
    margin = lookup.study.equivalence_margin_percent
    wide = [row for row in own if (row.margin_percent or 0) > margin]
    if not wide or not any(row.kind == "warning" for row in rows):
        return ""
    worst = max(wide, key=lambda row: row.margin_percent or 0)
    where = _most(Counter(row.benchmark for row in wide))
    return (
        f"{len(wide):,} of {counted(len(own), 'median')} {'is' if len(wide) == 1 else 'are'} known less "
        f"precisely than the margin of ±{margin:g} %{where}; the worst is ±{people.percent(worst.margin_percent)}, of "
        f"{worst.benchmark} on {names_of(lookup)[worst.configuration]}."
    )


def _outliers(lookup: Lookup, rows: Sequence[Insight]) -> str:
    values = sum(row.n for row in lookup.headline_statistics)
    flagged = _sum(rows, "flagged")
    where = _most(_by_benchmark(rows, "flagged"))
    return f"Outliers in {flagged:,} of {counted(values, 'value')}{where}. They stay in all statistics."


def _gate(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    numbers = rows[0].numbers
    moved = int(numbers.get("moved", 0))
    if not moved:
        return ""
    return (
        f"The checks removed trials from {counted(int(numbers['rows']), 'median')}, and that changed "
        f"{moved:,} of them by more than {numbers['notable']:g} %."
    )


def _colocated(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    share = people.percent(max(row.numbers["median"] for row in rows))
    return (
        f"Client and database shared a machine in {enumerated(_benchmarks(rows))}, and the client took up to {share} "
        "of its CPU time. Compare these numbers with each other, not with numbers from elsewhere."
    )


def _transfer(lookup: Lookup, rows: Sequence[Insight]) -> str:
    """What transfer adds where the machines stood; where it is free there, what another placement would add."""
    stood = [row.numbers["most"] for row in rows if row.case == "stood"]
    most = max(stood or [row.numbers["most_elsewhere"] for row in rows])
    added = people.percent(most) if most < MANY_PERCENT else f"{most / 100:,.0f} times as much"
    if stood:
        return f"Monthly costs leave out transfer between machines. Under load all month it would add up to {added}."
    near = [row for row in lookup.study.transfers if row.way == "same zone" or (row.stood and row.way != "none")]
    if any(row.reason_missing or row.month_usd for row in near):
        return ""
    return (
        f"Under load all month, transfer would add up to {added} to monthly costs if load generator and database were "
        "in different zones; within one zone it is free."
    )


def _caps(lookup: Lookup, rows: Sequence[Insight]) -> str:  # noqa: ARG001  # one of `Say`
    return (
        f"{counted(len(rows), 'rate')} in {enumerated(_benchmarks(rows))} "
        f"{'is' if len(rows) == 1 else 'are'} equal on several machine types: probably a limit of the provider, not of "
        "the machines."
    )


def _looks(lookup: Lookup, rows: Sequence[Insight]) -> str:
    numbers = rows[0].numbers
    if rows[0].case != "left out":
        return _as_it_is(lookup, rows)
    were = "was" if numbers["left_out"] == 1 else "were"
    text = f"{numbers['left_out']:,.0f} of {numbers['total']:,.0f} trials {were} skipped."
    if lookup.study.looks:
        text += f" {_outcomes(lookup.study.looks[-1])}"
    return text + ("" if len(rows) == 1 else " Some of these decisions would differ today.")


def _outcomes(look: Look) -> str:
    """How its questions ended: 'Of 125 questions, 93 were decided, 12 ended in a tie and 20 are not decided'."""
    of = Counter(row.state for row in look.questions)
    left = of.total() - of["decided"] - of["tie"]
    said = {
        "was decided" if of["decided"] == 1 else "were decided": of["decided"],
        "ended in a tie": of["tie"],
        f"{'is' if left == 1 else 'are'} {NOT_DECIDED}" + _out_of_reach(of["out of reach"], left): left,
    }
    parts = [f"{count:,} {words}" for words, count in said.items() if count]
    listed = f"{', '.join(parts[:-1])}, and {parts[-1]}" if len(parts) > 2 else " and ".join(parts)
    return f"Of {counted(len(look.questions), 'question')}, {listed}."


def _out_of_reach(count: int, of: int) -> str:
    if not count:
        return ""
    some = "" if count == of else f", {count:,} of them"
    return f"{some} because the remaining replicates could not have decided {'it' if count == 1 else 'them'}"


TOLD_AS_ANSWERS = frozenset({"steal", "gate"})
"""Rules that state a doubt as an answer."""
SAID: Mapping[str, Say] = {
    "gaps": _gaps,
    "altered": _altered,
    "exclusions": _exclusions,
    "lower_bounds": _lower_bounds,
    "order": _order,
    "shared_machines": _shared,
    "machines": _machines,
    "versions": _versions,
    "encryption": _as_it_is,
    "replicates": _replicates,
    "steal": _steal,
    "looks": _looks,
    "steadiness": _steadiness,
    "gate": _gate,
    "noise": _noise,
    "colocated": _colocated,
    "unobserved": _as_it_is,
    "price_age": _as_it_is,
    "outliers": _outliers,
    "caps": _caps,
    "transfer": _transfer,
}
"""Rule -> how its insights are summed up; the worst first. Other rules state nothing to doubt."""
