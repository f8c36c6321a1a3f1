"""Trials that share a cluster, one after the other: to a queue they are one piece of work, named by its first trial.

Otherwise a queue of several workers would leave a cluster idle while it creates the next one, and a full set of idle
clusters would never end.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from nephoscope.run.queue import Advance, Step


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
