"""Two studies: what belongs together, what changed, prices, answers, the gate, and how all of it is told."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nephoscope.analysis.edition_gate import judge, named, reasons
from nephoscope.analysis.editions import editions_of
from nephoscope.app.stages import evaluation
from nephoscope.insights.registry import analyse
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.records import Direction, SourceRecord
from nephoscope.model.rows import ComparisonVerdict, TrialRow
from nephoscope.report import edition_words as words
from nephoscope.report.edition_markdown import render_markdown
from nephoscope.report.edition_page import render_editions
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.differences import changes
from nephoscope.study.model import Configuration
from tests.support.made_results import made_results
from tests.support.some_tables import with_tables
from tests.unit.analysis.test_costs import SIX, sold, study

BETTER, WORSE, TIE, OPEN = (
    ComparisonVerdict.BETTER,
    ComparisonVerdict.WORSE,
    ComparisonVerdict.TIE,
    ComparisonVerdict.UNRESOLVED,
)


def edition(day: str, a: float, b: float, machine: str = "large") -> AnalysedStudy:
    """`a` on a small machine, `b` on a large one, at the prices of a day; large ones are dearer from 2026 on."""
    values = {"a": [a * x for x in SIX], "b": [b * x for x in SIX]}
    return analyse(study([sold("a", "small"), sold("b", machine)], values, date=day))


def test_performance_price_and_both() -> None:
    found = editions_of(edition("2025-06-30", 1, 1), edition("2026-06-30", 1.2, 1.2), basis="on-demand")
    assert found.left_out == []
    a, b = found.rows
    assert (a.verdict, a.price_ratio, a.cost_verdict) == (BETTER, 1, BETTER)
    assert b.price_ratio == pytest.approx(0.5 / 0.4)
    assert (b.verdict, b.cost_verdict) == (BETTER, WORSE)
    assert b.ratio == pytest.approx(1.2)
    assert b.cost_ratio == pytest.approx(1.25 / 1.2)
    assert b.low is not None
    assert b.cost_high == pytest.approx(1.25 / b.low), "the price moves the interval"
    (card,) = found.cards
    assert card.ratio == pytest.approx(1.2)
    assert (card.verdict, card.agreeing, card.configurations) == (BETTER, 2, ["a", "b"])


def test_equal_studies_are_ties_and_the_same_winner() -> None:
    same = edition("2025-06-30", 1, 2)
    found = editions_of(same, same, basis="on-demand")
    assert {(row.verdict, row.cost_verdict) for row in found.rows} == {(TIE, TIE)}
    assert {(row.outcome, *row.after) for row in found.best if row.view == "plain"} == {("same", "b")}
    assert not judge(found, 0.5).undecided
    swapped = editions_of(same, edition("2025-06-30", 2, 1), basis="on-demand")
    assert {row.outcome for row in swapped.best if row.view == "plain"} == {"changed"}


def test_only_equal_benchmarks_are_compared_and_what_is_left_out_is_told() -> None:
    old, new = edition("2025-06-30", 1, 1), edition("2025-06-30", 1, 1)
    changed = [row.model_copy(update={"parameters": {"warehouses": 2}}) for row in new.benchmarks]
    found = editions_of(old, new.model_copy(update={"benchmarks": changed}), basis="on-demand")
    assert (found.rows, found.best) == ([], [])
    assert reasons(found.left_out) == ["a, b (tpcc new_orders_per_minute): different parameters: warehouses"]
    newer = [row.model_copy(update={"version": 2}) for row in old.benchmarks]
    found = editions_of(old, old.model_copy(update={"benchmarks": newer}), basis="on-demand")
    assert "tpcc version 1 in the earlier study, tpcc version 2 in the later" in reasons(found.left_out)[0]
    assert judge(found, 3).missing == found.left_out


def test_imported_numbers_of_two_definitions_are_not_compared() -> None:
    source = SourceRecord(format="x", source="x", licence="x", unknown=[], benchmarks=[])
    old = edition("2025-06-30", 1, 1).model_copy(update={"source": source})
    (row,) = old.benchmarks
    redefined = [metric.model_copy(update={"clock": "queued, too"}) for metric in row.metrics]
    new = old.model_copy(update={"benchmarks": [row.model_copy(update={"metrics": redefined})]})
    assert editions_of(old, old, basis="on-demand").rows
    found = editions_of(old, new, basis="on-demand")
    assert found.rows == []
    assert "two definitions: 'not said' in the earlier study, 'queued, too'" in reasons(found.left_out)[0]


def test_another_machine_type_is_a_change_that_is_named() -> None:
    found = editions_of(edition("2025-06-30", 1, 1), edition("2025-06-30", 1, 1, machine="small"), basis="on-demand")
    assert [(card.configurations, card.differs) for card in found.cards] == [
        (["a"], []),
        (["b"], ["machine type: large → small"]),
    ]


def test_a_missing_price_leaves_performance() -> None:
    found = editions_of(edition("2025-06-30", 1, 1), edition("2025-06-30", 1.1, 1), basis="spot")
    assert [(row.verdict, row.price_ratio, row.cost_verdict) for row in found.rows] == [
        (BETTER, None, None),
        (TIE, None, None),
    ]


def test_differences_name_what_matters_and_no_address() -> None:
    def declared(**more: Any) -> Configuration:
        return Configuration.model_validate({"name": "one", **more})

    plain = declared()
    assert changes(plain, declared(name="two")) == ()
    tuned = declared(database={"settings": {"shared_buffers": "1GB"}, "version": "18"})
    assert changes(plain, tuned) == (
        "server version: not set → 18",
        "shared_buffers: not set → 1GB",
    )
    typed = [
        declared(provider="aws", region="r", database_machine={"type": name}) for name in ("m5.large", "m6i.xlarge")
    ]
    assert changes(*typed) == ("machine type: m5.large → m6i.xlarge",)
    moved = "machine type: m8i.large → m7i.large"
    for load, also in (
        ("m8i.large", ()),
        ("m7i.large", ()),
        ("c7i.large", ("machine type of the load generator: m8i.large → c7i.large",)),
    ):
        old, new = (
            declared(provider="aws", region="r", database_machine={"type": name}, load_machine={"type": by})
            for name, by in (("m8i.large", "m8i.large"), ("m7i.large", load))
        )
        assert changes(old, new) == (*also, moved), load
    asked = [declared(database={"dsn": f"postgresql://me@{host}/x"}) for host in ("one", "two")]
    assert changes(*asked) == ("the server: not the same",)


def folders(tmp_path: Path, old: dict[str, Any], new: dict[str, Any]) -> tuple[ResultsFolder, ResultsFolder]:
    """Two results folders; each configuration: its settings, and its values."""
    made = []
    for where, said in (("main", old), ("branch", new)):
        machines = {name: {"provider": '"fake"', **settings} for name, (settings, _) in said.items()}
        values = {name: many for name, (_, many) in said.items()}
        made.append(made_results(tmp_path / where, values, machines=machines))
    return made[0], made[1]


def test_configurations_with_new_names_are_found_by_what_they_are(tmp_path: Path) -> None:
    tuned = {"database": '{ settings = { shared_buffers = "1GB" } }'}
    plain = {"database": '{ settings = { shared_buffers = "128MB" } }'}
    other = {"database": '{ settings = { work_mem = "1GB", shared_buffers = "2GB" } }'}
    old, new = folders(
        tmp_path,
        {"same": (plain, SIX), "old-name": (tuned, SIX), "gone": (other, SIX)},
        {"same": (tuned, SIX), "new-name": (tuned, [2 * x for x in SIX]), "added": ({}, SIX)},
    )
    found = evaluation.compare(old.path, new, "on-demand")
    assert [(row.configuration_before, row.configuration, row.differs) for row in found.rows] == [
        ("old-name", "new-name", []),
        ("same", "same", ["shared_buffers: 128MB → 1GB"]),
    ]
    assert reasons(found.left_out) == [
        "added (fake rate): the earlier study has no such configuration",
        "gone (fake rate): the later study has no such configuration",
    ]
    html = render_editions(found, ("main", "<b>branch</b>"), report="index.html")
    assert "What differs: shared_buffers: 128MB → 1GB" in html
    assert "&lt;b&gt;branch&lt;/b&gt;" in html
    assert '<a href="index.html">' in html
    assert "src=" not in html
    assert "old-name → new-name" in html


def test_questions_whose_answer_turned_and_what_no_study_declares(tmp_path: Path) -> None:
    small = {"database": '{ settings = { shared_buffers = "128MB" } }'}
    large = {"database": '{ settings = { shared_buffers = "1GB" } }'}
    double = [2 * x for x in SIX]
    old, new = folders(tmp_path, {"a": (small, SIX), "b": (large, double)}, {"a": (small, double), "b": (large, SIX)})
    before, after = evaluation.analysed(old), evaluation.analysed(new)
    after = after.model_copy(
        update={"tool_versions": {"postgres": ["18.6"]}, "database_settings": {"a": {"jit": "off"}}}
    )
    before = before.model_copy(
        update={
            "tool_versions": {"postgres": ["17.2"]},
            "database_settings": {"a": {"jit": "on", "data_directory": "/x"}},
        }
    )
    found = editions_of(before, after, basis="on-demand")
    (contrast,) = [row for row in found.contrasts if row.view == "plain"]
    assert (contrast.question, contrast.outcome) == ("shared_buffers", "changed")
    assert {contrast.verdict_before, contrast.verdict_after} == {BETTER, WORSE}
    assert found.also_different == ["postgres: 17.2 → 18.6", "jit: on → off (a)"]
    html = render_editions(found, ("main", "branch"))
    assert "postgres: 17.2 → 18.6" in html
    assert "shared_buffers: " in html


def test_a_change_that_only_disturbed_trials_show_is_undecided() -> None:
    """Three of six trials lost a tenth of their CPU time and are slower; the quiet ones are as before."""
    loud = [0.85 * x for x in SIX[:4]]
    old = analyse(study([sold("a", "small")], {"a": [x * f for x in SIX for f in (0.999, 1.001)]}))
    new = analyse(study([sold("a", "small")], {"a": [*loud, *loud, *SIX, *SIX[:4]]}))
    trials = [row.model_copy(update={"stolen_share": 0.1 if row.replicate <= 8 else 0.0}) for row in new[TrialRow]]
    found = editions_of(old, with_tables(new, {TrialRow: trials}), basis="on-demand")
    (row,) = found.rows
    assert (row.verdict, str(row.reason)) == (OPEN, "worse as delivered, but equal in quiet trials")
    assert judge(found, 3).worse == []
    assert judge(found, 3).undecided == found.cards
    plain = editions_of(old, new, basis="on-demand").rows[0]
    assert (plain.verdict, plain.low, plain.high) == (WORSE, row.low, row.high)


def changed(percent: float, spread: float = 0.004, n: int = 6) -> AnalysedStudy:
    generator = np.random.default_rng(4)
    values = (1000 * (1 + percent / 100) * np.exp(spread * generator.standard_normal(n))).tolist()
    return analyse(study([sold("a", "small")], {"a": values}))


@pytest.mark.parametrize(
    ("percent", "spread", "outcome"),
    [
        (-10, 0.004, "worse"),
        (-4, 0.004, "undecided"),  # worse, but not surely by 3 %
        (-1, 0.004, "accepted"),
        (+9, 0.004, "accepted"),
        (-2, 0.08, "undecided"),
    ],
)
def test_the_gate_fails_only_what_is_surely_worse_by_the_margin(percent: float, spread: float, outcome: str) -> None:
    found = editions_of(changed(0, 0.009 if spread < 0.05 else spread), changed(percent, spread), basis="on-demand")
    judged = judge(found, 3)
    said = "worse" if judged.worse else "undecided" if judged.undecided else "accepted"
    assert said == outcome
    assert (len(judged.worse), len(judged.undecided), len(judged.accepted)) == (
        outcome == "worse",
        outcome == "undecided",
        outcome == "accepted",
    )


def test_the_gate_knows_that_less_can_be_better() -> None:
    card = editions_of(changed(0), changed(10), basis="on-demand").cards[0]
    found = editions_of(changed(0), changed(10), basis="on-demand")
    slower = card.model_copy(update={"direction": Direction.LOWER, "unit": "s", "verdict": WORSE})
    judged = judge(found.model_copy(update={"cards": [slower]}), 3)
    assert judged.worse == [slower]
    assert named(slower) == "a, tpcc: New-Orders committed"
    assert (words.word(slower), words.direction(slower)) == ("slower", "lower is better")


def test_the_words_of_a_change() -> None:
    assert [words.change(ratio) for ratio in (1.042, 0.96, 1.0, 0.9995, 2.5, 0.3, None)] == [
        "+4.2 %",
        "\N{MINUS SIGN}4.0 %",
        "0 %",
        "\N{MINUS SIGN}0.05 %",
        "2.50\N{MULTIPLICATION SIGN}",
        "\N{MINUS SIGN}70.0 %",
        "\N{EN DASH}",
    ]
    assert words.interval(1.8, 2.4) == "1.80\N{MULTIPLICATION SIGN} to 2.40\N{MULTIPLICATION SIGN}"
    row = editions_of(changed(0), changed(-10, n=8), basis="on-demand").rows[0]
    assert words.counts(row) == "6, 8", "the earlier study first"
    assert words.word(row) == "slower"
    assert math.isclose(row.before or 0, 1000, rel_tol=0.01)


def test_markdown_says_the_verdict_first_and_escapes_names() -> None:
    found = editions_of(changed(0), changed(-10), basis="on-demand")
    text = render_markdown(found, judge(found, 3), ("main", "fix_|x"))
    heading, _, verdict, *_ = text.splitlines()
    assert heading == r"## fix\_\|x against main"
    assert verdict.startswith("**Certainly worse by at least 3 %: a, tpcc: New-Orders committed \N{MINUS SIGN}")
    assert text.count("\n| ") == 2
    open_change = editions_of(changed(0), changed(-3), basis="on-demand")
    assert "1 is not known" in render_markdown(open_change, judge(open_change, 3), ("a", "b"))
