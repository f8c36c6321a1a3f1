"""Which host of a rack is slow: named on the first screen, in the insights, and drawn first."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nephoscope.analysis.editions import editions_of
from nephoscope.analysis.lookup import Lookup
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.questions import Behind, BestRow
from nephoscope.model.records import Direction
from nephoscope.report.edition_markdown import render_markdown
from nephoscope.report.main.verdict import MAX_BARS, Card, verdict
from nephoscope.report.page import render_pages
from nephoscope.report.parts import Book, Page
from nephoscope.study.model import Study
from tests.support.reader import Reader
from tests.unit.analysis.study_builder import TPMC, inputs, rows

HOSTS = [f"rack1-{number:02}" for number in range(1, 13)]


def rack(slow: dict[str, float], direction: Direction = Direction.HIGHER, *, hosts: bool = True) -> AnalysedStudy:
    """Twelve hosts of one speed, but for some: values within half a percent."""
    generator = np.random.default_rng(12)
    metric = TPMC.model_copy(update={"direction": direction})
    values = {name: [float(9000 * slow.get(name, 1.0) * x) for x in generator.lognormal(0, 0.003, 8)] for name in HOSTS}
    trials, measured = rows(values, benchmark="tpcc", metric=metric, cpus=dict.fromkeys(HOSTS, 4))
    found = [row.model_copy(update={"machine": row.configuration}) for row in trials], measured
    configurations: list[dict[str, Any]] = [
        {"name": name, "provider": "ssh", "database_machine": {"hosts": [name]}}
        if hosts
        else {"name": name, "database_machine": {"cpus": place + 1}}
        for place, name in enumerate(HOSTS)
    ]
    study = Study(name="rack", configurations=configurations, benchmarks=[{"uses": "tpcc"}])
    return analyse(replace(inputs(found, metrics={"tpcc": [metric]}), study=study))


def card(study: AnalysedStudy) -> Card:
    return verdict(Book(Lookup(study)).turned_to(Page.MAIN)).shown[0]


def test_the_card_names_the_slow_host_with_its_difference_from_the_others() -> None:
    found = card(rack({"rack1-07": 0.875}))
    assert (found.state, found.answer, found.number) == ("decided", "Slower: rack1-07", "1 of 12")
    assert found.about.startswith("is clearly slower: rack1-07, 12 %")
    assert "below the median of the others; the other 11 are within 1.5 % of each other" in found.about
    assert found.bars[0].name == "rack1-07"


def test_two_slow_hosts_are_named_the_slowest_first() -> None:
    study = rack({"rack1-07": 0.95, "rack1-02": 0.8})
    (best,) = [row for row in study[BestRow] if row.view == "plain"]
    assert [one.configuration for one in best.behind] == ["rack1-02", "rack1-07"]
    assert [one.change_percent for one in best.behind] == pytest.approx([-20, -5], abs=0.5)
    assert card(study).answer == "Slower: rack1-02 and rack1-07"


def test_of_times_the_slow_host_is_above_the_others() -> None:
    study = rack({"rack1-07": 1.2}, Direction.LOWER)
    (best,) = [row for row in study[BestRow] if row.view == "plain"]
    assert best.behind[0].change_percent == pytest.approx(20, abs=0.5)
    assert "% above the median of the others" in card(study).about


def test_every_text_names_it() -> None:
    study = rack({"rack1-07": 0.875})
    (answer,) = [text for one in study.insights if one.rule == "answer" and "clearly slower" in (text := str(one.text))]
    assert "rack1-07, 12" in answer
    assert "below the median of the others" in answer
    page = render_pages(study).html[Page.MAIN]
    assert "worst first" in page
    assert all(name in page for name in HOSTS)
    assert "best 10 of 12" not in page


def test_a_summary_of_what_changed_names_the_host_that_became_slow_among_equal_ones() -> None:
    found = editions_of(rack({}), rack({"rack1-07": 0.875}), basis="on-demand")
    (row,) = [text for text in render_markdown(found, None, ("before", "after")).splitlines() if "rack1-07" in text]
    assert row.startswith("| rack1-07 | tpcc: ")
    assert "slower" in row
    assert not any(name in text for text in render_markdown(found, None, ("a", "b")).splitlines() for name in HOSTS[:6])


def test_equal_hosts_are_a_tie_without_a_name() -> None:
    found = card(rack({}))
    assert found.state in {"tie", "open"}
    assert "Slower" not in found.answer


def test_of_machines_that_differ_the_winners_are_the_answer() -> None:
    leaders = dict.fromkeys(HOSTS[:3], 1.2)
    found = card(rack(leaders, hosts=False))
    assert found.answer.startswith(("Best", "A tie"))


@pytest.mark.parametrize("change", [-12.5, 0.001, 1234.5])
def test_what_is_behind_is_read_as_it_was_written(change: float) -> None:
    one = Behind("a: b", change)
    assert Behind.read(str(one)).configuration == "a: b"
    assert Behind.read(str(one)).change_percent == pytest.approx(change, rel=0.01)
    with pytest.raises(ValueError, match="behind"):
        Behind.read("a")


def test_of_machines_that_differ_the_slow_ones_are_named_behind_those_that_lead() -> None:
    found = card(rack({"rack1-07": 0.9, "rack1-02": 0.8}, hosts=False))
    assert found.answer in {"A tie: 10 configurations", "Best: one of 10"}
    assert found.number == "10 of 12"
    assert "; clearly slower: 2 CPUs, " in found.about
    levels = [bar.level for bar in found.bars]
    assert levels == sorted(levels, reverse=True)


def test_a_card_counts_the_trials_of_all_hosts_and_not_of_those_it_draws() -> None:
    found = card(rack({}))
    assert len(found.bars) == MAX_BARS
    assert found.label == f"{8 * len(HOSTS)} trials"


def test_every_figure_of_equal_hosts_begins_with_the_worst() -> None:
    page = Reader(render_pages(rack({"rack1-07": 0.875})).html[Page.MAIN])
    assert [figure.title for figure in page.figures if "first" in figure.title] == [
        "New-Orders committed in tpcc, worst first"
    ]


def test_of_equal_hosts_nobody_asks_about_their_type() -> None:
    """The usual advice, to measure four machines of each, is none for a rack."""
    for hosts, told in ((True, 0), (False, 1)):
        study = rack({"rack1-07": 0.875}, hosts=hosts)
        assert sum(one.rule == "shared_machines" for one in study.insights) == told
