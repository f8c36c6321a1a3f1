"""`schema/` holds what the models say, and the models accept what it accepts."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import Field

from nephoscope.app.schemas import WRITTEN_BY_RUST, main, schemas
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Plan
from nephoscope.study.model import Study
from tests.support.generated import STALE

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "schema"


class Parameters(Frozen):
    duration_s: float = Field(gt=0)


def test_the_stored_schemas_are_the_generated_ones_and_well_formed() -> None:
    """None is missing, and none is left over from a benchmark that is gone."""
    generated = schemas()
    assert sorted(path.name for path in FOLDER.glob("*.json")) == sorted({*generated, *WRITTEN_BY_RUST}), STALE
    for name, text in generated.items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"{name}: {STALE}"
        Draft202012Validator.check_schema(json.loads(text))


def test_the_files_of_the_contract_have_a_schema() -> None:
    kinds = ["study", "plan", "trial", "started", "facts", "status", "measurement", "verdict", "command"]
    kinds += ["load-spec", "load-output"]
    assert {f"{kind}-1.json" for kind in kinds} <= {*schemas(), *WRITTEN_BY_RUST}


def test_benchmarks_have_a_schema_of_their_parameters() -> None:
    schema = json.loads(schemas({"tpcc": Parameters})["benchmark-parameters-tpcc-1.json"])
    assert schema["required"] == ["duration_s"]
    assert schema["additionalProperties"] is False


@pytest.mark.parametrize("path", sorted((ROOT / "studies").glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_studies_fit_their_schema(path: Path) -> None:
    study: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    validator = Draft202012Validator(json.loads((FOLDER / "study-1.json").read_text(encoding="utf-8")))
    assert list(validator.iter_errors(study)) == []
    assert list(validator.iter_errors(study | {"replicates": 0}))
    assert list(validator.iter_errors(study | {"unknown": 0}))


def test_every_versioned_file_names_its_schema() -> None:
    for name, kind in (("study-1.json", Study), ("plan-1.json", Plan)):
        named = json.loads(schemas({})[name])["properties"]["schema"]["const"]
        assert named == kind.model_fields["schema_"].default == f"nephoscope/{name[:-7]}/1"


def test_regenerating_writes_all_and_removes_what_is_gone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "benchmark-parameters-gone-1.json").write_text("{}")
    assert main([str(tmp_path)]) == 0
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == schemas()
    assert "schemas written" in capsys.readouterr().out
