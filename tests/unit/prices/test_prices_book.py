"""The price of a study's day, never a guess; findings with their own messages; the book that ships."""

import csv
import re
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.model.errors import InputError
from nephoscope.prices.book import PriceBook, agree, shipped
from nephoscope.prices.findings import Problem, check
from nephoscope.prices.rows import Basis, Kind, Price, Unit, parse_csv, to_csv
from tests.support.shared_data import shared

GUIDE = Path(__file__).parents[3] / "docs" / "how-to" / "prices.md"
TODAY = date(2026, 11, 21)


def price(item: str = "m", usd: float = 1.0, on: str = "2026-01-01", **more: Any) -> Price:
    values: dict[str, Any] = {
        "provider": "aws",
        "region": "r",
        "kind": Kind.MACHINE,
        "item": item,
        "unit": Unit.HOUR,
        "basis": Basis.ON_DEMAND,
        "usd": usd,
        "source": "list",
        "licence": "MIT",
        "date": on,
    }
    return Price(**(values | more))


def usd_at(book: PriceBook, day: str, **more: Any) -> float | None:
    pick = book.price_at(date.fromisoformat(day), "aws", "r", "m", Basis.ON_DEMAND, **more)
    assert bool(pick.prices) != bool(pick.reason_missing)
    return pick.price.usd if pick.prices else None


def test_the_newest_price_that_is_not_younger_than_the_day() -> None:
    book = PriceBook([price(usd=2, on="2022-06-23"), price(usd=1, on="2026"), price(usd=3, on="2020-08")])
    days = {"2020-07-31": None, "2020-08-01": 3, "2022-06-22": 3, "2022-06-23": 2, "2025-12-31": 2, "2026-01-01": 1}
    assert {day: usd_at(book, day) for day in days} == days


@given(st.lists(st.dates(date(2000, 1, 1), date(2030, 1, 1)), min_size=1, unique=True), st.dates(date(1999, 1, 1)))
def test_the_pick_is_the_last_of_what_was_known(days: list[date], on: date) -> None:
    pick = PriceBook([price(on=str(day)) for day in days]).price_at(on, "aws", "r", "m", Basis.ON_DEMAND)
    known = [day for day in days if day <= on]
    assert [row.since for row in pick.prices] == ([max(known)] if known else [])


def test_of_several_other_regions_the_dearest_counts() -> None:
    book = PriceBook([price(region="a", usd=1), price(region="b", usd=3), price(region="c", usd=2)])
    asked = (TODAY, "aws", "b", "m", Basis.ON_DEMAND)
    assert book.price_elsewhere(*asked).price.region == "c"
    assert not book.price_elsewhere(TODAY, "aws", "b", "x", Basis.ON_DEMAND).prices


@pytest.mark.parametrize(
    ("rows", "asked", "reason"),
    [
        ([price("x")], {}, "aws r m: not in the price book"),
        ([price(basis=Basis.SPOT)], {}, "aws r m: no on-demand price, only spot"),
        ([price(on="2027")], {}, "aws r m: the first on-demand price is of 2027, after 2026-11-21"),
        ([price()], {"unit": Unit.GB_MONTH}, "aws r m: no on-demand price by the GB-month"),
        ([price()], {"terms": "no upfront"}, "aws r m: no on-demand price no upfront"),
        ([price(), price(terms="b")], {}, "aws r m: on-demand has several terms, choose one: (not stated); b"),
        (
            [price(), price(unit=Unit.GB_MONTH)],
            {},
            "aws r m: on-demand has several unit, choose one: GB-month; hour",
        ),
        ([price(), price(usd=1.1, source="z")], {}, "aws r m: on-demand: list and z disagree on 2026-01-01"),
        ([price(disputed="others say 2")], {}, "aws r m: only disputed rows or prices of 0 in the price book"),
        ([price(usd=0)], {}, "aws r m: only disputed rows or prices of 0 in the price book"),
    ],
)
def test_a_price_that_is_not_known_has_a_reason(rows: list[Price], asked: dict[str, Any], reason: str) -> None:
    pick = PriceBook(rows).price_at(TODAY, "aws", "r", "m", Basis.ON_DEMAND, **asked)
    assert (pick.prices, pick.reason_missing) == ((), reason)
    with pytest.raises(InputError, match="no price"):
        _ = pick.price


def test_a_disputed_row_is_never_picked_however_new() -> None:
    assert usd_at(PriceBook([price(usd=2, on="2026-07-01", disputed="others say 1"), price()]), "2026-11-21") == 1


