"""What the machines give: which figures there are, of what, and none where there is nothing."""

from typing import Any

import altair as alt
import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.model.records import Direction, Facts, Metric
from nephoscope.model.rows import ConfigurationRow, MachineRow
from nephoscope.model.subjects import Subject
from nephoscope.report.figures.network import BINS_PER_DECADE, floors_of
from nephoscope.report.figures.results import curves_of
from nephoscope.report.figures.spec import unpacked
from nephoscope.report.parts import Book, Figure
from nephoscope.report.sections.machine_numbers import Part, machine_numbers
from nephoscope.report.sections.machines import machines_table
from nephoscope.report.sections.opening import key_facts
from tests.support.some_tables import with_tables
from tests.unit.report import priced_example, report_example
from tests.unit.report.numbers_example import FAR, MACHINES, SECONDS, numbers

REPLICATES = 6


@pytest.fixture(scope="module")
def found() -> list[Part]:
    return machine_numbers(Book(Lookup(numbers(REPLICATES))))


def part(found: list[Part], name: str) -> list[Figure]:
    return [figure for anchor, _, many in found for figure in many if anchor == f"numbers-{name}"]


def specs(figure: Any) -> list[dict[str, Any]]:
    return [unpacked(panel.script) for panel in figure.panels]


def test_every_part_has_its_figures(found: list[Part]) -> None:
    assert [heading for _, heading, _ in found] == ["CPU", "Network", "Storage", "Small and large machines"]
    titles = [figure.title for _, _, figures in found for figure in figures]
    assert titles == [
        "stress-ng: stress-ng matrix, the best of each cloud",
        "stress-ng: stress-ng matrix, ranked",
        "stress-ng: stress-ng matrix, per CPU, ranked",
        "ping: Round trip, mean, the best of each cloud",
        "ping: Round trip, mean, ranked",
        "throughput: Throughput, the best of each cloud",
        "throughput: Throughput, ranked",
        "multi-stream: Throughput, the best of each cloud",
        "multi-stream: Throughput, ranked",
        "ping: round trips within a region",
        "ping: round trips between regions, against the speed of light",
        "ping: distribution of round-trip times",
        "throughput: distribution of throughput, in seconds",
        "throughput: throughput, slowest to fastest second",
        "throughput: throughput, second by second",
        "multi-stream: distribution of throughput, in seconds",
        "multi-stream: throughput, slowest to fastest second",
        "multi-stream: throughput, second by second",
        "multi-stream: effect of more streams",
        "fio: I/O rate by job",
        "sysbench-fileio: writes: effect of more threads",
        "sysbench-fileio: reads: effect of more threads",
        "stress-ng: stress-ng matrix, per CPU, small and large machines",
    ]
    assert all(figure.table for _, _, figures in found for figure in figures if "second by" not in figure.title)


def test_database_machines_are_in_one_region() -> None:
    lookup = Lookup(numbers(2))
    row = next(one for one in lookup.study.benchmarks if one.uses == "ping")
    assert floors_of(lookup, row)
    among = row.model_copy(update={"parameters": {**row.parameters, "between": "databases"}})
    assert floors_of(lookup, among) == {}


def test_every_chart_is_what_the_schema_of_vega_lite_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, checked = alt.Chart.to_dict, []

    def validated(chart: Any, **options: Any) -> Any:
        checked.append(chart)
        return plain(chart, **{**options, "validate": True})

    monkeypatch.setattr(alt.Chart, "to_dict", validated)
    machine_numbers(Book(Lookup(numbers(2))))
    assert len(checked) > 20


def test_the_ranking_is_by_what_a_cpu_gives(found: list[Part]) -> None:
    spec, *_ = specs(part(found, "cpu")[-1])
    levels = [row["level"] for row in spec["datasets"]["rows"]]
    assert levels == sorted(levels, reverse=True)
    assert spec["datasets"]["rows"][0]["configuration"] == "n2-small"


def test_what_a_cpu_of_a_database_gives_is_no_ranking_of_cpus() -> None:
    study = numbers(1)
    database = {"subject": Subject.DATABASE}
    driven = [row.model_copy(update=database) if row.uses == "stress-ng" else row for row in study.benchmarks]
    found = machine_numbers(Book(Lookup(study.model_copy(update={"benchmarks": driven}))))
    assert part(found, "cpu") == []
    assert len(part(found, "sizes")) == 1


def test_a_cluster_of_more_machines_is_no_larger_machine() -> None:
    study = numbers(1)

    def sizes(cpus_allowed: int | None) -> int:
        facts = Facts(at_unix_ms=1, cpus_allowed=cpus_allowed)
        rows = [
            MachineRow(configuration=name, machine="db", facts=facts, trials=[], differs_in=[])
            for name in Lookup(study).configurations
        ]
        return len(part(machine_numbers(Book(Lookup(with_tables(study, {MachineRow: rows})))), "sizes"))

    assert sizes(None), "by the CPUs of their trials"
    assert sizes(4) == 0, "their machines have as many"


def test_a_histogram_holds_every_reply_once(found: list[Part]) -> None:
    figure = next(one for one in part(found, "network") if "round-trip times" in one.title)
    for spec in specs(figure):
        bins = spec["datasets"]["bins"]
        assert sum(one["count"] for one in bins) == REPLICATES * SECONDS
        assert sum(one["share"] for one in bins) == pytest.approx(1)
        assert all(one["high"] / one["low"] == pytest.approx(10 ** (1 / BINS_PER_DECADE)) for one in bins)


