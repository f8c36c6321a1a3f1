"""Builds the Rust load generator and ships it in the wheel, beside the `nephoscope` script.

The wheel then holds one native program and no Python extension: it fits every Python 3 of this platform.
"""

import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "nephoscope-load"


class CargoBuildHook(BuildHookInterface[Any]):
    """`cargo build --release --locked` in load/, for wheels and editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the program and adds it to the wheel.

        Args:
            version: "standard" or "editable"; both get the program.
            build_data: hatchling's; gets a shared script and this platform's tag.

        Raises:
            SystemExit: cargo is missing or failed; with one sentence, as a traceback would help nobody.
        """
        del version
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
