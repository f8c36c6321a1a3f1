"""Every figure of the Cloud Reports of 2018, 2020 and 2022, and the figure of ours that shows the same.

The table of docs/reference/figures.md is made from these rows, and a test draws each of them from simulated studies.
Titles are those of the reports. Where the text of a report lacks a title, the row says so.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from nephoscope.analysis.lookup import best_first, headlines
from nephoscope.insights.names import setups
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.model.words import provider_name
from nephoscope.report.figures.dollars import cost_per_run, dollars
from nephoscope.report.figures.network import (
    Ranges,
    latency_histogram,
    ranges_of,
    round_trips,
    throughput_by_second,
    throughput_histogram,
    throughput_ranges,
)
from nephoscope.report.figures.results import (
    Curve,
    Results,
    Steps,
    all_steps,
    curves_of,
    every_step,
    maximum,
    of_databases,
    results_of,
)
from nephoscope.report.figures.steps import (
    best_curves,
    best_over_warehouses,
    curves_by_cloud,
    over_memory,
    over_warehouses,
)
from nephoscope.report.figures.storage import by_storage, curves_figure, row_statistics, storage_shares
from nephoscope.report.figures.tops import best_of_clouds, small_and_large, tops
from nephoscope.report.parts import Book, Figure
from nephoscope.report.sections.machines import machines_table
from tests.support import editions

ILLUSTRATION = "illustration: no data"
CPU, NETWORK, STORAGE = "Machine performance, CPU", "Machine performance, Network", "Machine performance, Storage"
OVERALL_MOST = 15
"""Bars of a ranking over all clouds: no report shows more."""
BEST, KINDS = "Database performance, The best machines", "Database performance, Kinds of storage"
WAREHOUSES, MEMORY = "Database performance, More warehouses", "Database performance, Memory"
SIZES, COSTS, MACHINES = "Machine performance, Small and large machines", "Costs", "Machines"
CLOUDS = ("AWS", "GCP", "Azure")
FAR = "-cross-region"
"""How benchmarks of 2022 end that ran between regions."""


@dataclass(frozen=True)
class Ours:
    """A figure, or a table, and where it is on evidence.html."""

    function: Callable[..., object]
    what: str
    section: str
    draw: "partial[Any]"
    """Takes a `Book`, gives a figure, a table or None. Rows with equal arguments show panels of one figure."""
    named: str = ""
    """Start of the title of the panel that shows it, with the sources' name of a cloud; empty: the whole figure."""
    measured: Callable[[Book], Sequence[str]] | None = None
    """Every configuration that the source has a bar or a line of, the best first; None: it has none of machines."""
    most: int | None = None
    """How many of them the source shows; None: those of the panel's cloud and size."""

    @property
    def panel(self) -> str:
        """The same as our figures write it."""
        return self.named.replace("GCP", "Google Cloud")

    def lacks(self, book: Book, drawn: Collection[str]) -> set[str]:
        """Configurations whose bar or line should be among those that are drawn and is not."""
        wanted = [] if self.measured is None else self.measured(book)
        return {*[name for name in wanted if self._is_of_panel(book, name)][: self.most]} - {*drawn}

    def _is_of_panel(self, book: Book, name: str) -> bool:
        """Whether a configuration is of the cloud and the size in the panel's title, as far as it has any."""
        known = book.lookup.described[name]
        clouds = [cloud.replace("GCP", "Google Cloud") for cloud in CLOUDS if cloud in self.named]
        sizes = [size for size in (_SMALL, _LARGE) if size in self.named]
        return (not clouds or provider_name(known.provider or "") in clouds) and (
            not sizes or ((known.vcpus or 0) <= 8) == (sizes == [_SMALL])
        )

    @property
    def path(self) -> str:
        """Of its source file, in the repository."""
        return f"src/{self.function.__module__.replace('.', '/')}.py"


@dataclass(frozen=True)
class Source:
    """One figure of a report; `ours` is None for what shows no data."""

    report: str
    title: str
    shows: str
    ours: Ours | None
    study: Callable[[], AnalysedStudy]


