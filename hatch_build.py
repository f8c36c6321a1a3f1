"""Builds the Rust load generator and ships it in the wheel, beside the `nephoscope` script.

The wheel then holds one native program and no Python extension: it fits every Python 3 of this platform.
"""

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PROGRAM = "nephoscope-load"
PROFILES = {"release": ("release", ["--release"]), "dev": ("debug", [])}
"""Cargo's profiles: the folder of their programs, and arguments."""


class CargoBuildHook(BuildHookInterface[Any]):
    """`cargo build --release --locked` in load/, for wheels and editable installs.

    With NEPHOSCOPE_LOAD_PROFILE=dev, the program shares its dependencies with `cargo test`: soon built, and slow.
    """

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Builds the program and adds it to the wheel.

        Args:
            version: "standard" or "editable"; both get the program.
            build_data: hatchling's; gets a shared script and this platform's tag.

        Raises:
            SystemExit: cargo is missing or failed, or the profile is unknown; with one sentence, as a traceback would
                help nobody.
        """
        del version
        crate = Path(self.root) / "load"
        cargo = shutil.which("cargo")
        if cargo is None:
            raise SystemExit(
                f"cargo is missing: {PROGRAM} is built from Rust sources; install it from https://rustup.rs"
            )
        profile = os.environ.get("NEPHOSCOPE_LOAD_PROFILE", "release")
        if profile not in PROFILES:
            raise SystemExit(f"NEPHOSCOPE_LOAD_PROFILE is {profile!r}; use one of: {', '.join(PROFILES)}")
        folder, arguments = PROFILES[profile]
        built = subprocess.run(
            [cargo, "build", *arguments, "--locked", "--bin", PROGRAM, "--target-dir", str(crate / "target")],
            cwd=crate,
            check=False,
        )
        if built.returncode != 0:
            raise SystemExit(f"cargo could not build {PROGRAM} (exit code {built.returncode}); its messages are above")
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["shared_scripts"][str(crate / "target" / folder / PROGRAM)] = PROGRAM
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"
