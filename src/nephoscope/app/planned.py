"""A plan in words: a summary of a few lines, and its trials in groups. Pure."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from nephoscope.model.numbers import duration, money
from nephoscope.model.records import Omission, Plan, PlannedTrial, TrialIntent
from nephoscope.model.words import counted, named_or_counted
from nephoscope.plan.calendar import Calendar
from nephoscope.plan.cut import Cut, LeftOut
from nephoscope.plan.next_dollars import Purchase
from nephoscope.study.managed import MANAGED

HEADERS = ("benchmark", "trials", "each, mean", "total", "cost")
ROW_HEADERS = ("#", "block", "configuration", "benchmark", "replicate", "takes", "trial")
_UNKNOWN = "-"
_MAX_REASONS = 3
"""Names, and reasons for no price, that one line holds."""


def in_one_line(plan: Plan, calendar: Calendar | None = None) -> str:
    """'24 trials, about 4 min 00 s, one trial after another; $2.40'; `calendar` as for `summary`."""
    return f"{counted(len(plan.trials), 'trial')}, about {_time(plan, calendar)}; {_price(plan)}"


def summary(plan: Plan, transfer: str = "", calendar: Calendar | None = None) -> Iterator[str]:
    """What it measures, how long that takes, what it costs, and how many machines a cluster has.

    Args:
        plan: the plan.
        transfer: what comes on top of its dollars, in words; empty: nothing.
        calendar: how long it takes with the clusters that `run` uses at once; None: one.
    """
    intents = [trial.intent for trial in plan.trials]
    configurations = len({intent.configuration_name for intent in intents})
    benchmarks = len({intent.benchmark.name for intent in intents})
    replicates = len({intent.replicate for intent in intents})
    with_benchmarks = counted(benchmarks, "benchmark")
    if len(intents) < configurations * benchmarks * replicates:
        with_benchmarks = f"each with some of {with_benchmarks}"
    yield (
        f"{counted(len(intents), 'trial')} ({counted(configurations, 'configuration')}, {with_benchmarks}, "
        f"{counted(replicates, 'replicate')})"
    )
    more = f", {transfer}" if transfer else ""
    yield f"about {_time(plan, calendar)}; {_price(plan)}{more}"
    sizes = [_machines(intent) for intent in intents] or [0]
    machines = f"{min(sizes)} to " * (min(sizes) < max(sizes)) + counted(max(sizes), "machine")
    yield f"Each cluster has {machines}; --max-clusters sets how many run at the same time."


def left_out_lines(left_out: Sequence[LeftOut], cut: Cut) -> Iterator[str]:
    """What the budget of a part does not pay for, by chapter, what is left out entirely first."""
    if not left_out:
        return
    by_chapter: dict[tuple[str, int, int], list[str]] = {}
    for one in sorted(left_out, key=lambda one: one.configurations > 0):
        by_chapter.setdefault((one.chapter, one.configurations, one.of_configurations), []).append(one.benchmark)
    yield f"{money(cut.budget_usd or 0.0)} do not pay for all of it. Left out:"
    for (chapter, kept, whole), names in by_chapter.items():
        what = f"{whole - kept:,} of" if kept else "all"
        yield f"  {chapter}: {', '.join(names)} on {what} {counted(whole, 'configuration')}"
    if not cut.only:
        yield f"To keep a chapter, spend the budget on it alone: --only {min(left_out, key=_kept_share).chapter}"


def purchase_lines(bought: Sequence[Purchase], cut: Cut, planned: Plan) -> Iterator[str]:
    """What the rest of a budget would buy."""
    if not bought:
        return
    rest_usd = (cut.budget_usd or 0.0) - (planned.price_usd or 0.0)
    yield f"{money(rest_usd)} of {money(cut.budget_usd or 0.0)} are left. They would pay for one of:"
    for one in bought:
        each = f"{money(one.usd)} each" if one.what == "replicates" else f"about {money(one.usd)}"
        yield {
            "replicates": f"  {counted(one.count, 'more replicate')} of everything, {each}: `replicates` of the study",
            "load": f"  a second load, if it is as dear as {one.benchmark}: {each}",
            "database machines": f"  three database machines instead of fewer: {each}: `database_machine.count`",
            "region": f"  the same in another region: {each}",
        }[one.what]


def _kept_share(one: LeftOut) -> float:
    return one.configurations / one.of_configurations


def groups(plan: Plan) -> Iterator[tuple[str, ...]]:
    """A row for each benchmark; see `HEADERS`."""
    in_order = sorted(plan.trials, key=lambda trial: trial.intent.benchmark.name)
    for name, group in groupby(in_order, key=lambda trial: trial.intent.benchmark.name):
        yield _group(name, list(group))


def rows(plan: Plan) -> Iterator[tuple[str, ...]]:
    """A row for each trial, in the order of the plan; see `ROW_HEADERS`."""
    for trial in plan.trials:
        intent = trial.intent
        yield (
            *(str(intent.position), str(intent.block), intent.configuration_name, intent.benchmark.name),
            *(str(intent.replicate), duration(round(trial.expected_duration_s)), intent.id),
        )


def _group(name: str, trials: list[PlannedTrial]) -> tuple[str, ...]:
    total_s = sum(trial.expected_duration_s for trial in trials)
    prices_usd = [trial.price_usd for trial in trials if trial.price_usd is not None]
    cost = money(sum(prices_usd)) if len(prices_usd) == len(trials) else _UNKNOWN
    return name, f"{len(trials):,}", duration(round(total_s / len(trials))), duration(round(total_s)), cost


def _time(plan: Plan, calendar: Calendar | None) -> str:
    """'29 min 00 s with 18 clusters at once, 8 h 39 min one trial after another'."""
    one_by_one = duration(round(plan.expected_duration_s))
    if calendar is None or calendar.clusters == 1:
        return f"{one_by_one}, one trial after another"
    clusters = counted(calendar.clusters, "cluster")
    return f"{duration(round(calendar.time_s))} with {clusters} at once, {one_by_one} one trial after another"


def _price(plan: Plan) -> str:
    if plan.price_usd is not None:
        return money(plan.price_usd)
    return "not priced" + (f" ({_reasons(plan.unpriced)})" if plan.unpriced else "")


def _reasons(unpriced: Sequence[Omission]) -> str:
    """'a and b: local machine: no price given'; each reason once."""
    names: dict[str, list[str]] = {}
    for one in unpriced:
        names.setdefault(str(one.why), []).append(one.configuration)
    told = [f"{named_or_counted(those, _MAX_REASONS)}: {reason}" for reason, those in names.items()]
    return "; ".join(told[:_MAX_REASONS]) + (
        f"; and {len(told) - _MAX_REASONS} more" if len(told) > _MAX_REASONS else ""
    )


def _machines(intent: TrialIntent) -> int:
    """Of one cluster of a trial."""
    ours = ("load_machine",) if intent.configuration["provider"] == MANAGED else ("database_machine", "load_machine")
    roles = [intent.configuration.get(role) for role in ours]
    return sum(int(role["count"]) for role in roles if role) or 1
