"""A tree as the scripts of 2021 and 2022 leave it: its path says who was measured, cpu_info.txt on which CPU."""

from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation, imports
from nephoscope.importers.cloud_report_tree import cpu_info_facts
from nephoscope.importers.imported import ImportedTrial
from nephoscope.importers.registry import IMPORTERS
from nephoscope.model.price_rows import CostRow
from nephoscope.model.records import VerdictKind
from nephoscope.model.rows import MachineRow, Statistic
from nephoscope.store.folder import ResultsFolder
from tests.support.others_results import COCKROACH

DATA = Path(__file__).resolve().parents[2] / "data" / "parsers"
LSCPU = (DATA / "lscpu-2.38.1.txt").read_text(encoding="utf-8")
COREMARK = (DATA / "coremark-1.0.txt").read_text(encoding="utf-8")
CPUS = next(line.split()[-1] for line in LSCPU.splitlines() if line.startswith("CPU(s):"))
CPUFETCH = "\x1b[1mName:\x1b[0m  Some CPU @ 2.9 GHz\n"


def cluster(*machines: str) -> str:
    """`roachprod run CLUSTER -- lscpu`, after cpufetch, with the number of each machine before its output."""
    return CPUFETCH + "".join(f"  {n:2}: {text.strip()}\n<nil>\n" for n, text in enumerate(machines, start=1))


def tree(root: Path, *, cpu_info: str, cloud: str = "aws", machine: str = "m6i-2xlarge") -> Path:
    logs = root / "20220420" / cloud / "gp3" / "logs" / machine
    for folder, files in {
        "tpcc-results.20220421.10:11:12-a-1": {
            f"tpcc-results-{125 * int(CPUS)}.txt": COCKROACH,
            "cpu_info.txt": cpu_info,
            "script.log": "num_servers:3\n",
            "success": "",
        },
        "tpcc-results.20220421.13:11:12-a-2": {"tpcc-results-1201.txt": COCKROACH, "cpu_info.txt": cpu_info},
        "coremark-results.20220421.11:11:12-a": {"single-1.log": COREMARK, "success": ""},
        "coremark-results.20220421.12:11:12-a": {"single-1.log": COREMARK},
    }.items():
        for name, text in files.items():
            (logs / folder).mkdir(parents=True, exist_ok=True)
            (logs / folder / name).write_text(text, encoding="utf-8")
    (logs / "someone-m6i_cpu_info.txt").write_text(f"2.9GHz\n{LSCPU}", encoding="utf-8")
    return root


def read(root: Path) -> dict[str, ImportedTrial]:
    found = IMPORTERS["cloud-report"].read(root)
    assert len({one.origin for one in found.trials}) == len(found.trials)
    return {one.origin.split("/logs/")[-1]: one for one in found.trials}


@pytest.mark.parametrize(
    ("cloud", "machine", "name", "machine_type"),
    [
        ("aws", "m6i-2xlarge", "aws-m6i.2xlarge-gp3", "m6i.2xlarge"),
        ("gce", "n2-standard-8", "gcp-n2-standard-8-gp3", "n2-standard-8"),
        ("azure", "Standard_D8s_v5", "azure-standard-d8s-v5-gp3", "Standard_D8s_v5"),
    ],
)
def test_cloud_storage_and_type_are_in_the_path(
    cloud: str, machine: str, name: str, machine_type: str, tmp_path: Path
) -> None:
    found = read(tree(tmp_path, cpu_info=cluster(LSCPU), cloud=cloud, machine=machine))
    assert {one.machine.name for one in found.values()} == {name}
    assert {one.machine.machine_type for one in found.values()} == {machine_type}


def test_type_and_storage_of_the_path_have_prices(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "out")
    imports.import_results("cloud-report", tree(tmp_path / "in", cpu_info=cluster(LSCPU, LSCPU)), folder)
    costs = {row.basis: row for row in evaluation.analyze(folder)[CostRow]}
    monthly = 730 * 0.384 + 1000 * 0.08 + 5000 * 0.005
    assert costs["on-demand"].machine_month_usd == pytest.approx(monthly)
    assert costs["on-demand"].month_usd == pytest.approx(3 * monthly)
    assert costs["on-demand"].region == "us-east-1"


def test_cpu_info_is_read_as_facts_and_kept(tmp_path: Path) -> None:
    found = read(tree(tmp_path, cpu_info=cluster(LSCPU, LSCPU, LSCPU, LSCPU)))
    assert len(found) == 4, "cpu_info and marks are no outputs of their own"
    for one in found.values():
        assert one.facts is not None
        assert one.facts.cpus_online == int(CPUS)
        assert one.facts.numa_nodes == 1
        assert one.facts.cpu_model
    tpcc = next(one for origin, one in found.items() if "10:11:12" in origin)
    assert tpcc.raw["cpu-info-74b9b60d.txt"].decode().startswith(CPUFETCH)


def test_loads_of_tpcc_are_benchmarks_of_their_own(tmp_path: Path) -> None:
    found = read(tree(tmp_path, cpu_info=cluster(LSCPU)))
    loads = {one.identity.workload for one in found.values() if one.identity.tool == "cockroach-workload"}
    assert loads == {"tpcc 125 per vCPU", "tpcc 1201 warehouses"}


def test_what_the_script_did_not_mark_is_refused(tmp_path: Path) -> None:
    found = read(tree(tmp_path, cpu_info=cluster(LSCPU)))
    marks = {
        origin.split("/")[1][17:36]: [one.verdict for one in trial.verdicts if one.check == "success-mark"]
        for origin, trial in found.items()
        if trial.benchmark.startswith("coremark")
    }
    assert marks == {"20220421.11:11:12-a": [VerdictKind.VALID], "20220421.12:11:12-a": [VerdictKind.INVALID]}


def test_machines_that_differ_keep_what_they_share(tmp_path: Path) -> None:
    model = next(line.partition(":")[2].strip() for line in LSCPU.splitlines() if line.startswith("Model name:"))
    other = LSCPU.replace(model, "Another CPU")
    facts = cpu_info_facts(cluster(LSCPU, other))
    assert facts is not None
    assert facts.cpu_model == " | ".join(sorted([model, "Another CPU"]))
    assert facts.cpus_online == int(CPUS)


@pytest.mark.parametrize("text", ["", CPUFETCH, cluster(LSCPU[: len(LSCPU) // 20]), "Architecture:\n"])
def test_no_facts_from_what_is_no_lscpu(text: str) -> None:
    assert cpu_info_facts(text) is None


def test_a_report_of_a_tree_names_the_cpu(tmp_path: Path) -> None:
    folder = ResultsFolder(tmp_path / "out")
    imports.import_results("cloud-report", tree(tmp_path / "in", cpu_info=cluster(LSCPU, LSCPU)), folder)
    study = evaluation.analyze(folder)
    (machine,) = {row.facts.cpu_model for row in study[MachineRow]}
    assert machine
    assert {row.configuration for row in study[Statistic]} == {"aws-m6i.2xlarge-gp3"}
