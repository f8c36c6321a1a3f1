"""Texts of strangers are read in time proportional to their length: a quadratic pattern takes hours for a megabyte."""

from collections.abc import Callable

import pytest

from nephoscope.importers import oltp_logs
from nephoscope.importers.cloud_report_2019.overlap import unfinished
from nephoscope.machines.facts_text import disk_of, keyed_lines
from nephoscope.model.text import line
from nephoscope.parsers.text import require_readable
from nephoscope.report.main import measured

MEGABYTE = 1 << 20
LONG: dict[str, Callable[[], object]] = {
    "spaces in a text that is printed": lambda: line(" " * MEGABYTE + "\x01"),
    "spaces in a file of the kernel": lambda: keyed_lines(" " * MEGABYTE),
    "brackets for the scheduler of a disk": lambda: disk_of(
        {"maj:min": "8:0"}, {"/sys/dev/block/8:0/queue/scheduler": "[" * MEGABYTE}
    ),
    "line ends after the start of a tool": lambda: unfinished(
        "Number of threads: 1\nThreads started!" + "\n" * MEGABYTE + "x"
    ),
    "spaces in the output of a tool": lambda: require_readable(" " * MEGABYTE + "x", "ping"),
    "a folder in a command line": lambda: oltp_logs._YCSB_FILE.findall(f"-P {'a' * MEGABYTE}/"),
    "spaces in the model of a CPU": lambda: measured._MARKS.sub("", " " * MEGABYTE + "x"),
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_text_is_read_in_one_pass(name: str) -> None:
    LONG[name]()


@pytest.mark.parametrize(
    ("text", "plain"),
    [("a \n b", "a b"), ("a  b", "a  b"), ("  \t a\n", " a"), ("a \r\n\n \n  b  c", "a b  c")],
)
def test_only_white_space_with_a_line_end_becomes_one_space(text: str, plain: str) -> None:
    assert line(text) == plain
