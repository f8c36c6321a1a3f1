"""`make audit` finds what is vulnerable; a missing or old copy of the advisories is told, and fails."""

import os
import subprocess
from pathlib import Path

import pytest
from scripts.audit import CRATES, OLD_DAYS, Crate, advisory, audit_crates, audit_python, crates, fits, harmed

ROOT = Path(__file__).parents[2]
NOW_UNIX_S = 1_800_000_000.0
TIME = """```toml
[advisory]
id = "RUSTSEC-2026-0009"
package = "time"
date = "2026-02-05"

[versions]
patched = [">= 0.3.47"]
unaffected = ["< 0.3.6"]
```

# Stack exhaustion
"""
LOCK = """
[[package]]
name = "time"
version = "{version}"
source = "registry+https://github.com/rust-lang/crates.io-index"
"""


def database(folder: Path, age_days: float) -> Path:
    """A repository whose last commit is so old."""
    (folder / "crates" / "time").mkdir(parents=True)
    (folder / "crates" / "time" / "RUSTSEC-2026-0009.md").write_text(TIME)
    at = f"{NOW_UNIX_S - 86_400 * age_days:.0f} +0000"
    who = {f"GIT_{role}_{what}": "a@b" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "advisories")):
        subprocess.run(["git", "-C", str(folder), *command], check=True, env=environment)
    return folder


def lock(folder: Path, version: str) -> Path:
    path = folder / "Cargo.lock"
    path.write_text(LOCK.format(version=version))
    return path


def test_requirements_mean_what_they_mean_to_cargo(subtests: pytest.Subtests) -> None:
    for version, requirement, expected in [
        ("0.3.45", ">= 0.3.47", False),
        ("0.3.47", ">=0.3.47", True),
        ("0.3.47-rc.1", ">= 0.3.47", False),
        ("1.5.0", ">= 1.2, < 1.4", False),
        ("1.3.9", ">= 1.2, < 1.4", True),
        ("1.9.0", "^1.2", True),
        ("2.0.0", "^1.2", False),
        ("0.2.9", "^0.2.3", True),
        ("0.3.0", "^ 0.2.3", False),
        ("0.0.3", "^0.0.3", True),
        ("0.0.4", "^0.0.3", False),
        ("1.2.9", "~1.2.3", True),
        ("1.3.0", "~1.2.3", False),
        ("1.0.0-beta.2", "=1.0.0-beta.2", True),
        ("1.0.0-beta.10", "> 1.0.0-beta.9", True),
        ("1.0.0+build", "= 1.0.0", True),
    ]:
        with subtests.test(version=version):
            assert fits(version, requirement) is expected


def test_versions_between_never_harmed_and_mended_are_found() -> None:
    one = advisory(TIME)
    assert one is not None
    pinned = [Crate("time", version) for version in ("0.3.5", "0.3.45", "0.3.47")]
    assert [crate.version for crate, _ in harmed([*pinned, Crate("tokio", "0.3.45")], [one])] == ["0.3.45"]
    assert advisory(TIME.replace("[versions]", 'withdrawn = "2026-03-01"\n[versions]')) is None


def test_a_fresh_copy_decides(tmp_path: Path) -> None:
    source = f"file://{database(tmp_path / 'db', 1)}"
    well, lines = audit_crates([lock(tmp_path, "0.3.45")], source, tmp_path / "copy", NOW_UNIX_S)
    assert not well
    assert "crates: time 0.3.45: RUSTSEC-2026-0009" in lines
    well, lines = audit_crates([lock(tmp_path, "0.3.47")], source, tmp_path / "copy", NOW_UNIX_S)
    assert (well, lines) == (True, ["crates: 1 compared with 1 advisories: 0 vulnerable"])


def test_a_missing_and_an_old_copy_are_told_and_fail(tmp_path: Path) -> None:
    nowhere, pinned = f"file://{tmp_path}/nowhere", lock(tmp_path, "0.3.47")
    well, lines = audit_crates([pinned], nowhere, tmp_path / "copy", NOW_UNIX_S)
    assert not well
    assert lines[0].startswith("crates: there is no copy of the advisories, and none could be fetched: ")
    database(tmp_path / "copy", OLD_DAYS + 1)
    well, lines = audit_crates([pinned], nowhere, tmp_path / "copy", NOW_UNIX_S)
    assert not well
    assert lines[0].startswith("crates: not fetched anew: ")
    assert lines[1] == "crates: the copy of the advisories is 15 days old; what came since is not in it"


@pytest.mark.parametrize(
    ("said", "well", "expected"),
    [
        ('{"dependencies": [{"name": "a", "version": "1", "vulns": []}]}', True, "1 packages compared: 0 vulnerable"),
        (
            '{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}]}',
            False,
            "a 1: X-1, fixed in 2",
        ),
        ('{"dependencies": [{"name": "a", "skip_reason": "not found"}]}', False, "1 packages could not be compared"),
        ("", False, "could not compare the packages with advisories: it said nothing"),
    ],
)
def test_python_packages_are_as_pip_audit_says(said: str, well: bool, expected: str, tmp_path: Path) -> None:
    (tmp_path / "said.json").write_text(said)
    program = ["sh", "-c", f"cat {tmp_path}/said.json"]
    found, lines = audit_python(program, tmp_path / "requirements.lock")
    assert found is well
    assert expected in "\n".join(lines)


def test_a_missing_program_is_told() -> None:
    assert "pip-audit is missing" in audit_python(["/nowhere/pip-audit"], ROOT / "requirements.lock")[1][0]


def test_what_made_certificates_brought_in_is_no_longer_pinned() -> None:
    names = {crate.name for crate in crates((ROOT / "load" / "Cargo.lock").read_text())}
    assert "rustls" in names
    assert not {"rcgen", "time"} & names


def test_every_lock_of_crates_is_audited() -> None:
    listed = subprocess.run(["git", "ls-files", "*Cargo.lock"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {f"{folder}/Cargo.lock" for folder in CRATES} == set(listed.stdout.split())
