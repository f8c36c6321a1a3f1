"""A real CockroachDB, where `NEPHOSCOPE_COCKROACH` names its program."""

import os
from pathlib import Path

PROGRAM = os.environ.get("NEPHOSCOPE_COCKROACH", "")
WRAPPER = """#!/bin/sh
case "$1" in
    version) "{program}" "$@" | sed 's/^unknown *$/v22.1.0/' ;;
    start*) exec "{program}" "$@" {flags} ;;
    *) exec "{program}" "$@" ;;
esac
"""
"""A program that was built from source may not know its own version."""


def binary(folder: Path, *flags: str) -> str:
    """Writes a script that is this program, with a version, and starts servers with these flags; returns its path."""
    file = folder / "cockroach"
    file.write_text(WRAPPER.format(program=PROGRAM, flags=" ".join(flags)))
    file.chmod(0o755)
    return str(file)
