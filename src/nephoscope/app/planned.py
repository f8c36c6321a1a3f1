"""A plan in words: a summary of a few lines, its trials in groups, its bill and the quotas that it needs. Pure."""

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import fsum

from nephoscope.model.numbers import duration, money
from nephoscope.model.records import Omission, Plan, PlannedTrial, TrialIntent
from nephoscope.model.units import GIB, SECONDS_PER_DAY, SECONDS_PER_HOUR, SECONDS_PER_MINUTE
from nephoscope.model.words import counted, named_or_counted
from nephoscope.plan.bill import FULL_BLOCKS, LATER_SHARE, Bill, BillRow, KeptData, Loads, Spend
from nephoscope.plan.calendar import Calendar
from nephoscope.plan.cut import Cut, LeftOut
from nephoscope.plan.next_dollars import Purchase
from nephoscope.plan.quotas import RegionNeeds
from nephoscope.plan.transfer import DATABASE_GBIT_PER_S, NETWORK_GBIT_PER_S, TransferSpend
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


WIDTH = 80
_HEADERS = ("", "trials", "creating", "loading", "measuring", "total")
_LABEL_WIDTH, _TRIALS_WIDTH, _CELL_WIDTH = 12, 8, 13
_FEW_HOURS = 10
_NOTHING = "-"
_PARTS = {"creating": "creating clusters", "loading": "loading data", "measuring": "measuring"}


def bill_lines(bill: Bill) -> Iterator[str]:
    """Where hours and dollars go; nothing if no machines are created and so everything is measuring."""
    if not bill.total.creating.time_s:
        return
    yield from _basis(bill)
    yield ""
    yield _cells(_HEADERS)
    rows = bill.chapters if len(bill.chapters) == 1 else [*bill.chapters, bill.total]
    for row in rows:
        yield from _row(row)
    yield ""
    yield from _wrapped(
        f"the hours are cluster hours: {_hours(bill.total.total.time_s)} in all; machine hours: "
        f"{_hours(bill.machine_time_s)}"
    )
    yield from _wrapped(_dominates(bill.total))
    if bill.calendar:
        yield from _wrapped(_calendar(bill.calendar))
    if bill.loads is not None:
        yield from _wrapped(_loads(bill.loads))
    yield from _kept(bill.kept)
    yield from _transfers(bill.transfers)


def transfer_words(transfers: Sequence[TransferSpend]) -> str:
    """'plus at most $448 for transfer (azure, between zones of eastus: no price)'; empty if there is none."""
    if not transfers:
        return ""
    unknown = [f"{one.provider}, between {_places(one)}" for one in transfers if one.usd is None]
    usd = fsum(one.usd for one in transfers if one.usd is not None)
    lacks = f" ({'; '.join(unknown)}: no price)" if unknown else ""
    most = "" if len(unknown) == len(transfers) else f"at most {_usd(usd)} for "
    return f"plus {most}transfer{lacks}"


def stop_lines(plan: Plan, bill: Bill) -> Iterator[str]:
    """The bill of a study that stops by itself, beside the full one."""
    decided = bill.decided
    if decided is None:
        return
    trials = counted(decided.trials, "trial")
    if plan.stop == "decided":
        yield from _wrapped(
            f'These are upper limits. stop = "decided" will probably measure about {trials} in '
            f"{_spent(decided.expected)}: {FULL_BLOCKS} full blocks, then {LATER_SHARE * 100:.0f} % of the rest (the "
            "share in a study of three clouds' CPUs). The closer your best configurations are to each other, the more "
            "it measures."
        )
    elif bill.total.creating.time_s:
        yield from _wrapped(
            f'stop = "decided" would save about {_spent(decided.saved)}: it is expected to measure {trials}'
        )


def placement_lines(saved: Spend | None) -> Iterator[str]:
    """What the benchmarks of a configuration would save if they shared machines."""
    if saved is not None:
        yield from _wrapped(
            f'placement = "per-replicate" would save {_spent(saved)}: the benchmarks of a configuration would share '
            "the machines of their replicate"
        )


