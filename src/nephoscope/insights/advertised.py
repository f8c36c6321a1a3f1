"""You get what you pay for: what providers advertise of networks and volumes, against what was measured."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, get_args

from nephoscope.analysis.equal_benchmarks import Distance, distance
from nephoscope.analysis.lookup import Lookup, grouped, headlines
from nephoscope.analysis.promised import PromisedRow, sold_volume
from nephoscope.insights.names import title_in_sentence
from nephoscope.insights.words import Draft, note, quantity_style
from nephoscope.model.numbers import Between, Number, scale_for
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow, MeasurementRow, Statistic
from nephoscope.model.subjects import Subject
from nephoscope.model.units import KIB, SECONDS_PER_HOUR
from nephoscope.model.words import provider_name
from nephoscope.prices.catalogue.advertised import Advertised, bandwidth
from nephoscope.stats.change_points import plateaus, throttling
from nephoscope.stats.shortfalls import LEAST

LARGEST_IO_BYTES = 16 * KIB
"""Providers count a larger I/O as several."""
CAPPED = 1.01
"""A rate whose fastest second is at most this much above its median second was held there."""
Words = dict[str, Sequence[str]]
_WORDS = {"provisioned": "", "up to": "up to ", "baseline": "a baseline of "}


@dataclass(frozen=True)
class Fall:
    """What one trial sent before and after it was throttled, and for how long before."""

    burst: float
    burst_s: float
    sustained: float


@dataclass(frozen=True)
class Delivery:
    """One configuration: the rate that is advertised, and what was measured."""

    configuration: str
    provider: str
    item: str
    """The machine type, or the kind of volume."""
    advertised: Advertised
    metric: Metric
    statistic: Statistic
    distance: Distance = "within a zone"
    """Of both ends of a network."""
    is_capped: bool = False
    falls: tuple[Fall, ...] = ()
    watched: int = 0
    """Trials of which every second is known."""

    @property
    def share(self) -> Between:
        """Measured, of what is advertised."""
        level = self.statistic.compared
        return Between(*(end / self.advertised.value for end in (level.value, level.low, level.high)))

    @property
    def job(self) -> str:
        """What a volume was measured by: 'random reads of 4 KiB, queue depth 32, I/O rate'."""
        title = title_in_sentence(self.metric)
        return title[:1].lower() + title[1:]

    @property
    def is_throttled(self) -> bool:
        """In at least half of its trials."""
        return bool(self.falls) and 2 * len(self.falls) >= self.watched


def deliveries(lookup: Lookup, row: BenchmarkRow) -> list[Delivery]:
    """In the order of the study; empty for other subjects, and where nothing is known of what was sold."""
    found = {Subject.NETWORK: _of_network, Subject.STORAGE: _of_volumes}.get(row.subject)
    return [] if found is None else list(found(lookup, row))


def _of_network(lookup: Lookup, row: BenchmarkRow) -> Iterator[Delivery]:
    for metric in headlines(row):
        if metric.unit != "bit/s":
            continue
        fastest, middle = (
            {one.configuration: one.compared.value for one in lookup.statistics_of(row.benchmark, metric.name + end)}
            for end in ("_max_1s", "_median_1s")
        )
        each = _by_trial(lookup, row, metric)
        for one in lookup.statistics_of(row.benchmark, metric.name):
            machine = lookup.described.get(one.configuration)
            if machine is None or machine.machine_type is None:
                continue
            asked: Mapping[str, Any] = lookup.asked.get(one.configuration, {})
            limit = ((asked.get("database_machine") or {}).get("emulated") or {}).get("network_gbps")
            sold = None if limit is None else Advertised(limit * 1e9, "provisioned")
            sold = sold or bandwidth(machine.provider, machine.machine_type, machine.vcpus)
            if sold is None or sold.kind == "baseline":  # a short trial is above it, whatever the type is sold as
                continue
            name = one.configuration
            seconds = [sorted(values, key=lambda value: value.at_s or 0.0) for values in each.get(name, {}).values()]
            yield Delivery(
                name,
                machine.provider,
                machine.machine_type,
                sold,
                metric,
                one,
                distance=distance(asked),
                is_capped=name in fastest and fastest[name] <= CAPPED * middle.get(name, 0.0),
                falls=tuple(fall for values in seconds if (fall := _fall(values))),
                watched=len(seconds),
            )


def _by_trial(lookup: Lookup, row: BenchmarkRow, metric: Metric) -> Mapping[str, Mapping[str, list[MeasurementRow]]]:
    """Configuration -> valid trial -> its values."""
    found: dict[str, dict[str, list[MeasurementRow]]] = defaultdict(lambda: defaultdict(list))
    for one in lookup.series.get((row.benchmark, metric.name), ()):
        if one.valid:
            found[one.configuration][one.trial].append(one)
    return found


def _fall(seconds: Sequence[MeasurementRow]) -> Fall | None:
    """None if the rate of one trial never fell for good."""
    values = [one.value for one in seconds]
    fell = throttling(values, plateaus(values))
    if fell is None:
        return None
    burst_s = (seconds[fell.start].at_s or 0.0) - (seconds[0].at_s or 0.0)
    return Fall(fell.burst_level, burst_s, fell.sustained_level)


def _of_volumes(lookup: Lookup, row: BenchmarkRow) -> Iterator[Delivery]:
    """All by one job: that with the most I/Os per second over all, of those whose I/Os providers count as one."""
    jobs: list[tuple[Metric, list[Statistic]]] = []
    for metric in row.metrics:
        sizes = lookup.statistics_of(row.benchmark, metric.name.removesuffix("iops") + "bandwidth")
        bytes_per_s = {one.configuration: one.compared.value for one in sizes}
        found = lookup.statistics_of(row.benchmark, metric.name) if metric.unit == "IO/s" else []
        largest = (bytes_per_s.get(one.configuration, 0.0) / one.compared.value for one in found)
        if found and max(largest) <= LARGEST_IO_BYTES * (1 + 1e-6):
            jobs.append((metric, found))
    if not jobs:
        return
    metric, found = max(jobs, key=lambda job: sum(one.compared.value for one in job[1]))
    for one in found:
        machine = lookup.described.get(one.configuration)
        sold = sold_volume(lookup.asked.get(one.configuration, {}))
        if machine is not None and sold is not None:
            yield Delivery(one.configuration, machine.provider, *sold, metric, one)


def advertised(lookup: Lookup) -> Iterator[Draft]:
    """A note for each provider's networks, within a zone and between regions, and for its volumes."""
    for row in lookup.study.benchmarks:
        groups = grouped(deliveries(lookup, row), lambda one: (one.provider, one.distance))
        nearest_first = sorted(groups, key=lambda group: get_args(Distance).index(group[1]))
        yield from (sentence(lookup, row, groups[group]) for group in nearest_first)


