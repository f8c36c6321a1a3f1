"""Advances one trial by one attempt: lease, attempt, and the next step."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from nephoscope.benchmarks.base import VOLUME
from nephoscope.checks.repeatable import Cause, Circumstances, Repair
from nephoscope.model.control import Lease, State, StateRecord
from nephoscope.model.errors import BudgetReached, DamagedFile, NephoscopeError, QuotaReached
from nephoscope.model.placement import NEW_MACHINES, Placement
from nephoscope.model.records import PlannedTrial, VerdictKind
from nephoscope.model.units import SECONDS_PER_HOUR
from nephoscope.plan.placement import carried_by, clusters_of, data_sets_of
from nephoscope.plan.preparation import GIVE_BACK_S
from nephoscope.providers.base import ClusterRequest, Detached, NamesHosts, Provider, study_of
from nephoscope.run.cleaning import account_of, give_back
from nephoscope.run.gate import PAUSE_S, Streak
from nephoscope.run.ledger import Grant, Ledger, Quota, Refusal, Wanted, cost_until, cost_usd, quota_of, reserve_usd
from nephoscope.run.queue import Step
from nephoscope.run.repeats import MIN_QUIET_S, due, quiet_within_s, repair_for
from nephoscope.run.states import ENDS, Decision, Failure, Patience, after_failure, may_follow
from nephoscope.run.trial import AttemptTask, Ended, run_attempt
from nephoscope.run.world import World
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder, Trial
from nephoscope.study.address import THIS_MACHINE, server_hosts
from nephoscope.study.machines import left_raw
from nephoscope.study.managed import plain_as_provided, read_as_provided
from nephoscope.study.model import Configuration
from nephoscope.study.provisioning import CLOUDS
from nephoscope.study.snapshots import layout_of, place_of


class LoadedOnce:
    """Whose turn it is to load each data set. A cluster that waits does not exist yet, and costs nothing."""

    def __init__(self) -> None:
        self._loaded: set[str] = set()
        self._turns: dict[str, asyncio.Lock] = {}
        self._loading: dict[str, str] = {}
        """Data set -> the cluster that loads it."""

    async def turn(self, data_set: str, cluster: str) -> None:
        """Returns once the data set is loaded, or it is up to this cluster to load it."""
        if data_set in self._loaded or self._loading.get(data_set) == cluster:
            return
        lock = self._turns.setdefault(data_set, asyncio.Lock())
        await lock.acquire()
        if data_set in self._loaded:
            lock.release()
        else:
            self._loading[data_set] = cluster

    def end(self, data_set: str, cluster: str, *, loaded: bool) -> None:
        """A cluster has the data set now, or will not load it: it failed, or has gone."""
        if loaded:
            self._loaded.add(data_set)
        if self._loading.get(data_set) == cluster:
            del self._loading[data_set]
            self._turns[data_set].release()


LOOK_AT_LEDGER_S = 2.0
"""Wait between two tries to hold what others hold now."""

_TTL_FACTOR, _TTL_MORE_S = 2.0, 3600.0
"""Machines end themselves after twice the expected time plus an hour, if nobody deleted them."""

MAX_OF_QUOTE, MORE_S = 2.0, 600.0
"""If the budget allows, a cluster may cost twice its quote plus ten minutes before it is deleted."""


@dataclass(frozen=True)
class Rules:
    """How a study's trials get their machines."""

    placement: Placement
    patience: Patience
    pause_s: float = PAUSE_S
    """How long a trial waits at most for a quiet machine, after several that others disturbed."""