def sources() -> list[Source]:
    """All of them, in the order of the reports."""
    return [*_2018(), *_2020(), *_2022()]


def figures_table(report: str) -> str:
    """The rows of one report as Markdown."""
    lines = ["| figure | it shows | ours | on evidence.html |", "|---|---|---|---|"]
    for row in sources():
        if row.report == report:
            ours, where = (ILLUSTRATION, "nothing") if row.ours is None else (_named(row.ours), row.ours.section)
            lines.append(f"| {row.title} | {row.shows} | {ours} | {where} |")
    return "\n".join(lines) + "\n"


def _named(ours: Ours) -> str:
    panel = f", panel “{ours.panel}”" if ours.panel else ""
    return f"{ours.what}{panel}: [`{ours.function.__name__}`](../../{ours.path})"


def _2018() -> Iterator[Source]:
    def row(title: str, shows: str, ours: Ours) -> Source:
        return Source("2018", title, shows, ours, editions.cr2018)

    most = "maximum"
    both = "c5d.4xlarge and n1-standard-16"
    yield row("AWS vs GCP: TPC-C Throughput", f"tpmC, {both}", _tops(most, BEST, "Overall"))
    ssd = "tpmC of 3 nodes, a bar for each machine with SSD or EBS"
    yield row("3-Node TPC-C Performance on SSD and EBS Machines", ssd, _kinds(most, "AWS"))
    c5 = "tpmC of 3 nodes, c5 with SSD, gp2 and io1"
    yield row("3-Node TPC-C Performance on c5 Series Machines", c5, _kinds(most, "AWS"))
    nitro = "tpmC of 3 nodes, a bar for each machine type with Nitro, and n1-standard-16"
    yield row("3-Node TPC-C Performance on Machines with Nitro System", nitro, _tops(most, BEST, "Overall"))
    cpu = "stress-ng"
    yield row("CPU Throughput", f"stress-ng bogo ops/s, {both}", _tops(cpu, CPU, "Overall"))
    network = "share of one-second intervals over Gbit/s, with the standard deviation"
    yield row("Network Throughput Histogram", network, _of_metric(throughput_histogram, "throughput", "throughput",
              "Histogram of seconds with their standard deviation", "c5d.4xlarge: standard deviation"))  # fmt: skip
    latency = "share of replies over ms, with mean and largest value"
    yield row("Network Latency Histogram", latency, _of_metric(latency_histogram, "ping", "round_trip",
              "Histogram of replies with their standard deviation", "n1-standard-16: standard deviation"))  # fmt: skip
    for kind in ("write", "read"):
        name = kind.capitalize()
        for barrier in ("with nobarrier", "without nobarrier"):
            shows = "throughput over 1 to 64 threads, a line for each cloud"
            yield row(f"I/O {name} Performance {barrier}", shows, _threads(kind, "Bandwidth", barrier))
        for barrier in ("with nobarrier", "without nobarrier"):
            shows = "mean and p95 latency over 1 to 64 threads, lines for each cloud"
            yield row(f"{name} Latency {barrier}", shows, _threads(kind, "Latency", barrier))
    price = f"$/tpmC with the largest discounts, {both}"
    yield row("Price Per Performance on the TPC-C Benchmark", price, _dollars(most, "Overall"))


