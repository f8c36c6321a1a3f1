"""What shorter outages cost and save: known numbers, and what is not sure."""

import pytest

from nephoscope.analysis.faults import FaultRow, faults_of, quantities_of
from nephoscope.analysis.outage_costs import OutageCostRow, outage_costs_of
from nephoscope.model.rows import MeasurementRow
from tests.unit.analysis.test_faults import KINDS, longest


def of(configuration: str, *values_s: float) -> FaultRow:
    rows: list[MeasurementRow] = [
        one._replace(configuration=configuration) for one in longest(*values_s, trial=configuration)
    ]
    (found,) = faults_of(rows, quantities_of(rows), KINDS)
    return found


def only(*faults: FaultRow, usd: float | None = None, **months_usd: float) -> OutageCostRow:
    (found,) = outage_costs_of(faults, months_usd, "on-demand", 6, usd)
    return found


SLOW = of("slow", *[30.0] * 6)
FAST = of("fast", *[10.0] * 6)


def test_what_is_saved_is_that_of_a_year_of_faults_and_pays_from_a_cost_of_an_hour_on() -> None:
    found = only(SLOW, FAST, slow=100, fast=160)
    assert (found.configuration, found.than, found.more_usd, found.saved_s) == ("fast", "slow", 60, 20)
    assert (found.saved_s_per_year, found.saved_usd) == (120, None)
    assert found.pays_from_usd_per_hour == pytest.approx(60 * 12 / (120 / 3600))
    at_that_cost = only(SLOW, FAST, usd=found.pays_from_usd_per_hour, slow=100, fast=160)
    assert at_that_cost.saved_usd == pytest.approx(60), "there it neither costs nor saves"


def test_what_is_dearer_and_slower_saves_less_than_nothing_and_never_pays() -> None:
    found = only(SLOW, FAST, usd=3600, slow=160, fast=100)
    assert (found.configuration, found.saved_s, found.pays_from_usd_per_hour) == ("slow", -20, None)
    assert found.saved_usd == pytest.approx(-10)


def test_an_outage_that_is_not_surely_shorter_pays_nothing_that_could_be_stated() -> None:
    found = only(of("slow", 9, 10, 11, 12, 13, 14), of("fast", 8, 9, 10, 11, 12, 13), slow=1, fast=2)
    assert (found.saved_s, found.saved_low_s, found.saved_high_s) == (1, -4, 6)
    assert found.pays_from_usd_per_hour is None


def test_what_has_no_price_is_not_compared() -> None:
    assert outage_costs_of([SLOW, FAST], {"slow": 1.0}, "on-demand", 12, None) == []
