"""A result is paid for with the machines that its benchmark measures: one, both ends of a network, or a cluster."""

import re
from dataclasses import replace
from typing import Any

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.benchmarks.registry import BENCHMARKS
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.price_rows import PricePerformance
from nephoscope.model.records import Direction, Metric
from nephoscope.model.rows import BenchmarkRow
from nephoscope.model.subjects import CLUSTER, Extent, Subject, extent_by_subject
from nephoscope.prices.book import PriceBook
from nephoscope.prices.rows import Basis, Kind, Price, Unit
from nephoscope.report.main.money import cost_lines
from nephoscope.report.parts import Book
from nephoscope.study.model import Study
from tests.unit.analysis.study_builder import inputs, measurement, trial

MACHINE = 0.768 * 730
VOLUME = 0.08 * 500
BOGO_OPS = 2_905.0
"""A second, of one c5d.4xlarge."""
OF = {
    "stress-ng": (Subject.CPU, BOGO_OPS),
    "fio": (Subject.STORAGE, 10_000.0),
    "throughput": (Subject.NETWORK, 5_000.0),
    "tpcc": (Subject.DATABASE, 30_000.0),
}


def price(item: str, unit: Unit, usd: float) -> Price:
    return Price(
        provider="aws",
        region="us-east-1",
        kind=Kind.MACHINE if unit is Unit.HOUR else Kind.STORAGE,
        item=item,
        unit=unit,
        basis=Basis.ON_DEMAND,
        usd=usd,
        source="list",
        licence="MIT",
        date="2022-06-23",
    )


BOOK = PriceBook([price("c5d.4xlarge", Unit.HOUR, 0.768), price("gp3", Unit.GB_MONTH, 0.08)])


def rate(name: str) -> Metric:
    return Metric(name=f"{name}_rate", unit="1/s", direction=Direction.HIGHER, title="rate", headline=True)


def analysed(*, method: str = "default", **configuration: Any) -> AnalysedStudy:
    """Three machines with a volume each, on which every kind of benchmark ran six times."""
    trials, measurements = [], []
    for name, (subject, value) in OF.items():
        for replicate in range(1, 7):
            row = trial(f"{name}{replicate}", "c5d", replicate, benchmark=name, uses=name, subject=subject)
            trials.append(row)
            measurements.append(measurement(row, value, rate(name)))
    machine = {"type": "c5d.4xlarge", "count": 3, "volumes": [{"kind": "gp3", "size": 500}]}
    sold = {"name": "c5d", "provider": "aws", "region": "us-east-1", "database_machine": machine, **configuration}
    study = Study(
        name="example",
        seed=7,
        configurations=[sold],
        benchmarks=[{"uses": "tpcc"}],
        costs={"method": method, "date": "2022-07-01"},
    )
    found = inputs((trials, measurements), {name: [rate(name)] for name in OF}, book=BOOK)
    return analyse(replace(found, study=study))


def months(study: AnalysedStudy) -> dict[str, float]:
    return {row.benchmark: row.month_usd for row in study[PricePerformance]}


def test_a_cpu_benchmark_is_charged_one_machine_and_not_the_three_of_its_cluster() -> None:
    found = {row.benchmark: row for row in analysed()[PricePerformance]}
    assert 1_000 * found["stress-ng"].usd_per_unit == pytest.approx(193, abs=0.5)
    assert (found["stress-ng"].machines, found["stress-ng"].without_volumes) == (1, True)


def test_each_kind_of_benchmark_is_charged_what_it_measures() -> None:
    assert months(analysed()) == {
        "stress-ng": pytest.approx(MACHINE),
        "fio": pytest.approx(MACHINE + VOLUME),
        "throughput": pytest.approx(2 * MACHINE),
        "tpcc": pytest.approx(3 * (MACHINE + VOLUME)),
    }


def test_a_method_of_one_machine_charges_no_more_for_any() -> None:
    found = months(analysed(method="cloud-report-2020"))
    month = 720 * 0.768
    assert found["throughput"] == pytest.approx(month)
    assert found["tpcc"] == pytest.approx(month + VOLUME)


def test_a_price_that_the_study_states_is_that_of_the_cluster_whatever_is_measured() -> None:
    found = analysed(price_usd_per_hour=1.0, price_basis="a contract")
    assert {row.month_usd for row in found[PricePerformance] if row.basis == "stated"} == {730.0}


def test_the_card_says_which_machines_a_result_is_divided_by() -> None:
    study = analysed()
    book = Book(Lookup(study))

    def line(name: str) -> str:
        said = cost_lines(book, name, rate(name), ["c5d"])[0]
        return re.sub(r"\$([\d,]+\.\d\d)", lambda usd: f"${float(usd[1].replace(',', '')):,.0f}", said)

    assert line("stress-ng").startswith(
        "Costs $561 a month for one c5d.4xlarge without volumes, $193 a month per 1,000"
    )
    assert line("fio").startswith("Costs $601 a month for one c5d.4xlarge, ")
    assert line("throughput").startswith("Costs $1,121 a month for 2 × c5d.4xlarge without volumes, ")
    assert line("tpcc").startswith("Costs $1,802 a month for 3 × c5d.4xlarge, ")


def test_no_benchmark_measures_more_machines_than_it_needs() -> None:
    for benchmark in BENCHMARKS.values():
        parameters = benchmark.parameters()
        extent = benchmark.extent_of(parameters)
        if benchmark.subject_of(parameters) is Subject.DATABASE or benchmark.name == "fake":
            assert extent == CLUSTER, benchmark.name
        else:
            assert extent.machines == benchmark.needs(parameters).machines, benchmark.name


def test_several_clients_of_a_network_are_charged_too() -> None:
    throughput = BENCHMARKS["throughput"]
    parameters = throughput.parameters.model_validate({"clients": 3})
    assert throughput.extent_of(parameters) == Extent(machines=4, volumes=False)


def test_a_benchmark_that_others_ran_has_the_extent_of_its_subject() -> None:
    row = BenchmarkRow(
        benchmark="x", uses="x", version=1, title="x", parameters={}, metrics=[], subject=Subject.STORAGE
    )
    assert row.extent == extent_by_subject(Subject.STORAGE) == Extent(machines=1, volumes=True)
