"""A made-up `AnalysedStudy` that looks like the laptop study, in any size, with trials that do not count."""

import hashlib
import random
import statistics as st
from dataclasses import dataclass, field

from nephoscope.analysis.results import (
    AnalysedStudy,
    BenchmarkRow,
    CheckRow,
    CommandRow,
    Comparison,
    ComparisonVerdict,
    Insight,
    MachineRow,
    MeasurementRow,
    Statistic,
    TrialRow,
)
from nephoscope.records import (
    BenchmarkUse,
    Direction,
    Disk,
    Facts,
    Metric,
    Plan,
    PlannedTrial,
    TrialIntent,
    VerdictKind,
)

HOSTILE = "<script>alert('fio')</script> & \"quotes\" </script><img src=x onerror=alert(1)>"
STARTED_UNIX_MS = 1_781_000_000_000
UP, DOWN = Direction.HIGHER, Direction.LOWER
OPERATIONS = ("new_order", "payment", "order_status", "delivery", "stock_level")
PERCENTILES = ((50, 1.0), (90, 2.1), (95, 2.9), (99, 6.0))


def metric(name: str, unit: str, direction: Direction, title: str, **more: object) -> Metric:
    return Metric.model_validate({"name": name, "unit": unit, "direction": direction, "title": title, **more})


def latencies(operation: str, clock: str) -> list[Metric]:
    title = operation.replace("_", " ").capitalize()
    return [
        metric(f"{operation}_response_p{p}", "s", DOWN, f"{title} response time, p{p}", clock=clock)
        for p, _ in PERCENTILES
    ]


RESPONSE = "From the intended start of an operation until its last row has been read by the client."
CATALOGUE = {
    "stress-ng-matrix": [
        metric("bogo_ops_per_s", "bogo-op/s", UP, "Matrix products", headline=True, per_cpu=True, clock="Real time."),
        metric("usr_sys_bogo_ops_per_s", "bogo-op/s", UP, "Matrix products per CPU second", clock="CPU time."),
    ],
    "fio": [
        metric(f"{job}.{name}", unit, direction, f"{job.replace('-', ' ').capitalize()}: {title}", **more)
        for job in ("random-read", "random-write-fsync")
        for name, unit, direction, title, more in (
            ("iops", "IOPS", UP, "operations", {"headline": True}),
            ("bandwidth", "B/s", UP, "bandwidth", {}),
            ("latency_p50", "s", DOWN, "completion latency, p50", {"clock": "From submission to completion."}),
            ("latency_p95", "s", DOWN, "completion latency, p95", {"clock": "From submission to completion."}),
            ("latency_p99", "s", DOWN, "completion latency, p99", {"clock": "From submission to completion."}),
        )
    ],
    "tpcc": [
        metric("new_orders_per_minute", "1/min", UP, "New-Orders committed", headline=True, per_cpu=True, clock="Real"),
        metric("throughput", "transaction/s", UP, "Transactions committed", per_cpu=True),
        *[m for operation in OPERATIONS for m in latencies(operation, RESPONSE)],
        metric("client_cpu_share", "share", DOWN, "Client CPU"),
    ],
    "point-select": [
        metric("operations_per_s", "operation/s", UP, "Point selects", headline=True, per_cpu=True),
        *latencies("select", RESPONSE),
        metric("client_cpu_share", "share", DOWN, "Client CPU"),
    ],
}
LEVEL = {
    "bogo_ops_per_s": 1894.0,
    "usr_sys_bogo_ops_per_s": 1911.0,
    "iops": 11_840.0,
    "bandwidth": 48_500_000.0,
    "new_orders_per_minute": 9_420.0,
    "throughput": 349.0,
    "operations_per_s": 14_870.0,
    "client_cpu_share": 0.24,
}
SERIES = {"tpcc": "throughput", "point-select": "operations_per_s"}


@dataclass
class Sketch:
    """What to make up; the trials of a study grow in it."""

    configurations: list[str]
    replicates: int = 6
    seed: int = 20_221_018
    series_s: int = 60
    failed: dict[int, str] = field(default_factory=dict)
    invalid: dict[int, str] = field(default_factory=dict)
    not_run: list[str] = field(default_factory=list)
    trials: list[TrialRow] = field(default_factory=list)
    planned: list[PlannedTrial] = field(default_factory=list)
    measurements: list[MeasurementRow] = field(default_factory=list)


