"""Against a real sshd on a loopback port. Run alone, the whole file takes some ten seconds."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import asyncssh
import pytest

from nephoscope.machines.remote import Command
from nephoscope.machines.ssh import jobs
from nephoscope.machines.ssh import remote as ssh
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.machines.ssh.files import LONGEST_LINE_BYTES, Lines
from nephoscope.machines.ssh.link import Link
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.model.errors import (
    AccessDenied,
    EnvironmentProblem,
    HostKeyRefused,
    MachineLost,
    MachineUnreachable,
    NoSpaceOnMachine,
    OutputUnreadable,
    ToolMissing,
    ToolTimedOut,
)
from nephoscope.run.clock import SystemClock
from tests.support.sshd import Server, Wire, free_port, make_key, sshd


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def remote_to(address: SshAddress, folder: Path, *, patience_s: float = 20.0) -> SshRemote:
    return SshRemote(
        "host", address, SystemClock(), cpus=[0], folder=str(folder), session="t1-1", patience_s=patience_s
    )


def counted_connections(remote: SshRemote) -> list[asyncssh.SSHClientConnection]:
    """Every connection that it makes from now on."""
    made = []
    connect = remote._link._connect_patiently

    async def counted() -> asyncssh.SSHClientConnection:
        made.append(await connect())
        return made[-1]

    remote._link._connect_patiently = counted  # type: ignore[method-assign]  # a test counts what it makes
    return made


def processes_with(marker: str) -> list[str]:
    found = subprocess.run(["ps", "-eo", "pid,stat,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in found.splitlines() if marker in line and "ps -eo" not in line and " Z" not in line]


def test_a_command_runs_with_affinity_input_output_and_environment(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        remote = remote_to(server.address, tmp_path / "there")
        completed = await remote.execute(
            Command(
                ["bash", "-c", 'cat; echo; echo "$WORD"; nproc; echo "$LC_ALL$PGHOST"; echo to stderr >&2; exit 3'],
                timeout_s=20,
                stdin=b"in\0\xff",
                environment={"WORD": "it's a 'word'"},
            ),
            save_as=tmp_path / "raw" / "out",
        )
        await remote.close()
        assert completed.stdout == b"in\0\xff\nit's a 'word'\n1\nC\n"
        assert completed.stderr == b"to stderr\n"
        assert completed.exit_code == 3
        assert (tmp_path / "raw" / "out.stdout").read_bytes() == completed.stdout
        assert (tmp_path / "raw" / "out.stderr").read_bytes() == completed.stderr

    asyncio.run(scenario())


def test_secrets_are_in_no_command_line_and_no_file_that_stays(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        remote = remote_to(server.address, tmp_path / "there")
        running = asyncio.create_task(
            remote.execute(
                Command(["sleep", "1"], timeout_s=20, environment={"PGPASSWORD": "hush-4711"}),
                save_as=tmp_path / "psql",
            )
        )
        await _until((tmp_path / "there/jobs/t1-1.psql/pid").exists)
        assert processes_with("hush-4711") == []
        await running
        await remote.close()
        assert not [file for file in (tmp_path / "there").rglob("*") if file.is_file() and b"hush" in file.read_bytes()]

    asyncio.run(scenario())


def test_a_missing_tool_a_missing_file_and_a_tool_that_hangs(server: Server, tmp_path: Path) -> None:
    marker = f"nephoscope-test-{os.getpid()}-hang"

    async def scenario() -> None:
        remote = remote_to(server.address, tmp_path / "there")
        with pytest.raises(ToolMissing, match="no-such-tool is not installed on host"):
            await remote.execute(Command(["no-such-tool"], timeout_s=5))
        with pytest.raises(OutputUnreadable, match="does not exist"):
            await remote.download(str(tmp_path / "nothing"), tmp_path / "here")
        hanging = ["bash", "-c", f"echo said >&2; exec -a {marker} sleep 60 & sleep 60"]
        with pytest.raises(ToolTimedOut, match="did not finish within 1 s and was killed; it said: said"):
            await remote.execute(Command(hanging, timeout_s=0.6))
        assert processes_with(marker) == []
        left = await remote.execute(Command(["bash", "-c", f"exec -a {marker} sleep 60 &"], timeout_s=20))
        assert left.exit_code == 0
        assert processes_with(marker) == []  # what a job leaves in its session ends with it
        await remote.close()

    asyncio.run(scenario())


def test_a_background_process_is_stopped_by_its_signal_or_killed_and_its_log_comes(
    server: Server, tmp_path: Path
) -> None:
    async def scenario() -> None:
        remote = remote_to(server.address, tmp_path / "there")
        polite = await remote.start(
            ["bash", "-c", "trap 'echo bye; exit 7' INT; echo up >&2; while :; do sleep 0.05; done"],
            log=tmp_path / "polite", errors=tmp_path / "polite.stderr",
        )  # fmt: skip
        stubborn = await remote.start(["bash", "-c", "trap '' TERM; sleep 60"], log=tmp_path / "stubborn")
        await asyncio.sleep(0.5)
        assert polite.running()
        assert await polite.stop(signal=signal.SIGINT, timeout_s=10) == 7
        assert not polite.running()
        assert (tmp_path / "polite").read_text() == "bye\n"
        assert (tmp_path / "polite.stderr").read_text() == "up\n"
        assert await stubborn.stop(signal=signal.SIGTERM, timeout_s=0.3) is None
        ended = await remote.start(["false"], log=tmp_path / "ended")
        await _until(lambda: not ended.running())
        assert await ended.stop(signal=signal.SIGTERM, timeout_s=5) == 1
        await remote.close()

    asyncio.run(scenario())


def test_a_server_outlives_its_deadline_while_its_controller_is_there_and_no_longer(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "SERVER_DEADLINE_S", 3.0)
    marker = f"nephoscope-test-{os.getpid()}-kept"

    async def scenario() -> None:
        remote = remote_to(server.address, tmp_path / "there")
        kept = await remote.start(["bash", "-c", f"exec -a {marker} sleep 60"], log=tmp_path / "log")
        await asyncio.sleep(6)
        assert kept.running()
        assert processes_with(marker)
        kept._end.cancel()  # type: ignore[attr-defined]  # as if the controller had died
        await remote.close()
        await _until(lambda: not processes_with(marker))
        assert (tmp_path / "there/jobs/t1-1.log.0/late").exists()

    asyncio.run(scenario())


def test_files_travel_whole_and_a_program_is_carried_once(server: Server, tmp_path: Path) -> None:
    program = tmp_path / "tool"
    program.write_text("#!/bin/sh\necho tool 1\n")
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho GLIBC_2.99 not found >&2\nexit 1\n")

    async def scenario() -> None:
        address = server.address
        remote = SshRemote(
            "host", address, SystemClock(), folder=str(tmp_path / "there"), carried=[str(program), str(broken)]
        )
        content = os.urandom(1_000_000)
        (tmp_path / "here").write_bytes(content)
        await remote.upload(tmp_path / "here", str(tmp_path / "there.bin"))
        await remote.download(str(tmp_path / "there.bin"), tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == content
        (tmp_path / "newest").symlink_to("there.bin")
        await remote.download(str(tmp_path / "newest"), tmp_path / "elsewhere" / "back")
        assert (tmp_path / "elsewhere" / "back").read_bytes() == content
        assert not list(tmp_path.glob("*.part"))
        assert (await remote.execute(Command([str(program)], timeout_s=20))).stdout == b"tool 1\n"
        (there,) = (tmp_path / "there/programs").glob("*/tool")
        inode = there.stat().st_ino
        assert await remote.carry(program) == str(there)
        assert there.stat().st_ino == inode
        there.write_text("damaged")
        await remote.carry(program)
        assert there.read_text() == program.read_text()
        with pytest.raises(EnvironmentProblem, match=r"broken does not run on host: GLIBC_2\.99 not found"):
            await remote.execute(Command([str(broken)], timeout_s=20))
        await remote.close()

    asyncio.run(scenario())


def test_what_is_saved_under_a_name_begins_once_whoever_asks(server: Server, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    argv = ["bash", "-c", f"echo start >>{starts}; sleep 0.5; echo done"]

    async def scenario() -> list[bytes]:
        first, second = (remote_to(server.address, tmp_path / "there") for _ in range(2))
        both = await asyncio.gather(
            *(remote.execute(Command(argv, timeout_s=20), save_as=tmp_path / "load-run") for remote in (first, second))
        )
        later = await second.execute(Command(argv, timeout_s=20), save_as=tmp_path / "load-run")
        await asyncio.gather(first.close(), second.close())
        return [completed.stdout for completed in (*both, later)]

    assert asyncio.run(scenario()) == [b"done\n"] * 3
    assert starts.read_text() == "start\n"


_CONTROLLER = """
import asyncio, getpass, sys
from pathlib import Path
from nephoscope.machines.remote import Command
from nephoscope.machines.ssh.remote import SshRemote
from nephoscope.machines.ssh.address import SshAddress
from nephoscope.run.clock import SystemClock