def test_a_free_thing_costs_0() -> None:
    assert usd_at(PriceBook([price(usd=0, note="free")]), "2026-11-21") == 0


def test_tiers_come_together_and_in_order() -> None:
    book = PriceBook(
        [price(usd=0.08, above=10), price(usd=0.09, up_to=10.0), price(usd=7, above=99, source="z", on="2020")]
    )
    pick = book.price_at(TODAY, "aws", "r", "m", Basis.ON_DEMAND)
    assert [row.usd for row in pick.prices] == [0.09, 0.08]


def test_a_price_for_any_region_serves_where_a_region_has_none() -> None:
    book = PriceBook([price(region="any", usd=2), price(region="s")])
    assert usd_at(book, "2026-11-21") == 2


def test_select_filters_and_picks() -> None:
    book = PriceBook(
        [price("m6i.a"), price("m6i.b", on="2022"), price("m6i.b"), price("c5", region="s", provider="gcp")]
    )
    assert len(book.select(item="m6i.*")) == 3
    assert [row.item for row in book.select(provider="gcp", region="s", basis=Basis.ON_DEMAND)] == ["c5"]
    picks = book.picks(book.select(item="m6i.*"), date(2022, 5, 1))
    assert [row.date for pick in picks for row in pick.prices] == ["2022"]
    assert [pick.reason_missing for pick in picks if not pick.prices] == [
        "aws r m6i.a: the first on-demand price is of 2026-01-01, after 2022-05-01"
    ]


def test_a_price_holds_from_its_first_to_its_last_day() -> None:
    book = PriceBook([price(usd=4, on="2024", until="2026-11-30"), price(usd=3, on="2027-01-01")])
    days = {"2023-12-31": None, "2024-01-01": 4, "2026-11-30": 4, "2026-12-01": None, "2027-01-01": 3}
    assert {day: usd_at(book, day) for day in days} == days
    missing = book.price_at(date(2026, 12, 1), "aws", "r", "m", Basis.ON_DEMAND).reason_missing
    assert missing == "aws r m: the last on-demand price held until 2026-11-30, before 2026-12-01"


def test_an_end_is_a_part_of_a_row_and_of_its_id() -> None:
    assert price().id == "84fb2ca56ae0"
    assert price(until="2026-12-01").id != price().id
    (row,) = parse_csv(to_csv([price(until="2026-12-01")]), "book.csv")
    assert row == price(until="2026-12-01")


# findings


def problems(*rows: Price, against: PriceBook | None = None) -> list[Problem]:
    return [finding.problem for finding in check(PriceBook(rows), TODAY, against=against)]


def test_five_problems_give_five_messages() -> None:
    book = PriceBook(
        [
            price("zero", usd=0),
            price("twice"),
            price("twice", usd=2),
            price("o", on="2021-05"),
            price("mixed", usd=0.424),
            price("mixed", usd=0.853, source="other"),
            price("mixed", usd=0.424, source="other", basis=Basis.RESERVED_1Y),
            price("doubtful", usd=1),
            price("doubtful", usd=1.02, source="other"),
        ]
    )
    found = check(book, TODAY)
    assert [finding.problem for finding in found] == list(Problem)
    assert [finding.rejected for finding in found] == [True, False, False, False, False]
    assert [finding.message for finding in found] == [
        "one column mixes bases: list states on-demand, but mixed 0.424 is reserved-1y (on-demand is 0.853)",
        "price 0: aws r zero, on-demand, list of 2026-01-01; if it is free, say so in its note",
        "appears 2 times: aws r twice, on-demand, list of 2026-01-01, with 1 and 2 USD",
        "old: no on-demand price of aws r machine younger than 365 days for o; the oldest is of 2021-05, 2030 days ago",
        "sources disagree by 2.0 %: aws r doubtful, on-demand: 1 (list, 2026-01-01), 1.02 (other, 2026-01-01)",
    ]


AEROSPIKE = [("i3.xlarge", 0.312), ("c3.4xlarge", 0.84), ("i2.xlarge", 0.424)]
ON_DEMAND_2017 = {"i3.xlarge": 0.312, "c3.4xlarge": 0.84, "i2.xlarge": 0.853}


