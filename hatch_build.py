"""Builds what the wheel carries ready-made: the Rust load generator and the reports' chart library.

The load generator stands beside the `nephoscope` script. The wheel then holds one native program and no Python
extension: it fits every Python 3 of this platform.
"""

import runpy
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "nephoscope-load"
FIGURES = "nephoscope/report/figures"


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
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
        if version == "standard":
            self._add_chart_library(build_data)

    def _add_chart_library(self, build_data: dict[str, Any]) -> None:
        library = runpy.run_path(str(Path(self.root) / "src" / FIGURES / "library.py"))
        built = Path(self.root) / "build" / library["BUILT"]
        built.parent.mkdir(parents=True, exist_ok=True)
        built.write_text(library["build"](), encoding="utf-8")
        build_data["force_include"][str(built)] = f"{FIGURES}/{library['BUILT']}"