port, key, folder, script = sys.argv[1:]
address = SshAddress("127.0.0.1", int(port), getpass.getuser(), Path(key), user_config=False)
remote = SshRemote("host", address, SystemClock(), folder=folder, session="t1-1")
asyncio.run(remote.execute(Command(["bash", "-c", script], timeout_s=20), save_as=Path(folder) / "load"))
"""


def test_a_server_is_found_again_and_its_log_is_whole_and_stands_there_once(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        log = tmp_path / "server.log"
        for remote in (remote_to(server.address, tmp_path / "there") for _ in range(2)):
            first = await remote.start(["bash", "-c", "echo 1; sleep 1"], log=log)
            await _until(lambda first=first: not first.running())  # type: ignore[misc]
            second = await remote.start(["echo", "2"], log=log)
            await _until(lambda second=second: not second.running())  # type: ignore[misc]
            assert log.read_text() == "1\n2\n"
            await remote.close()
        assert len(list((tmp_path / "there/jobs").iterdir())) == 2

    asyncio.run(scenario())


def test_the_job_of_a_killed_controller_is_found_by_the_next_one(server: Server, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    script = f"echo start >>{starts}; sleep 2; echo done"
    arguments = [str(server.address.port), str(server.address.key_file), str(tmp_path / "there"), script]
    controller = subprocess.Popen([sys.executable, "-c", _CONTROLLER, *arguments])

    async def scenario() -> bytes:
        await _until(starts.exists)
        controller.kill()
        controller.wait()
        remote = remote_to(server.address, tmp_path / "there")
        completed = await remote.execute(Command(["bash", "-c", script], timeout_s=20), save_as=tmp_path / "load")
        await remote.close()
        return completed.stdout

    assert asyncio.run(scenario()) == b"done\n"
    assert starts.read_text() == "start\n"


def test_a_cut_link_disturbs_no_job_and_no_line_is_lost_or_told_twice(server: Server, tmp_path: Path) -> None:
    lines: list[str] = []

    async def scenario() -> None:
        wire = Wire(server.address)
        remote = remote_to(await wire.open(), tmp_path / "there")

        async def cut_twice() -> None:
            for _ in range(2):
                seen = len(lines)
                await _until(lambda seen=seen: len(lines) > seen)  # type: ignore[misc]  # mypy: lambda with a default
                wire.cut()
                await asyncio.sleep(0.3)
                wire.mend()

        connections = counted_connections(remote)
        counting = ["bash", "-c", "for i in $(seq 40); do echo $i; sleep 0.05; done; exit 4"]
        completed, _ = await asyncio.gather(
            remote.execute(Command(counting, timeout_s=20, on_line=lines.append)), cut_twice()
        )
        assert completed.exit_code == 4
        assert completed.stdout.split() == [str(number).encode() for number in range(1, 41)]
        assert lines == [str(number) for number in range(1, 41)]
        assert len(connections) >= 2
        await remote.close()
        await wire.close()

    asyncio.run(scenario())


def test_more_commands_at_once_than_a_connection_carries_are_begun_once_each(server: Server, tmp_path: Path) -> None:
    """sshd's own limit is ten on a connection; the 11th must cut none of the others off."""
    starts = tmp_path / "starts"
    argv = ["sh", "-c", f"echo start >>{starts}; sleep 2; echo done"]

    async def scenario() -> tuple[list[bytes], int]:
        remote = remote_to(server.address, tmp_path / "there")
        connections = counted_connections(remote)
        names = [tmp_path / f"load-{number}" for number in range(30)]
        ended = await asyncio.gather(*(remote.execute(Command(argv, timeout_s=60), save_as=name) for name in names))
        await remote.close()
        return [one.stdout for one in ended], len(connections)

    said, connections = asyncio.run(scenario())
    assert said == [b"done\n"] * 30
    assert starts.read_text() == "start\n" * 30
    assert 4 <= connections <= 6  # of eight each, and one more when sshd still counts a command that ended