class Conductor:
    """Conducts the trials of one results folder.

    It reads its input from the folder each time, so that another conductor can continue.
    """

    def __init__(self, folder: ResultsFolder, study_key: str, world: World, ledger: Ledger, rules: Rules) -> None:
        self._folder = folder
        self._study_key = study_key
        self._world = world
        self._ledger = ledger
        self._rules = rules
        self._rows = {planned.intent.id: (planned, trial) for planned, trial in folder.planned()}
        intents = [planned.intent for planned, _ in self._rows.values()]
        self._shared = clusters_of(rules.placement, intents, world.benchmarks)
        self._data_sets = data_sets_of(intents, world.benchmarks)
        self._carried = carried_by(self._shared, self._data_sets)
        self._loads = LoadedOnce()
        self._members: dict[str, list[str]] = {}
        """Name of a cluster -> its trials, in the order of the plan."""
        for trial_id in self._rows:
            self._members.setdefault(self._cluster(trial_id), []).append(trial_id)
        left = {trial_id for trial_id, (_, trial) in self._rows.items() if due(trial)}
        self._left = left - folder.not_needed().keys()
        self._streak = Streak()
        self._kept: dict[str, _Kept] = {}
        self._machines: dict[str, asyncio.Lock] = {}
        """By host: machines and servers that are there before the study."""
        self._going_on: dict[str, tuple[Attempt, Lease]] = {}
        self.refused: dict[str, str] = {}
        """Trials that could not start, or not finish, within the budget, and why."""
        self.unrepeated: dict[str, str] = {}
        """Rejected trials whose repeat could not start, or not finish, within the budget, and why."""

    async def hold_again(self, going_on: Mapping[str, tuple[Attempt, Lease]]) -> None:
        """Before anything starts: running trials of a dead controller keep what was reserved for them."""
        self._going_on = dict(going_on)
        for trial_id, (_, lease) in going_on.items():
            quota, vcpus = quota_of(read_as_provided(self._rows[trial_id][0].intent.configuration))
            await self._ledger.hold(Wanted(self._holder(trial_id), quota, vcpus, reserve_usd(lease), goes_on=True))

    async def advance(self, trial_id: str) -> Step:
        """See `Advance`.

        Raises:
            StorageFailed: the results could not be stored.
        """
        planned, trial = self._rows[trial_id]
        if not due(trial):
            return Step(ended=True)
        configuration = read_as_provided(planned.intent.configuration)
        async with self._alone(trial_id, configuration):
            log = _StateLog(trial, self._world.clock.unix_ms)
            provider = self._world.providers[configuration.provider]
            found = await open_attempt(trial, planned.intent.configuration, provider, self._study_key)
            if found is None:
                await self._settle_what_went(trial_id)
                if self._makes_cluster(trial_id) and (data_set := self._kept_as(trial_id)):
                    await self._loads.turn(data_set, self._cluster(trial_id))
            granted = await self._hold(self._wanted(planned, configuration))
            if isinstance(granted, Refusal):
                self._has_loaded(trial_id, loaded=False)
                step = self._out_of_budget(trial_id, log, granted.reason)
            else:
                attempt, lease = found or await self._begin(planned, trial, configuration, log, granted)
                step = await self._attempt(planned, trial, log, attempt, lease)
            if step.ended:
                self._left.discard(trial_id)
            return step

    def _makes_cluster(self, trial_id: str) -> bool:
        """Whether its next attempt creates a cluster, and does not find the one that others left for it."""
        kept = self._kept.get(self._cluster(trial_id))
        return self._shared[trial_id] is None or kept is None or not kept.since_unix_ms

    def _has_loaded(self, trial_id: str, *, loaded: bool) -> None:
        """Another cluster may be created on what a cluster has loaded, or must load it itself."""
        data_set = self._kept_as(trial_id)
        if data_set:
            self._loads.end(data_set, self._cluster(trial_id), loaded=loaded)

    def _kept_as(self, trial_id: str) -> str:
        """The data set of its cluster that outlives it, with the place where it is kept; empty: none does."""
        name = self._carried.get(self._cluster(trial_id), "")
        configuration = read_as_provided(self._rows[trial_id][0].intent.configuration)
        place = place_of(configuration)
        where = f"{place} {layout_of(configuration)}" if place is not None else configuration.database.fixtures
        return f"{name} in {where}" if name else ""

    async def leave_out(self, trials: Collection[str]) -> None:
        """These trials will not run. A cluster that was kept for nothing else is deleted now."""
        self._left -= set(trials)

        used = {self._cluster(trial_id) for trial_id in self._left}
        for name in sorted(self._kept.keys() - used):
            self._has_loaded(self._members[name][0], loaded=False)
            await self._end_waiting(self._kept[name])

    async def end_group(self, trial_id: str) -> None:
        """Deletes the cluster that is kept for a trial and the others of its group."""
        self._has_loaded(trial_id, loaded=False)
        if (kept := self._kept.get(self.group(trial_id))) is not None:
            await self._end_waiting(kept)

    async def exchange(self, trial_id: str) -> None:
        """Deletes the cluster that is kept for a trial if its last attempt ran there: the next one gets a new one."""
        _, trial = self._rows[trial_id]
        kept, last = self._kept.get(self._cluster(trial_id)), trial.attempts()[-1].lease()
        if kept is not None and last is not None and 0 < kept.since_unix_ms <= last.begun_unix_ms:
            await self._end_waiting(kept)

    async def _end_waiting(self, kept: "_Kept") -> None:
        async with kept.lock:
            if kept.waiting is not None:
                await self._end_kept(kept, *kept.waiting)

    def group(self, trial_id: str) -> str:
        """Trials of the same group run one after the other: those that share the machines of their replicate."""
        return self._cluster(trial_id) if self._rules.placement == "per-replicate" else trial_id

    def waits(self, trial_id: str) -> bool:
        """Whether a trial has yet to run here."""
        return trial_id in self._left

    def plan_repeat(self, trial_id: str, repair: Repair) -> None:
        """Records that a rejected trial is to be measured once more; from here on `advance` does so.

        Raises:
            StorageFailed: it cannot be stored.
        """
        planned, trial = self._rows[trial_id]
        log = _StateLog(trial, self._world.clock.unix_ms)
        if log.last is State.DESTROYING:  # its controller died after the commit mark
            log.enter(State.INVALID)
        log.enter(State.PLANNED, f"repeat: rejected by {', '.join(repair.checks)}")
        self._left.add(trial_id)
        self._world.listener.trial_repeated(planned, f"{', '.join(repair.checks)}: {repair.why}")

    @asynccontextmanager
    async def _alone(self, trial_id: str, configuration: Configuration) -> AsyncIterator[None]:
        """Trials that share a cluster, or a machine that is there before them, do not run at the same time."""
        provider = self._world.providers[configuration.provider]
        async with AsyncExitStack() as held:
            if self._shared[trial_id] is not None:
                await held.enter_async_context(self._kept.setdefault(self._cluster(trial_id), _Kept()).lock)
            for host in machines_there(configuration, provider):
                await held.enter_async_context(self._machines.setdefault(host, asyncio.Lock()))
            yield

    def _cluster(self, trial_id: str) -> str:
        """Name of the cluster that serves a trial."""
        return self._shared[trial_id] or trial_id

    def _wanted(self, planned: PlannedTrial, configuration: Configuration) -> Wanted:
        quota, vcpus = quota_of(configuration)
        return _quoted(self._holder(planned.intent.id), quota, vcpus, self._sharing(planned))

    def _holder(self, trial_id: str) -> str:
        """Who holds the cluster of a trial in the ledger: the trial, or all that share it."""
        shared = self._shared[trial_id]
        return trial_id if shared is None else f"{self._study_key}/{shared}"

    async def _settle_what_went(self, trial_id: str) -> None:
        """Forgets a cluster that existed when the study started and has since disappeared."""
        attempt, lease = self._going_on.pop(trial_id, (None, None))
        if attempt is not None and lease is not None:
            usd = cost_usd(attempt, lease, self._world.clock.unix_ms())
            await self._ledger.give_back(self._holder(trial_id), usd)

    def _sharing(self, planned: PlannedTrial) -> list[PlannedTrial]:
        """The remaining trials of its cluster."""
        return [self._rows[one][0] for one in self._members[self._cluster(planned.intent.id)] if one in self._left]

    async def _hold(self, wanted: Wanted) -> Grant | Refusal:
        """The grant once it is held; else a refusal that waiting would not change."""
        while isinstance(answer := await self._ledger.hold(wanted), Refusal) and answer.passes:
            await self._world.clock.sleep(LOOK_AT_LEDGER_S)
        return answer

    def _out_of_budget(self, trial_id: str, log: "_StateLog", reason: str) -> Step:
        """A trial whose repeat is over budget stays what it was: rejected."""
        repeat = self._rows[trial_id][1].finished()
        (self.unrepeated if repeat else self.refused)[trial_id] = reason
        if log.last is not State.DESTROYING:
            log.enter(State.PLANNED)
        log.enter(State.INVALID if repeat else State.OUT_OF_BUDGET, reason)
        return Step(ended=True)

    async def _begin(
        self, planned: PlannedTrial, trial: Trial, configuration: Configuration, log: "_StateLog", granted: Grant
    ) -> tuple[Attempt, Lease]:
        """A new attempt."""
        before, zones = _failures(trial), zones_of(configuration)
        wanted = after_failure(before, zones, self._rules.patience).zone if before else None
        zone = wanted if wanted in zones else zones[0]  # a stored lease may name any
        attempt = trial.new_attempt(planned.intent)
        account = await account_of(self._world.providers[configuration.provider], self._study_key)
        lease = self._lease(planned, configuration, attempt, zone, granted).model_copy(update={"account": account})
        attempt.write_lease(lease)
        log.attempt = attempt.number
        log.enter(State.PLANNED)
        log.enter(State.LEASED)
        return attempt, lease

    async def _attempt(
        self, planned: PlannedTrial, trial: Trial, log: "_StateLog", attempt: Attempt, lease: Lease
    ) -> Step:
        configuration = read_as_provided(planned.intent.configuration)
        before, zones = _failures(trial), zones_of(configuration)
        self._kept.setdefault(self._cluster(planned.intent.id), _Kept()).since(lease.begun_unix_ms)
        self._world.listener.trial_started(planned)
        pause_s = 0.0
        if self._streak.is_long and not trial.finished():  # a repeat waits anyway
            pause_s = min(self._rules.pause_s, max(MIN_QUIET_S, planned.expected_duration_s))
            self._world.listener.pausing(self._streak.trials, self._streak.why, pause_s)
        task = self._undertaking(planned, attempt, lease, configuration, log)
        task = replace(task, quiet_within_s=max(task.quiet_within_s, pause_s))
        ended = await run_attempt(planned.intent, task, self._world)
        if ended.verdict is not None:
            where = Circumstances.of(plain_as_provided(planned.intent.configuration), self._rules.placement)
            self._streak = (Streak() if pause_s else self._streak).after(ended.verdicts, where)
        self._folder.forget_analysis()  # a report made in the meantime shows the results of that moment
        await self._settle(planned, configuration, task, ended, lease)
        if ended.status.failure_class == BudgetReached.failure_class:
            self._world.listener.trial_ended(planned, ended.status, ended.verdict, ended.reasons)
            return self._out_of_budget(planned.intent.id, log, ended.reasons[0])
        decision = self._decide(ended, before, lease.zone, zones)
        if decision.state is State.GAVE_UP and trial.finished():  # only its repeat failed
            decision = replace(decision, state=State.INVALID)
        log.enter(decision.state, decision.reason)
        if decision.state in ENDS:
            self._world.listener.trial_ended(planned, ended.status, ended.verdict, ended.reasons)
            return Step(ended=True)
        self._world.listener.trial_again(planned, [*ended.reasons, decision.reason], decision.wait_s)
        return Step(ended=False, wait_s=decision.wait_s)

    def _lease(
        self,
        planned: PlannedTrial,
        configuration: Configuration,
        attempt: Attempt,
        zone: str | None,
        granted: Grant,
    ) -> Lease:
        """A cluster that serves many trials counts from the end of the previous trial: it was held all the time."""
        kept = self._kept.get(self._cluster(planned.intent.id))
        hours = planned.expected_duration_s / SECONDS_PER_HOUR
        per_hour = planned.price_usd / hours if planned.price_usd is not None and hours > 0 else None
        return Lease(
            cluster=self._request(planned, attempt, configuration).key,
            placement=self._rules.placement,
            provider=configuration.provider,
            region=configuration.region,
            zone=zone,
            usd_per_hour=per_hour,
            quoted_usd=planned.price_usd,
            reserved_usd=granted.usd,
            begun_unix_ms=(kept.idle_since_unix_ms if kept else 0) or self._world.clock.unix_ms(),
        )

    def _request(self, planned: PlannedTrial, attempt: Attempt, configuration: Configuration) -> ClusterRequest:
        shared = self._shared[planned.intent.id]
        raw = self._rules.placement in NEW_MACHINES and self._needs_raw(planned)
        return ClusterRequest(
            study=self._study_key,
            configuration=left_raw(configuration) if raw else configuration,
            scratch=self._folder.scratch,
            trial=planned.intent.id if shared is None else "",
            attempt=attempt.number if shared is None else 0,
            shared=shared or "",
            data_set=self._carried.get(self._cluster(planned.intent.id), "") if place_of(configuration) else "",
        )

    def _needs_raw(self, planned: PlannedTrial) -> bool:
        """True if it measures a disk of its own machines without a filesystem."""
        use = planned.intent.benchmark
        benchmark = self._world.benchmarks[use.uses]
        return benchmark.needs(benchmark.parameters.model_validate(use.parameters)).raw_device == VOLUME

    def _undertaking(
        self, planned: PlannedTrial, attempt: Attempt, lease: Lease, configuration: Configuration, log: "_StateLog"
    ) -> AttemptTask:
        fresh = self._shared[planned.intent.id] is None
        lasts_s = _TTL_FACTOR * sum(row.expected_duration_s for row in self._sharing(planned)) + _TTL_MORE_S
        expires, ends = lease.begun_unix_ms + int(lasts_s * 1000), None
        since = lease.begun_unix_ms if fresh else self._kept[self._cluster(planned.intent.id)].since_unix_ms
        paid_ms = _paid_ms(lease)
        # machines also end themselves when their money is spent, in case nobody is there to do it
        if paid_ms is not None:
            expires = min(expires, since + paid_ms)
            ends = since + paid_ms - (int(GIVE_BACK_S * 1000) if lease.provider in CLOUDS else 0)
        request = replace(
            self._request(planned, attempt, configuration),
            zone=lease.zone,
            expires_unix_ms=expires,
            log_dir=attempt.log_dir,
        )
        return AttemptTask(
            attempt=attempt,
            request=request,
            keep_cluster=not fresh,
            resumable=isinstance(self._world.providers[configuration.provider], Detached),
            collected=log.last in _COLLECTED,
            enter=log.enter,
            ends_unix_ms=ends,
            quiet_within_s=quiet_within_s(planned, self._rows[planned.intent.id][1], self._rules.placement),
        )

    async def _settle(
        self, planned: PlannedTrial, configuration: Configuration, task: AttemptTask, ended: Ended, lease: Lease
    ) -> None:
        """Releases in the ledger what is no longer held; a kept cluster goes after its last trial, or if unusable.

        That of a replicate stays until `end_group`, as rejected trials may be repeated there.
        """
        wanted = self._wanted(planned, configuration)
        kept = self._kept[self._cluster(planned.intent.id)]
        self._going_on.pop(planned.intent.id, None)
        finished, needs = ended.status.state == "finished", planned.intent.id in self._data_sets
        if needs or not finished or self._is_over(planned):
            self._has_loaded(planned.intent.id, loaded=finished and needs)
        if not task.keep_cluster:
            usd = cost_usd(task.attempt, lease, lease.begun_unix_ms)
            if not ended.given_back:  # it lives on until it is found at the study's end or ends itself
                usd = max(usd, reserve_usd(lease))
            await self._ledger.give_back(wanted.holder, usd)
        elif ended.status.state != "finished" or self._is_over(planned):
            await self._end_kept(kept, lease, wanted.holder)
        else:
            kept.idle_since_unix_ms = ended.status.at_unix_ms or 0
            kept.waiting = (lease, wanted.holder)
            if task.ends_unix_ms is not None and kept.watch is None:
                kept.watch = asyncio.create_task(self._end_idle(kept, lease, wanted.holder, task.ends_unix_ms))
        if ended.status.failure_class == QuotaReached.failure_class:
            await self._ledger.lower(wanted.quota)

    def _is_over(self, planned: PlannedTrial) -> bool:
        """Whether a kept cluster is of no use after this trial: it was the last one, or the machines are wrong."""
        if self._rules.placement != "per-replicate":
            return len(self._sharing(planned)) <= 1
        repair = repair_for(planned, self._rows[planned.intent.id][1], self._rules.placement)
        return repair is not None and repair.cause is Cause.MACHINE

    async def _end_kept(self, kept: "_Kept", lease: Lease, holder: str) -> None:
        """A cluster that cannot be deleted is found by its tags at the study's end; it may cost its reserve.

        A lease of another folder, whose trials were copied into this one, is of machines that are not ours to delete.
        """
        least_usd = 0.0
        try:
            if study_of(lease.cluster) == self._study_key:
                await give_back(self._world.providers[lease.provider], lease.cluster, self._world.clock)
        except NephoscopeError:
            least_usd = reserve_usd(lease)
        whole = lease.model_copy(update={"begun_unix_ms": kept.since_unix_ms, "placement": "fresh"})
        await self._ledger.give_back(holder, max(cost_until(whole, self._world.clock.unix_ms()), least_usd))
        kept.since_unix_ms = kept.idle_since_unix_ms = 0
        kept.watch = kept.waiting = None

    async def _end_idle(self, kept: "_Kept", lease: Lease, holder: str, ends_unix_ms: int) -> None:
        """Deletes a cluster that waits for its next trial once its money is spent; `clean` finds it if that fails."""
        since_unix_ms = kept.since_unix_ms
        await asyncio.sleep(max(0, ends_unix_ms - self._world.clock.unix_ms()) / 1000)
        async with kept.lock:
            if kept.since_unix_ms == since_unix_ms:
                await self._end_kept(kept, lease, holder)

    def _decide(self, ended: Ended, before: list[Failure], zone: str | None, zones: list[str | None]) -> Decision:
        if ended.status.state == "finished":
            return Decision(State.DONE if ended.verdict is VerdictKind.VALID else State.INVALID)
        failures = [*before, Failure(ended.status.failure_class or "", zone)]
        return after_failure(failures, zones, self._rules.patience)


