"""Servers that are simulated, to be searched for their highest load: each point is what one would have measured."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
from numpy.random import Generator

from nephoscope.benchmarks.search.levels import Ask, Ended, Point, Settings
from nephoscope.benchmarks.search.machine import State, advance, begin

Server = Callable[[Ask], Point]
LONG = 3
"""Points that the outcome rests on are this many times longer."""


def searched(settings: Settings, server: Server) -> State:
    state = begin(settings)
    while isinstance(state.next, Ask):
        state = advance(state, server(state.next))
    return state


def ended(state: State) -> Ended:
    assert isinstance(state.next, Ended)
    return state.next


def point(ask: Ask, *, held: bool, saturated: bool = False, achieved: float | None = None) -> Point:
    return Point(ask.level, ask.purpose, held, saturated, ask.level if achieved is None else achieved)


# M/M/c


def mean_response_s(arrivals_per_s: float, services_per_s: float, servers: int) -> float:
    """Of M/M/c, by the Erlang C formula; infinite from saturation on."""
    offered = arrivals_per_s / services_per_s
    if offered >= servers:
        return math.inf
    terms = [offered**count / math.factorial(count) for count in range(servers)]
    last = offered**servers / math.factorial(servers) * servers / (servers - offered)
    waits = last / (sum(terms) + last)
    return 1 / services_per_s + waits / (servers * services_per_s - arrivals_per_s)


def limit_of_queue(limit_s: float, services_per_s: float, servers: int) -> float:
    """The arrival rate at which the mean response time of M/M/c reaches `limit_s`."""
    low, high = 0.0, servers * services_per_s
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_response_s(middle, services_per_s, servers) <= limit_s else (low, middle)
    return low


@dataclass
class Queue:
    """M/M/c, simulated arrival by arrival in many equal queues at once; the rule is a limit of the mean response."""

    chance: Generator
    services_per_s: float
    servers: int
    limit_s: float
    queues: int = 300
    arrivals: int = 700
    """In each queue; the first 300 fill it and are not counted."""

    def __call__(self, ask: Ask) -> Point:
        return point(ask, held=self.mean_s(ask.level, self.queues * (LONG if ask.long else 1)) <= self.limit_s)

    def mean_s(self, arrivals_per_s: float, queues: int) -> float:
        shape = (self.arrivals, queues)
        arrivals_s = np.cumsum(self.chance.exponential(1 / arrivals_per_s, shape), axis=0)
        services_s = self.chance.exponential(1 / self.services_per_s, shape)
        free_s, every = np.zeros((queues, self.servers)), np.arange(queues)
        responses_s = np.empty(shape)
        for row in range(self.arrivals):
            first = free_s.argmin(axis=1)
            done_s = np.maximum(arrivals_s[row], free_s[every, first]) + services_s[row]
            free_s[every, first] = done_s
            responses_s[row] = done_s - arrivals_s[row]
        return float(responses_s[300:].mean())


# servers without a mechanism: what their limit is, and what disturbs it


@dataclass
class Cliff:
    """Holds up to its capacity and not a bit further."""

    capacity: float

    def __call__(self, ask: Ask) -> Point:
        return point(ask, held=ask.level <= self.capacity, achieved=min(ask.level, self.capacity))


@dataclass
class Noisy:
    """A capacity that each point sees a little higher or lower; longer points see less of it."""

    chance: Generator
    capacity: float
    sigma: float

    def __call__(self, ask: Ask) -> Point:
        sigma = self.sigma / math.sqrt(LONG if ask.long else 1)
        return Cliff(self.capacity * math.exp(self.chance.normal(0, sigma)))(ask)


@dataclass
class Stalling:
    """Stands still at random moments, at any load: the longer a point, the surer it meets one."""

    chance: Generator
    stalls_per_point: float

    def __call__(self, ask: Ask) -> Point:
        return point(ask, held=self.chance.poisson(self.stalls_per_point * (LONG if ask.long else 1)) == 0)


@dataclass
class Robbed:
    """Its CPUs are given to others during some points, which fail for it; `told` says whether one sees that."""

    chance: Generator
    server: Server
    share: float
    told: bool = True

    def __call__(self, ask: Ask) -> Point:
        if self.chance.random() >= self.share:
            return self.server(ask)
        return replace(self.server(ask), held=False, achieved=0.5 * ask.level, disturbed=self.told)


@dataclass
class Coin:
    """Holds or fails by chance, at any load."""

    chance: Generator
    share: float = 0.5

    def __call__(self, ask: Ask) -> Point:
        return point(ask, held=bool(self.chance.random() < self.share))


@dataclass
class Ranges:
    """Holds in ranges of levels with gaps between them."""

    holding: tuple[tuple[float, float], ...]

    def __call__(self, ask: Ask) -> Point:
        return point(ask, held=any(low <= ask.level <= high for low, high in self.holding))

    def limits(self) -> tuple[float, ...]:
        return tuple(high for _, high in self.holding)

    def gaps(self) -> Iterator[tuple[float, float]]:
        for (_, low), (high, _) in pairwise(self.holding):
            yield low, high


@dataclass
class Changing:
    """A capacity that is a function of the number of points measured so far: drift, credits, caches that fill."""

    capacity_after: Callable[[int], float]
    asked: int = field(default=0)

    @property
    def capacity(self) -> float:
        return self.capacity_after(self.asked)

    def __call__(self, ask: Ask) -> Point:
        self.asked += LONG if ask.long else 1
        return Cliff(self.capacity)(ask)


@dataclass
class BehindAClient:
    """A server that is faster than the client before it; twice the client is twice as fast."""

    server: float
    client: float
    tells: bool = True
    """False: it shows no sign of being near its limit."""

    def __call__(self, ask: Ask) -> Point:
        client = self.client * (2 if ask.purpose == "larger client" else 1)
        most = min(self.server, client)
        return point(
            ask,
            held=ask.level <= most,
            saturated=self.tells and ask.level > 0.8 * client,
            achieved=min(ask.level, most),
        )
