"""CPUs that others kept busy, from what the machine and the trial used."""

import pytest

from nephoscope.machines.foreign import Loud, Moment, Others, Used, foreign_of


def used(user_s: float, **changes: object) -> Used:
    values = {"complete": True, "kernel_visible": True, "over_limit": False, "others": None, "system_us": 0}
    return Used.model_validate({"user_us": round(user_s * 1e6), **values, **changes})


def others(kernel_s: float, visible_s: float = 0.0, *loud: tuple[int, str, float]) -> Others:
    loudest = [Loud(pid=pid, name=name, cpu_us=round(cpu_s * 1e6)) for pid, name, cpu_s in loud]
    return Others(kernel_us=round(kernel_s * 1e6), visible_us=round(visible_s * 1e6), loudest=loudest)


def moment(at_s: float, busy_s: float, trial: Used | None, *, system_s: float = 0.0, irq_s: float = 0.0) -> Moment:
    return Moment(at_s, busy_s, system_s, irq_s, trial)


def cpus(*moments: Moment) -> list[float | None]:
    return [one.cpus if one.cpus is None else round(one.cpus, 6) for one in foreign_of(moments)]


def test_others_used_what_the_trial_did_not() -> None:
    assert cpus(moment(0, 5, used(0)), moment(1, 7, used(1.5)), moment(3, 9, used(3.5))) == [0.5, 0]
    assert cpus(moment(0, 0, used(0)), moment(1, 1, used(1.01))) == [-0.01], "two clocks: noise goes both ways"
    assert foreign_of([moment(0, 0, used(0))]) == foreign_of([]) == []


def test_interrupts_are_not_blamed_on_anybody() -> None:
    (one,) = foreign_of([moment(0, 0, used(0)), moment(1, 1, used(1), irq_s=0.4)])
    assert (one.cpus, one.kernel_cpus) == (0, 0.4)


def test_kernel_threads_are_taken_off_the_intervals_since_they_were_last_read() -> None:
    """0.3 s of a worker that wrote the trial's pages back, most of it in the second that was over the limit."""
    read = used(2.0, others=others(0.3))
    assert cpus(moment(0, 0, used(0)), moment(1, 1.1, used(1)), moment(2, 2.4, read)) == [0.025, 0.075]
    (one,) = foreign_of([moment(0, 0, used(0)), moment(1, 0.1, used(0, others=others(9.0)))])
    assert (one.cpus, one.kernel_cpus) == pytest.approx((0, 0.1)), "never more than there was"


def test_an_interval_over_the_limit_whose_kernel_threads_were_never_read_says_nothing() -> None:
    assert cpus(moment(0, 0, used(0)), moment(1, 1, used(0.5, over_limit=True))) == [None]
    later = moment(2, 2, used(1, over_limit=True, others=others(1.0)))
    assert cpus(moment(0, 0, used(0)), moment(1, 1, used(0.5, over_limit=True)), later) == [0, 0]


def test_where_the_kernel_is_not_visible_only_user_mode_counts() -> None:
    """Write-back of the trial's pages looks like an invisible process, but has no time in user mode."""
    hidden = {"kernel_visible": False, "over_limit": True}
    first = moment(0, 0, used(0))
    assert cpus(first, moment(1, 1, used(0.9, **hidden), system_s=0.8)) == [pytest.approx(0.1)]
    assert cpus(first, moment(1, 1, used(0.2, system_us=800_000, **hidden), system_s=0.8)) == [0.8]


def test_an_interval_in_which_a_process_vanished_says_nothing() -> None:
    gone = used(0.2, complete=False)
    assert cpus(moment(0, 0, used(0)), moment(1, 1, gone), moment(2, 2, used(1.2))) == [None, 0]


def test_intervals_between_two_readings_share_one_value() -> None:
    found = foreign_of([moment(0, 0, used(0)), moment(1, 1, None), moment(2, 2, used(1, others=others(0, 0.9)))])
    assert [(one.cpus, one.named_s) for one in found] == [(0.5, None), (0.5, 0.9)]
    assert cpus(moment(0, 0, None), moment(1, 1, None)) == [None], "not observed"


def test_the_loudest_are_named_with_their_cpu_time() -> None:
    read = used(0, others=others(0, 0.95, (4711, "python3 burn.py", 0.9), (5, "cron", 0.05)))
    (one,) = foreign_of([moment(0, 0, used(0)), moment(1, 1, read)])
    assert [(each.pid, each.name, each.cpu_s) for each in one.processes] == [
        (4711, "python3 burn.py", 0.9),
        (5, "cron", 0.05),
    ]
