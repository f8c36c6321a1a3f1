"""A standby, a primary, a host, a disk that fail in a study on emulated hosts (root), and two load hosts beside."""

import asyncio
import dataclasses
import hashlib
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from nephoscope.app.stages.planning import load, plan
from nephoscope.app.wiring import real_world
from nephoscope.model.records import VerdictKind
from nephoscope.providers.emulated.limits import folders
from nephoscope.providers.emulated.provider import _cgroup_version
from nephoscope.run.study import adopt_plan, run_study
from nephoscope.run.world import World
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder, Trial
from tests.support.fake_world import Heard, observe_at_once
from tests.support.real_parts import needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("postgres", "nephoscope-load", "fio", "sshd", "ping")]

STUDY = """
name = "failing-hosts"
replicates = 1

[[machine_types]]
name = "node"
vcpus = 1
memory_gib = 1
disk_gib = 8  # a primary with standbys keeps up to 5 GiB of its log

[[machine_types]]
name = "tiny-disk"
vcpus = 1
disk_gib = 0.26  # 10 MiB more than fio writes, which its file system takes

[[configurations]]
name = "quorum"
provider = "emulated"
database_machine = { type = "node", count = 3 }
load_machine = { type = "node" }
database = { connections = 2 }

[[configurations]]
name = "two-loads"
provider = "emulated"
database_machine = { type = "node" }
load_machine = { type = "node", count = 2 }
database = { connections = 2 }

[[configurations]]
name = "tiny"
provider = "emulated"
database_machine = { type = "tiny-disk" }

[[benchmarks]]
uses = "tpcc"
configurations = ["quorum", "two-loads"]
parameters = { warehouses = 1, ramp_s = 1, duration_s = 6 }

[[benchmarks]]
uses = "ping"
configurations = ["two-loads"]
parameters = { duration_s = 4, interval_s = 0.02 }

[[benchmarks]]
uses = "fio"
configurations = ["tiny"]
parameters.file_size_mib = 256
"""


def world() -> World:
    return dataclasses.replace(real_world(Heard()), observe=observe_at_once)


def planned(folder: Path) -> ResultsFolder:
    results = ResultsFolder(folder / "out")
    adopt_plan(results, STUDY, plan(load(STUDY, "failing.toml")), replan=False)
    return results


def trial_of(results: ResultsFolder, configuration: str, uses: str) -> Trial:
    wanted = (configuration, uses)
    rows = ((row.intent, trial) for row, trial in results.planned())
    return next(trial for intent, trial in rows if (intent.configuration_name, intent.benchmark.uses) == wanted)


def processes_of(attempt: Attempt, host: str) -> list[int]:
    """Every process of an emulated host, by its control group."""
    lease = attempt.lease()
    assert lease is not None
    identity = hashlib.sha256(lease.cluster.encode()).hexdigest()[:6]
    group = Path(folders(_cgroup_version(), identity, host)[0])
    return [int(line) for line in (group / "cgroup.procs").read_text().split()]


def is_postgres(process: int) -> bool:
    return Path(f"/proc/{process}/comm").read_text().strip() == "postgres"


async def kill_during_the_first_load(trial: Trial, host: str, *, whole: bool) -> None:
    """Kills a host, or its PostgreSQL alone, two seconds after the first attempt's load began."""
    while not trial.states() or trial.states()[-1].state != "running":  # noqa: ASYNC110 - a file sends no event
        await asyncio.sleep(0.1)
    await asyncio.sleep(2)
    for process in processes_of(trial.attempts()[0], host):
        with suppress(ProcessLookupError, FileNotFoundError):  # the first process of a host takes the others with it
            if whole or is_postgres(process):
                os.kill(process, signal.SIGKILL)


async def run_and_kill(results: ResultsFolder, host: str, *, whole: bool) -> None:
    trial = trial_of(results, "quorum", "tpcc")
    killing = asyncio.create_task(kill_during_the_first_load(trial, host, whole=whole))
    async with asyncio.timeout(580):
        await run_study(results, world())
    if not killing.done():
        killing.cancel()
        pytest.fail(f"nothing was measured that could be killed: {[one.status() for one in trial.attempts()]}")
    await killing


def require_that_the_others_ran(results: ResultsFolder) -> None:
    """Each with its own end: two load hosts measured, a disk that is too small refused."""
    for uses in ("tpcc", "ping"):
        (status,) = [attempt.status() for attempt in trial_of(results, "two-loads", uses).attempts()]
        assert status is not None
        assert (status.state, status.failure_class, status.message) == ("finished", None, None)
    (attempt,) = trial_of(results, "two-loads", "tpcc").attempts()
    assert json.loads(attempt.raw()["load-run.stdout"].splitlines()[0])["shards"] == 2
    clocks = {row.check: row.verdict for row in attempt.verdicts()}
    assert clocks["clock-offset"] is VerdictKind.VALID
    (tiny,) = [attempt.status() for attempt in trial_of(results, "tiny", "fio").attempts()]
    assert tiny is not None
    assert tiny.failure_class == "no_space_on_machine"
    assert "free some space" in str(tiny.hint)


def test_a_lost_standby_is_a_verdict_and_the_study_goes_on(tmp_path: Path) -> None:
    results = planned(tmp_path)
    asyncio.run(run_and_kill(results, "database-3", whole=False))
    (attempt,) = trial_of(results, "quorum", "tpcc").attempts()
    status = attempt.status()
    assert status is not None
    assert status.state == "finished", status.message
    (found,) = [row for row in attempt.verdicts() if row.check == "replication"]
    assert found.verdict is VerdictKind.INVALID
    assert str(found.reason) == "standby database-3: streaming quorum before the trial, not there after it"
    require_that_the_others_ran(results)


def test_a_lost_primary_fails_its_trial_alone(tmp_path: Path) -> None:
    results = planned(tmp_path)
    asyncio.run(run_and_kill(results, "database-1", whole=False))
    (attempt,) = trial_of(results, "quorum", "tpcc").attempts()
    status = attempt.status()
    assert status is not None
    assert (status.state, status.failure_class) == ("failed", "target_lost")
    assert "the database's log is next to the raw output" in str(status.hint)
    assert (attempt.raw_dir / "logs" / "postgres.log").exists()
    require_that_the_others_ran(results)


def test_a_lost_host_is_tried_again_on_new_ones(tmp_path: Path) -> None:
    results = planned(tmp_path)
    asyncio.run(run_and_kill(results, "database-2", whole=True))
    first, second = trial_of(results, "quorum", "tpcc").attempts()
    lost, again = first.status(), second.status()
    assert lost is not None
    assert again is not None
    assert (lost.failure_class, again.state) == ("machine_lost", "finished")
    assert "look at the host and its network" in str(lost.hint)
    require_that_the_others_ran(results)
