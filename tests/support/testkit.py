"""The load generator with its test servers, which the shipped program does not have."""

import functools
import subprocess
from pathlib import Path

CRATE = Path(__file__).resolve().parents[2] / "load"


@functools.cache
def load_with_testkit() -> str:
    """Path of nephoscope-load with cargo's feature `testkit`; it shares its build with `cargo test`."""
    subprocess.run(
        ["cargo", "build", "--quiet", "--locked", "--features", "testkit", "--bin", "nephoscope-load"],
        cwd=CRATE,
        check=True,
    )
    return str(CRATE / "target" / "debug" / "nephoscope-load")
