"""When rejected trials are repeated: after their block or, on shared machines, their replicate; and after the study."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence

from nephoscope.checks.repeatable import Cause, Repair
from nephoscope.model.records import PlannedTrial
from nephoscope.run.conductor import Conductor
from nephoscope.run.queue import Advance, OwnQueue, Step
from nephoscope.run.repeats import Candidates, due
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder


class Rounds:
    """The repeats of one run. They never pass through a shared queue: only this folder holds what is repeated."""

    def __init__(
        self, folder: ResultsFolder, conductor: Conductor, world: World, candidates: Candidates, at_once: int
    ) -> None:
        self._folder = folder
        self._conductor = conductor
        self._world = world
        self._candidates = candidates
        self._at_once = at_once
        self._blocks: dict[int, set[str]] = defaultdict(set)
        self._running: dict[int, set[str]] = defaultdict(set)
        for planned, trial in folder.planned():
            self._blocks[planned.intent.block].add(planned.intent.id)
            if due(trial):
                self._running[planned.intent.block].add(planned.intent.id)
        self._block_of = {trial: block for block, trials in self._blocks.items() for trial in trials}
        self.not_repeated: dict[str, str] = {}
        """Trials that could be repeated, and why they were not."""

    async def go_on(self) -> None:
        """Ends the repeats that an earlier controller of the folder planned or started."""
        pending = [planned.intent.id for planned, trial in self._folder.planned() if trial.finished() and due(trial)]
        await self._drain(pending)

    def leave_out(self, trials: Collection[str]) -> None:
        """These trials will not run: no block waits for them."""
        for running in self._running.values():
            running.difference_update(trials)

    def after_blocks(self, advance: Advance) -> Advance:
        """`advance`, followed by the repeats of a block once its last trial has ended: in that trial's place.

        Each trial of the block is repeated at most once here; the end of the study, hours later perhaps, has another
        chance.
        """

        async def advancing(trial_id: str) -> Step:
            step = await advance(trial_id)
            block = self._block_of[trial_id]
            if step.ended and trial_id in self._running[block]:
                self._running[block].discard(trial_id)
                if not self._running[block]:
                    await self.repeat(self._blocks[block])
            return step

        return advancing

    async def repeat(self, trials: Collection[str]) -> None:
        """Repeats those of these trials that were rejected and not repeated yet, each once.

        On machines that they share; but if these are wrong, on new ones.
        """
        found = self._found(trials)
        for planned, repair in found:
            if repair.cause is Cause.MACHINE:
                await self._conductor.exchange(planned.intent.id)
        for planned, repair in found:
            self._plan(planned, repair)
            await OwnQueue(1, self._world.clock).drain([planned.intent.id], self._conductor.advance)

    async def at_the_end(self) -> None:
        """Repeats what is still rejected, in the plan's order, until nothing is left that may be repeated."""
        while found := self._found(None):
            for planned, repair in found:
                self._plan(planned, repair)
            await self._drain([planned.intent.id for planned, _ in found])

    def _plan(self, planned: PlannedTrial, repair: Repair) -> None:
        self._candidates.is_repeated(planned.intent.id)
        self._conductor.plan_repeat(planned.intent.id, repair)

    def _found(self, trials: Collection[str] | None) -> list[tuple[PlannedTrial, Repair]]:
        """Those of these trials that were not repeated yet; None: all of the study."""
        found, refused = self._candidates.now(self._world.clock.unix_ms(), trials, first=trials is not None)
        stopped = self._conductor.unrepeated
        self.not_repeated = refused | stopped
        return [(planned, repair) for planned, repair in found if planned.intent.id not in stopped]

    async def _drain(self, trials: Sequence[str]) -> None:
        left = set(trials)
        groups = Groups({trial: self._conductor.group(trial) for trial in trials})

        async def advancing(trial: str) -> Step:
            step = await self._conductor.advance(trial)
            left.difference_update([trial] if step.ended else [])
            return step

        advance = groups.advance(advancing, left.__contains__, self._conductor.end_group)
        await OwnQueue(self._at_once, self._world.clock).drain(groups.heads(trials), advance)


class Groups:
    """The groups of a plan; the same in every run of a folder, so that a queue continues those of a dead controller."""

    def __init__(self, group_of: Mapping[str, str]) -> None:
        """Groups of trials.

        Args:
            group_of: trial id -> its group, in the order of the plan.
        """
        self._members: dict[str, list[str]] = {}
        first: dict[str, str] = {}
        for trial, group in group_of.items():
            self._members.setdefault(first.setdefault(group, trial), []).append(trial)
        self._first = {trial: head for head, members in self._members.items() for trial in members}

    def heads(self, trials: Iterable[str]) -> list[str]:
        """The group of each of these trials once, by its first trial, in their order."""
        return list(dict.fromkeys(self._first[trial] for trial in trials))

    def members(self, head: str) -> Sequence[str]:
        """All trials of a group, in the order of the plan."""
        return self._members[head]

    def advance(
        self, advance: Advance, waits: Callable[[str], bool], after: Callable[[str], Awaitable[None]]
    ) -> Advance:
        """Advances a group, given by its first trial, by one step of one of its trials.

        Args:
            advance: one trial.
            waits: whether a trial has yet to run.
            after: called once the last of them has ended, before the group ends.
        """

        async def advancing(head: str) -> Step:
            left = [trial for trial in self._members[head] if waits(trial)]
            if not left:
                return Step(ended=True)
            step = await advance(left[0])
            if not step.ended:
                return step
            if len(left) == 1:
                await after(head)
            return Step(ended=len(left) == 1)

        return advancing
