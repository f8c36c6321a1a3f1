"""The comparison of load generators, once, as short as it can be."""

import shutil
from pathlib import Path

import pytest

from bench import commands, emulated_hosts, sampler, ssh_noise
from bench.harness import key_value
from bench.load_generator import main
from tests.support.sshd import require_sshd


@pytest.mark.slow
def test_the_connection_to_a_measured_host_is_seen_and_cheap(tmp_path: Path) -> None:
    require_sshd()
    page = tmp_path / "SSH_NOISE.md"
    assert ssh_noise.main(["--quick", "--out", str(page)]) == 0
    (row,) = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| sshd and")]
    assert 0 < float(row.split("|")[2].strip().rstrip("%")) < 0.05
    assert "| kept |" in row


@pytest.mark.slow
def test_the_sampler_is_cheap_among_a_thousand_processes_too(tmp_path: Path) -> None:
    page = tmp_path / "SAMPLER.md"
    assert sampler.main(["--quick", "--out", str(page)]) == 0
    assert page.read_text(encoding="utf-8").count("| kept |") == 3


@pytest.mark.slow
def test_every_command_with_a_goal_is_measured(tmp_path: Path) -> None:
    page = tmp_path / "COMMANDS.md"
    commands.main(["--quick", "--out", str(page)])
    rows = [line.split("|") for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert [row[1].strip(" `") for row in rows] == [commands.BARE, *(command.words for command in commands.COMMANDS)]
    assert all(0 < float(row[2]) <= float(row[3]) for row in rows)


@pytest.mark.slow
@pytest.mark.root
def test_four_emulated_hosts_are_up_within_two_seconds(tmp_path: Path) -> None:
    require_sshd()
    page = tmp_path / "EMULATED_HOSTS.md"
    assert emulated_hosts.main(["--quick", "--out", str(page)]) == 0
    (row,) = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| up ")]
    assert 0 < float(row.split("|")[2].removesuffix("s ").strip()) <= emulated_hosts.BAR_S
    assert "| kept |" in row


@pytest.mark.slow
def test_a_quick_comparison_answers_the_bars(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo here")
    page = tmp_path / "RESULTS.md"
    main(["--quick", "--out", str(page), "--folder", str(tmp_path), "--only", "point-select", "--only", "batched"])
    text = page.read_text(encoding="utf-8")
    for name in ("nephoscope-load batched", "floor batched", "nephoscope-load point-select", "floor point-select"):
        assert f"| {name} | " in text
    assert "errors, the first" not in text
    assert text.count("not measured") == 17


@pytest.mark.slow
def test_those_that_write_are_compared_on_the_same_tables(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no cargo here")
    page = tmp_path / "RESULTS.md"
    only = ["--only", "oltp", "--only", "tpcb", "--only", "TPC-B", "--only", "under way"]
    main(["--quick", "--out", str(page), "--folder", str(tmp_path), *only])
    text = page.read_text(encoding="utf-8")
    for name in ("oltp-insert", "oltp-read-write", "tpcb"):
        assert f"| nephoscope-load {name} | " in text
        assert f"| floor {name} | " in text
    assert "| pgbench TPC-B | 7.00 | " in text
    if shutil.which("sysbench"):
        assert "| sysbench oltp_read_write | 20.00 | " in text
    if key_value.is_installed():
        assert "| nephoscope-load SET, 16 under way | 1.00 | " in text
        assert "| redis-benchmark GET, 1 under way | 1.00 | " in text
    assert " failed |" not in text
