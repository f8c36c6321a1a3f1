"""A whole study: every planned trial that is not finished yet, started in the plan's order."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, nullcontext
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Protocol

from nephoscope.checks.registry import overall
from nephoscope.machines.shielded import beside, to_its_end
from nephoscope.model.control import Lease
from nephoscope.model.errors import CleanupFailed, InputError
from nephoscope.model.records import Plan, PlannedTrial, VerdictKind
from nephoscope.model.words import counted
from nephoscope.plan.cut import joined
from nephoscope.providers.base import HasLimit, NamesHosts, Provider
from nephoscope.run.cleaning import clean, find, stored_configurations
from nephoscope.run.conductor import Conductor, Rules, open_attempt
from nephoscope.run.ledger import Ledger, Limits, OwnLedger, spent_usd
from nephoscope.run.queue import Advance, OwnQueue, Queue, SharedWork, Step
from nephoscope.run.repeats import Candidates, RepeatRules, cell_of, due
from nephoscope.run.rounds import Groups, Rounds
from nephoscope.run.shared_ledger import DEAD_AFTER_S, SharedLedger
from nephoscope.run.states import STOPS, Patience
from nephoscope.run.world import Listener, World
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.managed import provider_of_machines


@dataclass(frozen=True)
class StudyOutcome:
    """Counts over the whole plan after a run."""

    finished: int
    valid: int
    failed: int
    refused: Mapping[str, str] = field(default_factory=dict)
    """Trials that could not start or finish within the budget, and why."""
    stopped: str = ""
    """Why it ended before all blocks were done; empty: it did not."""
    not_needed: int = 0
    """Trials that were left out because no open question needs them."""
    not_repeated: Mapping[str, str] = field(default_factory=dict)
    """Rejected trials that a repeat could replace, but time or budget did not allow one, and why."""


def adopt_plan(folder: ResultsFolder, study_text: str, plan: Plan, *, replan: bool, whole: Plan | None = None) -> None:
    """Stores study and plan; a used folder always accepts more trials, a new title, budget or estimates.

    Args:
        folder: where.
        study_text: the study as its author wrote it.
        plan: what is to be measured.
        replan: whether trials of the folder's plan may be dropped.
        whole: the plan of the whole study, of which `plan` is a part: the folder keeps its other parts.

    Raises:
        InputError: some trials of the folder's plan are not in this one, and `replan` is not set; one of the two plans
            is a rehearsal; or the study stops when all is decided, and the folder holds another part of it.
    """
    if folder.plan_path.exists():
        held = folder.plan()
        _require_the_same_kind(folder, held, plan)
        if whole is not None:
            part = plan
            plan = joined(whole, part, (row.intent.id for row in held.trials))
            _require_one_part(folder, plan, part)
        gone = {row.intent.id for row in held.trials} - {row.intent.id for row in plan.trials}
        if gone and not replan:
            raise InputError(
                f"{folder.path} holds the plan of a study {held.study!r} with {counted(len(held.trials), 'trial')}, of "
                f"which {len(gone)} {'is' if len(gone) == 1 else 'are'} not in the new plan",
                hint="choose another folder with --out, or use --replan to replace the plan: finished trials in both "
                "plans are kept; the others stay in the folder but are no longer used",
            )
        if gone:
            folder.forget_looks()
    folder.write_plan(study_text, plan)


def _require_the_same_kind(folder: ResultsFolder, held: Plan, plan: Plan) -> None:
    if held.simulated != plan.simulated:
        holds, this = ("a rehearsal", "measures") if held.simulated else ("measurements", "is a rehearsal")
        raise InputError(
            f"{folder.path} holds {holds}, but this run {this}: a folder cannot hold both",
            hint="choose another folder with --out",
        )


def _require_one_part(folder: ResultsFolder, plan: Plan, part: Plan) -> None:
    """A look is at all cells of the plan, and waits for trials of each."""
    others = {cell_of(row) for row in plan.trials} - {cell_of(row) for row in part.trials}
    if plan.stop == "decided" and others:
        raise InputError(
            f'{folder.path} holds another part of this study, whose stop = "decided" looks at all parts of a folder '
            f"together; not in this part: {', '.join(sorted({name for name, _ in others})[:5])}",
            hint="choose another folder for this part with --out, or run the study without --only and --types",
        )


@dataclass(frozen=True)
class Rest:
    """What a stopping rule says of the blocks that follow."""

    stopped: str = ""
    """Why no further block is needed; empty: one is."""
    not_needed: Collection[str] = ()
    """Ids of trials that nothing needs any more, in whichever block."""
    looked: bool = False
    """Whether these follow from a look at the questions."""


class Pause(Protocol):
    """A moment between trials."""

    async def __call__(self, *, alone: bool) -> None:
        """Called after each block but the last if one trial runs at a time, else after each trial.

        Args:
            alone: no trial runs until this returns; False: others run meanwhile, on other machines.
        """


@dataclass(frozen=True)
class RunOptions:
    """How a study runs: nothing here changes what a trial is."""

    limits: Limits = field(default_factory=lambda: Limits(max_clusters=1))
    rules: Rules = field(default_factory=lambda: Rules("fresh", Patience()))
    repeats: RepeatRules = field(default_factory=RepeatRules)
    state_url: str | None = None
    """Database shared by several controllers; `None`: there is only this one."""
    dead_after_s: float = DEAD_AFTER_S
    """Time without a heartbeat after which others take over a controller's trials."""
    look: Callable[[int], Rest] | None = None
    """Called after each whole block with its number: what is left to measure. None: all that is planned."""
    pause: Pause | None = None
    """Where the study can be shown while it runs."""


