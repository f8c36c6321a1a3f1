"""Claims: each verdict, groups in blocks, per CPU and per dollar, what cannot be decided, and files that are wrong."""

import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nephoscope.analysis.claims import _verdict
from nephoscope.app.stages import evaluation, imports
from nephoscope.insights.registry import analyse
from nephoscope.model.errors import InputError
from nephoscope.model.rows import ClaimRow, Comparison
from nephoscope.stats.ratio import RatioInterval
from nephoscope.store.folder import ResultsFolder
from nephoscope.study.claims import Claims, Kind, load_claims
from tests.docs.pages import ROOT, blocks
from tests.support.shared_data import shared
from tests.unit.analysis.study_builder import TPMC, inputs, measurement, rows
from tests.unit.analysis.test_levels import SKEWED, STEADY
from tests.unit.insights.rule_studies import SERVER_CPU
from tests.unit.report.priced_example import MACHINES, priced_inputs

SIX = [1000.0, 1001, 1002, 1003, 1004, 1005]
BASE: dict[str, Any] = {"id": "c", "text": "it is so", "source": "page 3", "kind": "better", "benchmark": "tpcc"}


def judged(values: dict[str, list[float]], cpus: dict[str, int] | None = None, **claim: Any) -> ClaimRow:
    claims = Claims.model_validate({"claims": [BASE | claim]})
    (row,) = analyse(replace(inputs(rows(values, cpus=cpus)), claims=claims))[ClaimRow]
    return row


OTHERS = {"b": 1.0, "c": 1.001, "d": 0.999, "e": 3.0, "f": 0.1}
AB: dict[str, Any] = {"left": {"configuration": "a"}, "right": {"configuration": "b"}}


@pytest.mark.parametrize(
    ("factor", "kind", "verdict"),
    [
        (1.1, "better", "supported"),
        (0.9, "better", "refuted"),
        (1.0, "better", "refuted"),
        (1.0, "tie", "supported"),
        (1.1, "tie", "refuted"),
        (1.016, "tie", "not decided"),  # certainly better, but not certainly by the margin of 1.5 %
        (1.1, "not-worse", "supported"),
        (1.0, "not-worse", "supported"),
        (1 / 1.016, "not-worse", "not decided"),
        (0.9, "not-worse", "refuted"),
    ],
)
def test_two_configurations_by_their_replicates(factor: float, kind: str, verdict: str) -> None:
    row = judged({"a": [factor * x for x in SIX], "b": SIX}, kind=kind, **AB)
    assert (row.verdict, row.holds, row.unit_of_n, row.n_left, row.n_right) == (
        verdict,
        verdict != "refuted",
        "replicates",
        6,
        6,
    )
    assert row.ratio == pytest.approx(factor, rel=0.01)
    assert len(row.trials) == 12


@pytest.mark.parametrize("per", ["", "cpu"])
@pytest.mark.parametrize("seed", range(6))
def test_a_claim_about_two_configurations_has_the_verdict_of_their_comparison(seed: int, per: str) -> None:
    """However many other claims the file has; so a page does not call one pair better and not decided."""
    generator = np.random.default_rng(seed)
    values = {
        name: [float(1000 * (1 + 0.03 * place) * x) for x in generator.lognormal(0, 0.015, 6)]
        for place, name in enumerate("abc")
    }
    pairs = [(left, right) for left in "abc" for right in "abc" if left != right]
    claims = [
        BASE | {"id": f"{left}-{right}", "left": {"configuration": left}, "right": {"configuration": right}, "per": per}
        for left, right in pairs
    ]
    study = analyse(replace(inputs(rows(values)), claims=Claims.model_validate({"claims": claims})))
    found = {(row.left, row.right): row for row in study[Comparison] if row.per_cpu == (per == "cpu")}
    found |= {(row.right, row.left): row.mirrored() for row in [*found.values()]}
    words = {"better": "supported", "worse": "refuted", "tie": "refuted", "unresolved": "not decided"}
    for (left, right), claim in zip(pairs, study[ClaimRow], strict=True):
        pair = found[left, right]
        assert (claim.verdict, claim.ratio, claim.low) == (words[pair.verdict], pair.ratio, pair.low)


def test_a_claim_is_not_decided_where_medians_are_the_other_way_round() -> None:
    row = judged({"a": STEADY * 2, "b": SKEWED * 2}, **AB)
    assert (row.verdict, row.low is not None and row.low > 1) == ("not decided", True)
    assert "the medians are the other way round" in str(row.reason)


