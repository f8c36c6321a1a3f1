"""Studies of which at least one makes each rule speak."""

from dataclasses import replace
from functools import cache

import numpy as np

from nephoscope.analysis.looks import looks_after
from nephoscope.benchmarks.database.adversity import Adversity, AdversityParameters
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import NOT_OBSERVED, Direction, Metric, VerdictKind
from nephoscope.model.subjects import Subject
from nephoscope.plan.expand import expand
from nephoscope.study.load import load_study
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import (
    LATENCY,
    TPMC,
    Rows,
    inputs,
    measurement,
    noisy,
    observed,
    rows,
    traffic,
    trial,
)
from tests.unit.analysis.test_growth import configuration, grown


def sharing(found: Rows) -> Rows:
    shares = {"client_cpu_share": 0.12, "conditions": ["co-located"]}
    return [row.model_copy(update=shares) for row in found[0]], found[1]


def elsewhere(found: Rows) -> Rows:
    return [row.model_copy(update={"conditions": [NOT_OBSERVED]}) for row in found[0]], found[1]


def refused() -> Rows:
    trials, measurements = noisy({"a": 1, "b": 1.2}, n=5)
    trials[0] = trials[0].model_copy(
        update={"verdict": VerdictKind.INVALID, "reasons": ["quiet: 12 % busy"], "rejected_by": ["quiet"]}
    )
    trials[1] = trials[1].model_copy(
        update={"verdict": VerdictKind.UNKNOWN, "reasons": ["audit: crashed"], "rejected_by": ["audit"]}
    )
    trials[2] = trials[2].model_copy(update={"state": "failed", "verdict": None})
    trials.append(trial("planned", "b", 6, state="planned", verdict=None))
    return trials, measurements


def altered() -> Rows:
    trials, measurements = noisy({"a": 1, "b": 1.2}, n=5)
    left_out = trials[0].model_copy(
        update={"state": "altered", "verdict": None, "reasons": ["measurements.jsonl was changed"]}
    )
    others = [row.model_copy(update={"has_digests": row.replicate > 2}) for row in trials[1:]]
    return [left_out, *others], [row for row in measurements if row.trial != left_out.trial]


def exchanged(*, left: bool = False) -> Rows:
    trials, measurements = noisy({"a": 1, "b": 1.2})
    kinds = ["cpu_model, numa_nodes", "l3_bytes"]
    trials[0] = trials[0].model_copy(
        update={"attempts": 2 + (not left), "other_kinds": kinds, "differs_in": ["cpu_model", "l3_bytes", "numa_nodes"]}
    )
    if left:
        trials[0] = trials[0].model_copy(
            update={
                "verdict": VerdictKind.INVALID,
                "reasons": ["equal-machines: cpu_model is X"],
                "rejected_by": ["equal-machines"],
            }
        )
    return trials, measurements


def saturated() -> AnalysedStudy:
    """Five configurations whose p95 is only known to be above the end of a histogram."""
    found = noisy(dict.fromkeys("abcde", 1))
    return analyse(inputs(found, bounds=[measurement(row, 103.079, LATENCY) for row in found[0]]))


def drifting() -> Rows:
    generator = np.random.default_rng(3)
    drift = 10 * np.arange(6)
    return rows({name: [float(v) for v in 100 + drift + generator.normal(0, 1, 6)] for name in "abcd"})


def walking() -> Rows:
    """Each configuration wanders on its own."""
    walks = np.random.default_rng(3).normal(0, 1, (6, 8)).cumsum(axis=1)
    return rows({name: [float(v) for v in 100 + walk] for name, walk in zip("abcdef", walks, strict=True)})


def split() -> AnalysedStudy:
    found = noisy({"a": 1.0})
    seen = [observed(row, cpu_model="Xeon 8" if row.replicate < 3 else "Xeon 9") for row in found[0]]
    return analyse(inputs(found, machines=seen))


