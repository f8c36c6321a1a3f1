"""What is asked of machines before a trial begins, on fake ones."""

import asyncio
import dataclasses
import re
import shutil
from pathlib import Path

import pytest

from nephoscope.app.wiring import load_program
from nephoscope.benchmarks.base import Needs
from nephoscope.benchmarks.registry import TOOLS
from nephoscope.machines.fake import Answer, AnswerTo, FakeRemote
from nephoscope.machines.remote import LOAD, MachineHandle, Tool
from nephoscope.model.errors import ToolMissing
from nephoscope.model.records import Facts, VerdictKind
from nephoscope.providers.base import cluster_of
from nephoscope.run import gate
from nephoscope.run.clock import FakeClock
from nephoscope.run.study import run_study
from nephoscope.run.world import Observe
from tests.support.fake_world import STUDY, observe_at_once, rehearsal
from tests.support.local_remote import this_machine

TWO_LOADS = STUDY.replace(
    'database_machine = { type = "tiny", cpus = 2 }',
    'database_machine = { type = "tiny", cpus = 2 }\nload_machine = { type = "tiny", cpus = 2, count = 2 }',
)


def off_by(offset_s: float, machine_name: str) -> Observe:
    """Looks as a fake machine gives them; the clock of one machine is off."""

    async def observe(machine: MachineHandle) -> tuple[Facts, dict[str, str]]:
        facts, verbatim = await observe_at_once(machine)
        off_s = offset_s if machine.name == machine_name else 0.001
        return facts.model_copy(update={"clock_offset_s": off_s, "clock_offset_bound_s": 0.01}), verbatim

    return observe


def test_load_machines_that_cannot_begin_together_are_refused_and_the_study_goes_on(tmp_path: Path) -> None:
    study = rehearsal(tmp_path, text=TWO_LOADS)
    world = dataclasses.replace(study.world, observe=off_by(-2.0, "fake-load-2"))
    asyncio.run(run_study(study.folder, world))
    ended = {
        planned.intent.configuration_name: trial.attempts()[-1].status() for planned, trial in study.folder.planned()
    }
    small, large = ended["small"], ended["large"]
    assert small is not None
    assert (small.state, small.failure_class) == ("failed", "clock_off")
    assert str(small.message) == (
        "the clock of fake-load-2 is -2.000 s (± 0.010 s) off the controller's, but load machines that start "
        "together may be at most 0.25 s off"
    )
    assert "chronyc makestep" in str(small.hint)
    assert large is not None
    assert large.state == "finished"


def test_clocks_that_agree_let_several_load_machines_begin(tmp_path: Path) -> None:
    study = rehearsal(tmp_path, text=TWO_LOADS)
    world = dataclasses.replace(study.world, observe=off_by(0.2, "fake-load-2"))
    asyncio.run(run_study(study.folder, world))
    assert {kind for _, _, kind, _ in study.heard.ended} == {VerdictKind.VALID}
    _, trial = next(row for row in study.folder.planned() if row[0].intent.configuration_name == "small")
    started = trial.attempts()[0].started()
    assert started is not None
    assert started.load_machines == ["fake-load-1", "fake-load-2"]
    assert started.client_cpus == 4


FAILING = [("--no-such-option",), ("-c", "echo broken; exit 1"), ("-c", "exit 0"), ("-c", "exit 127")]


@pytest.mark.parametrize("argv", FAILING)
def test_a_version_command_that_fails_or_says_nothing_gives_no_version(tmp_path: Path, argv: tuple[str, ...]) -> None:
    here = cluster_of("here", [this_machine(tmp_path)], 1)
    needs = Needs(tools=(Tool("bash", version_argv=argv), Tool("ls")))
    found = asyncio.run(gate._versions(here, needs, rehearsal(tmp_path).world))
    assert found["bash"] == "unknown"
    assert found["ls"].startswith("ls ")