async def run_study(folder: ResultsFolder, world: World, conduct: RunOptions | None = None) -> StudyOutcome:
    """Runs what is left of the plan in `folder`. A failed trial does not end the study.

    Where the folder is for a part of its plan (see `ResultsFolder.only`), trials of other parts that a dead controller
    left running are measured to their end first: their machines cost money, and nothing is left when this returns.

    Raises:
        StorageFailed: the results could not be stored.
        CleanupFailed: machines could not be deleted.
        InputError: the options do not fit the study, or its trials ended elsewhere and their results are missing here.
        asyncio.CancelledError: it was interrupted; running it again resumes.
    """
    conduct = conduct or RunOptions()
    rows = list(folder.planned())
    not_needed = folder.not_needed()
    left = [row for row, trial in rows if not trial.finished() and row.intent.id not in not_needed]
    candidates = Candidates(folder, conduct.rules.placement, conduct.repeats, conduct.limits.max_usd, world.benchmarks)
    again = [row for row, trial in rows if trial.finished() and (due(trial) or candidates.repair(row, trial))]
    world.listener.study_started(len(rows), len(rows) - len(left))
    key = folder.study_key()
    _refuse_too_few_clusters([*left, *again], _providers([*left, *again], world), conduct)
    everywhere = _providers([*left, *again, *_perhaps_on_machines(folder)], world)
    await find(everywhere, key, stored_configurations(folder))  # a lost cluster is reported by its own trial
    going_on = await _going_on(folder, key, world)
    own = {planned.intent.id for planned, _ in rows}
    elsewhere = [trial for trial in going_on if trial not in own]
    worked_on = folder.also(elsewhere)
    going = [planned for planned, _ in worked_on.planned() if planned.intent.id in elsewhere]
    providers = _providers([*left, *again, *going], world)
    keep = {lease.cluster for _, lease in going_on.values()}
    cleaned = await clean(everywhere, key, world.clock, keep)
    try:
        async with AsyncExitStack() as leave:
            spent = spent_usd(folder, world.clock.unix_ms(), held=keep, gone=not cleaned.left)
            ledger = await leave.enter_async_context(_ledger(folder, conduct, spent))
            conductor = Conductor(worked_on, key, world, ledger, conduct.rules)
            await conductor.hold_again(going_on)
            groups = Groups({row.intent.id: conductor.group(row.intent.id) for row, _ in worked_on.planned()})
            at_once = _at_once(providers, conduct)
            queue = await leave.enter_async_context(_queue(worked_on, ledger, providers, conduct, world))
            last = max((planned.intent.block for planned, _ in rows), default=0)
            rounds = Rounds(folder, conductor, world, candidates, at_once)
            work = _Work(queue, groups, conductor, rounds, conduct, world.listener, one_at_a_time=at_once == 1)
            running = _all(elsewhere, left, last, work)
            if isinstance(queue, SharedWork):
                running = beside(running, queue.living())
            stopped = await running
    finally:
        await to_its_end(_leave_nothing(everywhere, key, world))
    folder.remove_scratch()
    outcome = replace(count(folder), refused=conductor.refused, stopped=stopped, not_repeated=rounds.not_repeated)
    _require_its_part(folder, outcome, conduct)
    return outcome


