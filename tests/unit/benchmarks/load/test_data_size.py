"""Data sets sized by memory: rows and warehouses of machines whose memory is known, and of those of which it is not."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from nephoscope.benchmarks.base import Site
from nephoscope.benchmarks.database.highest_load import HighestLoadParameters
from nephoscope.benchmarks.database.kv import Kv, KvParameters
from nephoscope.benchmarks.database.tpcc import WAREHOUSE_BYTES, Tpcc, TpccParameters
from nephoscope.benchmarks.database.ycsb import Ycsb, YcsbParameters
from nephoscope.benchmarks.load.benchmark import LoadBenchmark
from nephoscope.benchmarks.load.data_size import DATA_SIZE, as_sized, size_data, size_measured
from nephoscope.databases.base import Endpoint
from nephoscope.model.errors import InputError, NoSpaceOnMachine, OutputUnreadable
from nephoscope.model.records import Disk, Facts
from nephoscope.model.units import GIB
from tests.support.site import site_here

ENDPOINT = Endpoint(dsn="postgresql://user@127.0.0.1:5432/db", environment={}, version="18", origin="embedded")


def site_with(folder: Path, *facts: Facts) -> Site:
    site, _ = site_here(folder)
    return replace(site, database_facts=facts)


def machine(memory_gib: float | None, free_gib: float = 1000) -> Facts:
    memory = None if memory_gib is None else round(memory_gib * GIB)
    return Facts(at_unix_ms=0, memory_bytes=memory, disk=Disk(free_bytes=round(free_gib * GIB)))


@pytest.mark.parametrize(
    ("benchmark", "parameters", "counted"),
    [
        (Tpcc(), TpccParameters(data_times_memory=4), "warehouses"),
        (Kv(), KvParameters(data_times_memory=4, min_block_bytes=1000), "rows"),
        (Ycsb(), YcsbParameters(data_times_memory=4), "rows"),
    ],
)
def test_the_data_set_that_is_loaded_and_driven_is_four_times_the_memory(
    tmp_path: Path, benchmark: LoadBenchmark, parameters: Any, counted: str
) -> None:
    site = site_with(tmp_path, machine(2))
    size_data(site, parameters, benchmark.fixture_bytes(parameters))
    stored = (site.raw_dir / DATA_SIZE).read_bytes()
    sized = as_sized(parameters, stored)
    assert benchmark.fixture_bytes(sized) == pytest.approx(8 * GIB, rel=WAREHOUSE_BYTES / (8 * GIB))
    assert benchmark.fixture_bytes(sized) >= 8 * GIB - 1
    assert getattr(benchmark.run_spec(site, ENDPOINT, parameters).workload, counted) == getattr(sized, counted)
    (measured,) = size_measured({DATA_SIZE: stored})
    assert measured.value == pytest.approx(4, rel=0.02)
    assert measured.metric in {metric.name for metric in benchmark.metrics(parameters)}


def test_of_several_machines_the_least_memory_decides(tmp_path: Path) -> None:
    site = site_with(tmp_path, machine(4), machine(1))
    asked = TpccParameters(data_times_memory=2)
    size_data(site, asked, Tpcc().fixture_bytes(asked))
    assert as_sized(asked, (site.raw_dir / DATA_SIZE).read_bytes()).warehouses == 16


@pytest.mark.parametrize("facts", [(), (machine(None),)])
def test_memory_that_nobody_observed_is_refused(tmp_path: Path, facts: tuple[Facts, ...]) -> None:
    with pytest.raises(InputError, match="not observed") as refused:
        size_data(site_with(tmp_path, *facts), KvParameters(data_times_memory=4), 1000)
    assert "`rows`" in refused.value.hint


def test_data_that_do_not_fit_on_the_disk_twice_are_refused(tmp_path: Path) -> None:
    asked = TpccParameters(data_times_memory=4)
    with pytest.raises(NoSpaceOnMachine, match=r"16\.\d GiB, but the disk has 12\.0 GiB"):
        size_data(site_with(tmp_path, machine(2, free_gib=12)), asked, Tpcc().fixture_bytes(asked))


def test_nothing_is_written_down_where_the_study_gives_the_rows(tmp_path: Path) -> None:
    site, asked = site_with(tmp_path), KvParameters(rows=10)
    size_data(site, asked, Kv().fixture_bytes(asked))
    assert not (site.raw_dir / DATA_SIZE).exists()
    assert as_sized(asked, None) is asked
    assert not list(size_measured({}))


@pytest.mark.parametrize("stored", [None, b"", b"{", b'{"memory_bytes": 1, "data_bytes": 1, "count": 0}'])
def test_a_damaged_size_is_refused(stored: bytes | None) -> None:
    with pytest.raises(OutputUnreadable, match=DATA_SIZE):
        as_sized(KvParameters(data_times_memory=4), stored)


def test_two_sizes_at_once_are_refused() -> None:
    with pytest.raises(ValidationError, match="remove `rows`"):
        KvParameters(rows=10, data_times_memory=4)
    with pytest.raises(ValidationError, match="remove `warehouses`"):
        TpccParameters(edition="cr2022", data_times_memory=4)
    with pytest.raises(ValidationError, match="needs to know its rows"):
        HighestLoadParameters(benchmark="kv", parameters={"data_times_memory": 4})


def test_trials_without_it_keep_their_ids() -> None:
    assert "data_times_memory" not in KvParameters().model_dump()
    assert "data_times_memory" not in TpccParameters().model_dump()
