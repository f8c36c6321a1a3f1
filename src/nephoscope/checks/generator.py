"""Was the load generator the limit? If so, the number describes the client and not the database.

The evidence is the generator's own output, second by second, and a calibration: the same connections without any query,
before the trial or before an earlier one on the same machines. Where client and server share CPUs, on one machine or on
machines emulated on it, both wait for each other's CPUs by design: that wait, and the lateness it causes, are reported
but do not decide. A busy thread and a slow calibration are the generator's own fault and decide there as well.

A calibration says something about the generator only if the generator was busy during it. Where the round trip itself
takes most of the time (a slow network, few connections, a point select on a nearby server), an empty one is not three
times faster, and the generator idles in both: this is reported, but does not decide.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from nephoscope.checks.thresholds import (
    CALIBRATION,
    GENERATOR_STOP,
    GENERATOR_STOPS,
    PACING_ERROR,
    QUEUED_WHILE_IDLE,
    RUN_QUEUE,
    STEAL,
    THREAD_BUSY,
    THROTTLED,
    WAKE_UP,
    Threshold,
)
from nephoscope.checks.verdicts import invalid, percent, unknown, valid
from nephoscope.model.events import Event
from nephoscope.model.records import CO_LOCATED, Evidence, Saturation, Verdict

_MILLISECONDS_PER_SECOND = 1000


@dataclass(frozen=True)
class _Sign:
    """One symptom of a saturated generator."""

    said: str
    over: bool
    limit: str
    judged: bool = True
    """False: on shared CPUs it is not the generator's fault."""


class GeneratorBound:
    """See the module's text."""

    name = "generator-bound"
    text = (
        f"Rejects a trial whose load generator stood still for {GENERATOR_STOP.words} at once or "
        f"{GENERATOR_STOPS.percent} of the measurement in all (it was stopped or frozen, or its machine was paused; "
        "shorter stops are events), was the limit or was late: a thread "
        f"more than {THREAD_BUSY.percent} busy in any second; calibrated (with a thread that busy) at less than "
        f"{CALIBRATION.value:g} times the trial's round trips; throttled in over {THROTTLED.percent} of periods, "
        "unless by the quota of an emulated machine; and, except on CPUs shared with the server, where this is only "
        "reported: a pacing error p99 over "
        f"{PACING_ERROR.value * _MILLISECONDS_PER_SECOND:g} ms, over {QUEUED_WHILE_IDLE.percent} of operations late "
        f"although a connection was free, over {RUN_QUEUE.percent} of the time waiting for a CPU (less "
        f"{WAKE_UP.words} for each time that a thread wakes up), over {STEAL.percent} stolen. "
        "Network drops and retransmissions are only reported."
    )

    def __call__(self, evidence: Evidence) -> Verdict | None:
        """Every symptom that was measured; None for a benchmark without operations."""
        if evidence.operations is None:
            return None
        seen = evidence.operations.saturation
        stop = stop_of(seen) if seen else None
        if seen and stop and _too_long(seen):
            return invalid(self.name, f"{stop.clause}: {_STOPPED}", stop)
        if seen is None or seen.thread_cpu_share is None:
            return unknown(self.name, "the load generator did not report how busy its threads were")
        if seen.calibration_per_s is None or seen.calibration_thread_cpu_share is None:
            return unknown(self.name, "the load generator was not calibrated before the trial")
        looks = [evidence.facts_before.get(machine) for machine in evidence.load_machines]
        cpus = [facts.cpus_online for facts in looks if facts is not None and facts.cpus_online is not None]
        known = sum(cpus) if len(cpus) == len(looks) else None
        shares = _where_shared(evidence)
        emulated = evidence.own_quotas.keys() & set(evidence.load_machines)
        signs = list(_signs(seen, co_located=bool(shares), cpus=known, own_quota=bool(emulated)))
        bound = [f"{sign.said} ({sign.limit})" for sign in signs if sign.over and sign.judged]
        if bound:
            return invalid(self.name, f"the load generator was the limit: {'; '.join(bound)}")
        told = [sign.said for sign in signs if sign.judged or not sign.over]
        client = evidence.operations.client_cpu_share
        if evidence.expected.co_located and client is not None:
            told.append(f"{percent(client)} of the CPUs it shares with the server")
        shared = [sign.said for sign in signs if sign.over and not sign.judged]
        if shared:
            told.append(f"{shares}, so only reported: {', '.join(shared)}")
        stops = [stop] if stop else []
        return valid(self.name, "; ".join([*told, *(one.clause for one in stops), *_warnings(seen)]), *stops)


def _where_shared(evidence: Evidence) -> str:
    """Why client and server share CPUs; empty: they do not."""
    if evidence.expected.co_located:
        return CO_LOCATED
    masks = evidence.measured_cpus
    clients = {cpu for machine in evidence.load_machines for cpu in masks.get(machine, ())}
    servers = {cpu for machine in masks.keys() - set(evidence.load_machines) for cpu in masks[machine]}
    return "emulated on the same CPUs" if evidence.emulated and clients & servers else ""


