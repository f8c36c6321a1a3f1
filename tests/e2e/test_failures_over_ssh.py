"""What goes wrong with a host is told by its class and a hint, and the study goes on with the other trials.

Hosts are a real sshd on a loopback port, the study's world is the real one.
"""

import asyncio
import dataclasses
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nephoscope.app.stages.planning import load, plan
from nephoscope.app.wiring import load_program, real_world
from nephoscope.model.records import Status
from nephoscope.providers.ssh import SshProvider
from nephoscope.run.clock import SystemClock
from nephoscope.run.study import adopt_plan, run_study
from nephoscope.run.world import World
from nephoscope.store.folder import ResultsFolder
from tests.support.fake_world import Heard, observe_at_once
from tests.support.real_parts import needs
from tests.support.sshd import Server, Wire, free_port, make_key, sshd

pytestmark = needs("nephoscope-load")

STUDY = """
name = "failures"
replicates = 1

[[benchmarks]]
uses = "cpu-kernel"
parameters = { duration_s = 1 }
configurations = [CONFIGURATIONS]

[[benchmarks]]
uses = "fake"
configurations = ["without-tool"]

[[configurations]]
name = "without-tool"
provider = "ssh"
database_machine = { hosts = ["HERE"] }
ssh = { key_file = "KEY", folder = "FOLDER/without-tool", host_keys = { "HERE" = "PUBLIC" } }
database = { system = "fake" }
"""

CONFIGURATION = """
[[configurations]]
name = "{name}"
provider = "ssh"
database_machine = {{ hosts = ["{host}"], cpus = 1 }}
ssh = {{ key_file = "{key}", folder = "{folder}", host_keys = {{ "{host}" = "{host_key}" }} }}
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


def host(server: Server, port: int | None = None) -> str:
    return f"{server.address.user}@127.0.0.1:{port or server.address.port}"


def study(server: Server, folder: Path, configurations: dict[str, tuple[str, Path]]) -> str:
    """Configurations by name: host and key."""
    names = ", ".join(f'"{name}"' for name in configurations)
    text = STUDY.replace("CONFIGURATIONS", names).replace("HERE", host(server)).replace("FOLDER", str(folder))
    text = text.replace("KEY", str(server.address.key_file)).replace("PUBLIC", server.host_key)
    for name, (where, key) in configurations.items():
        text += CONFIGURATION.format(name=name, host=where, key=key, folder=folder / name, host_key=server.host_key)
    return text


def world(patience_s: float = 20.0) -> World:
    real = real_world(Heard())
    ssh = SshProvider([load_program()], SystemClock(), patience_s=patience_s)
    return dataclasses.replace(real, providers={**real.providers, "ssh": ssh}, observe=observe_at_once)


def planned(folder: Path, text: str) -> ResultsFolder:
    results = ResultsFolder(folder / "out")
    adopt_plan(results, text, plan(load(text, "failures.toml")), replan=False)
    return results


def statuses(results: ResultsFolder) -> dict[str, list[Status]]:
    """Of every attempt, by configuration."""
    return {
        row.intent.configuration_name: [status for one in trial.attempts() if (status := one.status()) is not None]
        for row, trial in results.planned()
    }


@pytest.mark.slow
def test_each_failure_has_its_class_and_hint_and_the_other_trials_run(server: Server, tmp_path: Path) -> None:
    own = Path(str(server.address.key_file))
    (tmp_path / "not-a-folder").write_text("a file")
    configurations = {
        "sound": (host(server), own),
        "wrong-key": (host(server), make_key(tmp_path / "stranger")),
        "unreachable": (host(server, free_port()), own),
        "not-a-folder": (host(server), own),
    }
    results = planned(tmp_path, study(server, tmp_path, configurations))
    asyncio.run(run_study(results, world()))
    found = {name: (of[-1].failure_class, of[-1].hint or "") for name, of in statuses(results).items()}
    assert {name: kind for name, (kind, _) in found.items()} == {
        "sound": None,
        "wrong-key": "access_denied",
        "unreachable": "machine_unreachable",
        "without-tool": "tool_missing",
        "not-a-folder": "environment",
    }
    hints = {
        "wrong-key": "set the right `user` and `key_file`",
        "unreachable": "is the host up, is its port open?",
        "without-tool": "install fake-benchmark",
        "not-a-folder": "writable for the user",
    }
    assert [name for name, words in hints.items() if words not in str(found[name][1])] == []


@pytest.mark.slow
def test_a_link_that_is_cut_for_good_is_a_lost_machine(server: Server, tmp_path: Path) -> None:
    own = Path(str(server.address.key_file))

    async def scenario() -> ResultsFolder:
        wire = Wire(server.address)
        port = (await wire.open()).port
        configurations = {"sound": (host(server), own), "cut": (host(server, port), own)}
        results = planned(tmp_path, study(server, tmp_path, configurations))

        async def cut_during_a_load() -> None:
            while not list((tmp_path / "cut/ours/jobs").glob("*.cpu-kernel-*")):  # noqa: ASYNC110
                await asyncio.sleep(0.02)
            wire.cut()

        cutting = asyncio.create_task(cut_during_a_load())
        async with asyncio.timeout(200):
            await run_study(results, world(patience_s=1.0))
        await cutting
        await wire.close()
        return results

    try:
        found = statuses(asyncio.run(scenario()))
    finally:  # whom nobody reaches any more, nobody ends: on a real host its deadline does
        for session in tmp_path.glob("cut/ours/jobs/*/sid"):
            subprocess.run(["pkill", "-KILL", "-s", session.read_text().strip()], check=False)
    first, second = found["cut"]
    assert (first.failure_class, second.failure_class) == ("machine_lost", "machine_unreachable")
    assert "check the host and its network" in str(first.hint)
    assert [status.state for status in found["sound"]] == ["finished"]
