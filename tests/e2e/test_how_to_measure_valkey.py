"""The how-to for Valkey as a reader follows it: each way to keep data on one machine, and replicas on emulated hosts.

How fast it is on a busy machine proves nothing, so trials are read whatever their verdict.
"""

import re
from pathlib import Path

import pytest

from nephoscope.benchmarks.load import output as load_output
from nephoscope.benchmarks.load.benchmark import FIXTURE, RUN
from nephoscope.store.attempt import Attempt
from tests.docs import pages
from tests.support.changed_studies import changed, run_to_report
from tests.support.real_parts import needs

pytestmark = [pytest.mark.slow, needs("redis-server", "nephoscope-load")]
PAGE = pages.ROOT / "docs" / "how-to" / "measure-valkey.md"
ONCE = "replicates = 1\nrepeat_rejected = 0\n"
NAMED = 'name = "valkey-replicas"\n'
NODE = '[[machine_types]]\nname = "node"\nvcpus = 1\nmemory_gib = 1\n'
EMULATED = (
    (NAMED, f"{NAMED}\n{NODE}"),
    ('database_machine = { hosts = ["db1", "db2", "db3"] }', 'database_machine = { type = "node", count = 3 }'),
    (
        'database_machine = { hosts = ["db1", "db2", "db3", "db4", "db5", "db6"] }',
        'database_machine = { type = "node", count = 6 }',
    ),
    ('load_machine = { hosts = ["load"] }', 'load_machine = { type = "node" }'),
    ('provider = "ssh"', 'provider = "emulated"'),
    ("read_percent = 50 }", "read_percent = 50, ramp_s = 1, duration_s = 5 }"),
)


def measured(name: str, changes: tuple[tuple[str, str], ...], tmp_path: Path) -> dict[str, Attempt]:
    """The attempt of each configuration of the page's study of this name."""
    (text,) = (study for _, study in pages.studies(PAGE.read_text(encoding="utf-8")) if f'"{name}"' in study)
    literal = ((re.escape(said), becomes) for said, becomes in changes)
    folder = run_to_report(ONCE + changed(text, literal), tmp_path, timeout_s=900)
    return {planned.intent.configuration["name"]: trial.attempts()[-1] for planned, trial in folder.planned()}


def require_right(attempt: Attempt) -> None:
    """All rows were loaded, nothing failed, and the servers counted what the load generator counted."""
    raw = attempt.raw()
    loaded, run = (load_output.read(raw[f"{name}.stdout"]).finished for name in (FIXTURE, RUN))
    assert sum(table.rows for table in loaded.tables) == 100_000
    assert (run.exit_code, run.errors) == (0, [])
    assert run.counters
    assert all(row.agrees for row in run.counters)
    assert all(row.holds for row in (*loaded.conditions, *run.conditions))


def test_each_way_to_keep_data_is_in_force(tmp_path: Path) -> None:
    done = measured("valkey-persistence", (("duration_s = 60", "ramp_s = 1, duration_s = 4"),), tmp_path)
    for attempt in done.values():
        require_right(attempt)
    kept = {name: attempt.settings() for name, attempt in done.items()}
    assert {name: (of["appendonly"], of["appendfsync"], of["save"]) for name, of in kept.items()} == {
        "synced-each-second": ("yes", "everysec", ""),
        "synced-each-write": ("yes", "always", ""),
        "snapshots": ("no", "everysec", "60 1000"),
        "memory-only": ("no", "everysec", ""),
    }


@pytest.mark.root
def test_masters_with_replicas_and_without_on_emulated_hosts(tmp_path: Path) -> None:
    done = measured("valkey-replicas", EMULATED, tmp_path)
    for attempt in done.values():
        require_right(attempt)
    alone, followed = done["three-masters"], done["three-masters-with-replicas"]
    assert {attempt.settings()["masters"] for attempt in (alone, followed)} == {"3"}
    assert not alone.replication("before")
    states = followed.replication("before") or {}
    # Each follows the master of the next machine, which is in the next zone.
    assert states == {f"replica database-{3 + n}": f"connected to database-{n % 3 + 1}" for n in (1, 2, 3)}
    assert states == followed.replication("after")
