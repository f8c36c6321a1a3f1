"""Every importer of files: known numbers from a whole output, words for a damaged one, and a report at the end."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from nephoscope.app.stages import evaluation, imports
from nephoscope.importers import folder, oltp_logs, tree
from nephoscope.importers.files import Parsed
from nephoscope.importers.imported import ImportedStudy
from nephoscope.importers.oltp_logs import parse_cockroach_workload, parse_go_tpc, parse_hammerdb, parse_ycsb
from nephoscope.importers.perfkit import parse_samples
from nephoscope.importers.phoronix import parse_composite
from nephoscope.importers.registry import IMPORTERS
from nephoscope.model.errors import InputError, OutputUnreadable, StorageFailed
from nephoscope.model.records import Direction, VerdictKind
from nephoscope.store.folder import ResultsFolder
from tests.support.others_results import COCKROACH, GO_TPC, HAMMERDB, PERFKIT, PHORONIX, SAMPLES, YCSB
from tests.support.shared_data import shared

HEADLINES = {
    "cockroach-workload": ("cockroach-workload-tpcc", "new_orders_per_minute", 6000),
    "go-tpc": ("go-tpc-tpcc", "new_orders_per_minute", 1000),
    "hammerdb": ("hammerdb-tproc-c", "new_orders_per_minute", 8000),
    "ycsb": ("ycsb", "operations_per_s", 1666.8995807546416),
    "fio": ("fio-rd-iops-read", "read_ios_per_s", 100),
    "perfkit": ("perfkit-coremark", "Coremark Score (iterations/s)", 123456.7),
    "phoronix": ("phoronix-compress-7zip-compression-rating", "result", 1000),
    "cloud-report": ("coremark-single", "iterations_per_s", 20000),
}


def composite(text: str) -> object:
    return parse_composite("", text.encode(), [])


def samples(text: str) -> object:
    return parse_samples(text, [])


def placed(folder: Path, name: str, text: str) -> Path:
    suffix = {"phoronix": ".xml", "fio": ".json"}.get(name, ".log")
    path = folder / "in" / "aws" / "m5.2xlarge" / f"run{suffix}"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def read(name: str, path: Path) -> ImportedStudy:
    return IMPORTERS[name].read(path)


@pytest.mark.parametrize("name", SAMPLES)
def test_a_whole_output_gives_its_headline_number_and_what_is_not_known(name: str, tmp_path: Path) -> None:
    study = read(name, placed(tmp_path, name, SAMPLES[name]))
    benchmark, metric, value = HEADLINES[name]
    trial = study.trials[0]
    assert trial.benchmark.startswith(benchmark)
    assert {one.metric: one.value for one in trial.measurements}[metric] == pytest.approx(value)
    declared = {one.name: one for one in next(b for b in study.benchmarks if b.name == trial.benchmark).metrics}
    assert declared[metric].headline
    assert {one.metric for one in trial.measurements} <= set(declared)
    assert all(one.verdict is VerdictKind.VALID for one in trial.verdicts)
    assert study.unknown
    assert trial.raw


@pytest.mark.parametrize("value", ["NaN", "-Infinity", "null"])
def test_a_sample_of_perfkit_without_a_number_is_left_out_by_name(value: str) -> None:
    left_out: list[str] = []
    whole = parse_samples(PERFKIT, [])
    assert len(parse_samples(PERFKIT.replace('"value": 3.5', f'"value": {value}'), left_out)) == len(whole) - 1
    assert [line.startswith("line 3: ") and line.endswith(" is no number") for line in left_out] == [True]


def test_more_runs_than_anybody_measures_are_refused_before_each_becomes_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In an entry of Phoronix two bytes are a run."""
    entry = f"<Entry><Identifier>a</Identifier><Value>1</Value><RawString>{'1:' * 200_000}</RawString></Entry>"
    result = f"<Result><Identifier>pts/x-1</Identifier><Scale>x</Scale><Data>{entry}</Data></Result>"
    with pytest.raises(InputError, match="more than 100,000 runs"):
        read("phoronix", placed(tmp_path, "phoronix", f"<PhoronixTestSuite>{result}</PhoronixTestSuite>"))
    monkeypatch.setattr(tree, "MAX_TRIALS", 2)
    lines = "".join(PERFKIT.replace('"run_uri": "', f'"run_uri": "{number}') for number in range(3))
    with pytest.raises(InputError, match="more than 2 runs"):
        read("perfkit", placed(tmp_path, "perfkit", lines))


