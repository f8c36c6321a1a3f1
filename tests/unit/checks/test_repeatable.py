import pytest

from nephoscope.checks.registry import CHECKS
from nephoscope.checks.repeatable import POLICIES, Cause, Circumstances, Repair, repair_of
from nephoscope.checks.verdicts import invalid, unknown, valid
from nephoscope.model.events import Event

OWN = Circumstances(own_machine=True, other_machine=False)
RENTED = Circumstances(own_machine=False, other_machine=True)


def repaired(*rejected: str, where: Circumstances = OWN, missing: tuple[str, ...] = ()) -> Repair:
    verdicts = [*(invalid(name, "why") for name in rejected), *(unknown(name, "why") for name in missing)]
    found = repair_of([valid("tool-exit", "fine"), *verdicts], where)
    assert found is not None
    return found


def test_every_check_has_a_row_and_no_row_is_of_another() -> None:
    assert POLICIES.keys() == {check.name for check in CHECKS}


def test_a_valid_trial_needs_no_repair_and_one_without_verdicts_is_not_repeated() -> None:
    assert repair_of([valid("steal", "none")], OWN) is None
    found = repair_of([], OWN)
    assert found is not None
    assert not found.repeat


@pytest.mark.parametrize("where", [OWN, RENTED])
def test_foreign_load_waits_for_quiet_and_is_repeated_everywhere(where: Circumstances) -> None:
    found = repaired("foreign-load", where=where)
    assert found.repeat
    assert found.wait_for_quiet


def test_steal_is_repeated_on_own_machines_and_never_on_rented_ones() -> None:
    assert repaired("steal").repeat
    assert not repaired("steal", where=RENTED).repeat
    assert not repaired("steal", "foreign-load", where=RENTED).repeat


@pytest.mark.parametrize("check", ["cpu-model", "cpu-count", "memory", "numa-nodes"])
def test_a_wrong_machine_is_repeated_where_a_repeat_gets_another(check: str) -> None:
    assert repaired(check, where=RENTED).repeat
    found = repaired(check)
    assert (found.repeat, found.on_request) == (False, True)


@pytest.mark.parametrize("check", [name for name, policy in POLICIES.items() if policy.cause is Cause.OUTCOME])
def test_how_a_trial_went_is_no_reason_for_a_repeat_and_none_against_one(check: str) -> None:
    assert not repaired(check).repeat
    found = repaired(check, "foreign-load")
    assert found.repeat
    assert found.checks == ("foreign-load",)


def test_a_trial_whose_generator_was_stopped_is_repeated_and_one_whose_generator_was_the_limit_is_not() -> None:
    stop = Event("stop", 1, first_s=2.0, length_s=5.5)
    stopped = repair_of([invalid("generator-bound", "why", stop), invalid("generator-exit", "code 8")], OWN)
    assert stopped is not None
    assert (stopped.repeat, stopped.checks) == (True, ("generator-bound",))
    assert "stopped from outside" in stopped.why
    assert not repaired("generator-bound", "generator-exit").repeat


@pytest.mark.parametrize("check", [name for name, policy in POLICIES.items() if policy.cause is Cause.WRONG])
def test_a_wrong_result_is_never_repeated_whatever_else_happened(check: str) -> None:
    assert not repaired("foreign-load", check).repeat
    verdicts = [invalid(check, "why")]
    found = repair_of(verdicts, OWN, repaired={check})
    assert found is not None
    assert not found.repeat


def test_a_setting_is_repeated_only_when_somebody_says_that_it_is_changed() -> None:
    assert not repaired("cgroup-limit", "foreign-load").repeat
    found = repair_of([invalid("cgroup-limit", "why")], OWN, repaired={"cgroup-limit"})
    assert found is not None
    assert found.repeat


def test_missing_evidence_neither_asks_for_a_repeat_nor_forbids_one() -> None:
    found = repaired(missing=("steal",))
    assert (found.repeat, found.on_request, found.checks) == (False, True, ("steal",))
    assert repaired("foreign-load", missing=("steal",)).repeat
    again = repair_of([unknown("steal", "why")], OWN, repaired={"steal"})
    assert again is not None
    assert again.repeat


@pytest.mark.parametrize(
    ("configuration", "placement", "where"),
    [
        ({"provider": "local"}, "fresh", OWN),
        ({}, "fresh", OWN),
        ({"provider": "ssh", "rented": True}, "fresh", Circumstances(own_machine=False, other_machine=False)),
        ({"provider": "aws"}, "fresh", RENTED),
        ({"provider": "aws"}, "per-configuration", Circumstances(own_machine=False, other_machine=False)),
    ],
)
def test_circumstances_follow_from_provider_and_placement(
    configuration: dict[str, object], placement: str, where: Circumstances
) -> None:
    assert Circumstances.of(configuration, placement) == where
