"""Costs in the analysis: every number by hand, missing stays missing, verdicts per dollar, the front, own prices."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from nephoscope.analysis.costs import day_of
from nephoscope.analysis.inputs import StudyInputs
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import CostLineRow, CostRow, PriceComparison, PricePerformance, bases_in_order
from nephoscope.model.rows import ClaimRow, Comparison, ComparisonVerdict, RankRow, Statistic
from nephoscope.prices.book import PriceBook, shipped
from nephoscope.prices.cost import discount_to_reach
from nephoscope.prices.offers import offer_of
from nephoscope.prices.rows import Basis, Kind, Price, Unit
from nephoscope.study.claims import Claim, Claims, Selector
from nephoscope.study.machine_names import machine_name
from nephoscope.study.model import Configuration, Study
from tests.unit.analysis.study_builder import inputs, observed, rows

SIX = [1000.0, 1001, 1002, 1003, 1004, 1005]


def price(item: str, usd: float, basis: Basis = Basis.ON_DEMAND, **more: Any) -> Price:
    values: dict[str, Any] = {
        "provider": "p",
        "region": "r",
        "kind": Kind.MACHINE,
        "item": item,
        "unit": Unit.HOUR,
        "basis": basis,
        "usd": usd,
        "source": "list",
        "licence": "MIT",
        "date": "2025-03",
    }
    return Price(**(values | more))


BOOK = PriceBook(
    [
        price("small", 0.1),
        price("small", 0.06, Basis.RESERVED_1Y, terms="no upfront"),
        price("large", 0.4),
        price("large", 0.5, date="2026-01"),
        price("v", 0.1, kind=Kind.STORAGE, unit=Unit.GB_MONTH),
    ]
)


def sold(name: str, machine: str | None, **more: Any) -> dict[str, Any]:
    if machine is None:
        return {"name": name, **more}
    volumes = more.pop("volumes", [])
    return {"name": name, "priced_as": {"provider": "p", "region": "r", "type": machine, "volumes": volumes}, **more}


def study(configurations: list[dict[str, Any]], values: dict[str, list[float]], **costs: Any) -> StudyInputs:
    found = inputs(rows(values, cpus=dict.fromkeys(values, 2)), book=BOOK)
    costs = {"date": "2025-06-30", **costs}
    made = Study(name="example", seed=7, configurations=configurations, benchmarks=[{"uses": "tpcc"}], costs=costs)
    return replace(found, study=made)


def two(**costs: Any) -> AnalysedStudy:
    """`b` is twice as fast and four times as dear."""
    values = {"a": SIX, "b": [2 * value for value in SIX]}
    volume = {"kind": "v", "size": 100}
    return analyse(study([sold("a", "small"), sold("b", "large", volumes=[volume])], values, **costs))


def test_a_month_by_the_formula_with_the_price_of_its_day() -> None:
    a, reserved, b = (row for row in two()[CostRow] if row.month_usd)
    assert (a.configuration, a.basis, a.month_usd, a.hours) == ("a", "on-demand", 73.0, 730)
    assert (reserved.basis, reserved.terms) == ("reserved-1y", "no upfront")
    assert reserved.month_usd == pytest.approx(43.8)
    assert reserved.break_even_hours == pytest.approx(0.06 * 730 / 0.1)
    assert b.month_usd == pytest.approx(0.4 * 730 + 10), "of 2025, not of 2026"
    assert b.storage_share == pytest.approx(10 / 302)
    assert (b.date, b.age_days) == ("2025-03", (date(2025, 6, 30) - date(2025, 3, 1)).days)
    assert "large: 730 h × $0.4 = $292.00  [on-demand, 2025-03, list]" in b.formula


def test_the_age_of_a_cost_is_that_of_its_oldest_price() -> None:
    """A volume's price may be years older than that of its machine."""
    rows = [price("large", 0.4), price("v", 0.1, kind=Kind.STORAGE, unit=Unit.GB_MONTH, date="2023-06")]
    sold_with = sold("a", "large", volumes=[{"kind": "v", "size": 100}])
    priced = analyse(replace(study([sold_with], {"a": SIX}), book=PriceBook(rows)))[CostRow]
    (cost,) = (row for row in priced if row.month_usd is not None)
    assert (cost.date, cost.oldest, cost.oldest_date) == ("2025-03", "v", "2023-06")
    assert cost.age_days == (date(2025, 6, 30) - date(2023, 6, 1)).days


def test_the_lines_add_up_and_name_their_rows_in_the_book() -> None:
    found = two()
    ids = {row.id: row for row in BOOK.rows}
    assert len(ids) == len(BOOK.rows)
    for cost in (row for row in found[CostRow] if row.month_usd):
        lines = [
            row for row in found[CostLineRow] if (row.configuration, row.basis) == (cost.configuration, cost.basis)
        ]
        assert sum(line.usd for line in lines) == pytest.approx(cost.machine_month_usd)
        for line in lines:
            assert line.usd == pytest.approx(line.amount * (line.hours or 1) * line.rate_usd)
            assert ids[line.price_row].usd == line.rate_usd


