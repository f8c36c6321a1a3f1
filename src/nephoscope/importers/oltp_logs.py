"""Logs of database benchmarks: `cockroach workload`, go-tpc, HammerDB, YCSB. Text in, numbers out; pure."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from nephoscope.checks.thresholds import ERRORS
from nephoscope.checks.verdicts import invalid, valid
from nephoscope.importers.files import AROUND, FileFormat, Parsed, Value, around, latency, metric, once
from nephoscope.importers.identity import BenchmarkIdentity
from nephoscope.model.errors import OutputUnreadable
from nephoscope.model.records import Verdict
from nephoscope.model.subjects import DatabaseLoad, Subject
from nephoscope.model.words import counted
from nephoscope.parsers.latencies import COCKROACH as COCKROACH_HISTOGRAM
from nephoscope.parsers.latencies import EXACT, Histogram, latencies
from nephoscope.parsers.latencies import GO_TPC as GO_TPC_HISTOGRAM
from nephoscope.parsers.text import DECIMAL, INTEGER, exactly_one, whole_lines

TPCC = "tpcc"
_MS, _US = 1e-3, 1e-6
_NEW_ORDERS = "New-Orders/min"

_COCKROACH_TYPES = re.compile(r"_elapsed_+errors_+ops\(total\)_.*_(?P<kind>total|result)")
_COCKROACH_TPCC = re.compile(r"_elapsed_+tpmC_+efc_.*")
_ELAPSED = rf"(?:{INTEGER}h)?(?:{INTEGER}m)?(?:{DECIMAL}s)?"
_COCKROACH_ROW = re.compile(
    rf"\s*+(?P<elapsed>{_ELAPSED})\s+(?P<errors>{INTEGER})\s+(?P<ops>{INTEGER})\s+(?P<rate>{DECIMAL})\s+(?P<avg>{DECIMAL})"
    rf"\s+(?P<p50>{DECIMAL})\s+(?P<p95>{DECIMAL})\s+(?P<p99>{DECIMAL})\s+(?P<max>{DECIMAL})(?:\s+(?P<name>\S+))?\s*"
)
_COCKROACH_TPMC = re.compile(
    rf"\s*+{_ELAPSED}\s+(?P<tpmc>{DECIMAL})\s+(?P<efc>{DECIMAL})%\s+(?P<avg>{DECIMAL})\s+(?P<p50>{DECIMAL})"
    rf"\s+(?P<p90>{DECIMAL})\s+(?P<p95>{DECIMAL})\s+(?P<p99>{DECIMAL})\s+(?P<max>{DECIMAL})\s*"
)


def parse_cockroach_workload(text: str) -> list[Parsed]:
    """The tables that `cockroach workload run` prints at its end.

    Raises:
        OutputUnreadable: no final table (an aborted run prints none), a damaged row, or two runs.
    """
    lines = whole_lines(text, "cockroach workload log")
    values: list[Value] = []
    errors = done = 0
    tpcc = False
    kinds: list[str] = []
    for kind, line in _cockroach_rows(lines):
        row = (_COCKROACH_TPMC if kind == "tpcc" else _COCKROACH_ROW).fullmatch(line)
        if row is None or (kind != "tpcc" and (row["name"] is None) != (kind == "result")):
            raise OutputUnreadable(f"cockroach workload log: a final table has the row {line.strip()[:60]!r}")
        if kind == "tpcc":
            tpcc = True
            values += _tpcc_values(row)
        elif kind == "result":
            errors, done = int(row["errors"]), int(row["ops"])
            headline = "tpmC" not in text
            title = "Operations of all kinds"
            rate = metric("operations_per_s", "1/s", title, headline=headline, counted="operations/s")
            values += [Value(metric=rate, value=_per_second(row)), *_latencies(row, "all")]
        else:
            kinds.append(row["name"])
            rate = metric(f"{row['name']}_per_s", "1/s", f"{row['name']}")
            values += [Value(metric=rate, value=_per_second(row)), *_latencies(row, str(row["name"]))]
    if done == 0:
        raise OutputUnreadable("cockroach workload log: no final result, or no operation in it: the run was aborted")
    benchmark = BenchmarkIdentity(
        tool="cockroach-workload",
        workload=TPCC if tpcc else "",
        parameters={"operations": ", ".join(sorted(kinds))},
    )
    title = "TPC-C of cockroach workload" if tpcc else "cockroach workload"
    # Its histograms, and so `ops`, hold the operations that succeeded.
    verdicts = [_errors(errors, done), *around("cockroach-workload", text)]
    return [Parsed(benchmark=benchmark, subject=Subject.DATABASE, title=title, values=once(values), verdicts=verdicts)]


def _per_second(row: re.Match[str]) -> float:
    """Operations over the time that they took: the printed rate has one decimal."""
    parts = re.findall(rf"({DECIMAL})([hms])", row["elapsed"])
    elapsed_s = sum(float(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in parts)
    if elapsed_s <= 0:
        raise OutputUnreadable("cockroach workload log: the final table covers no time")
    return int(row["ops"]) / elapsed_s


def _cockroach_rows(lines: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(kind of table, row) of the tables that end a run; interval tables have another header."""
    kind = None
    for line in lines:
        if line.startswith("_elapsed"):
            types, tpcc = _COCKROACH_TYPES.fullmatch(line.strip()), _COCKROACH_TPCC.fullmatch(line.strip())
            kind = types["kind"] if types else "tpcc" if tpcc else None
        elif not line.strip() or line.startswith(("Audit", "#")):
            kind = None
        elif kind:
            yield kind, line


