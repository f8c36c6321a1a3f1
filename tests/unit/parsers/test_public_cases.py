"""Inputs after public bug reports, beside the project: each gives the right numbers, or is refused with its reason.

`tests/data/public-cases.toml` names every case, those of servers and hosts, too, with the tests that prove it.
"""

import ast
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from nephoscope.importers.registry import IMPORTERS
from nephoscope.model.errors import InputError, OutputUnreadable
from nephoscope.model.records import VerdictKind
from nephoscope.parsers.flat import flat_metrics
from nephoscope.parsers.text import decoded
from tests.support.parser_samples import parse_any
from tests.support.shared_data import shared

MODEL = "Cortex-X925 + Cortex-A725"
OLTP = {"transactions_per_s": 15765.21, "duration_s": 120.0005, "threads": 4}
FIO = {"jobs.0.read.ios_per_s": 10_000.0, "jobs.0.read.ios": 300_000}
KINDS = {"vcpus": 20, "model_name": MODEL, "cores_per_socket": 20, "threads_per_core": 1, "kinds.1.cores": 10}
CASES: dict[str, str | dict[str, Any]] = {
    "01-fio-error-lines-before-json/fio.json": "io_u error on file /dev/sdb: Input/output error",
    "02-fio-note-before-json/fio.json": FIO,
    "03-fio-status-interval/fio.json": FIO,
    "05-fio-client-mode/fio.json": {"jobs.0.read.ios_per_s": 15_000.0, "jobs.0.read.ios": 450_000, "jobs.1.name": None},
    "06-fio-clat-off/fio.json": {**FIO, "jobs.0.read.completion.mean_s": None, "jobs.0.read.total.mean_s": None},
    "07-fio-latency-counters-overflow/fio.json": {"jobs.0.read.ios_per_s": pytest.approx(219_567, abs=1)},
    "09-iperf3-bidir-37-duplicate-keys/iperf3.json": {
        "sent_bits_per_s": 9.4e9, "received_bits_per_s": 9.3992e9,
        "back_sent_bits_per_s": 3.1e9, "back_received_bits_per_s": 3.1e9, "retransmits": 12,
    },
    "11-iperf3-udp-sum-is-senders/iperf3-3.12.json": {"received_bits_per_s": pytest.approx(0.96e9, rel=0.01)},
    "11-iperf3-udp-sum-is-senders/iperf3-3.9.json": {"received_bits_per_s": pytest.approx(0.96e9, rel=0.01)},
    "12-iperf3-nan-jitter/iperf3.json": "nothing was sent or received",
    "14-iperf3-json-stream/iperf3.jsonl": {"received_bits_per_s": 9399200000.0},
    "15-iperf3-two-documents/iperf3.json": "2 documents in one text",
    "16-iperf3-mac-no-retransmits/iperf3.json": {"received_bits_per_s": 9.4e9, "retransmits": None, "reverse": True},
    "20-ping-alpine-quiet/ping.txt": {"times.mean_s": 0.000683, "times.deviation_s": None, "received": 5},
    "22-ping-german/ping.txt": "LC_ALL=C",
    "24-ping-all-lost-and-errors/ping.txt": {"sent": 4, "received": 0, "times.mean_s": None},
    "25-ping-windows-like-lt1ms/ping.txt": "whole milliseconds",
    "26-ping-mac-broadcast-duplicates/ping.txt": "7 complete replies of 2 received",
    "30-coremark-validation-run/run2.log": "validation run .run2.log., is no score",
    "31-coremark-too-short/run.log": "Must execute for at least 10 secs",
    "33-coremark-cloud-report-many-threads/run1.log": {"iterations_per_s": 130317.654246, "contexts": 64},
    "34-sysbench-110-oltp/sysbench.txt": OLTP,
    "35-sysbench-110-fileio/sysbench.txt": {
        "0.reads_per_s": 3000.0,
        "0.writes_per_s": 2000.0,
        "0.fsyncs_per_s": 6400.0,
        "0.read_bytes_per_s": pytest.approx(49.15e6, rel=0.001),
        "0.duration_s": None,
    },
    "35b-sysbench-110-fileio-real/sysbench.txt": {
        "0.writes_per_s": 9057.41,
        "0.written_bytes_per_s": pytest.approx(92.75e6, rel=0.001),
        "0.fsyncs_per_s": 96.96,
        "0.reads_per_s": None,
    },
    "37-sysbench-percentile-capped/sysbench.txt": {"latency_percentile_s": "> 100", "latency_mean_s": 130.00025},
    "38-sysbench-huge-interval/sysbench.txt": {"transactions_per_s": 4.12, "intervals.0.at_s": None},
    "39-sysbench-ignored-errors/sysbench.txt": {"errors": 76},
    "40-sockperf-full-rtt/sockperf.txt": {"mean_s": pytest.approx(1.8926e-3 / 2)},
    "42-netperf-confidence-warning/netperf.txt": {"bits_per_s": 9591780000.0, "confidence_reached": False},
    "43-iperf2-udp-no-ack/iperf.txt": "did not receive ack of last datagram",
    "45-iperf2-parallel-no-sum/iperf.txt": "several streams and no sum",
    "46-stress-ng-metrc-019/stress-ng.txt": {"rows.0.per_second": 4520.6, "rows.0.bogo_ops": 460_800},
    "47-stress-ng-untrustworthy/stress-ng.txt": "hash error in bogo-ops counter",
    "49-stress-ng-yaml-new-keys/stress-ng.yaml": {"stressors.0.per_second": 575971.204, "cpus_online": 288},
    "50-lscpu-two-kinds-of-cores/lscpu.txt": KINDS,
    "52-lscpu-chinese/lscpu.txt": "LC_ALL=C",
    "53-lscpu-docker-on-mac/lscpu.txt": {"vcpus": 5, "numa_nodes": None, "model_name": None},
    "54-lscpu-offline-and-dash/lscpu.txt": {"vcpus": 64, "model_name": None, "sockets": None},
    "56-lscpu-power9-swapped/lscpu.txt": {"vcpus": 80, "threads_per_core": 8, "cores_per_socket": 1, "sockets": 10},
    "57-lsblk-raid-twice/lsblk.json": {
        "0.name": "nvme0n1", "0.is_disk": True, "1.name": "md0", "1.parents": ("nvme0n1", "nvme1n1"),
        "1.is_disk": False, "2.is_disk": True, "3.is_disk": False, "4.is_disk": False, "5.name": None,
    },
    "58-lsblk-old-strings/lsblk.json": {"0.size_bytes": 8_001_563_222_016, "0.rotational": True, "1.name": None},
    "60-dmidecode-vmware-empty-slots/dmidecode.txt": {
        "memory_bytes": 24 * 2**30, "memory_modules": 2, "memory_mt_per_s": None,
    },
    "61-dmidecode-configured-slower/dmidecode.txt": {
        "memory_bytes": 8 * 2**30, "memory_modules": 2, "memory_mt_per_s": (1067,), "memory_rated_mt_per_s": (1600,),
    },
    "62-cpuinfo-arm-big-little/cpuinfo.txt": {"cpus": 6, "arm_parts": ("0x41/0xd03", "0x41/0xd09")},
    "65-stress-ng-pathological-extra-lines/stress-ng.txt": {
        "rows.0.per_second": 8908.21, "rows.1.per_second": 4115.22, "rows.2.per_second": 99966.68, "rows.0.workers": 4,
    },
    "128-lscpu-two-kinds-in-facts/lscpu.json": KINDS,
    "131-fio-terminated/fio.json": "terminating on signal 2",
    "131-fio-terminated/fio-after.json": "terminating on signal 2",
    "132-lscpu-two-documents/lscpu.json": "2 documents in one text",
    "133-utf16-bom-crlf/fio-utf16.json": FIO,
    "133-utf16-bom-crlf/fio-bom.json": FIO,
    "133-utf16-bom-crlf/sysbench-crlf.txt": OLTP,
    "133-utf16-bom-crlf/sysbench-script.txt": OLTP,
    "137-stress-ng-decimal-comma/stress-ng.txt": "LC_ALL=C",
    "137-stress-ng-decimal-comma/stress-ng.yaml": "LC_ALL=C",
}  # fmt: skip