def aerospike_book(*, reserved: bool) -> PriceBook:
    place: dict[str, Any] = {"region": "us-west-2", "on": "2017-06-01", "source": "price list of 2017"}
    rows = [price(item, usd, **place) for item, usd in ON_DEMAND_2017.items()]
    if reserved:
        rows.append(price("i2.xlarge", 0.424, basis=Basis.RESERVED_1Y, **place))
    return PriceBook(rows)


@pytest.mark.parametrize("stated", [Basis.NOT_STATED, Basis.ON_DEMAND])
def test_the_table_of_aerospike_mixes_bases(stated: Basis) -> None:
    place: dict[str, Any] = {"region": "us-west-2", "on": "2017-06-01", "source": "the table"}
    table = PriceBook(price(item, usd, basis=stated, **place) for item, usd in AEROSPIKE)
    found = check(table, date(2017, 12, 1), against=aerospike_book(reserved=True))
    said = "states no basis" if stated is Basis.NOT_STATED else "states on-demand"
    (finding,) = found
    assert finding.rejected
    assert finding.message == (
        f"one column mixes bases: the table {said}, but i3.xlarge 0.312, c3.4xlarge 0.84 are on-demand; "
        "i2.xlarge 0.424 is reserved-1y (on-demand is 0.853)"
    )


def test_without_the_reserved_price_the_table_of_aerospike_disagrees() -> None:
    place: dict[str, Any] = {"region": "us-west-2", "on": "2017-06-01", "source": "the table"}
    table = PriceBook(price(item, usd, basis=Basis.NOT_STATED, **place) for item, usd in AEROSPIKE)
    (finding,) = check(table, date(2017, 12, 1), against=aerospike_book(reserved=False))
    assert finding.message == (
        "sources disagree: aws us-west-2 i2.xlarge: 0.424 (the table, 2017-06-01) matches no basis of on-demand 0.853"
    )


def test_a_table_of_one_basis_is_not_rejected() -> None:
    place: dict[str, Any] = {"region": "us-west-2", "on": "2017-06-01", "source": "the table"}
    table = PriceBook(price(item, usd, basis=Basis.NOT_STATED, **place) for item, usd in ON_DEMAND_2017.items())
    assert check(table, date(2017, 12, 1), against=aerospike_book(reserved=True)) == []


def test_what_is_no_problem() -> None:
    assert problems(price("free", usd=0, note="free")) == []
    assert problems(price(), price(usd=2, on="2026-05-01")) == [], "one source may change its price"
    assert problems(price(), price(usd=1.005, source="other")) == []
    assert problems(price(), price(usd=2, source="other", basis=Basis.SPOT)) == []
    assert problems(price(on="2021"), price(on="2026")) == [], "an old row is history, where there is a newer one"


def test_a_disagreement_that_is_settled_says_which_side_is_wrong() -> None:
    (finding,) = check(PriceBook([price(), price(usd=2, source="other", disputed="a slip")]), TODAY)
    assert finding.message.endswith("considered wrong: other: a slip")


def test_a_second_book_is_held_against_and_not_checked() -> None:
    against = PriceBook([price("x", usd=0), price("x", usd=0), price(usd=2, source="other")])
    assert problems(price(), against=against) == [Problem.DISAGREEMENT]


@given(st.floats(1e-6, 1e6), st.floats(0.5, 2))
def test_agreement_is_symmetric(usd: float, factor: float) -> None:
    assert agree(usd, usd * factor) == agree(usd * factor, usd)
    assert agree(usd, usd)


# the book that ships


def test_the_shipped_book_holds_what_its_files_hold() -> None:
    counts = Counter((row.provider, row.kind) for row in shipped().rows)
    assert counts == {
        ("aws", Kind.MACHINE): 210,
        ("azure", Kind.MACHINE): 93,
        ("gcp", Kind.MACHINE): 173,
        ("aws", Kind.STORAGE): 12,
        ("azure", Kind.STORAGE): 57,
        ("gcp", Kind.STORAGE): 53,
        ("aws", Kind.TRANSFER): 9,
        ("azure", Kind.TRANSFER): 7,
        ("gcp", Kind.TRANSFER): 9,
        ("aws", Kind.MANAGED): 19,
        ("azure", Kind.MANAGED): 10,
        ("gcp", Kind.MANAGED): 34,
        ("neon", Kind.MANAGED): 7,
        ("clickhouse", Kind.MANAGED): 1,
    }
    assert len({row.item for row in shipped().rows if row.kind is Kind.MACHINE}) == 93


def test_the_shipped_book_mixes_nothing_and_holds_no_zero_and_no_duplicate() -> None:
    assert {finding.problem for finding in check(shipped(), TODAY)} <= {Problem.OLD, Problem.DISAGREEMENT}