@pytest.mark.parametrize("name", ["fio", "phoronix"])
def test_what_an_import_stores_of_a_file_is_its_size_and_not_its_square(name: str, tmp_path: Path) -> None:
    if name == "fio":
        document = json.loads(SAMPLES[name])
        (job, *_) = document["jobs"]
        document["jobs"] = [{**job, "jobname": f"job-{number}"} for number in range(20)]
        text = json.dumps(document)
    else:
        begin, end = PHORONIX.index("<Entry>"), PHORONIX.index("</Entry>") + len("</Entry>")
        text = PHORONIX[:begin] + PHORONIX[begin:end] * 20 + PHORONIX[end:]
    trials = read(name, placed(tmp_path, name, text)).trials
    assert len(trials) >= 20
    assert sum(len(content) for trial in trials for content in trial.raw.values()) == len(text)


def test_a_series_of_a_monitor_and_a_failed_test_of_phoronix_are_left_out_by_name() -> None:
    def result(identifier: str, form: str, value: str, runs: str) -> str:
        entry = f"<Entry><Identifier>a</Identifier><Value>{value}</Value><RawString>{runs}</RawString></Entry>"
        about = f"<Identifier>{identifier}</Identifier><Title>{form}</Title><DisplayFormat>{form}</DisplayFormat>"
        return f"<Result>{about}<Scale>x</Scale><Data>{entry}</Data></Result>"

    results = (
        result("pts/pgbench-1", "BAR_GRAPH", "2.5", "2:3"),
        result("", "LINE_GRAPH", "10,20,30", "10:20:30"),
        result("", "", "20", "10:20:30"),
        result("pts/monitor-1", "LINE_GRAPH", "20", "10:20:30"),
        result("pts/openssl-1", "BAR_GRAPH", "", ""),
        result("pts/fio-1", "BAR_GRAPH", "9", "8:1o"),
    )
    text = f"<PhoronixTestSuite>{''.join(results)}</PhoronixTestSuite>"
    left_out: list[str] = []
    trials = parse_composite("c.xml", text.encode("utf-16"), left_out)
    assert [trial.measurements[0].value for trial in trials] == [2.0, 3.0]
    assert left_out == [
        "c.xml: LINE_GRAPH: a LINE_GRAPH of a monitor, not of a test",
        "c.xml: : a result of a monitor, not of a test",
        "c.xml: LINE_GRAPH: a LINE_GRAPH of a monitor, not of a test",
        "c.xml: BAR_GRAPH: a: the test failed",
        "c.xml: BAR_GRAPH: a: '8:1o' is no number",
    ]


def test_hammerdb_before_4_prints_its_two_numbers_the_other_way_round() -> None:
    old = HAMMERDB.replace("8000 NOPM from 24000 PostgreSQL TPM", "24000 PostgreSQL TPM at 8000 NOPM")
    assert parse_hammerdb(old) == parse_hammerdb(HAMMERDB)


@pytest.mark.parametrize("name", sorted(set(SAMPLES) - {"perfkit", "phoronix"}))
def test_folders_name_the_machine_and_files_are_replicates(name: str, tmp_path: Path) -> None:
    first = placed(tmp_path, name, SAMPLES[name])
    first.with_stem("again").write_text(SAMPLES[name])
    first.with_stem("other").write_text("something else\n")
    found = imports.import_results(name, tmp_path / "in", ResultsFolder(tmp_path / "out"), same=True)
    assert {row.configuration for row in found.trials} == {"aws-m5.2xlarge"}
    assert sorted(row.replicate for row in found.trials) == [1, 2]
    assert all(row.counts for row in found.trials)
    assert len(found.source.left_out) == 1
    page = evaluation.report(ResultsFolder(tmp_path / "out")).path.with_name("evidence.html").read_text()
    assert "Measured by others" in page