def stopped(digest: str = "") -> AnalysedStudy:
    """Its third configuration is far behind; the last trials of it and of the second are not needed."""
    trials, measurements = noisy({"a": 1.0, "b": 0.9, "c": 0.5})
    late = {"a": 6, "b": 4, "c": 3}
    unneeded = {row.trial for row in trials if row.block > late[row.configuration]}
    rows_ = [
        row.model_copy(update={"state": "not needed", "verdict": None, "reasons": []}) if row.trial in unneeded else row
        for row in trials
    ]
    found = inputs((rows_, [row for row in measurements if row.trial not in unneeded]))
    first, *later = looks_after(found, 4, [])
    return analyse(
        replace(found, looks=[first.model_copy(update={"inputs_digest": digest or first.inputs_digest}), *later])
    )


def on_machines(machines: dict[str, list[str]], factors: dict[str, float], deviation: float = 0.004) -> Rows:
    """Trials in turn on the machines of their configuration."""
    trials, measurements = noisy(factors, deviation)
    places = {name: iter(many * len(trials)) for name, many in machines.items()}
    return [row.model_copy(update={"machine": next(places[row.configuration])}) for row in trials], measurements


def two_names() -> AnalysedStudy:
    found = on_machines({"a": ["host 1"], "b": ["host 1"]}, {"a": 1, "b": 1.2})
    seen = [observed(row).model_copy(update={"machine": f"name-{row.configuration}"}) for row in found[0]]
    types = dict.fromkeys("ab", ("ssh", ""))
    return analyse(inputs(found, machines=seen, types=types))


def versions() -> AnalysedStudy:
    found = inputs(noisy({"a": 1.0}))
    ran = {"1": {"fio": "fio-3.36", "stress-ng": "0.15"}, "2": {"fio": "fio-3.33"}}
    return analyse(replace(found, versions_of_trials=ran))


def latency(factors: dict[str, float]) -> AnalysedStudy:
    metric = LATENCY.model_copy(update={"headline": True})
    trials, measurements = noisy(factors)
    values = [measurement(row, one.value / 1e6, metric) for row, one in zip(trials, measurements, strict=True)]
    return analyse(inputs((trials, values), metrics={"tpcc": [metric]}))


def with_latency(found: Rows) -> Rows:
    generator = np.random.default_rng(9)
    return found[0], found[1] + [measurement(row, float(generator.lognormal(-5, 0.3)), LATENCY) for row in found[0]]


SERVER_CPU = LATENCY.model_copy(update={"name": "server_cpu_per_operation", "title": "server CPU time per operation"})


def costly(costs: dict[str, float]) -> AnalysedStudy:
    """Two CPUs with nearly twice the rate of one, and what an operation costs the server on either."""
    trials, measurements = noisy({"two": 1.8, "one": 1}, cpus={"two": 2})
    _, costs_of = noisy(costs, seed=2)
    more = [measurement(row, one.value / 1e6, SERVER_CPU) for row, one in zip(trials, costs_of, strict=True)]
    return analyse(inputs((trials, measurements + more), metrics={"tpcc": [TPMC, SERVER_CPU]}))


CPU_TIME = TPMC.model_copy(update={"name": "bogo_ops_per_s", "title": "Bogo operations", "unit": "s"})
DESIGNS = {"m6a": ("AuthenticAMD", 25, 1, 1.3), "m6i": ("GenuineIntel", 6, 106, 1.0)}


def ordered_alike(micro: dict[str, list[float]]) -> AnalysedStudy:
    """Eight types, each a little faster at tpcc than the one before, and what microbenchmarks measured on them."""
    types = {f"c{place}": ("aws", f"m{place}.large") for place in range(8)}
    found = rows({name: [100.0 + place] for place, name in enumerate(types)})
    for benchmark, values in micro.items():
        each = {name: [value] for name, value in zip(types, values, strict=True)}
        more = rows(each, benchmark=benchmark, subject=Subject.CPU, metric=CPU_TIME)
        found = (found[0] + more[0], found[1] + more[1])
    metrics = {"tpcc": [TPMC], **{benchmark: [CPU_TIME] for benchmark in micro}}
    return analyse(inputs(found, metrics=metrics, types=types))


