"""I/O logs into which two runs wrote: the layouts are those of the public logs of Azure, 11 September 2019."""

from pathlib import Path

import pytest

from nephoscope.importers.cloud_report_2019.logs import measured_runs
from nephoscope.importers.cloud_report_2019.overlap import begun_anew, interleaved, unfinished
from tests.support.logs_of_2019 import cpu_log, recorded, write_run

ALONE = "B1 E1 B4 E4 B8 E8 B16 E16 B32 E32 B64 E64"


def log(events: str) -> str:
    """sysbench's output: B4 begins a test with 4 threads, E4 is its result."""
    return "".join(_begin(event[1:]) if event[0] == "B" else _end(int(event[1:])) for event in events.split())


def _begin(threads: str) -> str:
    options = f"Running the test with following options:\nNumber of threads: {threads}\n"
    return f"sysbench 1.0.17\n\n{options}\nThreads started!\n\n"


def _end(threads: int) -> str:
    return (
        f"General statistics:\n    total time:   240.0012s\n\n"
        f"Latency (ms):\n         sum:   {threads * 239_946.51:.2f}\n\n"
        f"Threads fairness:\n    execution time (avg/stddev):   239.9465/0.10\n\n"
    )


@pytest.mark.parametrize(
    ("events", "said"),
    [
        ("B1 E16 B32 E1 B4 E32 B64 E4", "a result with 16 threads appears where a test with 1 was running"),
        ("B1 B32 E1 E32", "the test with 1 thread ended after one with 32 had started"),
        ("B1 E1 E64 B4 E4", "a result with 64 threads appears between two tests"),
        (ALONE, None),
        ("B1 B4 E4 B8 E8", None),
        ("B1 E1 B4 E4 B8", None),
        ("", None),
    ],
    ids=["emptied", "two at once", "foreign result", "alone", "one was killed", "still running", "empty"],
)
def test_output_of_two_runs_in_one_log_is_found(events: str, said: str | None) -> None:
    assert interleaved(log(events)) == said


def test_logs_of_sysbench_0_4_show_the_threads_of_a_result_too() -> None:
    old = log("B1 E16").replace("sum:   3839144.16", "total time taken by event execution: 3839.1442s")
    assert interleaved(old) == "a result with 16 threads appears where a test with 1 was running"
    assert interleaved(old.replace("3839.1442", "300")) is None, "between one and two threads: not known"


def test_a_test_that_runs_while_the_log_is_copied_is_found() -> None:
    assert unfinished(log("B1 E1 B4 E4 B8")) == "a test with 8 threads was still running"
    assert unfinished(log(ALONE)) is None
    assert unfinished(log("B1 E1 B4")[:-40]) is None, "cut off"


def test_a_log_of_writes_that_was_emptied_has_fewer_threads_than_that_of_reads() -> None:
    assert begun_anew(log("B1 E1 B4 E4"), log(ALONE)) == "the writes end with 4 threads, the reads after them with 64"
    assert begun_anew(log(ALONE), log("B1 E1")) is None
    assert begun_anew(log("B1 E1"), log("B1 E1")) is None
    assert begun_anew("", log(ALONE)) is None


@pytest.mark.parametrize(
    ("effective", "writes", "reads", "verdict", "checks"),
    [
        (15.87, "B1 E16 B32 E1", ALONE, "unknown", ["concurrent-run"]),
        (15.99, "B1 E1 B4", ALONE, "unknown", ["concurrent-run"]),
        (15.99, "B1 E1", ALONE, "unknown", ["concurrent-run"]),
        (12.0, "B1 E16 B32 E1", ALONE, "invalid", ["effective-cpus", "concurrent-run"]),
        (15.99, ALONE, ALONE, "valid", []),
    ],
)
def test_a_run_with_another_one_at_its_side_never_counts(
    tmp_path: Path, effective: float, writes: str, reads: str, verdict: str, checks: list[str]
) -> None:
    logs = {
        "cpu.log": cpu_log(effective=effective, cache_kib=None),
        "io-wr-results.log": log(writes),
        "io-rd-results.log": log(reads),
    }
    write_run(tmp_path, "azure/Standard_H16r/20190911/2", logs)
    ((run, _),) = measured_runs(tmp_path)
    assert str(run.verdict) == verdict
    assert [one.check for one in run.refused] == checks
    assert not any("a machine with" in str(one.reason) for one in run.refused), "the other run used the missing CPUs"


def test_a_run_without_a_cpu_log_learns_its_machine_from_a_shared_one_and_stays_unknown(tmp_path: Path) -> None:
    ping, day = recorded("ping-20221126.txt"), "aws/c5.4xlarge/20190909"
    shared = {"network-ping.log": ping, "io-wr-results.log": log("B1 E16")}
    write_run(tmp_path, f"{day}/0", {**shared, "cpu.log": cpu_log()})
    write_run(tmp_path, f"{day}/1", shared)
    write_run(tmp_path, f"{day}/2", {"network-ping.log": ping})
    runs = {run.label.number: run for run, _ in measured_runs(tmp_path)}
    assert {number: str(run.verdict) for number, run in runs.items()} == {"0": "unknown", "1": "unknown", "2": "valid"}
    assert [one.check for one in runs["1"].verdicts] == ["same-machine", "concurrent-run"]


def test_missing_cpus_of_a_shared_machine_say_nothing_of_its_siblings(tmp_path: Path) -> None:
    ping, day = recorded("ping-20221126.txt"), "azure/Standard_D16s_v3/20190911"
    contended = {"cpu.log": cpu_log(effective=12.0, cache_kib=None), "io-wr-results.log": log("B1 E16")}
    write_run(tmp_path, f"{day}/1", {"network-ping.log": ping, **contended})
    write_run(tmp_path, f"{day}/2", {"network-ping.log": ping})
    assert [str(run.verdict) for run, _ in measured_runs(tmp_path)] == ["invalid", "unknown"]
