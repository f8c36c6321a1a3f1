"""Real hosts, real loads, real jobs over SSH, and a controller that is killed with -9 at random moments."""

import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.model.control import Resumption
from nephoscope.store import lock
from nephoscope.store.folder import ResultsFolder
from tests.support.command_line import nephoscope, start_nephoscope
from tests.support.emulated_traces import loads_begun, traces
from tests.support.real_parts import needs

STUDY = """
name = "killed"
seed = 4
replicates = 3

[[machine_types]]
name = "small"
vcpus = 1
memory_gib = 0.5
disk_gib = 0.25

[[machine_types]]
name = "large"
vcpus = 2
memory_gib = 0.5
disk_gib = 0.25

[[configurations]]
name = "small"
provider = "emulated"
database_machine = { type = "small" }
load_machine = { type = "small" }

[[configurations]]
name = "large"
provider = "emulated"
database_machine = { type = "large" }
load_machine = { type = "small" }

[[benchmarks]]
uses = "stress-ng"
parameters = { stressor = "matrix", duration_s = 4 }
"""
KILLS = 10
ROOT = Path(__file__).parents[2]


def a_load_goes_on(folder: ResultsFolder, since_unix_ms: float) -> bool:
    """By a state that a controller wrote since then, and not one that died before."""
    if not folder.plan_path.exists():
        return False
    last = [trial.states()[-1] for _, trial in folder.planned() if trial.states()]
    return any(one.state == "running" and one.at_unix_ms >= since_unix_ms for one in last)


def kill(study: Path, folder: ResultsFolder, within_s: float) -> tuple[int, int]:
    """Ten times: a controller is begun and killed, each second one while a load goes on, the others at random.

    Returns how many kills hit a load, and how much was on this machine just after the kills.
    """
    draws, during_a_load, seen = random.Random(7), 0, 0
    for number in range(KILLS):
        begun_unix_ms = time.time() * 1000
        process = start_nephoscope("run", study, "--out", folder.path)
        while not lock.held(folder.path / "lock"):
            assert process.poll() is None
            time.sleep(0.01)
        until = time.monotonic() + (draws.uniform(0, within_s) if number % 2 else 120)
        while time.monotonic() < until and process.poll() is None:
            if number % 2 == 0 and a_load_goes_on(folder, begun_unix_ms):
                time.sleep(draws.uniform(0, 3))
                break
            time.sleep(0.02)
        during_a_load += a_load_goes_on(folder, begun_unix_ms)
        process.kill()
        process.communicate()
        seen += len(traces(folder))
    return during_a_load, seen


def kill_when(study: Path, folder: ResultsFolder, moment: Callable[[], bool], after_s: float = 0.0) -> None:
    """A controller is begun, and killed so long after the moment has come."""
    process = start_nephoscope("run", study, "--out", folder.path)
    while not moment():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    time.sleep(after_s)
    process.kill()
    process.communicate()


def finish(study: Path, folder: ResultsFolder, timeout_s: float) -> str:
    """The same command once more, to the end: every trial is finished, nothing is left. Returns what `clean` says."""
    ended = nephoscope("run", study, "--out", folder.path, timeout_s=timeout_s)
    assert ended.exit_code == 0, ended.stderr
    assert {row.state for row in evaluation.status(folder)} == {"finished"}
    cleaned = nephoscope("clean", folder.path)
    assert cleaned.stdout.endswith("0 deleted now, 0 left\n")
    assert traces(folder) == []
    return cleaned.stdout


@pytest.mark.slow
@pytest.mark.root
def test_every_load_ran_once_and_nothing_is_left(tmp_path: Path) -> None:
    study, folder = tmp_path / "study.toml", ResultsFolder(tmp_path / "out")
    study.write_text(STUDY)
    during_a_load, seen = kill(study, folder, within_s=12)
    assert during_a_load >= 3
    assert seen
    said = finish(study, folder, timeout_s=900)
    assert set(loads_begun(folder).values()) == {1}
    sys.stdout.write(f"{during_a_load} of {KILLS} kills during a load; {said}")