def cpus_of(configuration: str) -> int:
    return 1 if configuration == "local-1cpu" else 2


def level_of(name: str, configuration: str, index: int) -> float:
    faster = 1.0 if cpus_of(configuration) == 1 else 1.86
    faster *= 1 + 0.021 * index
    short = name.rsplit(".", maxsplit=1)[-1]
    if short in LEVEL:
        scale = {"iops": 1.02, "bandwidth": 1.02}.get(short, faster)
        slow = 0.11 if "fsync" in name else 1.0
        return LEVEL[short] * scale * slow
    operation, _, percentile = name.rpartition("_p")
    base = 0.0009 * (1 + sum(map(ord, operation)) % 7)
    return base * dict(PERCENTILES)[int(percentile)] / faster


def fill(sketch: Sketch) -> None:
    rng = random.Random(sketch.seed)
    position = 0
    for block in range(1, sketch.replicates + 1):
        pairs = [(c, b) for c in sketch.configurations for b in CATALOGUE]
        rng.shuffle(pairs)
        for inside, (configuration, benchmark) in enumerate(pairs, 1):
            position += 1
            add_trial(sketch, rng, configuration, benchmark, block, position, inside)


def add_trial(
    sketch: Sketch, rng: random.Random, configuration: str, benchmark: str, block: int, position: int, inside: int
) -> None:
    trial = hashlib.sha256(f"{configuration}/{benchmark}/{block}".encode()).hexdigest()[:12]
    use = BenchmarkUse(name=benchmark, uses=benchmark, version=1, parameters={"duration_s": sketch.series_s})
    intent = TrialIntent(
        id=trial,
        study="laptop",
        configuration={"name": configuration, "provider": "local"},
        benchmark=use,
        replicate=block,
        block=block,
        position=position,
        position_in_block=inside,
        seed=sketch.seed,
    )
    sketch.planned.append(PlannedTrial(intent=intent, expected_duration_s=75.0, price_usd=None))
    row = trial_row(sketch, intent)
    sketch.trials.append(row)
    if row.state == "finished":
        sketch.measurements.extend(measure(sketch, rng, row))


def trial_row(sketch: Sketch, intent: TrialIntent) -> TrialRow:
    state, verdict, reasons = "finished", VerdictKind.VALID, list[str]()
    if intent.position in sketch.failed:
        state, reasons = "failed", [sketch.failed[intent.position]]
    elif intent.position in sketch.invalid:
        verdict, reasons = VerdictKind.INVALID, [sketch.invalid[intent.position]]
    if intent.benchmark.name in sketch.not_run:
        state, reasons = (
            "not run",
            [f"{intent.benchmark.name} is not installed; hint: apt install {intent.benchmark.name}"],
        )
    oltp = intent.benchmark.name in SERIES
    ran = state != "not run"
    return TrialRow.model_validate(
        {
            "trial": intent.id,
            "configuration": intent.configuration_name,
            "benchmark": intent.benchmark.name,
            "uses": intent.benchmark.uses,
            "replicate": intent.replicate,
            "block": intent.block,
            "position": intent.position,
            "position_in_block": intent.position_in_block,
            "cpus": cpus_of(intent.configuration_name),
            "state": state,
            "verdict": verdict if state == "finished" else None,
            "reasons": reasons,
            "attempt": 1 if ran else None,
            "attempts": 2 if state == "failed" else int(ran),
            "started_unix_ms": STARTED_UNIX_MS + intent.position * 75_000 if ran else None,
            "duration_s": 71.3 + intent.position % 5 if ran else None,
            "client_cpu_share": 0.21 + 0.01 * (intent.position % 6) if oltp and state == "finished" else None,
            "conditions": ["co-located"] if oltp else [],
            "folder": f"trials/{intent.id}/attempts/1" if ran else None,
        }
    )


