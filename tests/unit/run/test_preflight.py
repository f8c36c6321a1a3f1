"""What can be known to fail is said before anything is made."""

import asyncio
from dataclasses import replace
from itertools import chain, repeat
from pathlib import Path

import pytest

from nephoscope.databases.fake import FakeDatabase
from nephoscope.model.errors import DatabaseFailed, EnvironmentProblem, InputError
from nephoscope.providers.base import Cluster
from nephoscope.run.preflight import preflight
from tests.support.fake_world import rehearsal

STUDY = """
name = "clouds"

[[configurations]]
name = "m6i"
provider = "aws"
{more}
database_machine = {{ type = "m6i.large" }}
database = {{ system = "fake" }}

[[benchmarks]]
uses = "fake"
"""
WHOLE = 'region = "us-east-1"\nzone = "us-east-1a"\ncloud = { image = "ami-1", ingress = "203.0.113.7/32" }'


@pytest.mark.parametrize("missing", ["cloud", "zone"])
def test_what_a_cloud_must_know_is_asked_for_before_the_first_trial(tmp_path: Path, missing: str) -> None:
    def begin(name: str, more: str) -> None:
        made = rehearsal(tmp_path / name, text=STUDY.format(more=more))
        asyncio.run(preflight(made.folder, made.study, replace(made.world, providers={"aws": made.provider})))

    begin("whole", WHOLE)
    with pytest.raises(InputError, match=missing):
        begin("not", "\n".join(line for line in WHOLE.splitlines() if not line.startswith(missing)))


def test_a_server_that_cannot_be_stopped_hides_neither_the_cause_nor_its_machine(tmp_path: Path) -> None:
    class Hanging(FakeDatabase):
        async def stop(self, cluster: Cluster) -> None:
            raise DatabaseFailed("it did not stop")

    owned = 'provider = "fake"\ndatabase = { system = "fake", dsn = "postgresql://me@db.example.com/x" }'
    text = STUDY.format(more="").replace('provider = "aws"', owned).replace('database = { system = "fake" }\n\n', "")
    text = text.replace('uses = "fake"', 'uses = "fake"\nparameters = { database = true }')
    for failures, why in (([DatabaseFailed("it is too old")], "it is too old"), ([], "it did not stop")):
        made = rehearsal(tmp_path / why, text=text)
        world = replace(made.world, databases={"fake": Hanging(chain(failures, repeat(None)))})
        with pytest.raises(EnvironmentProblem, match=why):
            asyncio.run(preflight(made.folder, made.study, world))
        assert made.provider.existing == {}


def test_a_machine_without_room_for_a_server_is_said_to_have_none(tmp_path: Path) -> None:
    class Large(FakeDatabase):
        def require_here(self) -> None:
            raise EnvironmentProblem("there is no room")

    text = STUDY.format(more="").replace('provider = "aws"', 'provider = "fake"')
    for uses, drives in (("parameters = { database = true }", True), ("", False)):
        made = rehearsal(tmp_path / str(drives), text=text.replace('uses = "fake"', f'uses = "fake"\n{uses}'))
        vars(made.provider).update(tools=(), needs_root=False)  # as a provider on this machine has them
        world = replace(made.world, databases={"fake": Large(repeat(None))})
        if drives:
            with pytest.raises(EnvironmentProblem, match="there is no room"):
                asyncio.run(preflight(made.folder, made.study, world))
        else:
            asyncio.run(preflight(made.folder, made.study, world))
