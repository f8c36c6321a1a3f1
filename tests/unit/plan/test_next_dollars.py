"""What the rest of a budget would buy: replicates and wider questions, each at the difference of two plans."""

import pytest

from nephoscope.app.planned import purchase_lines
from nephoscope.plan.cut import Cut
from nephoscope.plan.expand import expand
from nephoscope.plan.next_dollars import purchases
from nephoscope.study.model import Configuration, Study
from tests.unit.plan.plan_example import BENCHMARKS, study


def price_of(asked: Study) -> float | None:
    return expand(asked, BENCHMARKS).price_usd


def test_replicates_are_priced_by_the_plan_of_one_more() -> None:
    asked = study()
    planned = expand(asked, BENCHMARKS)
    assert planned.price_usd is not None
    (first, *_) = purchases(asked, planned, 10.5 * planned.price_usd, price_of)
    assert (first.what, first.count) == ("replicates", 63)
    assert abs(first.usd - planned.price_usd / 6) < 1e-9


def test_three_machines_another_region_and_a_second_load_follow_where_the_rest_pays_for_them() -> None:
    cloud = {"provider": "aws", "region": "us-east-1", "database_machine": {"type": "m6i.2xlarge"}}
    asked = study(configurations=[Configuration.model_validate({"name": "a", **cloud})])
    planned = expand(asked, BENCHMARKS)
    whole = planned.price_usd or 0.0
    prices = {
        one.what: one for one in purchases(asked, planned, 100 * whole, lambda one: price_by_machines(one, whole))
    }
    assert prices["database machines"].usd == pytest.approx(2 * whole)
    assert prices["region"].usd == whole
    assert (prices["load"].benchmark, prices["load"].usd < whole) == ("disk", True)
    left = {one.what for one in purchases(asked, planned, 0.9 * whole, lambda one: price_by_machines(one, whole))}
    assert left == {"load"}


def price_by_machines(asked: Study, whole: float) -> float:
    return whole * asked.configurations[0].database_machine.count


def test_nothing_is_offered_without_a_price() -> None:
    asked = study(configurations=[Configuration(name="a")])
    assert purchases(asked, expand(asked, BENCHMARKS), 1000, price_of) == []


def test_the_lines_say_how_much_is_left_and_what_it_would_pay_for() -> None:
    asked = study()
    planned = expand(asked, BENCHMARKS)
    budget = 3 * (planned.price_usd or 0.0)
    bought = purchases(asked, planned, 2.1 * (planned.price_usd or 0.0), price_of)
    first, replicates, *_ = purchase_lines(bought, Cut(budget_usd=budget), planned)
    assert first.endswith("are left. They would pay for one of:")
    assert replicates.startswith("  12 more replicates of everything, $")