def test_dollars_for_a_unit_carry_the_interval_of_the_median() -> None:
    found = two()
    row = next(row for row in found[PricePerformance] if (row.configuration, row.basis) == ("b", "on-demand"))
    statistic = next(row for row in found[Statistic] if row.configuration == "b" and not row.per_cpu)
    assert row.usd_per_unit == 302 / statistic.median
    assert (row.low, row.high) == (302 / statistic.high, 302 / statistic.low)
    assert (row.coverage, row.n) == (statistic.coverage, 6)
    assert row.usd_per_million == pytest.approx(1e6 * 302 / (statistic.median * 730 * 60)), "a metric by the minute"


def test_the_faster_one_can_lose_per_dollar() -> None:
    found = two()
    plain = next(row for row in found[Comparison] if not row.per_cpu)
    (dollars,) = found[PriceComparison]
    assert plain.verdict is ComparisonVerdict.WORSE
    assert (dollars.left, dollars.basis, dollars.verdict) == ("a", "on-demand", ComparisonVerdict.BETTER)
    assert dollars.ratio == pytest.approx(302 / 73 / 2, rel=1e-3)
    ranks = {(row.view, row.basis, row.configuration): (row.first, row.last) for row in found[RankRow]}
    assert ranks["plain", None, "b"] == (1, 1)
    assert ranks["per dollar", "on-demand", "a"] == (1, 1)
    assert ranks["per dollar", "on-demand", "b"] == (2, 2)
    assert ranks["per dollar", "reserved-1y", "a"] == (1, 1), "b has no such price and is not on this leaderboard"


def test_both_are_on_the_front_and_a_discount_would_lead() -> None:
    found = {(row.configuration, row.basis): row for row in two()[PricePerformance]}
    assert found["a", "on-demand"].front == found["b", "on-demand"].front == "on it"
    assert found["a", "on-demand"].discount_to_lead_percent == 0
    discount = found["b", "on-demand"].discount_to_lead_percent
    assert discount == pytest.approx(100 * (1 - (146 - 10) / 292))


def test_behind_the_front_only_when_it_is_certain() -> None:
    values = {"a": SIX, "b": [value * 0.9 for value in SIX], "c": [value * 0.999 for value in SIX]}
    found = analyse(study([sold("a", "small"), sold("b", "large"), sold("c", "large")], values))
    fronts = {row.configuration: row.front for row in found[PricePerformance] if row.basis == "on-demand"}
    assert fronts == {"a": "on it", "b": "behind", "c": "open"}


def test_a_missing_price_stays_missing_with_its_reason() -> None:
    values = {"a": SIX, "b": SIX, "c": SIX}
    found = analyse(
        study([sold("a", "nowhere"), sold("b", None), sold("c", "large", volumes=[{"kind": "w", "size": 1}])], values)
    )
    on_demand = [row for row in found[CostRow] if row.basis == "on-demand"]
    reasons = {row.configuration: (row.month_usd, row.reason_missing) for row in on_demand}
    assert reasons["a"] == (None, "p r nowhere: not in the price book")
    assert reasons["b"] == (None, "local machines: no price given")
    assert reasons["c"][0] is None
    assert "p r w: not in the price book" in str(reasons["c"][1])
    assert (found[PricePerformance], found[PriceComparison]) == ([], [])


def test_a_basis_without_a_price_says_so() -> None:
    reasons = {row.basis: row.reason_missing for row in two()[CostRow] if row.configuration == "b"}
    assert reasons == {
        "on-demand": None,
        "reserved-1y": "p r large: no reserved-1y price, only on-demand",
        "reserved-3y": "p r large: no reserved-3y price, only on-demand",
    }


def test_spot_stands_only_where_a_study_asks_for_it() -> None:
    book = PriceBook([*BOOK.rows, price("small", 0.02, Basis.SPOT)])
    unasked = study([sold("a", "small")], {"a": SIX})
    asked = study([sold("a", "small")], {"a": SIX}, bases=["spot"])
    assert "spot" not in {row.basis for row in analyse(replace(unasked, book=book))[CostRow]}
    assert [(row.basis, row.month_usd) for row in analyse(replace(asked, book=book))[CostRow]] == [("spot", 0.02 * 730)]


def test_the_first_basis_that_a_study_names_orders_everything() -> None:
    made = study([sold("a", "small"), sold("b", "small")], {"a": SIX, "b": SIX}, bases=["reserved-1y", "on-demand"])
    found = analyse(made)
    assert {row.basis for row in found[CostRow]} == {"reserved-1y", "on-demand"}
    assert bases_in_order(found[CostRow], found.bases) == ["reserved-1y", "on-demand"]
    (break_even,) = {row.break_even_hours for row in found[CostRow] if row.basis == "reserved-1y"}
    assert break_even == pytest.approx(0.06 * 730 / 0.1)


def test_without_named_bases_the_one_with_most_prices_comes_first_and_on_demand_before_its_equals() -> None:
    assert bases_in_order(two()[CostRow], []) == ["on-demand", "reserved-1y"]


