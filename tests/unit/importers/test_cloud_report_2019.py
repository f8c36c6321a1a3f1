"""The tree of 2019: labels are claims, what is damaged is told, what does not count stays in the data as such."""

import gzip
import re
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation, imports
from nephoscope.importers.cloud_report_2019.logs import ImportRecord, measured_runs, record_of, words_of
from nephoscope.importers.cloud_report_2019.machine_types import machine_type_of, machine_types
from nephoscope.importers.cloud_report_2019.measured import PREPARE
from nephoscope.model.errors import InputError
from nephoscope.model.records import Measurement, VerdictKind
from nephoscope.model.rows import GateRow, Statistic, TrialRow
from nephoscope.model.units import MIB
from nephoscope.store.folder import ResultsFolder, Trial
from tests.support.logs_of_2019 import cpu_log, recorded, write_run

ROOT = Path(__file__).resolve().parents[3]
REAL = ROOT.parent / "shared" / "data" / "cloud-report-2019"
PAGE = ROOT / "docs" / "how-to" / "import-2019-logs.md"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    logs = {
        "cpu.log": cpu_log(),
        "network-ping.log": recorded("ping-20221126.txt"),
        "network-iperf-client.log": recorded("iperf-2.1.8.txt"),
        "io-load-results.log": recorded("sysbench-load-1.0.20.txt"),
        "io-wr-results.log": recorded("sysbench-write-1.0.20.txt"),
        "IO_RD_results.log": recorded("sysbench-read-1.0.20.txt"),
        "run-data.csv": "uuid,cloud,machine type,date YYYYMMDD,runID\nU,aws,c5.4xlarge,20190912,0\n",
        "notes.txt": "not a log",
    }
    write_run(tmp_path, "aws/c5.4xlarge/20190912/0", logs)
    write_run(tmp_path, "aws/c5.4xlarge/20190912/1", {"cpu.log": cpu_log(effective=4, cache_kib=46080)})
    write_run(tmp_path, "aws/c5.4xlarge-ebs/20190912/0", {"network-ping.log": recorded("damaged-ping.txt")})
    claim = "uuid,cloud,machine type,date,runID\nU,gcp,n2-standard-16,20190912,1\n"
    write_run(tmp_path, "gcp/n2-standard-16/20190912/10", {"cpu.log": cpu_log(cache_kib=56320), "run_data.csv": claim})
    broken = "uuid," + "x" * 200_000
    write_run(tmp_path, "gcp/x9-mega-16/20190912/0", {"cpu.log": "garbage\n", "run_data.csv": broken})
    return tmp_path


def judged(tree: Path) -> ImportRecord:
    return record_of([run for run, _ in measured_runs(tree)])


def numbers_of(trial: Trial) -> list[Measurement]:
    attempt = trial.decisive_attempt()
    return attempt.measurements() if attempt else []


def test_runs_are_judged_by_what_their_logs_show(tree: Path) -> None:
    record = judged(tree)
    assert {run.folder: str(run.verdict) for run in record.runs} == {
        "aws/c5.4xlarge/20190912/0": "valid",
        "aws/c5.4xlarge/20190912/1": "invalid",
        "aws/c5.4xlarge-ebs/20190912/0": "unknown",
        "gcp/n2-standard-16/20190912/10": "valid",
        "gcp/x9-mega-16/20190912/0": "unknown",
    }
    counts = {row.machine_type: (row.runs, row.valid, row.invalid, row.unknown) for row in record.counts}
    assert counts["c5.4xlarge"] == (2, 1, 1, 0)
    assert words_of(record.counts[0].reasons) == "effective-cpus 1, cpu-cache 1"


def test_refused_logs_and_claims_that_differ_are_told(tree: Path) -> None:
    runs = {run.folder: run for run in judged(tree).runs}
    assert re.match("network-ping.log: .*cut off", runs["aws/c5.4xlarge-ebs/20190912/0"].unreadable[0])
    assert len(runs["gcp/x9-mega-16/20190912/0"].unreadable) == 1
    assert "says gcp/n2-standard-16/20190912/1, the path" in runs["gcp/n2-standard-16/20190912/10"].notes[0]
    assert runs["aws/c5.4xlarge/20190912/0"].notes == []


def test_identity_is_of_the_content(tree: Path) -> None:
    before = {run.folder: run.run for run in judged(tree).runs}
    (tree / "aws" / "c5.4xlarge").rename(tree / "aws" / "m5.4xlarge")
    after = {run.folder: run.run for run in judged(tree).runs}
    assert sorted(before.values()) == sorted(after.values())
    assert len(set(before.values())) == 5