def _2020() -> Iterator[Source]:
    def row(number: int, title: str, shows: str, ours: Ours) -> Source:
        return Source("2020", f"FIG {number}. {title}", shows, ours, editions.cr2020)

    most, cpu = "most-tpmc/tpmc", "stress-ng"
    rate, ping = "throughput", "ping"
    yield row(1, "Maximum tpmC Throughput per Cloud", "tpmC, a bar for each cloud", _best(most, BEST))
    facts = "a table: cloud, type, CPU, frequency, vCPUs, memory, disk"
    yield row(2, "Tested Machine Types", facts, _machines())
    yield row(3, "Top performing new machine types", f"{facts}, disk size", _machines())
    bogo = "stress-ng bogo ops/s, a bar for each machine type of the cloud"
    yield row(4, "AWS: Average Bogo Ops per Second", bogo, _tops(cpu, CPU, "AWS"))
    yield row(5, "Azure: CPU Average Bogo Ops Per Second", bogo, _tops(cpu, CPU, "Azure"))
    yield row(6, "GCP: Average Bogo Ops per Second", bogo, _tops(cpu, CPU, "GCP"))
    yield row(7, "CPU Throughput: Maximum per Cloud", "bogo ops/s, a bar for each cloud", _best(cpu, CPU))
    gigabits = "Gbit/s from 3 clients, a bar for each machine type of the cloud"
    for number, cloud in ((8, "AWS"), (9, "Azure"), (10, "GCP")):
        multi = "" if cloud == "GCP" else " Multi"
        yield row(number, f"{cloud}: Network Throughput{multi}", gigabits, _tops(rate, NETWORK, cloud))
    yield row(11, "Maximum Network Throughput - Multi", "Gbit/s, a bar for each cloud", _best(rate, NETWORK))
    wait = "average round trip, a bar for each machine type of the cloud"
    for number, cloud in ((12, "AWS"), (13, "Azure"), (14, "GCP")):
        average = "" if cloud == "AWS" else "Average "
        yield row(number, f"{cloud}: {average}Network Latency", wait, _tops(ping, NETWORK, cloud))
    least = "lowest average round trip, a bar for each cloud"
    yield row(15, "Network Latency: Minimum Average Latency", least, _best(ping, NETWORK))
    for number, title, kind, quantity, cloud in _STORAGE_2020:
        lines = f"{_QUANTITIES[quantity]} over 1 to 64 threads, a line for each "
        shows = lines + (f"machine type of {cloud}" if cloud else "cloud's best machine")
        yield row(number, f"Storage: {title}", shows, _by_threads(kind, quantity, cloud))
    yield row(40, "2020 TPC-C Results by Cloud", "tpmC, a bar for each machine type", _tops(most, BEST, "Overall"))
    price = "$/tpmC on demand, a bar for each machine type"
    yield row(41, "Price per tpmC by Cloud Machine Type", price, _dollars(most, "Overall"))
    yield Source("2020", "Cover and logos", "pictures", None, editions.cr2020)


_QUANTITIES = {"bandwidth": "MiB/s", "iops": "I/Os per second", "latency_p95": "p95 latency"}
_STORAGE_2020 = (
    (16, "AWS Write Throughput (MiB/s)", "write", "bandwidth", "AWS"),
    (17, "AWS p95 Write Latency", "write", "latency_p95", "AWS"),
    (18, "AWS Write iOPS", "write", "iops", "AWS"),
    (19, "Azure Write Throughput (MiB/s)", "write", "bandwidth", "Azure"),
    (20, "Azure p95 Write Latency", "write", "latency_p95", "Azure"),
    (21, "Azure Write iOPS", "write", "iops", "Azure"),
    (22, "GCP SSD Write Throughput (miB/s)", "write", "bandwidth", "GCP"),
    (23, "GCP p95 Write Latency", "write", "latency_p95", "GCP"),
    (24, "GCP Write IOPS", "write", "iops", "GCP"),
    (25, "Maximum Write Throughput", "write", "bandwidth", ""),
    (26, "Write p95 Latency", "write", "latency_p95", ""),
    (27, "Maximum Write iOPs", "write", "iops", ""),
    (28, "AWS Read Throughput (MiB/s)", "read", "bandwidth", "AWS"),
    (29, "AWS p95 Read Latency", "read", "latency_p95", "AWS"),
    (30, "AWS Read iOPS", "read", "iops", "AWS"),
    (31, "Azure Read Throughput (MiB/s)", "read", "bandwidth", "Azure"),
    (32, "Azure p95 Average Read Latency", "read", "latency_p95", "Azure"),
    (33, "Azure Read iOPS", "read", "iops", "Azure"),
    (34, "GCP Read Throughput (MiB/s)", "read", "bandwidth", "GCP"),
    (35, "GCP p95 Read Latency", "read", "latency_p95", "GCP"),
    (36, "GCP Read iOPs", "read", "iops", "GCP"),
    (37, "Read Throughput", "read", "bandwidth", ""),
    (38, "Minimum Read Latency", "read", "latency_p95", ""),
    (39, "Read iOPs", "read", "iops", ""),
)
_SMALL, _LARGE = "8 vCPUs", "30 to 36 vCPUs"