def _latencies(row: re.Match[str], of: str) -> list[Value]:
    mean_s, maximum_s = float(row["avg"]) * _MS, float(row["max"]) * _MS
    percentiles_s = {percent: float(row[f"p{percent:g}"]) * _MS for percent in (50.0, 95.0, 99.0)}
    return _all_latencies(_OF_COCKROACH, of, percentiles_s, mean_s, maximum_s)


class _Tool(NamedTuple):
    """How a tool takes its latencies."""

    what: str
    clock: str
    histogram: Histogram


_OF_COCKROACH = _Tool(
    "cockroach workload log",
    "from asking for a pooled connection until the operation has succeeded; failed ones are left out",
    COCKROACH_HISTOGRAM,
)
_OF_GO_TPC = _Tool(
    "go-tpc log", "from the begin of a transaction until it has succeeded; failed ones are left out", GO_TPC_HISTOGRAM
)
_OF_YCSB = _Tool(
    "YCSB output", "from the call of an operation until it returns; failed ones are in it, or apart by a name", EXACT
)


def _all_latencies(
    tool: _Tool, of: str, percentiles_s: Mapping[float, float], mean_s: float | None, maximum_s: float | None
) -> list[Value]:
    """Those that were printed, as they can be told."""
    checked = latencies(tool.what, tool.histogram, percentiles_s, mean_s=mean_s, maximum_s=maximum_s)
    named = {f"p{percent:g}".replace(".", "_"): value for percent, value in checked.percentiles_s.items()}
    return [
        latency(f"latency_{word}_{of}", f"Latency of {of}, {word}", value, tool.clock)
        for word, value in {"mean": checked.mean_s, **named, "maximum": checked.maximum_s}.items()
        if value is not None
    ]


def _tpcc_values(row: re.Match[str]) -> list[Value]:
    tpmc = metric("new_orders_per_minute", _NEW_ORDERS, "New-Orders committed", headline=True)
    share = metric("efficiency_share", "share", "tpmC of 12.86 for each warehouse")
    checked = latencies(_OF_COCKROACH.what, COCKROACH_HISTOGRAM, {90: float(row["p90"]) * _MS})
    return [
        Value(metric=tpmc, value=float(row["tpmc"])),
        Value(metric=share, value=float(row["efc"]) / 100),
        *(
            latency("latency_p90_tpmc", "Latency of New-Order, p90", value, _OF_COCKROACH.clock)
            for value in checked.percentiles_s.values()
        ),
    ]