def measure(sketch: Sketch, rng: random.Random, row: TrialRow) -> list[MeasurementRow]:
    index = sketch.configurations.index(row.configuration)
    wobble = 0.03 if row.uses == "fio" else 0.008
    rows = []
    for m in CATALOGUE[row.benchmark]:
        value = level_of(m.name, row.configuration, index) * rng.gauss(1.0, wobble)
        value *= 1 if row.counts else 0.74
        rows.append(measurement(row, m, value, None))
        if SERIES.get(row.benchmark) == m.name:
            rows += [
                measurement(row, m, value * (0.6 if s == 0 else rng.gauss(1.0, 0.035)), float(s + 1))
                for s in range(sketch.series_s)
            ]
    return rows


def measurement(row: TrialRow, m: Metric, value: float, at_s: float | None) -> MeasurementRow:
    return MeasurementRow(
        trial=row.trial,
        configuration=row.configuration,
        benchmark=row.benchmark,
        metric=m.name,
        unit=m.unit,
        direction=m.direction,
        value=value,
        role=None,
        at_s=at_s,
        replicate=row.replicate,
        block=row.block,
        position=row.position,
        valid=row.counts,
    )


def statistics_of(sketch: Sketch) -> list[Statistic]:
    rows = []
    for benchmark, metrics in CATALOGUE.items():
        for m in metrics:
            for configuration in sketch.configurations:
                found = [
                    x
                    for x in sketch.measurements
                    if (x.benchmark, x.metric, x.configuration) == (benchmark, m.name, configuration)
                    and x.at_s is None
                    and x.valid
                ]
                for per_cpu in (False, True) if m.per_cpu else (False,):
                    if found:
                        rows.append(statistic(sketch, m, found, per_cpu=per_cpu))
    return rows


def statistic(sketch: Sketch, m: Metric, found: list[MeasurementRow], *, per_cpu: bool) -> Statistic:
    cpus = cpus_of(found[0].configuration)
    ordered = sorted(found, key=lambda x: x.value)
    values = [x.value / cpus if per_cpu else x.value for x in ordered]
    n, median = len(values), st.median(values)
    return Statistic(
        configuration=found[0].configuration,
        benchmark=found[0].benchmark,
        metric=m.name,
        unit=m.unit,
        direction=m.direction,
        per_cpu=per_cpu,
        cpus=cpus,
        n=n,
        n_excluded=sketch.replicates - n,
        median=median,
        low=values[0],
        high=values[-1],
        coverage=1 - 2 * 0.5**n,
        margin_percent=50 * (values[-1] - values[0]) / median,
        cv_percent=100 * st.stdev(values) / st.mean(values) if n > 1 else None,
        range_percent=100 * (values[-1] - values[0]) / median,
        mad=st.median([abs(v - median) for v in values]),
        minimum=values[0],
        maximum=values[-1],
        more_replicates_needed=max(0, 6 - n),
        outliers=[ordered[0].trial] if n > 4 and values[0] < 0.97 * median else [],
        trials=[x.trial for x in ordered],
    )


def comparisons_of(statistics: list[Statistic]) -> list[Comparison]:
    rows = []
    for i, left in enumerate(statistics):
        for right in statistics[i + 1 :]:
            same = (left.benchmark, left.metric, left.per_cpu) == (right.benchmark, right.metric, right.per_cpu)
            if same and left.configuration != right.configuration:
                rows.append(comparison(left, right))
    return rows


