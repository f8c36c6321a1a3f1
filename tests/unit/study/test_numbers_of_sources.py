"""No limit of nephoscope is below a number that a published method states. Each case has the page and its sentence."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.highest_load import Sizing
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.study.model import Database, Machine
from tests.support.shared_data import FOLDER

OVERVIEW, QUALIFICATION, REPORT_2020 = "benchmarking-overview", "aerospike-qualification", "cloud-report-2020"
LARGEST = "CockroachDB v21.1 processed 1.68M tpmC with 140,000 warehouses"
NODES = "can achieve near-linear performance at 256 nodes"
SYSBENCH = "a concurrency of 480 on the oltp_insert workload and a concurrency of 216 on the oltp_point_select workload"
OBJECTS = "i3.xlarge68,0003.35.41424240,000,000950GB"
THREADS = "starting at 1 thread (writing alone) moving our way up to 64 threads"
SCHEMA = Path(__file__).resolve().parents[3] / "schema" / "load-spec-1.json"

PARAMETERS: list[tuple[str, str, str, dict[str, Any]]] = [
    (OVERVIEW, LARGEST, "tpcc", {"warehouses": 140_000, "connections": 2 * 140_000, "workers": 10 * 140_000}),
    (OVERVIEW, LARGEST, "max-warehouses", {"warehouses": 140_000}),
    (OVERVIEW, "256 8 2048", "kv", {"connections": 2048}),
    (OVERVIEW, SYSBENCH, "oltp-insert", {"connections": 480}),
    (OVERVIEW, SYSBENCH, "point-select", {"connections": 216}),
    (QUALIFICATION, OBJECTS, "kv", {"rows": 240_000_000, "min_block_bytes": 1424}),
    (QUALIFICATION, OBJECTS, "ycsb", {"rows": 240_000_000, "fields": 1, "field_bytes": 1424}),
    (REPORT_2020, THREADS, "sysbench-fileio", {"threads": [1, 2, 4, 8, 16, 32, 64]}),
]


@pytest.mark.parametrize(("page", "sentence", "uses", "given"), PARAMETERS)
def test_a_benchmark_can_be_asked_for_it(page: str, sentence: str, uses: str, given: dict[str, Any]) -> None:
    parameters = BENCHMARKS[uses].parameters.model_validate(given).model_dump(mode="json")
    assert {key: parameters[key] for key in given} == given
    assert_is_said(page, sentence)


def test_a_study_can_order_as_many_machines_and_connections() -> None:
    assert Machine(type="c5d.4xlarge", count=256).count == 256
    assert len(Machine(hosts=[f"node-{number}" for number in range(256)]).hosts or ()) == 256
    assert Sizing(machines=256, memory_gib=16, disk_gib=400).machines == 256
    assert Database(connections=2 * 140_000).connections == 280_000
    assert_is_said(OVERVIEW, NODES)


def test_the_load_generator_accepts_as_many_warehouses_connections_and_clients() -> None:
    """`connections` of the Cloud Reports of 2018 and 2020 are two for each active warehouse."""
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    assert schema["properties"]["connections"]["maximum"] >= 2 * 140_000
    assert schema["properties"]["workers"]["maximum"] >= 10 * 140_000
    (tpcc,) = (one for one in variants(schema) if one.get("properties", {}).get("kind", {}).get("const") == "tpcc")
    assert tpcc["properties"]["warehouses"]["maximum"] >= 140_000


def variants(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Every table of a schema, wherever it is declared."""
    found = [schema] if "properties" in schema else []
    for value in schema.values():
        for one in value if isinstance(value, list) else [value]:
            found += variants(one) if isinstance(one, dict) else []
    return found


def assert_is_said(page: str, sentence: str) -> None:
    """The page holds the sentence, where the pages are."""
    file = FOLDER.parent / "sources" / f"{page}.txt"
    if file.exists():
        assert sentence in " ".join(file.read_text(encoding="utf-8").split())