@pytest.mark.parametrize(
    ("low", "high", "tie", "not_worse", "not_worse_if_less_is_better"),
    [
        (0.96, 1.04, "supported", "supported", "supported"),
        (1.02, 1.04, "supported", "supported", "supported"),
        (1.02, 1.06, "not decided", "supported", "not decided"),
        (1.06, 1.08, "refuted", "supported", "refuted"),
        (0.94, 0.98, "not decided", "not decided", "supported"),
        (0.90, 0.94, "refuted", "refuted", "supported"),
        (0.90, 1.10, "not decided", "not decided", "not decided"),
    ],
)
def test_what_an_interval_says_with_a_margin_of_5_percent(
    low: float, high: float, tie: str, not_worse: str, not_worse_if_less_is_better: str
) -> None:
    def said(kind: Kind, p_adjusted: float, *, higher: bool) -> str:
        return _verdict(kind, RatioInterval(low, high, 0.95), p_adjusted, higher=higher, margin=0.05, alpha=0.05)

    for higher, wanted in ((True, not_worse), (False, not_worse_if_less_is_better)):
        assert (said("tie", 0.01, higher=higher), said("not-worse", 0.01, higher=higher)) == (tie, wanted)
    assert "refuted" not in {said("tie", 0.06, higher=True), said("not-worse", 0.06, higher=True)}


def test_too_few_replicates_decide_nothing_and_fail_nothing() -> None:
    row = judged({"a": [2000.0, 2001], "b": SIX[:2]}, **AB)
    assert (row.verdict, row.holds, str(row.reason)) == ("not decided", True, "too few replicates for an interval")


def test_what_is_expected_must_be_so() -> None:
    row = judged({"a": [2000.0, 2001], "b": SIX[:2]}, expected="supported", **AB)
    assert not row.holds
    assert judged({"a": SIX, "b": [2 * x for x in SIX]}, expected="refuted", **AB).holds


def test_first_and_last_are_against_all_others() -> None:
    values = {name: [factor * x for x in SIX] for name, factor in (("a", 1), ("b", 2), ("c", 3))}
    left: dict[str, Any] = {"left": {"configuration": "a"}, "matched_by": ["provider"]}
    row = judged(values, kind="last", **left)
    assert (row.n_left, row.n_right, row.unit_of_n) == (1, 2, "configurations")
    assert row.verdict == "not decided", "two types are too few, whatever their replicates"


def test_groups_are_matched_and_n_is_configurations() -> None:
    values: dict[str, list[float]] = {}
    cpus: dict[str, int] = {}
    for index in range(8):
        for side, factor in (("fast", 1.5), ("slow", 1.0)):
            values[f"{side}-{index}"] = [(index + 1) * factor * x for x in SIX[:2]]
            cpus[f"{side}-{index}"] = 2
    claim: dict[str, Any] = {
        "left": {"configuration": "fast-*"},
        "right": {"configuration": "slow-*"},
        "matched_by": ["provider"],
    }
    one_block = judged(values, cpus, **claim)
    assert (one_block.blocks, one_block.n_left, one_block.n_right) == (1, 8, 8)
    assert one_block.unit_of_n == "configurations"
    assert one_block.verdict == "not decided", "sizes hide it: blocks are for that"


def test_per_cpu_and_per_dollar() -> None:
    def of(**claim: Any) -> ClaimRow:
        claims = Claims.model_validate({"claims": [BASE | {"benchmark": "reads"} | claim]})
        (row,) = analyse(replace(priced_inputs(), claims=claims))[ClaimRow]
        return row

    fast = {"configuration": "aws-c5a"}
    assert of(left=fast, right={"configuration": "aws-m6i"}).verdict == "supported"
    row = of(left=fast, right={"configuration": "aws-m6i"}, per="cpu")
    assert (row.verdict, row.view) == ("refuted", "per CPU")
    assert row.ratio == pytest.approx(MACHINES["aws-c5a"][4] / 4, rel=0.01)
    row = of(left=fast, right={"configuration": "aws-m6i"}, per="dollar")
    assert (row.verdict, row.view, row.basis) == ("refuted", "per dollar", "on-demand")
    row = of(left=fast, right={"configuration": "unsold"}, per="dollar")
    assert str(row.reason) == "no configuration on the right side has a value and a price"


def test_claims_about_groups_are_corrected_together() -> None:
    values = {
        f"{side}{n}": [factor * x + n for x in SIX] for side, factor in (("a", 1.1), ("b", 1.0)) for n in range(6)
    }
    groups = {"left": {"configuration": "a*"}, "right": {"configuration": "b*"}}
    for count, verdict in ((1, "supported"), (24, "not decided")):  # 24 x 2/924 is above 5 %
        many = Claims.model_validate({"claims": [BASE | groups | {"id": f"c{index}"} for index in range(count)]})
        found = analyse(replace(inputs(rows(values)), claims=many))[ClaimRow]
        assert {(row.verdict, row.unit_of_n) for row in found} == {(verdict, "configurations")}


