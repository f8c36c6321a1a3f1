"""How many streams fill a network: the search of the Cloud Report 2022 as a pure state machine.

One value a level goes in, the next number of streams comes out. Source: cloud-report's netperf scripts
(runemomniaggdemo.sh): 1, 3, 5 ... streams, at most three for each vCPU; it stops when the last three levels hardly
differ and takes the first of those three.
"""

from dataclasses import dataclass, replace
from statistics import fmean, pstdev
from typing import Literal

LOOKED_BACK = 3
"""Levels that must agree."""
STEP = 2
STREAMS_PER_CPU = 3


@dataclass(frozen=True)
class Level:
    """So many streams, and what they carried together."""

    streams: int
    bits_per_s: float


@dataclass(frozen=True)
class StopRule:
    """When the search ends. One of the two spreads is given, the other is None."""

    most_streams: int
    spread_bits_per_s: float | None = None
    """The population's standard deviation of the last three levels must be below it."""
    spread_share: float | None = None
    """The same as a share of their mean."""
    at_the_most: Literal["first of the last", "highest"] = "highest"
    """What is taken when the most streams came before three levels agreed."""

    def agree(self, levels: tuple[Level, ...]) -> bool:
        """True when the last three levels are a plateau."""
        if len(levels) < LOOKED_BACK:
            return False
        last = [level.bits_per_s for level in levels[-LOOKED_BACK:]]
        limit = self.spread_bits_per_s if self.spread_share is None else self.spread_share * fmean(last)
        return limit is not None and pstdev(last) < limit


@dataclass(frozen=True)
class StreamSearch:
    """What was seen so far."""

    rule: StopRule
    levels: tuple[Level, ...] = ()

    @property
    def ended(self) -> Literal["plateau", "most streams"] | None:
        """None: it goes on."""
        if self.rule.agree(self.levels):
            return "plateau"
        return "most streams" if self.levels and self._following > self.rule.most_streams else None

    @property
    def next_streams(self) -> int | None:
        """Of the next level; None when the search has ended."""
        return None if self.ended else self._following

    @property
    def _following(self) -> int:
        return self.levels[-1].streams + STEP if self.levels else 1

    def observed(self, bits_per_s: float) -> "StreamSearch":
        """After the next level.

        Raises:
            ValueError: it has ended.
        """
        streams = self.next_streams
        if streams is None:
            raise ValueError("the search has ended: no level is due")
        return replace(self, levels=(*self.levels, Level(streams, bits_per_s)))

    @property
    def best(self) -> Level:
        """The level that is measured at length.

        Raises:
            ValueError: it has not ended.
        """
        if self.ended is None:
            raise ValueError("the search has not ended")
        if self.ended == "plateau" or self.rule.at_the_most == "first of the last":
            return self.levels[-LOOKED_BACK:][0]
        return max(self.levels, key=lambda level: (level.bits_per_s, -level.streams))