_STOPPED = "it was stopped or frozen, or its machine was suspended or paused, and no server is measured meanwhile"


def stop_of(seen: Saturation) -> Event | None:
    """The times in which it was stopped; None: it was not."""
    stops = [gap for gap in seen.gaps if gap.kind == "stopped"]
    if not stops:
        return None
    first_s, length_s = min(gap.at_s for gap in stops), sum(gap.length_s for gap in stops)
    cost = None if seen.measured_s is None else min(1.0, length_s / seen.measured_s)
    return Event("stop", len(stops), first_s=first_s, length_s=length_s, cost=cost)


def _too_long(seen: Saturation) -> bool:
    """Whether its stops change what is measured; see `GENERATOR_STOPS`."""
    stops_s = [gap.length_s for gap in seen.gaps if gap.kind == "stopped"]
    most_s = 0.0 if seen.measured_s is None else GENERATOR_STOPS.value * seen.measured_s
    return bool(stops_s) and (max(stops_s) >= GENERATOR_STOP.value or sum(stops_s) > most_s)


def signs_of_saturation(seen: Saturation, *, co_located: bool) -> list[str]:
    """Signs that the load generator was the limit, in words, as far as its own output shows them; pure."""
    stop = stop_of(seen)
    if stop is not None and _too_long(seen):
        return [f"{stop.clause}: {_STOPPED}"]
    return [f"{sign.said} ({sign.limit})" for sign in _signs(seen, co_located=co_located) if sign.over and sign.judged]


def _signs(seen: Saturation, *, co_located: bool, cpus: int | None = None, own_quota: bool = True) -> Iterator[_Sign]:
    """`own_quota`: a quota belongs to its emulated machine, and is no disturbance."""
    own = not co_located
    thread = seen.thread_cpu_share or 0.0
    busiest = "its thread" if seen.threads == 1 else f"the busiest of {seen.threads} threads"
    yield _Sign(f"{busiest} used {percent(thread)} of a CPU at most", *_over(thread, THREAD_BUSY))
    if seen.round_trips_per_s > 0:
        yield _calibrated(seen)
    if seen.pacing_error_p99_s is not None:
        late_ms = seen.pacing_error_p99_s * _MILLISECONDS_PER_SECOND
        limit = f"limit {PACING_ERROR.value * _MILLISECONDS_PER_SECOND:g} ms"
        yield _Sign(f"late by {late_ms:.3g} ms at p99", seen.pacing_error_p99_s > PACING_ERROR.value, limit, judged=own)
    if seen.queued_while_idle_share:
        said = f"{percent(seen.queued_while_idle_share)} of operations late although a connection was free"
        yield _Sign(said, *_over(seen.queued_while_idle_share, QUEUED_WHILE_IDLE), judged=own)
    if seen.run_queue_share is not None:
        said = f"{percent(seen.run_queue_share)} of the time waiting for a CPU"
        yield _Sign(said, *_over(seen.run_queue_share, RUN_QUEUE), judged=own)
    if seen.steal_s_per_s is not None and cpus:
        steal = seen.steal_s_per_s / cpus
        yield _Sign(f"{percent(steal)} of its machine's CPU time was stolen", *_over(steal, STEAL), judged=own)
    if seen.throttled_share is not None:
        said = f"throttled by its cgroup in {percent(seen.throttled_share)} of periods"
        yield _Sign(said, *_over(seen.throttled_share, THROTTLED), judged=own or not own_quota)


def _calibrated(seen: Saturation) -> _Sign:
    empty_per_s, busy = seen.calibration_per_s or 0.0, seen.calibration_thread_cpu_share or 0.0
    times = empty_per_s / seen.round_trips_per_s
    said = f"calibrated at {times:.2g} times the trial's round trips"
    over = counts_against(empty_per_s, seen.round_trips_per_s, busy)
    if times < CALIBRATION.value:
        said += f", a thread {percent(busy)} busy" + ("" if over else ": bound by the round trip, not by the generator")
    return _Sign(said, over, f"required: {CALIBRATION.value:g} times")


def counts_against(empty_per_s: float, round_trips_per_s: float, busy: float) -> bool:
    """Whether a calibration shows that the generator may have been the limit.

    Args:
        empty_per_s: empty round trips per second during the calibration.
        round_trips_per_s: of the trial.
        busy: the share of a CPU that the busiest thread used during the calibration.
    """
    return empty_per_s < CALIBRATION.value * round_trips_per_s and busy > THREAD_BUSY.value


def _over(share: float, limit: Threshold) -> tuple[bool, str]:
    return share > limit.value, f"limit {limit.percent}"


def _warnings(seen: Saturation) -> list[str]:
    counts = {"segments retransmitted": seen.retransmitted_segments, "packets dropped": seen.dropped_packets}
    delays_s = [gap.length_s for gap in seen.gaps if gap.kind == "delayed"]
    waited = [f"warning: it had no CPU {len(delays_s)} times, for {max(delays_s):.2g} s at most"] if delays_s else []
    return [*waited, *(f"warning: {count} {what} on its machine" for what, count in counts.items() if count)]
