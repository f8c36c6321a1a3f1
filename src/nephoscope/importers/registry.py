"""Every importer of results by the name that the command line uses. To add one: its file, and its line here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from nephoscope.importers import perfkit, phoronix
from nephoscope.importers.cloud_report_tree import CLOUD_REPORT_TREE
from nephoscope.importers.files import FileFormat, read_files
from nephoscope.importers.imported import ImportedStudy
from nephoscope.importers.oltp_logs import COCKROACH, GO_TPC, HAMMERDB, YCSB
from nephoscope.importers.spare_cores import report as spare_cores
from nephoscope.importers.spare_cores import words as spare_cores_words
from nephoscope.importers.tool_files import FIO

_FILES = "a file, or a folder with PROVIDER/TYPE/... or CONFIGURATION/... below it"


@dataclass(frozen=True)
class Importer:
    """How to read one kind of other people's results."""

    what: str
    """One line for `nephoscope import --help`."""
    path: str
    """What PATH must be."""
    read: Callable[[Path], ImportedStudy]


def _of_files(form: FileFormat, what: str) -> Importer:
    return Importer(what, _FILES, lambda path: read_files(path, form))


IMPORTERS: Mapping[str, Importer] = {
    spare_cores_words.FORMAT: Importer(
        "Spare Cores: stress-ng by number of workers, and Redis, of cloud machine types.",
        "the folder that holds PROVIDER/TYPE/{lscpu,stressngfull,redis}/, or the SQLite file",
        spare_cores.read,
    ),
    CLOUD_REPORT_TREE.name: _of_files(
        CLOUD_REPORT_TREE,
        "Output trees of the Cloud Reports of 2021 and 2022: fio, CoreMark, netperf, TPC-C.",
    ),
    COCKROACH.name: _of_files(COCKROACH, "Logs of `cockroach workload run`: the tables at their end."),
    GO_TPC.name: _of_files(GO_TPC, "Logs of `go-tpc tpcc run`: the summary at their end."),
    HAMMERDB.name: _of_files(HAMMERDB, "Logs of HammerDB's timed TPROC-C: NOPM and TPM."),
    YCSB.name: _of_files(YCSB, "Output of YCSB clients: throughput and latencies."),
    FIO.name: _of_files(FIO, "JSON of fio 2 and 3: one trial per job."),
    perfkit.FORMAT: Importer(
        "Samples of PerfKitBenchmarker: newline-delimited JSON.", "the file of samples", perfkit.read
    ),
    phoronix.FORMAT: Importer(
        "Results of the Phoronix Test Suite: composite.xml.", "a composite.xml, or a folder of these", phoronix.read
    ),
}
