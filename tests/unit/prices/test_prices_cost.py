"""The formula is what it prints, every number of docs/concepts/cost.md is recomputed, and missing stays missing."""

import math
import re
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.model.errors import InputError
from nephoscope.prices.book import Pick, PriceBook, shipped
from nephoscope.prices.cost import (
    METHODS,
    Bill,
    MachineWithVolumes,
    Method,
    Volume,
    billed_size,
    break_even_hours,
    month,
)
from nephoscope.prices.rows import Basis, Kind, Price, Unit
from nephoscope.prices.transfer import transfer_lines

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "concepts" / "cost.md").read_text(encoding="utf-8")
DAY = date(2026, 11, 21)
DEFAULT = METHODS["default"]


def price(item: str, usd: float, unit: Unit = Unit.HOUR, **more: Any) -> Price:
    values: dict[str, Any] = {
        "provider": "p",
        "region": "r",
        "kind": Kind.MACHINE,
        "item": item,
        "unit": unit,
        "basis": Basis.ON_DEMAND,
        "usd": usd,
        "source": "list",
        "licence": "MIT",
        "date": "2026",
    }
    return Price(**(values | more))


BOOK = PriceBook(
    [
        price("m", 0.5),
        price("v", 0.1, Unit.GB_MONTH),
        price("v", 0.005, Unit.IOPS_MONTH, above=3000),
        price("v", 0.04, Unit.MIB_PER_S_MONTH, above=125),
        price("u", 0.0002, Unit.GIB_HOUR),
        price("u", 0.0001, Unit.IOPS_HOUR),
        price("u", 0.0005, Unit.MB_PER_S_HOUR),
        price("disk", 19.71, Unit.DISK_MONTH),
        price("t", 0.065, Unit.IOPS_MONTH, up_to=32000),
        price("t", 0.125, Unit.GB_MONTH),
    ]
)


def bill(*volumes: Volume, method: Method = DEFAULT, database: int = 3, load: int = 1, type_: str = "m") -> Bill:
    machine = MachineWithVolumes(provider="p", region="r", type=type_, volumes=volumes)
    return month(BOOK, DAY, machine, method, database=database, load=load)


def test_the_formula_with_all_four_terms() -> None:
    found = bill(Volume(item="v", size=1000, iops=8000, throughput=250))
    assert found.machine_usd == pytest.approx(730 * 0.5 + 1000 * 0.1 + 5000 * 0.005 + 125 * 0.04)
    assert found.usd == pytest.approx(3 * 495)
    assert found.storage_share == pytest.approx(130 / 495)
    heading, *lines = found.formula().splitlines()
    assert heading == (
        "machine month = hours × rate + size × rate + IOPS × rate + throughput × rate (730 hours, database machines: 3)"
    )
    assert lines == [
        "  m: 730 h × $0.5 = $365.00  [on-demand, 2026, list]",
        "  v size: 1000 GB × $0.1 = $100.00  [on-demand, 2026, list]",
        "  v IOPS: 5000 IOPS × $0.005 = $25.00  [on-demand, 2026, list]",
        "  v throughput: 125 MiB/s × $0.04 = $5.00  [on-demand, 2026, list]",
        "  3 × $495.00 = $1,485.00 a month",
    ]


def test_prices_by_the_hour_of_a_volume_have_hours_too() -> None:
    found = bill(Volume(item="u", size=100, iops=1000, throughput=100))
    assert found.machine_usd == pytest.approx(730 * (0.5 + 100 * 0.0002 + 1000 * 0.0001 + 100 * 0.0005))
    assert "  u size: 100 GiB × 730 h × $0.0002 = $14.60" in found.formula()


@pytest.mark.parametrize(
    ("ordered", "paid"), [(1, 4), (4, 4), (500, 512), (512, 512), (513, 1024), (1000, 1024), (1024, 1024), (2500, 3072)]
)
def test_an_ultra_disk_is_paid_by_steps(ordered: float, paid: float) -> None:
    machine = MachineWithVolumes(
        provider="azure",
        region="eastus",
        type="Standard_D8s_v5",
        volumes=(Volume(item="Ultra Disk", size=ordered, iops=16001, throughput=501),),
    )
    _, size, iops, throughput = month(shipped(), DAY, machine, DEFAULT).lines
    assert (size.amount, iops.amount, throughput.amount) == (paid, 16001, 501)


def test_disks_of_others_have_no_steps() -> None:
    assert billed_size("aws", "gp3", 1000) == billed_size("azure", "Premium SSD v2", 1000) == 1000


