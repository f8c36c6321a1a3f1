import asyncio
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from nephoscope.machines.local import LocalRemote
from nephoscope.machines.remote import Command
from nephoscope.model.errors import StorageFailed, ToolMissing, ToolTimedOut


def processes_with(marker: str) -> list[str]:
    found = subprocess.run(["ps", "-eo", "pid,stat,args"], capture_output=True, text=True, check=True).stdout
    return [
        line
        for line in found.splitlines()
        if marker in line and "ps -eo" not in line and "pytest" not in line and " Z" not in line
    ]


def test_a_command_runs_with_affinity_input_output_and_environment(tmp_path: Path) -> None:
    lines: list[str] = []
    completed = asyncio.run(
        LocalRemote([0]).execute(
            Command(
                ["bash", "-c", 'cat; echo; echo "$WORD"; nproc; echo to stderr >&2; exit 3'],
                timeout_s=20,
                stdin=b"in",
                environment={"WORD": "word"},
                on_line=lines.append,
            ),
            save_as=tmp_path / "raw" / "out",
        )
    )
    assert completed.stdout == b"in\nword\n1\n"
    assert completed.stderr == b"to stderr\n"
    assert completed.exit_code == 3
    assert lines == ["in", "word", "1"]
    assert (tmp_path / "raw" / "out.stdout").read_bytes() == completed.stdout
    assert (tmp_path / "raw" / "out.stderr").read_bytes() == completed.stderr


def test_a_missing_tool_has_a_hint() -> None:
    with pytest.raises(ToolMissing, match="no-such-tool is not installed"):
        asyncio.run(LocalRemote([0]).execute(Command(["no-such-tool"], timeout_s=1)))


def test_a_tool_that_hangs_is_killed_with_all_it_started() -> None:
    marker = f"nephoscope-test-{os.getpid()}-hang"
    started = time.monotonic()
    with pytest.raises(ToolTimedOut, match="did not finish within"):
        asyncio.run(
            LocalRemote([0]).execute(Command(["bash", "-c", f"exec -a {marker} sleep 60 & sleep 60"], timeout_s=0.5))
        )
    assert time.monotonic() - started < 50, "the tool would have slept for 60 s"
    time.sleep(0.2)
    assert processes_with(marker) == []


def test_a_tool_that_does_not_read_its_input_is_no_error() -> None:
    completed = asyncio.run(LocalRemote([0]).execute(Command(["true"], timeout_s=20, stdin=b"x" * 1_000_000)))
    assert completed.exit_code == 0


def test_output_that_cannot_be_stored_is_a_storage_failure(tmp_path: Path) -> None:
    (tmp_path / "out.stdout").symlink_to("/dev/full")
    with pytest.raises(StorageFailed, match="No space left"):
        asyncio.run(LocalRemote([0]).execute(Command(["echo", "text"], timeout_s=20), save_as=tmp_path / "out"))


def test_a_background_process_is_stopped_by_its_signal_or_killed(tmp_path: Path) -> None:
    async def scenario() -> tuple[int | None, int | None]:
        remote = LocalRemote([0])
        polite = await remote.start(["sleep", "60"], log=tmp_path / "polite")
        stubborn = await remote.start(["bash", "-c", "trap '' TERM; sleep 60"], log=tmp_path / "stubborn")
        await asyncio.sleep(0.3)
        assert polite.running()
        return (
            await polite.stop(signal=signal.SIGTERM, timeout_s=5),
            await stubborn.stop(signal=signal.SIGTERM, timeout_s=0.3),
        )

    assert asyncio.run(scenario()) == (-signal.SIGTERM, None)


def killed_controller(folder: Path, marker: str, waits_s: float) -> list[str]:
    """What runs just before a controller is killed that began a process `waits_s` earlier; waits for its end."""
    script = folder / "controller.py"
    script.write_text(
        textwrap.dedent(f"""
        import asyncio, os, pathlib
        from nephoscope.machines.local import LocalRemote

        async def main():
            remote = LocalRemote([0])
            await remote.start(["bash", "-c", "exec -a {marker} sleep 60"], log=pathlib.Path("{folder}/log"))
            await asyncio.sleep({waits_s})
            print("up", flush=True)
            await asyncio.sleep(60)

        asyncio.run(main())
        """)
    )
    environment = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, env=environment) as controller:
        assert controller.stdout is not None
        assert controller.stdout.readline() == b"up\n"
        seen = processes_with(marker)
        controller.kill()
    return seen


def test_nothing_outlives_a_killed_controller(tmp_path: Path) -> None:
    marker = f"nephoscope-test-{os.getpid()}-orphan"
    assert len(killed_controller(tmp_path, marker, 0.5)) == 1
    time.sleep(0.3)
    assert processes_with(marker) == []


def test_a_process_whose_controller_was_killed_while_it_began_ends_itself(tmp_path: Path) -> None:
    """The kernel tells a child nothing of a parent that died before the child asked for it."""
    marker = f"nephoscope-test-{os.getpid()}-early-orphan"
    slow = tmp_path / "bin" / "setpriv"
    slow.parent.mkdir()
    go_on = tmp_path / "go-on"
    slow.write_text(f'#!/bin/sh\nuntil [ -e {go_on} ]; do sleep 0.02; done\nexec {shutil.which("setpriv")} "$@"\n')
    slow.chmod(0o755)
    killed_controller(tmp_path, marker, 0.1)
    go_on.touch()
    time.sleep(0.5)
    assert processes_with(marker) == []