_GO_TPC_ROW = re.compile(r"\[Summary\] (?P<name>[A-Z_]+) +- (?P<values>.+)")
_GO_TPC_END = re.compile(rf"tpmC: (?P<tpmc>{DECIMAL})(?:, tpmTotal: (?P<all>{DECIMAL}))?(?:, efficiency: {DECIMAL}%)?")
_GO_TPC_PERCENTS = {"50th": 50.0, "90th": 90.0, "95th": 95.0, "99th": 99.0, "99.9th": 99.9}


def parse_go_tpc(text: str) -> list[Parsed]:
    """The summary that `go-tpc tpcc run` prints at its end.

    Raises:
        OutputUnreadable: no line of tpmC, a damaged summary, or two runs.
    """
    lines = whole_lines(text, "go-tpc log")
    end = exactly_one((_GO_TPC_END.fullmatch(line.strip()) for line in lines), "go-tpc log that say tpmC")
    tpmc = metric("new_orders_per_minute", _NEW_ORDERS, "New-Orders committed", headline=True)
    values = [Value(metric=tpmc, value=float(end["tpmc"]))]
    errors = done = 0
    for row in filter(None, (_GO_TPC_ROW.fullmatch(line.strip()) for line in lines)):
        fields = dict(re.findall(rf"(?<![\w.])([\w.]++)(?:\(\w+\))?: ({DECIMAL})(?:,|$)", row["values"]))
        if "Count" not in fields:
            raise OutputUnreadable(f"go-tpc log: the summary of {row['name']} has no count")
        if row["name"].endswith("_ERR"):
            errors += int(float(fields["Count"]))
            continue
        done += int(float(fields["Count"]))
        name = row["name"].casefold()
        printed = {field: float(text) * _MS for field, text in fields.items()}
        percentiles_s = {percent: printed[field] for field, percent in _GO_TPC_PERCENTS.items() if field in printed}
        values += _all_latencies(_OF_GO_TPC, name, percentiles_s, printed.get("Avg"), printed.get("Max"))
    if done == 0:
        raise OutputUnreadable("go-tpc log: no summary of a transaction")
    verdicts = [_errors(errors, done), *around("go-tpc", text)]
    return [
        Parsed(
            benchmark=BenchmarkIdentity(tool="go-tpc", workload=TPCC),
            subject=Subject.DATABASE,
            title="TPC-C of go-tpc",
            values=once(values),
            verdicts=verdicts,
        )
    ]


_HAMMERDB_END = re.compile(
    rf"Vuser {INTEGER}:TEST RESULT : System achieved (?:(?P<nopm>{INTEGER}) NOPM from (?P<tpm>{INTEGER}) (?P<of>.+) TPM"
    rf"|(?P<old_tpm>{INTEGER}) (?P<old_of>.+) TPM at (?P<old_nopm>{INTEGER}) NOPM)"
)
_HAMMERDB_VUSER = re.compile(rf"Vuser {INTEGER}:FINISHED (?P<how>SUCCESS|FAILED)")
_HAMMERDB_VERSION = re.compile(r"HammerDB CLI v(?P<version>[0-9.]+)")


