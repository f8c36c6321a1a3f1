"""A plan beyond its budget is refused with numbers."""

import pytest

from nephoscope.model.errors import InputError
from nephoscope.plan.cut import check_budget
from nephoscope.plan.expand import expand
from nephoscope.study.model import Budget, Configuration
from tests.unit.plan.plan_example import BENCHMARKS, study

PLAN = expand(study(), BENCHMARKS)
"""2.4 hours, $3.00."""

HALF_PRICED = expand(study(configurations=[study().configurations[0], Configuration(name="here")]), BENCHMARKS)
"""At least $0.60."""


@pytest.mark.parametrize("budget", [Budget(), Budget(max_hours=2.4, max_usd=3.01), Budget(max_hours=100)])
def test_a_plan_within_its_budget(budget: Budget) -> None:
    check_budget(PLAN, budget)


def test_hours_without_a_price_need_no_price() -> None:
    check_budget(HALF_PRICED, Budget(max_hours=100))


def test_too_long_and_too_dear() -> None:
    with pytest.raises(InputError) as caught:
        check_budget(PLAN, Budget(max_hours=2, max_usd=1.25))
    assert caught.value.message == (
        "the plan takes 2 h 24 min, 24 min 00 s more than 2 h 00 min; the plan costs $3.00, $1.75 more than $1.25"
    )
    assert "shorter durations" in caught.value.hint


def test_a_limit_that_cannot_be_checked_is_not_kept() -> None:
    with pytest.raises(
        InputError,
        match=r"the budget is \$5\.00, but the plan's price is not known \(here: local machine: no price "
        r"given\)",
    ):
        check_budget(HALF_PRICED, Budget(max_usd=5))


def test_the_known_part_alone_may_be_too_dear() -> None:
    with pytest.raises(InputError, match=r"costs at least \$0\.60, \$0\.10 more than \$0\.50"):
        check_budget(HALF_PRICED, Budget(max_usd=0.5))
