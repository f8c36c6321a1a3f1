"""The load generator is calibrated once for equal trials on the same machines, and again where that would decide."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.calibrations import Calibrations, OwnCalibrations
from nephoscope.benchmarks.database.highest_load import HighestLoad, HighestLoadParameters
from nephoscope.benchmarks.database.kv import Kv, KvParameters
from nephoscope.benchmarks.database.tpcc import Tpcc, TpccParameters
from nephoscope.databases.base import Endpoint
from nephoscope.machines.remote import Command, Completed, MachineHandle
from nephoscope.model.errors import ToolFailed
from tests.support.load_lines import Line, changed, with_client
from tests.support.site import site_here

RUN = (Path(__file__).parents[3] / "data" / "tpcc" / "run.jsonl").read_bytes()
SELECTS = (Path(__file__).parents[3] / "data" / "point-select" / "run.jsonl").read_bytes()
PARAMETERS = TpccParameters(warehouses=1, ramp_s=1, duration_s=3)


def null(share_of_trial: float, busy: float) -> bytes:
    """A calibration with so many times the round trips of `RUN`, and a thread so busy."""
    wanted_per_s = share_of_trial * round_trips_per_s(json.loads(RUN.splitlines()[-1]))

    def of(line: Line) -> None:
        if line["event"] == "finished":
            line["round_trips"] = round(line["round_trips"] * wanted_per_s / round_trips_per_s(line))
        elif line["event"] == "interval":
            for thread in line["client"]["threads"]:
                thread["cpu_s"] = busy * (line["end_s"] - line["start_s"])

    return changed(with_client(SELECTS), of)


def round_trips_per_s(finished: Line) -> float:
    """Of the measurement, in its share of all operations."""
    measured, everything = (sum(row[name] for row in finished["operations"]) for name in ("measured", "all"))
    return float(measured * finished["round_trips"] / everything / finished["measured_s"])


FAST, SLOW = null(10, 1.0), null(2, 1.0)


class Copies:
    """A database that has every data set and copies it at once."""

    async def has_fixture(self, *_: object) -> bool:
        return True

    async def create_fixture(self, *_: object) -> Endpoint:
        raise NotImplementedError

    async def seal_fixture(self, *_: object) -> None:
        raise NotImplementedError

    async def clone_fixture(self, *_: object) -> Endpoint:
        return Endpoint("postgresql://db/copy", {}, "18", "fake")


@dataclass
class Machine:
    """The load generator on a machine: each calibration ends with the next of `null`."""

    null: list[bytes]
    asked: list[str] = field(default_factory=list)

    def site(self, folder: Path, calibrations: OwnCalibrations) -> Site:
        """Of one trial."""
        folder.mkdir()

        async def says(machine: MachineHandle, name: str, command: Command) -> Completed:
            self.asked.append(name)
            stdout = RUN if name == "load-run" else self.null.pop(0)
            (folder / f"{name}.stdout").write_bytes(stdout)
            return Completed(tuple(command.argv), 0, stdout, b"", 1.0)

        endpoint = Endpoint("postgresql://db/x", {}, "18", "fake")
        copies: object = Copies()
        return replace(
            site_here(folder)[0],
            execute=says,
            raw_dir=folder,
            endpoint=endpoint,
            database=copies,  # type: ignore[arg-type]
            calibrations=calibrations,
        )


def trial(site: Site, parameters: TpccParameters = PARAMETERS) -> None:
    async def both() -> None:
        endpoint = await Tpcc().prepare(site, parameters)
        await Tpcc().run(replace(site, endpoint=endpoint), parameters)

    asyncio.run(both())


def test_an_equal_trial_on_the_same_machines_reuses_the_calibration_and_says_so(tmp_path: Path) -> None:
    kept, machine = Calibrations(), Machine([FAST, FAST, FAST])
    first, second, other, booted = (tmp_path / name for name in ("first", "second", "other", "booted"))
    trial(machine.site(first, kept.of("a/1", "small", ["boot"])))
    trial(replace(machine.site(second, kept.of("b/1", "small", ["boot"])), seed=99))
    assert machine.asked == ["load-calibration", "load-run", "load-run"]
    assert (second / "load-calibration.stdout").read_bytes() == FAST
    assert (second / "load-calibration.from").read_text() == "a/1\n"
    assert not (first / "load-calibration.from").exists()
    trial(machine.site(other, kept.of("c/1", "small", ["boot"])), PARAMETERS.model_copy(update={"connections": 3}))
    trial(machine.site(booted, kept.of("d/1", "small", ["another boot"])))
    assert machine.asked.count("load-calibration") == 3


def test_a_calibration_that_would_reject_a_later_trial_is_made_again(tmp_path: Path) -> None:
    kept, machine = Calibrations(), Machine([SLOW])
    own = kept.of("a/1", "small", ["boot"])
    own.keep(Tpcc().calibrated_load(machine.site(tmp_path / "x", own), Endpoint("", {}, "", ""), PARAMETERS), SLOW)
    machine.null = [FAST]
    trial(machine.site(tmp_path / "y", kept.of("b/1", "small", ["boot"])))
    assert machine.asked == ["load-run", "load-calibration"]
    assert (tmp_path / "y" / "load-calibration.stdout").read_bytes() == FAST
    assert not (tmp_path / "y" / "load-calibration.from").exists()


def test_a_slow_calibration_is_kept_for_nobody(tmp_path: Path) -> None:
    kept, machine = Calibrations(), Machine([SLOW, FAST])
    for name in ("a", "b"):
        trial(machine.site(tmp_path / name, kept.of(f"{name}/1", "small", ["boot"])))
    assert machine.asked == ["load-calibration", "load-run"] * 2


@pytest.mark.parametrize("boots", [["boot", None], [None]])
def test_nothing_is_kept_of_machines_that_cannot_be_told_apart(tmp_path: Path, boots: list[str | None]) -> None:
    kept, machine = Calibrations(), Machine([FAST, FAST])
    for name in ("a", "b"):
        trial(machine.site(tmp_path / name, kept.of(f"{name}/1", "small", boots)))
    assert machine.asked.count("load-calibration") == 2


def test_a_search_always_calibrates(tmp_path: Path) -> None:
    kept, machine = Calibrations().of("a/1", "small", ["boot"]), Machine([FAST])
    parameters = HighestLoadParameters()
    site, workload = machine.site(tmp_path / "a", kept), parameters.workload
    kept.keep(workload.calibrated_load(site, Endpoint("", {}, "", ""), parameters.closed()), FAST)
    asyncio.run(HighestLoad().prepare(site, parameters))
    assert machine.asked == ["load-calibration"]


@pytest.mark.parametrize(
    ("calibrations", "share", "sent", "calibrated"),
    [
        ([SLOW], 1.9, True, 1),
        ([SLOW, FAST], 5, True, 2),
        ([FAST, SLOW], 11, False, 2),
        ([SLOW, SLOW], 2.1, False, 2),
    ],
    ids=["slower than calibrated", "the first calibration was disturbed", "faster than both", "equal twice"],
)
def test_a_rate_that_cannot_be_sent_here_is_told_before_anything_is_measured(
    tmp_path: Path, calibrations: list[bytes], share: float, sent: bool, calibrated: int
) -> None:
    """`SLOW` has two times the round trips of a trial, `FAST` ten times."""
    rate_per_s = share * round_trips_per_s(json.loads(RUN.splitlines()[-1]))
    machine = Machine(list(calibrations))
    site = machine.site(tmp_path / "a", Calibrations().of("a/1", "small", ["boot"]))
    preparing = Kv().prepare(site, KvParameters(pace="constant", rate_per_s=rate_per_s))
    if sent:
        asyncio.run(preparing)
    else:
        with pytest.raises(ToolFailed, match=r"operations/s cannot be sent here: .* reach [\d,]+/s") as told:
            asyncio.run(preparing)
        assert "lower `rate_per_s`" in told.value.hint
    assert machine.asked == ["load-calibration"] * calibrated