@pytest.mark.parametrize("name", SAMPLES)
def test_an_output_cut_anywhere_is_refused_or_says_the_same(name: str, tmp_path: Path) -> None:
    """A cut before the last line end must not change a number that is still given."""
    text = SAMPLES[name]
    whole = {one.metric: one.value for one in read(name, placed(tmp_path, name, text)).trials[0].measurements}
    given = 0
    for end in range(1, len(text) - 1, max(1, len(text) // 150)):
        try:
            study = read(name, placed(tmp_path, name, text[:end]))
        except InputError:
            continue
        given += 1
        for trial in study.trials:
            assert {one.metric: one.value for one in trial.measurements}.items() <= whole.items()
    assert given < 60


def test_cockroach_times_of_both_forms_and_rates_from_counts() -> None:
    (found,) = parse_cockroach_workload(COCKROACH)
    values = {one.metric.name: one.value for one in found.values}
    assert values["newOrder_per_s"] == pytest.approx(100)
    assert values["latency_p95_payment"] == pytest.approx(0.0126)
    assert values["efficiency_share"] == pytest.approx(0.933)
    seconds = parse_cockroach_workload(COCKROACH.replace(" 10m37s", "637.0s"))[0]
    assert {one.metric.name: one.value for one in seconds.values} == pytest.approx(values)
    assert any("one significant digit" in one for one in oltp_logs.COCKROACH.unknown)


def test_damage_is_refused_with_its_reason(subtests: pytest.Subtests) -> None:
    for parse, text, why in [
        (parse_cockroach_workload, COCKROACH.replace("__result", "__total"), "row"),
        (parse_cockroach_workload, COCKROACH.replace("126763", "12676x"), "row"),
        (parse_cockroach_workload, COCKROACH.split("_elapsed_______tpmC")[0].replace(" 126763", "      0"), "aborted"),
        (parse_cockroach_workload, COCKROACH + COCKROACH, "two values"),
        (parse_go_tpc, GO_TPC.replace("tpmC:", "tpm:"), "tpmC"),
        (parse_go_tpc, GO_TPC.replace("Count: 90,", ""), "no count"),
        (parse_go_tpc, "tpmC: 1000.0\n", "no summary"),
        (parse_hammerdb, HAMMERDB.replace("8000 NOPM", "0 NOPM"), "0 NOPM"),
        (parse_hammerdb, HAMMERDB.replace("TEST RESULT", "RESULT"), "TEST RESULT"),
        (
            parse_ycsb,
            YCSB.replace("Throughput(ops/sec), 1666.8995807546416", "Throughput(ops/sec), NaN"),
            "did not finish",
        ),
        (parse_ycsb, YCSB.replace("1666.8995807546416", "0.0"), "throughput of 0"),
        (parse_ycsb, YCSB + YCSB, "two values"),
        (samples, PERFKIT.replace('"value": 3.5', '"value": "3.5"'), "line 3"),
        (samples, PERFKIT.replace('"value": 3.5', '"value": 3.5, "value": 4'), "stands twice"),
        (samples, PERFKIT.replace('"value": 3.5', f'"value": {10**400}'), "line 3 .*OverflowError"),
        (samples, "[]\n", "line 1"),
        (samples, "", "empty"),
        (composite, PHORONIX + PHORONIX, "2 documents"),
        (composite, PHORONIX.replace("</Value>", "</Value><Value>8</Value>", 1), "'Value' stands twice"),
        (composite, PHORONIX.replace("<Result>", "<Result><Result/>"), "Result stands within another element"),
        (composite, PHORONIX.replace("PhoronixTestSuite", "Other"), "root"),
        (composite, "<!DOCTYPE x [<!ENTITY a 'b'>]><PhoronixTestSuite/>", "entities"),
        (composite, "<PhoronixTestSuite/>", "no result"),
    ]:
        with subtests.test(parse=parse):
            assert callable(parse)
            with pytest.raises(OutputUnreadable, match=why):
                parse(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cockroach-workload", COCKROACH.replace("        1         126763", "    90000         126763")),
        ("go-tpc", GO_TPC.replace("Count: 1,", "Count: 2,")),
        ("hammerdb", HAMMERDB.replace("Vuser 2:FINISHED SUCCESS", "Vuser 2:FINISHED FAILED")),
        ("hammerdb", HAMMERDB.replace("FINISHED SUCCESS", "ended")),
        ("ycsb", YCSB.replace("[READ], Return=OK, 8000", "[READ], Return=OK, 4000\n[READ], Return=ERROR, 4000")),
    ],
)
def test_a_run_with_many_errors_is_read_and_does_not_count(name: str, text: str, tmp_path: Path) -> None:
    (trial,) = read(name, placed(tmp_path, name, text)).trials
    assert trial.verdicts[-1].check == "errors"
    assert trial.verdicts[-1].verdict is VerdictKind.INVALID
    assert trial.measurements


@pytest.mark.parametrize(("errors", "verdict"), [(127, VerdictKind.VALID), (128, VerdictKind.INVALID)])
def test_up_to_one_in_a_thousand_of_the_operations_attempted_may_fail(errors: int, verdict: VerdictKind) -> None:
    """`ops` of cockroach workload are those that succeeded: 127 are more than a thousandth of these, but not of all."""
    text = COCKROACH.replace("        1         126763", f"{errors:9}         126900")
    (found,) = parse_cockroach_workload(text)
    reason = f"{errors} of {126_900 + errors:,} operations failed"
    assert [(one.verdict, str(one.reason)) for one in found.verdicts] == [(verdict, reason)]


def test_a_percentile_of_whole_milliseconds_that_is_0_is_not_known() -> None:
    (found,) = parse_ycsb(YCSB)
    names = {one.metric.name: one.value for one in found.values}
    assert "latency_p99_read" not in names
    assert names["latency_p95_read"] == pytest.approx(0.0012)


def test_perfkit_samples_of_one_name_are_left_out_and_times_are_better_low(tmp_path: Path) -> None:
    study = read("perfkit", placed(tmp_path, "perfkit", PERFKIT))
    (trial,) = study.trials
    assert (trial.machine.name, trial.cpus, trial.started_unix_ms) == ("gcp-n2-standard-8", 8, 1700000000500)
    assert {one.metric for one in trial.measurements} == {"Coremark Score (iterations/s)", "Latency (ms)"}
    assert study.left_out == ["coremark a1: part (x): 2 samples that nothing tells apart"]
    directions = {one.name: one.direction for one in study.benchmarks[0].metrics}
    assert directions == {"Coremark Score (iterations/s)": Direction.HIGHER, "Latency (ms)": Direction.LOWER}


def test_a_result_of_phoronix_with_many_elements_is_read_in_one_pass() -> None:
    """To count each of them among all others takes minutes."""
    many = "".join(f"<t{number}/>" for number in range(100_000))
    found = parse_composite("x", PHORONIX.replace("<Arguments/>", f"<Arguments/>{many}").encode(), [])
    assert len(found) == len(parse_composite("x", PHORONIX.encode(), []))


def test_phoronix_runs_are_repeats_and_a_failed_entry_is_no_number(tmp_path: Path) -> None:
    study = read("phoronix", placed(tmp_path, "phoronix", PHORONIX))
    assert [one.measurements[0].value for one in study.trials] == [1000, 1001, 1000.5]
    assert {one.machine.name for one in study.trials} == {"box-a"}


def test_composites_of_one_name_and_results_of_one_test_are_all_stored(tmp_path: Path) -> None:
    """The suite calls each of its files composite.xml, and a file may hold a test twice."""
    twice = PHORONIX.replace("</PhoronixTestSuite>", PHORONIX[PHORONIX.index("  <Result>") :])
    many = PHORONIX.replace("1000:1001:1000.5", ":".join(str(2000 + run) for run in range(11)))
    for day, text in (("monday", twice), ("tuesday", many)):
        (tmp_path / "in" / day).mkdir(parents=True)
        (tmp_path / "in" / day / "composite.xml").write_text(text)
    out = ResultsFolder(tmp_path / "out")
    found = imports.import_results("phoronix", tmp_path / "in", out)
    stored = [one for row in found.trials for one in out.trial(row.trial).attempts()[0].measurements()]
    assert [one.value for one in stored] == [*(1000, 1001, 1000.5) * 2, *range(2000, 2011)]
    assert [row.replicate for row in found.trials] == list(range(1, 18))


def test_trials_that_cannot_be_told_apart_are_rejected_instead_of_overwritten(tmp_path: Path) -> None:
    study = read("phoronix", placed(tmp_path, "phoronix", PHORONIX))
    doubled = study.model_copy(update={"trials": [*study.trials, study.trials[0]]})
    with pytest.raises(InputError, match=r"two results of phoronix-compress-7zip.* on box-a have the same origin"):
        folder.write(doubled, ResultsFolder(tmp_path / "out"), "1")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "file", "trials", "counting"),
    [
        ("cockroach-workload", "misc/cockroach_tpcc_1w_azure_D12v2.txt", 1, 1),
        ("hammerdb", "pkb/hammerdbcli_tpcc.log", 1, 1),
        ("ycsb", "pkb/ycsb-test-run.dat", 1, 1),
        ("ycsb", "pkb/ycsb-test-run-4.dat", 1, 0),
        ("ycsb", "pkb/ycsb-time-series.dat", 1, 1),
        ("fio", "pkb/fio-parser-sample-result.json", 5, 5),
        ("cloud-report", "pkb/coremark_sample_output.txt", 1, 1),
    ],
)
def test_shared_outputs_of_the_real_tools_are_read(
    name: str, file: str, trials: int, counting: int, tmp_path: Path
) -> None:
    found = imports.import_results(name, shared("tool-outputs") / file, ResultsFolder(tmp_path / "out"))
    assert (len(found.trials), sum(row.counts for row in found.trials)) == (trials, counting)