def host_lines(calendar: Calendar | None) -> Iterator[str]:
    """What hosts that work at the same time would save."""
    if calendar is not None:
        yield from _wrapped(
            f"--max-clusters {calendar.clusters} would take {duration(round(calendar.time_s))}: so many clusters have "
            "no host in common. Do so if they share no hardware, such as a network link or the server of virtual "
            "machines."
        )


def quota_lines(needs: Sequence[RegionNeeds], clusters: int) -> Iterator[str]:
    """A paragraph for each region of each cloud."""
    if not needs:
        return
    yield f"quotas, at most, for {counted(clusters, 'cluster')} at once (--max-clusters):"
    for region in needs:
        yield from _wrapped(f"{region.provider} {region.region}: {'; '.join(_needs(region))}", indent="  ")


def _needs(region: RegionNeeds) -> Iterator[str]:
    by_amount: dict[int, list[str]] = defaultdict(list)
    for quota, amount in region.vcpus.items():
        by_amount[amount].append(quota)
    for amount, quotas in sorted(by_amount.items(), reverse=True):
        yield f"{counted(amount, 'vCPU')} {'each ' if len(quotas) > 1 else ''}of {', '.join(quotas)}"
    for volume in region.volumes:
        iops = f", {volume.iops:,.0f} IOPS" if volume.iops else ""
        yield f"{volume.count:,} × {volume.kind}, {volume.size:,.0f} {_SIZES.get(region.provider, 'GiB')}{iops}"
    if region.addresses:
        yield counted(region.addresses, "public address", "public addresses")
    if region.unknown:
        yield f"and the vCPUs of {', '.join(region.unknown)}, whose names do not say how many"


_SIZES: Mapping[str, str] = {"gcp": "GB"}
"""Provider -> the unit in which it counts the size of volumes; GiB elsewhere."""


def _basis(bill: Bill) -> Iterator[str]:
    """'dollars: on-demand prices in us-east-1, eastus'; what they cover and their sources are in the JSON."""
    if bill.listed_in:
        yield from _wrapped(f"dollars: on-demand prices of machines and their volumes in {', '.join(bill.listed_in)}")
    for stated in bill.stated:
        yield from _wrapped(f"dollars: {stated}")


def _calendar(calendar: Sequence[Calendar]) -> str:
    """'from start to end: 167 days with 1 cluster at once, 7.1 days with 24'."""
    first, *others = calendar
    said = f"from start to end: {_days(first.time_s)} with {counted(first.clusters, 'cluster')} at once"
    return ", ".join([said, *(f"{_days(one.time_s)} with {one.clusters}" for one in others)])


def _dominates(total: BillRow) -> str:
    """The largest part, by dollars if they are known, else by hours."""
    whole = total.total
    parts = {"creating": total.creating, "loading": total.loading, "measuring": total.measuring}
    if whole.usd:
        name, part = max(parts.items(), key=lambda one: one[1].usd or 0.0)
        most = f"{(part.usd or 0) / whole.usd:.0%} of the dollars, {part.time_s / whole.time_s:.0%} of the hours"
    else:
        name, part = max(parts.items(), key=lambda one: one[1].time_s)
        most = f"{part.time_s / whole.time_s:.0%} of the hours"
    measured = (
        "" if name == "measuring" else f"; measuring takes {total.measuring.time_s / whole.time_s:.0%} of the hours"
    )
    return f"{_PARTS[name]} takes the most: {most}{measured}"


