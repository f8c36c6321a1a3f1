"""A sharded database over emulated hosts of fixed quota: joined, driven, told by machines; copies of one do not grow.

How fast it is on a busy machine proves nothing, so trials are read whatever their verdict; the study itself decides.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import nephoscope
from tests.support.real_parts import needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("redis-server", "postgres", "nephoscope-load")]

SHIPPED = Path(__file__).parents[2] / "studies" / "linear-scaling.toml"
SCALED = (("duration_s = 8", "duration_s = 4"), ("rows = 20_000", "rows = 2_000"), ("replicates = 6", "replicates = 1"))


def scaled_down(folder: Path) -> Path:
    """The shipped study, shorter."""
    text = SHIPPED.read_text(encoding="utf-8")
    for whole, small in SCALED:
        assert whole in text
        text = text.replace(whole, small)
    file = folder / "linear-scaling.toml"
    file.write_text(text, encoding="utf-8")
    return file


def measured(out: Path) -> dict[tuple[str, str], dict[str, float]]:
    """(configuration, benchmark) -> its numbers."""
    found = {}
    for trial in out.glob("trials/*"):
        intent: dict[str, Any] = json.loads((trial / "trial.json").read_text())
        lines = (trial / "attempts" / "1" / "measurements.jsonl").read_text().splitlines()
        rows = [row for row in map(json.loads, lines) if row.get("at_s") is None]
        place = intent["configuration"]["name"], intent["benchmark"]["name"]
        found[place] = {row["metric"]: row["value"] for row in rows}
    return found


def quotas_used_up(out: Path) -> dict[bool, list[float | None]]:
    """Whether it is of a machine with a quota -> shares of its periods."""
    found: dict[bool, list[float | None]] = {True: [], False: []}
    for file in out.glob("trials/*/attempts/1/resources.jsonl"):
        for row in map(json.loads, file.read_text().splitlines()):
            found[row["machine"] != "load"].append(row["cpu_quota_used_up_share"])
    return found


def test_masters_grow_and_copies_do_not(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = nephoscope("run", scaled_down(tmp_path), "--out", out, timeout_s=900)
    rows = json.loads(nephoscope("status", out, "--json").stdout)
    assert {row["state"] for row in rows} == {"finished"}, ran.stdout + ran.stderr
    done = measured(out)
    rates = {place: numbers["operations_per_s"] for place, numbers in done.items()}
    assert {"read.service_p50", "read.service_p99"} <= done["valkey-6", "kv95"].keys()
    assert rates["valkey-6", "kv95"] > 1.15 * rates["valkey-3", "kv95"], rates
    assert rates["postgres-3", "kv0"] < 1.15 * rates["postgres-1", "kv0"], rates
    settings = {line for file in out.rglob("database-settings.tsv") for line in file.read_text().splitlines()}
    assert {"masters\t3", "masters\t6", "standby database-2\tstreaming quorum"} <= settings
    used_up = quotas_used_up(out)
    assert len(used_up[True]) == 3 + 6 + 1 + 3
    assert max(share for share in used_up[True] if share is not None) >= 0.9, (
        "a primary, or a master, is driven to its quota"
    )
    assert set(used_up[False]) == {None}, "a load machine has none"
    assert nephoscope("report", out).exit_code == 0
    if {"valkey-3", "valkey-6"} <= {row["configuration"] for row in rows if row["verdict"] == "valid"}:
        assert "over the number of machines" in (out / "report" / "evidence.html").read_text(encoding="utf-8")
