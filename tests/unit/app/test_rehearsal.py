"""A rehearsal: the real controller on machines that do not exist, told from measurements everywhere."""

import math
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nephoscope.app.cli import app
from nephoscope.app.rehearsal.benchmark import measurements
from nephoscope.app.rehearsal.machines import SimulatedMachine
from nephoscope.app.rehearsal.world import Clusters
from nephoscope.app.stages import evaluation
from nephoscope.app.stages.planning import calendar_with, load, plan, read_study
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.model.rows import Comparison, TrialRow
from nephoscope.model.words import NOBODY_MEASURED, SIMULATED
from nephoscope.plan.placement import clusters_of
from nephoscope.report.files import report_files
from nephoscope.run.study import adopt_plan
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.model import Study

ROOT = Path(__file__).resolve().parents[3]
TEXT = """
name = "clouds"
replicates = 4
clouds.aws = { image = "ami-1", ingress = "203.0.113.7/32" }

[defaults]
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
database = { system = "cockroachdb", version = "22.1.6" }

[[matrix]]
name = "{type:slug}"
axes.type = ["m6i.2xlarge", "m5a.2xlarge"]
load_machine = { type = "{type}" }
database_machine = { type = "{type}", count = 3, cores = 4, expect_numa_nodes = 1, expect_cpu_model = "8259CL", filesystem = "ext4", mount_options = ["discard"] }

[[benchmarks]]
uses = "tpcc"
parameters = { edition = "cr2022", dialect = "cockroachdb", isolation = "serializable", active_warehouses = 1200 }

[[benchmarks]]
uses = "multi-stream"

[[benchmarks]]
uses = "fio"
"""  # noqa: E501
TRIALS = 4 * 2 * 3


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory: pytest.TempPathFactory) -> ResultsFolder:
    place = tmp_path_factory.mktemp("rehearsal")
    (place / "clouds.toml").write_text(TEXT)
    run(place / "clouds.toml", place / "out", "--rehearse")
    return ResultsFolder(place / "out")