def _2022() -> Iterator[Source]:
    def row(title: str, shows: str, ours: Ours) -> Source:
        return Source("2022", title, shows, ours, editions.cr2022)

    yield from _insights_2022(row)
    for cloud in CLOUDS:
        yield from _oltp_2022(cloud, row)
    multi = "coremark/multi.iterations_per_s"
    for cloud in CLOUDS:
        lost = "" if cloud == "GCP" else " (title not in the text)"
        score = "CoreMark with all contexts per vCPU, a bar for each instance type"
        yield row(f"{cloud}: Average per vCPU CoreMark score{lost}", score, _tops(multi, CPU, cloud, per_cpu=True))
    trips = "shortest, mean and longest round trip of each cloud"
    yield row("Node to node (Intra-AZ) latency", trips, _round_trips(0, "AWS"))
    floor = "shortest and mean round trip between Virginia and the Pacific Northwest, and the computed minimum"
    yield row("Cross-region latency", floor, _round_trips(1, "AWS: us-east-1 and us-west-2"))
    rates = "median of mean and of largest Gbit/s, bars for each instance type"
    for cloud, pair in zip(CLOUDS, ("us-east-1", "us-east4", "eastus"), strict=True):
        ranges = partial(_of_ranges, throughput_ranges, _RANGES)
        yield row(f"{cloud}: Intra-AZ throughput", rates, ranges(cloud))
        yield row(f"{cloud}: Cross-region throughput", rates, ranges(f"{cloud}: {pair}"))
    jobs = (
        ("Write IOPS with 4k block size and fsync", "wr-iops-tpcc-fsync"),
        ("Read IOPS with OLTP distribution block size", "rd-iops-tpcc"),
        ("Write IOPS with OLTP distribution block size", "wr-iops-tpcc"),
    )
    for cloud in CLOUDS:
        for title, job in jobs:
            shows = "average IOPS of general-purpose and high-performance volumes, for each instance type"
            yield row(f"{cloud}: {title}", shows, _kinds(f"fio/{job}.iops", cloud, STORAGE))
    for cloud in CLOUDS:
        facts = "a table: type, vCPUs, RAM, storage, processor, speed"
        yield row(f"Appendix I: Instance types tested, {cloud}", facts, _machines())
    cores = "TPM per vCPU of 16 small and 4 large machines, for each instance type"
    yield Source(
        "2022",
        "Appendix II: Large vs. small node OLTP performance (TPM per vCPU) with identical core counts",
        cores,
        Ours(small_and_large, "Small and large machines of a family", SIZES, partial(_sizes)),
        editions.small_against_large,
    )
    yield Source("2022", "Cover, logos and an advertisement", "pictures", None, editions.cr2022)


_RANGES = "Slowest, median and fastest second"


