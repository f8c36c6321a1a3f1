"""Deleting all that is left of a cluster: asked for again until nothing is, as some of it waits for the rest."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import InfrastructureFailure, NephoscopeError

UNMAKE_TIMEOUT_S = 900.0
"""Bare metal takes minutes to terminate."""


VISIBLE_TIMEOUT_S = 60.0
"""A cloud's lists may not immediately show what it has just created."""


class Unseen:
    """What was requested of a cluster and has not been listed yet.

    Lists of a cloud follow its creations some seconds later (EC2's API reference, "Ensuring idempotency" and "Eventual
    consistency"). So an empty list means that nothing is left only if it was not requested lately, or was listed since.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._names: set[str] = set()
        self._until_s = 0.0

    @contextmanager
    def requesting(self, what: str) -> Iterator[set[str]]:
        """Around a request to create something, which the cloud may have done even if its answer was lost.

        Args:
            what: its name in lists, or any text if the answer gives its names: add them to the set.
        """
        names: set[str] = set()
        self._names.add(what)
        try:
            yield names
        except NephoscopeError as error:
            if type(error) is not InfrastructureFailure:  # refused
                self._names.discard(what)
            raise
        finally:
            self._until_s = self._clock.monotonic_s() + VISIBLE_TIMEOUT_S
        if names:
            self._names = (self._names - {what}) | names

    def listed(self, names: Iterable[str]) -> None:
        """These were in a list."""
        self._names.difference_update(names)

    @property
    def waits(self) -> bool:
        """Whether a list that lacks something may still be behind."""
        return bool(self._names) and self._clock.monotonic_s() < self._until_s


class Left(Protocol):
    """What is left of a cluster."""

    @property
    def names(self) -> Sequence[str]:
        """Of the resources, for messages; none: all of it is gone."""


LeftT = TypeVar("LeftT", bound=Left)
CallT = TypeVar("CallT")


async def unmade(
    what: str,
    look: Callable[[], Awaitable[LeftT]],
    ending: Callable[[LeftT], list[CallT]],
    send: Callable[[CallT], Awaitable[object]],
    clock: Clock,
    unseen: Unseen,
    *,
    look_every_s: float,
    timeout_s: float = UNMAKE_TIMEOUT_S,
) -> None:
    """Returns once nothing is left, and lists would show it.

    Args:
        what: 'AWS did not delete all of study/a', for the error.
        look: what is left now.
        ending: the calls that delete what is left.
        send: sends one; that its resource is gone or still in use is no error.
        clock: for the waits.
        unseen: what was requested by this controller.
        look_every_s: how long to wait while the same is left.
        timeout_s: for all of it.

    Raises:
        InfrastructureFailure: something is left after `timeout_s`.
    """
    until_s = clock.monotonic_s() + timeout_s
    before: list[CallT] = []
    while True:
        left = await look()
        unseen.listed(left.names)
        if not left.names and not unseen.waits:
            return
        calls = ending(left)
        if clock.monotonic_s() > until_s:
            raise InfrastructureFailure(
                f"{what}: {', '.join(left.names)} still exist", hint="run `nephoscope clean` to try again"
            )
        if calls == before:  # nothing new since then: they are being deleted, or not listed yet
            await clock.sleep(look_every_s)
        for call in calls:
            await send(call)
        before = calls
