"""Takes one trial on by one attempt: lease, attempt, and what follows from how it went."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Literal

from nephoscope.errors import NephoscopeError, QuotaReached
from nephoscope.providers.base import ClusterRequest, OutlivesController, Provider
from nephoscope.records import PlannedTrial, VerdictKind
from nephoscope.records_fleet import Lease, StateRecord
from nephoscope.run.cleaning import give_back
from nephoscope.run.ledger import Holding, Ledger, Refusal, quota_of
from nephoscope.run.queue import Step
from nephoscope.run.spending import cost_usd
from nephoscope.run.states import ENDS, Decision, Failure, Patience, State, after_failure, may_follow
from nephoscope.run.trial import Ended, Undertaking, run_attempt
from nephoscope.run.world import World
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder, Trial
from nephoscope.study.model import Configuration
from nephoscope.units import SECONDS_PER_HOUR

Placement = Literal["fresh", "per-configuration"]

LOOK_AT_LEDGER_S = 2.0
"""Between two tries to hold what others hold now."""

_TTL_FACTOR, _TTL_MORE_S = 2.0, 3600.0
"""Machines end themselves after twice the expected time and an hour, should nobody have given them back."""


@dataclass(frozen=True)
class Rules:
    """How a study's trials get their machines."""

    placement: Placement
    patience: Patience


class Conductor:
    """Of one results folder. What it decides by is read from the folder each time, so another one may go on."""

    def __init__(self, folder: ResultsFolder, study_key: str, world: World, ledger: Ledger, rules: Rules) -> None:
        self._folder = folder
        self._study_key = study_key
        self._world = world
        self._ledger = ledger
        self._rules = rules
        self._rows = {planned.intent.id: (planned, trial) for planned, trial in folder.planned()}
        self._left = {trial_id for trial_id, (_, trial) in self._rows.items() if not trial.finished()}
        self._kept: dict[str, _Kept] = {}
        self.refused: dict[str, str] = {}
        """Trials that could not be begun within the budget, and why."""

    async def advance(self, trial_id: str) -> Step:
        """See `Advance`.

        Raises:
            StorageFailed: the results could not be stored.
        """
        planned, trial = self._rows[trial_id]
        if trial.finished():
            return Step(ended=True)
        configuration = Configuration.model_validate(planned.intent.configuration)
        async with self._alone(configuration):
            log = _StateLog(trial, self._world.clock.unix_ms)
            refused = await self._hold(self._holding(planned, configuration))
            if refused is not None:
                self.refused[trial_id] = refused.reason
                log.enter(State.PLANNED, refused.reason)
                step = Step(ended=True)
            else:
                step = await self._attempt(planned, trial, configuration, log)
            if step.ended:
                self._left.discard(trial_id)
            return step

    def _alone(self, configuration: Configuration) -> AbstractAsyncContextManager[object]:
        """Trials that share a cluster do not run beside each other."""
        if self._rules.placement == "fresh":
            return nullcontext()
        return self._kept.setdefault(configuration.name, _Kept()).lock

    def _holding(self, planned: PlannedTrial, configuration: Configuration) -> Holding:
        quota, vcpus = quota_of(configuration)
        if self._rules.placement == "fresh":
            return Holding(planned.intent.id, quota, vcpus, planned.price_usd)
        prices = [row.price_usd for row, _ in self._sharing(configuration)]
        known = [price for price in prices if price is not None]
        whole = sum(known) if len(known) == len(prices) else None
        return Holding(f"{self._study_key}/{configuration.name}", quota, vcpus, whole)

    def _sharing(self, configuration: Configuration) -> list[tuple[PlannedTrial, Trial]]:
        """The trials to come of one configuration."""
        rows = (row for trial_id, row in self._rows.items() if trial_id in self._left)
        return [row for row in rows if row[0].intent.configuration_name == configuration.name]

    async def _hold(self, holding: Holding) -> Refusal | None:
        """None once it is held; else a refusal that no wait would end."""
        while (refused := await self._ledger.hold(holding)) is not None and refused.passes:
            await self._world.clock.sleep(LOOK_AT_LEDGER_S)
        return refused

    async def _attempt(
        self, planned: PlannedTrial, trial: Trial, configuration: Configuration, log: "_StateLog"
    ) -> Step:
        before, zones = _failures(trial), zones_of(configuration)
        found = await open_attempt(trial, self._world.providers[configuration.provider], self._study_key)
        if found is None:
            zone = after_failure(before, zones, self._rules.patience).zone if before else zones[0]
            attempt = trial.new_attempt(planned.intent)
            lease = self._lease(planned, configuration, attempt, zone)
            attempt.write_lease(lease)
            log.attempt = attempt.number
            log.enter(State.PLANNED)
            log.enter(State.LEASED)
        else:
            attempt, lease = found
        self._kept.setdefault(configuration.name, _Kept()).since(lease.begun_unix_ms)
        self._world.listener.trial_started(planned)
        task = self._undertaking(planned, attempt, lease, configuration, log)
        ended = await run_attempt(planned.intent, task, self._world)
        self._folder.forget_analysis()  # a report made meanwhile is of what was there then
        await self._settle(planned, configuration, task, ended, cost_usd(attempt, lease, lease.begun_unix_ms))
        decision = self._decide(ended, before, lease.zone, zones)
        log.enter(decision.state, decision.reason)
        if decision.state in ENDS:
            self._world.listener.trial_ended(planned, ended.status, ended.verdict, ended.reasons)
            return Step(ended=True)
        self._world.listener.trial_again(planned, [*ended.reasons, decision.reason], decision.wait_s)
        return Step(ended=False, wait_s=decision.wait_s)

    def _lease(self, planned: PlannedTrial, configuration: Configuration, attempt: Attempt, zone: str | None) -> Lease:
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
            begun_unix_ms=self._world.clock.unix_ms(),
        )

    def _request(self, planned: PlannedTrial, attempt: Attempt, configuration: Configuration) -> ClusterRequest:
        fresh = self._rules.placement == "fresh"
        return ClusterRequest(
            study=self._study_key,
            configuration=configuration,
            scratch=self._folder.scratch,
            trial=planned.intent.id if fresh else "",
            attempt=attempt.number if fresh else 0,
        )

    def _undertaking(
        self, planned: PlannedTrial, attempt: Attempt, lease: Lease, configuration: Configuration, log: "_StateLog"
    ) -> Undertaking:
        fresh = self._rules.placement == "fresh"
        shared = [planned] if fresh else [row for row, _ in self._sharing(configuration)]
        lasts_s = _TTL_FACTOR * sum(row.expected_duration_s for row in shared) + _TTL_MORE_S
        expires = lease.begun_unix_ms + int(lasts_s * 1000)
        request = replace(
            self._request(planned, attempt, configuration),
            zone=lease.zone,
            expires_unix_ms=expires,
            log_dir=attempt.log_dir,
        )
        return Undertaking(
            attempt=attempt,
            request=request,
            keep_cluster=not fresh,
            resumable=isinstance(self._world.providers[configuration.provider], OutlivesController),
            collected=log.last in _COLLECTED,
            enter=log.enter,
        )

    async def _settle(
        self, planned: PlannedTrial, configuration: Configuration, task: Undertaking, ended: Ended, cost: float
    ) -> None:
        """Gives back in the ledger what is not held any longer; a kept cluster goes after its last trial, or broken."""
        holding = self._holding(planned, configuration)
        kept = self._kept[configuration.name]
        if not task.keep_cluster:
            await self._ledger.give_back(holding.holder, cost)
        elif ended.status.state == "failed" or len(self._sharing(configuration)) <= 1:
            with suppress(NephoscopeError):  # what is left is found by its tags at the study's end
                await give_back(self._world.providers[configuration.provider], task.request.key, self._world.clock)
            hours = (self._world.clock.unix_ms() - kept.since_unix_ms) / 1000 / SECONDS_PER_HOUR
            lease = task.attempt.lease()
            await self._ledger.give_back(holding.holder, (lease.usd_per_hour or 0.0) * hours if lease else 0.0)
            kept.since_unix_ms = 0
        if ended.status.failure_class == QuotaReached.failure_class:
            await self._ledger.lower(holding.quota)

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

    def since(self, unix_ms: int) -> None:
        """It is held since then, unless it was already."""
        self.since_unix_ms = self.since_unix_ms or unix_ms


