"""What machines did, from their samples."""

from nephoscope.run.resources import resource_use
from tests.support.evidence import sample


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


def test_without_a_mask_the_whole_machine_counts_and_never_more() -> None:
    (use,) = resource_use({"db": [sample(cpu_busy_share=0.98, cpu_steal_share=0.1)]}, {})
    assert use.cpu_busy_share == 1.0
    assert use.cpu_quota_used_up_share is None
