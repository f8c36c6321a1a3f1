"""Presets beside the tables of their sources, copied to tests/data/studies/sources: the same machines and storage.

A row of a source that a preset lacks says why in its last column.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from nephoscope.app.rehearsal.machines import SimulatedMachine
from nephoscope.app.stages.planning import load, read_study
from nephoscope.model.units import GIB
from nephoscope.prices.catalogue.machines import size_of
from nephoscope.study.differences import what_differs
from nephoscope.study.machine_names import machine_name
from nephoscope.study.model import Configuration, Machine
from tests.unit.study.study_example import ROOT

SOURCES = sorted((ROOT / "tests" / "data" / "studies" / "sources").glob("*.csv"))
LOCAL = "local SSD"
WORDS = {
    "gp3": "ebs-gp3",
    "io2": "ebs-io2",
    "Ultra Disk": "ultra-disk",
    **dict.fromkeys((f"Premium SSD {tier} LRS" for tier in ("P20", "P30", "P50")), "premium-disk"),
}
"""Our kind of volume -> the word of the sources, where it is another one."""
Row = Mapping[str, str]


@cache
def rows(path: Path) -> tuple[Row, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def asked(path: Path) -> Iterator[tuple[Configuration, Machine]]:
    """Configurations of the preset that the source's tables list; it lists pairs of regions nowhere."""
    for one in read_study(ROOT / "studies" / f"{path.stem}.toml").configurations:
        load = one.load_machine
        if load is None or load.region in {None, one.region}:
            yield one, one.database_machine


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_name_of_each_machine_type_says_the_vcpus_of_the_source(path: Path) -> None:
    """A rehearsal takes them from there: DS14, DS5_v2 and GS4 of 2020 have 16."""
    said = {row["type"]: (machine_name(row["provider"], row["type"]).vcpus, row["vcpus"]) for row in rows(path)}
    assert [name for name, (ours, theirs) in said.items() if theirs and str(ours) != theirs] == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_rehearsed_machine_that_no_cloud_sells_any_more_has_the_memory_of_the_source(path: Path) -> None:
    said = {row["type"]: float(row["memory_gib"]) for row in rows(path) if row["memory_gib"]}
    gone = [one for one in asked(path) if one[1].type in said and not size_of(one[0].provider, one[1].type)]
    shown = {machine.type: SimulatedMachine.of(one).facts("m", 1).memory_bytes for one, machine in gone}
    assert shown == {name: said[name] * GIB for name in shown if name}


def storage(machine: Machine) -> str:
    kinds = {volume.kind for volume in machine.volumes or ()} or {LOCAL if machine.local_ssds else "none"}
    return "+".join(sorted(WORDS.get(kind, kind) for kind in kinds))


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_a_preset_has_the_configurations_of_its_source(path: Path) -> None:
    ours = Counter((one.provider, machine.type, storage(machine), str(machine.count)) for one, machine in asked(path))
    theirs = Counter(
        (row["provider"], row["type"], row["storage"], row["machines"]) for row in rows(path) if not row["absent"]
    )
    assert ours == theirs


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_its_machines_are_of_the_size_and_processor_that_the_source_says(path: Path) -> None:
    for one, machine in asked(path):
        said = [row for row in rows(path) if (row["provider"], row["type"]) == (one.provider, machine.type)]
        vcpus = machine_name(one.provider, machine.type or "").vcpus
        assert vcpus is None or {row["vcpus"] for row in said} <= {str(vcpus), ""}, one.name
        processors = {row["processor"] for row in said}
        if machine.expect_cpu_model is not None:
            assert any(machine.expect_cpu_model in processor for processor in processors), one.name


def test_a_custom_type_has_the_memory_of_the_source() -> None:
    (path,) = (path for path in SOURCES if path.stem == "cloud-report-2022")
    custom = {(row["type"], row["memory_gib"]) for row in rows(path) if "custom" in row["type"]}
    assert custom == {("n2-custom-8-16384", "16"), ("n2-custom-32-65536", "64")}