class _StateLog:
    """Writes down each state of one trial."""

    def __init__(self, trial: Trial, unix_ms: Callable[[], int]) -> None:
        self._trial = trial
        self._unix_ms = unix_ms
        states = trial.states()
        self.last = State(states[-1].state) if states else None
        self.attempt = states[-1].attempt if states else 0

    def enter(self, state: State, reason: str = "") -> None:
        """The trial comes into a state.

        Raises:
            AssertionError: it cannot follow.
            StorageFailed: it cannot be stored.
        """
        if state is self.last:
            return
        if not may_follow(self.last, state):
            raise AssertionError(f"{state} cannot follow {self.last}")
        now = self._unix_ms()
        self._trial.add_state(StateRecord(state=state, at_unix_ms=now, attempt=self.attempt, reason=reason))
        self.last = state


def zones_of(configuration: Configuration) -> list[str | None]:
    """Where its machines may be, in order of preference."""
    return [configuration.zone, *(configuration.other_zones or [])]


async def open_attempt(trial: Trial, provider: Provider, study_key: str) -> tuple[Attempt, Lease] | None:
    """The attempt that a controller which died left, where it can be gone on with.

    That is one whose output is here already, or whose measurement goes on, on machines that are still there.
    """
    attempt = trial.open_attempt()
    lease = attempt.lease() if attempt else None
    if attempt is None or lease is None:
        return None
    last = trial.states()[-1:]
    if last and last[0].attempt == attempt.number and last[0].state in _COLLECTED and attempt.collected():
        return attempt, lease
    if attempt.resumption() is None or not isinstance(provider, OutlivesController):
        return None
    if lease.placement != "fresh":  # what is left on a cluster that serves many trials is ended by the next
        return None
    return (attempt, lease) if lease.cluster in await provider.list(study_key) else None


def _failures(trial: Trial) -> list[Failure]:
    """Of the attempts since the trial last came to an end, oldest first."""
    ends = [record.attempt for record in trial.states() if record.state in ENDS]
    found = []
    for attempt in trial.attempts():
        status, lease = attempt.status(), attempt.lease()
        if status is not None and status.state == "failed" and attempt.number > (ends[-1] if ends else 0):
            found.append(Failure(status.failure_class or "", lease.zone if lease else None))
    return found
