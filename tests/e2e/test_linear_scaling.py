"""A sharded database over emulated hosts of fixed quota: driven, fitted, told and drawn; copies of one do not grow."""

import json
from pathlib import Path

import pytest

from tests.support.command_line import nephoscope
from tests.support.real_parts import needs

pytestmark = [pytest.mark.root, pytest.mark.slow, needs("redis-server", "postgres", "nephoscope-load")]

SHIPPED = Path(__file__).parents[2] / "studies" / "linear-scaling.toml"
SCALED = (("duration_s = 8", "duration_s = 3"), ("rows = 20_000", "rows = 2_000"), ("replicates = 4", "replicates = 1"))


def scaled_down(folder: Path) -> Path:
    """The shipped study, shorter."""
    text = SHIPPED.read_text(encoding="utf-8")
    for whole, small in SCALED:
        assert whole in text
        text = text.replace(whole, small)
    file = folder / "linear-scaling.toml"
    file.write_text(text, encoding="utf-8")
    return file


def test_masters_grow_and_copies_do_not(tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = nephoscope("run", scaled_down(tmp_path), "--out", out, timeout_s=900)
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    done: dict[tuple[str, str], float] = {}
    for trial in out.glob("trials/*"):
        intent = json.loads((trial / "trial.json").read_text())
        rows = (trial / "attempts" / "1" / "measurements.jsonl").read_text().splitlines()
        (rate,) = (
            row["value"]
            for row in map(json.loads, rows)
            if row["metric"] == "operations_per_s" and row.get("at_s") is None
        )
        done[intent["configuration"]["name"], intent["benchmark"]["name"]] = rate
    assert done["valkey-6", "kv95"] > 1.4 * done["valkey-3", "kv95"], done
    assert done["postgres-3", "kv0"] < 1.1 * done["postgres-1", "kv0"], done
    assert nephoscope("report", out).exit_code == 0
    page = (out / "report" / "index.html").read_text(encoding="utf-8")
    assert "over the number of machines" in page
