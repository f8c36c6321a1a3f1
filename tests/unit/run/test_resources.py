"""What machines did, from their samples."""

from nephoscope.model.records import CommandRecord
from nephoscope.run.resources import cpu_time, resource_use
from tests.support.evidence import sample

CPUS = {"cpu0": 0.0, "cpu1": 0.0}


def test_medians_over_seconds_of_the_cpus_that_were_measured() -> None:
    shares = {"cpus_busy_share": {"cpu0": 0.9, "cpu1": 0.5, "cpu2": 0.0}, "cpus_steal_share": {"cpu0": 0.06}}
    begins = sample(cpus_busy_share={"cpu0": 0.0, "cpu1": 0.0}, disk_busy_share=None, disk_write_bytes_per_s=None)
    busy = [sample(**shares, disk_busy_share=share, disk_write_bytes_per_s=5.0) for share in (0.3, 0.5)]
    quotas = zip(busy, (0.7, 0.9), strict=True)
    busy = [one.model_copy(update={"cpu_quota_used_up_share": share}) for one, share in quotas]
    (use,) = resource_use({"db": [begins, *busy], "never sampled": []}, {"db": ["cpu0", "cpu1"]})
    assert use.machine == "db"
    assert use.cpu_busy_share == (0.9 + 0.06 + 0.5) / 2
    assert use.disk_busy_share == 0.4
    assert use.disk_write_bytes_per_s == 5.0
    assert use.cpu_quota_used_up_share == 0.8
    assert use.sampled_s == sum(one.duration_s for one in [begins, *busy])


def test_each_command_that_left_output_is_a_phase() -> None:
    """Read, then write: the median over both says nothing of either."""
    begin_ms = 1_000_000
    seconds = [
        sample(at_s=second, duration_s=1.0, disk_busy_share=0.98 if second <= 4 else 0.1).model_copy(
            update={"at_unix_ms": begin_ms + 1000 * second}
        )
        for second in range(1, 10)
    ]

    def ran(output: str | None, after_s: int) -> CommandRecord:
        started_ms = begin_ms + 1000 * after_s
        return CommandRecord(
            argv=["x"], machine="db", started_unix_ms=started_ms, duration_s=4.0, exit_code=0, output=output
        )

    commands = [ran("fio-read", 0), ran("fio-write", 4), ran(None, 8)]
    (use,) = resource_use({"db": seconds}, {}, (), commands)
    shares = {name: (phase.disk_busy_share, phase.sampled_s) for name, phase in use.phases.items()}
    assert shares == {"fio-read": (0.98, 4.0), "fio-write": (0.1, 4.0)}
    (whole,) = resource_use({"db": seconds}, {}, (), commands[:1])
    assert whole.phases == {}, "one phase is the whole"


def test_without_a_mask_the_whole_machine_counts_and_never_more() -> None:
    (use,) = resource_use({"db": [sample(cpu_busy_share=0.98, cpu_steal_share=0.1)]}, {})
    assert use.cpu_busy_share == 1.0
    assert use.cpu_quota_used_up_share is None


def test_cpu_time_of_a_run_is_its_work_second_by_second_without_that_of_others() -> None:
    run = CommandRecord(
        argv=["stress-ng"], machine="db", started_unix_ms=1000, duration_s=3.5, exit_code=0, output="stress-ng"
    )
    seconds = [(1.0, 0.9), (1.0, 0.0), (0.5, 0.02), (0.5, None), (0.75, 0.9)]
    samples = [
        sample(at_unix_ms=1000 * at, cpu_busy_share=busy, cpus_busy_share=CPUS, foreign_cpus=others, kernel_cpus=0.04)
        for at, (busy, others) in enumerate(seconds, start=1)
    ]
    (series,) = cpu_time({"db": samples, "load": samples}, [run, run.model_copy(update={"output": None})])
    assert (series.at_unix_ms, series.step_s) == (1000, 1)
    assert series.values == [2000, 900, 1000], "the first and the last second are not whole within the run"