def larger_ahead_in_all() -> AnalysedStudy:
    """Eight sizes: the larger, the more of everything, and the less a CPU does for tpcc, but the more for `micro`."""
    types = {f"c{place}": ("aws", f"m5.{2**place}xlarge") for place in range(8)}
    cpus = {name: 4 * 2**place for place, name in enumerate(types)}
    per_cpu = {"tpcc": [100.0 - place for place in range(8)], "micro": [100.0 + place for place in range(8)]}
    found: Rows = ([], [])
    for benchmark, values in per_cpu.items():
        each = {name: [cpus[name] * value] for name, value in zip(types, values, strict=True)}
        subject, metric = (Subject.DATABASE, TPMC) if benchmark == "tpcc" else (Subject.CPU, CPU_TIME)
        more = rows(each, benchmark=benchmark, subject=subject, metric=metric, cpus=cpus)
        found = (found[0] + more[0], found[1] + more[1])
    return analyse(inputs(found, metrics={"tpcc": [TPMC], "micro": [CPU_TIME]}, types=types))


def clouds(workload: str | None) -> AnalysedStudy:
    """Types of two CPU designs in three clouds and three sizes; half of the trials refused, with values far off.

    Measured by a microbenchmark of CPUs that is not registered, and by `workload` where one is given.
    """
    measured = {"micro": (Subject.CPU, CPU_TIME)}
    if workload:
        measured[workload] = (BENCHMARKS[workload].subject, TPMC)
    found: Rows = ([], [])
    types: dict[str, tuple[str, str]] = {}
    seen = []
    generator = np.random.default_rng(8)
    for provider in ("aws", "azure", "gcp"):
        for size, vcpus in (("2xlarge", 8), ("4xlarge", 16), ("8xlarge", 32)):
            for family, (vendor, cpu_family, model, factor) in DESIGNS.items():
                name = f"{provider}-{family}.{size}"
                types[name] = (provider, f"{family}.{size}")
                for benchmark, (subject, metric) in measured.items():
                    draws = generator.lognormal(0, 0.0002 * vcpus, 3)
                    values = [float(100 * vcpus * factor * draw) for draw in draws]
                    doubted = {name: [*values, 9.0, 9.0, 9.0]}
                    more = rows(doubted, benchmark=benchmark, subject=subject, metric=metric, cpus={name: vcpus})
                    refusal = {
                        "verdict": VerdictKind.INVALID,
                        "reasons": ["quiet: 12 % busy"],
                        "rejected_by": ["quiet"],
                    }
                    more[0][3:] = [row.model_copy(update=refusal) for row in more[0][3:]]
                    found[0].extend(row.model_copy(update={"uses": benchmark}) for row in more[0])
                    found[1].extend(more[1])
                    facts = {"cpu_vendor": vendor, "cpu_family": cpu_family, "cpu_model_number": model}
                    memory = {"memory_bytes": (64 - vcpus) * vcpus * 2**30, "cpus_online": vcpus}
                    seen += [observed(row, numa_nodes=1, threads_per_core=2, **facts, **memory) for row in more[0]]
    metrics = {benchmark: [metric] for benchmark, (_, metric) in measured.items()}
    return analyse(inputs(found, metrics=metrics, machines=seen, types=types))


def on_disks(region: str = "us-east-1") -> AnalysedStudy:
    """One machine type on gp3 and on io2: a little faster, and much dearer."""
    found = noisy({"gp3": 1, "io2": 1.1})
    configurations = [
        {
            "name": kind,
            "priced_as": {
                "provider": "aws",
                "region": region,
                "type": "m6i.2xlarge",
                "volumes": [{"kind": kind, "size": 1000, "iops": 8000}],
            },
        }
        for kind in ("gp3", "io2")
    ]
    study = Study(
        name="disks",
        seed=7,
        configurations=configurations,
        benchmarks=[{"uses": "tpcc"}],
        costs={"date": "2026-11-21"},
    )
    return analyse(replace(inputs(found), study=study))


