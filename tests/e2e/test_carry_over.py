"""What a trial leaves on machines that it shares changes nothing for the next: the same benchmark first and last."""

import math
from pathlib import Path
from statistics import median

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.store.folder import ResultsFolder
from tests.support.command_line import IMPATIENT, nephoscope
from tests.support.real_parts import needs

REPLICATES = 6
STUDY = f"""
name = "carry-over"
placement = "per-replicate"
replicates = {REPLICATES}
repeat_refused = 0
seed = 625 # in every replicate "between" is the second one

[[machine_types]]
name = "small"
vcpus = 1
memory_gib = 0.5
disk_gib = 5

[[configurations]]
name = "host"
provider = "emulated"
database_machine = {{ type = "small" }}
load_machine = {{ type = "small" }}
"""
STUDY += "".join(
    f"""
[[benchmarks]]
uses = "tpcc"
name = "{name}"
parameters = {{ warehouses = 1, ramp_s = 1, duration_s = {duration_s} }}
"""
    for name, duration_s in (("one", 8), ("two", 8), ("between", 12))
)
TPM = "new_orders_per_minute"
MARGIN = 0.015
"""Of a tie."""


@pytest.mark.slow
@pytest.mark.root
@needs("postgres", "nephoscope-load")
def test_the_same_benchmark_first_and_last_in_a_replicate_agrees(tmp_path: Path) -> None:
    """All six replicates on one side are an A/A error of 2 / 2 ** 6 = 3.1 %; a difference within a tie is none."""
    file, out = tmp_path / "study.toml", tmp_path / "out"
    file.write_text(STUDY)
    nephoscope("run", file, "--out", out, timeout_s=1800, program=IMPATIENT)
    folder = ResultsFolder.existing(out)
    analysis = evaluation.analyze(folder)
    values = {
        row.trial: row.value
        for row in analysis.measurements
        if row.metric == "new_orders_per_minute" and row.at_s is None
    }
    places: dict[int, list[tuple[int, str, float]]] = {}
    for intent in (planned.intent for planned, _ in folder.planned()):
        row = (intent.position, intent.benchmark.name, values[intent.id])
        places.setdefault(intent.replicate, []).append(row)
    changes = []
    for rows in places.values():
        (_, _, first), (_, between, _), (_, _, last) = sorted(rows)
        assert between == "between"
        changes.append(math.log(last / first))
    assert len(changes) == REPLICATES
    one_side = len({change > 0 for change in changes}) == 1
    assert not one_side or abs(median(changes)) < math.log1p(MARGIN), changes
    clusters = [trial.finished_attempts()[-1].lease() for _, trial in folder.planned()]
    assert len({lease.cluster for lease in clusters if lease}) == REPLICATES