def _transfers(transfers: Sequence[TransferSpend]) -> Iterator[str]:
    """What is left out of the dollars, and the most that it could be."""
    if not transfers:
        return
    yield from _wrapped(
        f"The dollars do not include transfer. It costs at most this, if databases send {DATABASE_GBIT_PER_S} Gbit/s "
        f"all the time, and benchmarks that fill the network {NETWORK_GBIT_PER_S} Gbit/s:"
    )
    for one in transfers:
        ends = ", at both ends" if one.both_ends else ""
        cost = (
            f"unknown: {one.reason_missing}"
            if one.usd is None or one.price_usd is None
            else f"{_usd(one.usd)} (${one.price_usd:g} per {one.unit}{ends})"
        )
        trials = counted(one.trials, "trial")
        yield from _wrapped(f"{one.provider}, between {_places(one)}, {trials}: {cost}", indent="  ")


def _places(one: TransferSpend) -> str:
    return f"zones of {one.here}" if one.here == one.there else f"{one.here} and {one.there}"


def _loads(loads: Loads) -> str:
    said = f"{counted(loads.trials, 'trial')} need{'s' if loads.trials == 1 else ''} a loaded data set. " + (
        f"{loads.loads:,} of them load{'s' if loads.loads == 1 else ''} it" if loads.saved.time_s else "Each loads it"
    )
    if loads.saved.time_s:
        said += f"; the others restore it, which saves {_spent(loads.saved)}"
    said += f". Making each trial's copy takes {_spent(loads.restoring)} in all."
    if loads.avoidable.time_s:
        where = ", ".join(loads.avoidable_at)
        said += f" `database.fixtures` on {where} would save {_spent(loads.avoidable)} more."
    return said


def _kept(kept: Sequence[KeptData]) -> Iterator[str]:
    if not kept:
        return
    yield from _wrapped(
        "Data sets are kept for the next study until `nephoscope fixtures` deletes them. The dollars do not include "
        "this; at list prices it is at most:"
    )
    for one in kept:
        sets, size_gib = counted(one.data_sets, "data set"), one.size_bytes / GIB
        yield from _wrapped(f"{one.where}: {sets}, {size_gib:,.0f} GiB, {_usd(one.usd_per_month)} a month", indent="  ")


def _spent(spend: Spend) -> str:
    usd = "" if spend.usd is None else f" and {_usd(spend.usd)}"
    return f"{_hours(spend.time_s)}{usd}"


def _row(row: BillRow) -> Iterator[str]:
    parts = (row.creating, row.loading, row.measuring, row.total)
    yield _cells((row.chapter, f"{row.trials:,}", *(_hours(part.time_s) for part in parts)))
    if row.total.usd is not None:
        yield _cells(("", "", *(_usd(part.usd) for part in parts)))


def _cells(cells: Sequence[str]) -> str:
    label, trials, *parts = cells
    return f"{label:{_LABEL_WIDTH}}{trials:>{_TRIALS_WIDTH}}" + "".join(f"{part:>{_CELL_WIDTH}}" for part in parts)


def _hours(seconds: float) -> str:
    """'12 min', '3.5 h', '2,410 h'."""
    if not seconds:
        return _NOTHING
    if seconds < SECONDS_PER_HOUR:
        return f"{seconds / SECONDS_PER_MINUTE:.0f} min"
    hours = seconds / SECONDS_PER_HOUR
    return f"{hours:.1f} h" if hours < _FEW_HOURS else f"{hours:,.0f} h"


def _days(seconds: float) -> str:
    """'583 days', '7.1 days'; shorter times in hours."""
    if seconds < SECONDS_PER_DAY:
        return _hours(seconds)
    days = seconds / SECONDS_PER_DAY
    return f"{days:.1f} days" if days < _FEW_HOURS else f"{days:,.0f} days"


def _usd(usd: float | None) -> str:
    """Whole dollars, as these are estimates; cents below ten."""
    if not usd:
        return _NOTHING
    return f"${usd:,.2f}" if usd < _FEW_HOURS else f"${usd:,.0f}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    more = f"{indent}  "
    return textwrap.wrap(text, WIDTH, initial_indent=indent, subsequent_indent=more, break_on_hyphens=False)