def far_apart() -> AnalysedStudy:
    """A load machine in another region, and much traffic."""
    found = noisy({"a": 1})
    load = {"type": "m6i.2xlarge", "region": "us-west-2"}
    database = {"type": "m6i.2xlarge"}
    configuration = {"name": "a", "provider": "aws", "region": "us-east-1"}
    study = Study(
        name="far",
        seed=7,
        configurations=[{**configuration, "database_machine": database, "load_machine": load}],
        benchmarks=[{"uses": "tpcc"}],
        costs={"date": "2026-11-21"},
    )
    network = [
        traffic(row, machine, role, sent=1e7, received=1e7)
        for machine, role in (("here", "load"), ("there", "database"))
        for row in found[0]
    ]
    seen = [observed(row) for row in found[0]]
    made = inputs(found, machines=[*seen, *(one.model_copy(update={"machine": "there"}) for one in seen)])
    return analyse(replace(made, study=study, network=network))


def stolen() -> Rows:
    """`a` loses CPU time in trials that count and is quick in the others; steal rejected half of `b`."""
    trials, measurements = rows(
        {"a": [103.0, 104, 105, 103.5, 104.5, 90, 91, 92], "b": [100.0, 101, 102, 100.5, 80, 81, 82, 83]}
    )
    kept = []
    for row in trials:
        number = int(row.replicate)
        if row.configuration == "a":
            kept.append(row.model_copy(update={"stolen_share": 0.1 if number > 5 else 0.0, "disturbance": "record"}))
        elif number > 4:
            refused = {
                "verdict": VerdictKind.INVALID,
                "reasons": ["steal: local: 10 % of CPU time was stolen"],
                "rejected_by": ["steal"],
            }
            kept.append(row.model_copy(update={"stolen_share": 0.1, "disturbance": "reject", **refused}))
        else:
            kept.append(row.model_copy(update={"stolen_share": 0.001, "disturbance": "reject"}))
    return kept, measurements


def much_stolen() -> AnalysedStudy:
    """More configurations than a report names lose CPU time."""
    trials, measurements = noisy(dict.fromkeys("abcdefghij", 1), n=3)
    return analyse(inputs(([row.model_copy(update={"stolen_share": 0.05}) for row in trials], measurements)))


READ = TPMC.model_copy(update={"name": "read.iops", "title": "Reads", "unit": "IO/s"})


def capped() -> AnalysedStudy:
    """Four types of one provider: three on a plateau, one above."""
    levels = {"small": 3000.0, "middle": 3001.0, "large": 3002.0, "huge": 6000.0}
    values = {name: [level, level + 1, level + 2] for name, level in levels.items()}
    types = {name: ("aws", f"{name}-type") for name in levels}
    return analyse(inputs(rows(values, benchmark="fio", metric=READ), metrics={"fio": [READ]}, types=types))


def restless() -> AnalysedStudy:
    """One of two trials falls to half in its middle."""
    trials, measurements = rows({"a": [100.0, 75.0]})
    for row, later in zip(trials, (1.0, 0.5), strict=True):
        levels = [100.0 + at % 7 / 10 for at in range(60)] + [later * (100.0 + at % 7 / 10) for at in range(60)]
        measurements += [measurement(row, value, at_s=float(at + 1)) for at, value in enumerate(levels)]
    return analyse(inputs((trials, measurements)))


THROUGHPUT = [
    Metric(name=f"throughput{end}", unit="bit/s", direction=Direction.HIGHER, title=title, headline=not end)
    for end, title in (("", "Throughput"), ("_median_1s", "Median second"), ("_max_1s", "Fastest second"))
]