def test_a_host_that_allows_fewer_commands_on_a_connection_gets_more_connections(tmp_path: Path) -> None:
    async def scenario(address: SshAddress) -> tuple[list[bytes], int]:
        remote = remote_to(address, tmp_path / "there")
        connections = counted_connections(remote)
        ended = await asyncio.gather(
            *(remote.execute(Command(["sh", "-c", "sleep 1; echo done"], timeout_s=60)) for _ in "1234")
        )
        await remote.close()
        return [one.stdout for one in ended], len(connections)

    with sshd(tmp_path / "sshd", {"MaxSessions": "2"}) as strict:
        said, connections = asyncio.run(scenario(strict.address))
    assert said == [b"done\n"] * 4
    assert connections in {2, 3, 4}  # as many as four commands need, or as refusals taught


def test_an_answer_is_not_taken_for_whole_when_its_connection_was_cut_at_its_end(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncssh may know the exit code of a command whose output went with the connection."""
    link = Link(server.address, SystemClock())
    real = asyncssh.SSHClientProcess.wait_closed

    async def cut(process: "asyncssh.SSHClientProcess[bytes]") -> None:
        await real(process)
        monkeypatch.undo()
        for line in link._lines:
            line.connection.abort()
            await line.connection.wait_closed()

    async def scenario() -> list[tuple[int, bytes, bytes] | None]:
        monkeypatch.setattr(asyncssh.SSHClientProcess, "wait_closed", cut)
        said = [await link.ask("echo done", timeout_s=20)]
        while said[-1] is None and len(said) < 20:
            said.append(await link.ask("echo done", timeout_s=20))
        await link.close()
        return said

    said = asyncio.run(scenario())
    assert (said[0], said[-1]) == (None, (0, b"done\n", b""))


def test_a_host_that_stays_away_is_lost(server: Server, tmp_path: Path) -> None:
    async def scenario() -> None:
        wire = Wire(server.address)
        remote = remote_to(await wire.open(), tmp_path / "there", patience_s=0.5)
        running = asyncio.create_task(remote.execute(Command(["sleep", "30"], timeout_s=40), save_as=tmp_path / "lost"))
        await _until((tmp_path / "there/jobs/t1-1.lost/pid").exists)
        wire.cut()
        with pytest.raises(MachineLost, match=r"was unreachable for \d+ s"):
            await running
        remote._link._patience_s = 600.0  # a lost host is not waited for again
        started = time.monotonic()
        with pytest.raises(MachineLost, match="was unreachable for"):
            await remote.execute(Command(["true"], timeout_s=40))
        assert time.monotonic() - started < 300
        await wire.close()
        other = remote_to(server.address, tmp_path / "there")
        assert await other.end_all() == 1
        assert not (tmp_path / "there/jobs").exists()
        await other.close()

    asyncio.run(scenario())


def test_a_host_that_lets_us_in_and_answers_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a hung disk looks like from here: connections are accepted, and no command comes to an end."""
    monkeypatch.setattr(ssh, "_ASK_TIMEOUT_S", 0.4)
    hung = tmp_path / "hung"
    script = tmp_path / "command"
    script.write_text(f'#!/bin/sh\n[ ! -e {hung} ] || sleep 3\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    script.chmod(0o755)

    async def scenario(address: SshAddress) -> None:
        remote = remote_to(address, tmp_path / "there", patience_s=0.5)
        await remote.look()
        hung.touch()
        for asked in (remote.end_all(), remote.start(["true"], log=tmp_path / "log")):
            with pytest.raises(MachineLost, match="connected, but commands hang"):
                await asked
        await remote.close()

    with sshd(tmp_path / "sshd", {"ForceCommand": str(script)}) as server:
        asyncio.run(scenario(server.address))


def test_who_gives_up_waiting_ends_the_job(server: Server, tmp_path: Path) -> None:
    marker = f"nephoscope-test-{os.getpid()}-cancelled"

    async def scenario() -> None:
        remote = remote_to(server.address, tmp_path / "there")
        argv = ["bash", "-c", f"(exec -a {marker} sleep 60) & sleep 60"]
        running = asyncio.create_task(remote.execute(Command(argv, timeout_s=90)))
        await _until(lambda: processes_with(marker))
        started = time.monotonic()
        running.cancel()
        await asyncio.wait([running])
        assert running.cancelled()
        assert time.monotonic() - started < 50, "the job would have slept for 60 s"
        await _until(lambda: not processes_with(marker))
        await remote.close()

    asyncio.run(scenario())


def test_a_host_that_cannot_be_entered_says_why(server: Server, tmp_path: Path) -> None:
    stranger = make_key(tmp_path / "stranger")
    of_another_host = (tmp_path / "stranger.pub").read_text()
    nobody = replace(server.address, port=free_port())
    cases: list[tuple[SshAddress, type[Exception], str]] = [
        (replace(server.address, key_file=stranger), AccessDenied, "rejected the login"),
        (replace(server.address, host_key=of_another_host), HostKeyRefused, "is not the pinned one"),
        (nobody, MachineUnreachable, "cannot be reached"),
        (replace(server.address, jump=nobody), MachineUnreachable, "cannot be reached"),
    ]

    async def attempt(address: SshAddress) -> None:
        await remote_to(address, tmp_path / "there").execute(Command(["true"], timeout_s=5))

    for address, error, words in cases:
        with pytest.raises(error, match=words):
            asyncio.run(attempt(address))


def test_a_host_key_is_pinned_at_the_first_contact(server: Server, tmp_path: Path) -> None:
    """The wire is led to another server after a cut: that is what an attack, or an address given away, looks like."""

    async def scenario(impostor: Server) -> None:
        wire = Wire(server.address)
        remote = remote_to(await wire.open(), tmp_path / "there")
        await remote.execute(Command(["true"], timeout_s=20))
        wire.cut()
        wire.lead_to(impostor.address)
        wire.mend()
        with pytest.raises(HostKeyRefused):
            await remote.execute(Command(["true"], timeout_s=20))
        await wire.close()

    with sshd(tmp_path / "impostor") as impostor:
        (impostor.folder / "authorized_keys").write_text((server.folder / "user_key.pub").read_text())
        asyncio.run(scenario(impostor))


def test_a_host_is_reached_through_another_one(server: Server, tmp_path: Path) -> None:
    async def scenario() -> bytes:
        remote = remote_to(replace(server.address, jump=server.address), tmp_path / "there")
        completed = await remote.execute(Command(["bash", "-c", "echo $SSH_CONNECTION"], timeout_s=20))
        await remote.close()
        return completed.stdout

    assert asyncio.run(scenario()).startswith(b"127.0.0.1 ")


@pytest.mark.root
def test_a_full_disk_is_told_as_such(server: Server, tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], check=True)

    async def scenario() -> None:
        remote = remote_to(server.address, small / "there")
        with pytest.raises(NoSpaceOnMachine, match="is full"):
            await remote.execute(Command(["cat"], timeout_s=20, stdin=b"x" * 200_000))
        await remote.close()

    try:
        asyncio.run(scenario())
    finally:
        subprocess.run(["umount", str(small)], check=True)


async def _until(holds: Callable[[], object]) -> None:
    for _ in range(500):
        if holds():
            return
        await asyncio.sleep(0.02)
    pytest.fail("it did not come to that within 10 s")


def test_a_host_that_prints_without_an_end_is_not_listened_to(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephoscope.machines.ssh.link.MOST_BYTES", 1_000_000)

    async def ask() -> None:
        link = Link(server.address, SystemClock())
        try:
            for endless in ("yes", "yes >&2", "head -c 600000 /dev/zero; head -c 600000 /dev/zero >&2"):
                with pytest.raises(OutputUnreadable, match="more than 1,000,000 bytes"):
                    await link.ask(endless, timeout_s=60)
            assert await link.ask("echo fine", timeout_s=60) == (0, b"fine\n", b""), "the connection is"
        finally:
            await link.close()

    asyncio.run(ask())


@pytest.mark.parametrize("subsystem", ["none /bin/true", "sftp /bin/false", "sftp /bin/sh -c 'echo Welcome; sleep 60'"])
def test_a_host_without_sftp_is_called_that_at_once(
    subsystem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephoscope.machines.ssh.link._SFTP_START_S", 2.0)
    (tmp_path / "here").write_text("content")

    async def scenario(address: SshAddress) -> None:
        remote = remote_to(address, tmp_path / "there")
        started = time.monotonic()
        with pytest.raises(EnvironmentProblem, match="has no SFTP, over which files are copied"):
            await remote.upload(tmp_path / "here", str(tmp_path / "copied"))
        assert time.monotonic() - started < 50, "the subsystem would have slept for 60 s"
        assert (await remote.execute(Command(["true"], timeout_s=20))).exit_code == 0
        await remote.close()

    with sshd(tmp_path / "sshd", {"Subsystem": subsystem}) as server:
        asyncio.run(scenario(server.address))


def test_a_file_that_is_larger_than_any_output_is_not_copied(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nephoscope.machines.ssh.files.MOST_BYTES", 1_000_000)
    (tmp_path / "large").write_bytes(bytes(1_000_001))
    (tmp_path / "small").write_bytes(bytes(1_000_000))

    async def scenario() -> None:
        remote = remote_to(server.address, tmp_path / "there")
        with pytest.raises(OutputUnreadable, match="large has more than 1,000,000 bytes; it was not copied"):
            await remote.download(str(tmp_path / "large"), tmp_path / "here")
        assert not (tmp_path / "here").exists()
        await remote.download(str(tmp_path / "small"), tmp_path / "here")
        assert (tmp_path / "here").stat().st_size == 1_000_000
        await remote.close()

    asyncio.run(scenario())


@pytest.mark.parametrize("born", [None, "another-boot 7", "{boot} 7", "{boot}"])
def test_a_session_that_has_the_number_of_an_earlier_job_is_left_alone(
    server: Server, tmp_path: Path, born: str | None
) -> None:
    """As after a restart of the host, or of the container in which it is: jobs that it cut have no exit code."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()

    async def scenario(sid: int) -> None:
        remote = remote_to(server.address, tmp_path / "there")
        job = tmp_path / "there/jobs/cut.sampler.0"
        job.mkdir(parents=True)
        for name in ("sid", "pid"):
            (job / name).write_text(f"{sid}\n")
        if born is not None:
            (job / "born").write_text(born.format(boot=boot) + "\n")
        await remote.ask(jobs.signal_command(str(job), "TERM"))
        await remote.ask(jobs.kill_command(str(job)))
        assert await remote.end_all() == 0
        await remote.close()

    with subprocess.Popen(["sleep", "600"], start_new_session=True) as others:
        asyncio.run(scenario(others.pid))
        assert others.poll() is None
        others.kill()


def test_a_line_without_an_end_is_cut() -> None:
    lines: list[str] = []
    feed = Lines(lines.append)
    for _ in range(40):
        feed.feed(b"x" * 100_000)
    feed.feed(b"y\nlast\n")
    assert lines[-1] == "last"
    assert max(map(len, lines)) <= LONGEST_LINE_BYTES + 100_000
    assert sum(map(len, lines)) == 4_000_000 + len("y") + len("last")


def test_a_line_that_comes_byte_by_byte_is_not_copied_for_each_byte() -> None:
    feed = Lines(lambda _line: None)
    feed.feed(b"x" * 1_000_000)
    tracemalloc.start()
    for _ in range(50):
        feed.feed(b"x")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < 1_500_000, "at most the buffer itself has grown"


@pytest.mark.parametrize("said", ["ended 0 ² 0 1", f"ended 0 {'9' * 5000} 0 1", "ended 0 -1 0 1"])
def test_a_host_that_answers_nonsense_about_a_job_is_quoted(said: str) -> None:
    with pytest.raises(OutputUnreadable, match="at the end of a job"):
        jobs.parse_end(f"nephoscope {said}\n".encode())
