"""Every importer says what its benchmarks are about; names count only where nobody says it."""

from pathlib import Path

import pytest

from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.importers.registry import IMPORTERS
from nephoscope.model.subjects import DatabaseLoad, Subject, database_load_by_name, subject_by_name
from tests.support.inspector_data import write_machine
from tests.support.others_results import SAMPLES

OF = {
    "cockroach-workload": Subject.DATABASE,
    "go-tpc": Subject.DATABASE,
    "hammerdb": Subject.DATABASE,
    "ycsb": Subject.DATABASE,
    "fio": Subject.STORAGE,
    "perfkit": Subject.CPU,
    "phoronix": Subject.CPU,
    "cloud-report": Subject.CPU,
}


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_an_importer_states_the_subject_of_what_it_imports(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"run{ {'phoronix': '.xml', 'fio': '.json'}.get(name, '.log') }"
    file.write_text(SAMPLES[name])
    study = IMPORTERS[name].read(file)
    first = next(one for one in study.benchmarks if one.name == study.trials[0].benchmark)
    assert first.subject is OF[name]
    assert all("subject" in one.model_fields_set for one in study.benchmarks), "stated, and not taken from the name"


def test_spare_cores_measured_cpus_and_a_database(tmp_path: Path) -> None:
    write_machine(tmp_path, "aws/m5a.large")
    found = IMPORTERS["spare-cores"].read(tmp_path).benchmarks
    assert {one.name: one.subject for one in found} == {
        "stress-ng-cores-0.17.08": Subject.CPU,
        "redis-set-7.4": Subject.DATABASE,
    }
    assert all("subject" in one.model_fields_set for one in found)
    assert {one.name: one.database_load for one in found} == {
        "stress-ng-cores-0.17.08": None,
        "redis-set-7.4": DatabaseLoad.KEY_VALUE,
    }


def test_names_of_our_own_benchmarks_tell_their_subject(subtests: pytest.Subtests) -> None:
    """So that results of one that is gone some day are still about the right thing."""
    for name in sorted(BENCHMARKS):
        with subtests.test(name=name):
            assert subject_by_name(name) is BENCHMARKS[name].subject, "give it a word in model/subjects.py"


def test_a_benchmark_states_what_it_asks_of_a_database(subtests: pytest.Subtests) -> None:
    for name in sorted(BENCHMARKS):
        with subtests.test(name=name):
            benchmark = BENCHMARKS[name]
            found = benchmark.database_load_of(benchmark.parameters())
            assert (found is None) == (benchmark.subject is not Subject.DATABASE)
            assert found is None or found is database_load_by_name(name)


def test_a_search_asks_what_the_workload_asks_that_it_drives() -> None:
    search = BENCHMARKS["highest-load"]
    driven = [
        search.parameters.model_validate({"benchmark": name, "rule": "p99(all) < 10 ms"}) for name in ("kv", "tpcb")
    ]
    assert [search.database_load_of(one) for one in driven] == [DatabaseLoad.KEY_VALUE, DatabaseLoad.OLTP]


def test_a_name_tells_a_subject_by_whole_words(subtests: pytest.Subtests) -> None:
    for name, subject in [
        ("tpcc-cockroach-workload-125-per-vcpu", Subject.DATABASE),
        ("hammerdb-tproc-c", Subject.DATABASE),
        ("tpcc-go-tpc", Subject.DATABASE),
        ("redis-set", Subject.DATABASE),
        ("sysbench-oltp", Subject.DATABASE),
        ("sysbench-fileio-random-read", Subject.STORAGE),
        ("fio-rd-iops", Subject.STORAGE),
        ("pts/stream", Subject.MEMORY),
        ("netperf-stream", Subject.NETWORK),
        ("iperf3", Subject.NETWORK),
        ("stress-ng-cores", Subject.CPU),
        ("pts/compress-7zip", Subject.CPU),
        ("shipping-rates", Subject.CPU),
    ]:
        with subtests.test(name=name):
            assert subject_by_name(name) is subject
