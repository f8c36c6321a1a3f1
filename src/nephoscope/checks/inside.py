"""Evidence against a trial in its own output: throttling, a cache in front of the disk, CPUs used by others.

If the rate fell for good, the mean over the trial is neither the burst rate nor the sustained one. A read served by a
cache says nothing about the disk.
"""

from collections.abc import Iterator, Sequence
from math import fsum

from nephoscope.checks.steal import stolen_series
from nephoscope.checks.thresholds import (
    CACHE_LATENCY,
    DEVICE_BANDWIDTH,
    EFFECTIVE_CPUS_MISSING,
    LEVEL_CHANGE,
    SERIES_LENGTH,
    STRESS_LENGTH,
    STRESS_SHORTEST,
    STRESS_START,
    SUSTAINED_LENGTH,
)
from nephoscope.checks.verdicts import invalid, measured_of, over_machines, percent, unknown, valid
from nephoscope.model.numbers import duration
from nephoscope.model.records import CpuPhase, Evidence, Reads, Series, TelemetrySample, Verdict
from nephoscope.model.units import GIB


class Throttled:
    """Did the rate fall and stay low?"""

    name = "throttled"
    text = (
        f"Rejects a trial in which a rate fell by more than {LEVEL_CHANGE.percent} and never recovered, at once or in "
        "a straight decline: its mean mixes a burst with the sustained rate. Needs a series of at least "
        f"{SERIES_LENGTH.words}, of which at least {SUSTAINED_LENGTH.words} follow a fall at once; a dip, a rise or a "
        "fall at the very end is reported but does not reject."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Its verdict over every rate with one value per interval; None if no series is long enough.

        On a burstable machine the CPU time that it got is such a rate: it falls when the credits run out.
        """
        series = [*evidence.series, *_cpu_time(evidence)]
        judged = [self._series(one) for one in series if len(one.values) >= SERIES_LENGTH.value]
        return over_machines(self.name, judged, "") if judged else None

    def _series(self, series: Series) -> Verdict:
        from nephoscope.stats.change_points import plateaus, throttling  # with NumPy: `status` should not wait for it
        from nephoscope.stats.steadiness import declines

        levels = plateaus(series.values)
        fall = throttling(series.values, levels)
        decline = declines(series.values)
        if decline is not None and (fall is None or decline.fits_better_than(series.values, levels)):
            said = f"declined steadily by {percent(decline.share)} in {duration(len(series.values) * series.step_s)}"
            ends = f"from {decline.first:.6g} to {decline.last:.6g} {series.unit}"
            return invalid(self.name, f"{series.metric}: {said}, {ends}")
        if fall is not None:
            after = duration(fall.start * series.step_s)
            said = f"throttled after {after}: {fall.burst_level:.6g} {series.unit} before, sustained "
            return invalid(self.name, f"{series.metric}: {said}{fall.sustained_level:.6g} {series.unit}")
        if len(levels) == 1:
            return valid(self.name, f"{series.metric}: steady at {levels[0].level:.6g} {series.unit}")
        told = ", ".join(f"{one.level:.6g} after {duration(one.start * series.step_s)}" for one in levels)
        return valid(self.name, f"{series.metric}: not steady, and not throttled: {told} ({series.unit})")


def _cpu_time(evidence: Evidence) -> Iterator[Series]:
    """CPU time that the hypervisor left to each burstable machine, in percent, second by second."""
    for machine, kind in sorted(evidence.burstable.items()):
        samples = evidence.telemetry.get(machine, [])
        lasted_s = sum(sample.duration_s for sample in samples)
        if lasted_s > 0:
            stolen = stolen_series(samples, evidence.measured_cpus.get(machine, []))
            yield Series(
                metric=f"CPU time left to {machine} ({kind})",
                unit="%",
                step_s=lasted_s / len(samples),
                values=[100 * (1 - share) for share in stolen],
            )


class CacheServed:
    """Did reads reach the disk at all?"""

    name = "cache-served"
    text = (
        "Rejects a trial whose reads must have come from a cache: buffered reads of files that fit into memory, a "
        f"median latency below {CACHE_LATENCY.words}, or more than {DEVICE_BANDWIDTH.words} from one file."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Its verdict over every job that read; None if none did. The load generator's memory caches no reads."""
        facts = evidence.facts_before
        known = (facts[machine].memory_bytes for machine in measured_of(facts, evidence.load_machines))
        memory = [size for size in known if size is not None]
        judged = [self._reads(one, max(memory, default=None)) for one in evidence.reads]
        return over_machines(self.name, judged, "") if judged else None

    def _reads(self, reads: Reads, memory_bytes: int | None) -> Verdict:
        who = f"{reads.job}:"
        if reads.latency_median_s is not None and reads.latency_median_s < CACHE_LATENCY.value:
            said = f"half of the reads took under {reads.latency_median_s * 1e6:.2g} µs"
            return invalid(self.name, f"{who} {said} (limit: {CACHE_LATENCY.words}): no disk is that fast")
        if reads.bytes_per_s > DEVICE_BANDWIDTH.value:
            said = f"{reads.bytes_per_s / 1e9:.3g} GB/s"
            return invalid(
                self.name, f"{who} {said} (limit: {DEVICE_BANDWIDTH.words}): more than one device can deliver"
            )
        if reads.direct:
            return valid(self.name, f"{who} reads bypassed the page cache")
        memory_bytes = min((size for size in (memory_bytes, reads.memory_bytes) if size), default=None)
        if memory_bytes is None:
            return unknown(self.name, f"{who} reads went through the page cache, and the memory size is not known")
        said = (
            f"{reads.files_bytes / GIB:.3g} GiB read through the page cache with {memory_bytes / GIB:.3g} GiB of memory"
        )
        fits = reads.files_bytes <= memory_bytes
        return (
            invalid(self.name, f"{who} {said}: the cache can hold them all")
            if fits
            else valid(self.name, f"{who} {said}")
        )


class EffectiveCpus:
    """Did CPU-bound workers get all of their CPU time?"""

    name = "effective-cpus"
    text = (
        f"Rejects a trial whose CPU-bound workers got over {EFFECTIVE_CPUS_MISSING.percent} less CPU time than their "
        f"CPUs offer; of a phase under {STRESS_LENGTH.words} another {STRESS_START.words} may be missing, in which the "
        "workers start. What the hypervisor took is not missing here: `steal` judges it. Needs a phase of at least "
        f"{STRESS_SHORTEST.words}."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """CPU time / real time of all workers; None without such a phase, or if it is too short."""
        judged = list(self._phases(evidence))
        return over_machines(self.name, judged, "") if judged else None

    def _phases(self, evidence: Evidence) -> Iterator[Verdict]:
        masks = evidence.measured_cpus
        machines = measured_of(masks, evidence.load_machines)
        cpus = max((len(masks[machine]) for machine in machines), default=0)
        stolen = [_stolen_s(evidence.telemetry.get(machine, ()), masks[machine]) for machine in machines]
        for phase in evidence.cpu_phases:
            if phase.real_s >= STRESS_SHORTEST.value:
                yield self._phase(phase, cpus, max(stolen, default=0.0))

    def _phase(self, phase: CpuPhase, cpus: int, stolen_s: float) -> Verdict:
        if not cpus:
            return unknown(self.name, "the number of CPUs the workers ran on is not known")
        wanted = min(phase.workers, cpus)
        effective = phase.cpu_s / phase.real_s
        missing = 1 - effective / wanted - stolen_s / (wanted * phase.real_s)
        start = STRESS_START.value / phase.real_s if phase.real_s < STRESS_LENGTH.value else 0.0
        said = f"{effective:.2f} effective CPUs of {wanted}"
        over = missing > EFFECTIVE_CPUS_MISSING.value + start
        return invalid(self.name, f"{said}: {percent(missing)} missing") if over else valid(self.name, said)


def _stolen_s(samples: Sequence[TelemetrySample], cpus: Sequence[str]) -> float:
    """CPU time that the hypervisor took from these CPUs during the whole trial."""
    stolen = zip(stolen_series(samples, cpus), samples, strict=True)
    return fsum(share * sample.duration_s * len(cpus) for share, sample in stolen)
