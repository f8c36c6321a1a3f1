"""The page about three clouds says what its data say, and the claims that it must decide are decided."""

from nephoscope.model.rows import FamilyComparison, Statistic
from tests.docs import three_clouds
from tests.support.shared_data import shared


def test_the_page_is_what_the_data_say() -> None:
    study = three_clouds.analysed(shared("inspector"))
    assert three_clouds.PAGE.read_text(encoding="utf-8") == three_clouds.page(study)
    rows = {(row.left, row.right, row.metric): str(row.verdict) for row in study[FamilyComparison]}
    one, every = "bogo_ops_per_s_one_worker", "bogo_ops_per_s"
    assert rows["Ice Lake", "Milan", every] == rows["Ice Lake", "Milan", one] == "worse"
    assert rows["Ice Lake", "Milan", "sets_per_s_pipeline_1"] == "better"
    assert {rows["Naples", "all other designs", metric] for metric, _ in three_clouds.METRICS} == {"worse"}
    assert rows["large types with one NUMA node", "small types", every] == "tie"
    per_vcpu = [row for row in study[Statistic] if (row.metric, row.per_cpu) == (every, True)]
    first = sorted(per_vcpu, key=lambda row: -row.median)
    assert [row.configuration for row in first[:2]] == ["gcp-t2d-standard-32", "gcp-t2d-standard-8"]
    assert 1.94 < first[1].median / first[2].median < 1.96
