"""Before the first trial all hosts of a study are asked at once, on real sshd: a table, and what does not fit."""

import asyncio
import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest

from nephoscope.app.stages.planning import load, plan
from nephoscope.app.wiring import load_program, real_world
from nephoscope.machines.doctor import Finding, Health
from nephoscope.model.errors import EnvironmentProblem
from nephoscope.providers.ssh import SshProvider
from nephoscope.run.clock import SystemClock
from nephoscope.run.preflight import preflight
from nephoscope.run.study import adopt_plan
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import Heard
from tests.support.sshd import Server, free_port, make_key, sshd

STUDY = """
name = "hosts"
replicates = 3

[[benchmarks]]
uses = "openssl-speed"
"""
CONFIGURATION = """
[[configurations]]
name = "{name}"
provider = "ssh"
database_machine = {{ hosts = ["{destination}"], cpus = {cpus} }}
ssh = {{ key_file = "{key}", folder = "{folder}", host_keys = {{ "{destination}" = "{host_key}" }} }}
"""


AS_CSH = """#!/bin/sh
case "$SSH_ORIGINAL_COMMAND" in
*"
"*) echo "Unmatched '''." >&2; exit 1 ;;
esac
exec sh -c "$SSH_ORIGINAL_COMMAND"
"""
"""As tcsh 6.20 takes a command with a line break in its quotes."""


def configuration(
    server: Server, name: str, folder: Path, *, port: int | None = None, key: Path | None = None, cpus: int = 1
) -> str:
    return CONFIGURATION.format(
        name=name,
        destination=f"{server.address.user}@127.0.0.1:{port or server.address.port}",
        key=key or server.address.key_file,
        folder=folder,
        host_key=server.host_key,
        cpus=cpus,
    )


def findings_of(folder: Path, configurations: str) -> tuple[dict[str, tuple[Finding, ...]], EnvironmentProblem | None]:
    """Findings by host, and what `run` ends with."""
    study = load(STUDY + configurations, "study.toml")
    results = ResultsFolder(folder / "out")
    adopt_plan(results, STUDY + configurations, plan(study), replan=False)
    heard, failure = Heard(), None
    real = real_world(heard)
    ssh = SshProvider([load_program()], SystemClock(), patience_s=2)
    world = replace(real, providers={**real.providers, "ssh": ssh})
    try:
        asyncio.run(preflight(results, study, world))
    except EnvironmentProblem as error:
        failure = error
    return {host.host: host.findings for host in heard.hosts}, failure


def bad(findings: tuple[Finding, ...]) -> list[tuple[str, str]]:
    return [(finding.what, finding.found) for finding in findings if finding.health is Health.BAD]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with sshd(tmp_path / "sshd") as running:
        yield running


def test_hosts_that_fit_are_asked_and_keep_nothing_but_the_program(server: Server, tmp_path: Path) -> None:
    hosts, failure = findings_of(tmp_path, configuration(server, "a", tmp_path / "a"))
    assert failure is None
    (findings,) = hosts.values()
    assert bad(findings) == []
    assert {"machine", "clock", "free disk", "foreign load", "openssl"} <= {finding.what for finding in findings}
    assert [path.name for path in (tmp_path / "a/ours").iterdir() if any(path.iterdir())] == ["programs"]


def test_each_host_that_does_not_fit_is_named_once_with_what_is_wrong(tmp_path: Path) -> None:
    talkative = tmp_path / "talkative.sh"
    talkative.write_text('#!/bin/sh\necho "Welcome to this machine"\nexec sh -c "$SSH_ORIGINAL_COMMAND"\n')
    talkative.chmod(0o755)
    of_csh = tmp_path / "csh.sh"
    of_csh.write_text(AS_CSH)
    of_csh.chmod(0o755)
    kinds: Mapping[str, Mapping[str, str]] = MappingProxyType(
        {
            "sound": {},
            "without-sftp": {"Subsystem": "none /bin/true"},
            "talkative": {"ForceCommand": str(talkative)},
            "sftp-only": {"ForceCommand": "internal-sftp"},
            "csh": {"ForceCommand": str(of_csh)},
            "banner": {"Banner": "/etc/passwd"},
            "one-at-a-time": {"MaxStartups": "1"},
        }
    )
    with ExitStack() as stack:
        servers = {name: stack.enter_context(sshd(tmp_path / name, more)) for name, more in kinds.items()}
        sound = servers["sound"]
        names = {f"127.0.0.1-{server.address.port}": name for name, server in servers.items()}
        text = "".join(configuration(server, name, tmp_path / f"{name}-ours") for name, server in servers.items())
        nobody = free_port()
        names[f"127.0.0.1-{nobody}"] = "down"
        text += configuration(sound, "down", tmp_path / "down", port=nobody)
        hosts, failure = findings_of(tmp_path, text)
    wrong = {names[host]: bad(findings) for host, findings in hosts.items()}
    assert {name: [what for what, _ in found] for name, found in wrong.items()} == {
        "sound": [],
        "banner": [],
        "one-at-a-time": [],
        "without-sftp": ["programs"],
        "talkative": ["login shell"],
        "sftp-only": ["login shell"],
        "csh": ["login shell"],
        "down": ["reach"],
    }
    assert "has no SFTP" in wrong["without-sftp"][0][1]
    assert "Welcome to this machine" in wrong["talkative"][0][1]
    assert "This service allows sftp connections only" in wrong["sftp-only"][0][1]
    assert "Unmatched" in wrong["csh"][0][1]
    assert failure is not None
    assert failure.exit_code == 3
    assert "5 of 8 hosts do not fit this study, so nothing was measured" in failure.message
    assert failure.message.count("cannot be reached") == 1


def test_one_host_with_the_wrong_key_and_too_few_cpus_elsewhere(server: Server, tmp_path: Path) -> None:
    stranger = make_key(tmp_path / "stranger")
    hosts, failure = findings_of(tmp_path, configuration(server, "a", tmp_path / "a", key=stranger))
    assert [[what for what, _ in bad(findings)] for findings in hosts.values()] == [["login"]]
    assert failure is not None
    assert f"`ssh -p {server.address.port} -i {stranger}" in failure.hint
    hosts, _ = findings_of(tmp_path / "more", configuration(server, "a", tmp_path / "a", cpus=4096))
    assert [[what for what, _ in bad(findings)] for findings in hosts.values()] == [["CPUs"]]


def test_a_host_that_is_leased_is_left_alone(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a/lease").mkdir(parents=True)
    (tmp_path / "a/lease/owner").write_text("another study")
    hosts, failure = findings_of(tmp_path, configuration(server, "a", tmp_path / "a"))
    assert failure is None
    (findings,) = hosts.values()
    assert [(finding.what, finding.health) for finding in findings] == [("lease", Health.WARNING)]
    assert not (tmp_path / "a/ours").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount")
def test_a_folder_where_nothing_may_be_executed_is_called_that(server: Server, tmp_path: Path) -> None:
    folder = tmp_path / "noexec"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "none", str(folder)], check=False)
    if mounted.returncode != 0:
        pytest.skip("this container may not mount")
    try:
        hosts, failure = findings_of(tmp_path, configuration(server, "a", folder / "x"))
    finally:
        subprocess.run(["umount", str(folder)], check=True)
    ((_, found),) = [wrong for findings in hosts.values() for wrong in bad(findings)]
    assert f"may not be executed in {folder}/x/ours on 127.0.0.1-{server.address.port}" in found
    assert failure is not None
    assert "mounted noexec" in failure.hint
