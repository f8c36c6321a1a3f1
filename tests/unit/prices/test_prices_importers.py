"""Of every kind of price list: what it does not say is asked for, and damage is told."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nephoscope.model.errors import InputError
from nephoscope.prices.importers.base import Origin
from nephoscope.prices.importers.registry import IMPORTERS
from nephoscope.prices.rows import to_csv
from tests.support.shared_data import shared
from tests.unit.prices.price_lists import AWS, AZURE, GCP, SAVINGS, read, read_json

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
