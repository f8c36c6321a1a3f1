"""Every importer of results by the name that the command line uses. To add one: its file, and its line here.

The modules of an importer load when it reads: the command line lists all of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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


def _spare_cores(path: Path) -> "ImportedStudy":
    from nephoscope.importers.spare_cores.report import read

    return read(path)


def _postgresbench(path: Path) -> "ImportedStudy":
    from nephoscope.importers.postgresbench import read

    return read(path)


def _perfkit(path: Path) -> "ImportedStudy":
    from nephoscope.importers.perfkit import read

    return read(path)


def _phoronix(path: Path) -> "ImportedStudy":
    from nephoscope.importers.phoronix import read

    return read(path)


def _of_files(module: str, form: str, what: str) -> Importer:
    def read(path: Path) -> "ImportedStudy":
        from nephoscope.importers.files import read_files

        return read_files(path, getattr(import_module(f"nephoscope.importers.{module}"), form))

    return Importer(what, _FILES, read)


IMPORTERS: Mapping[str, Importer] = {
    "spare-cores": Importer(
        "Spare Cores: PostgreSQL, Redis, CPU, memory and web server of cloud machine types.",
        "the folder that holds PROVIDER/TYPE/TASK/{stdout,meta.json}, or the SQLite file",
        _spare_cores,
    ),
    "postgresbench": Importer(
        "PostgresBench: pgbench's TPC-B on managed PostgreSQL services.",
        "the folder that holds SERVICE/results/*.json, or one of the files",
        _postgresbench,
    ),
    "cloud-report": _of_files(
        "cloud_report_tree",
        "CLOUD_REPORT_TREE",
        "Output trees of the Cloud Reports of 2021 and 2022: fio, CoreMark, netperf, TPC-C.",
    ),
    "cockroach-workload": _of_files(
        "oltp_logs", "COCKROACH", "Logs of `cockroach workload run`: the tables at their end."
    ),
    "go-tpc": _of_files("oltp_logs", "GO_TPC", "Logs of `go-tpc tpcc run`: the summary at their end."),
    "hammerdb": _of_files("oltp_logs", "HAMMERDB", "Logs of HammerDB's timed TPROC-C: NOPM and TPM."),
    "ycsb": _of_files("oltp_logs", "YCSB", "Output of YCSB clients: throughput and latencies."),
    "fio": _of_files("tool_files", "FIO", "JSON of fio 2 and 3: one trial per job."),
    "perfkit": Importer("Samples of PerfKitBenchmarker: newline-delimited JSON.", "the file of samples", _perfkit),
    "phoronix": Importer(
        "Results of the Phoronix Test Suite: composite.xml.", "a composite.xml, or a folder of these", _phoronix
    ),
}