def run(study: Path, out: Path, *options: str) -> str:
    done = CliRunner().invoke(app, ["run", str(study), "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    return done.stderr


def planned(*, simulated: bool) -> Plan:
    return plan(load(TEXT, "clouds.toml"), simulated=simulated)


def test_every_trial_is_run_and_valid_and_every_cluster_is_deleted(rehearsed: ResultsFolder) -> None:
    rows = evaluation.status(rehearsed)
    assert Counter((row.state, row.verdict) for row in rows) == {("finished", "valid"): TRIALS}
    assert Clusters(rehearsed.rehearsal_path).existing("aws") == {}
    signs = Counter(line[0] for line in rehearsed.rehearsal_path.read_text().splitlines())
    assert signs == {"+": TRIALS, "-": TRIALS}


@pytest.mark.parametrize(("placement", "clusters"), [("fresh", 1), ("fresh", 5), ("per-replicate", 3)])
def test_hours_and_dollars_are_those_of_the_plan(tmp_path: Path, placement: str, clusters: int) -> None:
    text = f'placement = "{placement}"\n{TEXT}'.replace("replicates = 4", "replicates = 2")
    study = load(text, "clouds.toml")
    (tmp_path / "clouds.toml").write_text(text)
    run(tmp_path / "clouds.toml", tmp_path / "out", "--rehearse", "--max-clusters", str(clusters))
    folder = ResultsFolder(tmp_path / "out")
    rows, spent_usd = evaluation.status_and_spent(folder, 0)
    begun_s = [(row.started_unix_ms or 0) / 1000 for row in rows]
    took_s = max(at_s + (row.duration_s or 0) for at_s, row in zip(begun_s, rows, strict=True)) - min(begun_s)
    calendar = calendar_with(study, folder.plan(), clusters)
    assert calendar is not None
    assert took_s == pytest.approx(calendar.time_s, rel=0.02)
    assert spent_usd == pytest.approx(folder.plan().price_usd, rel=0.02)


def test_the_report_says_everywhere_that_it_is_simulated(rehearsed: ResultsFolder) -> None:
    study = evaluation.analysed(rehearsed)
    assert study.title == f"{SIMULATED}: clouds"
    assert study.description.startswith(NOBODY_MEASURED)
    for name in ("index.html", "evidence.html"):
        page = report_files(study).files[name].decode()
        figures = page.count("<figure")
        assert figures > 0
        assert page.count(SIMULATED) > figures


def test_its_trials_never_pass_for_measured_ones(rehearsed: ResultsFolder, tmp_path: Path) -> None:
    ids = [{row.intent.id for row in planned(simulated=one).trials} for one in (True, False)]
    assert not ids[0] & ids[1]
    assert {row.intent.id for row in rehearsed.plan().trials} == ids[0]
    with pytest.raises(InputError, match="holds a rehearsal"):
        evaluation.parse(rehearsed, None)  # type: ignore[arg-type] # is not reached
    (tmp_path / "clouds.toml").write_text(TEXT)
    measure = ["run", str(tmp_path / "clouds.toml"), "--out", str(rehearsed.path)]
    for more in ((), ("--replan",)):
        assert "a folder cannot hold both" in str(CliRunner().invoke(app, [*measure, *more]).exception)
    real = ResultsFolder(tmp_path / "real")
    real.write_plan(TEXT, planned(simulated=False))
    with pytest.raises(InputError, match="holds measurements, but this run is a rehearsal"):
        adopt_plan(real, TEXT, planned(simulated=True), replan=True)


def test_nothing_is_left_to_delete(rehearsed: ResultsFolder) -> None:
    """No provider is asked: nobody needs an account for a rehearsal."""
    done = CliRunner().invoke(app, ["clean", str(rehearsed.path)])
    assert (done.exit_code, done.stdout) == (
        0,
        f"{rehearsed.path} is a rehearsal: nothing was created, so there is nothing to delete\n",
    )


def test_no_other_controller_shares_a_rehearsal(rehearsed: ResultsFolder, tmp_path: Path) -> None:
    (tmp_path / "clouds.toml").write_text(TEXT)
    for argv in (["run", str(tmp_path / "clouds.toml"), "--rehearse"], ["run", str(rehearsed.path)]):
        done = CliRunner().invoke(app, [*argv, "--state", "postgresql://me@here:5432/studies"])
        assert "a rehearsal cannot be shared" in str(done.exception)


def test_a_line_that_a_kill_cut_off_says_nothing(tmp_path: Path) -> None:
    clusters = Clusters(tmp_path / "rehearsal.log")
    clusters.note("+", "aws", "s/a")
    for half in ("-", "+\taws\ts/", "-\taws\ts/a"):
        whole = clusters.path.read_text()
        clusters.path.write_text(whole + half)
        clusters.note("+", "aws", "s/b")
        assert clusters.path.read_text() == f"{whole}+\taws\ts/b\n"
        assert list(clusters.existing("aws")) == ["s/a", "s/b"]
    clusters.path.write_text("-\naws\n\n+\taws\ts/c\n")
    assert list(clusters.existing("aws")) == ["s/c"]


def test_a_folder_goes_on_as_a_rehearsal(rehearsed: ResultsFolder, tmp_path: Path) -> None:
    study = tmp_path / "clouds.toml"
    study.write_text(TEXT)
    run(study, tmp_path / "out", "--rehearse", "--only", "storage")
    ResultsFolder(tmp_path / "out").write_plan(TEXT, planned(simulated=True))
    done = CliRunner().invoke(app, ["run", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert values(ResultsFolder(tmp_path / "out")) == values(rehearsed), "whoever runs it, the numbers are the same"


def values(folder: ResultsFolder) -> dict[str, list[tuple[str, float]]]:
    found = {}
    for row, trial in folder.planned():
        attempt = trial.decisive_attempt()
        found[row.intent.id] = [(one.metric, one.value) for one in attempt.measurements()] if attempt else []
    return found


@pytest.mark.parametrize("name", sorted(BENCHMARKS))
def test_every_benchmark_has_numbers(name: str) -> None:
    benchmark = BENCHMARKS[name]
    try:
        parameters = benchmark.parameters.model_validate({})
    except ValueError:
        parameters = benchmark.parameters.model_validate({"edition": "cr2022"})
    machine = SimulatedMachine.of(load(TEXT, "clouds.toml").configurations[0])
    found = list(measurements(benchmark, parameters, machine, 1))
    headlines = {metric.name for metric in benchmark.metrics(parameters) if metric.headline}
    assert headlines <= {one.metric for one in found if one.at_s is None}
    least = 0.0 if name == "adversity" else math.nextafter(0.0, 1.0)  # a fault may cost nothing
    assert all(one.value >= least for one in found)


KILLS = (20, 45, 70, 100, 140)


@pytest.mark.slow
def test_the_2022_edition_is_rehearsed_through_five_kills(tmp_path: Path) -> None:
    """One replicate of all its chapters on each eighth configuration, killed by kill -9."""
    out, study = tmp_path / "out", tmp_path / "edition.toml"
    text = (ROOT / "studies" / "cloud-report-2022.toml").read_text()
    study.write_text(text.replace("replicates = 6", "replicates = 3").replace("equal_machines = 4", ""))
    argv = [sys.executable, "-m", "nephoscope", "run", str(study), "--rehearse", "--out", str(out), "--types", "m6i.*"]
    argv += ["--types", "n2-standard-*", "--types", "D8s_v5", "--max-clusters", "3"]
    for ended in KILLS:
        process = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while len(list(out.glob("trials/*/attempts/*/status.json"))) < ended:
            assert process.poll() is None
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    folder = ResultsFolder(out)
    rows = evaluation.status(folder)
    assert {(row.state, row.verdict) for row in rows} == {("finished", "valid")}
    assert {row.uses for row in rows} >= {"tpcc", "coremark", "multi-stream", "request-response", "fio"}
    signs = Counter(line[0] for line in folder.rehearsal_path.read_text().splitlines())
    whole = load(study.read_text(), study.name)
    shared = clusters_of(whole.placement, (planned.intent for planned, _ in folder.planned()), BENCHMARKS)
    assert signs["+"] == signs["-"] >= len({name or trial for trial, name in shared.items()})
    assert values(folder) == {row: drawn(folder, whole, row) for row in values(folder)}
    assert report_files(evaluation.analysed(folder)).files


def drawn(folder: ResultsFolder, study: Study, trial: str) -> list[tuple[str, float]]:
    """What an unkilled run stores: numbers depend on the trial alone."""
    from nephoscope.model.seeds import derive_seed

    intent = next(row.intent for row in folder.plan().trials if row.intent.id == trial)
    configuration = next(one for one in study.configurations if one.name == intent.configuration_name)
    benchmark = BENCHMARKS[intent.benchmark.uses]
    seed = derive_seed(intent.seed, intent.benchmark.name, intent.replicate)
    parameters = benchmark.parameters.model_validate(intent.benchmark.parameters)
    return [
        (one.metric, one.value) for one in measurements(benchmark, parameters, SimulatedMachine.of(configuration), seed)
    ]


def test_reads_are_faster_than_writes_by_another_factor_on_each_machine() -> None:
    """With one factor for all, a rehearsed report would show a law of storage that nobody measured."""
    benchmark = BENCHMARKS["sysbench-fileio"]
    factors = []
    for configuration in load(TEXT, "clouds.toml").configurations:
        found = measurements(benchmark, benchmark.parameters(), SimulatedMachine.of(configuration), 1)
        values = {one.metric: one.value for one in found}
        factors.append(values["read-16.iops"] / values["write-16.iops"])
    assert len({round(factor, 3) for factor in factors}) == len(factors) > 1


@pytest.mark.parametrize("iops", [0, 500])
def test_no_volume_gives_more_than_it_is_sold_with(iops: int) -> None:
    volume = f'volumes = [{{ kind = "gp3", size = 500, iops = {iops} }}]'
    study = load(TEXT.replace('filesystem = "ext4"', f'filesystem = "ext4", {volume}'), "clouds.toml")
    fio, most = BENCHMARKS["fio"], iops or 3_000
    for configuration in study.configurations:
        machine = SimulatedMachine.of(configuration)
        found = list(measurements(fio, fio.parameters(), machine, 1))
        rates = [one.value for one in found if one.metric.endswith("iops")]
        assert rates
        assert 0.5 * most < max(rates) <= most


def test_an_emulated_machine_shows_the_quota_of_its_own_kind() -> None:
    """Without it, a check would reject every trial."""
    study = read_study(ROOT / "studies" / "linear-scaling.toml")
    small = SimulatedMachine.of(study.configurations[0])
    assert small.facts("database-1", 1).cgroup_cpu_limit == 0.2
    assert small.facts("load", 1, is_load=True).cgroup_cpu_limit is None


def test_simulated_hosts_are_machines_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "rack.toml").write_text("""
name = "rack"
replicates = 4

[[matrix]]
name = "{host}"
axes.host = ["rack1-01", "rack1-02", "rack1-03"]
provider = "ssh"
database_machine.hosts = ["{host}"]

[[benchmarks]]
uses = "stress-ng"
""")
    run(tmp_path / "rack.toml", tmp_path / "out", "--rehearse")
    study = evaluation.analysed(ResultsFolder(tmp_path / "out"))
    hosts = ("rack1-01", "rack1-02", "rack1-03")
    assert {row.configuration: row.machine for row in study[TrialRow]} == {
        host: f"host {host} {host}" for host in hosts
    }
    assert {row.scope for row in study[Comparison]} == {"these machines"}
    answers = [str(one.text) for one in study.insights if one.rule == "answer"]
    assert any("the best of 3 is" in text and "rack1-03, with" in text for text in answers)
    assert all("these machines" in text for text in answers)
