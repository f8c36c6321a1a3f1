"""The soak: what it counts as wrong is found, its counts add up, and forty kills on every place leave nothing."""

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from bench.soak import inputs, kills, stored, tables
from bench.soak.places import MARK, PLACES, Place
from bench.soak.readers import READERS
from nephoscope.model.errors import NephoscopeError, OutputUnreadable
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import made_results

KILLS_BY_PLACE = 8
SEED = 1_000_000
"""Far from those that a soak counts."""


def faulty(path: Path) -> Callable[[random.Random], object]:
    """Refuses, fails, takes too much memory, dies and takes too long in turn, and reads the rest."""

    def read(_chance: random.Random) -> object:
        marks = path.parent
        number = len(list(marks.glob("read-*")))
        (marks / f"read-{number}").touch()
        match number:
            case 0:
                raise OutputUnreadable("damaged")
            case 1:
                raise KeyError("x")
            case 2:
                return bytes(2 << 30)
            case 3:
                os.abort()
            case 4:
                while True:
                    pass
        return None

    return read


def impossible(_path: Path) -> Callable[[random.Random], object]:
    raise TypeError


@pytest.mark.slow
def test_a_reader_that_cannot_be_made_is_no_harm_done_by_inputs(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="the reader impossible cannot be made"):
        inputs.one_round(impossible, "0", tmp_path, 7)


@pytest.mark.slow
def test_every_kind_of_harm_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    counts, lines = inputs.one_round(faulty, "0", tmp_path, 7, longest_s=1)
    assert counts == Counter(inputs=7, refused=1, uncaught=1, large=1, crashed=1, slow=1)
    assert [line.split(": ")[:2] for line in lines] == [
        ["input 1", "uncaught"],
        ["input 2", "large"],
        ["input 3", "crashed, exit code -6"],
        ["input 4", "slow, exit code -24"],
    ]


def test_what_is_lost_measured_twice_left_or_altered_is_counted(tmp_path: Path) -> None:
    folder = ResultsFolder(made_results(tmp_path / "r", {"slow": [100.0], "fast": [200.0]}).path)
    place = Place("", "", lambda: Counter(a=2, b=1), lambda: ["a disk"], 1.0)
    assert kills.judged(place, folder) == Counter(trials=2, lost=0, twice=1, left=1, altered=0)
    attempts = sorted(folder.every_attempt(), key=lambda one: one.folder)
    (attempts[0].folder / "status.json").unlink()
    (attempts[1].folder / "measurements.jsonl").write_text("")
    found = kills.judged(place, folder)
    assert found["lost"] >= 1


@pytest.mark.parametrize("kind", READERS)
def test_damaged_inputs_are_read_or_rejected(kind: str, tmp_path: Path) -> None:
    read = READERS[kind](tmp_path)
    for number in range(3):
        with suppress(NephoscopeError):
            read(random.Random(number))


def test_a_process_that_outlives_its_controller_is_left(tmp_path: Path) -> None:
    with PLACES["local"](tmp_path, 1) as place:
        environment = {**os.environ, MARK: str(tmp_path)}
        with subprocess.Popen(["sleep", "60"], env=environment) as process:
            assert place.left() == ["sleep 60 "]
            process.kill()
        assert place.left() == []


def test_rounds_add_up_in_the_stored_file(tmp_path: Path) -> None:
    path = tmp_path / "counts.json"
    for _ in range(2):
        found = stored.load(path)
        found.seconds += 1800
        found.add("kills on aws", Counter(kills=12, trials=6, lost=0), bad=False)
        found.add("damaged studies", Counter(inputs=1000, uncaught=1), bad=True)
        stored.save(found, path)
    found = stored.load(path)
    assert found.cells["kills on aws"] == stored.Cell(2, Counter(kills=24, trials=12, lost=0), [])
    assert tables.kills_reached(found) == "24: 0 trials lost, 0 measured twice, 0 things left, 0 files altered"
    assert tables.inputs_reached(found).endswith("2 uncaught, 0 over 10 s, 0 over 1 GiB; damaged studies: seeds 0, 1")
    assert "1.0 hours" in tables.tables(found)


def test_a_second_soak_does_not_use_the_same_seeds(tmp_path: Path) -> None:
    with stored.alone(tmp_path / "counts.json"):  # noqa: SIM117 - the second is held off by the first
        with pytest.raises(BlockingIOError), stored.alone(tmp_path / "counts.json"):
            pass


def test_nothing_is_counted_that_must_not_happen() -> None:
    found = stored.load()
    assert found.total("kills on ", "kills") > 0
    bad = {name: cell.bad_seeds for name, cell in found.cells.items() if cell.bad_seeds}
    assert bad == {}
    assert {name.removeprefix("kills on ") for name in found.cells if name.startswith("kills on ")} == set(PLACES)


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", [pytest.param(name, marks=pytest.mark.root if name == "emulated" else ()) for name in PLACES]
)
def test_eight_kills_on_each_of_five_places_lose_nothing_and_leave_nothing(place: str, tmp_path: Path) -> None:
    seed, total = SEED, Counter[str]()
    while total["kills"] < KILLS_BY_PLACE:
        path = tmp_path / str(seed)
        path.mkdir()
        total += kills.one_round(place, seed, path, KILLS_BY_PLACE - total["kills"])
        seed += 1
    assert {what: total[what] for what in kills.BAD} == dict.fromkeys(kills.BAD, 0)
    sys.stdout.write(f"{total['kills']} kills, {total['trials']} trials\n")