def _insights_2022(row: Callable[[str, str, Ours], Source]) -> Iterator[Source]:
    same, multi = "1200", "coremark/multi.iterations_per_s"
    ten = "median TPM at 1,200 warehouses, ten bars"
    yield row("Top 10 Best-performing small instance types overall (median TPM)", ten,
              _tops(same, BEST, f"Overall, {_SMALL}"))  # fmt: skip
    scores = "CoreMark with all contexts, 15 bars"
    yield row("Top 15 CoreMark scores by instance type", scores, _tops(multi, CPU, f"Overall, {_LARGE}"))
    price = "median $/TPM at 1,200 warehouses, reserved and on demand, ten rows"
    yield row("Top 10 instances in price-for-performance ($/TPM)", price, _dollars(same, "Overall"))
    for machine in ("m5.2xlarge", "c5n.2xlarge"):
        shows = "Gbit/s over the seconds of one run"
        ours = _of_ranges(throughput_by_second, "Throughput, second by second")
        yield row(f"3/5/22 throughput test (AWS {machine})", shows, ours)
    for kind in ("General purpose", "High performance"):
        title = f"Average storage cost as a percentage of total instance cost, {kind.lower()} storage"
        shares = Ours(storage_shares, "Storage as a share of the monthly cost", COSTS, partial(storage_shares), kind)
        yield row(title, "share of the volumes in the monthly cost, by cloud", shares)
    run = "$ of the transfer of one cross-region run and mean Gbit/s, for each instance type"
    beside = "Transfer cost of one run beside its throughput"
    yield row("Average cost per run and mean throughput", run, Ours(cost_per_run, beside, COSTS, partial(_transfer)))
    yield row("Top 10 instances by TPM per vCPU", "TPM per vCPU at 1,200 warehouses, ten bars",
              _tops(same, BEST, "Overall", per_cpu=True))  # fmt: skip
    for size, name in ((_SMALL, "small"), (_LARGE, "large")):
        steps = "TPM per vCPU at 50 to 150 warehouses per vCPU, ten instance types"
        title = f"Top 10 {name} instances by performance (TPM), increasing workload complexity"
        yield row(title, steps, _steps(best_over_warehouses, "The best with a sign for each number of warehouses",
                                       WAREHOUSES, f"Overall, {size}"))  # fmt: skip
    selected = "TPM per vCPU over warehouses per vCPU, n2 with 1, 2, 4 and 8 GB per vCPU"
    yield row("Selected GCP instances by performance (TPM), increasing workload complexity", selected,
              _steps(over_memory, "Lines of machines that differ in memory alone", MEMORY, "GCP"))  # fmt: skip


def _oltp_2022(cloud: str, row: Callable[[str, str, Ours], Source]) -> Iterator[Source]:
    same, every = "1200", "every step"
    tpm = "median TPM at 1,200 warehouses, a bar for each instance type"
    yield row(f"{cloud}: Overall median TPM", f"{tpm}, small and large", _tops(same, BEST, f"{cloud}, {_LARGE}"))
    lost = " (title not in the text)" if cloud == "AWS" else ""
    per_cpu = _tops(same, BEST, cloud, per_cpu=True)
    yield row(f"{cloud}: Median TPM per vCPU{lost}", "TPM per vCPU, a bar for each instance type", per_cpu)
    storage = "TPM per vCPU, two bars for each instance type: general-purpose and high-performance storage"
    yield row(f"{cloud}: Median TPM per vCPU with storage", storage, _kinds(same, cloud))
    for size, name in ((_SMALL, "Small"), (_LARGE, "Large")):
        lines = "TPM per vCPU over warehouses per vCPU, a panel for each instance type"
        yield row(f"{cloud}: {name} instance TPM per vCPU, increasing workload complexity", lines,
                  _steps(over_warehouses, "Lines over warehouses", WAREHOUSES, f"{cloud}, {size}"))  # fmt: skip
    for size, name in ((_SMALL, "small"), (_LARGE, "large")):
        bars = "$/TPM of all numbers of warehouses, reserved (dark) and on demand (light)"
        title = f"{cloud}: Price-for-performance ($/TPM) of {name} instances, all runs"
        yield row(title, bars, _dollars(every, f"{cloud}, {size}"))