def _require_its_part(folder: ResultsFolder, outcome: StudyOutcome, conduct: RunOptions) -> None:
    """A queue may list ended trials that the folder does not hold: some may be of other controllers, but not all."""
    if conduct.state_url is None or outcome.stopped or outcome.finished + outcome.failed + len(outcome.refused) > 0:
        return
    known = {*outcome.refused, *folder.not_needed()}
    absent = [
        planned.intent.id
        for planned, trial in folder.planned()
        if not trial.attempts() and planned.intent.id not in known
    ]
    if absent:
        ended = f"{counted(len(absent), 'trial')} of this study ended elsewhere"
        raise InputError(
            f"{ended}, but {folder.path} does not hold {'its' if len(absent) == 1 else 'their'} results",
            hint="copy what is missing into trials/ from where it was measured; to measure it again, "
            "use another study name, or another database with --state",
        )


@dataclass(frozen=True)
class _Work:
    """What takes the trials of one run to their ends."""

    queue: Queue
    groups: Groups
    conductor: Conductor
    rounds: Rounds
    conduct: RunOptions
    listener: Listener
    one_at_a_time: bool

    async def drain(self, trials: Sequence[PlannedTrial], last: int) -> None:
        """Runs these trials in their order; `last` is the last block of the study."""
        ends = {row.intent.block: row.intent.id for row in trials if row.intent.block != last}
        heads = self.groups.heads(row.intent.id for row in trials)
        await self.queue.drain(heads, self._with_pauses({*self.groups.heads(ends.values())}))

    def _with_pauses(self, ends: Collection[str]) -> Advance:
        """`ends`: what ends a block."""
        advance, pause = self._advance(), self.conduct.pause
        if pause is None:
            return advance

        async def advancing(head: str) -> Step:
            step = await advance(head)
            if step.ended and (head in ends or not self.one_at_a_time):
                await pause(alone=self.one_at_a_time)
            return step

        return advancing

    def _advance(self) -> Advance:
        """Advances trials, or groups of them, and repeats what is rejected.

        A controller that shares the study does not know when a block has ended, so it repeats at the end only. So does
        one with a budget and the clusters of configurations, as a repeat could use up the money reserved for the
        trials that follow on them.
        """
        advance, placement = self.conductor.advance, self.conduct.rules.placement
        if placement == "per-replicate":
            return self.groups.advance(advance, self.conductor.waits, self._after_group)
        with_budget = self.conduct.limits.max_usd is not None
        only_at_the_end = self.conduct.state_url is not None or (placement != "fresh" and with_budget)
        return advance if only_at_the_end else self.rounds.after_blocks(advance)

    async def _after_group(self, head: str) -> None:
        """Its cluster is there until what was rejected has been repeated on it."""
        await self.rounds.repeat(self.groups.members(head))
        await self.conductor.end_group(head)


async def _all(elsewhere: list[str], left: list[PlannedTrial], last: int, work: _Work) -> str:
    """Runs trials and repeats, first those `elsewhere` that go on in other parts. Returns why it stopped."""
    if elsewhere:
        await work.queue.drain(elsewhere, work.conductor.advance)
    await work.rounds.go_on()
    stopped = await _drain(left, last, work)
    await work.rounds.at_the_end()
    return stopped


async def _drain(left: list[PlannedTrial], last: int, work: _Work) -> str:
    """Runs trials in the plan's order, with a stopping rule block by block. Returns why it stopped."""
    look = work.conduct.look
    if look is None:
        await work.drain(left, last)
        return ""
    for block, trials in groupby(left, key=lambda planned: planned.intent.block):
        rest = look(block - 1)
        if rest.stopped:
            return rest.stopped
        await work.conductor.leave_out(rest.not_needed)
        needed = [planned for planned in trials if planned.intent.id not in rest.not_needed]
        work.rounds.leave_out(rest.not_needed)
        if rest.looked:
            work.listener.left_out(rest.not_needed)
        await work.drain(needed, last)
    return look(last).stopped


def _queue(
    folder: ResultsFolder, ledger: Ledger, providers: Sequence[Provider], conduct: RunOptions, world: World
) -> AbstractAsyncContextManager[Queue]:
    """In memory for one controller: its folder says what is left to do, also to its successor."""
    if conduct.state_url is None or not isinstance(ledger, SharedLedger):
        return nullcontext(OwnQueue(_waiting(len(list(folder.planned())), providers, conduct), world.clock))
    from nephoscope.run.shared_queue import SharedQueue  # half a second that one controller need not wait

    planned = {row.intent.id for row, _ in folder.planned()}

    def times_ended(trial: str) -> int | None:
        if trial not in planned:
            return None
        return sum(record.state in STOPS for record in folder.trial(trial).states())

    return SharedQueue(
        conduct.state_url,
        folder.plan().study,
        _at_once(providers, conduct),  # whoever takes more than it can start keeps it from the others
        ledger,
        world.clock,
        times_ended=times_ended,
        tell=world.listener.notice,
    )


