"""Hosts of a study that have nothing in common are measured at the same time: real sshd, one study."""

import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from nephoscope.store.folder import ResultsFolder
from tests.support.command_line import IMPATIENT, nephoscope
from tests.support.real_parts import needs
from tests.support.sshd import Server, free_port, sshd

pytestmark = needs("nephoscope-load")

HOSTS = 4
STUDY = """
name = "rack"
replicates = 2
repeat_rejected = 0

[[benchmarks]]
uses = "cpu-kernel"
parameters = { duration_s = 1 }
"""
CONFIGURATION = """
[[configurations]]
name = "db{number}"
provider = "ssh"
database_machine = {{ hosts = ["{host}"], cpus = 1 }}
ssh = {{ key_file = "{key}", folder = "{folder}/{number}", host_keys = {{ "{host}" = "{host_key}" }} }}
"""


def configuration(number: int, server: Server, folder: Path) -> str:
    return CONFIGURATION.format(
        number=number,
        host=f"{server.address.user}@127.0.0.1:{server.address.port}",
        key=server.address.key_file,
        folder=folder,
        host_key=server.host_key,
    )


def require_measured_at_once(folder: Path, hosts: int) -> None:
    """All first trials had begun before one of them ended; no host ever had two."""
    spans = [
        (planned.intent.configuration_name, attempt.lease(), attempt.status())
        for planned, trial in ResultsFolder(folder).planned()
        for attempt in trial.attempts()
    ]
    held = [
        (lease.begun_unix_ms, status.at_unix_ms, name)
        for name, lease, status in spans
        if lease and status and status.at_unix_ms
    ]
    assert len(held) >= 2 * hosts
    assert all(status and status.state == "finished" for _, _, status in spans)
    first = sorted(held)[:hosts]
    assert len({name for *_, name in first}) == hosts
    assert max(begin for begin, *_ in first) < min(end for _, end, _ in first), "all had begun before one ended"
    for host in {name for *_, name in held}:
        own = sorted((begin, end) for begin, end, name in held if name == host)
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(own))


@pytest.mark.slow
def test_hosts_of_a_rack_are_measured_at_the_same_time(tmp_path: Path) -> None:
    with ExitStack() as running:
        text = STUDY
        for number in range(1, HOSTS + 1):
            server = running.enter_context(sshd(tmp_path / f"sshd-{number}"))
            text += configuration(number, server, tmp_path)
        study = tmp_path / "rack.toml"
        study.write_text(text)
        (tmp_path / "long.toml").write_text(text.replace("duration_s = 1", "duration_s = 60"))
        assert f"--max-clusters {HOSTS} would take" in nephoscope("plan", tmp_path / "long.toml").stdout
        done = nephoscope("run", study, "--out", tmp_path / "out", "--max-clusters", str(HOSTS), program=IMPATIENT)
    assert done.exit_code in {0, 4}, done.stderr  # the machine may be too busy for a valid number
    require_measured_at_once(tmp_path / "out", HOSTS)


@contextmanager
def without_programs(folder: Path) -> Iterator[Path]:
    """A folder where nothing may be executed."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "none", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.root
def test_of_twelve_hosts_four_are_named_before_anything_is_measured_and_eight_are_measured_at_once(
    tmp_path: Path,
) -> None:
    talkative = tmp_path / "talkative-home"
    talkative.mkdir()
    (talkative / ".bashrc").write_text("echo 'Welcome to the rack!'\n")
    differs = {2: {"Subsystem": "none /bin/true"}, 3: {"SetEnv": f"HOME={talkative}"}}
    with ExitStack() as running:
        parts = {}
        servers = {n: running.enter_context(sshd(tmp_path / f"sshd-{n}", differs.get(n, {}))) for n in range(1, 13)}
        servers[1] = replace(servers[1], address=replace(servers[1].address, port=free_port()))  # it is down
        noexec = running.enter_context(without_programs(tmp_path / "noexec"))
        for number, server in servers.items():
            parts[number] = configuration(number, server, noexec if number == 4 else tmp_path)
        (tmp_path / "twelve.toml").write_text(STUDY + "".join(parts.values()))
        refused = nephoscope("run", tmp_path / "twelve.toml", "--out", tmp_path / "twelve", program=IMPATIENT)
        assert refused.exit_code == 3, refused.stderr
        for words in ("cannot be reached", "has no SFTP", "Welcome to the rack!", "noexec"):
            assert words in refused.stderr, refused.stderr
        for number in range(5, 13):
            assert f"127.0.0.1-{servers[number].address.port}" in refused.stderr, "the table has all hosts"
        assert not any(trial.attempts() for _, trial in ResultsFolder(tmp_path / "twelve").planned())
        (tmp_path / "eight.toml").write_text(STUDY + "".join(parts[number] for number in range(5, 13)))
        at_once = ("--max-clusters", "8", "--wait-for-quiet", "0")
        done = nephoscope("run", tmp_path / "eight.toml", "--out", tmp_path / "eight", *at_once, program=IMPATIENT)
    assert done.exit_code in {0, 4}, done.stderr
    require_measured_at_once(tmp_path / "eight", 8)
