"""Time, as whoever waits for a machine needs it, and the one rule for asking a machine again that did not answer."""

from collections.abc import AsyncIterator
from typing import Protocol

FIRST_PAUSE_S = 0.25
LONGEST_PAUSE_S = 5.0
MOST_TRIES = 20
"""In a row; with their pauses they take some 80 s."""
HELD_S = 60.0
"""A try that lasted so long was no vain one: a link that breaks once an hour may break every hour."""


class Clock(Protocol):
    """What is needed of `run.clock.Clock`."""

    def monotonic_s(self) -> float:
        """Seconds since an arbitrary moment."""

    async def sleep(self, seconds: float) -> None:
        """Waits."""


class Tries:
    """The tries of one question, as an asynchronous iterator over the seconds that are left.

    Before each but the first comes a pause, twice as long as the one before it. They end when the time is over, and
    when too many in a row were in vain. Whoever gets an answer leaves the loop.
    """

    def __init__(self, clock: Clock, for_s: float, *, most: int = MOST_TRIES, pause_s: float = FIRST_PAUSE_S) -> None:
        """Tries nothing yet.

        Args:
            clock: real or simulated.
            for_s: how long to try; may be infinite. There is one try in any case.
            most: tries in a row.
            pause_s: the first pause.
        """
        self._clock = clock
        self._for_s = for_s
        self._most = most
        self._first_pause_s = pause_s
        self.in_vain = 0
        """Tries in a row without an answer."""

    @property
    def too_many(self) -> bool:
        """Whether their number ended them, not the time."""
        return self.in_vain >= self._most

    def progress(self) -> None:
        """The try brought something, though not a whole answer: the next one counts as the first."""
        self.in_vain = 0

    async def __aiter__(self) -> AsyncIterator[float]:
        """See the class."""
        begun_s = self._clock.monotonic_s()
        until_s = begun_s + self._for_s
        left_s = self._for_s
        while True:
            self.in_vain += 1
            yield left_s
            ended_s = self._clock.monotonic_s()
            if ended_s - begun_s >= HELD_S:
                self.in_vain = 0
            pause_s = min(self._first_pause_s * 2 ** max(self.in_vain - 1, 0), LONGEST_PAUSE_S)
            if self.too_many or ended_s + pause_s >= until_s:
                return
            await self._clock.sleep(pause_s)
            begun_s = self._clock.monotonic_s()
            left_s = until_s - begun_s
