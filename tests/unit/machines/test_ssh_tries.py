"""How often a host is asked again that answers nothing whole: counted against a clock that only pauses move."""

import asyncio
import math
from collections.abc import Callable, Coroutine
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from nephoscope.machines.remote import Command
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.link import Link
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.machines.waiting import FIRST_PAUSE_S, HELD_S, LONGEST_PAUSE_S, MOST_TRIES, Tries
from nephoscope.model.errors import MachineLost, OutputUnreadable
from nephoscope.run.clock import FakeClock
from tests.support.sshd import Server, sshd


async def _moments(clock: FakeClock, tries: Tries, lasting_s: Callable[[int], float] = lambda _: 0.0) -> list[float]:
    moments = []
    async for _ in tries:
        moments.append(clock.monotonic_s())
        clock.elapse(lasting_s(len(moments)))
    return moments


def test_pauses_double_up_to_the_longest_and_the_tries_end() -> None:
    clock = FakeClock()
    tries = Tries(clock, math.inf)
    moments = asyncio.run(_moments(clock, tries))
    pauses = [later - earlier for earlier, later in pairwise(moments)]
    assert pauses[:5] == [FIRST_PAUSE_S * 2**doubled for doubled in range(5)]
    assert set(pauses[5:]) == {LONGEST_PAUSE_S}
    assert len(moments) == MOST_TRIES
    assert tries.too_many


def test_tries_end_with_their_time_and_there_is_one_in_any_case() -> None:
    clock = FakeClock()
    tries = Tries(clock, 10.0)
    assert asyncio.run(_moments(clock, tries))[-1] < 10
    assert not tries.too_many
    assert len(asyncio.run(_moments(clock, Tries(clock, 0.0)))) == 1


def test_a_link_that_holds_for_long_each_time_may_break_as_often_as_it_likes() -> None:
    clock = FakeClock()
    moments = asyncio.run(_moments(clock, Tries(clock, 100 * HELD_S), lambda _: HELD_S))
    assert len(moments) > 3 * MOST_TRIES


class _CuttingLink(Link):
    """A link that breaks, or brings an answer without its end, whatever is asked."""

    def __init__(self, clock: FakeClock, cut_answer: bytes | None) -> None:
        super().__init__(SshAddress("db1"), clock)
        self._cut_answer = cut_answer
        self.commands = 0

    async def ask(
        self, command: str, stdin: bytes = b"", *, timeout_s: float, most_bytes: int | None = None
    ) -> tuple[int, bytes, bytes] | None:
        self.commands += 1
        await asyncio.sleep(0)
        return None if self._cut_answer is None else (0, self._cut_answer, b"")

    async def follow(self, command: str, on_bytes: Callable[[bytes], None]) -> None:
        self.commands += 1
        await asyncio.sleep(0)

    async def copy(self, copy: Callable[..., Any], *, timeout_s: float) -> bool:
        self.commands += 1
        await asyncio.sleep(0)
        return False


async def _until_a_server_ended(remote: SshRemote, here: Path) -> None:
    link = remote._link
    assert isinstance(link, _CuttingLink)
    cut, link._cut_answer = link._cut_answer, b"nephoscope started\n"
    server = await remote.start(["server"], log=here / "log")
    link._cut_answer = cut
    await asyncio.wait([server._end])  # type: ignore[attr-defined]  # the port has no way to wait for it
    await server.stop(signal=15, timeout_s=1)


_LOOK = b"1000\n/home/me\n4\ndb1\nx86_64\n\n"


@pytest.mark.parametrize("cut_answer", [None, b"nephoscope ended 0 100 0 5\ncut"])
@pytest.mark.parametrize(
    "question",
    [
        lambda remote, _: remote.execute(Command(["true"], timeout_s=86_400)),
        lambda remote, _: remote.execute(Command(["true"], timeout_s=86_400, on_line=lambda _: None)),
        lambda remote, here: remote.download("/there", here / "here"),
        lambda remote, here: remote.upload(here / "file", "/there"),
        _until_a_server_ended,
    ],
    ids=["a command", "a command with lines", "a download", "an upload", "a server"],
)
def test_a_host_that_always_cuts_is_asked_with_pauses_and_at_most_so_often(
    cut_answer: bytes | None, question: Callable[[SshRemote, Path], Coroutine[Any, Any, object]], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("content")
    clock = FakeClock()
    remote = SshRemote("db1", SshAddress("db1"), clock)
    link = _CuttingLink(clock, _LOOK)
    remote._link = link

    async def scenario() -> None:
        await remote.look()
        link._cut_answer = cut_answer
        with pytest.raises(MachineLost):
            await asyncio.wait_for(question(remote, tmp_path), 20)

    asyncio.run(scenario())
    assert link.commands <= 3 * MOST_TRIES
    assert clock.monotonic_s() > link.commands * FIRST_PAUSE_S / 4


def test_a_real_host_that_cuts_every_answer_is_asked_at_most_so_often(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    script = tmp_path / "command"
    script.write_text(
        f"#!/bin/sh\necho >>{asked}\n"
        'case $SSH_ORIGINAL_COMMAND in *hostname*) exec sh -c "$SSH_ORIGINAL_COMMAND" ;; esac\n'
        "printf 'nephoscope ended 0 100 0 5\\ncut'\n"
    )
    script.chmod(0o755)

    async def scenario(server: Server) -> None:
        remote = SshRemote("db1", server.address, FakeClock(), folder=str(tmp_path / "there"))
        try:
            with pytest.raises(MachineLost, match=f"cut off {MOST_TRIES} answers in a row"):
                await remote.execute(Command(["true"], timeout_s=600))
        finally:
            await remote.close()

    with sshd(tmp_path / "sshd", {"ForceCommand": str(script)}) as server:
        asyncio.run(scenario(server))
    assert len(asked.read_text().splitlines()) <= MOST_TRIES + 4


def test_a_host_that_answers_nonsense_about_what_it_ended_is_quoted() -> None:
    remote = SshRemote("db1", SshAddress("db1"), FakeClock(), folder="/there")
    remote._link = _CuttingLink(FakeClock(), b"many\n")
    with pytest.raises(OutputUnreadable, match="'many' instead of a number of jobs"):
        asyncio.run(remote.end_all())