def test_reads_from_the_page_cache_do_not_count_and_writes_do(tree: Path) -> None:
    ((run, ours),) = (pair for pair in measured_runs(tree) if pair[0].folder == "aws/c5.4xlarge/20190912/0")
    assert run.verdict is VerdictKind.VALID
    reads = [row.own_verdict for row in ours if row.tool == "sysbench fileio random read"]
    assert {own and (own.check, own.verdict) for own in reads} == {("cache-served", VerdictKind.INVALID)}
    writes = [row for row in ours if row.tool == "sysbench fileio random write"]
    assert {row.own_verdict for row in writes} == {None}
    (rate,) = (row.value for row in writes if row.metric == "written_bytes_per_s" and row.threads == 1)
    assert rate == 202.36 * MIB
    assert {row.tool for row in ours} > {"stress-ng cpu", "ping", "iperf", "sysbench fileio prepare"}


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


def test_out_is_a_results_folder_with_every_number_and_what_is_not_known(tree: Path, elsewhere: Path) -> None:
    out = elsewhere / "imported"
    imports.import_cloud_report_2019(tree, out)
    stored = [row for trial in ResultsFolder(out).planned() for row in numbers_of(trial[1])]
    assert len(stored) == sum(len(measured) for _, measured in measured_runs(tree)) > 30
    record = ImportRecord.model_validate_json((out / "import.json").read_text())
    assert any("argv" in line for line in record.not_known)
    before = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file() and path.name != "lock"}
    imports.import_cloud_report_2019(tree, out)
    again = {path.name: path.read_bytes() for path in out.iterdir() if path.is_file() and path.name != "lock"}
    assert again == before


def test_the_report_shows_medians_before_and_after_the_checks(tree: Path, elsewhere: Path) -> None:
    imports.import_cloud_report_2019(tree, elsewhere / "out")
    folder = ResultsFolder(elsewhere / "out")
    analysed = evaluation.analyze(folder)
    gate = {(row.configuration, row.metric): row for row in analysed[GateRow]}
    cpu = gate["aws-c5.4xlarge", "bogo_ops_per_s"]
    assert (cpu.n_before, cpu.n_after) == (2, 1)
    assert {str(reason).split(" ")[0] for reason in cpu.reasons} == {"effective-cpus", "cpu-cache"}
    reads = [row for row in analysed[TrialRow] if row.benchmark == "sysbench-fileio-random-read"]
    assert reads
    assert not any(row.counts for row in reads)
    assert all("cache-served" in "".join(map(str, row.reasons)) for row in reads)
    writes = {row.metric for row in analysed[Statistic] if row.benchmark == "sysbench-fileio-random-write"}
    assert "written_bytes_per_s_1_threads" in writes
    one = next(row for row in analysed[TrialRow] if row.benchmark == "ping" and row.counts)
    raw = elsewhere / "out" / str(one.folder) / "raw"
    assert [path.name for path in raw.glob("*.log")] == ["network-ping.log"]
    page = evaluation.report(folder).path.with_name("evidence.html").read_text()
    assert "Medians that the checks changed" in page


def test_a_study_s_folder_is_not_written_into(tree: Path, elsewhere: Path) -> None:
    (elsewhere / "plan.json").write_text("{}")
    with pytest.raises(InputError, match="holds a study"):
        imports.import_cloud_report_2019(tree, elsewhere)


def test_an_import_is_not_written_into_what_it_reads(tree: Path) -> None:
    with pytest.raises(InputError, match="the folder to import"):
        imports.import_cloud_report_2019(tree, tree / "imported")


@pytest.mark.parametrize("place", ["nothing", "empty"])
def test_a_folder_without_logs_is_refused(tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError):
        judged(tmp_path / place)


def test_a_label_may_name_disks_behind_the_type() -> None:
    for label in ("c5.4xlarge", "c5.4xlarge-ebs", "C5.4xlarge-ebs-gp2"):
        found = machine_type_of("aws", label)
        assert found
        assert found.name == "c5.4xlarge"
    assert machine_type_of("gcp", "n1-standard-16-pd") == machine_type_of("gcp", "n1-standard-16")
    assert machine_type_of("gcp", "c5.4xlarge") is None
    assert machine_type_of("aws", "c5.4xlargest") is None


def test_the_table_of_types_is_whole() -> None:
    for (provider, _), known in machine_types().items():
        assert provider in {"aws", "gcp", "azure"}
        assert known.vcpus == 16
        assert known.memory_gib
        assert known.l3_kib or not known.l3_documented


