"""Of every kind of price list: what it does not say is asked for, and damage is told."""

import copy
import json
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from nephoscope.model.errors import InputError
from nephoscope.prices.book import PriceBook
from nephoscope.prices.importers.base import Origin
from nephoscope.prices.importers.registry import IMPORTERS
from nephoscope.prices.rows import to_csv
from tests.support.shared_data import shared
from tests.unit.prices.price_lists import AWS, AZURE, GCP, SAVINGS, dimension, item, on_demand, read, read_json, sku

DATED = Origin(source="a list", date="2026-01-01")
JSON_LISTS = [("aws", AWS), ("aws", SAVINGS), ("azure", AZURE), ("gcp-skus", GCP)]


def test_our_own_csv(tmp_path: Path) -> None:
    rows = read_json("aws", tmp_path, AWS).rows
    (tmp_path / "own.csv").write_text(to_csv(rows))
    assert read("csv", tmp_path / "own.csv").rows == rows


@pytest.mark.parametrize("kind", IMPORTERS)
def test_a_file_that_is_none_or_garbage_is_told(tmp_path: Path, kind: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        IMPORTERS[kind].read(tmp_path / "none", DATED)
    for garbage in (b"", b"\xff\xfe\x00garbage", b"<html>denied</html>", b"[[[[", b"{}", b"[]x", b"null", b"7"):
        (tmp_path / "list").write_bytes(garbage)
        with pytest.raises(InputError):
            IMPORTERS[kind].read(tmp_path / "list", DATED)


@pytest.mark.parametrize(("kind", "content"), JSON_LISTS)
def test_a_list_that_was_cut_is_told_with_its_line(tmp_path: Path, kind: str, content: Any) -> None:
    whole = json.dumps(content, indent=1)
    for length in range(0, len(whole) - 1, max(1, len(whole) // 40)):
        (tmp_path / "list").write_text(whole[:length])
        with pytest.raises(InputError, match=r"list:\d+: not JSON"):
            IMPORTERS[kind].read(tmp_path / "list", DATED)


@pytest.mark.parametrize(("kind", "content"), JSON_LISTS)
@pytest.mark.parametrize("wrong", [None, "x", [], {}, -1])
def test_a_value_of_another_shape_is_told_or_left_out(tmp_path: Path, kind: str, content: Any, wrong: Any) -> None:
    told = 0
    for path in list(_paths(content)):
        damaged = copy.deepcopy(content)
        inside = damaged
        for key in path[:-1]:
            inside = inside[key]
        inside[path[-1]] = wrong
        try:
            read_json(kind, tmp_path, damaged)
        except InputError:
            told += 1
    assert told > 5


def _paths(content: Any) -> Iterator[tuple[Any, ...]]:
    keys = content if isinstance(content, dict) else range(len(content)) if isinstance(content, list) else ()
    for key in keys:
        yield (key,)
        yield from ((key, *rest) for rest in _paths(content[key]))


@pytest.mark.parametrize(
    ("kind", "name", "origin", "rows", "skipped"),
    [
        ("aws", "aws_getproducts_m5.large.json", {}, 13, 0),
        ("aws", "aws_savingsplan_format.json", {"date": "2026-01-01"}, 1, 0),
        ("azure", "azure_retail_ultra_westeurope.json", {}, 4, 1),
        ("gcp-skus", "gcp_skus.json", {}, 9, 0),
    ],
)
def test_samples_of_real_lists(kind: str, name: str, origin: dict[str, str], rows: int, skipped: int) -> None:
    found = read(kind, shared(f"prices/api-samples/{name}"), **origin)
    assert (len(found.rows), sum(found.skipped.values())) == (rows, skipped)


START, END = "2024-01-01T00:00:00Z", "2026-11-30T00:00:00Z"


def aws_list(usd: float, start: str, name: str) -> Any:
    terms = on_demand(dimension(str(usd), description=name))
    terms["t"]["effectiveDate"] = start
    attributes = {"instanceType": "m5.large", "regionCode": "us-east-1", "location": "", "operatingSystem": "Linux"}
    product = {"productFamily": "Compute Instance", "attributes": attributes}
    return [{"publicationDate": "2026-11-20T00:00:00Z", "product": product, "terms": {"OnDemand": terms}}]


def gcp_sku(usd: float, start: str, name: str) -> Any:
    found = sku(f"N2 Instance Core {name}", "OnDemand", "h", (0, round(usd * 1e9)))
    found["pricingInfo"][0]["effectiveTime"] = start
    found["serviceRegions"] = ["us-east4"]
    return found


LISTS: dict[str, Callable[[float, str, str], Any]] = {
    "azure": lambda usd, start, name: {
        "Items": [item(armSkuName=name, skuName=name, meterName=name, retailPrice=usd, effectiveStartDate=start)]
    },
    "aws": aws_list,
    "gcp-skus": lambda usd, start, name: {"skus": [gcp_sku(usd, start, name)]},
}
"""Importer -> a list with one price of a day."""


@pytest.mark.parametrize("kind", LISTS)
def test_a_price_of_0_is_none_unless_its_list_calls_it_free(kind: str, tmp_path: Path) -> None:
    found = read_json(kind, tmp_path, LISTS[kind](0, START, "meter"), date="2026-11-20")
    assert (found.rows, list(found.skipped)) == (
        [],
        ["price of 0 that is not called free: lists write it for what is not sold"],
    )
    (row,) = read_json(kind, tmp_path, LISTS[kind](0, START, "Free meter"), date="2026-11-20").rows
    assert (row.usd, row.unexplained_zero) == (0, False)


@pytest.mark.parametrize("kind", LISTS)
def test_a_price_of_the_future_counts_from_its_first_day(kind: str, tmp_path: Path) -> None:
    (row,) = read_json(kind, tmp_path, LISTS[kind](0.3, "2027-05-01T00:00:00Z", "m"), date="2026-11-20").rows
    assert row.date == "2027-05-01"
    (row,) = read_json(kind, tmp_path, LISTS[kind](0.3, START, "m"), date="2026-11-20").rows
    assert row.date == "2026-11-20", "it is in force on the day of the list"


def test_a_pair_around_a_change_has_one_price_on_each_day(tmp_path: Path) -> None:
    before = item(retailPrice=0.4, effectiveStartDate=START, effectiveEndDate=END)
    after = item(retailPrice=0.384, effectiveStartDate="2026-12-01T00:00:00Z")
    ended = item(retailPrice=0.5, effectiveStartDate="2020-01-01T00:00:00Z", effectiveEndDate="2023-12-31T00:00:00Z")
    expired = item(retailPrice=0.2, meterName="D4s v5 Expired")
    for day in ("2026-11-20", None):
        found = read_json("azure", tmp_path, {"Items": [after, ended, expired, before]}, date=day)
        book = PriceBook(found.rows)
        on_days = [
            [row.usd for pick in book.picks(found.rows, date.fromisoformat(on)) for row in pick.prices]
            for on in ("2026-11-20", "2026-11-30", "2026-12-01")
        ]
        assert on_days == [[0.4], [0.4], [0.384]]
        assert found.skipped["meter that has expired"] == 1


PUBLIC: dict[str, tuple[str, set[tuple[str, str, str, float]], int]] = {
    "80-aws-seven-skus-one-type/index.json": ("aws", {("us-east-1", "m5.large", "on-demand", 0.096)}, 14),
    "81-azure-duplicates/azure.json": (
        "azure",
        {
            ("westus3", "Standard_D2as_v5", "on-demand", 0.086),
            ("westus3", "Standard_D2as_v5", "spot", 0.0086),
            ("westus3", "Standard_D2as_v5", "reserved-1y", 500 / 8760),
            ("westus3", "Standard_D8s_v4", "on-demand", 0.4),
            ("usgovvirginia", "Standard_D2as_v5", "on-demand", 0.1104),
            ("Global", "Standard_D2as_v5", "on-demand", 0.09),
        },
        9,
    ),
}
"""List -> its importer, the prices of 20 November 2026, and how many of its lines are left out, each for a reason."""


@pytest.mark.parametrize("path", PUBLIC)
def test_a_public_case_has_one_price_for_each_thing_of_a_day(path: str) -> None:
    kind, prices, left_out = PUBLIC[path]
    found = read(kind, shared(f"cases/{path}"), **({"date": "2026-11-20"} if kind == "azure" else {}))
    picks = PriceBook(found.rows).picks(found.rows, date(2026, 11, 20))
    counted = [(row.region, row.item, row.basis, row.usd) for pick in picks for row in pick.prices]
    assert sorted(counted) == sorted(prices), "none twice"
    assert sum(found.skipped.values()) == left_out


def test_a_public_case_in_another_currency_is_refused_by_its_name() -> None:
    with pytest.raises(InputError, match="price in EUR, not in USD"):
        read("gcp-skus", shared("cases/84-gcp-euro-billing-account/skus.json"))