def _ledger(folder: ResultsFolder, conduct: RunOptions, spent: float) -> AbstractAsyncContextManager[Ledger]:
    if conduct.state_url is None:
        return nullcontext(OwnLedger(conduct.limits, spent))
    study, owner, dead_after_s = folder.plan().study, folder.fleet_id(), conduct.dead_after_s
    return SharedLedger(conduct.state_url, study, owner, conduct.limits, spent, dead_after_s=dead_after_s)


def _providers(left: Sequence[PlannedTrial], world: World) -> list[Provider]:
    names = sorted({provider_of_machines(planned.intent.configuration) for planned in left})
    return [world.providers[name] for name in names if name in world.providers]


def _perhaps_on_machines(folder: ResultsFolder) -> list[PlannedTrial]:
    """Trials of the whole plan at providers where a dead controller may have left machines.

    A provider where nothing started, or where every trial has ended, is not asked: nobody needs to log in there.
    """
    not_needed = folder.not_needed()
    started: set[object] = set()
    unended: set[object] = set()
    for planned, trial in folder.whole_plan():
        provider = provider_of_machines(planned.intent.configuration)
        if trial.attempts():
            started.add(provider)
        elif planned.intent.id in not_needed:
            continue
        if due(trial) or any(record.state not in STOPS for record in trial.states()[-1:]):
            unended.add(provider)
    asked = started & unended
    return [planned for planned in folder.plan().trials if provider_of_machines(planned.intent.configuration) in asked]


def _refuse_too_few_clusters(left: Sequence[PlannedTrial], providers: Sequence[Provider], conduct: RunOptions) -> None:
    """Kept clusters live as long as their configuration has trials: with fewer, a block waits for the study's end."""
    configurations = {planned.intent.configuration_name for planned in left}
    allowed = _at_once(providers, conduct)
    if conduct.rules.placement != "per-configuration" or allowed >= len(configurations):
        return
    raise InputError(
        f"placement 'per-configuration' keeps {len(configurations)} clusters at once, but only {allowed} "
        f"{'is' if allowed == 1 else 'are'} allowed",
        hint=f'use --max-clusters {len(configurations)} if the provider allows so many, or use placement "fresh"',
    )


def _at_once(providers: Sequence[Provider], conduct: RunOptions) -> int:
    """How many clusters there may be at the same time.

    A cluster of listed hosts that is kept for several trials would keep its hosts from all others.
    """
    limits = [provider.at_once for provider in providers if isinstance(provider, HasLimit)]
    if conduct.rules.placement != "fresh" and any(isinstance(provider, NamesHosts) for provider in providers):
        limits.append(1)
    return min([conduct.limits.max_clusters or 1, *limits])


def _waiting(trials: int, providers: Sequence[Provider], conduct: RunOptions) -> int:
    """How many trials wait for their turn at once: all, where each waits for its own hosts, and the ledger counts."""
    at_once = _at_once(providers, conduct)
    hosts_only = all(isinstance(provider, NamesHosts) for provider in providers)
    return max(at_once, trials) if at_once > 1 and hosts_only else at_once


async def _going_on(folder: ResultsFolder, key: str, world: World) -> dict[str, tuple[Attempt, Lease]]:
    """What a dead controller started and still runs on existing clusters, by trial."""
    found = {}
    for planned, trial in folder.whole_plan():
        provider = world.providers.get(provider_of_machines(planned.intent.configuration))
        one = await open_attempt(trial, planned.intent.configuration, provider, key) if provider else None
        if one is not None:
            found[planned.intent.id] = one
    return found


async def _leave_nothing(providers: Sequence[Provider], key: str, world: World) -> None:
    found = await clean(providers, key, world.clock)
    if found.left:
        raise CleanupFailed(
            f"{counted(len(found.left), 'cluster')} could not be deleted: {', '.join(found.left)}",
            hint="run `nephoscope clean` to try again, and check the provider's console",
        )


def count(folder: ResultsFolder) -> StudyOutcome:
    """Counts over the plan, from what is stored."""
    states: Counter[str] = Counter()
    for _, trial in folder.planned():
        attempt = trial.decisive_attempt()
        status = attempt.status() if attempt else None
        if attempt is None or status is None:
            continue
        states[status.state] += 1
        if status.state == "finished" and overall(attempt.verdicts()) is VerdictKind.VALID:
            states["valid"] += 1
    left_out = sum(not folder.trial(trial).attempts() for trial in folder.not_needed())
    return StudyOutcome(states["finished"], states["valid"], states["failed"], not_needed=left_out)