def _results(key: str, book: Book) -> Results:
    """'maximum' and 'every step' of the study's steps, '1200', or 'benchmark/metric'.

    A search over warehouses is one benchmark without steps, whose result is the maximum.
    """
    lookup = book.lookup
    if key == "maximum" and not list(all_steps(lookup)):
        (searched,) = of_databases(lookup)
        return searched
    if key in {"maximum", "every step"}:
        steps = _only_steps(book)
        return maximum(lookup, steps) if key == "maximum" else every_step(lookup, steps)
    if key == "1200":
        return next(one for one in of_databases(lookup) if "1,200 warehouses" in one.about)
    benchmark, _, name = key.partition("/")
    row, metric = _metric(book, benchmark, name)
    return results_of(lookup, row, metric)


def _metric(book: Book, benchmark: str, name: str) -> tuple[BenchmarkRow, Metric]:
    row = next(row for row in book.lookup.study.benchmarks if row.benchmark == benchmark)
    return row, next((metric for metric in row.metrics if metric.name == name), headlines(row)[0])


def _only_steps(book: Book) -> Steps:
    (steps,) = all_steps(book.lookup)
    return steps


def _tops(key: str, section: str, panel: str, *, per_cpu: bool = False) -> Ours:
    what, measured = "The best overall and of each cloud", partial(_measured, key, per_cpu=per_cpu)
    most = OVERALL_MOST if panel.startswith("Overall") else None
    return Ours(tops, what, section, partial(_draw_tops, key, per_cpu), panel, measured, most)


def _measured(key: str, book: Book, *, per_cpu: bool = False) -> list[str]:
    results = _results(key, book)
    named = sorted(results.view(per_cpu=per_cpu), key=lambda one: one.configuration)
    return [one.configuration for one in best_first(named, results.metric)]


def _priced(key: str, book: Book) -> list[str]:
    return [name for name in _measured(key, book) if book.lookup.costs.get(name)]


def _first_of_clouds(key: str, book: Book) -> list[str]:
    of_cloud: dict[str | None, str] = {}
    for name in _measured(key, book):
        of_cloud.setdefault(book.lookup.described[name].provider, name)
    return list(of_cloud.values())


def _draw_tops(key: str, per_cpu: bool, book: Book) -> Figure | None:  # bound, never written
    return tops(book, _results(key, book), per_cpu=per_cpu)


def _best(key: str, section: str) -> Ours:
    first = partial(_first_of_clouds, key)
    return Ours(best_of_clouds, "The best of each cloud", section, partial(_draw_best, key), measured=first)


def _draw_best(key: str, book: Book) -> Figure | None:
    return best_of_clouds(book, _results(key, book))


def _kinds(key: str, panel: str, section: str = KINDS) -> Ours:
    what = "One machine type with several kinds of storage"
    return Ours(by_storage, what, section, partial(_draw_kinds, key), panel, partial(_measured, key))


def _draw_kinds(key: str, book: Book) -> Figure | None:
    results = _results(key, book)
    return by_storage(book, results, per_cpu=bool(results.per_cpu))


def _dollars(key: str, panel: str) -> Ours:
    what, priced = "$ per unit with every price basis", partial(_priced, key)
    return Ours(dollars, what, COSTS, partial(_draw_dollars, key), panel, None if panel == "Overall" else priced)


def _draw_dollars(key: str, book: Book) -> Figure | None:
    return dollars(book, _results(key, book))


OfMetric = Callable[[Book, BenchmarkRow, Metric], Figure | None]
OfRanges = Callable[[Book, BenchmarkRow, Metric, Ranges], Figure | None]
OfSteps = Callable[[Book, Steps], Figure | None]


def _of_metric(function: OfMetric, benchmark: str, name: str, what: str, panel: str = "") -> Ours:
    return Ours(function, what, NETWORK, partial(_draw_of_metric, function, benchmark, name), panel)


def _draw_of_metric(function: OfMetric, benchmark: str, name: str, book: Book) -> Figure | None:
    return function(book, *_metric(book, benchmark, name))


