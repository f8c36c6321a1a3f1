"""The search on simulated servers: within 3 % of the true limit where there is one, else another outcome.

Servers are drawn anew for each seed: capacity over three decades, the probe that places the search up to half off.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from hypothesis import settings
from numpy.random import Generator

from nephoscope.benchmarks.search.levels import Ask, Outcome, Point, Purpose, Settings
from nephoscope.benchmarks.search.machine import State, advance, begin
from tests.support.simulated_servers import (
    BehindAClient,
    Changing,
    Cliff,
    Coin,
    Noisy,
    Queue,
    Ranges,
    Robbed,
    Server,
    Stalling,
    ended,
    limit_of_queue,
    mean_response_s,
    point,
    searched,
)

SEEDS = settings().max_examples
"""As many as property tests take examples."""
MIN_RIGHT = 0.95
NEAR = 0.03


def around(probe: float) -> Settings:
    return Settings(floor=0.01 * probe, first=0.1 * probe, ceiling=4 * probe)


def capacity_of(chance: Generator) -> float:
    return float(np.exp(chance.uniform(np.log(1e3), np.log(1e6))))


def badly_probed(chance: Generator, capacity: float) -> Settings:
    return around(capacity * chance.uniform(0.5, 1.5))


def within(state: State, limit: float) -> bool:
    end = ended(state)
    return end.outcome is Outcome.FOUND and end.level is not None and abs(end.level / limit - 1) <= NEAR


def share_right(right: Callable[[Generator], bool], seeds: int = SEEDS) -> float:
    return sum(right(np.random.default_rng(seed)) for seed in range(seeds)) / seeds


# where there is a limit


def test_a_cliff_is_found_by_every_seed() -> None:
    def right(chance: Generator) -> bool:
        capacity = capacity_of(chance)
        state = searched(badly_probed(chance, capacity), Cliff(capacity))
        assert len(state.points) <= 21
        end = ended(state)
        assert end.level is not None
        assert end.failing is not None
        return within(state, capacity) and end.level <= capacity < end.failing <= 1.021 * end.level

    assert share_right(right) == 1


def test_a_noisy_server_is_found() -> None:
    def right(chance: Generator) -> bool:
        capacity = capacity_of(chance)
        return within(searched(badly_probed(chance, capacity), Noisy(chance, capacity, 0.01)), capacity)

    assert share_right(right) >= MIN_RIGHT


QUEUES = [(1, 2.0), (4, 1.2)]
"""Servers, and the limit of the mean response time in service times: M/M/1 at 50 %, M/M/4 at 62 % of capacity."""


def queue_is_found(chance: Generator, servers: int, limit: float) -> bool:
    services_per_s = float(np.exp(chance.uniform(np.log(1e2), np.log(1e5))))
    limit_s = limit / services_per_s
    true = limit_of_queue(limit_s, services_per_s, servers)
    settings = badly_probed(chance, services_per_s * servers)
    return within(searched(settings, Queue(chance, services_per_s, servers, limit_s)), true)


@pytest.mark.parametrize(("servers", "limit"), QUEUES)
def test_the_limit_of_a_queue_is_found(servers: int, limit: float) -> None:
    assert share_right(lambda chance: queue_is_found(chance, servers, limit), seeds=2) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("servers", "limit"), QUEUES)
def test_the_limit_of_a_queue_is_found_by_many_seeds(servers: int, limit: float) -> None:
    assert share_right(lambda chance: queue_is_found(chance, servers, limit)) >= MIN_RIGHT


def test_the_simulated_queue_agrees_with_erlang() -> None:
    queue = Queue(np.random.default_rng(1), services_per_s=1000, servers=4, limit_s=1)
    assert queue.mean_s(2500, queues=2000) == pytest.approx(mean_response_s(2500, 1000, 4), rel=0.01)


@pytest.mark.parametrize("factor", [0.5, 2.0])
def test_a_server_that_changes_once_is_found_as_it_is_at_the_end(factor: float) -> None:
    """Half of the CPUs taken away (credits used up), or a cache that filled, at any moment of the search."""

    def right(chance: Generator) -> bool:
        capacity, at = capacity_of(chance), chance.integers(1, 25)
        server = Changing(lambda asked: capacity * (factor if asked >= at else 1))
        return within(searched(badly_probed(chance, capacity), server), server.capacity)

    assert share_right(right) >= MIN_RIGHT


def test_of_several_ranges_that_hold_the_lowest_that_was_met_counts() -> None:
    def right(chance: Generator) -> bool:
        top = capacity_of(chance)
        server = Ranges(((0, 0.3 * top), (0.6 * top, top)))
        state = searched(around(top), server)
        failed = [one.level for one in state.points if not one.passed]
        return any(within(state, limit) for limit in server.limits()) and min(failed) > (ended(state).level or 0)

    assert share_right(right) >= MIN_RIGHT


def test_whole_levels_end_one_apart() -> None:
    for limit in range(1, 120, 7):
        settings = Settings(floor=1, first=10, ceiling=1000, whole=True, resolution=0.005)
        end = ended(searched(settings, Cliff(limit)))
        assert (end.outcome, end.level, end.failing) == (Outcome.FOUND, limit, limit + 1)


def test_the_least_step_ends_the_bisection() -> None:
    end = ended(searched(replace(around(100_000), least_step=5000), Cliff(61_803)))
    assert end.level is not None
    assert end.failing is not None
    assert end.level <= 61_803 < end.failing <= end.level + 5000


@pytest.mark.parametrize(("told", "least", "most"), [(True, MIN_RIGHT, 1.0), (False, 0.0, 0.5)])
def test_a_server_whose_machine_is_robbed_now_and_then_is_found_where_one_sees_it(
    told: bool, least: float, most: float
) -> None:
    """Not told apart from a failure of the server, the same points spoil the search."""

    def right(chance: Generator) -> bool:
        capacity = capacity_of(chance)
        return within(searched(badly_probed(chance, capacity), Robbed(chance, Cliff(capacity), 0.15, told)), capacity)

    assert least <= share_right(right) <= most


def test_what_held_although_the_machine_was_robbed_held() -> None:
    def server(ask: Ask) -> Point:
        return replace(Cliff(5000)(ask), disturbed=ask.level <= 5000)

    assert searched(around(1e4), server).next == searched(around(1e4), Cliff(5000)).next


def test_a_machine_that_is_robbed_most_of_the_time_gives_no_level() -> None:
    end = ended(searched(around(1e4), Robbed(np.random.default_rng(1), Cliff(5000), 0.9)))
    assert (end.outcome, end.level) == (Outcome.DISTURBED, None)
    assert end.reason == "13 points failed while the load generator lost CPU time to the hypervisor"


# where there is none


@pytest.mark.parametrize("stalls_per_point", [0.3, 0.5, 1.0])
def test_a_server_that_stalls_at_any_load_is_unstable(stalls_per_point: float) -> None:
    def right(chance: Generator) -> bool:
        return ended(searched(around(1e4), Stalling(chance, stalls_per_point))).outcome is Outcome.UNSTABLE

    assert share_right(right) >= MIN_RIGHT


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_a_server_that_holds_by_chance_is_unstable(share: float) -> None:
    def right(chance: Generator) -> bool:
        return ended(searched(around(1e4), Coin(chance, share))).outcome is Outcome.UNSTABLE

    assert share_right(right) >= MIN_RIGHT


@pytest.mark.parametrize("loss", [0.002, 0.01, 0.05])
def test_a_server_that_gets_slower_all_the_time_is_unstable_or_found_as_it_is(loss: float) -> None:
    def right(chance: Generator) -> bool:
        capacity = capacity_of(chance)
        server = Changing(lambda asked: capacity * (1 - loss) ** asked)
        state = searched(badly_probed(chance, capacity), server)
        return ended(state).outcome is Outcome.UNSTABLE or within(state, server.capacity)

    assert share_right(right) >= MIN_RIGHT


def test_a_server_below_the_floor_is_below_the_minimum() -> None:
    def right(chance: Generator) -> bool:
        probe = capacity_of(chance)
        end = ended(searched(around(probe), Cliff(0.009 * probe)))
        return end.outcome is Outcome.BELOW_MIN and end.level is None

    assert share_right(right) == 1


def test_a_server_that_fails_at_low_load_alone_is_unstable() -> None:
    def right(chance: Generator) -> bool:
        probe = capacity_of(chance)
        return ended(searched(around(probe), Ranges(((0.2 * probe, probe),)))).outcome is Outcome.UNSTABLE

    assert share_right(right) == 1


def test_a_server_faster_than_the_ceiling_is_a_lower_bound() -> None:
    def right(chance: Generator) -> bool:
        probe = capacity_of(chance)
        settings = around(probe)
        end = ended(searched(settings, Cliff(5 * probe)))
        return (end.outcome, end.level) == (Outcome.LOWER_BOUND, settings.rounded(settings.ceiling))

    assert share_right(right) == 1


def test_a_client_that_is_the_limit_is_told() -> None:
    def right(chance: Generator) -> bool:
        capacity = capacity_of(chance)
        server = BehindAClient(capacity, capacity * chance.uniform(0.3, 1.2))
        end = ended(searched(badly_probed(chance, capacity), server))
        return end.outcome is Outcome.GENERATOR_BOUND and end.level is not None and end.level <= 0.8 * server.client

    assert share_right(right) >= MIN_RIGHT


def test_a_client_that_is_the_limit_and_shows_no_sign_of_it_is_told() -> None:
    """What was achieved stayed behind what was offered, and twice the client achieves more."""

    def right(chance: Generator) -> bool:
        capacity = capacity_of(chance)
        server = BehindAClient(capacity, capacity * chance.uniform(0.3, 0.9), tells=False)
        return ended(searched(badly_probed(chance, capacity), server)).outcome is Outcome.GENERATOR_BOUND

    assert share_right(right) >= MIN_RIGHT


def test_a_client_near_its_limit_that_is_not_the_limit_is_acquitted() -> None:
    def right(chance: Generator) -> bool:
        capacity = capacity_of(chance)
        state = searched(badly_probed(chance, capacity), BehindAClient(capacity, 1.2500001 * capacity))
        assert Purpose.LARGER_CLIENT in {one.purpose for one in state.points}
        return within(state, capacity)

    assert share_right(right) >= MIN_RIGHT


def test_a_larger_client_that_is_at_its_own_limit_acquits_nobody() -> None:
    """As where twice the threads share CPUs that were full already."""

    def server(ask: Ask) -> Point:
        return replace(Cliff(5000)(ask), saturated=ask.level > 5000)

    end = ended(searched(around(1e4), server))
    assert end.outcome is Outcome.GENERATOR_BOUND
    assert "twice the client was also at its own limit" in end.reason


def test_a_client_that_is_always_the_limit_leaves_no_level() -> None:
    def always_saturated(ask: Ask) -> Point:
        return point(ask, held=True, saturated=True)

    end = ended(searched(around(1e4), always_saturated))
    assert (end.outcome, end.level) == (Outcome.GENERATOR_BOUND, None)


# a failure while it is confirmed


@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_level_that_fails_once_while_it_is_confirmed_is_never_the_answer(nth: int) -> None:
    """As when the server stands still for two seconds."""

    def right(chance: Generator) -> bool:
        capacity, confirmations = capacity_of(chance), Counter[float]()
        settings = badly_probed(chance, capacity)
        before = ended(searched(settings, Cliff(capacity))).level
        stalled = False

        def server(ask: Ask) -> Point:
            nonlocal stalled
            confirmations[ask.level] += ask.purpose is Purpose.CONFIRM
            stall = not stalled and confirmations[ask.level] == nth
            stalled |= stall
            return replace(Cliff(capacity)(ask), held=not stall and ask.level <= capacity)

        state = searched(settings, server)
        end = ended(state)
        assert before is not None
        assert end.outcome is Outcome.FOUND
        return end.level is not None and 0.97 * before <= end.level < before

    assert share_right(right) == 1


def test_what_is_found_was_confirmed_as_often_as_asked_and_last_of_all() -> None:
    state = searched(replace(around(1e4), confirmations=5), Cliff(7777))
    end = ended(state)
    of_the_level = [one for one in state.points if one.level == end.level and one.purpose is Purpose.CONFIRM]
    assert len(of_the_level) == 5
    assert all(one.passed for one in of_the_level)
    assert [one.purpose for one in state.points[-2:]] == [Purpose.CONFIRM, Purpose.LARGER_CLIENT]


def test_what_is_found_was_confirmed_also_where_a_level_had_failed_by_chance() -> None:
    """A search that is reopened rests on confirmations as any other, and not on the points that reopened it."""
    reopened = 0
    for seed in range(SEEDS):
        state = searched(around(1e4), Noisy(np.random.default_rng(seed), 6000, 0.03))
        end = ended(state)
        confirmed = [one for one in state.points if one.level == end.level and one.purpose is Purpose.CONFIRM]
        assert end.outcome is not Outcome.FOUND or len(confirmed) >= state.settings.confirmations
        reopened += end.outcome is Outcome.FOUND and state.reopened > 0
    assert reopened > 5


def test_above_what_is_found_is_a_level_that_failed_with_none_above_it_that_held() -> None:
    """Also where the lowest level that failed held when it was measured once more."""
    topped = 0
    for seed in range(SEEDS):
        settings = replace(around(1e4), resolution=0.5)
        state = searched(settings, Noisy(np.random.default_rng(seed), 6000, 0.4))
        end, asked = ended(state), [one.purpose for one in state.points]
        if end.outcome is not Outcome.FOUND:
            continue
        assert end.failing is not None, asked
        assert end.failing > max(one.level for one in state.points if one.passed)
        last = max(index for index, one in enumerate(asked) if one is Purpose.CONFIRM)
        assert set(asked[last + 1 :]) <= {Purpose.LARGER_CLIENT, Purpose.USUAL_CLIENT}
        topped += Purpose.TOP in asked
    assert topped > 5


# the machine itself


def test_the_same_points_give_the_same_search() -> None:
    state = searched(around(1e4), Noisy(np.random.default_rng(3), 6000, 0.02))
    assert reduce(advance, state.points, begin(state.settings)) == state


def test_a_point_that_was_not_asked_for_is_refused() -> None:
    state = begin(around(1e4))
    with pytest.raises(ValueError, match=r"asked for 1000 \(ramp\), but 999 \(ramp\) was measured"):
        advance(state, Point(999, Purpose.RAMP, held=True, saturated=False, achieved=999))
    over = searched(around(1e4), Cliff(5000))
    with pytest.raises(ValueError, match="has ended"):
        advance(over, over.points[-1])


def test_a_search_ends_whatever_the_server_does() -> None:
    servers: list[Callable[[Generator], Server]] = [
        lambda chance: Coin(chance, chance.random()),
        lambda chance: Noisy(chance, 5000, 0.3),
        lambda chance: Stalling(chance, 0.1),
    ]
    for seed in range(SEEDS):
        for make in servers:
            state = searched(around(1e4), make(np.random.default_rng(seed)))
            assert len(state.points) <= state.settings.most_points
