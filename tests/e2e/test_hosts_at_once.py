"""Hosts of a study that have nothing in common are measured at the same time: real sshd, one study."""

from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from nephoscope.store.folder import ResultsFolder
from tests.support.command_line import IMPATIENT, nephoscope
from tests.support.real_parts import needs
from tests.support.sshd import sshd

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


def test_hosts_of_a_rack_are_measured_at_the_same_time(tmp_path: Path) -> None:
    with ExitStack() as running:
        text = STUDY
        for number in range(1, HOSTS + 1):
            server = running.enter_context(sshd(tmp_path / f"sshd-{number}"))
            text += CONFIGURATION.format(
                number=number,
                host=f"{server.address.user}@127.0.0.1:{server.address.port}",
                key=server.address.key_file,
                folder=tmp_path,
                host_key=server.host_key,
            )
        study = tmp_path / "rack.toml"
        study.write_text(text)
        (tmp_path / "long.toml").write_text(text.replace("duration_s = 1", "duration_s = 60"))
        assert f"--max-clusters {HOSTS} would take" in nephoscope("plan", tmp_path / "long.toml").stdout
        done = nephoscope("run", study, "--out", tmp_path / "out", "--max-clusters", str(HOSTS), program=IMPATIENT)
    assert done.exit_code in {0, 4}, done.stderr  # the machine may be too busy for a valid number
    spans = [
        (planned.intent.configuration_name, attempt.lease(), attempt.status())
        for planned, trial in ResultsFolder(tmp_path / "out").planned()
        for attempt in trial.attempts()
    ]
    held = [
        (lease.begun_unix_ms, status.at_unix_ms, name)
        for name, lease, status in spans
        if lease and status and status.at_unix_ms
    ]
    assert len(held) >= 2 * HOSTS
    assert all(status and status.state == "finished" for _, _, status in spans)
    first = sorted(held)[:HOSTS]
    assert {name for *_, name in first} == {f"db{number}" for number in range(1, HOSTS + 1)}
    assert max(begin for begin, *_ in first) < min(end for _, end, _ in first), "all had begun before one ended"
    for number in range(1, HOSTS + 1):
        own = sorted((begin, end) for begin, end, name in held if name == f"db{number}")
        assert all(earlier[1] <= later[0] for earlier, later in pairwise(own))