def networks() -> AnalysedStudy:
    """A machine that spends its credits in 40 of 120 seconds, and one that is held just below what it is sold as."""
    types = {"m5.2xlarge": ("aws", "m5.2xlarge"), "c5n.9xlarge": ("aws", "c5n.9xlarge")}
    generator = np.random.default_rng(5)
    courses = {
        name: [
            [
                float(rate * 1e9 * (1 + 0.002 * draw))
                for rate, draw in zip(rates, generator.normal(size=120), strict=True)
            ]
            for _ in range(6)
        ]
        for name, rates in {"m5.2xlarge": [10.2] * 40 + [2.5] * 80, "c5n.9xlarge": [49.5] * 120}.items()
    }
    trials, _ = rows({name: [0.0] * 6 for name in types}, benchmark="streams", subject=Subject.NETWORK)
    measurements = []
    for row in trials:
        seconds = courses[row.configuration][row.replicate - 1]
        ends = (
            float(np.mean(seconds)),
            float(np.median(seconds)),
            max(seconds),
        )
        measurements += [measurement(row, value, metric) for value, metric in zip(ends, THROUGHPUT, strict=True)]
        measurements += [measurement(row, value, THROUGHPUT[0], float(at)) for at, value in enumerate(seconds, 1)]
    return analyse(inputs((trials, measurements), {"streams": THROUGHPUT}, types))


def watched(changes: dict[int, float], seconds: int = 3600, promise: str = '"provisioned"') -> AnalysedStudy:
    """A volume of 3,000 IO/s, watched in two trials; in the second its share of that changes at some seconds."""
    text = f"""
        name = "watched"
        replicates = 2
        costs.date = "2026-11-21"
        [[configurations]]
        name = "gp3"
        provider = "aws"
        region = "us-east-1"
        zone = "us-east-1a"
        cloud = {{ image = "ami-0123456789abcdef0", ingress = "203.0.113.7/32" }}
        database_machine = {{ type = "m6i.2xlarge", volumes = [{{ kind = "gp3", size = 500, iops = 3000 }}] }}
        [[benchmarks]]
        uses = "fio"
        parameters.promised_iops = {promise}
        parameters.jobs = [{{ name = "day", mode = "randread", block_size_kib = 4, duration_s = {seconds} }}]
        """
    study = load_study(text, "s.toml", BENCHMARKS)
    plan = expand(study, BENCHMARKS)
    metric = Metric(name="day.iops", unit="IO/s", direction=Direction.HIGHER, title="Reads", headline=True)
    every = [one.intent for one in plan.trials]
    trials = [trial(one.id, "gp3", one.replicate, benchmark="fio", subject=Subject.STORAGE) for one in every]
    found = []
    for row in trials:
        share = 1.0
        found.append(measurement(row, 3000.0, metric))
        for at in range(seconds):
            share = changes.get(at, share) if row.replicate == 2 else 1.0
            found.append(measurement(row, 3000 * share, metric, float(at + 1)))
    made = inputs((trials, found), {"fio": [metric]})
    (benchmark,) = made.benchmarks
    parameters = study.benchmarks[0].parameters
    benchmark = benchmark.model_copy(update={"parameters": dict(parameters)})
    return analyse(replace(made, study=study, plan=plan, benchmarks=[benchmark]))


def two_systems() -> AnalysedStudy:
    """Databases of two systems, as durable as each other."""
    text = (
        'name = "s"\nconfigurations = [{ name = "pg" }, { name = "maria", database = { system = "mariadb" } }]\n'
        'benchmarks = [{ uses = "tpcb" }]'
    )
    given, isolated = inputs(noisy({"pg": 1, "maria": 1.2})), {"parameters": {"isolation": "serializable"}}
    return analyse(
        replace(
            given,
            plan=expand(load_study(text, "s.toml", BENCHMARKS), BENCHMARKS),
            benchmarks=[row.model_copy(update=isolated) for row in given.benchmarks],
            database_settings={
                "pg": {"synchronous_commit": "on", "fsync": "on"},
                "maria": {"innodb_flush_log_at_trx_commit": "1"},
            },
        )
    )


def copied(pair: str, single: str, more: str = "") -> AnalysedStudy:
    """Databases whose copies the study states."""
    text = (
        f'name = "s"\n{more}\nconfigurations = [{{ name = "pair", database = {{ copies = {{ {pair} }} }} }}, '
        f'{{ name = "single", database = {{ copies = {{ {single} }} }} }}]\nbenchmarks = [{{ uses = "tpcb" }}]'
    )
    plan = expand(load_study(text, "s.toml", BENCHMARKS), BENCHMARKS)
    return analyse(replace(inputs(noisy({"pair": 1, "single": 1.2})), plan=plan))