def test_a_claim_about_another_basis_has_its_prices() -> None:
    made = study([sold("a", "small"), sold("b", "small")], {"a": SIX, "b": SIX}, bases=["on-demand"])
    claim = Claim(
        id="a-first",
        text="a is best",
        source="here",
        kind="first",
        left=Selector(configuration="a"),
        benchmark="tpcc",
        per="dollar",
        basis="reserved-1y",
    )
    found = analyse(replace(made, claims=Claims(claims=[claim])))
    assert [(row.basis, row.n_left, row.n_right) for row in found[ClaimRow]] == [("reserved-1y", 6, 6)]


def test_a_price_of_the_study_is_a_basis_of_its_own() -> None:
    found = analyse(
        study(
            [sold("a", None, price_usd_per_hour=1, price_basis="my contract"), sold("b", "large")], {"a": SIX, "b": SIX}
        )
    )
    stated = next(row for row in found[CostRow] if row.configuration == "a")
    assert (stated.basis, stated.terms, stated.month_usd) == ("stated", "my contract", 730)
    assert {row.basis for row in found[PriceComparison]} == set(), "never compared across bases"


def test_methods_and_machines() -> None:
    machines = {"database_machine": {"count": 3}, "load_machine": {}}
    values = {"a": SIX}
    for method, usd in (("default", 3 * 73), ("cloud-report-2020", 72), ("everything", 4 * 73)):
        on_demand, *_ = analyse(study([sold("a", "small", **machines)], values, method=method))[CostRow]
        assert on_demand.month_usd == pytest.approx(usd)
        assert on_demand.method == method


def test_a_split_configuration_keeps_its_price() -> None:
    made = study([sold("a", "small")], {"a": SIX})
    seen = [observed(row, cpu_model="Milan" if row.replicate < 3 else "Rome") for row in made.trials]
    on_demand = [row for row in analyse(replace(made, machines=seen))[CostRow] if row.basis == "on-demand"]
    assert {row.configuration: row.month_usd for row in on_demand} == {"a (Milan)": 73.0, "a (Rome)": 73.0}


def test_the_day_is_the_studys_or_the_first_trials() -> None:
    plain = Study(name="s", configurations=[{"name": "a"}], benchmarks=[{"uses": "fio"}])
    said = Study(name="s", configurations=[{"name": "a"}], benchmarks=[{"uses": "fio"}], costs={"date": "2022-06-30"})
    assert day_of(plain, 1_700_000_000_000) == date(2023, 11, 14)
    assert day_of(said, 1_700_000_000_000) == date(2022, 6, 30)
    assert day_of(plain, None) == date.max


def test_a_book_of_ones_own_comes_first() -> None:
    own = PriceBook([price("small", 0.05, date="2020")])
    both = own.over(BOOK)
    day = date(2025, 6, 30)
    assert both.price_at(day, "p", "r", "small", Basis.ON_DEMAND).price.usd == 0.05
    assert both.price_at(day, "p", "r", "small", Basis.RESERVED_1Y).price.usd == 0.06, "of what it does not price"


def test_names_say_family_and_vcpus(subtests: pytest.Subtests) -> None:
    for provider, name, family, vcpus in [
        ("aws", "m6i.2xlarge", "m6i", 8),
        ("aws", "c5a.large", "c5a", 2),
        ("aws", "m5.metal", "m5", None),
        ("gcp", "n2-standard-8", "n2-standard", 8),
        ("gcp", "e2-micro", "e2", None),
        ("gcp", "n2-custom-32-131072", "n2-custom", 32),
        ("gcp", "custom-4-8192", "custom", 4),
        ("azure", "Standard_D8s_v5", "Ds_v5", 8),
        ("azure", "Standard_E4-2ads_v5", "Eads_v5", 4),
        ("azure", "Standard_F8s_v2", "Fs_v2", 8),
        ("azure", "Standard_DS3_v2", "DS_v2", 4),
        ("azure", "Standard_GS4", "GS", 16),
        ("azure", "Standard_DS14", "DS", 16),
        ("azure", "Standard_L4s", "Ls", 4),
        ("azure", "Standard_A4", "A", None),
        ("mine", "big", None, None),
    ]:
        with subtests.test(provider=provider):
            found = machine_name(provider, name)
            assert (found.family, found.vcpus) == (family, vcpus)


def test_machines_of_the_book_have_a_family_and_vcpus() -> None:
    machines = {(row.provider, row.item) for row in shipped().rows if row.kind is Kind.MACHINE}
    assert [one for one in machines if machine_name(*one).family is None] == []
    assert [one for one in machines if machine_name(*one).vcpus is None] == []


def test_an_offer_of_a_machine_made_here_is_none() -> None:
    assert offer_of(Configuration(name="a", region="r", database_machine={"type": "m"})) is None


def test_discount_to_reach() -> None:
    assert discount_to_reach(100, 90, storage_share=0) == 0
    assert discount_to_reach(50, 100, storage_share=0) == 50
    assert discount_to_reach(50, 100, storage_share=0.2) == pytest.approx(62.5)
    assert discount_to_reach(20, 100, storage_share=0.2) is None