def _of_ranges(function: OfRanges, what: str, panel: str = "") -> Ours:
    measured = partial(_measured, "multi-stream/throughput") if panel in {"AWS", "GCP", "Azure"} else None
    streams = f"multi-stream{FAR}" if ":" in panel else "multi-stream"
    return Ours(function, what, NETWORK, partial(_draw_of_ranges, function, streams), panel, measured)


def _draw_of_ranges(function: OfRanges, benchmark: str, book: Book) -> Figure | None:
    row, metric = _metric(book, benchmark, "throughput")
    return function(book, row, metric, ranges_of(book.lookup, row, metric))


def _steps(function: OfSteps, what: str, section: str, panel: str) -> Ours:
    everyone = partial(_measured, "1200") if function is over_warehouses else None
    return Ours(function, what, section, partial(_draw_steps, function), panel, everyone)


def _draw_steps(function: OfSteps, book: Book) -> Figure | None:
    return function(book, _only_steps(book))


def _machines() -> Ours:
    return Ours(machines_table, "Table of machines as observed", MACHINES, partial(machines_table))


def _curves(book: Book, kind: str) -> tuple[BenchmarkRow, list[Curve]]:
    row, _ = _metric(book, "sysbench-fileio", "")
    return row, [curve for curve in curves_of(row.metrics) if curve.what == kind]


def _threads(kind: str, panel: str, barrier: str) -> Ours:
    what = f"Curves over threads, the configurations {barrier}"
    option = "barrier" if barrier.startswith("without") else "nobarrier"
    return Ours(curves_figure, what, STORAGE, partial(_draw_threads, kind, option), panel, partial(_mounted, option))


def _mounted(option: str, book: Book) -> Sequence[str]:
    row, _ = _curves(book, "write")
    measured = {one.configuration for one in row_statistics(book, row)}
    return setups(book.lookup, [name for name in book.lookup.configurations if name in measured])[f"with {option}"]


def _draw_threads(kind: str, option: str, book: Book) -> Figure | None:
    row, curves = _curves(book, kind)
    measured = {one.configuration for one in row_statistics(book, row)}
    apart = setups(book.lookup, [name for name in book.lookup.configurations if name in measured])
    setup = next((name for name in apart if name == f"with {option}"), "")
    return curves_figure(book, row, curves, apart.get(setup, ()), setup)


def _by_threads(kind: str, quantity: str, cloud: str) -> Ours:
    function = curves_by_cloud if cloud else best_curves
    what = "Curves over threads, each with its name" if cloud else "Curves of the best of each cloud"
    everyone = partial(_with_threads, kind) if cloud else None
    return Ours(function, what, STORAGE, partial(_draw_by_threads, function, kind, quantity), cloud, everyone)


def _with_threads(kind: str, book: Book) -> list[str]:
    row, curves = _curves(book, kind)
    return [one.configuration for one in book.lookup.statistics_of(row.benchmark, curves[0].metrics[0][1].name)]


def _draw_by_threads(
    function: Callable[[Book, BenchmarkRow, Curve], Figure | None], kind: str, quantity: str, book: Book
) -> Figure | None:
    row, curves = _curves(book, kind)
    return function(book, row, next(curve for curve in curves if curve.quantity == quantity))


def _round_trips(place: int, panel: str) -> Ours:
    what = ("Round trips of each machine", "Round trips between regions, against the speed of light")[place]
    return Ours(round_trips, what, NETWORK, partial(_draw_round_trips, place), panel)


def _draw_round_trips(place: int, book: Book) -> Figure | None:
    (figure,) = round_trips(book, _metric(book, f"request-response{('', FAR)[place]}", "")[0])
    return figure


def _transfer(book: Book) -> Figure | None:
    return cost_per_run(book, _metric(book, f"multi-stream{FAR}", "")[0])[0]


def _sizes(book: Book) -> Figure | None:
    (results,) = of_databases(book.lookup)
    return small_and_large(book, results)


def counts() -> Mapping[str, int]:
    """Report -> number of its figures."""
    found: Sequence[Source] = sources()
    return {report: sum(row.report == report for row in found) for report in ("2018", "2020", "2022")}