def taken_over(first: str, second: str) -> AnalysedStudy:
    """Clusters of Valkey whose replicas take over, or not."""
    hosts = [", ".join(f'"{name}{number}"' for number in range(6)) for name in "ab"]
    text = 'name = "s"\nbenchmarks = [{ uses = "kv" }]\n' + "".join(
        f'[[configurations]]\nname = "{name}"\nprovider = "ssh"\nload_machine = {{ hosts = ["l{name}"] }}\n'
        f'database_machine = {{ hosts = [{machines}] }}\ndatabase = {{ system = "valkey", replicas = 1{more} }}\n'
        for name, machines, more in zip(("first", "second"), hosts, (first, second), strict=True)
    )
    plan = expand(load_study(text, "s.toml", BENCHMARKS), BENCHMARKS)
    return analyse(replace(inputs(noisy({"first": 1, "second": 1.2})), plan=plan))


def faulted(costs: str = "", dearer: str = "async") -> AnalysedStudy:
    """Two servers that are killed twice in each of six runs, of which one loses writes."""
    usd = {"sync": 0.1, "async": 0.1} | {dearer: 0.5}
    text = f"""
        name = "s"
        replicates = 6
        costs = {{ {costs} }}
        [[configurations]]
        name = "sync"
        price_usd_per_hour = {usd["sync"]}
        [[configurations]]
        name = "async"
        price_usd_per_hour = {usd["async"]}
        database = {{ connections = 9, settings = {{ synchronous_commit = "off" }} }}
        [[benchmarks]]
        uses = "adversity"
        name = "kill"
        """
    study = load_study(text, "s.toml", BENCHMARKS)
    plan, metrics = expand(study, BENCHMARKS), {one.name: one for one in Adversity().metrics(AdversityParameters())}
    trials, found = [], []
    for one in (planned.intent for planned in plan.trials):
        name = one.configuration_name
        row = trial(one.id, name, one.replicate, benchmark="kill", subject=Subject.DATABASE)
        trials.append(row)
        back_s = {"sync": 3.0, "async": 2.0}[name] + one.replicate / 10
        values = {"longest_outage": back_s, "writes_lost": 7.0 * (name == "async"), "writes_acknowledged": 900.0}
        found += [measurement(row, value, metrics[metric]) for metric, value in values.items()]
        for begin_s in (15.0, 45.0):
            of_fault = {"longest_outage": back_s, "lasted": 2.0, "errors_lost": 8.0}
            found += [measurement(row, value, metrics[f"outage.{of}"], begin_s) for of, value in of_fault.items()]
            for at in range(5, 35):
                rate = 0.0 if 15 <= at < 15 + back_s else 100.0
                found.append(measurement(row, rate, metrics["operations_per_s"], begin_s - 15.0 + at + 1))
                found += [measurement(row, 0.004, metrics["response_p95"], begin_s - 14.0 + at)] if rate else []
    made = inputs((trials, found), {"kill": list(metrics.values())})
    (benchmark,) = made.benchmarks
    parameters = AdversityParameters().model_dump(mode="json")
    return analyse(
        replace(made, study=study, plan=plan, benchmarks=[benchmark.model_copy(update={"parameters": parameters})])
    )


