"""The table of what bound a benchmark."""

from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.rows import BoundRow
from nephoscope.model.subjects import Subject
from nephoscope.report.lookup import Lookup
from nephoscope.report.parts import Book, Table
from nephoscope.report.sections.bounds import bounds_table
from tests.support.report_folder import evidence_page
from tests.unit.report.report_example import laptop


def bounds(study: AnalysedStudy) -> Table | None:
    (benchmark,) = [row for row in study.benchmarks if row.benchmark == "tpcc"]
    return bounds_table(Book(Lookup.of(study)), benchmark)


def test_each_configuration_says_what_bound_it() -> None:
    study = laptop()
    assert bounds(study) is None
    row = BoundRow(
        configuration="local-all",
        benchmark="tpcc",
        subject=Subject.DATABASE,
        n=2,
        cpu_bound=1,
        disk_bound=1,
        neither=0,
        unknown=0,
        cpu_busy_share=0.934,
        cpu_quota_used_up_share=None,
        disk_busy_share=None,
        disk_read_bytes_per_s=None,
        disk_write_bytes_per_s=3 * 2**20,
        network_receive_bytes_per_s=0,
        network_send_bytes_per_s=0,
        trials=[study.trials[0].trial],
    )
    assert "Quota used up" not in str(bounds(study.model_copy(update={"bounds": [row]})))
    with_quota = row.model_copy(update={"cpu_quota_used_up_share": 0.977})
    page = evidence_page(study.model_copy(update={"bounds": [with_quota]}))
    assert page.count("<h4>What limited tpcc</h4>") == 1
    for text in ("CPU-bound 1, disk-bound 1", "93 %", "3 MiB/s", "Quota used up", "98 %"):
        assert text in page