def test_the_name_of_an_unknown_type_tells_its_vcpus_and_nothing_else() -> None:
    for provider, label, vcpus in (
        ("aws", "m6g.2xlarge", 8),
        ("aws", "m6g.xlarge-ebs", 4),
        ("ec2", "c5.large", 2),
        ("aws", "c4.8xlarge", 36),
        ("gce", "n2-custom-12-65536", 12),
        ("azure", "F8s_v2", 8),
        ("gcp", "e2-standard-8", 8),
        ("azure", "Standard_E32s_v4", 32),
    ):
        known = machine_type_of(provider, label)
        assert known
        assert (known.vcpus, known.memory_gib, known.cpu_words, known.l3_kib) == (vcpus, None, (), ())
    assert machine_type_of("aws", "m5.metal") is None
    held = machine_type_of("aws", "i3en.6xlarge")
    assert held
    assert (held.vcpus, held.vcpus_of_size) == (16, 24), "the Cloud Report held it to 16"
    assert machine_type_of("azure", "Standard_D4_v2") is None, "its number is no count"


def test_a_run_without_a_cpu_log_is_judged_by_runs_on_the_same_machines(tmp_path: Path) -> None:
    ping, load = recorded("ping-20221126.txt"), recorded("sysbench-load-1.0.20.txt")
    bad, day = cpu_log(effective=4, cache_kib=46080), "aws/c5.4xlarge/20190909"
    write_run(tmp_path, f"{day}/0", {"io-load-results.log": load})
    write_run(tmp_path, f"{day}/3", {"io-load-results.log": load, "cpu.log": bad})
    write_run(tmp_path, f"{day}/4", {"network-ping.log": ping, "cpu.log": cpu_log()})
    write_run(tmp_path, f"{day}/5", {"network-ping.log": ping, "cpu.log": "garbage\n"})
    write_run(tmp_path, f"{day}/6", {"network-ping.log": ping.replace("127.0.0.1", "127.0.0.2")})
    write_run(tmp_path, "aws/c5.4xlarge/20190910/0", {"network-ping.log": ping})
    verdicts = {run.folder: (str(run.verdict), run.verdicts[0].check) for run in judged(tmp_path).runs}
    assert verdicts[f"{day}/0"] == ("invalid", "same-machine")
    assert verdicts[f"{day}/5"] == ("valid", "same-machine")
    assert verdicts[f"{day}/6"] == ("unknown", "cpu-log")
    assert verdicts["aws/c5.4xlarge/20190910/0"] == ("unknown", "cpu-log"), "of another day"


def test_a_copied_log_of_prepare_counts_once(tmp_path: Path) -> None:
    """A run that found the files of an earlier one has that run's log, to the hundredth of a second."""
    load, day = recorded("sysbench-load-1.0.20.txt"), "aws/c5.4xlarge/20190912"
    write_run(tmp_path, f"{day}/10", {"io-load-results.log": load, "cpu.log": cpu_log()})
    write_run(tmp_path, f"{day}/2", {"io-load-results.log": load, "cpu.log": cpu_log()})
    write_run(tmp_path, f"{day}/1", {"io-load-results.log": load, "cpu.log": cpu_log(effective=4, cache_kib=46080)})
    runs = measured_runs(tmp_path)
    assert [(run.label.number, str(run.verdict)) for run, _ in runs] == [
        ("1", "invalid"),
        ("10", "valid"),
        ("2", "valid"),
    ], "the other numbers of the runs count"
    found = {run.label.number: row.own_verdict for run, measured in runs for row in measured if row.tool == PREPARE}
    copy = f"repeated-log: invalid: the same log as run {day}/2: it was measured once"
    said = {number: own and f"{own.check}: {own.verdict}: {own.reason}" for number, own in found.items()}
    assert said == {"1": copy, "10": copy, "2": None}


def test_a_contended_run_says_nothing_of_its_siblings(tmp_path: Path) -> None:
    ping = recorded("ping-20221126.txt")
    write_run(tmp_path, "aws/c5.4xlarge/20190909/0", {"network-ping.log": ping, "cpu.log": cpu_log(effective=15.4)})
    write_run(tmp_path, "aws/c5.4xlarge/20190909/1", {"network-ping.log": ping})
    runs = judged(tmp_path).runs
    assert [str(run.verdict) for run in runs] == ["invalid", "unknown"]


