"""Outputs of fio, CoreMark and netperf as trials."""

from nephoscope.importers.files import AROUND, FileFormat, Parsed, Value, around, latency, metric
from nephoscope.importers.identity import BenchmarkIdentity
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.subjects import Subject
from nephoscope.parsers.coremark import parse_coremark
from nephoscope.parsers.fio import FioJob, FioSide, parse_fio
from nephoscope.parsers.netperf import parse_netperf

_FIO_WORDS = ("bs", "rw", "iodepth", "numjobs")
_CLOCKS = {
    "latency": "fio's lat: from handing an I/O over until it is done",
    "completion": "fio's clat: from when the kernel has accepted an I/O until it is done",
}


def parse_fio_file(text: str) -> list[Parsed]:
    """One trial for each job of a fio JSON report."""
    report, verdicts = parse_fio(text), around("fio", text)
    return [
        Parsed(
            benchmark=BenchmarkIdentity(
                tool="fio",
                workload=" ".join([job.name, *(job.options[key] for key in _FIO_WORDS if key in job.options)]),
                version=report.version,
                parameters={"job": job.name, **job.options},
            ),
            described=bool(job.options),
            subject=Subject.STORAGE,
            title=f"fio job {job.name}",
            values=values,
            verdicts=verdicts,
            versions={"fio": report.version},
        )
        for job in report.jobs
        if (values := _fio_values(job))
    ]


def _fio_values(job: FioJob) -> list[Value]:
    found: list[Value] = []
    for word, side in (("read", job.read), ("write", job.write)):
        if side is not None:
            found += _fio_side(word, side, headline=not found)
    return found


def _fio_side(word: str, side: FioSide, *, headline: bool) -> list[Value]:
    values = [
        Value(
            metric=metric(f"{word}_ios_per_s", "IO/s", f"{word} operations", headline=headline), value=side.ios_per_s
        ),
        Value(metric=metric(f"{word}_bytes_per_s", "B/s", f"{word} rate"), value=side.bytes_per_s),
    ]
    times = side.total or side.completion
    if times is not None:
        of = "latency" if side.total is not None else "completion"
        values.append(latency(f"{word}_{of}_mean", f"{word} {of}, mean", times.mean_s, _CLOCKS[of]))
    if side.completion is not None:
        values += [
            latency(
                f"{word}_completion_p{percent:g}".replace(".", "_"),
                f"{word} completion, p{percent:g}",
                seconds,
                _CLOCKS["completion"],
            )
            for percent, seconds in sorted(side.completion.percentiles_s.items())
            if percent in {50, 90, 95, 99, 99.9}
        ]
    return values


def parse_coremark_file(text: str) -> list[Parsed]:
    """The score, and for each context."""
    found = parse_coremark(text)
    score = metric("iterations_per_s", "1/s", "CoreMark score", headline=True, counted="iterations/s")
    each = metric("iterations_per_s_per_context", "1/s", "CoreMark score for each context")
    single = found.contexts == 1
    # The flags repeat the number of contexts, which may be one for each CPU.
    flags = found.flags.replace(f"MULTITHREAD={found.contexts}", "MULTITHREAD")
    return [
        Parsed(
            benchmark=BenchmarkIdentity(
                tool="coremark",
                workload="single" if single else "multi",
                version=found.compiler,
                parameters={
                    "contexts": str(found.contexts),
                    "parallel": found.parallel or "",
                    "data": str(found.size_bytes),
                    "flags": flags,
                },
            ),
            described=True,
            subject=Subject.CPU,
            title=f"CoreMark, {'one thread' if single else 'several threads'}",
            values=[
                Value(metric=score, value=found.iterations_per_s),
                Value(metric=each, value=found.iterations_per_s / found.contexts),
            ],
            verdicts=around("coremark", text),
            versions={"compiler": f"{found.compiler} {found.flags}"},
        )
    ]


def parse_netperf_file(text: str) -> list[Parsed]:
    """Rate, and latencies if they were requested."""
    found = parse_netperf(text)
    values: list[Value] = []
    if found.bits_per_s is not None:
        values.append(Value(metric=metric("bits_per_s", "bit/s", "Throughput", headline=True), value=found.bits_per_s))
    if found.transactions_per_s is not None:
        rate = metric("transactions_per_s", "1/s", "Request and response pairs", headline=True, counted="pairs/s")
        values.append(Value(metric=rate, value=found.transactions_per_s))
    named = {"minimum": found.latency_minimum_s, "mean": found.latency_mean_s, "maximum": found.latency_maximum_s}
    clock = f"from sending a request until its response has arrived, by netperf's {found.test or 'request/response'}"
    values += [latency(f"latency_{word}", f"Latency, {word}", s, clock) for word, s in named.items() if s is not None]
    if not values:
        raise OutputUnreadable(f"netperf output: a throughput in {found.unit!r}, neither bits nor transactions")
    kind = "rr" if found.transactions_per_s is not None else "stream"
    test = BenchmarkIdentity(tool="netperf", workload=kind, parameters={"test": found.test} if found.test else {})
    title, verdicts = f"netperf {found.test or kind}", around("netperf", text)
    return [Parsed(benchmark=test, subject=Subject.NETWORK, title=title, values=values, verdicts=verdicts)]


FIO = FileFormat(
    name="fio",
    title="fio JSON",
    parse=parse_fio_file,
    checks=(AROUND,),
    unknown=(
        "device, filesystem and memory: the JSON alone does not show whether a cache served the reads",
        "jobs with the same name and options in one file (without group_reporting) are skipped",
    ),
)