def test_the_step_of_a_large_ultra_disk_is_205_dollars_a_month_on_three_machines() -> None:
    rate = shipped().price_at(DAY, "azure", "eastus", "Ultra Disk", Basis.ON_DEMAND, unit=Unit.GIB_HOUR).price.usd
    assert 3 * 730 * rate * (billed_size("azure", "Ultra Disk", 2500) - 2500) == pytest.approx(205.44, abs=0.005)


def test_a_disk_of_fixed_size_is_paid_whole() -> None:
    found = bill(Volume(item="disk", size=128, iops=500, throughput=100, count=2))
    assert found.machine_usd == pytest.approx(365 + 2 * 19.71)


@pytest.mark.parametrize(
    ("method", "hours", "machines"), [("default", 730, 3), ("cloud-report-2020", 720, 1), ("everything", 730, 4)]
)
def test_methods_say_hours_and_machines(method: str, hours: float, machines: int) -> None:
    found = bill(method=METHODS[method])
    assert found.usd == pytest.approx(hours * 0.5 * machines)
    assert f"({hours:g} hours, {METHODS[method].counts}: {machines})" in found.formula()


def test_what_a_volume_includes_is_not_paid_again() -> None:
    assert bill(Volume(item="v", size=1, iops=3000, throughput=125)).machine_usd == pytest.approx(365.1)


def test_equal_volumes_have_their_tiers_each() -> None:
    one, two = (bill(Volume(item="v", size=10, iops=4000, count=count)) for count in (1, 2))
    assert two.machine_usd == pytest.approx(2 * (one.machine_usd or 0) - 365)


def test_a_line_says_whose_price_it_is() -> None:
    far = MachineWithVolumes(provider="p", region="elsewhere", type="m")
    assert "(price of r)" in month(BOOK, DAY, far, METHODS["default"]).formula()
    assert "price of" not in bill().formula()


@pytest.mark.parametrize(
    ("here", "usd", "reasons"),
    [
        ([], 3 * 730, ()),
        ([1.0], 730, ()),
        ([1.0, 1.0], 730, ()),
        ([1.0, 9.0], None, ("p r m: on-demand: two rows of list disagree on 2026",)),
    ],
)
def test_another_regions_price_stands_for_a_missing_one_and_never_for_two_that_disagree(
    here: list[float], usd: float | None, reasons: tuple[str, ...]
) -> None:
    book = PriceBook([*(price("m", usd) for usd in here), price("m", 3.0, region="far")])
    found = month(book, DAY, MachineWithVolumes(provider="p", region="r", type="m"), DEFAULT)
    assert (found.usd, found.reasons_missing) == (usd, reasons)
    assert [line.elsewhere for line in found.lines] == ([] if reasons else [None if here else "far"])


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (bill(type_="x"), "p r x: not in the price book"),
        (bill(Volume(item="x", size=1)), "p r x: not in the price book (GB-month or GiB-month or GiB-hour)"),
        (bill(Volume(item="t", size=1, iops=64000)), "p r t: no price known above 32000 IOPS, requested 64000"),
        (
            bill(Volume(item="t", size=1, throughput=500)),
            "p r t: no on-demand price by the MiB/s-month (MiB/s-month or MB/s-month or MB/s-hour)",
        ),
    ],
)
def test_a_missing_price_makes_the_cost_missing(found: Bill, reason: str) -> None:
    assert found.reasons_missing == (reason,)
    assert (found.machine_usd, found.usd, found.storage_share) == (None, None, None)
    assert found.formula().endswith(f"  missing: {reason}")


def test_a_discount_is_of_the_machine_alone() -> None:
    found = bill(Volume(item="v", size=1000)).discounted(20)
    assert found.machine_usd == pytest.approx(0.8 * 365 + 100)
    assert "  m: 730 h × $0.5 less 20 % = $292.00" in found.formula()
    for wrong in (-1, 100, math.nan):
        with pytest.raises(InputError, match="discount"):
            found.discounted(wrong)


@given(st.floats(1, 1e5), st.floats(0, 1e5), st.integers(1, 9))
def test_more_costs_more(size: float, iops: float, count: int) -> None:
    small = bill(Volume(item="v", size=size, iops=iops, count=count)).usd
    large = bill(Volume(item="v", size=size + 1, iops=iops + 1, count=count)).usd
    assert small is not None
    assert large is not None
    assert large > small


# transfer

