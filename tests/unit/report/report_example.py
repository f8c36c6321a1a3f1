"""A made-up `AnalysedStudy` that looks like the laptop study, in any size, with trials that do not count."""

from functools import cache
from typing import Any, TypeVar

from nephoscope.analysis.durations import DurationRow, durations_of
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.frozen import Frozen
from nephoscope.model.records import Disk, Facts, Plan
from nephoscope.model.rows import (
    BenchmarkRow,
    CheckRow,
    CommandRow,
    Comparison,
    Insight,
    MachineRow,
    MeasurementRow,
    Statistic,
    TrialRow,
)
from nephoscope.model.standing import Standing
from tests.support.some_tables import some_tables, with_tables
from tests.unit.report.report_example_statistics import comparisons_of, statistics_of
from tests.unit.report.report_example_trials import CATALOGUE, HOSTILE, STARTED_UNIX_MS, SUBJECTS, Sketch, cpus_of, fill

Row = TypeVar("Row", bound=Frozen)


def facts(cpus: int) -> Facts:
    return Facts(
        at_unix_ms=STARTED_UNIX_MS,
        hostname="bench",
        cpu_model="Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz",
        cpu_vendor="GenuineIntel",
        architecture="x86_64",
        cpus_online=2,
        cpus_allowed=cpus,
        sockets=1,
        cores_per_socket=1,
        threads_per_core=2,
        numa_nodes=1,
        l2_bytes=1_310_720,
        l3_bytes=56_623_104,
        memory_bytes=8_254_390_272,
        memory_available_bytes=6_912_331_776,
        kernel="6.1.0-18-cloud-amd64",
        os="Debian GNU/Linux 12 (bookworm)",
        virtualization="kvm",
        clock_source="kvm-clock",
        congestion_control="cubic",
        swap_bytes=0,
        open_files_limit=1_048_576,
        load_1m=0.31,
        steal_share=0.0004,
        busy_share=0.021,
        observed_for_s=1.0,
        disk=Disk(
            device="/dev/vda1",
            filesystem="ext4",
            mount_options="rw,relatime,discard,errors=remount-ro",
            size_bytes=67_645_734_912,
            free_bytes=31_298_113_536,
            rotational=False,
            scheduler="none",
        ),
    )


def insights_of(sketch: Sketch, comparisons: list[Comparison]) -> list[Insight]:
    answered = [
        c
        for c in comparisons
        if not c.per_cpu and any(m.headline and m.name == c.metric for m in CATALOGUE[c.benchmark])
    ]
    answers = [
        Insight(
            rule="headline",
            kind="answer",
            benchmark=c.benchmark,
            trials=[
                t.trial
                for t in sketch.trials
                if t.counts and t.benchmark == c.benchmark and t.configuration in {c.left, c.right}
            ],
            text=f"{c.benchmark}: {c.left} reaches {c.ratio:.2f} times the {c.metric} of {c.right} "
            f"(interval {c.low or 0:.2f} to {c.high or 0:.2f}): {c.verdict.value}.",
            numbers={"ratio": c.ratio},
        )
        for c in answered[:6]
    ]
    excluded = [t for t in sketch.trials if not t.counts]
    warning = Insight(
        rule="exclusions",
        kind="warning",
        text=f"{len(excluded)} of {len(sketch.trials)} trials do not count.",
        trials=[t.trial for t in excluded],
        numbers={"excluded": len(excluded), "total": len(sketch.trials)},
    )
    shared = Insight(
        rule="co-located",
        kind="warning",
        benchmark="tpcc",
        trials=[],
        text="Client and server shared the CPUs in tpcc and point-select: the client took up to 26 % of them.",
    )
    order = Insight(
        rule="order", kind="note", trials=[], text="No effect of the position in a block was found (p = 0.41)."
    )
    return [*answers, warning, shared, order]


def benchmark_rows() -> list[BenchmarkRow]:
    titles = {
        "stress-ng-matrix": "Matrix arithmetic on every CPU allowed",
        "fio": "Storage: random reads, and random writes made durable one by one",
        "tpcc": "TPC-C-like order entry",
        "point-select": "Reads of single rows by primary key",
    }
    return [
        BenchmarkRow(
            benchmark=name,
            subject=SUBJECTS[name],
            uses=name,
            version=1,
            title=titles[name],
            parameters={"duration_s": 60, "warm_up_s": 10, "mix": {"new_order": 45, "payment": 43}},
            metrics=metrics,
        )
        for name, metrics in CATALOGUE.items()
    ]


def study_toml(sketch: Sketch) -> str:
    parts = [
        f'schema = "nephoscope/study/1"\nname = "laptop"\nseed = {sketch.seed}\nreplicates = {sketch.replicates}\n'
    ]
    parts += [f'\n[[configurations]]\nname = "{name}"\n' for name in sketch.configurations]
    parts += [f'\n[[benchmarks]]\nuses = "{name}"\n' for name in CATALOGUE]
    return "".join(parts)


DESCRIPTION = (
    "How much more does a database deliver with all CPUs of this machine than with one of them, and does each CPU "
    "deliver the same? A rehearsal, on one machine with CPU affinity, of the question the 2022 Cloud Report asked of "
    "small and large instances.\n\n"
    "It is not an answer about instance sizes: both configurations share one memory, one disk and one kernel, and "
    "client and server are co-located, so the client's share of the CPU stands beside every OLTP number."
)


