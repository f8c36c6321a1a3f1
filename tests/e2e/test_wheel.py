"""A wheel of `make wheels` in an empty environment: no Rust, no make, no checkout."""

import json
import os
import platform
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from email.parser import Parser
from pathlib import Path

import pytest

from nephoscope.machines.remote import build_for

ROOT = Path(__file__).parents[2]
WHEELS = sorted((ROOT / "dist").glob("*.whl"))
NATIVE = [wheel for wheel in WHEELS if wheel.stem.endswith(platform.machine())]
TOOLS = ("fio", "stress-ng", "iperf3", "sysbench", "apt", "apt-get", "dpkg")
BUILDS = ("cargo", "rustc", "rustup", "make", "gcc", "cc", "g++", "c++")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not NATIVE, reason="no wheel in dist/: make wheels")]


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda wheel: wheel.stem.rsplit("-", 1)[1])
def test_a_wheel_has_the_load_generators_of_both_architectures_and_says_what_it_needs(wheel: Path) -> None:
    own = "x86_64" if wheel.stem.endswith("x86_64") else "aarch64"
    with zipfile.ZipFile(wheel) as inside:
        programs = {Path(name).name: inside.read(name)[:20] for name in inside.namelist() if "/scripts/" in name}
        metadata = Parser().parsestr(
            inside.read(next(name for name in inside.namelist() if name.endswith("METADATA"))).decode()
        )
    machines = {name: {62: "x86_64", 183: "aarch64"}[head[18]] for name, head in programs.items()}
    other = "aarch64" if own == "x86_64" else "x86_64"
    assert machines == {
        "nephoscope-load": own,
        "nephoscope-load-static": own,
        f"nephoscope-load-static-{other}": other,
    }
    assert "-py3-none-manylinux_2_" in wheel.name
    assert metadata["Requires-Python"] == ">=3.11"


@dataclass(frozen=True)
class Installed:
    """The native wheel in an environment of its own, with the system's programs but those that build."""

    folder: Path
    programs: Path
    environment: dict[str, str]

    @property
    def venv(self) -> Path:
        return self.folder / "venv"

    def perform(self, *command: str | Path, timeout_s: float = 600) -> str:
        """What it prints on both streams."""
        done = subprocess.run(
            command, env=self.environment, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            timeout=timeout_s, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout
        return done.stdout

    def measured(self, out: str) -> dict[str, set[str]]:
        """State of the trials of each benchmark, in a folder that has a report."""
        assert (self.folder / out / "report" / "index.html").stat().st_size > 0
        found: dict[str, set[str]] = {}
        for row in json.loads(self.perform("nephoscope", "status", out, "--json")):
            found.setdefault(row["benchmark"], set()).add(row["state"])
        return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("wheel")
    programs = folder / "bin"
    programs.mkdir()
    for place in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in Path(place).iterdir():
            link = programs / program.name
            if program.name not in BUILDS and not link.is_symlink():
                link.symlink_to(program)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment |= {"PATH": f"{folder}/venv/bin:{programs}", "HOME": str(folder), "COLUMNS": "200"}
    made = Installed(folder, programs, environment)
    pip = (made.venv / "bin" / "python", "-m", "pip", "--quiet")
    cache = subprocess.run([*pip, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    made.perform(*pip, "--cache-dir", cache, "install", NATIVE[0])
    made.perform(*pip, "check")
    return made


def test_it_installs_and_measures_without_rust_or_make(installed: Installed) -> None:
    assert "0.1.0" in installed.perform("nephoscope-load", "--version")
    for machine in ("x86_64", "aarch64"):
        assert build_for(installed.venv / "bin" / "nephoscope-load", machine).exists()
    installed.perform("nephoscope", "demo", "--quick", "--out", "demo", timeout_s=1200)
    assert installed.measured("demo")["tpcc"] == {"finished"}


def test_without_measuring_tools_and_apt_it_measures_the_rest_and_says_what_to_install(installed: Installed) -> None:
    for name in TOOLS:
        (installed.programs / name).unlink(missing_ok=True)
    said = installed.perform("nephoscope", "demo", "--quick", "--out", "without-tools", timeout_s=1200)
    for tool in ("fio", "stress-ng"):
        assert f"apt-get install {tool}" in said, said
    states = installed.measured("without-tools")
    assert states["fio"] == {"not run"}
    assert states["tpcc"] == states["point-select"] == {"finished"}
