"""A spec is declared in Rust, which writes `schema/load-spec-1.json`; Python's models and sizes say the same."""

import json
from pathlib import Path
from typing import Any

import pytest

from nephoscope.benchmarks.database.kv import MAX_OPERATION_BYTES
from nephoscope.benchmarks.load.spec import LoadSpec
from nephoscope.benchmarks.registry import BENCHMARKS

DECLARED: dict[str, Any] = json.loads((Path(__file__).parents[2] / "schema" / "load-spec-1.json").read_text("utf-8"))
TAG = "kind"
BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "minLength", "maxLength", "minItems", "maxItems", "pattern")


def fields(schema: dict[str, Any]) -> dict[str, object]:
    """Path of each field -> what a value of it must be. Of a choice of objects, paths name the choice by its tag."""
    return dict(_fields(schema, schema, ""))


def _fields(schema: dict[str, Any], root: dict[str, Any], path: str) -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for choice in _choices(schema, root):
        own = choice["properties"]
        here = f"{path}{own[TAG]['const']}." if TAG in own else path
        found.append((f"{here}*", choice.get("additionalProperties", True)))
        for name, declared in own.items():
            if name == TAG:
                continue  # it says which choice this is; Python always writes it
            field = _resolved(declared, root)
            needed = name in choice.get("required", ())
            if _choices(field, root):
                found.append((here + name, {"required": needed, "default": _whole_default(field, root)}))
                found.extend(_fields(field, root, f"{here}{name}."))
            else:
                found.append((here + name, _value(field, root) | {"required": needed}))
    return found


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    if "$ref" not in schema:
        return schema
    target: dict[str, Any] = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    return target | {key: value for key, value in schema.items() if key != "$ref"}


def _alternatives(schema: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    nested = schema.get("oneOf", schema.get("anyOf"))
    if nested is None:
        return [schema]
    return [alternative for each in nested for alternative in _alternatives(_resolved(each, root), root)]


def _choices(schema: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects that a value may be."""
    return [each for each in _alternatives(schema, root) if "properties" in each]


def _whole_default(schema: dict[str, Any], root: dict[str, Any]) -> object:
    """The default of an object, with the keys that it leaves at their own defaults; None when there is none."""
    if "default" not in schema:
        return None
    given: dict[str, Any] = schema["default"]
    of_its_kind = [each for each in _choices(schema, root) if TAG not in given or given[TAG] == _tag(each)]
    own = {name: field["default"] for name, field in of_its_kind[0]["properties"].items() if "default" in field}
    return own | given


def _tag(choice: dict[str, Any]) -> object:
    return choice["properties"][TAG]["const"]


def _value(field: dict[str, Any], root: dict[str, Any]) -> dict[str, object]:
    """The types, the words, the bounds and the default of one value, however the schema puts them."""
    types: set[str] = set()
    words: set[object] = set()
    said: dict[str, object] = {"default": field["default"]} if "default" in field else {}
    for each in _alternatives(field, root):
        types |= {each["type"]} if isinstance(each["type"], str) else set(each["type"])
        words |= {each["const"]} if "const" in each else set(each.get("enum", ()))
        said |= {bound: each[bound] for bound in BOUNDS if bound in each}
        if "exclusiveMaximum" in each and each["type"] == "integer":
            said["maximum"] = each["exclusiveMaximum"] - 1
    return said | {"types": types, "words": words}


def test_python_and_rust_declare_the_same_spec() -> None:
    declared, modelled = fields(DECLARED), fields(LoadSpec.model_json_schema(by_alias=True))
    assert "workload.kv.rows" in declared, "the walk found the fields"
    assert sorted(modelled) == sorted(declared)
    differ = {path: (modelled[path], declared[path]) for path in declared if modelled[path] != declared[path]}
    assert differ == {}, "(Python, Rust): change the model, or the Rust struct and then schema/load-spec-1.json"


@pytest.mark.parametrize(
    "damage",
    [
        lambda kv: kv.pop("batch"),
        lambda kv: kv["batch"].update(maximum=7),
        lambda kv: kv["batch"].update(default=7),
        lambda kv: kv["batch"].update(type="string"),
        lambda kv: kv["order"]["oneOf"].pop(),
        lambda kv: kv["max_block_bytes"].update(type="integer"),
    ],
    ids=["name", "bound", "default", "type", "word", "null"],
)
def test_every_sort_of_drift_shows(damage: Any) -> None:
    drifted = json.loads(json.dumps(DECLARED))
    kv = next(each for each in drifted["properties"]["workload"]["oneOf"] if _tag(each) == "kv")
    damage(kv["properties"])
    assert fields(drifted) != fields(DECLARED)


def defaults(schema: dict[str, Any]) -> dict[str, object]:
    """Name of each field that may be left out -> its default."""
    return {name: field["default"] for name, field in schema["properties"].items() if "default" in field}


def test_benchmarks_and_specs_have_the_same_defaults() -> None:
    specs = {_tag(choice): defaults(choice) for choice in DECLARED["properties"]["workload"]["oneOf"]}
    compared = {
        (name, field): (default, specs[name.replace("-", "_")][field])
        for name, benchmark in BENCHMARKS.items()
        for field, default in defaults(benchmark.parameters.model_json_schema()).items()
        if field in specs.get(name.replace("-", "_"), {})
    }
    assert ("kv", "min_block_bytes") in compared, "the walk found the fields"
    differ = {field: both for field, both in compared.items() if both[0] != both[1]}
    assert differ == {}, "(benchmark, spec): a parameter that is left out must mean the same in both"


def declaration(workload: str, field: str) -> dict[str, Any]:
    """A field of a workload."""
    choice = next(each for each in DECLARED["properties"]["workload"]["oneOf"] if _tag(each) == workload)
    found: dict[str, Any] = choice["properties"][field]
    return found


def declared_bytes(workload: str, field: str) -> int:
    """What one unit of a field adds to a data set, in bytes."""
    size: int = declaration(workload, field)["x-fixture-bytes"]
    return size


def planned_bytes(benchmark: str, **parameters: object) -> int:
    """What the plan reserves for a data set, in bytes."""
    measured = BENCHMARKS[benchmark]
    size: int = measured.fixture_bytes(measured.parameters(**parameters))  # type: ignore[attr-defined]
    return size


def test_plans_reserve_the_bytes_that_help_texts_name() -> None:
    row, tables = declared_bytes("oltp_insert", "rows"), {"tables": 3, "rows": 7}
    assert planned_bytes("tpcc", warehouses=3) == 3 * declared_bytes("tpcc", "warehouses")
    assert planned_bytes("point-select", rows=7) == 7 * declared_bytes("point_select", "rows")
    assert planned_bytes("oltp-insert", **tables) == 21 * row == 21 * declared_bytes("oltp_read_write", "rows")
    assert planned_bytes("oltp-read-write", **tables) == planned_bytes("oltp-read-only", **tables) == 21 * row
    assert planned_bytes("tpcb", scale=3) == 3 * declared_bytes("tpcb", "scale")
    assert declaration("kv", "batch")["x-operation-bytes"] == MAX_OPERATION_BYTES
    assert planned_bytes("kv", rows=7, min_block_bytes=10) == 7 * (declared_bytes("kv", "rows") + 10)
    record, field = declared_bytes("ycsb", "rows"), declared_bytes("ycsb", "fields")
    assert planned_bytes("ycsb", rows=7, fields=2, field_bytes=10) == 7 * (record + 2 * (field + 10))
