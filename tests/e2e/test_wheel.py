"""A wheel of `make wheels` in an empty environment: no Rust, no make, no checkout."""

import json
import os
import platform
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from nephoscope.machines.builds import build_for

ROOT = Path(__file__).parents[2]
WHEELS = sorted((ROOT / "dist").glob("*.whl"))
NATIVE = [wheel for wheel in WHEELS if wheel.stem.endswith(platform.machine())]
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


def test_it_installs_and_measures_without_rust_or_make(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in ("/usr/bin", "/bin", "/usr/sbin", "/sbin"):
        for program in Path(folder).iterdir():
            link = programs / program.name
            if program.name not in BUILDS and not link.is_symlink():
                link.symlink_to(program)
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", venv], check=True)
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "VIRTUAL_ENV"}}
    environment |= {"PATH": f"{venv}/bin:{programs}", "HOME": str(tmp_path), "COLUMNS": "200"}

    def perform(*command: str | Path, timeout_s: float = 600) -> str:
        done = subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    pip = (venv / "bin" / "python", "-m", "pip", "--quiet")
    cache = subprocess.run([*pip, "cache", "dir"], capture_output=True, text=True, check=True).stdout.strip()
    perform(*pip, "--cache-dir", cache, "install", NATIVE[0])
    perform(*pip, "check")
    assert "0.1.0" in perform("nephoscope-load", "--version")
    for machine in ("x86_64", "aarch64"):
        assert build_for(venv / "bin" / "nephoscope-load", machine).exists()
    perform("nephoscope", "demo", "--quick", "--out", "demo", timeout_s=1200)
    assert (tmp_path / "demo" / "report" / "index.html").stat().st_size > 0
    trials = json.loads(perform("nephoscope", "status", "demo", "--json"))
    assert {row["state"] for row in trials if "tpcc" in row["benchmark"]} == {"finished"}
