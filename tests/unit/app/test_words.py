"""Numbers in a terminal, and a plan in words."""

from typing import get_args

from nephoscope.app.commands.prices import BasisName
from nephoscope.app.planned import groups, in_one_line, stop_lines, summary
from nephoscope.app.stages.planning import bill, load, plan
from nephoscope.model.words import counted, scope_name
from nephoscope.model.written import Scope
from nephoscope.plan.calendar import Calendar
from nephoscope.prices.rows import Basis
from tests.support.fake_world import STUDY


def test_a_noun_agrees_with_its_number() -> None:
    assert (counted(0, "CPU"), counted(1.0, "CPU"), counted(1.5, "CPU")) == ("0 CPUs", "1 CPU", "1.5 CPUs")
    assert (counted(1, "row"), counted(3102, "row")) == ("1 row", "3,102 rows")
    assert [counted(many, "reply", "replies") for many in (1, 2)] == ["1 reply", "2 replies"]
    assert [scope_name(Scope("size", many)) for many in (1, 8)] == ["1 vCPU", "8 vCPUs"]
    assert scope_name(Scope("size", 30, 36)) == "30 to 36 vCPUs"


def test_the_choices_of_basis_are_those_of_the_price_book() -> None:
    assert list(get_args(BasisName)) == list(Basis)


def test_a_plan_that_may_stop_has_two_bills() -> None:
    text = STUDY.replace('provider = "fake"', 'provider = "fake"\nprice_usd_per_hour = 36.0')
    study = load(text.replace("seed = 7", 'seed = 7\nstop = "decided"'), "study")
    planned = plan(study)
    assert list(summary(planned))[1] == "about 4 min 00 s, one trial after another; $2.40"
    assert " ".join(line.strip() for line in stop_lines(planned, bill(study, planned))).startswith(
        'These are upper limits. stop = "decided" will probably measure about 15 trials in 2 min and $1.50: '
    )


def test_a_plan_is_summed_up_by_benchmark() -> None:
    planned = plan(load(STUDY.replace('provider = "fake"', 'provider = "fake"\nprice_usd_per_hour = 36.0'), "study"))
    assert in_one_line(planned) == "24 trials, about 4 min 00 s, one trial after another; $2.40"
    assert list(summary(planned))[1] == "about 4 min 00 s, one trial after another; $2.40"
    at_once = "24 trials, about 2 min 00 s with 2 clusters at once, 4 min 00 s one trial after another; $2.40"
    assert in_one_line(planned, Calendar(2, 120.0)) == at_once
    assert list(summary(planned, calendar=Calendar(2, 120.0)))[1] == at_once.removeprefix("24 trials, ")
    assert [(row[1], row[3], row[4]) for row in groups(planned)] == [("12", "2 min 00 s", "$1.20")] * 2
