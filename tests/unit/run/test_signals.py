import asyncio
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from nephoscope.machines.shielded import to_its_end
from nephoscope.model.errors import Stopped
from nephoscope.run.signals import run_until_stopped


@pytest.mark.parametrize(("number", "exit_code"), [(signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_runs_every_finally_and_has_the_shells_exit_code(
    number: signal.Signals, exit_code: int, request: pytest.FixtureRequest
) -> None:
    done: list[str] = []
    # Under nohup, SIGHUP is ignored from the start, and stays so: below.
    request.addfinalizer(partial(signal.signal, number, signal.signal(number, signal.SIG_DFL)))

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(60)
        finally:
            done.append("finally")

    with pytest.raises(Stopped) as caught:
        run_until_stopped(work())
    assert caught.value.exit_code == exit_code
    assert done == ["finally"]


def test_what_gives_back_runs_to_its_end_when_a_signal_comes_meanwhile() -> None:
    done: list[str] = []

    async def stop() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.1)
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.sleep(0.1)
        done.append("stopped in order")

    async def work() -> None:
        await to_its_end(stop())
        done.append("went on")

    with pytest.raises(Stopped):
        run_until_stopped(work())
    assert done == ["stopped in order"]


def test_an_ignored_hang_up_stays_ignored(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio, os, signal\n"
        "from nephoscope.run.signals import run_until_stopped\n"
        "async def work():\n"
        "    os.kill(os.getpid(), signal.SIGHUP)\n"
        "    await asyncio.sleep(0.2)\n"
        "run_until_stopped(work())\n"
        "print('went on')\n"
    )
    said = subprocess.run(
        ["nohup", sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=60
    )
    assert "went on" in said.stdout, said.stderr
