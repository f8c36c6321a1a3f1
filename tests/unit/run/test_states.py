import itertools

import pytest

from nephoscope.model.control import State, StateRecord
from nephoscope.run.states import (
    STOPS,
    Decision,
    Failure,
    Patience,
    after_failure,
    may_follow,
    repeat_is_open,
    repeats_made,
)

PATIENCE = Patience(retries=3, waits=4, first_wait_s=30, longest_wait_s=100)
LIFE = [state for state in State if state not in STOPS]


def test_a_life_without_trouble_is_allowed_step_by_step() -> None:
    for before, after in itertools.pairwise(LIFE):
        assert may_follow(before, after)
    assert all(may_follow(State.DESTROYING, end) for end in STOPS)


def test_no_step_is_left_out_and_nothing_follows_an_end_but_a_new_beginning() -> None:
    assert not may_follow(None, State.LEASED)
    assert not may_follow(State.LEASED, State.PREPARING)
    assert not may_follow(State.VERIFIED, State.COLLECTED)
    assert not may_follow(State.RUNNING, State.DONE)
    for end, after in itertools.product(STOPS, State):
        assert may_follow(end, after) == (after is State.PLANNED)


@pytest.mark.parametrize("state", LIFE[1:-1])
def test_from_every_step_machines_are_given_back(state: State) -> None:
    assert may_follow(state, State.DESTROYING)


def test_after_a_dead_controller_a_trial_may_begin_anew_from_anywhere(subtests: pytest.Subtests) -> None:
    for state in [None, *State]:
        with subtests.test(state=state):
            assert may_follow(state, State.PLANNED)


def test_a_measurement_that_runs_is_found_and_not_prepared_again() -> None:
    assert may_follow(State.RUNNING, State.PROVISIONING)
    assert may_follow(State.PROVISIONING, State.RUNNING)
    assert may_follow(State.PROVISIONING, State.COLLECTED)
    assert not may_follow(State.LEASED, State.RUNNING)


def decided(*classes: str, zones: tuple[str | None, ...] = (None,)) -> Decision:
    return after_failure([Failure(name, zones[0]) for name in classes], zones, PATIENCE)


def test_a_zone_that_lacks_the_machine_type_is_left_for_good() -> None:
    def after(*failures: tuple[str, str], zones: tuple[str, ...] = ("a", "b", "c")) -> Decision:
        return after_failure([Failure(*one) for one in failures], zones, PATIENCE)

    assert after(("unsupported", "a")) == Decision(
        State.PLANNED, zone="b", reason="no such machine type: trying zone b"
    )
    assert after(("unsupported", "a"), ("capacity", "b")).zone == "c"
    again = after(("unsupported", "a"), ("capacity", "b"), ("capacity", "c"))
    assert (again.zone, again.wait_s) == ("b", 30)
    assert after(*(("unsupported", zone) for zone in "abc")).state is State.INVALID


def test_machines_that_were_taken_back_are_replaced_as_lost_ones_are() -> None:
    assert [decided(*["preempted"] * n).state for n in (1, 3, 4)] == [*[State.PLANNED] * 2, State.GAVE_UP]
    assert decided("machine_lost", "preempted", "machine_lost", "preempted").state is State.GAVE_UP


def test_lost_machines_are_replaced_three_times() -> None:
    assert [decided(*["machine_lost"] * n).state for n in (1, 2, 3, 4)] == [*[State.PLANNED] * 3, State.GAVE_UP]
    assert decided("machine_lost").wait_s == 0


def test_an_answer_that_nobody_knows_is_tried_once_more() -> None:
    once = Failure("unknown_answer", "a")
    assert after_failure([once], ["a"], PATIENCE).state is State.PLANNED
    assert after_failure([once, once], ["a"], PATIENCE).state is State.GAVE_UP


@pytest.mark.parametrize("name", ["tool_failed", "timeout", "database_failed", "target_lost", "output_unreadable"])
def test_what_a_measurement_failed_of_is_never_tried_again(name: str) -> None:
    assert decided(name).state is State.GAVE_UP
    assert decided("machine_lost", name).state is State.GAVE_UP


def test_a_machine_that_is_not_made_is_invalid_at_once() -> None:
    assert decided("unsupported").state is State.INVALID


def test_waits_double_to_a_limit_and_end() -> None:
    found = [decided(*["throttled"] * n) for n in range(1, 6)]
    assert [one.wait_s for one in found] == [30, 60, 100, 100, 0]
    assert [one.state for one in found] == [*[State.PLANNED] * 4, State.GAVE_UP]


def test_capacity_is_looked_for_in_the_next_listed_zone_before_anybody_waits() -> None:
    zones = ("a", "b", "c")
    failures: list[Failure] = []
    seen = []
    zone: str | None = "a"
    for _ in range(4):
        failures.append(Failure("capacity", zone))
        decision = after_failure(failures, zones, PATIENCE)
        zone = decision.zone
        seen.append((zone, decision.wait_s))
    assert seen == [("b", 0), ("c", 0), ("a", 30), ("b", 0)]


def test_a_lost_machine_stays_in_the_zone_that_had_one() -> None:
    found = after_failure([Failure("capacity", "a"), Failure("machine_lost", "b")], ("a", "b"), PATIENCE)
    assert (found.state, found.zone) == (State.PLANNED, "b")


def states(*entered: tuple[State, int]) -> list[StateRecord]:
    return [StateRecord(state=state, at_unix_ms=0, attempt=attempt, reason="") for state, attempt in entered]


REJECTED = ((State.PLANNED, 1), (State.DESTROYING, 1), (State.INVALID, 1))


@pytest.mark.parametrize(
    ("then", "finished", "is_open", "made"),
    [
        ((), [1], False, 0),
        (((State.PLANNED, 1),), [1], True, 0),
        (((State.PLANNED, 1), (State.LEASED, 2)), [1], True, 0),
        (((State.PLANNED, 1), (State.DESTROYING, 2)), [1], True, 0),
        (((State.PLANNED, 1), (State.DESTROYING, 2)), [1, 2], False, 1),
        (((State.PLANNED, 1), (State.DESTROYING, 2), (State.INVALID, 2)), [1], False, 1),
        (((State.PLANNED, 1), (State.INVALID, 1)), [1], False, 0),
        (((State.PLANNED, 1), (State.DESTROYING, 2), (State.PLANNED, 2), (State.DESTROYING, 3)), [1], True, 0),
        (((State.PLANNED, 1), (State.DESTROYING, 2), (State.DONE, 2)), [1, 2], False, 1),
    ],
)
def test_a_repeat_is_open_from_its_plan_to_its_end_and_lost_machines_are_no_repeats(
    then: tuple[tuple[State, int], ...], finished: list[int], is_open: bool, made: int
) -> None:
    found = states(*REJECTED, *then)
    assert repeat_is_open(found, finished) == is_open
    assert repeats_made(found, finished) == made


def test_an_unfinished_trial_has_no_repeat() -> None:
    assert not repeat_is_open(states((State.PLANNED, 1)), [])
    assert repeats_made(states((State.PLANNED, 1), (State.GAVE_UP, 1)), []) == 0