def test_what_nobody_knows_is_not_in_the_shipped_book() -> None:
    assert {row.basis for row in shipped().rows} == {Basis.ON_DEMAND, Basis.RESERVED_1Y, Basis.RESERVED_3Y}
    (tier,) = (row for row in shipped().rows if row.item == "io2" and row.unit is Unit.IOPS_MONTH)
    assert tier.up_to == 32000


def test_a_price_that_sources_dispute_is_not_picked_from_the_shipped_book() -> None:
    pick = shipped().price_at(date(2025, 6, 1), "aws", "us-east-1", "c5.4xlarge", Basis.ON_DEMAND)
    assert pick.price.usd == 0.68


def test_every_fact_was_carried_over() -> None:
    with shared("prices/machines_found.csv").open(encoding="utf-8") as file:
        facts = list(csv.DictReader(file))
    found = Counter(
        (row.provider, row.region, row.item, row.basis, row.usd, row.source, row.date) for row in _machines()
    )
    columns = {"on_demand_usd_hour": Basis.ON_DEMAND, "reserved_1y_usd_hour": Basis.RESERVED_1Y}
    of_its_memory = {"n2-custom-8-32768": "n2-custom-8-16384", "n2-custom-32-131072": "n2-custom-32-65536"}
    wanted = Counter(
        (
            *(fact["provider"], fact["region"], of_its_memory.get(fact["instance"], fact["instance"]), basis),
            *(float(fact[column]), fact["source"], fact["date"]),
        )
        for fact in facts
        for column, basis in columns.items()
        if fact[column]
    )
    assert not wanted - found


LISTED = ("westeurope", "northeurope", "swedencentral", "us-east1", "us-west1", "europe-west4")
"""Regions whose disks come from the lists that azure-pricing-radar and Cyclenerd keep."""


def test_every_fact_of_storage_and_transfer_was_carried_over() -> None:
    with shared("prices/storage_transfer_found.csv").open(encoding="utf-8") as file:
        facts = list(csv.DictReader(file))
    rows = [row for row in shipped().rows if row.kind in {Kind.STORAGE, Kind.TRANSFER}]
    held = Counter((row.provider, row.region, row.kind, row.usd, row.date) for row in rows)
    found = Counter(
        (fact["provider"], fact["region"], Kind(fact["kind"]), float(fact["usd"]), fact["date"]) for fact in facts
    )
    assert found <= held
    of_2026 = {("hyperdisk-balanced", "us-east1"), ("Premium SSD v2", "eastus")}
    added = [row for row in rows if (row.item, row.region) in of_2026]
    of_lists = [row for row in rows if row.region in LISTED and row.date >= "2026-07-15"]
    of_snapshots = [row for row in rows if row.item in {"EBS snapshot", "managed disk snapshot"}]
    assert (len(added), len(of_lists), len(of_snapshots)) == (4, 57, 2)
    assert held - found == Counter(
        (row.provider, row.region, row.kind, row.usd, row.date) for row in [*added, *of_lists, *of_snapshots]
    )


def test_the_disks_of_azure_have_prices_of_size_iops_and_throughput_in_three_regions() -> None:
    for region in ("westeurope", "northeurope", "swedencentral"):
        for item, included in (("Premium SSD v2", {3000, 125}), ("Ultra Disk", {0})):
            rows = [row for row in shipped().of_item("azure", region, item) if row.date >= "2026-07-15"]
            assert {Unit.GIB_HOUR, Unit.IOPS_HOUR, Unit.MB_PER_S_HOUR} <= {row.unit for row in rows}
            assert {row.above for row in rows if row.unit in {Unit.IOPS_HOUR, Unit.MB_PER_S_HOUR}} == included


def _machines() -> list[Price]:
    return [row for row in shipped().rows if row.kind is Kind.MACHINE]


def test_the_guide_says_how_many_rows_each_file_has() -> None:
    files = sorted((GUIDE.parents[2] / "src" / "nephoscope" / "prices" / "data").glob("*.csv"))
    told = dict(re.findall(r"^\| `(\w+\.csv)` \| (\d+) \|", GUIDE.read_text(encoding="utf-8"), re.MULTILINE))
    assert told == {file.name: str(len(list(csv.DictReader(file.open(encoding="utf-8"))))) for file in files}
    assert sum(map(int, told.values())) == len(shipped().rows)