TIERS = Pick(prices=(price("t", 0.09, Unit.GB, up_to=10), price("t", 0.05, Unit.GB, above=10)))


def transfer_usd(count_bytes: float, pick: Pick) -> float:
    return math.fsum(line.usd for line in transfer_lines(count_bytes, pick))


@pytest.mark.parametrize(("count_bytes", "usd"), [(0, 0), (1e9, 0.09), (10e9, 0.9), (12e9, 1.0)])
def test_transfer_goes_through_the_tiers(count_bytes: float, usd: float) -> None:
    assert transfer_usd(count_bytes, TIERS) == pytest.approx(usd)


def test_a_gib_is_larger_than_a_gb() -> None:
    assert transfer_usd(2**30, Pick(prices=(price("t", 1, Unit.GIB),))) == 1


def test_transfer_by_a_wrong_unit_or_amount_is_refused() -> None:
    with pytest.raises(InputError, match="not by bytes"):
        transfer_usd(1, Pick(prices=(price("m", 1),)))
    with pytest.raises(InputError, match="negative"):
        transfer_usd(-1, TIERS)
    with pytest.raises(InputError, match="no price known above 10 GB"):
        transfer_usd(11e9, Pick(prices=TIERS.prices[:1]))


def test_a_gap_between_tiers_is_not_free() -> None:
    gap = Pick(prices=(price("t", 0.09, Unit.GB, up_to=10), price("t", 0.05, Unit.GB, above=20)))
    assert transfer_usd(10e9, gap) == pytest.approx(0.9)
    with pytest.raises(InputError, match="no price known above 10 GB"):
        transfer_usd(15e9, gap)


# ratios


def test_break_even() -> None:
    assert break_even_hours(price("m", 0.5), price("m", 0.3), DEFAULT) == pytest.approx(438)
    assert break_even_hours(price("m", 0.5), price("m", 0.5), DEFAULT) is None
    with pytest.raises(InputError, match="two hourly prices"):
        break_even_hours(price("m", 0.5), price("v", 0.3, Unit.GB_MONTH), DEFAULT)


# the page


def example() -> Bill:
    volume = Volume(item="gp3", size=1000, iops=8000, throughput=250)
    machine = MachineWithVolumes(provider="aws", region="us-east-1", type="m6i.2xlarge", volumes=(volume,))
    return month(shipped(), DAY, machine, DEFAULT, database=3, load=1)


def test_the_page_shows_the_formula_as_it_prints_itself() -> None:
    shown = [line.rstrip() for line in PAGE.splitlines()]
    for line in example().formula().splitlines():
        assert line in shown


def test_every_product_on_the_page_is_right_to_the_cent() -> None:
    number = r"\$?([\d,]*\.?\d+)(?: (?:h|GB|IOPS|MiB/s))?"
    products = re.findall(rf"{number}((?: × {number})+) += +\$([\d,]+\.\d\d)\b", PAGE)
    assert len(products) == 10
    for found in products:
        factors = [found[0], *re.findall(r"× \$?([\d,]*\.?\d+)", found[1])]
        product = math.prod((Decimal(factor.replace(",", "")) for factor in factors), start=Decimal(1))
        assert product.quantize(Decimal("0.01"), ROUND_HALF_UP) == Decimal(found[-1].replace(",", "")), found


def test_the_ratios_on_the_page_are_those_of_the_model() -> None:
    usd = example().usd
    assert usd is not None
    per_tpmc = usd / 24_000
    assert f"${usd:,.2f} / 24,000 = ${per_tpmc:.5f}" in PAGE
    per_million = 1e6 * usd / (900 * DEFAULT.hours * 3600)
    assert f"${usd:,.2f} / (900 × 730 × 3,600) × 1,000,000 = ${per_million:.3f}" in PAGE
    assert f"{100 * (example().storage_share or 0):.1f} %" in PAGE
    pick = shipped().price_at(DAY, "aws", "us-east-1", "internet egress", Basis.ON_DEMAND)
    assert f"${transfer_usd(12_240e9, pick):,.2f}" in PAGE
    reserved = shipped().price_at(DAY, "aws", "us-east-1", "m6i.2xlarge", Basis.RESERVED_1Y, terms="").price
    on_demand = shipped().price_at(DAY, "aws", "us-east-1", "m6i.2xlarge", Basis.ON_DEMAND).price
    hours = break_even_hours(on_demand, reserved, DEFAULT)
    assert f"{reserved.usd:g} × 730 / {on_demand.usd:g} = {hours:.0f} hours" in PAGE
