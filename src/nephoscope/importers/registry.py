"""Every importer of results by the name that the command line uses. To add one: its file, and its line here.

The modules of an importer load when it reads: the command line lists all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nephoscope.importers.files import FileFormat
    from nephoscope.importers.imported import ImportedStudy

_FILES = "a file, or a folder with PROVIDER/TYPE/... or CONFIGURATION/... below it"


@dataclass(frozen=True)
class Importer:
    """How to read one kind of other people's results."""

    what: str
    """One line for `nephoscope import --help`."""
    path: str
    """What PATH must be."""
    read: "Callable[[Path], ImportedStudy]"


def _of_files(form: "Callable[[], FileFormat]", what: str) -> Importer:
    def read(path: Path) -> "ImportedStudy":
        from nephoscope.importers.files import read_files

        return read_files(path, form())

    return Importer(what, _FILES, read)


def _cloud_report() -> "FileFormat":
    from nephoscope.importers.cloud_report_tree import CLOUD_REPORT_TREE

    return CLOUD_REPORT_TREE


def _cockroach() -> "FileFormat":
    from nephoscope.importers.oltp_logs import COCKROACH

    return COCKROACH


def _go_tpc() -> "FileFormat":
    from nephoscope.importers.oltp_logs import GO_TPC

    return GO_TPC


def _hammerdb() -> "FileFormat":
    from nephoscope.importers.oltp_logs import HAMMERDB

    return HAMMERDB


def _ycsb() -> "FileFormat":
    from nephoscope.importers.oltp_logs import YCSB

    return YCSB


def _fio() -> "FileFormat":
    from nephoscope.importers.tool_files import FIO

    return FIO


def _spare_cores(path: Path) -> "ImportedStudy":
    from nephoscope.importers.spare_cores.report import read

    return read(path)


def _perfkit(path: Path) -> "ImportedStudy":
    from nephoscope.importers.perfkit import read

    return read(path)


def _phoronix(path: Path) -> "ImportedStudy":
    from nephoscope.importers.phoronix import read

    return read(path)


IMPORTERS: Mapping[str, Importer] = {
    "spare-cores": Importer(
        "Spare Cores: stress-ng by number of workers, and Redis, of cloud machine types.",
        "the folder that holds PROVIDER/TYPE/{lscpu,stressngfull,redis}/, or the SQLite file",
        _spare_cores,
    ),
    "cloud-report": _of_files(
        _cloud_report, "Output trees of the Cloud Reports of 2021 and 2022: fio, CoreMark, netperf, TPC-C."
    ),
    "cockroach-workload": _of_files(_cockroach, "Logs of `cockroach workload run`: the tables at their end."),
    "go-tpc": _of_files(_go_tpc, "Logs of `go-tpc tpcc run`: the summary at their end."),
    "hammerdb": _of_files(_hammerdb, "Logs of HammerDB's timed TPROC-C: NOPM and TPM."),
    "ycsb": _of_files(_ycsb, "Output of YCSB clients: throughput and latencies."),
    "fio": _of_files(_fio, "JSON of fio 2 and 3: one trial per job."),
    "perfkit": Importer("Samples of PerfKitBenchmarker: newline-delimited JSON.", "the file of samples", _perfkit),
    "phoronix": Importer(
        "Results of the Phoronix Test Suite: composite.xml.", "a composite.xml, or a folder of these", _phoronix
    ),
}
