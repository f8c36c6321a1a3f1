"""How much of the CPU time of a trial others used, from telemetry, in words that name them."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from nephoscope.checks.thresholds import BURST_MIN_S, BURST_TIME_SHARE, FOREIGN_BURST, FOREIGN_SHARE
from nephoscope.checks.verdicts import percent
from nephoscope.model.records import TelemetrySample

_MIN_NAMED_SHARE = 0.1
"""Processes with less than this share of what others used are not worth a name."""
_MAX_NAMED = 3
_ROUNDING = 0.99
"""Intervals of a second are a little shorter or longer."""


@dataclass(frozen=True)
class ForeignUse:
    """What others used of the CPUs that count, over the intervals in which it is known."""

    mean_share: float
    loud: bool
    """Over one of the limits."""
    said: str
    """For people, with the loudest processes if over a limit."""


def foreign_use(samples: Sequence[TelemetrySample], mask: Collection[str], *, whole_machine: bool) -> ForeignUse | None:
    """The load of others during a trial; None: not known for any interval.

    What others did on CPUs outside the mask is subtracted: everything that runs there counts as theirs, so that the
    result is at most what they used of the mask. `whole_machine`: the machine is a part of one, and all of it counts.

    The mean is of signed values, so that the noise of single seconds, which goes both ways, cancels out.
    """
    known = [
        (share, sample)
        for sample in samples
        if (share := _share(sample, () if whole_machine else mask)) is not None and sample.duration_s > 0
    ]
    known_s = sum(sample.duration_s for _, sample in known)
    if known_s <= 0:
        return None
    mean = max(0.0, sum(share * sample.duration_s for share, sample in known) / known_s)
    burst_s = sum(sample.duration_s for share, sample in known if share > FOREIGN_BURST.value)
    if mean > FOREIGN_SHARE.value:
        limit = f"limit {FOREIGN_SHARE.percent} on average: {percent(mean)}"
    elif burst_s >= BURST_MIN_S * _ROUNDING and burst_s > BURST_TIME_SHARE * known_s:
        limit = f"limit {FOREIGN_BURST.percent} of its CPU time in a burst of {BURST_MIN_S:g} s"
    else:
        return ForeignUse(mean, loud=False, said=f"others used {percent(mean)} of its CPU time during the trial")
    return ForeignUse(mean, loud=True, said=f"{_told([sample for _, sample in known], mask, whole_machine)} ({limit})")


def _cpus(sample: TelemetrySample, mask: Collection[str]) -> float | None:
    """CPUs of the mask that others kept busy at least; of the whole machine if no mask is known."""
    if sample.foreign_cpus is None or not mask:
        return sample.foreign_cpus
    outside = sample.cpus_busy_share.keys() - set(mask)
    return sample.foreign_cpus - sum(
        max(0.0, sample.cpus_busy_share[cpu] - sample.cpus_interrupt_share.get(cpu, 0.0)) for cpu in outside
    )


def _share(sample: TelemetrySample, mask: Collection[str]) -> float | None:
    cpus, of = _cpus(sample, mask), len(mask or sample.cpus_busy_share)
    return None if cpus is None or not of else cpus / of


def _told(samples: Sequence[TelemetrySample], mask: Collection[str], whole_machine: bool) -> str:
    """'others used 96 % of one CPU for 9 of 10 s: python3 burn.py (pid 4711) 95 %'."""
    counted = () if whole_machine else mask
    loud = [one for one in samples if (_share(one, counted) or 0.0) > FOREIGN_SHARE.value]
    loud_s, known_s = (sum(one.duration_s for one in those) for those in (loud, samples))
    if loud_s <= 0:  # the mean is over its limit, so this does not happen
        return "others used its CPUs"
    used = sum((_cpus(one, counted) or 0.0) * one.duration_s for one in loud) / loud_s
    named = _named(samples, loud_s, used)
    said = f"others used {_of_cpus(used)} for {loud_s:.0f} of {known_s:.0f} s"
    return f"{said}: {', '.join(named)}" if named else said


def _of_cpus(cpus: float) -> str:
    return f"{percent(cpus)} of one CPU" if cpus < _ONE_CPU else f"{cpus:.1f} CPUs"


_ONE_CPU = 1.05


def _named(samples: Sequence[TelemetrySample], loud_s: float, used: float) -> list[str]:
    """The loudest processes with their share of one CPU, and what no visible process accounts for."""
    named = loudest(samples, loud_s, _MIN_NAMED_SHARE * used)
    read = [sample.foreign_named_s for sample in samples if sample.foreign_named_s is not None]
    unseen = used - sum(read) / loud_s
    if read and unseen >= _MIN_NAMED_SHARE * used:
        named.append(f"{percent(unseen)} by processes that ended or are not visible from here (another PID namespace)")
    return named


def loudest(samples: Sequence[TelemetrySample], over_s: float, min_cpus: float) -> list[str]:
    """The processes of others that used most, with their share of one CPU, as far as the sampler read them.

    Args:
        samples: of one machine.
        over_s: the time that shares refer to.
        min_cpus: processes below this share of one CPU are not named.
    """
    seconds: dict[tuple[int, str], float] = {}
    for sample in samples:
        for one in sample.foreign_processes:
            seconds[one.pid, one.name] = seconds.get((one.pid, one.name), 0.0) + one.cpu_s
    most = sorted(seconds.items(), key=lambda item: (-item[1], item[0]))[:_MAX_NAMED]
    return [
        f"{name} (pid {pid}) {percent(cpu_s / over_s)}" for (pid, name), cpu_s in most if cpu_s / over_s >= min_cpus
    ]
