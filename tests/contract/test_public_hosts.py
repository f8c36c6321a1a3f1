"""Machines set up as public bug reports describe them: what cannot be read there is said, and nothing is guessed."""

import os
import subprocess
from collections.abc import Sequence

import pytest

from nephoscope.app.stages.planning import load
from tests.e2e.test_odd_systems import absolute_path
from tests.support.command_line import NEPHOSCOPE

WITHOUT_NAME = ("unshare", "--user", "--map-user=12345", "--map-group=12345", "env", "-u", "USER", "-u", "LOGNAME")
MASKED_SYS = ("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro none /sys && exec "$@"', "sh")


def doctor(inside: Sequence[str]) -> subprocess.CompletedProcess[str]:
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("this container may not make namespaces")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(absolute_path()), "COLUMNS": "200"}
    return subprocess.run(
        [*inside, *NEPHOSCOPE, "doctor"], capture_output=True, text=True, check=False, timeout=120, env=environment
    )


def test_a_user_without_a_name_is_examined_as_any_other() -> None:
    assert subprocess.run([*WITHOUT_NAME, "id", "-un"], capture_output=True, check=False).returncode != 0
    done = doctor(WITHOUT_NAME)
    assert done.returncode == 0, done.stderr
    assert "fit to measure" in done.stdout


@pytest.mark.root
def test_a_quota_that_cannot_be_read_is_not_taken_for_none() -> None:
    done = doctor(MASKED_SYS)
    (row,) = [line for line in done.stdout.splitlines() if "│ CPU quota " in line]
    assert "warning" in row
    assert "cgroups cannot be read" in row


def test_a_host_may_be_an_alias_with_an_underscore() -> None:
    """Of the user's configuration of ssh, which says where it is."""
    text = """
name = "alias"
[[configurations]]
name = "there"
provider = "ssh"
database_machine = { hosts = ["db_1"] }
[[benchmarks]]
uses = "openssl-speed"
"""
    (configuration,) = load(text, "study.toml").configurations
    assert configuration.database_machine.hosts == ["db_1"]