def parse_hammerdb(text: str) -> list[Parsed]:
    """The result line of a timed TPROC-C run, and how its virtual users ended.

    Raises:
        OutputUnreadable: no result, two, or a result of 0.
    """
    whole = whole_lines(text, "HammerDB log", ends=re.compile(r".*TEST SEQUENCE COMPLETE\s*"))
    lines = [line.strip() for line in whole]
    end = exactly_one((_HAMMERDB_END.fullmatch(line) for line in lines), "HammerDB log with a TEST RESULT")
    nopm, tpm, of = (end[name] or end[f"old_{name}"] for name in ("nopm", "tpm", "of"))  # 4.0 turned the order round
    if int(nopm) == 0:
        raise OutputUnreadable("HammerDB log: 0 NOPM: no transaction completed")
    users = [found["how"] for line in lines if (found := _HAMMERDB_VUSER.fullmatch(line))]
    failed = users.count("FAILED")
    said = (
        f"{failed:,} of {counted(len(users), 'virtual user')} failed"
        if users
        else "no virtual user reports that it finished"
    )
    verdict = (invalid if failed or not users else valid)("errors", said)
    versions = [found["version"] for line in lines if (found := _HAMMERDB_VERSION.search(line))]
    values = [
        Value(metric=metric("new_orders_per_minute", _NEW_ORDERS, "New orders", headline=True), value=int(nopm)),
        Value(metric=metric("transactions_per_minute", "1/min", f"{of} transactions"), value=int(tpm)),
    ]
    return [
        Parsed(
            benchmark=BenchmarkIdentity(
                tool="hammerdb",
                workload="tproc-c",
                version=versions[0] if versions else "",
                parameters={"database": of, "virtual users": str(len(users))},
            ),
            subject=Subject.DATABASE,
            title=f"HammerDB TPROC-C on {of}",
            values=values,
            verdicts=[verdict, *around("hammerdb", text)],
            versions={"HammerDB": versions[0]} if versions else {},
        )
    ]


_YCSB_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{1,20})?(?:E[0-9]{1,2})?"
_YCSB_ROW = re.compile(rf"\[(?P<of>[A-Z-]+)\], *+(?P<what>[^,]++), *(?P<value>{_YCSB_NUMBER})")
_YCSB_LATENCY = re.compile(
    r"(?P<word>Average|Min|Max|(?P<percent>50|95|99|99\.9)thPercentile)Latency\((?P<unit>us|ms)\)"
)
_YCSB_VERSION = re.compile(r"YCSB Client (\S{1,40})")
_YCSB_COMMAND = re.compile(r"Command line: (.+)")
_YCSB_FILE = re.compile(r"-P (?:\S*/)?([^/\s]+)(?!\S)")
_YCSB_SERVER = re.compile(r"-p \S*(?:hosts?|url|port|user|passwd|password)=\S* ?")
"""Where the server is, and not what it is asked for."""