def sentence(lookup: Lookup, row: BenchmarkRow, group: Sequence[Delivery]) -> Draft:
    """How many reached what is advertised, which did not, and which were throttled; one provider, one kind of place."""
    margin = lookup.study.equivalence_margin_percent / 100
    lowest = sorted(group, key=lambda one: one.share.value)
    below = [one for one in lowest if one.share.high < 1 - margin]
    above = [one for one in lowest if one.share.low > 1 + margin]
    met = [one for one in lowest if one.share.low >= 1 - margin]
    undecided = len(group) - len(met) - len(below)
    numbers: dict[str, Number] = {"all": len(group), "met": len(met)}
    words: Words = {"provider": provider_name(group[0].provider)}
    named = partial(_reached, numbers=numbers, words=words)
    between = "" if group[0].distance == "within a zone" else f" {group[0].distance}"
    job = ""
    if row.subject is Subject.STORAGE:
        job, words["job"] = " ({job})", group[0].job
    if len(group) == 1:
        template = f"{{provider}}{between}{job}: {named('k', group[0], verb='reached')}."
    else:
        numbers["below"] = len(below)
        template = how_many(len(met), len(below), undecided).format(
            of="of {all:counted:configuration} of {provider}",
            reached=f"reached{between}",
            what=f"what is advertised{job}",
        )
        parts = []
        if met:
            typical = next((one for one in met if one.is_capped), lowest[-1 - len(above) // 2])
            template += f", as {named('k', typical)}"
        if below:
            parts.append(f"{named('low', below[0])}" + (", the least" if len(below) > 1 else ""))
        if undecided and (met or below):
            numbers["undecided"] = undecided
            parts.append("for {undecided:count} it is not decided")
        if above:
            numbers["above"] = len(above)
            parts.append(f"{{above:count}} exceeded it, most of all {named('high', above[-1])}")
        template += "; ".join(["", *parts]) + "."
    return note(
        template + _throttled(group, numbers, words),
        numbers=numbers,
        trials=[trial for one in group for trial in one.statistic.trials],
        benchmark=row.benchmark,
        **words,
    )


def how_many(met: int, below: int, undecided: int) -> str:
    """The beginning of a template, with fields of its own: what is not decided is neither reached nor missed."""
    if met:
        return "{{met:count}} {of} {reached} {what}"
    if not undecided:
        return "None {of} {reached} {what}"
    missed = "{{below:count}} {of} " + ("has" if below == 1 else "have") + " not {reached} {what}"
    return missed if below else "For none {of} is it decided whether it {reached} {what}"


def _reached(key: str, one: Delivery, numbers: dict[str, Number], words: Words, verb: str = "with") -> str:
    """A template: 'c5n.2xlarge with 24.1 of up to 25 Gbit/s (96 %), capped'."""
    scale = scale_for(one.metric.unit, [one.advertised.value])
    numbers |= {f"{key}_level": scale.value(one.statistic.compared.value), f"{key}_share": 100 * one.share.value}
    numbers[f"{key}_sold"] = scale.value(one.advertised.value)
    words |= {f"{key}_name": one.configuration, f"{key}_kind": _WORDS[one.advertised.kind], f"{key}_unit": scale.unit}
    capped = ", capped" if one.is_capped else ""
    return (
        f"{{{key}_name}} {verb} {{{key}_level:statistic}} of {{{key}_kind}}{{{key}_sold:limit}} {{{key}_unit}} "
        f"({{{key}_share:percent}}{capped})"
    )


def _throttled(group: Iterable[Delivery], numbers: dict[str, Number], words: Words) -> str:
    """A template: ' m5.2xlarge sent 10 Gbit/s for 40 s, then 2.5 Gbit/s (25 % of …) in 6 of 6 trials; …'; or ''."""
    fallen = sorted((one for one in group if one.is_throttled), key=lambda one: _sustained(one) / one.advertised.value)
    if not fallen:
        return ""
    worst = fallen[0]
    numbers |= {
        "burst": median(fall.burst for fall in worst.falls),
        "burst_s": median(fall.burst_s for fall in worst.falls),
        "sustained": _sustained(worst),
        "sustained_share": 100 * _sustained(worst) / worst.advertised.value,
        "fell": len(worst.falls),
        "watched": worst.watched,
    }
    words |= {"throttled": worst.configuration, "others": [one.configuration for one in fallen[1:]]}
    style = quantity_style(worst.metric.unit)
    template = (
        " {throttled} was throttled in {fell:count} of {watched:counted:trial}: "
        f"{{burst:{style}}} for {{burst_s:quantity:s}}, then {{sustained:{style}}}, {{sustained_share:percent}} of "
        "what is advertised."
    )
    return template + (" So were {others}." if fallen[1:] else "")


def _sustained(one: Delivery) -> float:
    return median(fall.sustained for fall in one.falls)


def promised(lookup: Lookup) -> Iterator[Draft]:
    """A note for each job of a configuration that was watched, of the trial that lacked most."""
    groups = grouped(lookup[PromisedRow], lambda row: (row.configuration, row.benchmark, row.metric))
    yield from (_sentence(max(rows, key=lambda row: row.lacking_share), len(rows)) for rows in groups.values())


def _sentence(row: PromisedRow, trials: int) -> Draft:
    numbers: dict[str, Number] = {
        "least": 100 * LEAST,
        "sold": row.promised_iops,
        "share": 100 * row.share_at_least,
        "watched": row.watched_s / SECONDS_PER_HOUR,
    }
    worst = "" if trials == 1 else ", the worst of {trials:count} trials"
    template = (
        "{configuration} delivered at least {least:percent} of the promised {sold:limit} IO/s in {share:percent} of "
        f"{{watched:hours}} ({{job}}{worst})"
    )
    if trials > 1:
        numbers["trials"] = trials
    if row.shortfalls:
        numbers["longest"] = row.longest_s / SECONDS_PER_HOUR
        times = "once, for"
        if len(row.shortfalls) > 1:
            numbers["times"] = len(row.shortfalls)
            times = "{times:count} times, the longest for"
        template += f": it fell short {times} {{longest:hours}}"
    template += "."
    if row.throttled_after_s is not None:
        numbers["throttled"] = row.throttled_after_s / SECONDS_PER_HOUR
        template += " It was throttled after {throttled:hours}, to the end."
    if row.shortfalls and row.lacking_usd is not None:
        numbers |= {"lacking": 100 * row.lacking_share, "usd": row.lacking_usd}
        template += " What was lacking, {lacking:percent} of the I/Os, is {usd:money} of the volume's month."
    return note(
        template,
        numbers=numbers,
        trials=[row.trial],
        benchmark=row.benchmark,
        configuration=row.configuration,
        job=row.metric.removesuffix(".iops"),
    )
