"""Deleting all that is left of a cluster: asked for again until nothing is, as some of it waits for the rest."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, TypeVar

from nephoscope.machines.waiting import Clock
from nephoscope.model.errors import InfrastructureFailure

UNMAKE_TIMEOUT_S = 900.0
"""Bare metal takes minutes to terminate."""


class Left(Protocol):
    """What is left of a cluster."""

    @property
    def nothing(self) -> bool:
        """True if all of it is gone."""
        ...

    @property
    def names(self) -> Sequence[str]:
        """Of the resources, for messages."""
        ...


LeftT = TypeVar("LeftT", bound=Left)
CallT = TypeVar("CallT")


async def unmade(
    what: str,
    look: Callable[[], Awaitable[LeftT]],
    ending: Callable[[LeftT], list[CallT]],
    send: Callable[[CallT], Awaitable[object]],
    clock: Clock,
    *,
    look_every_s: float,
    timeout_s: float = UNMAKE_TIMEOUT_S,
) -> None:
    """Returns once nothing is left.

    Args:
        what: 'AWS did not delete all of study/a', for the error.
        look: what is left now.
        ending: the calls that delete what is left.
        send: sends one; that its resource is gone or still in use is no error.
        clock: for the waits.
        look_every_s: how long to wait while the same is left.
        timeout_s: for all of it.

    Raises:
        InfrastructureFailure: something is left after `timeout_s`.
    """
    until_s = clock.monotonic_s() + timeout_s
    before: list[CallT] = []
    while not (left := await look()).nothing:
        calls = ending(left)
        if clock.monotonic_s() > until_s:
            raise InfrastructureFailure(
                f"{what}: {', '.join(left.names)} still exist", hint="run `nephoscope clean` to try again"
            )
        if calls == before:  # nothing new since then: they are being deleted
            await clock.sleep(look_every_s)
        for call in calls:
            await send(call)
        before = calls