_COLLECTED = frozenset({State.COLLECTED, State.DESTROYING})


class _Kept:
    """A cluster that serves all trials of a configuration, one after the other."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.since_unix_ms = 0
        self.idle_since_unix_ms = 0
        self.watch: asyncio.Task[None] | None = None
        self.waiting: tuple[Lease, str] | None = None
        """Lease and holder in the ledger while it waits for its next trial."""

    def since(self, unix_ms: int) -> None:
        """It is held from then on, unless it already was."""
        self.since_unix_ms = self.since_unix_ms or unix_ms


class _StateLog:
    """Records each state of one trial."""

    def __init__(self, trial: Trial, unix_ms: Callable[[], int]) -> None:
        self._trial = trial
        self._unix_ms = unix_ms
        states = trial.states()
        self.last = states[-1].state if states else None
        self.attempt = states[-1].attempt if states else 0

    def enter(self, state: State, reason: str = "") -> None:
        """The trial enters a state.

        Raises:
            AssertionError: it cannot follow the last one.
            StorageFailed: it cannot be stored.
        """
        if state is self.last:
            return
        if not may_follow(self.last, state):
            raise AssertionError(f"{state} cannot follow {self.last}")
        now = self._unix_ms()
        self._trial.add_state(StateRecord(state=state, at_unix_ms=now, attempt=self.attempt, reason=reason))
        self.last = state


def _quoted(holder: str, quota: Quota, vcpus: int, rows: Sequence[PlannedTrial]) -> Wanted:
    """A cluster for these trials: their price, and the most they may cost if everything takes longer."""
    prices = [row.price_usd for row in rows if row.price_usd is not None]
    if len(prices) < len(rows):
        return Wanted(holder, quota, vcpus, None)
    usd, expected_s = sum(prices), sum(row.expected_duration_s for row in rows)
    longer = MAX_OF_QUOTE + (MORE_S / expected_s if expected_s > 0 else 0.0)
    return Wanted(holder, quota, vcpus, usd, longer * usd)


def _paid_ms(lease: Lease) -> int | None:
    """How long its reserve lasts; None: no budget limits it."""
    if lease.reserved_usd is None or not lease.usd_per_hour:
        return None
    return int(lease.reserved_usd / lease.usd_per_hour * SECONDS_PER_HOUR * 1000)


def machines_there(configuration: Configuration, provider: Provider) -> list[str]:
    """Machines that are there before a trial, which needs them for itself; always in one order of all machines.

    So no two trials wait for each other.
    """
    hosts = frozenset(provider.hosts(configuration)) if isinstance(provider, NamesHosts) else frozenset[str]()
    dsn = configuration.database.dsn
    servers = frozenset[str]() if dsn is None else server_hosts(dsn)
    return sorted(hosts | (servers - {THIS_MACHINE} if hosts else servers))


def zones_of(configuration: Configuration) -> list[str | None]:
    """The zones where its machines may be, in order of preference."""
    return [configuration.zone, *(configuration.other_zones or [])]


def _require_own(lease: Lease, attempt: Attempt, configuration: Configuration) -> None:
    """The machines that a lease names are requested, looked for and deleted as those of its trial.

    Raises:
        DamagedFile: a trial of this configuration cannot have had them.
    """
    theirs = (lease.provider, lease.region)
    if theirs != (configuration.provider, configuration.region) or lease.zone not in zones_of(configuration):
        raise DamagedFile(
            f"{attempt.folder / 'lease.json'} is damaged: it names machines that configuration "
            f"{configuration.name!r} does not have",
            hint="restore the file from a copy, or delete its attempt folder and run the study again",
        )


async def open_attempt(
    trial: Trial, configuration: Mapping[str, Any], provider: Provider, study_key: str
) -> tuple[Attempt, Lease] | None:
    """The attempt that a dead controller left, if it can be continued.

    That is one whose output is already stored, or whose measurement still runs on machines that still exist.

    Raises:
        DamagedFile: it holds links, or its lease is not of a cluster of this trial.
    """
    attempt = trial.open_attempt()
    lease = attempt.lease() if attempt else None
    if attempt is None or lease is None:
        return None
    attempt.require_plain()
    _require_own(lease, attempt, read_as_provided(configuration))
    last = trial.states()[-1:]
    if last and last[0].attempt == attempt.number and last[0].state in _COLLECTED and attempt.collected():
        return attempt, lease
    if attempt.resumption() is None or not isinstance(provider, Detached):
        return None
    if lease.placement != "fresh":  # the next trial ends what is left on a cluster that serves many trials
        return None
    return (attempt, lease) if lease.cluster in await provider.list(study_key) else None


def _failures(trial: Trial) -> list[Failure]:
    """Failures of the attempts since the trial last ended, oldest first."""
    ends = [record.attempt for record in trial.states() if record.state in ENDS]
    found = []
    for attempt in trial.attempts():
        status, lease = attempt.status(), attempt.lease()
        if status is not None and status.state == "failed" and attempt.number > (ends[-1] if ends else 0):
            found.append(Failure(status.failure_class or "", lease.zone if lease else None))
    return found
