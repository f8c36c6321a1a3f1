"""Load of others during the whole trial, on 1, 2 and all CPUs of the mask."""

from collections.abc import Sequence

import pytest

from nephoscope.checks.interference import ForeignLoad, ForeignUse, foreign_use
from nephoscope.model.records import ForeignProcess, TelemetrySample, VerdictKind
from tests.support.evidence import evidence, facts, sample

CPUS = ("cpu0", "cpu1", "cpu2", "cpu3")


def seconds(foreign: Sequence[float | None], busy: Sequence[float] = (1, 1, 1, 1)) -> list[TelemetrySample]:
    """One sample each second, with CPUs that others kept busy."""
    shares = dict(zip(CPUS, busy, strict=True))
    return [
        sample(at_s=at, foreign_cpus=cpus, cpus_busy_share=shares, cpus_interrupt_share=dict.fromkeys(CPUS, 0.0))
        for at, cpus in enumerate(foreign, start=1)
    ]


def judged(samples: Sequence[TelemetrySample], mask: Sequence[str] = CPUS) -> ForeignUse:
    found = foreign_use(samples, mask, whole_machine=False)
    assert found is not None
    return found


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_limit_on_the_mean_of_the_mask(count: int) -> None:
    """The rest of the machine is idle, so that all that others did was on the mask."""
    busy = [1.0] * count + [0.0] * (4 - count)
    below, above = (seconds([count * share] * 10, busy) for share in (0.045, 0.055))
    assert not judged(below, CPUS[:count]).loud
    assert judged(above, CPUS[:count]).loud


@pytest.mark.parametrize(("mask", "loud"), [(CPUS[:1], False), (CPUS[:2], False), (CPUS, True)])
def test_load_beside_the_mask_is_not_load_on_it(mask: Sequence[str], loud: bool) -> None:
    """Half of cpu3 is in use by others; a limit of its own judges the CPUs outside the mask."""
    assert judged(seconds([0.5] * 10, (1, 1, 0, 0.5)), mask).loud is loud


def test_load_on_the_mask_is_seen_though_others_are_beside_it_too() -> None:
    found = judged(seconds([0.9] * 10, (1, 0, 0, 0.5)), CPUS[:1])
    assert found.mean_share == pytest.approx(0.4)
    interrupts = [
        one.model_copy(update={"cpus_interrupt_share": {"cpu3": 0.3}}) for one in seconds([0.9], (1, 0, 0, 0.5))
    ]
    assert judged(interrupts, CPUS[:1]).mean_share == pytest.approx(0.7)


@pytest.mark.parametrize(
    "load",
    [[0.0] * 8 + [4.0, 4.0], [4.0, 4.0] + [0.0] * 8, [0.0, 4.0] * 5],
    ids=["late", "ends early", "on and off"],
)
def test_load_in_a_part_of_the_trial(load: list[float]) -> None:
    assert judged(seconds(load)).loud


def test_a_burst_counts_if_it_is_longer_than_a_hundredth_and_two_seconds() -> None:
    def after(burst: int, of: int) -> bool:
        return judged(seconds([1.2] * burst + [0.0] * (of - burst))).loud

    assert (after(1, 60), after(2, 60), after(2, 200), after(3, 200), after(3, 290)) == (False, True, False, True, True)
    assert not judged(seconds([0.9] * 2 + [0.0] * 58)).loud, "below a quarter of four CPUs"


def test_noise_of_single_seconds_cancels_out() -> None:
    assert judged(seconds([0.6, -0.6] * 30)).mean_share == 0


def test_intervals_that_are_not_known_are_left_out() -> None:
    assert judged(seconds([None, 0.4, None])).mean_share == pytest.approx(0.1)
    assert foreign_use(seconds([None]), CPUS, whole_machine=False) is None
    assert foreign_use([], CPUS, whole_machine=False) is None


def test_an_emulated_machine_is_judged_with_all_parts_of_the_real_one() -> None:
    samples = seconds([0.8] * 10)
    found = foreign_use(samples, CPUS[:1], whole_machine=True)
    assert found is not None
    assert found.mean_share == pytest.approx(0.2)
    assert judged(samples, CPUS[:1]).mean_share == 0, "its siblings' work beside its mask would hide that of others"


def test_the_loudest_are_named() -> None:
    load = seconds([0.0] + [0.96] * 9)
    burn = [
        ForeignProcess(pid=4711, name="python3 burn.py", cpu_s=0.95),
        ForeignProcess(pid=7, name="cron", cpu_s=0.01),
    ]
    load[1:] = [one.model_copy(update={"foreign_processes": burn, "foreign_named_s": 0.96}) for one in load[1:]]
    said = judged(load).said
    assert said.startswith(
        "others used 96 % of one CPU for 9 of 10 s: python3 burn.py (pid 4711) 95 % (limit 5 % on"
    ), said
    unseen = [one.model_copy(update={"foreign_processes": [], "foreign_named_s": 0.0}) for one in load]
    assert "96 % by processes that ended or are not visible from here" in judged(unseen).said
    assert "others used 3.0 CPUs for 10 of 10 s (limit" in judged(seconds([3.0] * 10)).said


def test_the_verdict_of_the_check() -> None:
    """Two busy loops for 9 of 10 s, on a machine whose mask is all CPUs."""
    load = seconds([0.0] + [1.9] * 9)
    all_cpus = {"measured_cpus": {"db": list(CPUS)}, "facts_before": facts()}
    verdict = ForeignLoad()(evidence(telemetry={"db": load}, **all_cpus))
    assert (verdict.verdict, str(verdict.reason).startswith("db: others used 1.9 CPUs for 9 of 10 s")) == (
        VerdictKind.INVALID,
        True,
    )
    quiet = ForeignLoad()(evidence(telemetry={"db": seconds([0.01] * 10)}, **all_cpus))
    assert (quiet.verdict, "others used 0.25 % of its CPU time" in str(quiet.reason)) == (VerdictKind.VALID, True)
    old = ForeignLoad()(evidence(telemetry={"db": seconds([None] * 10)}, **all_cpus))
    assert (old.verdict, "others" in str(old.reason)) == (VerdictKind.VALID, False)
