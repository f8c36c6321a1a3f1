"""The command line as a person starts it: a process of its own, or the same without it, which is sooner there."""

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

NEPHOSCOPE = (sys.executable, "-m", "nephoscope")
IMPATIENT = (
    sys.executable,
    "-c",
    """
import sys
from nephoscope.app.cli import main
from nephoscope.run import gate

gate.SETTLE_TRIES = 1
sys.exit(main())
""",
)
"""Waits for no quiet moment before a trial: beside other tests it would wait for seconds and not find one."""


@dataclass(frozen=True)
class CommandResult:
    exit_code: int
    stdout: str
    stderr: str


def nephoscope(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = 300,
    program: Sequence[str] = NEPHOSCOPE,
) -> CommandResult:
    done = subprocess.run(
        [*program, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        env={**os.environ, "COLUMNS": "200", **(environment or {})},
    )
    return CommandResult(done.returncode, done.stdout, done.stderr)


def here(*arguments: str | Path) -> CommandResult:
    """What `nephoscope` gives, without a process: of a process that answers, most time goes into its imports."""
    from nephoscope.app.cli import main

    stdout, stderr = io.StringIO(), io.StringIO()
    with redirect_stdout(stdout), redirect_stderr(stderr), pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "200")
        code = main([*map(str, arguments)])
    return CommandResult(code, stdout.getvalue(), stderr.getvalue())


def start_nephoscope(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, program: Sequence[str] = NEPHOSCOPE
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **(environment or {})},
    )


def processes_naming(text: str) -> list[str]:
    """Command lines of living processes that hold `text`; zombies are dead."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and state != "Z":
            found.append(line)
    return found
