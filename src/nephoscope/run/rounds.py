"""When rejected trials are repeated: after the last trial of their block, and after the last one of the study."""

from collections import defaultdict
from collections.abc import Collection, Sequence

from nephoscope.checks.repeatable import Repair
from nephoscope.model.records import PlannedTrial
from nephoscope.run.conductor import Conductor
from nephoscope.run.queue import Advance, OwnQueue, Step
from nephoscope.run.repeats import Candidates, due
from nephoscope.run.spending import spent_usd
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
                    for planned, repair in self._found(block):
                        self._conductor.plan_repeat(planned.intent.id, repair)
                        await OwnQueue(1, self._world.clock).drain([planned.intent.id], self._conductor.advance)
            return step

        return advancing

    async def at_the_end(self) -> None:
        """Repeats what is still rejected, in the plan's order, until nothing is left that may be repeated."""
        while found := self._found(None):
            for planned, repair in found:
                self._conductor.plan_repeat(planned.intent.id, repair)
            await self._drain([planned.intent.id for planned, _ in found])

    def _found(self, block: int | None) -> list[tuple[PlannedTrial, Repair]]:
        """Of one block those that were not repeated yet, or all of the study."""
        trials = None if block is None else self._blocks[block]
        spent = spent_usd(self._folder, self._world.clock.unix_ms())
        found, refused = self._candidates.now(spent, trials, first=block is not None)
        stopped = self._conductor.unrepeated
        self.not_repeated = refused | stopped
        return [(planned, repair) for planned, repair in found if planned.intent.id not in stopped]

    async def _drain(self, trials: Sequence[str]) -> None:
        await OwnQueue(self._at_once, self._world.clock).drain(trials, self._conductor.advance)