def test_a_metric_that_is_named_need_not_be_a_headline_one() -> None:
    one = rows({"a": SIX, "b": [2 * x for x in SIX]})
    cost = [measurement(row, value, SERVER_CPU) for row, value in zip(one[0], [*SIX, *SIX[::-1]], strict=True)]

    def of(metric: str) -> list[ClaimRow]:
        claims = Claims.model_validate({"claims": [BASE | AB | {"kind": "tie", "metric": metric}]})
        study = replace(inputs((one[0], one[1] + cost), metrics={"tpcc": [TPMC, SERVER_CPU]}), claims=claims)
        return analyse(study)[ClaimRow]

    (named,) = of(SERVER_CPU.name)
    assert (named.metric, named.verdict) == (SERVER_CPU.name, "supported")
    assert [row.metric for row in of("*")] == [TPMC.name], "a pattern is about headline metrics"


def test_what_is_not_measured_is_not_decided() -> None:
    row = judged({"a": SIX, "b": SIX}, **AB | {"benchmark": "other"})
    assert (row.verdict, str(row.reason)) == ("not decided", "no such headline metric was measured")


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.1, "supported"), (1.0, "supported"), (1 / 1.015, "not decided"), (0.9, "refuted")]
)
def test_one_is_held_against_the_median_of_all_others(factor: float, verdict: str) -> None:
    """One of the others is far slower and one far faster, so that the mean of all would say something else."""
    drift = [1.0, 1.2, 0.8, 1.1, 0.9, 1.3]
    values = {"a": [factor * x * d for x, d in zip(SIX, drift, strict=True)]}
    values |= {name: [by * x * d for x, d in zip(SIX[::-1], drift, strict=True)] for name, by in OTHERS.items()}
    row = judged(values, kind="not-worse", left={"configuration": "a"})
    assert (row.verdict, row.n_left, row.unit_of_n) == (verdict, 6, "replicates")
    assert row.ratio == pytest.approx(factor, rel=0.003)
    assert row.matched == ["a against the median of 5 others"]


@pytest.mark.parametrize(
    ("left", "names", "why"),
    [("*", "abc", "without a right side, left is one configuration; here it is 3"), ("a", "ab", "fewer than 2 others")],
)
def test_the_median_of_others_needs_others_and_one_that_is_held_against_it(left: str, names: str, why: str) -> None:
    row = judged(dict.fromkeys(names, SIX), kind="not-worse", left={"configuration": left})
    assert (row.verdict, row.holds) == ("not decided", True)
    assert str(row.reason).startswith(why)


def test_too_few_blocks_decide_nothing_against_the_median() -> None:
    row = judged(dict.fromkeys("abc", SIX[:4]), kind="not-worse", left={"configuration": "a"})
    assert (row.verdict, str(row.reason)) == ("not decided", "too few replicates for an interval")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[claims]", "not TOML"),
        ("a = " + "[" * 5_000, "not TOML"),
        ("a = " + "9" * 5_000, "not TOML"),
        ("[[claims]]\nid = 'A'", "claims.0.id"),
        ("claims = []", "claims"),
        ("[[claims]]\nid='a'\ntext='t'\nsource='s'\nkind='better'\nbenchmark='b'\nleft={}", "needs a right side"),
        (
            "[[claims]]\nid='a'\ntext='t'\nsource='s'\nkind='last'\nbenchmark='b'\nleft={}\nright={}",
            "compares with all others",
        ),
        (
            "[[claims]]\nid='a'\ntext='t'\nsource='s'\nkind='not-worse'\nbenchmark='b'\nleft={}\nper='dollar'",
            "needs a right side per dollar",
        ),
        (2 * "[[claims]]\nid='a'\ntext='t'\nsource='s'\nkind='last'\nbenchmark='b'\nleft={}\n", "appears twice"),
    ],
)
def test_a_wrong_file_is_told(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        load_claims(text, "claims.toml")


def test_the_page_and_the_example_are_claims() -> None:
    page = (ROOT / "docs" / "how-to" / "claims.md").read_text(encoding="utf-8")
    (example,) = [body for body in blocks(page, "toml") if "[[claims]]" in body]
    assert load_claims(example, "page").claims[0].id == "m6i-beats-m5"
    for key in tomllib.loads(example)["claims"][0]:
        assert f"`{key}`" in page


def test_the_claims_of_the_cloud_reports(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = ResultsFolder(tmp_path_factory.mktemp("imported") / "results")
    imports.import_results("spare-cores", shared("inspector"), folder)
    found = evaluation.claims(folder, ROOT / "docs" / "examples" / "claims-cloud-reports.toml")
    assert {row.claim: row.verdict for row in found} == {
        "milan-beats-ice-lake": "supported",
        "milan-beats-ice-lake-with-redis": "refuted",
        "naples-is-last": "supported",
        "small-beats-large": "refuted",
        "t2d-beats-n2-per-vcpu": "not decided",
        "amd-beats-intel-per-dollar": "not decided",
        "intel-beats-amd": "not decided",
        "c5d-beats-n1": "not decided",
    }
    assert all(row.holds for row in found)