def test_a_public_case_is_read_as_it_should_be(subtests: pytest.Subtests) -> None:
    for path, expected in CASES.items():
        with subtests.test(path=path):
            text = decoded(shared(f"cases/{path}").read_bytes())
            if isinstance(expected, str):
                with pytest.raises(OutputUnreadable, match=expected):
                    parse_any(text)
                continue
            values = {row.metric: row.value for row in flat_metrics(parse_any(text))}
            assert {name: values.get(name) for name in expected} == expected


def test_every_file_of_a_case_of_parsers_stands_in_the_table() -> None:
    folders = {path.partition("/")[0] for path in CASES}
    files = {str(Path(name, file.name)) for name in folders for file in shared(f"cases/{name}").iterdir()}
    assert files - {f"{name}/expected.txt" for name in folders} == set(CASES)


IMPORTED: list[tuple[str, str, list[float], int, str]] = [
    ("03-fio-status-interval/fio.json", "fio", [10_000.0], 0, ""),
    ("05-fio-client-mode/fio.json", "fio", [15_000.0], 0, ""),
    ("70-ycsb-failed-updates-nan", "ycsb", [], 1, ""),
    ("72-go-tpc-one-error", "go-tpc", [7577.6], 0, ""),
    ("73-hammerdb-old-order-and-steps", "hammerdb", [1_465_149, 1_465_149], 1, "steps/run.txt: 2 lines"),
    ("74-cockroach-workload-trailing-stall", "cockroach-workload", [], 0, "the run was aborted"),
    ("76-phoronix-failed-and-linegraph/composite.xml", "phoronix", [51_400, 52_300, 52_300.3], 0, "the test failed"),
    ("76-phoronix-failed-and-linegraph/composite-raw.xml", "phoronix", [51_400, 52_300, 52_300.3], 0, "LINE_GRAPH"),
    ("77-phoronix-undefined-entity/composite.xml", "phoronix", [], 0, "undefined entity: line 5"),
    (
        "78-perfkit-nan-and-null/samples.json",
        "perfkit",
        [9400, 9500, 9600, 130_317.65],
        0,
        "line 2: iperf: Throughput: nan",
    ),
    ("130-cockroach-latency-capped", "cockroach-workload", [0.9], 0, ""),
    ("131-fio-terminated/fio.json", "fio", [], 0, "terminating on signal 2"),
    ("131-fio-terminated/fio-after.json", "fio", [], 0, "terminating on signal 2"),
]