def test_logs_of_other_forms_are_judged_as_well(tmp_path: Path) -> None:
    packed = gzip.compress(cpu_log().encode())
    cases: dict[str, tuple[bytes, str, str]] = {
        "aws/c5.4xlarge/20190912/0": (packed, "cpu.log.gz", "valid"),
        "aws/c5.4xlarge/20190912/1": (packed[: len(packed) // 2], "cpu.log.gz", "unknown"),
        "aws/c5.4xlarge/20190912/2": (b"no pack", "cpu.log.gz", "unknown"),
        "aws/c5.4xlarge/20190912/3": (cpu_log().replace("\n", "\r\n").encode(), "CPU.log", "valid"),
        "aws/c5.4xlarge/20190912/4": ((cpu_log() + cpu_log(effective=4)).encode(), "cpu.log", "invalid"),
        "aws/c5.4xlarge/20190912/5": ((short_log() + cpu_log()).encode(), "cpu.log", "valid"),
        "AWS/c5.large/20190912/0": (cpu_log().encode(), "cpu.log", "invalid"),
        "AWS/c5.large/20190912/1": (cpu_log(effective=2, workers=2).encode(), "cpu.log", "valid"),
        "gce/n1-standard-16/20190912/0": (cpu_log(effective=4).encode(), "cpu.log", "invalid"),
        "azure/D16s_v3_premium/20190912/0": (cpu_log(effective=8).encode(), "cpu.log", "invalid"),
        "oracle/VM.Standard2.8/20190912/0": (cpu_log(effective=3.6).encode(), "cpu.log", "invalid"),
    }
    for path, (content, name, _) in cases.items():
        (tmp_path / path).mkdir(parents=True)
        (tmp_path / path / name).write_bytes(content)
    runs = judged(tmp_path).runs
    assert {run.folder: str(run.verdict) for run in runs} == {path: verdict for path, (_, _, verdict) in cases.items()}


def test_a_log_that_unpacks_to_too_much_is_named_and_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = cpu_log().encode()
    write_run(tmp_path, "aws/c5.4xlarge/20190912/0", {})
    (tmp_path / "aws/c5.4xlarge/20190912/0/cpu.log.gz").write_bytes(gzip.compress(content))
    monkeypatch.setattr("nephoscope.importers.cloud_report_2019.logs._MAX_BYTES", len(content))
    (whole,) = judged(tmp_path).runs
    assert (str(whole.verdict), whole.unreadable) == ("valid", [])
    monkeypatch.setattr("nephoscope.importers.cloud_report_2019.logs._MAX_BYTES", len(content) - 1)
    (larger,) = judged(tmp_path).runs
    assert str(larger.verdict) == "unknown"
    assert larger.unreadable == ["cpu.log: unpacked, it is larger than 0 MiB"]


def short_log() -> str:
    """A warm-up of half a second, in which half of the time went into starting the workers."""
    said = "stress-ng: info:  [1] "
    row = f"{'cpu':<16}{1000:>10}{0.5:10.2f}{4.0:10.2f}{0:10.2f}{2000:15.2f}{250:15.2f}"
    return f"{said}dispatching hogs: 16 cpu\n{said}successful run completed in 0.51s\n{said}{row}\n"


@pytest.fixture(scope="module")
def real() -> ImportRecord:
    if not REAL.is_dir():
        pytest.skip(f"{REAL} is not there: the public logs of 2019 are not stored in this repository")
    return judged(REAL)


def test_the_page_shows_the_counts_of_the_real_logs(real: ImportRecord) -> None:
    rows = [
        f"| {row.provider} | {row.machine_type} | {row.runs} | {row.valid} | {row.invalid} | {row.unknown} "
        f"| {words_of(row.reasons)} |"
        for row in real.counts
    ]
    sums = (sum(getattr(row, name) for row in real.counts) for name in ("runs", "valid", "invalid", "unknown"))
    rows.append(f"| all | | {' | '.join(map(str, sums))} | |")
    shown = PAGE.read_text().partition("|---|---|---|---|---|---|---|\n")[2].partition("\n\n")[0]
    assert shown.splitlines() == rows


def test_every_real_run_below_sixteen_effective_cpus_is_found_and_no_other_is_refused(real: ImportRecord) -> None:
    effective = {run.folder: run.shown.effective_cpus for run in real.runs if run.shown}
    bad = {folder for folder, cpus in effective.items() if cpus < 15}
    siblings = {"aws/c5d.4xlarge/20190909/0", "aws/c5d.4xlarge/20190909/2"}
    assert {run.folder for run in real.runs if run.verdict is VerdictKind.INVALID} == bad | siblings
    assert {run.folder for run in real.runs if run.verdict is VerdictKind.UNKNOWN} == set()
    assert len(bad) == 23
    assert min(cpus for folder, cpus in effective.items() if folder not in bad) > 16 * 0.998


def test_every_refused_run_has_addresses_that_google_gives_to_us_east1_and_no_other_run_of_aws_has(
    real: ImportRecord,
) -> None:
    google = ip_network("10.142.0.0/20")
    for run in real.runs:
        ping = REAL / run.folder / "network-ping.log"
        if run.label.provider == "aws" and ping.exists():
            host = ping.read_text(errors="replace").split()[1]
            assert (ip_address(host) in google) == (run.verdict is VerdictKind.INVALID), run.folder


def test_the_one_real_log_that_was_cut_is_refused(real: ImportRecord) -> None:
    refused = {run.folder: run.unreadable for run in real.runs if run.unreadable}
    assert list(refused) == ["aws/c5d.4xlarge/20190909/4"]
    assert "cut off" in refused["aws/c5d.4xlarge/20190909/4"][0]