def test_no_trial_is_committed_before_its_files_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, folder = placed(tmp_path, "cockroach-workload", COCKROACH), ResultsFolder(tmp_path / "out")

    def broken(path: Path) -> None:
        raise StorageFailed(f"{path}: the disk is broken", hint="")

    monkeypatch.setattr("nephoscope.importers.folder.sync_all", broken)
    with pytest.raises(StorageFailed):
        imports.import_results("cockroach-workload", source.parents[2], folder)
    assert {row.state for row in evaluation.status(folder)} == {"interrupted"}
    monkeypatch.undo()
    assert all(row.counts for row in imports.import_results("cockroach-workload", source.parents[2], folder).trials)


@pytest.mark.parametrize(
    ("parse", "text"),
    [(parse_cockroach_workload, COCKROACH), (parse_go_tpc, GO_TPC), (parse_hammerdb, HAMMERDB), (parse_ycsb, YCSB)],
)
def test_lines_around_a_log_are_shown_and_a_failure_behind_its_numbers_refuses_it(
    parse: Callable[[str], list[Parsed]], text: str
) -> None:
    def shown(log: str) -> list[str]:
        return [str(verdict.reason) for verdict in parse(log)[0].verdicts if verdict.check == "around"]

    assert shown(text) == []
    before, behind = "SLF4J: Failed to load class", "real 0m10.2s"
    (said,) = shown(f"{before}\n{text.rstrip()}\n\n{behind}\n")
    assert said == f"around the document: {before}; around the document: {behind}"
    with pytest.raises(OutputUnreadable, match="the text around it says 'client: connection lost'"):
        parse(f"{text.rstrip()}\n\nclient: connection lost\n")
