"""What a stranger's text costs grows with its length and no faster: a file of 64 MiB ends in seconds, not in weeks."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from nephoscope.importers.oltp_logs import parse_cockroach_workload, parse_go_tpc, parse_ycsb
from nephoscope.importers.spare_cores import words
from nephoscope.model.errors import OutputUnreadable
from nephoscope.parsers.documents import json_documents
from nephoscope.parsers.identify import identify
from tests.support.parser_samples import LONGEST_S

LONG = 50_000
NESTED = "[\n" * 500 + "1," * 20 * LONG + "1" + "]\n" * 500
TEXTS: dict[str, tuple[Callable[[str], object], str]] = {
    "the mark of sysbench fileio": (identify, "Extra file open flags: x\n" * (LONG // 2)),
    "the mark of netperf": (identify, "TEST from x " * LONG),
    "a summary of go-tpc": (parse_go_tpc, f"tpmC: 1.0\n[Summary] A - {'a' * LONG}\n"),
    "a row of YCSB": (parse_ycsb, f"[READ], {' ' * LONG}x\n"),
    "a result of CockroachDB": (parse_cockroach_workload, f"_elapsed_errors_ops(total)_x_result\n{' ' * LONG}x\n"),
    "TPC-C of CockroachDB": (parse_cockroach_workload, f"_elapsed_tpmC_efc_\n{' ' * LONG}x\n"),
    "a version of Spare Cores": (words._short, "1" * 4 * LONG),
    "lists in lists": (lambda text: json_documents(text, "a text"), NESTED),
}


@pytest.mark.parametrize("of", TEXTS)
def test_a_text_made_to_take_long_is_read_or_refused_soon(of: str) -> None:
    read, text = TEXTS[of]
    began_s = time.process_time()
    with suppress(OutputUnreadable):
        read(text)
    assert time.process_time() - began_s < LONGEST_S
