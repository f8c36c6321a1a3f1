"""A controller that is killed with -9 during a load on listed hosts of a real sshd: its successor waits for it."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.store.folder import ResultsFolder
from tests.support.command_line import nephoscope, processes_naming, start_nephoscope
from tests.support.real_parts import needs
from tests.support.sshd import Server, sshd

pytestmark = [pytest.mark.slow, needs("stress-ng", "nephoscope-load")]

STUDY = """
name = "killed-over-ssh"
replicates = 1

[[configurations]]
name = "ours"
provider = "ssh"
database_machine = {{ hosts = ["{user}@127.0.0.1:{port}"], cpus = 1 }}
ssh = {{ key_file = "{key}", folder = "{folder}", host_keys = {{ "{user}@127.0.0.1:{port}" = "{host_key}" }} }}

[[benchmarks]]
uses = "stress-ng"
parameters = {{ stressor = "matrix", duration_s = {duration_s} }}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def killed_during_its_load(server: Server, path: Path, duration_s: int) -> tuple[Path, ResultsFolder]:
    """The study and its folder; the load goes on."""
    address, study, folder = server.address, path / "study.toml", ResultsFolder(path / "out")
    study.write_text(
        STUDY.format(
            user=address.user,
            port=address.port,
            key=address.key_file,
            host_key=server.host_key,
            folder=path / "there",
            duration_s=duration_s,
        )
    )
    process = start_nephoscope("run", study, "--out", folder.path)
    while not list((path / "there/ours/jobs").glob("*.stress-ng*/pid")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    process.communicate()
    return study, folder


def test_the_next_controller_waits_for_the_load_and_begins_none(server: Server, tmp_path: Path) -> None:
    study, folder = killed_during_its_load(server, tmp_path, duration_s=6)
    (before,) = (tmp_path / "there/ours/jobs").glob("*.stress-ng*/pid")
    process = before.read_text()
    ended = nephoscope("run", study, "--out", folder.path)
    assert ended.exit_code == 0, ended.stderr
    ((_, trial),) = folder.planned()
    assert [attempt.number for attempt in trial.attempts()] == [1]
    assert {row.state for row in evaluation.status(folder)} == {"finished"}
    assert not (tmp_path / "there/lease").exists()
    assert not Path(f"/proc/{process.strip()}").exists()


def test_clean_ends_the_load_and_gives_the_hosts_back(server: Server, tmp_path: Path) -> None:
    _, folder = killed_during_its_load(server, tmp_path, duration_s=60)
    running = f"{tmp_path}/there/ours/jobs"
    assert processes_naming(running)
    cleaned = nephoscope("clean", folder.path)
    assert cleaned.stdout.endswith("1 cluster created, 1 deleted now, 0 left\n"), cleaned.stderr
    assert not processes_naming(running)
    assert not (tmp_path / "there/lease").exists()