def test_jobs_stand_with_what_they_do_and_a_mixed_one_with_both(found: list[Part]) -> None:
    figure = next(one for one in part(found, "storage") if one.title == "fio: I/O rate by job")
    jobs = {
        panel.title: list(dict.fromkeys(row["job"] for row in unpacked(panel.script)["datasets"]["rows"]))
        for panel in figure.panels
    }
    assert jobs == {
        "Reads": ["rd-iops-tpcc", "rd-bw", "rd-iops", "rd-latency", "rd-wr-iops-tpcc, its reads"],
        "Writes": [
            *("wr-iops-tpcc-fsync", "wr-iops-tpcc", "wr-bw", "wr-iops", "wr-latency", "rd-wr-iops-tpcc, its writes")
        ],
    }


def test_physics_stands_beside_the_far_one_alone(found: list[Part]) -> None:
    figure = next(one for one in part(found, "network") if "round-trip times" in one.title)
    lines = {panel.title.partition(":")[0]: unpacked(panel.script)["datasets"]["floor"] for panel in figure.panels}
    assert lines.pop(FAR)[0]["floor"] == pytest.approx(34.3, rel=0.01)
    assert list(lines.values()) == [[]] * (len(MACHINES) - 1)
    assert "us-east-1 and us-west-2 are 3,503 km apart: light in fibre takes 34.3 ms" in figure.caption


def test_small_and_large_of_a_family_share_a_row(found: list[Part]) -> None:
    (spec,) = specs(part(found, "sizes")[0])
    assert {(row["family"], row["size"]) for row in spec["datasets"]["rows"]} == {
        (family, size) for family in ("AWS m6i", "Google Cloud n2-standard") for size in ("smallest", "largest")
    }
    assert [entry.text for entry in part(found, "sizes")[0].key] == ["smallest", "largest"]


def test_the_laptop_s_report_has_its_disk_and_ranks_its_cpus_on_the_main_page_alone() -> None:
    found = machine_numbers(Book(Lookup(report_example.laptop())))
    assert part(found, "storage")
    assert part(found, "cpu") == part(found, "network") == []


def named(*names: str) -> list[Metric]:
    return [Metric(name=name, unit="1/s", direction=Direction.HIGHER, title=name) for name in names]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        (("read-1.iops", "read-16.iops", "write-1.iops"), [("read", "iops", "threads", [1, 16])]),
        (("read-16.iops", "read-4.iops"), [("read", "iops", "threads", [4, 16])]),
        (
            ("written_bytes_per_s_16_threads", "written_bytes_per_s_1_threads", "written_bytes_per_s"),
            [("", "written_bytes_per_s", "threads", [1, 16])],
        ),
        (("1-streams.throughput", "3-streams.throughput"), [("", "throughput", "streams", [1, 3])]),
        (("random-read.iops", "read_p99", "round_trip_p99", "throughput_min_1s", "streams"), []),
    ],
)
def test_numbers_of_threads_are_found_in_names(names: tuple[str, ...], wanted: list[Any]) -> None:
    found = curves_of(named(*names))
    assert [(one.what, one.quantity, one.counted, [count for count, _ in one.metrics]) for one in found] == wanted


def test_no_benchmark_s_latency_is_taken_for_a_number_of_threads() -> None:
    for name in ("ping", "request-response", "throughput", "fio", "stress-ng", "tpcc", "point-select"):
        benchmark = BENCHMARKS[name]
        parameters: Any = benchmark.parameters()
        assert curves_of(benchmark.metrics(parameters)) == [], name


@pytest.mark.parametrize(("count", "columns", "rows"), [(8, 9, 32), (9, 5, 9)])
def test_many_machines_stand_below_each_other(count: int, columns: int, rows: int) -> None:
    """82 columns cannot be read; and what no machine tells is told once."""
    machines = [
        MachineRow(
            configuration=f"c{at}",
            machine="local",
            facts=Facts(at_unix_ms=1, cpu_model="Xeon", cpus_online=at + 1, sockets=1 if at else None),
            trials=[],
            differs_in=["cpus_online"] if at == 3 else [],
        )
        for at in range(count)
    ]
    table = machines_table(Book(Lookup(with_tables(numbers(1), {MachineRow: machines}))))
    assert table
    assert (len(table.columns), len(table.rows)) == (columns, rows)
    assert {len(row.cells) for row in table.rows} == {columns}
    if count == 9:
        assert [one.title for one in table.columns] == ["Machine", "Seen in", "CPU", "CPUs online", "Sockets"]
        assert [cell.text for cell in table.rows[0].cells][2:] == ["Xeon", "1", "unknown"]
        assert table.rows[3].cells[3].tone == "warn"
        assert "Kernel" in table.note
        assert "Sockets" not in table.note


def test_the_opening_counts_machine_types_rather_than_hosts() -> None:
    study = priced_example.priced(1)
    types = ["m8a.2xlarge", "m8g.2xlarge"]
    known = [row.model_copy(update={"machine_type": types[at % 2]}) for at, row in enumerate(study[ConfigurationRow])]
    machines = [
        MachineRow(
            configuration=known[0].configuration, machine=role, facts=Facts(at_unix_ms=1), trials=[], differs_in=[]
        )
        for role in ("database", "load")
    ]
    lookup = Lookup(with_tables(study, {ConfigurationRow: known, MachineRow: machines}))
    assert dict(key_facts(Book(lookup)))["Machines"] == "2 machine types, up to 2 machines per cluster"
