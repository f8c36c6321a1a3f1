"""A real Aerospike on emulated hosts: the how-to followed literally, and the qualification with fewer objects."""

import os
from pathlib import Path

import pytest

from nephoscope.benchmarks.database.highest_load import CONDITIONING, HighestLoad, HighestLoadParameters, read_search
from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.benchmarks.search.levels import Outcome
from nephoscope.store.folder import ResultsFolder
from tests.docs import pages
from tests.support.changed_studies import changed, run_to_report
from tests.support.real_parts import needs_server_in

pytestmark = [*needs_server_in("NEPHOSCOPE_ASD"), pytest.mark.root]
ONCE = "replicates = 1\nrepeat_rejected = 0\n"
PROGRAM = os.environ.get("NEPHOSCOPE_ASD", "")


def measured(text: str, changes: tuple[tuple[str, str], ...], tmp_path: Path) -> ResultsFolder:
    """The results of a study with this test's server."""
    return run_to_report(changed(text, (*changes, (r'"~/asd"', f'"{PROGRAM}"'))), tmp_path)


def test_the_how_to_followed_literally(tmp_path: Path) -> None:
    """Its study as it stands, but for the server's program and a minute of load."""
    ((_, text),) = pages.studies((pages.ROOT / "docs/how-to/measure-aerospike.md").read_text())
    shorter = ("ramp_s = 10, duration_s = 60", "ramp_s = 2, duration_s = 10")
    folder = measured(text, (shorter, (r'(name = "aerospike-small")', r"\1\n" + ONCE)), tmp_path)
    ((_, trial),) = folder.planned()
    (attempt,) = trial.attempts()
    raw = attempt.raw()
    loaded, run = (load_output.read(raw[f"{name}.stdout"]).finished for name in (FIXTURE, RUN))
    assert [table.rows for table in loaded.tables] == [100_000]
    assert (run.exit_code, load_output.count(load_output.read(raw[f"{RUN}.stdout"]), outcomes=("failed",))) == (0, 0)
    assert run.counters
    assert all(row.agrees for row in run.counters)
    assert all(row.holds for row in run.conditions)
    states = attempt.replication("before") or {}
    assert len(states) == 3
    assert states == attempt.replication("after")


FEWER = (
    ("replicates = 3.*", ONCE),
    (r'\[\[configurations\]\]\nname = "small"\n.*\n\n', ""),
    (r"memory_gib = 0\.0048", "memory_gib = 0.0012"),
    ("conditioning_operations_per_row = 3", "conditioning_operations_per_row = 12"),
    ("confirmation_s = 10", "confirmation_s = 5"),
    ("point_s = 8", "point_s = 4"),
)
"""A quarter of the objects, four times as long; the larger machine, once."""


def test_the_qualification_with_fewer_objects(tmp_path: Path) -> None:
    """A search on three servers that defragment; a busy machine may leave it without a level, and it then says so."""
    folder = measured((pages.ROOT / "studies/aerospike-qualification.toml").read_text(), FEWER, tmp_path)
    ((planned, trial),) = folder.planned()
    (attempt,) = trial.attempts()
    parameters = HighestLoadParameters.model_validate(planned.intent.benchmark.parameters)
    search = read_search(attempt.raw(), parameters)
    assert len(search.points) >= 5
    asked = {one.what: one for one in HighestLoad().operations(attempt.raw(), parameters, None).requirements}
    assert f"{CONDITIONING}-001.stdout" in attempt.raw()
    assert asked["operations per row before the search"].limit == 12
    assert asked["operations per row before the search"].met
    found = search.ended.outcome is Outcome.FOUND
    assert found == (search.ended.level is not None)
    assert asked["operations per row in the confirmations"].met or not found
    assert all(row.agrees for one in search.decisive for row in one.output.finished.counters)
