"""Every importer of results by the name that the command line uses. To add one: its file, and its line here.

The modules of an importer load when it reads: the command line lists all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
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
    reader: str
    """Its function, or the form of its files."""

    def read(self, path: Path) -> "ImportedStudy":
        """What is at a path.

        Raises:
            InputError: it cannot be read, or is of another kind.
        """
        reader = resolve_name(f"nephoscope.importers.{self.reader}")
        if callable(reader):
            study: ImportedStudy = reader(path)
            return study
        from nephoscope.importers.files import read_files

        return read_files(path, reader)


def _of_files(form: str, what: str) -> Importer:
    return Importer(what, _FILES, form)


IMPORTERS: Mapping[str, Importer] = {
    "spare-cores": Importer(
        "Spare Cores: PostgreSQL, Redis, CPU, memory and web server of cloud machine types.",
        "the folder that holds PROVIDER/TYPE/TASK/{stdout,meta.json}, or the SQLite file",
        "spare_cores.report:read",
    ),
    "postgresbench": Importer(
        "PostgresBench: pgbench's TPC-B on managed PostgreSQL services.",
        "the folder that holds SERVICE/results/*.json, or one of the files",
        "postgresbench:read",
    ),
    "cloud-report": _of_files(
        "cloud_report_tree:CLOUD_REPORT_TREE",
        "Output trees of the Cloud Reports of 2021 and 2022: fio, CoreMark, netperf, TPC-C.",
    ),
    "cockroach-workload": _of_files(
        "oltp_logs:COCKROACH", "Logs of `cockroach workload run`: the tables at their end."
    ),
    "go-tpc": _of_files("oltp_logs:GO_TPC", "Logs of `go-tpc tpcc run`: the summary at their end."),
    "hammerdb": _of_files("oltp_logs:HAMMERDB", "Logs of HammerDB's timed TPROC-C: NOPM and TPM."),
    "ycsb": _of_files("oltp_logs:YCSB", "Output of YCSB clients: throughput and latencies."),
    "fio": _of_files("tool_files:FIO", "JSON of fio 2 and 3: one trial per job."),
    "perfkit": Importer(
        "Samples of PerfKitBenchmarker: newline-delimited JSON.",
        "the file of samples",
        "perfkit:read",
    ),
    "phoronix": Importer(
        "Results of the Phoronix Test Suite: composite.xml.",
        "a composite.xml, or a folder of these",
        "phoronix:read",
    ),
}
