"""What a trial leaves on machines that it shares changes nothing for the next: the same benchmark first and last."""

import math
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean, median

import pytest

from nephoscope.checks.repeatable import Cause, Circumstances, repair_of
from nephoscope.machines.telemetry import parse_telemetry
from nephoscope.model.records import VerdictKind
from nephoscope.run.derive import TELEMETRY_PREFIX, TELEMETRY_SUFFIX
from nephoscope.store.attempt import Attempt
from nephoscope.store.folder import ResultsFolder
from tests.support.command_line import nephoscope
from tests.support.real_parts import needs

REPLICATES, LEAST_PAIRS, LEAST_VALID = 8, 6, 2
STUDY = f"""
name = "carry-over"
placement = "per-replicate"
replicates = {REPLICATES}
repeat_rejected = 0 # a repeat would come after the other trials
seed = 1844 # in every replicate "between" is the second one

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
DATABASE = "database-1"
TPM, PER_CPU_S = "New-Orders per minute", "New-Orders per second of the database's CPU"
MARGINS = {TPM: 0.015, PER_CPU_S: 0.05}
"""A smaller difference is a tie. CPU time is stretched by others that use the same caches, so it has the larger one."""
OUTSIDE = frozenset({Cause.LOAD, Cause.ACCIDENT, Cause.HOST})
"""Rejected for what others did to the machine."""


@pytest.mark.slow
@pytest.mark.root
@needs("postgres", "nephoscope-load")
def test_the_same_benchmark_first_and_last_in_a_replicate_agrees(tmp_path: Path) -> None:
    """All pairs on one side are an A/A error of 2 / 2 ** 6 = 3.1 % at most; a difference within a tie is none.

    Throughput is judged if enough pairs are valid. CPU time for each transaction is judged on all pairs, also those
    that others disturbed: it hardly depends on how much of the CPU they took. If nearly everything was disturbed, or a
    trial was rejected for anything else, nothing is shown, and the test fails.
    """
    file, out = tmp_path / "study.toml", tmp_path / "out"
    file.write_text(STUDY)
    nephoscope("run", file, "--out", out, timeout_s=3600)
    folder = ResultsFolder.existing(out)
    replicates: dict[int, list[tuple[int, str, Attempt]]] = defaultdict(list)
    clusters = set()
    for planned, trial in folder.planned():
        [attempt] = trial.finished_attempts()
        lease, intent = attempt.lease(), planned.intent
        assert lease is not None
        clusters.add(lease.cluster)
        assert inside(attempt) == [], "rejected for what it did itself"
        replicates[intent.replicate].append((intent.position, intent.benchmark.name, attempt))
    assert len(clusters) == REPLICATES
    pairs = []
    for rows in replicates.values():
        (_, _, first), (_, between, _), (_, _, last) = sorted(rows, key=lambda row: row[0])
        assert between == "between"
        pairs.append((first, last))
    valid = [pair for pair in pairs if all(attempt.valid() for attempt in pair)]
    assert len(valid) >= LEAST_VALID, f"{len(valid)} of {len(pairs)} pairs are valid: run it on a quieter machine"
    found = {TPM: changes(valid, TPM), PER_CPU_S: changes(pairs, PER_CPU_S)}
    for what, many in found.items():
        sys.stdout.write(f"{what}: {', '.join(f'{100 * change:+.1f} %' for change in many)}\n")
    assert len(found[PER_CPU_S]) >= LEAST_PAIRS
    for what, many in found.items():
        if len(many) >= LEAST_PAIRS:
            one_side = len({change > 0 for change in many}) == 1
            assert not one_side or abs(median(many)) < math.log1p(MARGINS[what]), (what, many)


def inside(attempt: Attempt) -> list[str]:
    """Checks that rejected a trial for something else than what others did to the machine.

    How a trial went does not matter if others explain it: a load generator whose CPUs are stolen is the limit.
    """
    verdicts = attempt.verdicts()
    unknown = [row.check for row in verdicts if row.verdict is VerdictKind.UNKNOWN]
    repair = repair_of(verdicts, Circumstances(own_machine=True, other_machine=False))
    return unknown if repair is None or repair.cause in OUTSIDE else [*repair.checks, *unknown]


def changes(pairs: Sequence[tuple[Attempt, Attempt]], what: str) -> list[float]:
    """Logarithms of last by first, of the pairs where both are known."""
    values = [(numbers(first).get(what), numbers(last).get(what)) for first, last in pairs]
    return [math.log(last / first) for first, last in values if first and last]


def numbers(attempt: Attempt) -> Mapping[str, float]:
    """Throughput, and throughput by the CPU time of the database's processes."""
    rows = attempt.measurements()
    [per_minute] = [row.value for row in rows if row.metric == "new_orders_per_minute" and row.at_s is None]
    telemetry = (attempt.raw_dir / f"{TELEMETRY_PREFIX}{DATABASE}{TELEMETRY_SUFFIX}").read_text(encoding="utf-8")
    samples = [one for one in parse_telemetry(telemetry) if one.foreign_cpus is not None]
    own = [sum(one.cpus_busy_share.values()) - (one.foreign_cpus or 0) - (one.kernel_cpus or 0) for one in samples]
    cpus = fmean(own) if own else 0.0
    return {TPM: per_minute, **({PER_CPU_S: per_minute / 60 / cpus} if cpus > 0 else {})}
