"""The starter study loads as it is and explains every key; the reference is up to date."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.study.explain import Schema
from nephoscope.study.load import load_study
from nephoscope.study.reference import main, study_reference
from nephoscope.study.shorthands import StudyFile
from nephoscope.study.starter import starter_study
from tests.support.generated import STALE
from tests.unit.study.study_example import KNOWN, ROOT


def keys_of_a_study() -> Iterator[str]:
    schema: Schema = StudyFile.model_json_schema()
    for table in (schema, *schema["$defs"].values()):
        yield from table["properties"]


def test_starter_loads() -> None:
    study = load_study(starter_study("first-try"), "study.toml", KNOWN)
    assert study.name == "first-try"
    assert study.replicates == 6


def test_starter_explains_every_key() -> None:
    words = set(re.findall(r"\w+", starter_study()))
    assert set(keys_of_a_study()) - words == set()


def test_starter_loads_with_its_optional_keys_switched_on() -> None:
    text = re.sub(r"^# (?=[a-z_]+ = |\[)", "", starter_study(), flags=re.MULTILINE)
    assert load_study(text, "study.toml", KNOWN).configurations[0].database.dsn is not None
    text = re.sub(r"^dsn = .*$", "", text, flags=re.MULTILINE)
    study = load_study(text, "study.toml", KNOWN)
    assert study.budget.max_usd == 20
    first = study.configurations[0]
    assert first.price_usd_per_hour == pytest.approx(0.34)
    assert first.load_machine is not None
    assert first.database.settings == {"shared_buffers": "1GB"}
    assert first.database.dsn is None


def test_starter_loads_with_the_real_benchmarks() -> None:
    assert load_study(starter_study(), "study.toml", BENCHMARKS).name == "my-study"


def test_reference_is_up_to_date() -> None:
    stored = (ROOT / "docs" / "reference" / "study.md").read_text(encoding="utf-8")
    assert stored == study_reference(), STALE


def test_reference_holds_every_key_with_its_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", study_reference(), re.MULTILINE)
    cells = {key: [cell.strip() for cell in re.split(r"(?<!\\)\|", row)] for key, row in rows}
    assert set(keys_of_a_study()) - cells.keys() == set()
    odd = {key: row for key, row in cells.items() if len(row) != 3 or not all(row)}
    assert odd == {}, "an empty cell: give the key a description in study/model.py"


def test_reference_is_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "study.md"
    assert main([str(path)]) == 0
    assert path.read_text(encoding="utf-8") == study_reference()