@pytest.mark.slow
@pytest.mark.root
@needs("postgres", "nephoscope-load", "fio", "iperf3")
def test_the_shipped_study_of_clusters_survives_ten_kills(tmp_path: Path) -> None:
    """36 trials on clusters of three and a load machine, about 25 minutes.

    A load of TPC-C or fio is begun once and found again. Streams of the network end with their controller: of those, a
    new attempt on new machines is the one that counts, and what was killed is kept beside it.
    """
    study, folder = ROOT / "studies" / "cluster.toml", ResultsFolder(tmp_path / "out")
    during_a_load, seen = kill(study, folder, within_s=60)
    assert during_a_load >= 3
    assert seen
    said = finish(study, folder, timeout_s=2400)
    begun = loads_begun(folder)
    for planned, trial in folder.planned():
        ends = [attempt.status() for attempt in trial.attempts()]
        if planned.intent.benchmark.uses in ("tpcc", "fio"):
            assert begun[planned.intent.id] == 1, planned.intent
        assert [end.state for end in ends if end is not None].count("finished") == 1, planned.intent
    sys.stdout.write(f"{during_a_load} of {KILLS} kills during a load; {said}")


ON_POSTGRES = """
name = "killed-on-postgres"
replicates = 1

[[machine_types]]
name = "node"
vcpus = 1
memory_gib = 1
disk_gib = 8  # a primary with standbys keeps up to 5 GiB of its log

[[configurations]]
name = "replicated"
provider = "emulated"
database_machine = { type = "node", count = 2 }
load_machine = { type = "node" }
database = { connections = 2 }

[[benchmarks]]
uses = "tpcc"
parameters = { warehouses = 1, ramp_s = 1, duration_s = 15 }
"""


@pytest.mark.slow
@pytest.mark.root
@needs("postgres", "nephoscope-load")
def test_a_load_on_postgresql_is_found_again_and_its_servers_stopped(tmp_path: Path) -> None:
    study, folder = tmp_path / "study.toml", ResultsFolder(tmp_path / "out")
    study.write_text(ON_POSTGRES)
    begun_unix_ms = time.time() * 1000
    kill_when(study, folder, lambda: a_load_goes_on(folder, begun_unix_ms), after_s=3)
    finish(study, folder, timeout_s=300)
    ((_, trial),) = folder.planned()
    (attempt,) = trial.attempts()
    assert attempt.replication("before") == attempt.replication("after") == {"standby database-2": "streaming quorum"}
    assert sum(line.startswith(b'{"event":"started"') for line in attempt.raw()["load-run.stdout"].splitlines()) == 1
    logs = {path.name for path in attempt.log_dir.iterdir() if path.stat().st_size}
    assert {"postgres.log", "postgres-database-2.log"} <= logs
    assert "teardown.txt" not in logs


@pytest.mark.slow
@pytest.mark.root
@needs("postgres", "nephoscope-load")
def test_a_load_that_has_ended_is_not_begun_again_when_its_servers_were_being_stopped(tmp_path: Path) -> None:
    study, folder = tmp_path / "study.toml", ResultsFolder(tmp_path / "out")
    study.write_text(ON_POSTGRES)
    kill_when(study, folder, lambda: any(resume.measured for resume in resumptions(folder)))
    assert [trial.open_attempt() is not None for _, trial in folder.planned()] == [True]
    finish(study, folder, timeout_s=300)
    assert set(loads_begun(folder).values()) == {1}


def resumptions(folder: ResultsFolder) -> list[Resumption]:
    """Of every attempt that came as far as its load."""
    if not folder.plan_path.exists():
        return []
    found = (attempt.resumption() for _, trial in folder.planned() for attempt in trial.attempts())
    return [one for one in found if one is not None]