def test_a_version_command_that_does_not_end_gives_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "VERSION_TIMEOUT_S", 0.2)
    here = cluster_of("here", [this_machine(tmp_path)], 1)
    needs = Needs(tools=(Tool("sleep", version_argv=("60",)),))
    assert asyncio.run(gate._versions(here, needs, rehearsal(tmp_path).world)) == {"sleep": "unknown"}


def test_a_tool_that_is_missing_comes_with_the_way_to_get_it(tmp_path: Path) -> None:
    here = cluster_of("here", [this_machine(tmp_path)], 1)
    needs = Needs(tools=(Tool("no-such-tool", "some-package"),))
    with pytest.raises(ToolMissing, match="no-such-tool is not installed; hint: apt-get install some-package"):
        asyncio.run(gate._versions(here, needs, rehearsal(tmp_path).world))


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_tool_that_is_installed_tells_its_version(tmp_path: Path, tool: Tool) -> None:
    world = dataclasses.replace(rehearsal(tmp_path).world, load_program=load_program())
    if shutil.which(load_program() if tool == LOAD else tool.name) is None:
        pytest.skip(f"{tool.name} is not installed")
    here = cluster_of("here", [this_machine(tmp_path)], 1)
    (version,) = asyncio.run(gate._versions(here, Needs(tools=(tool,)), world)).values()
    assert re.search(r"\d", version), version


def test_a_tool_is_looked_for_on_every_machine_that_needs_it(tmp_path: Path) -> None:
    def machine(name: str, programs: dict[str, AnswerTo]) -> MachineHandle:
        return MachineHandle(name, FakeRemote(programs, FakeClock()), "192.0.2.1", (0,), "/")

    def says(version: str) -> dict[str, AnswerTo]:
        return {"tool": lambda _argv, _stdin: Answer(version.encode())}

    world = rehearsal(tmp_path).world
    there = [machine("a", says("tool 1")), machine("b", says("tool 2")), machine("c", {})]
    needs = Needs(tools=(Tool("tool"),), users=lambda cluster: cluster.machines)
    found = asyncio.run(gate._versions(cluster_of("k", there[:2], 2), needs, world))
    assert found == {"tool": "tool 1", "tool on b": "tool 2"}
    with pytest.raises(ToolMissing):
        asyncio.run(gate._versions(cluster_of("k", there, 3), needs, world))
    first_alone = Needs(tools=(Tool("tool"),))
    assert asyncio.run(gate._versions(cluster_of("k", there, 3), first_alone, world)) == {"tool": "tool 1"}


@pytest.mark.parametrize(
    ("provider", "busy", "looks"),
    [
        ("emulated", "abc", {"a": gate.SETTLE_TRIES, "b": 1, "c": 1}),
        ("emulated", "ac", {"a": gate.SETTLE_TRIES, "b": 1, "c": gate.SETTLE_TRIES}),
        ("fake", "abc", dict.fromkeys("abc", gate.SETTLE_TRIES)),
    ],
)
def test_what_keeps_one_part_of_a_machine_busy_is_not_waited_for_at_the_next(
    tmp_path: Path, provider: str, busy: str, looks: dict[str, int]
) -> None:
    study, seen = rehearsal(tmp_path), dict.fromkeys("abc", 0)

    async def observe(machine: MachineHandle) -> tuple[Facts, dict[str, str]]:
        seen[machine.name] += 1
        facts, verbatim = await observe_at_once(machine)
        share = 0.5 if machine.name in busy else 0.0
        return facts.model_copy(update={"busy_share": share, "busy_share_by_cpu": {}}), verbatim

    here = cluster_of("k", [dataclasses.replace(this_machine(tmp_path), name=name) for name in "abc"], 3)
    configuration = study.study.configurations[0].model_copy(update={"provider": provider})
    world = dataclasses.replace(study.world, observe=observe)
    found = asyncio.run(gate._settled(configuration, here, world, 0.0))
    assert [record.machine for record in found] == [*"abc"]
    assert seen == looks