def build(sketch: Sketch) -> AnalysedStudy:
    fill(sketch)
    statistics = statistics_of(sketch)
    comparisons = comparisons_of(statistics)
    return AnalysedStudy(
        standing=Standing(source="", licence=""),
        study="laptop",
        title="One CPU or all of them: a rehearsal on one machine",
        description=DESCRIPTION,
        seed=sketch.seed,
        replicates=sketch.replicates,
        equivalence_margin_percent=1.5,
        study_toml=study_toml(sketch),
        named=list(sketch.configurations),
        nephoscope_version="0.1.0",
        tool_versions={
            "fio": ["fio-3.33"],
            "stress-ng": ["0.15.06"],
            "postgres": ["18.6"],
            "nephoscope-load": ["0.1.0"],
        },
        started_unix_ms=STARTED_UNIX_MS,
        ended_unix_ms=STARTED_UNIX_MS + 3_900_000,
        plan=Plan(
            study="laptop",
            seed=sketch.seed,
            trials=sketch.planned,
            expected_duration_s=75.0 * len(sketch.planned),
            price_usd=None,
            unpriced=[f"{name}: no price in the study" for name in sketch.configurations],
            warnings=[],
        ),
        benchmarks=benchmark_rows(),
        insights=insights_of(sketch, comparisons),
        database_settings={
            name: {"fsync": "on", "shared_buffers": "1GB", "synchronous_commit": "on", "max_wal_size": "4GB"}
            for name in sketch.configurations
        },
        tables=some_tables(
            {
                TrialRow: sketch.trials,
                DurationRow: durations_of(sketch.trials),
                MeasurementRow: sketch.measurements,
                Statistic: statistics,
                Comparison: comparisons,
                MachineRow: [
                    MachineRow(
                        configuration=name,
                        machine="local",
                        facts=facts(cpus_of(name)),
                        trials=[t.trial for t in sketch.trials if t.configuration == name],
                        differs_in=[],
                    )
                    for name in sketch.configurations
                ],
                CommandRow: [
                    CommandRow(
                        configuration=name,
                        benchmark=benchmark,
                        subject=SUBJECTS[benchmark],
                        argv=[
                            "taskset",
                            "--cpu-list",
                            "0",
                            benchmark,
                            "--time",
                            "60",
                            "--directory",
                            "/mnt/data/with space",
                        ],
                        machine="local",
                        trial=next(
                            t.trial for t in sketch.trials if (t.configuration, t.benchmark) == (name, benchmark)
                        ),
                    )
                    for name in sketch.configurations
                    for benchmark in CATALOGUE
                ],
                CheckRow: [
                    CheckRow(
                        check="machine",
                        text="Refuses a machine other than the one asked for.",
                        valid=47,
                        invalid=0,
                        unknown=0,
                    ),
                    CheckRow(
                        check="contended",
                        text="Refuses more than 5 % of CPU time taken by others.",
                        valid=45,
                        invalid=2,
                        unknown=0,
                    ),
                    CheckRow(
                        check="generator_bound",
                        text="Refuses a client that used over 80 % of its CPUs.",
                        valid=22,
                        invalid=0,
                        unknown=1,
                    ),
                ],
            }
        ),
    )


@cache
def laptop() -> AnalysedStudy:
    return build(
        Sketch(
            configurations=["local-1cpu", "local-all"],
            failed={9: f"NotInstalled: {HOSTILE}; hint: apt install fio"},
            invalid={17: "contended: 11 % of CPU time went to other processes", 30: f"contended: {HOSTILE}"},
        )
    )


@cache
def many(count: int) -> AnalysedStudy:
    return build(Sketch(configurations=[f"cloud-{i:02d}-general-4xlarge" for i in range(count)], series_s=30))


def full_edition(count: int) -> AnalysedStudy:
    """As many benchmarks again, compared by their headline metrics alone, as an analysis of so many would."""
    study = many(count)
    headlines = {(row.benchmark, metric.name) for row in study.benchmarks for metric in row.metrics if metric.headline}
    compared = [row for row in study[Comparison] if (row.benchmark, row.metric) in headlines]
    return with_tables(
        study.model_copy(update={"benchmarks": [*study.benchmarks, *map(_again, study.benchmarks)]}),
        {
            TrialRow: [*study[TrialRow], *map(_again, study[TrialRow])],
            MeasurementRow: [
                *study[MeasurementRow],
                *(
                    row._replace(benchmark=f"{row.benchmark}-again", trial=row.trial[::-1])
                    for row in study[MeasurementRow]
                ),
            ],
            Statistic: [*study[Statistic], *map(_again, study[Statistic])],
            Comparison: [*compared, *map(_again, compared)],
        },
    )


def _again(row: Row) -> Row:
    """The same of another benchmark and trial."""
    changes: dict[str, Any] = {"benchmark": f"{getattr(row, 'benchmark', '')}-again"}
    if hasattr(row, "trial"):
        changes["trial"] = row.trial[::-1]
    if hasattr(row, "trials"):
        changes["trials"] = [trial[::-1] for trial in row.trials]
    return row.model_copy(update=changes)


@cache
def all_failed() -> AnalysedStudy:
    everything = dict.fromkeys(range(1, 49), "NotInstalled: fio is not installed; hint: apt install fio")
    return build(Sketch(configurations=["local-1cpu", "local-all"], failed=everything))


@cache
def not_run() -> AnalysedStudy:
    return build(Sketch(configurations=["local-1cpu"], replicates=4, not_run=["fio"]))


@cache
def empty() -> AnalysedStudy:
    bare = all_failed()
    return with_tables(
        bare.model_copy(
            update={
                "title": "",
                "description": "",
                "study_toml": "",
                "named": [],
                "plan": bare.plan.model_copy(update={"trials": []}),
                "benchmarks": [],
                "insights": [],
                "database_settings": {},
                "tool_versions": {},
                "started_unix_ms": None,
                "ended_unix_ms": None,
            }
        ),
        {TrialRow: [], MachineRow: [], CommandRow: [], CheckRow: []},
    )
