"""A budget buys the part of a study that answers the most questions."""

import json
from pathlib import Path

import pytest

from nephoscope.app.cli import main
from nephoscope.app.planned import left_out_lines
from nephoscope.app.stages.planning import cut_out, left_out, load, plan
from nephoscope.model.errors import InputError
from nephoscope.model.records import Plan
from nephoscope.plan.cut import Cut, LeftOut
from nephoscope.study.model import Study

TEXT = """
name = "budget"
replicates = 2

[defaults]
provider = "fake"
database = { system = "fake" }

[[matrix]]
name = "at-{usd}"
axes.usd = [1, 2, 4, 8]
price_usd_per_hour = "{usd}"

[[benchmarks]]
uses = "fake"
name = "short"

[[benchmarks]]
uses = "tpcc"
name = "long"
parameters = { duration_s = 3600 }
"""


def study(text: str = TEXT) -> Study:
    return load(text, "budget.toml")


def planned(budget_usd: float | None) -> Plan:
    return plan(study(), part=cut_out(study(), Cut(budget_usd=budget_usd)))


def chosen(part: Plan) -> set[tuple[str, str]]:
    return {(row.intent.benchmark.name, row.intent.configuration_name) for row in part.trials}


def price_usd(*cells: tuple[str, str]) -> float:
    rows = planned(None).trials
    return sum(
        row.price_usd or 0 for row in rows if (row.intent.benchmark.name, row.intent.configuration_name) in cells
    )


SHORT = {("short", f"at-{usd}") for usd in (1, 2, 4, 8)}


def test_the_cheapest_questions_come_first_and_the_rest_buys_the_cheapest_machines() -> None:
    short_usd = price_usd(*SHORT)
    two_usd = short_usd + price_usd(("long", "at-1"), ("long", "at-2"))
    assert chosen(planned(short_usd + 0.001)) == SHORT
    bought = planned(two_usd + 0.001)
    assert chosen(bought) == SHORT | {("long", "at-1"), ("long", "at-2")}
    assert bought.price_usd == pytest.approx(two_usd)
    whole = planned(1e6)
    assert chosen(whole) == chosen(planned(None))


def test_trials_are_those_of_the_whole_study() -> None:
    whole = {row.intent.id for row in planned(None).trials}
    assert {row.intent.id for row in planned(price_usd(*SHORT) + 0.001).trials} < whole


def test_too_small_a_budget_and_a_missing_price_are_refused() -> None:
    with pytest.raises(InputError, match="do not pay for a comparison: the cheapest one costs"):
        planned(1e-6)
    unpriced = study(TEXT.replace('price_usd_per_hour = "{usd}"', 'labels.usd = "x{usd}"'))
    with pytest.raises(InputError, match="--budget needs a price for every configuration"):
        cut_out(unpriced, Cut(budget_usd=10))


def test_what_a_budget_leaves_out_is_said_by_chapter_with_how_to_keep_one() -> None:
    cut = Cut(budget_usd=price_usd(*SHORT, ("long", "at-1"), ("long", "at-2")) + 0.001)
    missing = left_out(study(), cut, planned(cut.budget_usd))
    assert missing == [LeftOut(chapter="oltp", benchmark="long", configurations=2, of_configurations=4)]
    assert [*left_out_lines(missing, cut)][1:] == [
        "  oltp: long on 2 of 4 configurations",
        "To keep a chapter, spend the budget on it alone: --only oltp",
    ]
    entirely = Cut(only=("database",), budget_usd=price_usd(*SHORT) + 0.001)
    gone = [LeftOut(chapter="oltp", benchmark="long", configurations=0, of_configurations=4)]
    assert [*left_out_lines(gone, entirely)][1:] == ["  oltp: long on all 4 configurations"]
    assert left_out(study(), Cut(), planned(None)) == []


def test_json_has_what_is_left_out_only_if_something_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "budget.toml"
    file.write_text(TEXT)
    assert main(["plan", str(file), "--budget", f"{price_usd(*SHORT) + 0.01:.2f}", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"] == [
        {"chapter": "oltp", "benchmark": "long", "configurations": 0, "of_configurations": 4},
    ]
    assert main(["plan", str(file), "--json"]) == 0
    assert "left_out" not in json.loads(capsys.readouterr().out)


SHARED = """
name = "shared"
replicates = 4
placement = "per-replicate"

[[matrix]]
name = "at-{usd}"
axes.usd = [0.1, 0.17, 0.289, 0.491, 0.835, 1.42]
price_usd_per_hour = "{usd}"
provider = "aws"
region = "us-east-1"
zone = "us-east-1a"
labels.usd = "x{usd}"
database_machine = { type = "m6i.large" }
cloud = { image = "ami-0abcdef1234567890", ingress = "203.0.113.7/32" }

[[benchmarks]]
uses = "coremark"

[[benchmarks]]
uses = "stress-ng"

[[benchmarks]]
uses = "fio"
"""


def test_no_part_costs_more_than_its_budget_although_it_pays_alone_for_clusters_that_were_shared() -> None:
    whole = study(SHARED)
    whole_usd = plan(whole).price_usd or 0.0
    bought = []
    for hundredths in range(30, 102, 6):
        budget_usd = whole_usd * hundredths / 100
        found = plan(whole, part=cut_out(whole, Cut(budget_usd=budget_usd)))
        assert (found.price_usd or 0.0) <= budget_usd
        bought.append(len(found.trials))
    assert bought[-1] > 2 * bought[0], "and it is not merely the smallest part"


def test_a_budget_below_every_pair_is_named_with_what_the_cheapest_pair_costs_alone() -> None:
    whole = study(SHARED)
    with pytest.raises(InputError) as raised:
        cut_out(whole, Cut(budget_usd=0.01))
    assert raised.value.message.startswith("$0.01 do not pay for a comparison: the cheapest one costs $0.0")
    alone_usd = float(raised.value.message.rpartition("$")[2])
    enough = cut_out(whole, Cut(budget_usd=alone_usd + 0.01))
    assert plan(whole, part=enough).price_usd == pytest.approx(alone_usd, abs=0.006)
