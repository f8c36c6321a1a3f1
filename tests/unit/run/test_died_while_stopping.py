"""A controller that dies between its measurement and its commit mark: what it measured counts, and is begun once."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.fake import PROGRAM, fake_program
from nephoscope.databases.base import Endpoint
from nephoscope.databases.fake import FakeDatabase
from nephoscope.machines.fake import Answer
from nephoscope.model.control import State
from nephoscope.model.errors import TargetLost
from nephoscope.providers.base import Cluster, ClusterRequest
from nephoscope.run.states import may_follow
from nephoscope.run.trial import AttemptTask, run_attempt
from nephoscope.study.model import Configuration
from nephoscope.study.model import Database as DatabaseSettings
from tests.support.fake_world import rehearsal

STUDY = """
name = "stopping"
replicates = 1
[[configurations]]
name = "only"
provider = "fake"
database = { system = "fake" }
[[benchmarks]]
uses = "fake"
parameters = { database = true }
"""


class Killed(BaseException):
    """Of the controller, by signal 9."""


class DiesWhileStopping(FakeDatabase):
    async def stop(self, cluster: Cluster) -> None:
        await super().stop(cluster)
        raise Killed


class Stopped(FakeDatabase):
    async def attach(self, cluster: Cluster, settings: DatabaseSettings, log: Path) -> Endpoint:
        raise TargetLost("it is no longer running")


def test_a_database_that_was_stopped_by_a_controller_that_died_is_not_missed(tmp_path: Path) -> None:
    begun: list[Sequence[str]] = []

    def program(argv: Sequence[str], stdin: bytes) -> Answer:
        begun.append(argv)
        return fake_program(argv, stdin)

    world = rehearsal(tmp_path, text=STUDY, programs={PROGRAM: program})
    ((planned, trial),) = world.folder.planned()
    attempt = trial.new_attempt(planned.intent)
    request = ClusterRequest("stopping", Configuration.model_validate(planned.intent.configuration), tmp_path)
    states: list[State] = [State.LEASED]

    def enter(state: State) -> None:
        assert may_follow(states[-1], state), f"{state} cannot follow {states[-1]}"
        states.append(state)

    task = AttemptTask(attempt, request, keep_cluster=True, resumable=True, collected=False, enter=enter)
    with pytest.raises(Killed):
        asyncio.run(run_attempt(planned.intent, task, replace(world.world, databases={"fake": DiesWhileStopping()})))
    assert attempt.status() is None
    assert not attempt.collected()
    loads = [argv for argv in begun if argv[1:] != ["--version"]]
    ended = asyncio.run(run_attempt(planned.intent, task, replace(world.world, databases={"fake": Stopped()})))
    assert (ended.status.state, ended.status.message) == ("finished", None)
    assert [argv for argv in begun if argv[1:] != ["--version"]] == loads
    assert len(loads) == 1
    assert states.count(State.RUNNING) == 1
    assert states[-2:] == [State.COLLECTED, State.DESTROYING]
    assert attempt.measurements()