def test_the_overview_has_the_workers_and_concurrencies_of_its_tables() -> None:
    """'Number of nodes, workers, concurrency'; sysbench: 'a concurrency of 480 … and a concurrency of 216'."""
    study = read_study(ROOT / "studies" / "crdb-overview.toml")
    found = [
        (one.database_machine.count, one.load_machine.count, one.database.connections)
        for one in study.configurations
        if one.load_machine and one.labels["part"] == "kv95"
    ]
    table = [(16, 2, 512), (32, 4, 512), (64, 4, 1024), (128, 8, 1024), (256, 8, 2048)]
    assert found == [(nodes, workers, workers * each) for nodes, workers, each in table]
    asked = {one.label: one.parameters for one in study.benchmarks}
    assert (asked["oltp-insert"]["connections"], asked["point-select"]["connections"]) == (480, 216)
    assert asked["tpcc-140000"]["warehouses"] == 140_000


def test_many_small_machines_are_set_against_few_large_ones_of_the_same_series() -> None:
    study = read_study(ROOT / "studies" / "small-against-large.toml")
    by_name = {one.name: one for one in study.configurations}
    (asked,) = study.contrasts
    pairs = [(by_name[left], by_name[right]) for left, right in zip(asked.left or (), asked.right or (), strict=True)]
    assert len(pairs) == 6
    for small, large in pairs:
        machines = small.database_machine, large.database_machine
        assert [one.count for one in machines] == [16, 4]
        assert machines[0].expect_cpu_model == machines[1].expect_cpu_model
        assert small.load_machine == large.load_machine


def test_the_overview_measures_latency_in_one_zone_and_takes_versions_as_an_axis() -> None:
    """'Single-row reads in 1 ms … writes in 2 ms within a single availability zone'; '19.2 … 21.1'."""
    text = (ROOT / "studies" / "crdb-overview.toml").read_text(encoding="utf-8")
    study = load(text.replace('axes.version = ["22.1.6"]', 'axes.version = ["22.1.6", "23.1.11"]'), "two.toml")
    (latency,) = (one for one in study.configurations if one.labels["part"] == "latency")
    assert (latency.zone, latency.database_machine.zones) == ("us-east-1a", None)
    versions = [one for one in study.configurations if one.labels["part"] == "tpcc"]
    assert [one.database.version for one in versions] == ["22.1.6", "23.1.11"]
    assert "version" in what_differs(versions).clause


CHAPTERS = {
    "cloud-report-2018": {"most-tpmc": 6, "stress-ng": 3, "throughput": 2, "ping": 2, "sysbench-fileio": 4},
    "cloud-report-2020": {
        "most-tpmc": 10,
        "most-tpmc-of-1500": 1,  # the machines of FIG 3
        "stress-ng": 26,
        "throughput": 26,
        "ping": 26,
        "sysbench-fileio": 37,
    },
    "cloud-report-2022": {
        **{f"tpcc-{step}": 115 for step in (50, 75, 100, 125, 150)},
        "tpcc-1200": 57,
        "coremark": 60,
        **{f"{name}{far}": 60 for name in ("request-response", "multi-stream") for far in ("", "-cross-region")},
        "fio": 115,
    },
    "small-against-large": {"tpcc-1200": 12},
    "crdb-overview": {"kv95": 5, "one-row": 1, "oltp-insert": 1, "point-select": 1, "tpcc-140000": 1},
}
"""Configurations of each benchmark, by tables and text of the sources; for networks also 60 pairs of regions."""


@pytest.mark.parametrize("preset", sorted(CHAPTERS))
def test_each_chapter_measures_the_machines_of_its_tables(preset: str) -> None:
    study = read_study(ROOT / "studies" / f"{preset}.toml")
    found = {one.label: len(one.configurations or study.configurations) for one in study.benchmarks}
    assert found == CHAPTERS[preset]