@cache
def studies() -> dict[str, AnalysedStudy]:
    """By name; made when the first test asks, as every worker collects every test."""
    return {
        "dearer": costly({"two": 1.1, "one": 1}),
        "cheaper": costly({"two": 1, "one": 1.1}),
        "as dear": costly({"two": 1, "one": 1.0001}),
        "on disks": on_disks(),
        "where nobody has a price": on_disks("nowhere-1"),
        "clouds": clouds("tpcc"),
        "clouds without a database": clouds(None),
        "encrypted": analyse(
            replace(
                inputs(noisy({"plain": 1, "tls": 1.2})),
                database_settings={
                    "plain": {"session encryption": "none"},
                    "tls": {"session encryption": "TLSv1.3 TLS_AES_256_GCM_SHA384"},
                },
            )
        ),
        "less durable": analyse(
            replace(
                inputs(noisy({"synced": 1, "later": 1.2})),
                database_settings={
                    "synced": {"synchronous_commit": "on", "fsync": "on"},
                    "later": {"innodb_flush_log_at_trx_commit": "2"},
                },
            )
        ),
        "two systems": two_systems(),
        "one is taken over": taken_over(', failover = "cluster"', ""),
        "both are taken over": taken_over(*[', failover = "cluster"'] * 2),
        "equal copies": copied("count = 2, synchronous = true", "synchronous = true, count = 2"),
        "unequal copies": copied("count = 2, synchronous = true", "count = 1", "unequal_copies = true"),
        "elsewhere": analyse(inputs(elsewhere(noisy({"managed": 1, "other": 1.2})))),
        "clear": analyse(
            inputs(with_latency(sharing(noisy({"local-4cpu": 2, "local-1cpu": 1}, cpus={"local-4cpu": 4}))))
        ),
        "tie": analyse(inputs(noisy({"a": 1, "b": 1.0001}, 0.0005))),
        "open": analyse(inputs(noisy({"a": 1, "b": 1.02}, 0.03, cpus={"a": 2}))),
        "hopeless": analyse(inputs(noisy({"a": 1, "b": 1.01}, 0.03))),
        "few": analyse(inputs(noisy({"a": 1, "b": 2}, n=3))),
        "many": analyse(inputs(noisy({name: 1 + index / 10 for index, name in enumerate("abcde")}, n=7))),
        "too many claims": analyse(inputs(noisy({name: 1 + index / 10 for index, name in enumerate("abcdefgh")}))),
        "close": analyse(inputs(noisy({"a": 1, "b": 1.5, "c": 1.52}, 0.02))),
        "once": analyse(inputs(rows({"a": [1.0], "b": [2.0], "c": [3.0]}))),
        "steps": analyse(inputs(rows({"a": [5.0] * 6, "b": [6.0] * 6, "c": [7.0] * 6}))),
        "three pairs": analyse(inputs(noisy({"a": 1, "b": 1.03, "c": 1.5}, 0.02))),
        "alone": analyse(inputs(noisy({"a": 1}))),
        "refused": analyse(inputs(refused())),
        "altered": analyse(inputs(altered())),
        "drifting": analyse(inputs(drifting())),
        "walking": analyse(inputs(walking())),
        "saturated": saturated(),
        "split": split(),
        "exchanged": analyse(inputs(exchanged())),
        "one kind left": analyse(inputs(exchanged(left=True))),
        "versions": versions(),
        "one machine each": analyse(inputs(on_machines({"a": ["m1"], "b": ["m2"]}, {"a": 1, "b": 1.2}))),
        "one machine": analyse(inputs(on_machines({"a": ["m1"], "b": ["m1"]}, {"a": 1, "b": 1.2}))),
        "fresh machines": analyse(inputs(on_machines({"a": list("123456"), "b": list("uvwxyz")}, {"a": 1, "b": 1.2}))),
        "two names": two_names(),
        "latency": latency({"a": 1, "b": 1.2}),
        "zeros": analyse(inputs(rows({"a": [0.0, 1, 2, 3, 4, 5], "b": [1.0, 2, 3, 4, 5, 100]}))),
        "constant": analyse(inputs(rows({"a": [5.0] * 6, "b": [5.0] * 6}))),
        "capped": capped(),
        "networks": networks(),
        "watched": watched({600: 0.0, 605: 1.0, 2000: 0.7, 2900: 1.0}),
        "faulted": faulted(),
        "faulted at a cost": faulted("outage_usd_per_hour = 100_000, faults_per_year = 24"),
        "faulted for nothing": faulted(dearer="sync"),
        "far apart": far_apart(),
        "restless": restless(),
        "growing": grown({f"valkey-{n}": n * 10e3 for n in (3, 6)}, [configuration("valkey", n) for n in (3, 6)]),
        "stopped": stopped(),
        "stolen": analyse(inputs(stolen())),
        "much stolen": much_stolen(),
        "judged again": analyse(replace(inputs(stolen()), judged_again="record")),
        "empty": analyse(inputs(([], []))),
    }