def parse_ycsb(text: str) -> list[Parsed]:
    """What a YCSB client prints at its end; stack traces and progress between the lines are passed over.

    A percentile that an old version prints as whole milliseconds and that is 0 is not known, and is left out.

    Raises:
        OutputUnreadable: no throughput, two runs in one file, or no operation.
    """
    lines = [line.strip() for line in whole_lines(text, "YCSB output")]
    rows = [found for line in lines if (found := _YCSB_ROW.fullmatch(line))]
    values: list[Value] = []
    times: dict[str, dict[str | float, float]] = defaultdict(dict)
    good = bad = 0
    for row in rows:
        of, what, value = row["of"].casefold(), row["what"].strip(), float(row["value"])
        found = _YCSB_LATENCY.fullmatch(what)
        if of == "overall" and what == "Throughput(ops/sec)":
            rate = metric("operations_per_s", "1/s", "Operations", headline=True, counted="operations/s")
            values.append(Value(metric=rate, value=value))
        elif what.startswith("Return="):
            ok = what in {"Return=OK", "Return=0"}
            good, bad = good + (int(value) if ok else 0), bad + (0 if ok else int(value))
        elif found and of != "cleanup" and not (found["unit"] == "ms" and value == 0):
            seconds = value * (_US if found["unit"] == "us" else _MS)
            word = float(found["percent"]) if found["percent"] else found["word"]
            if word in times[of]:
                raise OutputUnreadable(
                    f"YCSB output: two values of {what} of {of}: the file contains several runs; split it"
                )
            times[of][word] = seconds
    for of, words in times.items():
        percentiles_s = {word: seconds for word, seconds in words.items() if isinstance(word, float)}
        name, mean_s, maximum_s = of, words.get("Average"), words.get("Max")
        values += _all_latencies(_OF_YCSB, name, percentiles_s, mean_s, maximum_s)
        if "Min" in words:
            values.append(
                latency(f"latency_minimum_{name}", f"Latency of {name}, minimum", words["Min"], _OF_YCSB.clock)
            )
    if not any(one.metric.headline for one in values):
        raise OutputUnreadable("YCSB output: no line [OVERALL], Throughput(ops/sec): the run did not finish")
    if not any(one.value != 0 for one in values if one.metric.headline):
        raise OutputUnreadable("YCSB output: a throughput of 0")
    verdicts = [*([_errors(bad, good)] if good + bad else []), *around("ycsb", text)]
    version = next((found[1] for line in lines if (found := _YCSB_VERSION.fullmatch(line))), "")
    command = next((_YCSB_SERVER.sub("", found[1]) for line in lines if (found := _YCSB_COMMAND.fullmatch(line))), "")
    workload = " ".join(_YCSB_FILE.findall(command))
    operations = {row["of"].casefold() for row in rows if not row["of"].endswith("-FAILED")} - {"overall", "cleanup"}
    parameters = {"operations": ", ".join(sorted(operations)), "command": command}
    return [
        Parsed(
            benchmark=BenchmarkIdentity(tool="ycsb", workload=workload, version=version, parameters=parameters),
            described=bool(command),
            subject=Subject.DATABASE,
            database_load=DatabaseLoad.KEY_VALUE,
            title="YCSB",
            values=once(values),
            verdicts=verdicts,
        )
    ]


def _errors(failed: int, succeeded: int) -> Verdict:
    """By the limit of nephoscope's own check; there is at least one operation."""
    attempted = failed + succeeded
    said = f"{failed:,} of {counted(attempted, 'operation')} failed"
    return (invalid if failed / attempted > ERRORS.value else valid)("errors", said)


_CHECKS = (("errors", f"Rejects a run in which over {ERRORS.percent} of the operations, or a client, failed."), AROUND)
COCKROACH = FileFormat(
    name="cockroach-workload",
    title="`cockroach workload run`",
    parse=parse_cockroach_workload,
    unknown=(
        "percentiles come from a histogram with one significant digit, from 100 µs to 100 s: a grid of 3 to 6 %",
        "latencies above 100 s are in the last bucket of its histogram: they are lower bounds, in no comparison",
        "latency includes the wait for a pooled connection",
        (
            "TPC-C: a lookup of customers by name reads about 12 rows instead of 2.5, because it uses the loader's "
            "constant"
        ),
        "ramp, warehouses, wait times and connections: flags are not printed",
    ),
    checks=_CHECKS,
)
GO_TPC = FileFormat(
    name="go-tpc",
    title="`go-tpc tpcc run`",
    parse=parse_go_tpc,
    unknown=(
        "New-Order takes stock only from the home warehouse: a defect of go-tpc (682637f) that the numbers contain",
        "each process draws new constants of NURand: 3 to 12 rows per lookup, different in each run",
        "warehouses, threads and wait times: flags are not printed",
    ),
    checks=_CHECKS,
)
HAMMERDB = FileFormat(
    name="hammerdb",
    title="HammerDB TPROC-C",
    parse=parse_hammerdb,
    unknown=(
        "keying and think times: off unless the script says otherwise",
        "latencies: only its time profile has them",
    ),
    checks=_CHECKS,
)
YCSB = FileFormat(
    name="ycsb",
    title="YCSB",
    parse=parse_ycsb,
    unknown=("latency of a closed loop unless -target was given: it excludes the wait before the start",),
    checks=_CHECKS,
)
