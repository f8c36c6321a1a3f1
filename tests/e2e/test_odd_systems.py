"""Machines that are not as most are: a database and a microbenchmark are measured and reported there, too."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.support.command_line import IMPATIENT, NEPHOSCOPE
from tests.support.real_parts import needs

pytestmark = [needs("postgres", "nephoscope-load", "stress-ng"), pytest.mark.slow]

STUDY = """
name = "odd"
replicates = 1
repeat_rejected = 0

[[configurations]]
name = "here"

[[benchmarks]]
uses = "stress-ng"
parameters = { stressor = "matrix", duration_s = 1 }

[[benchmarks]]
uses = "point-select"
parameters = { rows = 1000, ramp_s = 0, duration_s = 1 }
"""
ONLY_IPV6 = ("unshare", "--net", "sh", "-c", 'ip link set lo up; ip addr del 127.0.0.1/8 dev lo; exec "$@"', "sh")
NOBODY = ("unshare", "--user", "--map-user=1000", "--map-group=1000", "setpriv", "--no-new-privs")
"""A user without capabilities, who cannot become another."""
NO_NETWORK = ("unshare", "--net", "sh", "-c", 'ip link set lo up; exec "$@"', "sh")


def measure(folder: Path, *, inside: Sequence[str] = (), environment: Mapping[str, str] | None = None) -> None:
    """Runs and reports a study in a folder, both by a program that runs programs elsewhere."""
    (folder / "a study.toml").write_text(STUDY)
    for program, arguments in ((IMPATIENT, ("run", "a study.toml", "--out", "out")), (NEPHOSCOPE, ("report", "out"))):
        done = subprocess.run(
            [*inside, *program, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(absolute_path()), **(environment or {})},
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (folder / "out" / "report" / "index.html").exists()


def absolute_path() -> list[str]:
    return [str(Path(one).resolve()) for one in os.environ.get("PYTHONPATH", "").split(os.pathsep) if one]


def test_a_path_with_blanks_and_letters(tmp_path: Path) -> None:
    folder = tmp_path / "two words, größer"
    folder.mkdir()
    measure(folder)


def test_the_c_locale_without_utf_8(tmp_path: Path) -> None:
    measure(tmp_path, environment={"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})


@pytest.mark.root
def test_temporary_files_where_nothing_may_be_executed(tmp_path: Path) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec,size=100m", "tmpfs", str(temporary)], check=True)
    try:
        measure(tmp_path, environment={"TMPDIR": str(temporary)})
    finally:
        subprocess.run(["umount", str(temporary)], check=True)


@pytest.mark.root
@pytest.mark.parametrize("network", [ONLY_IPV6, NO_NETWORK], ids=["only IPv6", "no network"])
def test_loopback_alone(network: Sequence[str], tmp_path: Path) -> None:
    measure(tmp_path, inside=network)


@pytest.mark.root
def test_a_user_without_root_sudo_and_home(tmp_path: Path) -> None:
    who = [*NOBODY, "sh", "-c", "id -u; grep CapEff /proc/self/status"]
    seen = subprocess.run(who, capture_output=True, text=True, check=True)
    assert seen.stdout.split() == ["1000", "CapEff:", "0" * 16]
    measure(tmp_path, inside=NOBODY, environment={"HOME": "/nonexistent", "USER": "nobody"})
