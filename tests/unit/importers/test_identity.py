"""Whatever describes a benchmark or a machine tells it from others, in every importer: two tests are never pooled."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from nephoscope.app.stages import evaluation, imports
from nephoscope.importers import folder as import_folder
from nephoscope.importers.identity import BenchmarkIdentity, readable_name, type_name
from nephoscope.importers.imported import ImportedStudy, machine, named_machine
from nephoscope.importers.registry import IMPORTERS
from nephoscope.model.errors import InputError
from nephoscope.model.names import Name
from nephoscope.store.folder import ResultsFolder
from tests.support.inspector_data import cores, write_task
from tests.support.others_results import COCKROACH, COREMARK, FIO, GO_TPC, HAMMERDB, PERFKIT, PHORONIX, YCSB

LONG = "Type: Random Read - Engine: Linux AIO - Buffered: No - Direct: Yes - Block Size: {} - Job Count: 1"
COMMAND = "YCSB Client 0.17.0\nCommand line: -db x.Redis -P workloads/workload{} -threads 16 -t\n" + YCSB
SAMPLE = next(line for line in PERFKIT.splitlines() if "Coremark Score" in line)


def fio(name: str = "rd-iops", version: str = "fio-3.33", **options: str) -> str:
    document = json.loads(FIO)
    document["fio version"] = version
    document["jobs"][0] |= {"jobname": name, "job options": options}
    return json.dumps(document)


def phoronix(description: str = "Test", scale: str = "MIPS", version: str = "22.01", **changes: str) -> str:
    text = PHORONIX.replace("Test: Compression Rating", description).replace("MIPS", scale).replace("22.01", version)
    for before, after in changes.items():
        text = text.replace(before.replace("_", "-"), after)
    return text


def perfkit(**labels: str) -> str:
    sample = json.loads(SAMPLE)
    more = ",".join(f"|{key}:{value}|" for key, value in labels.items())
    return json.dumps(sample | {"labels": f"{sample['labels']},{more}", "run_uri": str(labels)}) + "\n"


def postgresbench(kind: str = "n2-standard-8", standbys: int = 0, **asked: Any) -> str:
    benchmark = {"tool": "pgbench", "workload": "TPC-B", "scale_factor": 100, "clients": 8, "threads": 2}
    run = {"run": 1, "tps": 10.0, "transactions": 6000, "failed_transactions": 0, "latency_avg_ms": 5.0}
    document = {
        "system": "x",
        "date": "2026-03-17",
        "instance": {"type": kind, "vcpus": 4, "ram_gb": 16},
        "cluster_size": 1,
        "tuned": "no",
        "postgres_version": "18.3",
        "ha": {"mode": "sync" if standbys else "off", "standbys": standbys},
        "benchmark": {**benchmark, "duration": 600, "query_mode": "prepared", **asked},
        "results": [run],
    }
    return json.dumps(document)


PAIRS: dict[str, tuple[str, str, str]] = {
    "block sizes of one job": ("fio", fio("test", bs="4k", rw="randread"), fio("test", bs="128k", rw="randread")),
    "an option without a word in the name": ("fio", fio("test", bs="4k", fsync="1"), fio("test", bs="4k")),
    "versions of fio": ("fio", fio(bs="4k"), fio(version="fio-3.28", bs="4k")),
    "names of jobs": ("fio", fio("a_b", bs="4k"), fio("A b", bs="4k")),
    "jobs without options": ("fio", fio(), fio()),
    "long descriptions": ("phoronix", phoronix(LONG.format("4KB")), phoronix(LONG.format("2MB"))),
    "units of one test": ("phoronix", phoronix(scale="IOPS"), phoronix(scale="MB/s")),
    "versions of the tested program": ("phoronix", phoronix(version="1.1.1"), phoronix(version="3.0.2")),
    "versions of a test profile": ("phoronix", phoronix(), phoronix(**{"compress_7zip_1.10.0": "compress-7zip-1.9.0"})),
    "directions": ("phoronix", phoronix(), phoronix(HIB="LIB")),
    "labels": ("perfkit", perfkit(ip_type="external"), perfkit(ip_type="internal")),
    "metadata beside labels": (
        "perfkit",
        perfkit(),
        perfkit().replace('"unit"', '"metadata": {"ip_type": "x"}, "unit"'),
    ),
    "threads": ("perfkit", perfkit(num_threads="1"), perfkit(num_threads="64")),
    "a label more": ("perfkit", perfkit(), perfkit(jumbo_frames="True")),
    "workloads": ("ycsb", COMMAND.format("a"), COMMAND.format("c")),
    "kinds of operations": ("ycsb", YCSB, YCSB.replace("[READ]", "[UPDATE]")),
    "runs without a command line": ("ycsb", YCSB, YCSB),
    "kv95 and kv0": ("cockroach-workload", COCKROACH, COCKROACH.replace("newOrder", "write")),
    "flags that are not printed": ("cockroach-workload", COCKROACH, COCKROACH),
    "runs of go-tpc": ("go-tpc", GO_TPC, GO_TPC),
    "virtual users": ("hammerdb", HAMMERDB, HAMMERDB.replace("Vuser 2", "Vuser 3:FINISHED SUCCESS\nVuser 2")),
    "databases": ("hammerdb", HAMMERDB, HAMMERDB.replace("PostgreSQL", "MySQL")),
    "compilers": ("cloud-report", COREMARK, COREMARK.replace("GCC12", "GCC13")),
    "scales": ("postgresbench", postgresbench(), postgresbench(scale_factor=200)),
    "standby servers": ("postgresbench", postgresbench(), postgresbench(standbys=1)),
    "optimisation": ("cloud-report", COREMARK, COREMARK.replace("-O2", "-O3")),
}
"""What differs -> importer, and the contents of two files on one machine."""


def read_both(
    name: str, first: str, second: str, folder: Path, ours: str = "m5.large", others: str = ""
) -> ImportedStudy:
    suffix = {"phoronix": ".xml", "fio": ".json", "postgresbench": ".json"}.get(name, ".log")
    if name == "perfkit":
        (folder / "samples").write_text(first + second)
        return IMPORTERS[name].read(folder / "samples")
    for kind, file, text in ((ours, "one", first), (others or ours, "two", second)):
        path = folder / "in" / "aws" / kind / f"{file}{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return IMPORTERS[name].read(folder / "in")


@pytest.mark.parametrize("what", PAIRS)
def test_what_differs_makes_another_benchmark_and_never_a_replicate(what: str, tmp_path: Path) -> None:
    name, first, second = PAIRS[what]
    study = read_both(name, first, second, tmp_path)
    assert not study.refused
    assert len({trial.benchmark for trial in study.trials}) == len(study.benchmarks) == 2
    assert len({benchmark.title for benchmark in study.benchmarks}) == 2


def test_what_differs_is_tried_with_every_importer() -> None:
    assert {name for name, _, _ in PAIRS.values()} | {"spare-cores"} == set(IMPORTERS)


@pytest.mark.parametrize("change", [{"clock": "from somewhere else"}, {"unit": "parsec"}], ids="-".join)
@pytest.mark.parametrize("importer", IMPORTERS)
def test_two_definitions_under_one_name_are_refused(importer: str, change: dict[str, str], tmp_path: Path) -> None:
    if importer == "spare-cores":
        write_task(tmp_path, "aws/m5.large", "stressngfull", cores([1, 2]))
        study = IMPORTERS[importer].read(tmp_path)
    else:
        first = next(first for name, first, _ in PAIRS.values() if name == importer)
        study = read_both(importer, first, "", tmp_path)
    trial = study.trials[0]
    redefined = [metric.model_copy(update=change) for metric in trial.metrics]
    other = trial.model_copy(update={"metrics": redefined, "origin": "another"})
    with pytest.raises(InputError, match="has two definitions, which are never compared"):
        import_folder.write(study.model_copy(update={"trials": [trial, other]}), ResultsFolder(tmp_path / "o"), "1")


def test_an_import_of_two_units_can_be_reported(tmp_path: Path) -> None:
    read_both("phoronix", *PAIRS["units of one test"][1:], tmp_path)
    folder = ResultsFolder(tmp_path / "out")
    found = imports.import_results("phoronix", tmp_path / "in", folder)
    assert {row.replicate for row in found.trials} == {1, 2, 3}
    index = evaluation.report(folder).path
    for page in (index, index.with_name("evidence.html")):
        assert "results are replicates where tool, version, workload" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("what", ["jobs without options", "flags that are not printed", "runs of go-tpc"])
def test_files_that_do_not_say_their_parameters_are_the_same_when_the_user_says_so(what: str, tmp_path: Path) -> None:
    name, first, second = PAIRS[what]
    apart = read_both(name, first, second, tmp_path)
    assert "one benchmark for each file" in str(apart.rule)
    found = imports.import_results(name, tmp_path / "in", ResultsFolder(tmp_path / "out"), same=True)
    assert sorted(row.replicate for row in found.trials) == [1, 2]
    assert "2 results whose files do not say their parameters: the same, as --same says" in str(found.source.rule)


@pytest.mark.parametrize("what", ["kv95 and kv0", "kinds of operations", "databases"])
def test_files_that_show_a_difference_stay_apart_whatever_the_user_says(what: str, tmp_path: Path) -> None:
    name, first, second = PAIRS[what]
    assert len(read_both(name, first, second, tmp_path).all_same().benchmarks) == 2


def test_equal_files_of_one_description_are_replicates(tmp_path: Path) -> None:
    study = read_both("fio", fio(bs="4k"), fio(bs="4k"), tmp_path)
    assert [benchmark.name for benchmark in study.benchmarks] == [trial.benchmark for trial in study.trials[:1]]


def test_files_of_one_name_on_two_machines_are_one_benchmark(tmp_path: Path) -> None:
    """The path below the machine stands for the parameters: somebody gave both files the same name."""
    for kind in ("m5.large", "m6.large"):
        path = tmp_path / "aws" / kind / "kv95.log"
        path.parent.mkdir(parents=True)
        path.write_text(GO_TPC)
    study = IMPORTERS["go-tpc"].read(tmp_path)
    assert (len(study.benchmarks), len(study.machines)) == (1, 2)


def test_jobs_of_one_name_in_one_file_are_told_apart_by_their_options(tmp_path: Path) -> None:
    document = json.loads(FIO)
    (job,) = document["jobs"]
    document["jobs"] = [job | {"job options": {"bs": size}} for size in ("4k", "8k", "8k")]
    (tmp_path / "run.json").write_text(json.dumps(document))
    (trial,) = IMPORTERS["fio"].read(tmp_path / "run.json").trials
    assert trial.identity.parameters["bs"] == "4k", "nothing tells the other two apart"


@pytest.mark.parametrize(("before", "after"), [("0.17.08", "0.20.01")])
def test_versions_of_a_task_are_benchmarks_of_their_own(before: str, after: str, tmp_path: Path) -> None:
    for kind, version in (("m5.large", before), ("m6.large", after)):
        write_task(tmp_path, f"aws/{kind}", "stressngfull", cores([1, 2]), version=version)
    assert len(IMPORTERS["spare-cores"].read(tmp_path).benchmarks) == 2


def test_a_validation_run_is_no_replicate_of_the_score(tmp_path: Path) -> None:
    validation = COREMARK.replace("performance run", "validation run").replace("0xe9f5", "0x18f2")
    study = read_both("cloud-report", COREMARK, validation, tmp_path)
    (refused,) = study.refused
    assert len(study.trials) == 1
    assert "(run1.log)" in refused


SYSTEMS: dict[str, Callable[[str, Path], ImportedStudy]] = {
    "phoronix": lambda name, folder: read_both("phoronix", phoronix(), phoronix(box_a=name), folder),
    "perfkit": lambda name, folder: read_both("perfkit", perfkit(), perfkit().replace("n2-standard-8", name), folder),
    "postgresbench": lambda name, folder: read_both("postgresbench", postgresbench(), postgresbench(name), folder),
    "fio": lambda name, folder: read_both("fio", fio(bs="4k"), fio(bs="4k"), folder, "n2-standard-8", name),
}


@pytest.mark.parametrize("importer", SYSTEMS)
@pytest.mark.parametrize(
    "name", ["Box A", "box_a", "box-A", "box.a-", "N2-standard-8", "n2_standard-8", "n2-standard-8-"]
)
def test_machines_of_different_names_stay_different_and_keep_their_names(
    importer: str, name: str, tmp_path: Path
) -> None:
    study = SYSTEMS[importer](name, tmp_path)
    assert len(study.machines) == 2
    other = next(found for found in study.machines.values() if found.machine_type not in {None, "n2-standard-8"})
    assert other.machine_type == name
    TypeAdapter(Name).validate_python(other.name)


def test_systems_of_one_name_with_other_hardware_are_other_machines(tmp_path: Path) -> None:
    system = "<Identifier>box-a</Identifier></System>"
    hardware = ["<Hardware>AMD</Hardware>", "<Hardware>Intel</Hardware>"]
    texts = [phoronix().replace(system, system.replace("</System>", f"{text}</System>")) for text in hardware]
    assert len(read_both("phoronix", texts[0], texts[1], tmp_path).machines) == 2


def test_two_things_of_one_name_are_refused(tmp_path: Path) -> None:
    study = read_both("fio", fio(bs="4k"), fio(bs="4k"), tmp_path)
    twin = study.trials[0].machine.model_copy(update={"machine_type": "another"})
    trials = [study.trials[0], study.trials[1].model_copy(update={"machine": twin})]
    with pytest.raises(InputError, match=r"two different things would be called 'aws-m5.large'"):
        import_folder.write(study.model_copy(update={"trials": trials}), ResultsFolder(tmp_path / "o"), "1")


TEXTS = st.text(st.sampled_from("aAbB-_. 0é"), max_size=12) | st.text(max_size=90)


@given(TEXTS, TEXTS)
def test_different_texts_have_different_names(first: str, second: str) -> None:
    names = [readable_name(text) for text in (first, second)]
    assert (first == second) == (names[0] == names[1])
    assert all(TypeAdapter(Name).validate_python(name) for name in names)
    assert readable_name(names[0]) == names[0] or re.search(r"-?[0-9a-f]{8}$", names[0])
    assert (named_machine(first) == named_machine(second)) == (first == second)


@given(st.sampled_from(["aws", "azure", "gcp", "hcloud", "a-b"]), TEXTS, TEXTS)
def test_different_types_have_different_names(provider: str, first: str, second: str) -> None:
    assert (machine(provider, first).name == machine(provider, second).name) == (first == second)


def test_types_as_their_cloud_spells_them_are_readable() -> None:
    assert type_name("azure", "Standard_E32-16as_v5") == "azure-standard-e32-16as-v5"
    assert len({type_name("azure", name) for name in ("Standard_D8_v3", "standard-d8-v3", "STANDARD_D8_V3")}) == 3
    assert type_name("gcp", "n2-standard-8", "pd-ssd") == "gcp-n2-standard-8-pd-ssd"


PARTS = st.fixed_dictionaries(
    {
        "workload": TEXTS,
        "version": st.sampled_from(["", "1", "1.2", "v1"]),
        "parameters": st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2"])),
        "unit": st.sampled_from(["", "1", "ms"]),
        "file": st.sampled_from(["", "1", "run"]),
    }
)


@given(PARTS, PARTS)
def test_different_descriptions_have_different_names(first: dict[str, object], second: dict[str, object]) -> None:
    identities = [BenchmarkIdentity.model_validate({"tool": "t", **parts}) for parts in (first, second)]
    assert (first == second) == (identities[0].name == identities[1].name)
