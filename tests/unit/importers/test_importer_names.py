"""The command line names importers without loading them, so their names are written twice."""

from nephoscope.importers import perfkit, phoronix, postgresbench
from nephoscope.importers.cloud_report_tree import CLOUD_REPORT_TREE
from nephoscope.importers.oltp_logs import COCKROACH, GO_TPC, HAMMERDB, YCSB
from nephoscope.importers.registry import IMPORTERS
from nephoscope.importers.spare_cores import words
from nephoscope.importers.tool_files import FIO


def test_an_importer_is_registered_by_the_name_that_its_source_states() -> None:
    forms = (CLOUD_REPORT_TREE, COCKROACH, GO_TPC, HAMMERDB, YCSB, FIO)
    folders = {words.FORMAT, perfkit.FORMAT, phoronix.FORMAT, postgresbench.FORMAT}
    assert set(IMPORTERS) == folders | {form.name for form in forms}