def comparison(left: Statistic, right: Statistic) -> Comparison:
    low, high = left.low / right.high, left.high / right.low
    enough = left.n > 3 and right.n > 3
    if enough and low > 1:
        verdict = ComparisonVerdict.BETTER if left.direction is UP else ComparisonVerdict.WORSE
    elif enough and high < 1:
        verdict = ComparisonVerdict.WORSE if left.direction is UP else ComparisonVerdict.BETTER
    elif enough and low > 0.985 and high < 1.015:
        verdict = ComparisonVerdict.TIE
    else:
        verdict = ComparisonVerdict.UNRESOLVED
    return Comparison(
        benchmark=left.benchmark,
        metric=left.metric,
        unit=left.unit,
        direction=left.direction,
        per_cpu=left.per_cpu,
        left=left.configuration,
        right=right.configuration,
        n_left=left.n,
        n_right=right.n,
        ratio=left.median / right.median,
        low=low if enough else None,
        high=high if enough else None,
        coverage=0.9589 if enough else None,
        p_value=0.0021645,
        p_adjusted=0.017316,
        verdict=verdict,
        margin_percent=1.5,
        minimum_detectable_percent=3.4 if verdict is ComparisonVerdict.UNRESOLVED else None,
        more_replicates_needed=8 if verdict is ComparisonVerdict.UNRESOLVED else None,
        trials=[*left.trials, *right.trials],
    )


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
    answers = [
        Insight(
            rule="headline",
            kind="answer",
            benchmark=c.benchmark,
            trials=c.trials,
            text=f"{c.benchmark}: {c.left} reaches {c.ratio:.2f} times the {c.metric} of {c.right} "
            f"(interval {c.low or 0:.2f} to {c.high or 0:.2f}): {c.verdict.value}.",
            numbers={"ratio": c.ratio},
        )
        for c in comparisons
        if not c.per_cpu and any(m.headline and m.name == c.metric for m in CATALOGUE[c.benchmark])
    ]
    excluded = [t for t in sketch.trials if not t.counts]
    warning = Insight(
        rule="exclusions",
        kind="warning",
        text=f"{len(excluded)} of {len(sketch.trials)} trials do not count.",
        trials=[t.trial for t in excluded],
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
    return [*answers[:6], warning, shared, order]


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
        study="laptop",
        title="One CPU or all of them: a rehearsal on one machine",
        description=DESCRIPTION,
        seed=sketch.seed,
        replicates=sketch.replicates,
        equivalence_margin_percent=1.5,
        study_toml=study_toml(sketch),
        nephoscope_version="0.1.0",
        tool_versions={"fio": "fio-3.33", "stress-ng": "0.15.06", "postgres": "18.6", "nephoscope-load": "0.1.0"},
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
        trials=sketch.trials,
        measurements=sketch.measurements,
        statistics=statistics,
        comparisons=comparisons,
        insights=insights_of(sketch, comparisons),
        machines=[
            MachineRow(
                configuration=name,
                machine="local",
                facts=facts(cpus_of(name)),
                trials=[t.trial for t in sketch.trials if t.configuration == name],
                differs_in=[],
            )
            for name in sketch.configurations
        ],
        commands=[
            CommandRow(
                configuration=name,
                benchmark=benchmark,
                argv=["taskset", "--cpu-list", "0", benchmark, "--time", "60", "--directory", "/mnt/data/with space"],
                machine="local",
                trial=next(t.trial for t in sketch.trials if (t.configuration, t.benchmark) == (name, benchmark)),
            )
            for name in sketch.configurations
            for benchmark in CATALOGUE
        ],
        checks=[
            CheckRow(
                check="machine", text="Refuses a machine other than the one asked for.", valid=47, invalid=0, unknown=0
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
        database_settings={
            name: {"fsync": "on", "shared_buffers": "1GB", "synchronous_commit": "on", "max_wal_size": "4GB"}
            for name in sketch.configurations
        },
    )


def laptop() -> AnalysedStudy:
    return build(
        Sketch(
            configurations=["local-1cpu", "local-all"],
            failed={9: f"NotInstalled: {HOSTILE}; hint: apt install fio"},
            invalid={17: "contended: 11 % of CPU time went to other processes", 30: f"contended: {HOSTILE}"},
        )
    )


def many(count: int) -> AnalysedStudy:
    return build(Sketch(configurations=[f"cloud-{i:02d}-general-4xlarge" for i in range(count)], series_s=30))


def all_failed() -> AnalysedStudy:
    everything = dict.fromkeys(range(1, 49), "NotInstalled: fio is not installed; hint: apt install fio")
    return build(Sketch(configurations=["local-1cpu", "local-all"], failed=everything))


def not_run() -> AnalysedStudy:
    return build(Sketch(configurations=["local-1cpu"], replicates=4, not_run=["fio"]))


def empty() -> AnalysedStudy:
    bare = all_failed()
    return bare.model_copy(
        update={
            "title": "",
            "description": "",
            "study_toml": "",
            "plan": bare.plan.model_copy(update={"trials": []}),
            "benchmarks": [],
            "trials": [],
            "insights": [],
            "machines": [],
            "commands": [],
            "checks": [],
            "database_settings": {},
            "tool_versions": {},
            "started_unix_ms": None,
            "ended_unix_ms": None,
        }
    )
