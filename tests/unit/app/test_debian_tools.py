"""The list of Debian packages that `scripts/debian-packages` reads is the one that the tools say."""

import os
import subprocess
from pathlib import Path

import pytest

from nephoscope.app.debian_tools import debian_tools
from nephoscope.benchmarks.registry import TOOLS
from tests.support.generated import STALE

SCRIPTS = Path(__file__).parents[3] / "scripts"


def test_the_stored_list_is_the_generated_one() -> None:
    assert (SCRIPTS / "debian-tools.txt").read_text(encoding="utf-8") == debian_tools(), STALE


def test_every_packaged_tool_of_a_benchmark_is_listed() -> None:
    listed = dict(line.split() for line in debian_tools().splitlines()[1:])
    assert {tool.name: tool.package for tool in TOOLS if tool.package}.items() <= listed.items()
    assert "netperf" not in listed


def test_the_script_installs_the_packages_of_the_list_when_one_is_missing(tmp_path: Path) -> None:
    """By an apt that writes down what it is asked for; no program is found on this PATH."""
    for program in ("env", "bash", "dirname", "awk", "tr", "sort", "id", "mktemp", "rm", "cat"):
        (tmp_path / program).symlink_to(f"/usr/bin/{program}")
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/usr/bin/bash\necho "$*" >>{tmp_path}/asked\n')
    apt.chmod(0o755)
    if os.geteuid() != 0:
        pytest.skip("the script asks apt as root alone, or by sudo")
    argv = [str(SCRIPTS / "debian-packages"), "tools"]
    subprocess.run(argv, env={"PATH": str(tmp_path)}, check=True, capture_output=True)
    (asked,) = (tmp_path / "asked").read_text().splitlines()
    packages = {line.split()[1] for line in debian_tools().splitlines()[1:]}
    assert set(asked.partition("--no-install-recommends ")[2].split()) == packages
