"""The locks, the Makefile and pyproject.toml say the same thing."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
LOCKS = ["requirements.lock", "requirements-dev.lock", "requirements-build.lock"]
PINNED = re.compile(r"^([a-z0-9.-]+)==([^ ;]+)", re.MULTILINE)


def pinned(lock: str) -> dict[str, str]:
    return dict(PINNED.findall((ROOT / lock).read_text()))


def required(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[; ]", line)[0].lower() for line in requirements}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_host(lock: str) -> None:
    assert "://" not in (ROOT / lock).read_text()
    assert "index-url" not in (ROOT / lock).read_text()


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_hashes(lock: str) -> None:
    for pin in re.split(r"\n(?=[a-z])", (ROOT / lock).read_text().strip()):
        assert "--hash=sha256:" in pin, pin


def test_locks_hold_every_dependency() -> None:
    project = PYPROJECT["project"]
    assert required(project["dependencies"]) <= pinned("requirements.lock").keys()
    assert required(project["optional-dependencies"]["test"]) <= pinned("requirements-dev.lock").keys()
    assert required(PYPROJECT["build-system"]["requires"]) <= pinned("requirements-build.lock").keys()


def test_locks_agree() -> None:
    everything = pinned("requirements-dev.lock")
    assert pinned("requirements.lock").items() <= everything.items()


def test_the_load_generator_has_no_let_chain_before_the_rust_that_has_them() -> None:
    """They came with Rust 1.88; older compilers stop with E0658."""
    crate = tomllib.loads((ROOT / "load" / "Cargo.toml").read_text())["package"]
    assert tuple(map(int, crate["rust-version"].split("."))) < (1, 88), "let chains may be used: delete this test"
    chain = re.compile(r"&& let |\b(?:if|while) let [^{;]*\n\s*&& ")
    sources = [path for folder in ("src", "tests", "examples") for path in (ROOT / "load" / folder).rglob("*.rs")]
    assert sources
    assert [path.name for path in sources if chain.search(path.read_text())] == []


def test_help_names_every_public_target() -> None:
    made = subprocess.run(["make", "-s", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("report", "test", "test-all", "lint", "bench", "setup", "tools", "clean", "help"):
        assert re.search(rf"make {target}\s+\S", made), target
