"""A budget buys the part of a study that answers the most questions."""

import pytest

from nephoscope.app.stages.planning import cut_out, load, plan
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.plan.cut import Cut
from nephoscope.study.model import Study

TEXT = """
name = "budget"
replicates = 2

[defaults]
provider = "fake"
database = { system = "fake" }

[[matrix]]
name = "at-{usd}"
axes.usd = [1, 2, 4, 8]
price_usd_per_hour = "{usd}"

[[benchmarks]]
uses = "fake"
name = "short"

[[benchmarks]]
uses = "tpcc"
name = "long"
parameters = { duration_s = 3600 }
"""


def study(text: str = TEXT) -> Study:
    return load(text, "budget.toml")


def planned(budget_usd: float | None) -> Plan:
    return plan(study(), part=cut_out(study(), Cut(budget_usd=budget_usd)))


def chosen(part: Plan) -> set[tuple[str, str]]:
    return {(row.intent.benchmark.name, row.intent.configuration_name) for row in part.trials}


def price_usd(*cells: tuple[str, str]) -> float:
    rows = planned(None).trials
    return sum(
        row.price_usd or 0 for row in rows if (row.intent.benchmark.name, row.intent.configuration_name) in cells
    )


SHORT = {("short", f"at-{usd}") for usd in (1, 2, 4, 8)}


def test_the_cheapest_questions_come_first_and_the_rest_buys_the_cheapest_machines() -> None:
    short_usd = price_usd(*SHORT)
    two_usd = short_usd + price_usd(("long", "at-1"), ("long", "at-2"))
    assert chosen(planned(short_usd + 0.001)) == SHORT
    bought = planned(two_usd + 0.001)
    assert chosen(bought) == SHORT | {("long", "at-1"), ("long", "at-2")}
    assert bought.price_usd == pytest.approx(two_usd)
    whole = planned(1e6)
    assert chosen(whole) == chosen(planned(None))


def test_trials_are_those_of_the_whole_study() -> None:
    whole = {row.intent.id for row in planned(None).trials}
    assert {row.intent.id for row in planned(price_usd(*SHORT) + 0.001).trials} < whole


def test_too_small_a_budget_and_a_missing_price_are_refused() -> None:
    with pytest.raises(InputError, match="do not pay for a comparison: the cheapest one costs"):
        planned(1e-6)
    unpriced = study(TEXT.replace('price_usd_per_hour = "{usd}"', 'labels.usd = "x{usd}"'))
    with pytest.raises(InputError, match="--budget needs a price for every configuration"):
        cut_out(unpriced, Cut(budget_usd=10))
