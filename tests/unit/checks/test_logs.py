"""The gate from logs alone: every part is shown to refuse, to pass, and to say that it does not know."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nephoscope.checks.logs import (
    LOG_CHECKS,
    LogFacts,
    MachineType,
    Sibling,
    judge_by_siblings,
    judge_copy,
    judge_log,
    judge_overlap,
    judge_reads,
)
from nephoscope.checks.thresholds import EFFECTIVE_CPUS_MISSING
from nephoscope.checks.verdicts import overall
from nephoscope.model.records import Verdict, VerdictKind
from nephoscope.model.units import GIB

TYPE = MachineType(
    name="c5.4xlarge",
    vcpus=16,
    memory_gib=32,
    cpu_words=("Platinum 8124M", "Platinum 8275CL"),
    l3_kib=(25344, 36608),
    l3_documented=True,
    sockets_seen=1,
)
SEEN = TYPE.model_copy(update={"l3_documented": False})
NOTHING_KNOWN = MachineType(
    name="x", vcpus=None, memory_gib=None, cpu_words=(), l3_kib=(), l3_documented=False, sockets_seen=None
)


def shown(effective: float = 15.99, **more: object) -> LogFacts:
    values = {"stressor": "cpu", "workers": 16, "user_s": 60 * effective, "real_s": 60, "l3_kib": (25344,), **more}
    return LogFacts.model_validate(values)


CASES: list[tuple[str, LogFacts | None, MachineType | None, dict[str, str]]] = [
    ("healthy", shown(), TYPE, {}),
    ("no log", None, TYPE, {"cpu-log": "unknown"}),
    ("not CPU-bound", shown(stressor="hdd"), TYPE, {"cpu-log": "unknown"}),
    ("unknown type", shown(), None, {"machine-type": "unknown"}),
    ("unknown type, contended", shown(3.76), None, {"machine-type": "unknown", "cpu-contention": "invalid"}),
    ("4 CPUs of the right model", shown(4.0), TYPE, {"effective-cpus": "invalid"}),
    ("4 CPUs of another", shown(4.0, l3_kib=(46080,)), TYPE, {"effective-cpus": "invalid", "cpu-cache": "invalid"}),
    ("contended", shown(15.0 + 0.4), TYPE, {"effective-cpus": "invalid", "cpu-contention": "invalid"}),
    ("hardly any", shown(0.8), TYPE, {"effective-cpus": "invalid", "cpu-contention": "invalid"}),
    ("more than it has", shown(32, workers=32), TYPE, {"effective-cpus": "invalid"}),
    ("too few stressors", shown(8, workers=8), TYPE, {"effective-cpus": "unknown"}),
    ("too few, and contended", shown(7.5, workers=8), TYPE, {"effective-cpus": "invalid", "cpu-contention": "invalid"}),
    ("only the cache differs", shown(l3_kib=(46080,)), TYPE, {"cpu-cache": "invalid"}),
    ("a cache nobody documents", shown(l3_kib=(46080,)), SEEN, {}),
    ("a cache that lscpu rounded", shown(l3_kib=(36659,)), TYPE, {}),
    ("no cache printed", shown(l3_kib=()), TYPE, {}),
    ("another model", shown(cpu_models=("E5-2686 v4",)), TYPE, {"cpu-model": "invalid"}),
    ("the model", shown(cpu_models=("Intel(R) Xeon(R) PLATINUM 8124M CPU @ 3.00GHz",)), TYPE, {}),
    ("other vCPUs listed", shown(vcpus=4), TYPE, {"cpu-lines": "invalid"}),
    ("a large labelled 4xlarge", shown(2.0), TYPE, {"effective-cpus": "invalid"}),
    ("60 %", shown(9.6), TYPE, {"effective-cpus": "invalid", "cpu-contention": "invalid"}),
    ("a short phase", shown(15.0, user_s=15.0, real_s=1.0), TYPE, {}),
    (
        "a short phase, 60 %",
        shown(user_s=9.6, real_s=1.0),
        TYPE,
        {"effective-cpus": "invalid"},
    ),
    (
        "a phase of 10 s is no short one",
        shown(user_s=154, real_s=10.0),
        TYPE,
        {"effective-cpus": "invalid", "cpu-contention": "invalid"},
    ),
    ("hyperthreads off", shown(8.0, vcpus=8, threads_per_core=1), TYPE, {}),
    ("hyperthreads off, contended", shown(7.0, vcpus=8, threads_per_core=1), TYPE, {"effective-cpus": "invalid"}),
    (
        "half of the CPUs, two threads a core",
        shown(8.0, vcpus=8, threads_per_core=2),
        TYPE,
        {"effective-cpus": "invalid", "cpu-lines": "invalid"},
    ),
    ("a size without CPU options", shown(24.0, workers=24), TYPE.model_copy(update={"vcpus_of_size": 24}), {}),
    ("vCPUs listed", shown(vcpus=16, sockets=1), TYPE, {}),
    ("other sockets", shown(vcpus=16, sockets=16), TYPE, {}),
    (
        "nothing known",
        shown(cpu_models=("x",), vcpus=4, sockets=2),
        NOTHING_KNOWN,
        {"effective-cpus": "unknown"},
    ),
]


@pytest.mark.parametrize(("log", "known", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_is_refused(log: LogFacts | None, known: MachineType | None, expected: dict[str, str]) -> None:
    verdicts = judge_log(log, "c5.4xlarge", known)
    assert {one.check: str(one.verdict) for one in verdicts if one.verdict is not VerdictKind.VALID} == expected
    assert all(one.reason for one in verdicts)


def test_every_part_refuses_and_passes_somewhere() -> None:
    seen = {(one.check, one.verdict) for _, log, known, _ in CASES for one in judge_log(log, "x", known)}
    seen |= {("cache-served", judge_reads(size * GIB, "(none)", TYPE).verdict) for size in (8, 80)}
    seen |= {("same-machine", verdict.verdict) for _, verdict in told_by_siblings() if verdict}
    assert judge_overlap([]) is None
    seen |= {(one.check, one.verdict) for one in [judge_overlap(["two results"])] if one}
    seen.add(("repeated-log", judge_copy("aws/c5.4xlarge/20190912/0").verdict))
    assert {check for check, _ in seen} == set(LOG_CHECKS)
    for check in LOG_CHECKS.keys() - {"cpu-log", "machine-type", "concurrent-run", "repeated-log"}:
        assert {(check, VerdictKind.VALID), (check, VerdictKind.INVALID)} <= seen, check


def told_by_siblings() -> list[tuple[str | None, Verdict | None]]:
    valid, invalid, unknown = (
        Sibling(number=number, link="the same server 192.0.2.1", verdict=VerdictKind(kind))
        for number, kind in (("0", "valid"), ("2", "invalid"), ("3", "unknown"))
    )
    cases = {"valid": [valid, valid, unknown], "invalid": [invalid], "unknown": [valid, invalid], None: [unknown]}
    return [(kind, judge_by_siblings(siblings)) for kind, siblings in cases.items()]


def test_siblings_decide_when_they_agree() -> None:
    for expected, verdict in told_by_siblings():
        assert (verdict and str(verdict.verdict)) == expected
    assert "the same server 192.0.2.1 as run 0, 0: valid" in str(told_by_siblings()[0][1])


def test_what_decides_nothing_is_told() -> None:
    *_, cache, lines = judge_log(shown(l3_kib=(46080,), vcpus=16, sockets=16), "x", SEEN)
    assert "25344 or 36608 was observed on another c5.4xlarge" in str(cache.reason)
    assert str(cache.reason).endswith("not judged")
    assert str(lines.reason) == "16 vCPUs are listed; 16 sockets are listed, 1 was observed on c5.4xlarge: not judged"


@given(st.floats(0.01, 16.0))
def test_over_two_percent_missing_is_always_found(effective: float) -> None:
    verdict = overall(judge_log(shown(effective), "c5.4xlarge", TYPE))
    enough = effective >= 16 * (1 - EFFECTIVE_CPUS_MISSING.value)
    assert verdict is (VerdictKind.VALID if enough else VerdictKind.INVALID)


def test_what_is_not_known_never_refuses() -> None:
    for log in (case[1] for case in CASES if case[1] and "contended" not in case[0]):
        kinds = {one.verdict for one in judge_log(log, "x", NOTHING_KNOWN) if one.check != "cpu-contention"}
        assert VerdictKind.INVALID not in kinds


def test_reads_that_memory_can_serve_are_refused() -> None:
    assert judge_reads(8 * GIB, "(none)", TYPE).verdict is VerdictKind.INVALID
    assert judge_reads(80 * GIB, "(none)", TYPE).verdict is VerdictKind.VALID
    assert judge_reads(8 * GIB, "directio", TYPE).verdict is VerdictKind.VALID
    assert judge_reads(8 * GIB, "(none)", None).verdict is VerdictKind.UNKNOWN
