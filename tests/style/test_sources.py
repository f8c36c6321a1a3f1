"""Every package stands in the table of arrows, and no file grows past what one reads at once."""

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {f"nephoscope.{path.parent.name}" for path in (ROOT / "src" / "nephoscope").glob("*/__init__.py")}
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
FILES = sorted((ROOT / "src").rglob("*.py")) + sorted((ROOT / "tests").rglob("*.py"))


def test_every_package_has_a_contract() -> None:
    held = {module for contract in CONTRACTS for module in contract["source_modules"]}
    assert held >= PACKAGES


@pytest.mark.parametrize("package", sorted(PACKAGES))
def test_what_a_contract_does_not_forbid_its_name_allows(package: str) -> None:
    (contract,) = (one for one in CONTRACTS if one["source_modules"] == [package])
    allowed = contract["name"].partition(" may import ")[2]
    named = {f"nephoscope.{name}" for name in allowed.split(", ") if name and "." not in name}
    assert PACKAGES - set(contract["forbidden_modules"]) - {package} == named


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_holds_one_idea(path: Path) -> None:
    assert len(path.read_text().splitlines()) < 400