def test_a_public_case_is_imported_as_it_should_be(subtests: pytest.Subtests) -> None:
    """Values of the headline of each valid trial, how many are rejected, and what is said of the rest."""
    for path, name, valid, rejected, words in IMPORTED:
        with subtests.test(path=path):
            file = shared(f"cases/{path}")
            if not valid and not rejected:
                with pytest.raises(InputError, match=words):
                    IMPORTERS[name].read(file)
                continue
            study = IMPORTERS[name].read(file)
            good = [trial for trial in study.trials if all(one.verdict is VerdictKind.VALID for one in trial.verdicts)]
            assert sorted(trial.measurements[0].value for trial in good) == valid
            assert len(study.trials) - len(good) == rejected
            assert any(words in line for line in ["", *study.refused, *study.left_out])


ROOT = Path(__file__).resolve().parents[3]
TABLE: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "tests/data/public-cases.toml").read_text(encoding="utf-8"))
RUST_TEST = re.compile(r"#\[test\]\nfn (\w+)\(")


@cache
def names_in(file: str) -> set[str]:
    """Names of the tests that a file of Python or Rust holds; empty: there is none."""
    path = ROOT / file
    if not path.is_file():
        return set()
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".rs":
        return set(RUST_TEST.findall(text))
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return {node.name for node in functions if path.name.startswith("test_") and node.name.startswith("test_")}


def test_a_case_has_a_test_that_proves_it_or_a_reason_why_not(subtests: pytest.Subtests) -> None:
    for case, row in TABLE.items():
        with subtests.test(case=case):
            if "reason" in row:
                assert row.keys() == {"situation", "reason"}
                continue
            assert row.keys() == {"situation", "right", "tests"}
            for test in row["tests"]:
                file, _, name = test.partition("::")
                own = {"read": CASES, "imported": [path for path, *_ in IMPORTED]}.get(test)
                if own is None:
                    assert name in names_in(file), test
                else:
                    assert [path for path in own if path.partition("/")[0] == case], test


def test_every_case_stands_in_the_table_of_cases() -> None:
    assert {path.name for path in shared("cases").iterdir()} == set(TABLE)
    own = {path.partition("/")[0] for path in (*CASES, *(path for path, *_ in IMPORTED))}
    named = {case for case, row in TABLE.items() if {"read", "imported"} & set(row.get("tests", []))}
    assert own == named
