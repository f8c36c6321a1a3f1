"""Studies that went wrong in some way, through `analyze` and `report`: a clear sentence for each, and no crash."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from nephoscope.app.stages import evaluation
from nephoscope.model.analysed import AnalysedStudy
from nephoscope.model.questions import BestRow
from nephoscope.model.rows import Comparison, ComparisonVerdict, GateRow, RankRow, Statistic
from nephoscope.store.folder import ResultsFolder
from tests.support.made_results import Value, made_results

pytestmark = pytest.mark.whole

GOOD = [100.0, 101.0, 99.0, 102.0, 98.0, 100.5]
BETTER = [120.0, 121.0, 119.0, 122.0, 118.0, 120.5]
HOST = {"provider": '"ssh"'}


@dataclass(frozen=True)
class Fault:
    """A study and what its report must say."""

    values: Mapping[str, Sequence[Value]]
    sentences: tuple[str, ...]
    verdicts: tuple[str, ...] = ()
    """Of the headline comparisons, plain, in their order."""
    more: Mapping[str, Any] | None = None


def hosts(**names: str) -> dict[str, Any]:
    """Configurations on hosts, all with the boot id of one machine."""
    return {
        "machines": {name: {**HOST, "database_machine": f'{{ hosts = ["{host}"] }}'} for name, host in names.items()},
        "facts": {name: {"boot_id": "0001", "hostname": "bench"} for name in names},
    }


FAULTS = {
    "a configuration without a valid trial": Fault(
        {"good": GOOD, "loud": ["was 40 % busy"] * 6, "better": BETTER},
        (
            "loud has no valid value in fake (6 trials), so it is in no answer there.",
            "6 of 18 trials are not valid and excluded from all statistics: 6 rejected by foreign-load.",
        ),
        ("better",),
    ),
    "no valid trial at all": Fault(
        {"a": ["was 40 % busy"] * 2, "b": ["was 40 % busy"] * 2},
        ("a and b have no valid value in fake (4 trials), so they are in no answer there.",),
    ),
    "one replicate each": Fault(
        {"a": [100.0], "b": [120.0]},
        (
            "Each median rests on a single valid replicate, which gives no interval",
            "1 usable trial each is too few to decide",
        ),
        ("unresolved",),
    ),
    "all values equal": Fault(
        {"a": [5.0] * 6, "b": [5.0] * 6, "c": [6.0] * 6},
        (
            ": the best of 3 is c, with 1.200",
            "The values come in steps, so exact rank sums were used",
            "c 1, a 2 to 3, b 2 to 3.",
        ),
        ("tie", "worse", "worse"),
    ),
    "a few discrete values": Fault(
        {"a": [5.0, 6.0, 5.0, 6.0, 5.0, 6.0], "b": [6.0, 6.0, 6.0, 5.0, 5.0, 6.0]},
        ("Fake operations per second: not decided, as",),
        ("unresolved",),
    ),
    "zeros": Fault(
        {"a": [0.0, *GOOD[1:]], "b": GOOD, "c": BETTER},
        ("1 metric has zero or negative values", "not compared there: fake operations per second in fake on a."),
        ("worse",),
    ),
    "only zeros": Fault({"a": [0.0] * 6, "b": [0.0] * 6}, ("not compared there", "on a and b.")),
    "blocks with holes": Fault(
        {"a": [100.0, "loud", 99.0, 102.0, 98.0, 100.5], "b": [120.0, 121.0, "loud", 122.0, 118.0, 119.0]},
        ("2 of 6 blocks lack a valid trial of some configuration",),
        ("worse",),
    ),
    "stopped in the middle": Fault(
        {"a": [100.0, 101.0, 102.0, None, None, None], "b": [120.0, 121.0, 122.0, None, None, None]},
        (
            "6 of 12 planned trials have not run, so no answer includes them. `nephoscope run` continues",
            "All 6 trials that ran are valid.",
            "the rate of a (1.193 to 1.203×). Chance of a wrong winner: at most 5 %. 95 % interval, n = 3 and 3.",
            "Each median rests on fewer than 6 valid replicates, at the least 3: the interval is only the range",
        ),
        ("worse",),
    ),
    "never started": Fault({"a": [None] * 2, "b": [None] * 2}, ("4 of 4 planned trials have not run",)),
    "two names of one machine": Fault(
        {"a": GOOD, "b": BETTER},
        (
            "a and b name different machines, but all 12 trials ran on the same one.",
            "(this machine): the best is b, with",
        ),
        ("worse",),
        hosts(a="db1", b="10.0.0.1"),
    ),
    "one host under two settings": Fault(
        {"a": GOOD, "b": BETTER}, ("(this machine): the best is b, with",), ("worse",), hosts(a="db1", b="db1")
    ),
    "one host each": Fault(
        {"a": GOOD, "b": BETTER},
        ("(these machines): the best is b, with",),
        ("worse",),
        {"machines": hosts(a="db1", b="db2")["machines"]},
    ),
}


@pytest.fixture(params=FAULTS, scope="module")
def fault(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Fault, ResultsFolder]:
    found = FAULTS[request.param]
    return found, made_results(tmp_path_factory.mktemp("faults") / "r", found.values, **(found.more or {}))


def test_it_is_analysed_reported_and_said(fault: tuple[Fault, ResultsFolder]) -> None:
    wanted, folder = fault
    found = evaluation.analyze(folder)
    page = evaluation.report(folder).path.with_name("evidence.html").read_text(encoding="utf-8")
    said = [str(insight.text) for insight in found.insights]
    for sentence in wanted.sentences:
        assert any(sentence in text for text in said), (sentence, said)
    headline = [row.verdict.value for row in found[Comparison] if not row.per_cpu]
    assert headline == list(wanted.verdicts)
    assert "nan" not in " ".join(said)
    assert "made" in page
    for scope in ("this machine", "these machines"):
        shown = f">{scope}<" in page or f"Scope: {scope}" in page
        assert shown == (scope in {*(row.scope for row in found[Comparison]), *(row.scope for row in found[Statistic])})


def test_no_answer_claims_more_than_its_trials(fault: tuple[Fault, ResultsFolder]) -> None:
    """A difference needs two values on each side, four where ranks decide; ranks stay inside their leaderboard."""
    found = evaluation.analysed(fault[1])
    methods = {row.metric: row.method for row in found[BestRow]}
    for row in found[Comparison]:
        if row.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}:
            assert min(row.n_left, row.n_right) >= (4 if methods[row.metric] == "rank sums" else 2)
        (best,) = [one for one in found[BestRow] if (one.view == "per CPU") == row.per_cpu]
        if best.of == 2 and best.method == "within blocks":
            decided = row.verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE}
            assert (best.excluded == 1) == decided, "two configurations are one question, asked twice"
    for rank in found[RankRow]:
        assert 1 <= rank.first <= rank.last <= rank.of
    assert all(row.median_after is None or row.n_after > 0 for row in found[GateRow])


def test_a_headline_metric_that_a_configuration_does_not_report_is_told_and_the_others_are_compared(
    tmp_path: Path,
) -> None:
    whole = [{"bogo_ops_per_s": value, "bogo_ops_per_s_cpu_time": value / 2} for value in GOOD]
    without = [{"bogo_ops_per_s_cpu_time": value} for value in GOOD]
    some = [*whole[:4], *without[4:]]
    values = {"whole": whole, "without": without, "some": some}
    found = made(tmp_path / "r", values)
    said = [str(insight.text) for insight in found.insights if insight.rule == "gaps"]
    (text,) = said
    assert text == (
        "without has no valid value in stress-ng (6 trials), so it is in no answer there. "
        "some has a value from only some valid trials in stress-ng (2 trials)."
    )
    plain = [row for row in found[Comparison] if not row.per_cpu]
    assert [(row.left, row.right) for row in plain if row.metric == "bogo_ops_per_s"] == [("some", "whole")]
    assert len([row for row in plain if row.metric == "bogo_ops_per_s_cpu_time"]) == 3


def made(path: Path, values: Mapping[str, Sequence[Value]]) -> AnalysedStudy:
    folder = made_results(path, values, uses="stress-ng")
    evaluation.report(folder)
    return evaluation.analysed(folder)
