"""Other people's files: every one is read with plausible values, or refused with a reason."""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from nephoscope.model.errors import OutputUnreadable
from nephoscope.parsers.fio import parse_fio
from nephoscope.parsers.identify import identify
from nephoscope.parsers.lscpu import Lscpu, parse_lscpu
from tests.support.parser_samples import parse_any
from tests.support.shared_data import FOLDER, shared

OF_ANOTHER_TOOL = {"redis", "stressngfull"}


def files() -> Iterator[Path]:
    for folder in ("tool-outputs", "inspector", "cloud-report-2019"):
        for path in sorted(shared(folder).rglob("*")):
            if path.is_file() and path.name != "meta.json":
                yield path


def test_every_file_is_read_or_refused_with_a_reason() -> None:
    read: Counter[str] = Counter()
    for path in files():
        text = path.read_text(errors="replace")
        with suppress(OutputUnreadable):
            parse_any(text)
            read[identify(text).tool] += 1
    assert read["lscpu"] >= 80
    assert read["ping"] >= 100
    assert {"coremark", "fio", "netperf", "lsblk", "dmidecode", "sysbench-oltp", "stress-ng-yaml"} <= set(read)


def test_every_lscpu_and_lsblk_of_the_inspector_is_read() -> None:
    for path in sorted(shared("inspector").glob("*/*/ls*/stdout")):
        value = parse_any(path.read_text())
        if isinstance(value, Lscpu):
            assert 1 <= value.vcpus <= 512, path
            assert value.caches["L3"].size_bytes >= 2**20, path
            assert value.numa_nodes
            assert sum(map(len, value.node_cpus.values())) == value.vcpus


def test_what_was_refused_of_the_inspector_is_of_other_tools() -> None:
    for path in sorted(shared("inspector").rglob("stdout")):
        try:
            parse_any(path.read_text())
        except OutputUnreadable:
            assert path.parent.name in OF_ANOTHER_TOOL, path


@pytest.mark.parametrize(
    ("name", "vcpus", "nodes"),
    [("aws_c8i.96xlarge_lscpu_stdout.txt", 384, 6), ("aws_m5a.8xlarge_lscpu_stdout.txt", 32, 2)],
)
def test_machines_with_many_nodes(name: str, vcpus: int, nodes: int) -> None:
    found = parse_lscpu(shared(f"tool-outputs/inspector/{name}").read_text())
    assert (found.vcpus, found.numa_nodes) == (vcpus, nodes)


def test_fio_2_1_of_public_files() -> None:
    report = parse_fio(shared("tool-outputs/pkb/fio-parser-sample-result.json").read_text())
    for job in report.jobs:
        for side in filter(None, (job.read, job.write)):
            assert side.completion
            assert 1e-6 < side.completion.mean_s < 10
    assert FOLDER.is_dir()
