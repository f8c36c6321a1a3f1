"""A real CockroachDB, where `NEPHOSCOPE_COCKROACH` names its program."""

import os
from pathlib import Path

PROGRAM = os.environ.get("NEPHOSCOPE_COCKROACH", "")
WRAPPER = """#!/bin/sh
case "$1" in
    version) "{program}" "$@" | sed 's/^unknown *$/v22.1.0/' ;;
    *) exec "{program}" "$@" ;;
esac
"""
"""A program that was built from source may not know its own version."""


def binary(folder: Path) -> str:
    """Writes a script that is this program, with a version; returns its path."""
    file = folder / "cockroach"
    file.write_text(WRAPPER.format(program=PROGRAM))
    file.chmod(0o755)
    return str(file)
