"""What the explorer starts from: the numbers of the analysis, and what is known about each machine."""

from typing import Literal

import pytest

from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.registry import analyse
from nephoscope.model.numbers import quantity
from nephoscope.model.questions import Headline, RankIntervals
from nephoscope.model.rows import Statistic
from nephoscope.report.parts import Book
from nephoscope.report.sections.explorer import STEP, explorer_data
from tests.unit.analysis.study_builder import inputs, rows
from tests.unit.report import report_example
from tests.unit.report.shop_example import UNPRICED, machines, shop

VALUES = {"a": [10.0, 12.0, 14.0, 16.0, 18.0, 30.0], "b": [20.0, 21.0, 22.0, 23.0, 24.0, 25.0]}


@pytest.mark.parametrize(("on", "n"), [(4, 4), (6, 6)])
def test_it_has_the_levels_of_the_analysis(on: int, n: int) -> None:
    trials, measurements = rows(VALUES, cpus={"a": 2, "b": 4})
    shared = [row.model_copy(update={"machine": f"{row.configuration}-{row.replicate % on}"}) for row in trials]
    study = analyse(inputs((shared, measurements)))
    data = explorer_data(Book(Lookup(study)))
    assert data is not None
    for row in study[Statistic]:
        if row.metric == "new_orders_per_minute":
            found = data["boards"][0]["cpu" if row.per_cpu else "plain"][row.configuration]
            assert found[:5] == [*row.compared[:3], n, row.compared.coverage]
            assert found[5:-1] == ([{"a": 2, "b": 4}[row.configuration]] if row.per_cpu else [])
            assert found[-1][0] == quantity(row.compared, "")


def test_half_widths_are_packed_upwards_by_at_most_a_step() -> None:
    study = shop(replicates=3)
    data = explorer_data(Book(Lookup(study)))
    assert data is not None
    boards = {board["name"]: board for board in data["boards"]}
    assert len(boards) == len(study[RankIntervals])
    for stored in study[RankIntervals]:
        found = boards[f"{stored.benchmark}/{stored.metric}"]["intervals"]
        for half, power in zip(stored.half_widths, found["powers"], strict=True):
            assert half is not None
            assert half * (1 - 1e-9) <= found["least"] * STEP**power <= half * STEP * (1 + 1e-9)


def test_it_knows_what_a_buyer_filters_by() -> None:
    study = shop(replicates=3)
    data = explorer_data(Book(Lookup(study)))
    assert data is not None
    assert data["bases"][0] == "on-demand"
    assert data["basis_texts"]["reserved-1y"] == "one-year commitment"
    found = {one["name"]: one for one in data["configurations"]}
    assert found.keys() == machines().keys()
    one = found["m5a-2xlarge"]
    assert {key: one[key] for key in ("provider", "region", "type", "family", "cpu", "vcpus", "storage")} == {
        "provider": "aws",
        "region": "us-east-1",
        "type": "m5a.2xlarge",
        "family": "m5a",
        "cpu": "x86-64, AMD",
        "vcpus": 8,
        "storage": "gp3 100 GB",
    }
    assert one["gib"] == pytest.approx(0.965 * 32, rel=1e-3)
    assert one["prices"]["on-demand"]["volumes"] == pytest.approx(8.0)
    assert found[UNPRICED]["prices"]["on-demand"]["missing"].endswith("not in the price book")


def test_a_study_of_ones_own_machines_has_no_prices() -> None:
    data = explorer_data(Book(Lookup(report_example.laptop())))
    assert data is not None
    assert data["bases"] == []


@pytest.mark.parametrize(("view", "starts"), [("plain", "plain"), ("per CPU", "cpu")])
def test_it_starts_with_the_view_of_the_studys_headline(view: Literal["plain", "per CPU"], starts: str) -> None:
    study = analyse(inputs(rows(VALUES, cpus={"a": 2, "b": 4})))
    asked = study.model_copy(update={"headline": Headline(benchmark="tpcc", view=view)})
    data = explorer_data(Book(Lookup(asked)))
    assert data is not None
    assert data["view"] == starts
